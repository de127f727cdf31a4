"""Run a command of ours that profiles itself, and read what it leaves."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from subsalt.errors import SubsaltError
from subsalt.machine import launcher
from subsalt.parallel.mpi_library import COUNTING
from subsalt_lab.launch_line import LaunchLine
from subsalt_lab.pmpi.records import Profile
from subsalt_lab.pmpi.run import Profiled, programs_name, warnings_of

#: how exact the seconds are, for whoever reads them
NOTE = (
    "times are those of mpi4py's methods less what these take by themselves: calls below a microsecond look up to a "
    "third too long"
)


def profile_built_in(
    words: Sequence[str],
    *,
    stdout: IO[str] | None = None,
    timeout: float | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Profiled:
    """Run a launch line of ``subsalt migrate``, ``model`` or ``reimage`` with its built-in profile, and return that.

    Parameters
    ----------
    words : sequence of str
        Such as ``["mpiexec", "-n", "4", "subsalt", "migrate", "job.toml"]``.
    stdout : file, optional
        Where its standard output goes; that of this process when left out.
    timeout : float, optional
        Seconds after which it is ended.
    say : callable
        Told what a user must know before it runs.

    Raises
    ------
    SubsaltError
        When the program fails (E907), or does not profile itself (E911).
    """
    line = LaunchLine.of(words)
    notes = [*warnings_of(line), NOTE]
    for text in notes[:-1]:
        say(text)
    # rank 0 may run on another node: beside the working folder, which all nodes see
    with tempfile.TemporaryDirectory(prefix=".subsalt-profile-", dir=Path.cwd()) as folder:
        out = Path(folder, "profile.json")
        given, environment = line.with_variables({COUNTING: str(out)})
        ended = launcher.watch(
            given, what=programs_name(line), extra=environment, stdout=stdout, timeout=timeout
        )
        if ended.code:
            error = SubsaltError(
                f"no profile: {programs_name(line)} {ended.how}",
                "let the program come to its end by itself",
                "E907",
            )
            error.exit_code = ended.code
            raise error
        if not out.exists():
            raise SubsaltError(
                f"no profile: {programs_name(line)} does not make its own; migrate, model and reimage do",
                "leave --built-in out: the interposer profiles any MPI program, where a C compiler is",
                code="E911",
            )
        found = Profile.from_dict(json.loads(out.read_text("utf-8")))
    command = shlex.join([Path(words[0]).name, *words[1:]])
    return Profiled(replace(found, command=command, notes=tuple(notes)), ended.seconds)
