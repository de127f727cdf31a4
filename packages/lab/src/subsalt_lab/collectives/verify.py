"""Does a program gain by the choices? Runs of it with and without them, interleaved, and their outputs compared."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.errors import SubsaltError
from subsalt_lab.collectives.writers import RECORD, TuningFiles
from subsalt_lab.launch_line import LaunchLine
from subsalt_lab.outputs import bytes_differ
from subsalt_lab.result import Result, Say
from subsalt_lab.trials import Settings, TrialCommand, Trials, trials

#: what another order of additions may change
REDUCTIONS = ("allreduce", "reduce")
#: fewest runs of each way
ROUNDS = 10


@dataclass(frozen=True)
class ProgramVerdict:
    """Verdict on choices by runs of a program.

    Parameters
    ----------
    trials : Trials
        Times and differences.
    changes_sums : bool
        A reduction is among the choices: its sums may round in another way.
    tolerance : float
        Relative difference of numbers that outputs were allowed.
    """

    trials: Trials
    changes_sums: bool
    tolerance: float = 0.0

    @property
    def applied(self) -> bool:
        """Whether the choices may be recommended: a saving, measured as it should be, with outputs that agree."""
        return self.trials.verdict == "saving" and self.trials.identical and not self.trials.load.get("noisy")

    def lines(self) -> list[str]:
        """Return the lines for the user."""
        t, out = self.trials, []
        if (p := t.paired) is not None:
            share = 100.0 * p.median_saving / np.median(t.seconds_a)
            out.append(
                f"{t.verdict}: {p.median_saving:.4g} s of {np.median(t.seconds_a):.4g} s ({share:.2f} %), "
                f"95 % interval {p.low:.4g} ... {p.high:.4g} s, {len(t.seconds_a)} runs of each"
            )
        same = "the same bytes" if not self.tolerance else f"the same within {self.tolerance:g}"
        if t.identical:
            out.append(f"outputs: {same} in every run ({', '.join(t.compared)})")
        else:
            out += [f"outputs differ: {t.differences[0]}"]
        if self.changes_sums:
            out.append(
                "ATTENTION: another algorithm of Reduce or Allreduce adds in another order: sums of floating-point "
                "numbers may differ in their last bits, in this program or with other data"
            )
        if t.load.get("noisy"):
            out.append("noisy: others used the machine meanwhile; this is no reason to use the choices")
        return out


def verify(
    words: Sequence[str],
    written: TuningFiles,
    settings: Settings,
    *,
    tolerance: float = 0.0,
    say: Say = lambda text: None,
    run: Callable[..., Trials] = trials,
) -> ProgramVerdict:
    """Run a program with and without choices.

    Parameters
    ----------
    words : sequence of str
        Its launch line.
    written : TuningFiles
        The choices; not empty.
    settings : trials.Settings
        Rounds, outputs, time-out.
    tolerance : float
        Relative difference of numbers in text and ``.npy`` outputs that counts as the same; 0: all bytes.
    say : callable
        Callback for progress text.
    run : callable
        As `trials.trials`.

    Raises
    ------
    SubsaltError
        When there is nothing to verify (E944), or the runs fail, see `trials.trials`.
    """
    if written.empty:
        raise SubsaltError(
            f"{written.folder / RECORD} holds no choices: there is nothing to verify",
            "the choices of the library stay; measure again with subsalt lab collectives",
            code="E944",
        )
    line = LaunchLine.of(list(words))
    changed, around = line.with_variables(written.environment)
    outputs = replace(settings.outputs, compare=comparison(tolerance))
    compared = run(
        TrialCommand("as it is", list(words)),
        TrialCommand("with the choices", changed, around),
        replace(settings, outputs=outputs, goes_on=True, ranks=settings.ranks or line.ranks),
        say=say,
    )
    changes = any(c.collective in REDUCTIONS for c in written.choices)
    return ProgramVerdict(compared, changes, tolerance)


def comparison(tolerance: float) -> Callable[[Path, Path], str]:
    """Return what says how two outputs differ.

    Parameters
    ----------
    tolerance : float
        Relative to the larger of two numbers; 0: bytes are compared.
    """
    if not tolerance:
        return bytes_differ

    def differ(one: Path, other: Path) -> str:
        difference = bytes_differ(one, other)
        if not difference:
            return ""
        if one.read_bytes()[:6] == b"\x93NUMPY" == other.read_bytes()[:6]:
            return _arrays_differ(
                np.load(one, allow_pickle=False), np.load(other, allow_pickle=False), tolerance
            )
        try:
            return _texts_differ(one.read_text("utf-8"), other.read_text("utf-8"), tolerance)
        except UnicodeDecodeError:
            return f"{difference}; numbers are looked at in texts and .npy files only"

    return differ


def _texts_differ(one: str, other: str, tolerance: float) -> str:
    a, b = one.split(), other.split()
    if len(a) != len(b):
        return f"{len(a)} words against {len(b)}"
    worst = 0.0
    for x, y in zip(a, b, strict=True):
        if x == y:
            continue
        try:
            worst = max(worst, _apart(float(x), float(y)))
        except ValueError:
            return f"{x[:60]!r} against {y[:60]!r}"
    return "" if worst <= tolerance else f"largest relative difference {worst:.3g}"


def _apart(x: float, y: float) -> float:
    if not (math.isfinite(x) and math.isfinite(y)):
        return math.inf
    return abs(x - y) / max(abs(x), abs(y))


def _arrays_differ(one: Any, other: Any, tolerance: float) -> str:
    if one.shape != other.shape or one.dtype != other.dtype or one.dtype.kind not in "fiuc":
        return f"{one.dtype} {one.shape} against {other.dtype} {other.shape}"
    # sums of many numbers of both signs: what matters is the size of the largest, not of each
    scale = float(np.max(np.abs(one), initial=0.0)) or 1.0
    worst = float(np.max(np.abs(one.astype(np.float64) - other), initial=0.0)) / scale
    return "" if worst <= tolerance else f"largest difference {worst:.3g} of the largest value"


def result_of(words: Sequence[str], written: TuningFiles, verdict: ProgramVerdict) -> Result:
    """Return the record of a verification."""
    t = verdict.trials
    rows = [
        {"way": way, "run": i, "seconds": s}
        for way, seconds in (("as it is", t.seconds_a), ("with the choices", t.seconds_b))
        for i, s in enumerate(seconds)
    ]
    plain: dict[str, Any] = t.to_dict()
    return Result(
        "collectives-verify",
        {
            "command": list(words),
            "choices": [c.to_dict() for c in written.choices],
            "environment": dict(written.environment),
            "tolerance": verdict.tolerance,
            "verdict": plain["verdict"],
            "paired": json.loads(json.dumps(plain["paired"])),
            "identical": plain["identical"],
            "differences": plain["differences"],
            "applied": verdict.applied,
        },
        rows,
        {"seconds": "s"},
        t.load,
        verdict.lines(),
    )
