"""A launch line such as ``mpiexec -n 4 PROGRAM ARGS``: which launcher it is, where the program begins, how many ranks.

What is set with `with_variables` reaches the ranks and not the launcher: one that loads a foreign MPI library, or an
interposer, does not start.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from subsalt.machine import programs

Kind = Literal["hydra", "openmpi", "srun", "other", "none"]

#: names of launchers; what an mpiexec is, it says itself
MPIEXEC = re.compile(r"(mpiexec|mpirun|orterun|prterun|prun|ompirun_wrapper)([.\-].*)?$")
#: launchers of batch systems and sites, which hand their environment to the ranks
OTHERS = ("aprun", "jsrun", "ibrun", "flux", "alps", "dplace", "yod", "mpprun", "lrun", "poe")

#: options that are followed by two words
TWO = {
    "hydra": {"genv", "env"},
    "openmpi": {"mca", "gmca", "omca", "prtemca", "pmixmca"},
    "srun": set(),
}
HYDRA_ALONE = """
    l prepend-rank v verbose info version print-all-exitcodes genvall genvnone envall envnone
    disable-auto-cleanup enable-x disable-x skip-launch-node ordered-output"""
OPENMPI_ALONE = """
    allow-run-as-root oversubscribe nooversubscribe no-oversubscribe report-bindings display-map tag-output
    timestamp-output bynode byslot bycore bysocket pernode bind-to-core bind-to-none bind-to-socket
    display-allocation enable-recovery disable-recovery merge-stderr-to-stdout get-stack-traces
    report-state-on-timeout do-not-launch q quiet v verbose V version nolocal use-hwthread-cpus continuous
    do-not-resolve leave-session-attached display-devel-map display-topo report-child-jobs-separately
    tv debug debug-devel debug-daemons"""
SRUN_ALONE = """
    l label u unbuffered v verbose Q quiet exclusive overcommit O overlap K kill-on-bad-exit X disable-status
    E preserve-env Z no-allocate H hold contiguous interactive pty"""
#: options that stand alone; every other one is followed by its value unless that is joined with ``=``
ALONE = {
    "hydra": set(HYDRA_ALONE.split()),
    "openmpi": set(OPENMPI_ALONE.split()),
    "srun": set(SRUN_ALONE.split()),
}
#: options that give the number of ranks
COUNTS = {
    "hydra": {"n", "np"},
    "openmpi": {"n", "np", "c"},
    "srun": {"n", "ntasks"},
}


@dataclass(frozen=True)
class LaunchLine:
    """The two parts of a launch line.

    Parameters
    ----------
    kind : str
        ``"hydra"`` (MPICH, Intel MPI), ``"openmpi"``, ``"srun"``, ``"other"``: one that hands its environment on,
        ``"none"``: there is no launcher.
    launcher : tuple of str
        Its words with its options; empty without one.
    program : tuple of str
        The program and its arguments; of several (``:``) the first one and all that follows.
    """

    kind: Kind
    launcher: tuple[str, ...]
    program: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> LaunchLine:
        """Return the parts of a launch line."""
        if not words:
            return cls("none", (), ())
        kind = kind_of(words[0])
        if kind == "none":
            return cls(kind, (), tuple(words))
        first = _program_at(words, kind)
        return cls(kind, tuple(words[:first]), tuple(words[first:]))

    @property
    def ranks(self) -> int | None:
        """The number of ranks as far as the launch line says it; 1 without a launcher."""
        if self.kind == "none":
            return 1
        counts = COUNTS.get(self.kind, COUNTS["hydra"])
        for i, word in enumerate(self.launcher[1:], 1):
            name, _, joined = word.lstrip("-").partition("=")
            value = joined or (self.launcher[i + 1] if i + 1 < len(self.launcher) else "")
            if word.startswith("-") and name in counts and value.isdigit():
                return int(value)
            # srun takes -n4
            if self.kind == "srun" and (m := re.fullmatch(r"-n(\d+)", word)):
                return int(m[1])
        return None

    def with_variables(self, variables: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """Return the words with which the ranks get the variables, and those to set for the launcher too.

        Parameters
        ----------
        variables : mapping of str to str
            Names and values.

        Returns
        -------
        words : list of str
            The launch line.
        environment : dict of str to str
            Variables that the process must be started with: not empty only where a launcher has no option for that, and
            without a launcher.
        """
        if not variables:
            return [*self.launcher, *self.program], {}
        if self.kind in ("none", "other"):
            return [*self.launcher, *self.program], dict(variables)
        if self.kind == "hydra":
            given = [w for name, value in variables.items() for w in ("-genv", name, value)]
        elif self.kind == "openmpi":
            given = [w for name, value in variables.items() for w in ("-x", f"{name}={value}")]
        else:
            # a comma ends a value of --export: such variables travel through the environment of srun
            given = ["--export=ALL," + ",".join(f"{n}={v}" for n, v in variables.items() if "," not in v)]
            rest = {n: v for n, v in variables.items() if "," in v}
            return [self.launcher[0], *given, *self.launcher[1:], *self.program], rest
        return [self.launcher[0], *given, *self.launcher[1:], *self.program], {}


def ranks_of(words: Sequence[str]) -> int | None:
    """Return the number of ranks that a launch line asks for, None where it does not say."""
    return LaunchLine.of(words).ranks


def kind_of(word: str) -> Kind:
    """Return which launcher a command is, ``"none"`` when it is a program."""
    name = Path(word).name
    if name == "srun":
        return "srun"
    if name in OTHERS:
        return "other"
    if not MPIEXEC.match(name):
        return "none"
    if "hydra" in name or "mpich" in name:
        return "hydra"
    if "openmpi" in name or name in ("orterun", "prterun", "prun"):
        return "openmpi"
    path = shutil.which(word)
    return _kind_by_version(path) if path else "other"


@cache
def _kind_by_version(path: str) -> Kind:
    # Intel's and Debian's launchers are links and scripts; the one text that tells them apart is this
    text = programs.answer([path, "--version"])
    if re.search(r"hydra|intel\(r\) mpi|mpich", text, re.IGNORECASE):
        return "hydra"
    if re.search(r"open ?mpi|openrte|prte", text, re.IGNORECASE):
        return "openmpi"
    return "other"


def _program_at(words: Sequence[str], kind: Kind) -> int:
    """Return where the program begins."""
    two, alone = TWO.get(kind, set()), ALONE.get(kind, set())
    i = 1
    while i < len(words):
        word = words[i]
        if word == "--":
            return i + 1
        if not word.startswith("-") or word == "-":
            return i
        name = word.lstrip("-")
        joined = "=" in name or (kind == "srun" and re.fullmatch(r"-[a-zA-Z]\S+", word))
        # of a launcher that is not known, an option has a value unless a program follows
        bare = kind == "other" and i + 1 < len(words) and "/" in words[i + 1] and shutil.which(words[i + 1])
        if name.partition("=")[0] in two:
            i += 3
        else:
            i += 1 if joined or bare or name in alone else 2
    return len(words)


def preload(libraries: Sequence[Path], environment: Mapping[str, str] = os.environ) -> str:
    """Return the value of LD_PRELOAD that loads libraries first, before those already asked for.

    Parameters
    ----------
    libraries : sequence of path
        In this order; the dynamic linker has no way to quote a colon or a space.
    environment : mapping of str to str
        Where the present value is taken from.
    """
    return ":".join(filter(None, [*map(str, libraries), environment.get("LD_PRELOAD", "")]))


def preloaded(
    words: Sequence[str], libraries: Sequence[Path], variables: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return a launch line whose ranks load libraries first and get variables; see `LaunchLine.with_variables`."""
    line = LaunchLine.of(words)
    return line.with_variables({**variables, "LD_PRELOAD": preload(libraries)})
