"""A form of a mistake, and the registry in which all stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from planted.surveys import Case
from subsalt.errors import Finding

#: the forty, and what is beyond them
TITLES = {
    1: "scalar of coordinates",
    2: "scalar 0 with scaled values",
    3: "feet against metres",
    4: "x and y exchanged",
    5: "source and receiver exchanged",
    6: "sample interval",
    7: "polarity",
    8: "recording delay",
    9: "a shot twice",
    10: "dead, noisy, spiked, humming traces",
    11: "NaN",
    12: "receivers outside the model",
    13: "source depth",
    14: "elevation against depth sign",
    15: "peak frequency",
    16: "vp in km/s",
    17: "model transposed, flipped",
    18: "epsilon, delta in per cent",
    19: "delta above epsilon",
    20: "tilt",
    21: "vs for vp",
    22: "slowness",
    23: "water layer missing, model in time",
    24: "byte order",
    25: "sample format code",
    26: "file truncated",
    27: "extended text headers",
    28: "SU and SEG-Y named as each other",
    29: "mixed sample counts",
    30: "field records",
    31: "offset word",
    32: "longitude and latitude",
    33: "another map zone",
    34: "times in ms",
    35: "aperture or model too small",
    36: "time step over the bound",
    37: "shots at one place",
    38: "cable reversed",
    39: "channels",
    40: "headers zero",
    41: "beyond: spacing of a volume in km",
    42: "beyond: null values in a model",
    43: "beyond: origin far off",
    44: "beyond: clipped data",
    45: "beyond: stacked or moveout-corrected",
    46: "beyond: trace identification 11 to 17",
    47: "beyond: four cables on one line",
    48: "beyond: nothing left to image",
    49: "beyond: traces missing",
    50: "beyond: what converters leave",
    51: "beyond: depths of a model",
    52: "beyond: swell over a mistake",
    53: "beyond: stations beside their places",
    54: "beyond: CDP words",
    55: "beyond: offsets a little off",
    56: "beyond: steps that move times and bands",
    57: "beyond: sample interval hidden by moveout",
    58: "beyond: time zero and polarity of a part",
    59: "beyond: models of another kind",
    60: "beyond: spacings of a model",
    61: "beyond: axes of small models",
    62: "beyond: anisotropy of another kind",
    63: "beyond: land and its datum",
    64: "beyond: depths of stations",
    65: "beyond: words that hold something else",
    66: "beyond: two of what should be one",
    67: "beyond: one name in many folders",
    68: "beyond: velocities of a time migration",
}


@dataclass(frozen=True)
class Form:
    """One form of one mistake in one survey.

    Parameters
    ----------
    number : int
        Of `TITLES`.
    form : str
        How a person made it.
    base : str
        The survey that it is planted in, a key of `clean.SURVEYS`.
    where : str
        all, one (of many files or shots), some (three), or model, job.
    plant : callable
        ``plant(case)`` makes the mistake.
    says : sequence of str
        Regular expressions that message and cure together must match, all of them: the fault.
    place : sequence of str
        Of which one must match the message or the cure: file, shot, trace, byte or key.
    deed : (str, callable), optional
        What a cure may tell to do outside the job, as an expression of its words, and the one who does it.
    keeps : float
        Share of the traces that must be left with the cure.
    allows : sequence of str
        Codes that may be said of the cured survey although the clean one has them not.
    image : bool
        With the cure the job holds what the clean survey holds, or makes its image. False where no cure can bring that
        back, because what was planted is another survey.
    unused : bool
        The mistake is in a word that no run reads: to say that it was not checked, and why, is enough.
    """

    number: int
    form: str
    base: str
    where: str
    plant: Callable[[Case], object]
    says: Sequence[str]
    place: Sequence[str]
    deed: tuple[str, Callable[[Case], object]] | None = None
    keeps: float = 1.0
    allows: Sequence[str] = field(default=())
    image: bool = True
    unused: bool = False

    @property
    def name(self) -> str:
        """One line."""
        return f"{self.number:2d} {TITLES[self.number]}: {self.form} [{self.base}, {self.where}]"

    def names(self, f: Finding, case: Case) -> bool:
        """Whether a finding names the fault and the place."""
        text = f"{f.message} | {f.fix}"
        return all(re.search(p, text, re.I) for p in self.says) and any(
            re.search(p, text, re.I) for p in self.place
        )


FORMS: list[Form] = []

#: a key, a byte, or any file, shot or trace: where all files are alike, each of them is the place
ANYWHERE = (
    r"byte|header",
    r"\[(data|model|source|propagation|imaging|kirchhoff|velocity|acquisition|grid)",
    r"\.sgy|\.su",
)
#: the file and the shot of which mistakes of one file are made: the sixth, or the third of few
ONE = (r"shot_0106", r"\bshots?\b[^|]*\b106\b")
OF_FEW = (r"shot_0103", r"\bshots?\b[^|]*\b103\b")


def files_of(case: Case, where: str) -> list[int]:
    """Return the numbers of the files that are spoiled."""
    n = len(case.files)
    return {"all": list(range(n)), "one": [5 if n > 5 else 2], "some": [2, 5, 8]}[where]


def plants(
    number: int,
    form: str,
    *,
    bases: str = "line",
    where: str = "all",
    says: str | Sequence[str],
    place: str | Sequence[str] | None = None,
    deed=None,
    keeps: float | None = None,
    allows: Sequence[str] = (),
    image: bool = True,
    unused: bool = False,
):
    """Register ``plant(case, which)`` as a form in each of some surveys, in all files or one."""

    def register(function):
        for base in bases.split():
            for w in where.split():
                few = base in FEW
                one = OF_FEW if few else ONE
                at = place if place is not None else one if w in ("one", "some") else ANYWHERE
                share = keeps if keeps is not None else {"one": 0.7, "some": 0.6}.get(w, 1.0)
                FORMS.append(
                    Form(
                        number,
                        form,
                        base,
                        w,
                        lambda case, w=w: function(
                            case, files_of(case, w) if w in ("all", "one", "some") else None
                        ),
                        [says] if isinstance(says, str) else says,
                        [at] if isinstance(at, str) else at,
                        deed,
                        share,
                        allows,
                        image,
                        unused,
                    )
                )
        return function

    return register


#: surveys of five shots
FEW = ("tti", "vti", "ghosts")
