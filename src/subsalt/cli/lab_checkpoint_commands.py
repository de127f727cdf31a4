"""What `subsalt lab checkpoint` does: read the options, measure, print, write the result."""

from __future__ import annotations

from pathlib import Path

from subsalt.cli.lab_commands import hand_over, nothing_kept, possible, progress, show
from subsalt.cli.lab_storage_commands import io_threads, names_of
from subsalt.cli.output import Out
from subsalt.host import usable_cores
from subsalt.lab import asked, checkpoint_tables
from subsalt.lab import checkpoint as measurement
from subsalt.lab.checkpoint_case import LAYER, Case

#: of the founding documents
CHECKPOINTS = (80, 400, 800)
STRATEGIES = ("store", "revolve")
MODES = ("bare", "overlapped")
#: points per axis inside the layer at least
INSIDE = 16


def settings(
    directories: list[Path] | None,
    checkpoints: list[str] | None,
    grid: str,
    samples: int,
    strategy: str,
    threads: list[str] | None,
    direct: bool,
    mode: list[str] | None,
    repeats: int,
    names: list[str] | None = None,
) -> measurement.Settings:
    """Return what the options ask for.

    Raises
    ------
    ConfigError
        When one of them asks for something impossible.
    """
    chosen = asked.choices("--strategy", [strategy], STRATEGIES, ())
    case = Case(_grid(grid), samples, chosen[0], usable_cores())
    places = list(dict.fromkeys(directories or [Path(".")]))
    return measurement.Settings(
        case,
        places,
        _checkpoints(checkpoints, samples),
        io_threads(threads),
        direct,
        asked.choices("--mode", mode, MODES, MODES),
        repeats,
        names_of(names, places),
    )


def checkpoint(wanted: measurement.Settings, how: str, file: Path | None, as_json: bool) -> None:
    """Measure, print the tables, and write the result."""
    possible(file, how)
    out = Out(as_json)
    with nothing_kept():
        result = measurement.measure(wanted, say=progress)
    show(out, result, checkpoint_tables.tables(result.rows, how), how)
    hand_over(out, result, file)


def _checkpoints(given: list[str] | None, samples: int) -> list[int]:
    if given is None:
        return sorted({min(c, samples) for c in CHECKPOINTS})
    found = asked.words(given)
    bad = [w for w in found if not w.isdecimal() or not 1 <= int(w) <= samples]
    if bad or not found:
        raise asked.wrong(
            f"--checkpoints {' '.join(bad)}: not numbers from 1 to {samples}, the time steps",
            "use such as --checkpoints 80,400, or more --samples",
        )
    return sorted({int(w) for w in found})


def _grid(text: str) -> tuple[int, int, int]:
    least = INSIDE + 2 * LAYER
    words = text.replace("x", ",").split(",")
    if len(words) != 3 or not all(w.strip().isdecimal() and int(w) >= least for w in words):
        raise asked.wrong(
            f"--grid {text}: not three numbers from {least} up, layer included",
            "use nx,ny,nz, such as --grid 96,96,96",
        )
    nx, ny, nz = (int(w) for w in words)
    return nx, ny, nz
