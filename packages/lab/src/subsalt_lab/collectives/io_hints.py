"""Which hints make MPI-IO faster here? Whole programs that write and read one file, one per set of hints and round.

Every set of hints is given to its program in the way in which it would be used later. What the library says its hints
are is recorded, not what was asked; hints that it does not take are not compared.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, SubsaltError
from subsalt.host import usable_cores
from subsalt.io.publish import make_folder, publish_text
from subsalt.machine.load import Watch
from subsalt.machine.stats import Paired, holm, paired, t_test
from subsalt.machine.storage import mount_of
from subsalt_lab.collectives.decide import LEAST_RATIO, LEVEL
from subsalt_lab.collectives.hint_programs import (
    HINTS_FILE,
    LEAST_BYTES,
    LINES,
    NZ,
    HintRequest,
    Hints,
    Programs,
    beside,
    candidates,
    check,
    not_taken,
    said,
    shape_of,
)
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.result import Result, Say


def measure(
    mpi: MpiInUse, request: HintRequest, *, say: Say = lambda text: None
) -> tuple[list[HintTimes], dict[str, Any], list[str]]:
    """Run every set of hints in every round, in a new random order.

    Returns
    -------
    compared : list of HintTimes
        The library's own first; those that could not be compared say why.
    load : dict
        `Watch.facts`.
    notes : list of str
        Notes for the reader of the result.
    """
    shape = check(request)
    usable = candidates(mpi.family, request.ranks, mount_of(request.file).kind, mpi.version)
    left_out: list[HintTimes] = []
    seconds: dict[str, list[dict[str, float]]] = {h.name: [] for h in usable}
    back: dict[str, dict[str, str]] = {}
    order = random.Random(request.seed)
    with beside(request.file) as scratch, Watch(min(request.ranks, usable_cores())) as watch:
        runner = Programs(mpi, request, shape, scratch)
        for number in range(request.rounds + 1):
            for hints in order.sample(usable, len(usable)) if number else list(usable):
                say(
                    f"hints: {hints.name}, "
                    + (f"round {number} of {request.rounds}" if number else "not timed")
                )
                try:
                    ran = runner.run(hints, ours=hints.is_default)
                except SubsaltError as error:
                    if hints.is_default or number:
                        raise
                    left_out.append(HintTimes(hints, (), {}, why=f"left out: {_short(error)}"))
                    usable.remove(hints)
                    continue
                if ran["wrong"]:
                    raise _wrong_data(mpi, hints, ran["wrong"][0])
                if number:
                    seconds[hints.name].append(ran["seconds"])
                    continue
                back[hints.name] = said(hints, ran)
                if not hints.is_default and (why := not_taken(hints, back[hints.name])):
                    left_out.append(HintTimes(hints, (), back[hints.name], why=why))
                    usable.remove(hints)
    facts = dict(watch.facts())
    if request.ranks > usable_cores():
        facts["oversubscribed"] = facts["noisy"] = True
    done = [HintTimes(h, tuple(seconds[h.name]), back[h.name]) for h in usable]
    return decide(done) + left_out, facts, [watch.text()] if watch.text() else []


def write(mpi: MpiInUse, request: HintRequest, chosen: HintTimes | None) -> tuple[dict[str, str], list[Path]]:
    """Write the hints that were chosen and show that programs get them; nothing of an earlier choice stays.

    Parameters
    ----------
    mpi : MpiInUse
        Which MPI.
    request : HintRequest
        Request that was measured.
    chosen : HintTimes, optional
        The hints; none: the library's own stay.

    Returns
    -------
    environment : dict of str to str
        Variables for the ranks.
    files : list of Path
        Files with the hints.

    Raises
    ------
    DeviceError
        When the library does not take them from there (E945); then nothing stays.
    """
    folder = request.folder.absolute()
    make_folder(folder)
    (folder / HINTS_FILE).unlink(missing_ok=True)
    if chosen is None:
        return {}, []
    files = []
    for name, text in chosen.hints.files().items():
        publish_text(folder / name, text)
        files.append(folder / name)
    environment = chosen.hints.environment(folder)
    with beside(request.file) as scratch:
        small = shape_of(max(LEAST_BYTES, 4 * NZ * LINES * request.ranks**2), request.ranks)
        ran = Programs(mpi, request, small, scratch).start(
            environment, list(chosen.hints.variables), "the hints"
        )
    if why := not_taken(chosen.hints, said(chosen.hints, ran)):
        for file in files:
            file.unlink()
        raise DeviceError(
            f"{mpi.name} does not take the hints from {', '.join(environment)}: {why}",
            "nothing was written; look whether the ranks get the variables and see the folder",
            code="E945",
        )
    return environment, files


def _wrong_data(mpi: MpiInUse, hints: Hints, what: str) -> SubsaltError:
    return SubsaltError(
        f"MPI-IO of {mpi.name} with {hints.name} is wrong: {what}",
        "do not use these hints there; tell the makers of the MPI or of the file system",
        code="E946",
    )


def _short(error: SubsaltError) -> str:
    return error.message.partition(": ")[0]


@dataclass(frozen=True)
class HintTimes:
    """A set of hints and what came of it.

    Parameters
    ----------
    hints : Hints
        Hints that were requested.
    seconds : tuple of dict
        Seconds of every round, by part.
    came_back : mapping of str to str
        Values that the library reported for the requested hints.
    paired : Paired or None
        Default against these hints.
    why : str
        Verdict in words.
    switch : bool
        Whether it is written.
    """

    hints: Hints
    seconds: tuple[Mapping[str, float], ...]
    came_back: Mapping[str, str]
    paired: Paired | None = None
    why: str = ""
    switch: bool = False

    @property
    def totals(self) -> list[float]:
        """Seconds of each round, all parts but subsalt's own."""
        return [sum(s for part, s in one.items() if not part.startswith("ours")) for one in self.seconds]


