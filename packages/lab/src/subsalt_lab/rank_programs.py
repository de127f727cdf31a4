"""Starting the ranks of one sample of a campaign, and its answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from subsalt.errors import SubsaltError
from subsalt.machine import programs
from subsalt.machine.launcher import Launcher
from subsalt.machine.programs import Ran
from subsalt_lab.layouts import RankLayout
from subsalt_lab.result import Say
from subsalt_lab.scaling_worker import ANSWER, RankWork


class Started(Protocol):
    """Settings of measurements that start ranks."""

    @property
    def launcher(self) -> Launcher:
        """Launcher of the ranks."""

    @property
    def timeout(self) -> float:
        """Seconds that one start may take."""

    @property
    def layouts(self) -> Sequence[RankLayout]:
        """Layouts that are compared."""


def run_ranks(
    settings: Started,
    layout: RankLayout,
    words: Sequence[str],
    what: str,
    environment: Mapping[str, str] | None = None,
) -> Ran:
    """Run a module of subsalt on the ranks of a layout, each on its hardware threads.

    Parameters
    ----------
    settings : Started
        Launcher and timeout.
    layout : RankLayout
        Ranks, threads, and where they run.
    words : sequence of str
        The module and its arguments.
    what : str
        How an error calls it, before the numbers of ranks and threads.
    environment : mapping of str to str, optional
        Variables beside those of this process.
    """
    words = [sys.executable, "-m", "subsalt_lab.pinned", layout.pin_lists, *words]
    if layout.ranks > 1 or "{ranks}" in " ".join(settings.launcher.words):
        words = settings.launcher.start(layout.ranks, words)
    return programs.run(
        words,
        what=f"{what} {layout.ranks} ranks x {layout.threads} threads",
        extra={"OMP_NUM_THREADS": str(layout.threads)} | dict(environment or {}),
        timeout=settings.timeout,
    )


def start(settings: Started, layout: RankLayout, work: RankWork) -> dict[str, Any]:
    """Run the worker with a layout and return its answer.

    Raises
    ------
    SubsaltError
        When it fails (E781), or when the launcher started ranks that do not see each other (E782).
    """
    ran = run_ranks(settings, layout, ["subsalt_lab.scaling_worker", work.text()], "the run of")
    answers = [line[len(ANSWER) :] for line in ran.stdout.splitlines() if line.startswith(ANSWER)]
    if not answers:
        raise programs.failed(f"the run of layout {layout.name} printed no answer", ran.stderr)
    answer: dict[str, Any] = json.loads(answers[-1])
    if len(answers) > 1 or answer["ranks"] != layout.ranks:
        raise _not_together(layout.ranks, len(answers), settings.launcher.name)
    return answer


def _not_together(ranks: int, worlds: int, name: str) -> SubsaltError:
    """Return the error of ranks that do not see each other."""
    error = SubsaltError(
        f"{name} started {worlds} separate runs in place of one with {ranks} ranks",
        "launcher and MPI library do not belong together: set MPI4PY_LIBMPI to the library of the launcher's MPI, "
        "or give srun the --mpi that the library knows (docs/howto/cluster.md)",
        code="E782",
    )
    error.exit_code = 69
    return error


def located(settings: Started, say: Say) -> list[RankLayout]:
    """Return the layouts with the cores and nodes on which their ranks were found; starts each once."""
    out = []
    for layout in settings.layouts:
        say(f"scaling: where do {layout.name} run")
        facts = start(settings, layout, RankWork((0, 0, 0), "", 0, 0, layout.threads))
        out.append(layout.where(facts["where"]))
    return out
