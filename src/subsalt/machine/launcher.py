"""The launcher of MPI, which starts n ranks of a program, or none for a single process."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from subsalt.errors import DeviceError, SubsaltError, install


@dataclass(frozen=True)
class Launcher:
    """A program that starts ranks.

    Parameters
    ----------
    words : tuple of str
        Its command; ``{ranks}`` stands for the number of ranks. Without it, ``-n RANKS`` is added. Empty: one rank is
        started without a launcher.
    """

    words: tuple[str, ...]

    @classmethod
    def find(cls, command: str | None = None) -> Launcher:
        """Return the requested launcher, or the mpiexec of this environment, or the one on PATH.

        Parameters
        ----------
        command : str, optional
            Such as ``"srun --mpi=pmi2"`` or ``"mpiexec -hosts a,b -n {ranks}"``; split as a shell would.

        Raises
        ------
        DeviceError
            When there is none.
        """
        if command is not None:
            words = split(command)
            if not words or shutil.which(words[0]) is None:
                raise _missing(f"the launcher {words[0] if words else command!r} is not on PATH")
            return cls(tuple(words))
        # the one that belongs to the MPI of this environment; another one starts n runs of one rank
        beside = Path(sys.executable).with_name("mpiexec")
        program = str(beside) if os.access(beside, os.X_OK) else shutil.which("mpiexec")
        if program is None:
            raise _missing("no mpiexec was found")
        return cls((program,))

    @property
    def name(self) -> str:
        """The command without folders, for a record."""
        if not self.words:
            return "none"
        return shlex.join([Path(self.words[0]).name, *self.words[1:]])

    @property
    def on_this_node(self) -> bool:
        """Whether all ranks are on this node, as far as can be known: an mpiexec without more words."""
        return len(self.words) <= 1

    def start(self, ranks: int, program: Sequence[str]) -> list[str]:
        """Return the arguments that start `program` on `ranks` ranks."""
        words = [w.replace("{ranks}", str(ranks)) for w in self.words]
        count = [] if any("{ranks}" in w for w in self.words) else ["-n", str(ranks)]
        return [*words, *count, *program]


#: starts single ranks without any launcher
ALONE = Launcher(())


def _missing(what: str) -> DeviceError:
    return DeviceError(
        what,
        f"install the MPI of the wheel ({install('mpi')}), or name the one of the site with --launcher",
        code="E780",
    )


def split(command: str) -> list[str]:
    """Return the words of a command as a shell would split them.

    Raises
    ------
    SubsaltError
        When a quotation is not closed.
    """
    try:
        return shlex.split(command)
    except ValueError as error:
        wrong = SubsaltError(f"{command!r}: {error}", "close the quotation", code="E781")
        wrong.exit_code = 2
        raise wrong from None
