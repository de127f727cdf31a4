"""Header records of a file of positions about the map: datum, projection, zone, unit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from subsalt.errors import Finding
from subsalt.io.geometry.columns import Cards

#: the international foot and that of the US survey, m
FOOT, SURVEY_FOOT = 0.3048, 1200 / 3937
#: metres of the words for `[data.geometry] unit`
UNITS = {"m": 1.0, "ft": FOOT, "us-ft": SURVEY_FOOT}
#: what headers say of nothing
_NOTHING = {"", "n/a", "none", "na", "not applicable", "unknown"}
#: header records: number (SPS has 12, UKOOA P1/90 has 14 for the datum), what it says
RECORDS = {"12": "datum", "14": "datum", "18": "projection", "19": "zone", "20": "unit"}


@dataclass
class MapFacts:
    """The map of one file.

    Parameters
    ----------
    path : str
        The file.
    format : str
        In words.
    said : dict
        ``datum``, ``projection``, ``zone`` and ``unit`` as the headers have them, with the line that says so.
    factor : float, optional
        Metres per unit of the grid, as the headers say it.
    """

    path: str
    format: str = ""
    said: dict[str, tuple[str, int]] = field(default_factory=dict)
    factor: float | None = None

    def add(self, cards: Cards) -> None:
        """Take what header records of SPS or P1/90 say; the text begins in column 33."""
        for row, number in zip(cards.text, cards.number, strict=True):
            text = row.tobytes().decode("latin-1")
            code = re.match(r"H(\d\d)(\d{0,2})", text)
            value = text[32:].strip().rstrip(";").strip()
            if code is None or value.lower().split(",")[0] in _NOTHING:
                continue
            main, part = code.group(1), int(code.group(2) or 0)
            if (main, part) == ("20", 1):
                self._factor(value)
            elif part == 0 and main in RECORDS:
                self.say(RECORDS[main], value, int(number))

    def say(self, what: str, value: str, line: int) -> None:
        """Note what a header says; the first one counts."""
        self.said.setdefault(what, (" ".join(value.split()), line))

    def _factor(self, value: str) -> None:
        number = re.search(r"\d*\.?\d+(?:[eE][-+]?\d+)?", value)
        if number and float(number.group()) > 0:
            self.factor = float(number.group())

    def metres(self, unit: str | None) -> tuple[float, Finding | None]:
        """Return metres per unit of the grid; `unit` of the job goes before the headers, which may leave it open."""
        if unit is not None:
            return UNITS[unit], None
        if self.factor is not None:
            return self.factor, None
        words, line = self.said.get("unit", ("metre", 0))
        lower = words.lower()
        if "feet" in lower or "foot" in lower or lower.startswith("ft"):
            if "us" in lower.split() or "survey" in lower or "american" in lower:
                return SURVEY_FOOT, None
            if "international" in lower:
                return FOOT, None
            return FOOT, Finding(
                "E368",
                "error",
                f"{self.path} line {line}: the grid unit is {words!r}, without its factor to metres",
                '[data.geometry] unit = "ft" (0.3048 m) or "us-ft" (1200/3937 m)',
                {"file": self.path},
            )
        if "met" in lower or lower in ("m", "m."):
            return 1.0, None
        return 1.0, Finding(
            "E368",
            "error",
            f"{self.path} line {line}: the grid unit {words!r} is not known",
            '[data.geometry] unit = "m", "ft" (0.3048 m) or "us-ft" (1200/3937 m)',
            {"file": self.path},
        )


def disagreements(files: Sequence[MapFacts]) -> Iterator[Finding]:
    """Yield an error for files whose headers name different datums, projections or zones."""
    for what in ("datum", "projection", "zone"):
        said: dict[str, str] = {}
        for f in files:
            if what in f.said:
                words, line = f.said[what]
                said.setdefault(_plain(words), f"{words!r} ({f.path} line {line})")
        if len(said) > 1:
            yield Finding(
                "E368",
                "error",
                f"the files of positions name different map {what}s: {', '.join(list(said.values())[:4])}",
                "project them to one map; if they are on one and a header is wrong, correct the header",
                {"what": what},
            )


def _plain(words: str) -> str:
    return re.sub(r"[\s,;]+", " ", words.lower()).strip()