def decide(compared: Sequence[HintTimes]) -> list[HintTimes]:
    """Compare each set of hints with the library's own choice, by the rule that collectives have.

    Parameters
    ----------
    compared : sequence of HintTimes
        The library's own first, of as many rounds as the others.
    """
    default, others = compared[0], compared[1:]
    if not others:
        return [replace(default, why="nothing to compare with")]
    ratios = [[math.log(b / a) for b, a in zip(default.totals, c.totals, strict=True)] for c in others]
    chances = holm([t_test(r) for r in ratios])
    out = []
    for c, p in zip(others, chances, strict=True):
        pair = paired(default.totals, c.totals)
        sure = p <= LEVEL and pair.ratio_low > LEAST_RATIO
        why = (
            "faster"
            if sure
            else "slower"
            if pair.ratio_high < 1.0 and p <= LEVEL
            else "no significant difference"
        )
        out.append(replace(c, paired=pair, why=why))
    fast = [c for c in out if c.why == "faster"]
    best = min(fast, key=lambda c: statistics.median(c.totals), default=None)
    out = [replace(c, switch=True, why="switch") if c is best else c for c in out]
    return [replace(default, why="the library's own"), *out]


def result_of(
    mpi: MpiInUse,
    request: HintRequest,
    compared: Sequence[HintTimes],
    load: Mapping[str, Any],
    notes: Sequence[str],
) -> Result:
    """Return the record of a measurement."""
    shape = shape_of(request.file.stat().st_size, request.ranks)
    rows = []
    for c in compared:
        row: dict[str, Any] = {
            "hints": c.hints.name,
            "verdict": c.why,
            "asked": {**c.hints.hints, **c.hints.variables},
        }
        row["came_back"] = dict(c.came_back)
        row["samples"] = [dict(s) for s in c.seconds]
        if c.seconds:
            row["total"] = statistics.median(c.totals)
            row |= {part: statistics.median(s[part] for s in c.seconds) for part in c.seconds[0]}
        if c.paired is not None:
            p = c.paired
            row |= {"ratio": p.ratio, "ratio_low": p.ratio_low, "ratio_high": p.ratio_high, "p": p.p}
            row["interval"] = f"{p.ratio_low:.2f}-{p.ratio_high:.2f}"
        rows.append(row)
    settings = {
        "file": str(request.file),
        "file_system": mount_of(request.file).kind,
        "bytes": math.prod(shape) * 4,
        "shape": list(shape),
        "ranks": request.ranks,
        "rounds": request.rounds,
        "patterns": list(request.patterns),
        "mpi": mpi.name,
    }
    parts = [f"{way}_{pattern}" for pattern in request.patterns for way in ("write", "read")]
    units = dict.fromkeys(["total", "ours_write", *parts], "s, median, of the slowest rank")
    return Result("io-hints", settings, rows, units, load, notes)
