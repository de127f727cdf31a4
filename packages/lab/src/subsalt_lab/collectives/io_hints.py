"""Which hints make MPI-IO faster here? Whole programs that write and read one file, one per set of hints and round.

Every set of hints is given to its program in the way in which it would be used later. What the library says its hints
are is recorded, not what was asked; hints that it does not take are not compared.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, SubsaltError
from subsalt.host import usable_cores
from subsalt.io.publish import make_folder, publish_text
from subsalt.machine.load import Watch
from subsalt.machine.mounts import mount_of
from subsalt_lab.collectives.hint_programs import (
    LEAST_BYTES,
    LINES,
    NZ,
    Programs,
    Request,
    beside,
    check,
    not_taken,
    said,
    shape_of,
)
from subsalt_lab.collectives.hint_sets import HINTS_FILE, Hints, candidates
from subsalt_lab.collectives.hint_verdicts import Compared, decide
from subsalt_lab.collectives.writers import Say
from subsalt_lab.pmpi.mpi_in_use import MpiInUse


def measure(
    mpi: MpiInUse, request: Request, *, say: Say = lambda text: None
) -> tuple[list[Compared], dict[str, Any], list[str]]:
    """Run every set of hints in every round, in an order drawn anew.

    Returns
    -------
    compared : list of Compared
        The library's own first; those that could not be compared say why.
    load : dict
        `Watch.facts`.
    notes : list of str
        What to know.
    """
    shape = check(request)
    found = candidates(mpi.family, request.ranks, mount_of(request.file).kind, mpi.version)
    left_out: list[Compared] = []
    kept: dict[str, list[dict[str, float]]] = {h.name: [] for h in found}
    back: dict[str, dict[str, str]] = {}
    order = random.Random(request.seed)
    with beside(request.file) as scratch, Watch(min(request.ranks, usable_cores())) as watch:
        runner = Programs(mpi, request, shape, scratch)
        for number in range(request.rounds + 1):
            for hints in order.sample(found, len(found)) if number else list(found):
                say(
                    f"hints: {hints.name}, "
                    + (f"round {number} of {request.rounds}" if number else "not timed")
                )
                try:
                    ran = runner.run(hints, ours=hints.is_default)
                except SubsaltError as error:
                    if hints.is_default or number:
                        raise
                    left_out.append(Compared(hints, (), {}, why=f"left out: {_short(error)}"))
                    found.remove(hints)
                    continue
                if ran["wrong"]:
                    raise _wrong_data(mpi, hints, ran["wrong"][0])
                if number:
                    kept[hints.name].append(ran["seconds"])
                    continue
                back[hints.name] = said(hints, ran)
                if not hints.is_default and (why := not_taken(hints, back[hints.name])):
                    left_out.append(Compared(hints, (), back[hints.name], why=why))
                    found.remove(hints)
    facts = dict(watch.facts())
    if request.ranks > usable_cores():
        facts["oversubscribed"] = facts["noisy"] = True
    done = [Compared(h, tuple(kept[h.name]), back[h.name]) for h in found]
    return decide(done) + left_out, facts, [watch.text()] if watch.text() else []


def write(mpi: MpiInUse, request: Request, chosen: Compared | None) -> tuple[dict[str, str], list[Path]]:
    """Write the hints that were chosen and show that programs get them; nothing of an earlier choice stays.

    Parameters
    ----------
    mpi : MpiInUse
        Which MPI.
    request : Request
        What was measured.
    chosen : Compared, optional
        The hints; none: the library's own stay.

    Returns
    -------
    environment : dict of str to str
        Variables for the ranks.
    files : list of Path
        What they name.

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
