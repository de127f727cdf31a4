"""What `subsalt lab kernels --copies N` does: read the options, measure, print, and add to machine.json."""

from __future__ import annotations

from pathlib import Path

from subsalt.cli.lab_commands import finish, nothing_kept, prepared, progress, show
from subsalt.cli.output import Out
from subsalt.lab import asked
from subsalt.lab import copies as measurement
from subsalt.lab.kernels import MEDIA, ORDERS

#: more copies than this are a slip of the pen
MOST = 4096


def copies(
    counts: list[str],
    medium: list[str] | None,
    order: list[str] | None,
    isa: list[str] | None,
    threads: list[str] | None,
    storage: list[str] | None,
    n: int,
    rounds: int | None,
    quick: bool,
    how: str,
    file: Path | None,
    as_json: bool,
) -> None:
    """Measure independent copies of the kernels."""
    path = prepared(file, how)
    if storage is not None and asked.words(storage) != ["f32"]:
        raise asked.wrong(f"--storage {' '.join(storage)}: copies have float32 models", "leave it out")
    each = asked.threads(threads) if threads is not None else [1]
    if len(each) > 1:
        raise asked.wrong(
            f"--threads {','.join(map(str, each))}: copies have one number of threads each",
            "such as --threads 1",
        )
    settings = measurement.Settings(
        asked.choices("--medium", medium, MEDIA, ("isotropic", "vti", "tti")),
        asked.numbers("--order", order, ORDERS, (8,)),
        asked.instruction_sets(isa),
        _counts(counts),
        each[0],
        asked.points(n),
        rounds or (3 if quick else 5),
        0.5 if quick else 1.0,
    )
    out = Out(as_json)
    with nothing_kept():
        result = measurement.measure(settings, say=progress)
    show(out, result, measurement.tables(result.rows, how), how)
    finish(out, result, path, "copies", measurement.for_machine(result))


def _counts(given: list[str]) -> list[int]:
    found = asked.words(given)
    bad = [w for w in found if not w.isdecimal() or not 1 <= int(w) <= MOST]
    if bad or not found:
        raise asked.wrong(
            f"--copies {' '.join(bad) or 'is empty'}: not numbers of copies from 1",
            "use such as --copies 2, or 1,2,4",
        )
    return sorted({int(w) for w in found})
