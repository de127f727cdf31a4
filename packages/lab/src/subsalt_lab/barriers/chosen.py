"""Which sites a trial leaves out, by number, by name, or all candidates; and how the interposer is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from subsalt.errors import ConfigError, DataError
from subsalt_lab.barriers.audit import Site, sites_of
from subsalt_lab.barriers.records import BarrierRecord

#: the variable that the interposer reads
VARIABLE = "SUBSALT_PMPI_SKIP"
ALL = "all-candidates"


def variable(sites: Sequence[Site]) -> dict[str, str]:
    """Return the variable that leaves out the barriers of these sites."""
    return {VARIABLE: ";".join(_quoted(s.name) for s in sites)}


def _quoted(name: str) -> str:
    """Return a name without a sign that a launcher, or a list, could take for something else: those are %XX."""
    return "".join(
        chr(b) if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "/.+:_-") else f"%{b:02X}"
        for b in name.encode(errors="surrogateescape")
    )


def chosen(asked: str, sites: Sequence[Site]) -> list[Site]:
    """Return the sites that `asked` names.

    Parameters
    ----------
    asked : str
        Numbers of the table or names, between commas, or ``all-candidates``.
    sites : sequence of Site
        Those of the audit.

    Raises
    ------
    ConfigError
        When there is no barrier, or none of that number or name (E924).
    """
    if not sites:
        raise _none("the program calls no barrier: there is nothing to try", "leave --try out")
    if asked.strip() == ALL:
        return [s for s in sites if s.kind == "candidate"]
    found: list[Site] = []
    for word in filter(None, (w.strip() for w in asked.split(","))):
        some = [s for s in sites if word in (str(s.number), s.name, s.place)]
        if not some:
            have = ", ".join(f"{s.number} ({s.place})" for s in sites[:6]) + (
                ", ..." if len(sites) > 6 else ""
            )
            raise _none(f"--try {word}: there is no such site", f"choose from {have}, or {ALL}")
        found += [s for s in some if s not in found]
    if not found:
        raise _none(
            f"--try {asked!r} names no site", f"give numbers of the table such as --try 1,3, or {ALL}"
        )
    return found


def _none(message: str, fix: str) -> ConfigError:
    error = ConfigError(message, fix, code="E924")
    error.exit_code = 2
    return error


def read_sites(file: Path) -> list[Site]:
    """Return the sites of an audit that was written with --out.

    Raises
    ------
    DataError
        When the file is none (E925).
    """
    try:
        content = json.loads(file.read_text())
        if content["measurement"] != "barriers":
            raise ValueError(f"it is a measurement of {content['measurement']}")
        records = [BarrierRecord.from_dict(r) for row in content["rows"] for r in row["records"]]
        places = {row["site"]: row["place"] for row in content["rows"]}
    except OSError as error:
        raise _no_audit(file, error.strerror or "it cannot be read") from None
    except (ValueError, KeyError, TypeError) as error:
        raise _no_audit(file, str(error) or type(error).__name__) from None
    return sites_of(records, places)


def _no_audit(file: Path, why: str) -> DataError:
    return DataError(
        f"{file} is no audit of barriers: {why}",
        "make one with subsalt lab barriers --out FILE -- mpiexec -n 4 PROGRAM",
        code="E925",
    )
