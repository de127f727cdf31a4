"""What `subsalt lab io` does: read the options, measure, print, write the result."""

from __future__ import annotations

from pathlib import Path

from subsalt.cli.lab_commands import hand_over, nothing_kept, possible, progress, show
from subsalt.cli.output import Out
from subsalt.lab import asked, io_tables
from subsalt.lab import io as measurement
from subsalt.lab.io_case import Case


def settings(
    ranks: list[str] | None,
    grid: str,
    steps: int,
    compute: float,
    suffix: str,
    cache: list[str] | None,
    repeats: int,
    directory: Path,
    keep: bool,
    launcher: str | None,
    timeout: float,
) -> measurement.Settings:
    """Return what the options ask for.

    Raises
    ------
    ConfigError
        When one of them asks for something impossible.
    """
    formats = asked.choices("--format", [suffix], ("rsf", "sgy"), ())
    case = Case(_grid(grid), steps, compute, f".{formats[0]}")
    caches = asked.choices("--cache", cache, measurement.CACHES, measurement.CACHES)
    return measurement.Settings(
        case, _ranks(ranks), caches, repeats, directory.absolute(), keep, launcher, timeout
    )


def io(wanted: measurement.Settings, how: str, file: Path | None, as_json: bool) -> None:
    """Measure, print the three tables, and write the result."""
    possible(file, how)
    out = Out(as_json)
    with nothing_kept():
        result = measurement.measure(wanted, say=progress)
    show(out, result, io_tables.tables(result.rows, how), how)
    hand_over(out, result, file)


def _ranks(given: list[str] | None) -> list[int]:
    if given is None:
        return [1, 2, 4]
    found = asked.words(given)
    bad = [w for w in found if not w.isdecimal() or not 1 <= int(w) <= 100_000]
    if bad or not found:
        raise asked.wrong(
            f"--ranks {' '.join(bad)}: not numbers of ranks", "use whole numbers, such as --ranks 1,2,4"
        )
    return sorted({int(w) for w in found})


def _grid(text: str) -> tuple[int, int, int]:
    words = text.replace("x", ",").split(",")
    if len(words) != 3 or not all(w.strip().isdecimal() and int(w) >= 16 for w in words):
        raise asked.wrong(
            f"--grid {text}: not three numbers from 16 up", "use nx,ny,nz, such as --grid 256,192,128"
        )
    nx, ny, nz = (int(w) for w in words)
    return nx, ny, nz
