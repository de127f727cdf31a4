"""The parts of `subsalt init` that methods share: files and patterns, names relative to a job file, round numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.errors import CannotCreateError, Finding, FindingsError, SubsaltError
from subsalt.io.objects import as_path, is_url, matching
from subsalt.job import text as toml_out
from subsalt.missing_files import no_match

if TYPE_CHECKING:
    from subsalt.io.geometry.join import SurveyGeometry


#: spacings people like to read, in any power of ten
ROUND = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.25, 7.5, 8.0)


@dataclass
class InitResult:
    """The job file that was written, and the findings on the way.

    Parameters
    ----------
    path : Path
        The job file.
    text : str
        Content of the job file.
    findings : list of Finding
        Findings of the scan and guesses; errors name values that the files lack.
    read, made_up : list of str
        Numbers of the job that come from the files, and those that do not.
    """

    path: Path
    text: str
    findings: list[Finding] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    made_up: list[str] = field(default_factory=list)


def round_down(value: float) -> float:
    """Return the largest round number that is not above `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    best = max((r for r in ROUND if r * power <= value * (1 + 1e-9)), default=1.0)
    return float(f"{best * power:.6g}")


def expand(names: Sequence[str]) -> list[Path]:
    """Return the files that names and patterns stand for."""
    import glob

    from subsalt.io.segy.index import SUFFIX
    from subsalt.job.inputs import natural_key

    out: list[Path] = []
    for name in names:
        files = sorted(matching(name), key=natural_key) if glob.has_magic(name) else [name]
        if not files:
            raise no_match(name, "check the pattern: it counts from the current folder")
        out += [as_path(f) for f in files if not f.endswith(SUFFIX)]
    return list(dict.fromkeys(out))


def relative(name: str, folder: Path) -> str:
    """Return a file name or pattern as seen from the folder of the job file."""
    if os.path.isabs(name) or is_url(as_path(name)):
        return name
    return Path(os.path.relpath(name, folder)).as_posix()


def heading_of(path: Path, entries: Mapping[str, object]) -> str:
    """Return the first lines of a new job file: how to check and run the job, and its entries outside all tables."""
    hint = f"# subsalt job: check it with `subsalt check {path.name}`, run it with `subsalt migrate {path.name}`\n"
    return hint + toml_out.table("", dict(entries))


def trace_file_items(files: Sequence[str], folder: Path) -> dict[str, object]:
    """Return the entry ``files`` of ``[data]``: names relative to the job file, or a pattern for more than four."""
    if len(files) > 4 and (pattern := common_pattern(files)):
        return {"files": [relative(pattern, folder)]}
    return {"files": [relative(f, folder) for f in files]}


def add_header_items(
    items: dict[str, object],
    comments: dict[str, str],
    preset: str,
    geometry: Sequence[str],
    folder: Path,
) -> None:
    """Add to ``[data]`` which header layout the traces have, and which files hold positions."""
    if preset != "rev1":
        items["preset"] = preset
    if geometry:
        items["geometry"] = {"files": [relative(f, folder) for f in geometry]}
        comments["geometry"] = "positions, not those of the headers"


def positions_of(files: Sequence[str]) -> SurveyGeometry | None:
    """Return the geometry in files of positions, given as names and patterns; None without any."""
    from subsalt.io.geometry.survey import read_geometry

    return read_geometry(expand(files)) if files else None


def findings_of(error: SubsaltError) -> list[Finding]:
    """Return an error as findings."""
    if isinstance(error, FindingsError):
        return error.findings
    return [Finding(error.code, "error", error.message, error.fix)]


def refuse_existing(path: Path, force: bool) -> None:
    """Raise unless a job file may be written: there is none yet, or `force` is given."""
    if path.exists() and not force:
        raise CannotCreateError(f"{path} exists", "choose another name, or add --force", code="E127")


def common_pattern(files: Sequence[str]) -> str:
    """Return the pattern ``folder/*.suffix`` when it matches exactly these files, else an empty text."""
    import glob

    folders, suffixes = {os.path.dirname(f) for f in files}, {os.path.splitext(f)[1] for f in files}
    if len(folders) != 1 or len(suffixes) != 1:
        return ""
    pattern = os.path.join(glob.escape(folders.pop()), f"*{suffixes.pop()}")
    return pattern if set(glob.glob(pattern)) == {os.path.normpath(f) for f in files} else ""
