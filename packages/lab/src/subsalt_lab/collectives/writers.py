"""Write choices of algorithms as the MPI in use reads them: files and variables, and how they are given to programs.

Values that control variables of an MPI have when they are not set; a separate process asks the library.

Variables of Intel MPI that choose algorithms: ``I_MPI_ADJUST_<COLL>=n:low-high@p-p;...``.

Its tuning files are documented for its own tuner only. The variable takes ranges of message sizes and of ranks,
both ends included.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from subsalt import __version__
from subsalt.errors import DeviceError, MissingInputError, SubsaltError
from subsalt.io.publish import make_folder, publish_text
from subsalt.machine import programs
from subsalt_lab.collectives import mpich_files, mpich_table, openmpi_rules
from subsalt_lab.collectives.choice import Algorithm, AlgorithmChoice
from subsalt_lab.collectives.mpit import Tool
from subsalt_lab.option_values import wrong
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

#: largest size that a range can name
NO_END = 2**31 - 1


def name(collective: str) -> str:
    """Return the variable of a collective."""
    return f"I_MPI_ADJUST_{collective.upper()}"


def variables(choices: Sequence[AlgorithmChoice]) -> dict[str, str]:
    """Return the variables that bring choices about.

    Parameters
    ----------
    choices : sequence of AlgorithmChoice
        Sizes that no choice covers are left to the library.
    """
    out: dict[str, list[str]] = {}
    for c in sorted(choices, key=lambda c: (c.collective, c.comm_size, c.bytes_from)):
        last = NO_END if c.bytes_below is None else c.bytes_below - 1
        condition = f"{c.algorithm.number}:{c.bytes_from}-{last}@{c.comm_size}-{c.comm_size}"
        out.setdefault(name(c.collective), []).append(condition)
    return {key: ";".join(conditions) for key, conditions in out.items()}


def values(mpi: MpiInUse, names: Sequence[str]) -> dict[str, str]:
    """Return the values of control variables by name, as the environment takes them; without those it does not have.

    Parameters
    ----------
    mpi : MpiInUse
        The MPI that is asked.
    names : sequence of str
        Names of its control variables.
    """
    return dict(_values(mpi.library, tuple(names))) if names else {}


@cache
def _values(library: Path, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    ran = programs.run(
        [sys.executable, "-m", "subsalt_lab.collectives.writers", str(library), *names],
        what=f"asking {library.name} for its control variables",
        timeout=60.0,
    )
    return tuple(json.loads(ran.stdout.strip().splitlines()[-1]).items())


#: what is written beside the files: the choices, and the variables that bring them about
RECORD = "collectives.json"
SCHEMA = "subsalt-collectives-1"
#: the same as lines of a shell
SHELL = "collectives.sh"


@dataclass(frozen=True)
class TuningFiles:
    """Files and variables that bring choices about.

    Parameters
    ----------
    family : str
        Family of the MPI that the files are for.
    folder : path
        Where the files are.
    choices : tuple of AlgorithmChoice
        Choices that the files contain.
    files : tuple of path
        Files that the library reads; they must be seen by all nodes.
    environment : dict of str to str
        Variables for the ranks.
    arguments : tuple of str
        The same as words for the launcher.
    threads : str
        Level of thread support of the programs they hold for: ``"multiple"``, ``"single"`` or ``"any"``.
    notes : tuple of str
        Notes for the user of the files.
    """

    family: str
    folder: Path
    choices: tuple[AlgorithmChoice, ...]
    files: tuple[Path, ...]
    environment: Mapping[str, str]
    arguments: tuple[str, ...]
    threads: str = "any"
    notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing changes."""
        return not self.choices

    @property
    def as_variables(self) -> bool:
        """Whether it is variables in place of a file that the library would have."""
        return not self.files and self.family != "intel"

    @property
    def level(self) -> str:
        """Level of thread support of a program that tries it: ``"multiple"`` or ``"single"``."""
        return "single" if self.threads == "single" else "multiple"

    def how_to_use(self) -> str:
        """Return the lines that tell a person how programs get the choices."""
        if self.empty:
            return "no change: the library's own choices stay, nothing needs to be set"
        lines = [f"bash    source {shlex.quote(str(self.folder / SHELL))}"]
        # a comma in a value would end it for srun
        if "," not in "".join(self.environment.values()):
            exported = ",".join(["--export=ALL", *(f"{n}={v}" for n, v in self.environment.items())])
            lines.append(f"Slurm   {shlex.join(['srun', exported])} ...")
        lines.append(f"mpiexec {shlex.join(['mpiexec', *self.arguments])} ...")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "family": self.family,
            "choices": [c.to_dict() for c in self.choices],
            "files": [f.name for f in self.files],
            "environment": dict(self.environment),
            "arguments": list(self.arguments),
            "threads": self.threads,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Texts:
    """Texts of files by name, variables by name (``{folder}`` for the folder), and notes, before they are written."""

    files: Mapping[str, str]
    environment: Mapping[str, str]
    notes: tuple[str, ...] = ()


def write(
    mpi: MpiInUse,
    choices: Sequence[AlgorithmChoice],
    folder: Path,
    *,
    threads: str = "multiple",
    as_variables: bool = False,
) -> TuningFiles:
    """Write what brings choices about in programs of an MPI.

    Parameters
    ----------
    mpi : MpiInUse
        Whose files.
    choices : sequence of AlgorithmChoice
        Choices to write; ranges of sizes of one collective and number of ranks do not overlap. None: nothing is
        written but the record that says so.
    folder : path
        Is made when it is missing. The record of what was there before is replaced.
    threads : str
        ``"multiple"`` or ``"single"``: the level of thread support the choices were measured at.
    as_variables : bool
        Variables that hold for all sizes and communicators, where the library has them, instead of a file.

    Raises
    ------
    DeviceError
        When the library cannot be told (E940).
    """
    texts = compose(mpi, choices, threads=threads, as_variables=as_variables)
    folder = folder.absolute()
    make_folder(folder)
    remove(folder)
    for name, text in texts.files.items():
        publish_text(folder / name, text)
    environment = {n: v.replace("{folder}", str(folder)) for n, v in texts.environment.items()}
    written = TuningFiles(
        mpi.family,
        folder,
        tuple(choices),
        tuple(folder / n for n in texts.files),
        environment,
        tuple(arguments(mpi.family, environment)),
        threads if mpi.family == "mpich" else "any",
        texts.notes,
    )
    record(written)
    return written


def record(written: TuningFiles) -> None:
    """Write the record of what was written, and the lines for a shell."""
    lines = [f"export {n}={shlex.quote(v)}" for n, v in written.environment.items()]
    if lines:
        publish_text(written.folder / SHELL, "\n".join(lines) + "\n")
    publish_text(written.folder / RECORD, json.dumps(written.to_dict(), indent=1) + "\n")


def remove(folder: Path) -> None:
    """Remove what an earlier `write` left in a folder, so that it is no longer used."""
    for name in (RECORD, SHELL, openmpi_rules.FILE, *mpich_table.FILES.values()):
        with suppress(FileNotFoundError):
            (folder / name).unlink()


def read(folder: Path) -> TuningFiles:
    """Return what was written into a folder.

    Raises
    ------
    MissingInputError
        When nothing was (E941).
    SubsaltError
        When it is not such a record (E941).
    """
    path = folder.absolute() / RECORD
    try:
        plain = json.loads(path.read_text())
        if plain["schema"] != SCHEMA:
            raise ValueError(f"its schema is {plain['schema']}")
        return TuningFiles(
            plain["family"],
            folder.absolute(),
            tuple(AlgorithmChoice.from_dict(c) for c in plain["choices"]),
            tuple(folder.absolute() / n for n in plain["files"]),
            plain["environment"],
            tuple(plain["arguments"]),
            plain["threads"],
            tuple(plain["notes"]),
        )
    except FileNotFoundError:
        raise MissingInputError(
            f"{path} is missing: no choices of algorithms were written there",
            "run subsalt lab collectives --folder DIR first, and name that folder",
            code="E941",
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise SubsaltError(
            f"{path} is not a record of choices: {error!r}",
            "write it again with subsalt lab collectives",
            code="E941",
        ) from None


def compose(
    mpi: MpiInUse,
    choices: Sequence[AlgorithmChoice],
    *,
    threads: str = "multiple",
    as_variables: bool = False,
    mined: AlgorithmChoice | None = None,
) -> Texts:
    """Return what `write` writes, without writing it.

    Parameters
    ----------
    mpi, choices, threads, as_variables
        See `write`.
    mined : AlgorithmChoice, optional
        The one that is written such that every call that reaches it fails: a proof that calls reach it.
    """
    if not choices:
        return Texts({}, {})
    if mpi.family == "intel":
        chosen = [
            replace(c, algorithm=replace(c.algorithm, number=9999)) if c is mined else c for c in choices
        ]
        return Texts({}, variables(chosen))
    if as_variables:
        return _as_variables(mpi, choices, mined)
    return _openmpi(mpi, choices, mined) if mpi.family == "openmpi" else _mpich(mpi, choices, threads, mined)


def _mpich(
    mpi: MpiInUse, choices: Sequence[AlgorithmChoice], threads: str, mined: AlgorithmChoice | None
) -> Texts:
    source = mpich_files.MpichLibrary.of(mpi.library, values(mpi, mpich_files.needed(choices)))
    trees = mpich_files.trees(source, choices, threads, mined)
    files = {mpich_table.FILES[level]: mpich_table.text_of(tree) for level, tree in trees.items()}
    named = {mpich_table.VARIABLES[level]: f"{{folder}}/{mpich_table.FILES[level]}" for level in trees}
    other = "MPI_THREAD_MULTIPLE" if threads == "multiple" else "MPI_Init or less than MPI_THREAD_MULTIPLE"
    return Texts(files, named, (f"holds for programs that start MPI with {other}, as it was measured",))


def _openmpi(mpi: MpiInUse, choices: Sequence[AlgorithmChoice], mined: AlgorithmChoice | None) -> Texts:
    remark = f"algorithms of {mpi.name}, chosen by subsalt {__version__}; 0 is the choice of the library"
    tuned = [c for c in choices if _tuned_number(c.algorithm)]
    environment = {}
    files = {}
    if tuned:
        files[openmpi_rules.FILE] = openmpi_rules.text_of(openmpi_rules.rules_of(tuned, mined), remark)
        environment = {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": f"{{folder}}/{openmpi_rules.FILE}",
        }
    notes: list[str] = []
    if any("coll_han_priority" in _bare(c.algorithm.settings) for c in choices):
        environment["OMPI_MCA_coll_han_priority"] = "0"
        notes.append("sets the component han aside, which otherwise takes communicators of several nodes")
    elif tuned:
        notes.append(
            "on several nodes the component han takes the calls of the largest communicators before these rules: "
            "measure there, or set OMPI_MCA_coll_han_priority=0"
        )
    return Texts(files, environment, tuple(notes))


def _tuned_number(algorithm: Algorithm) -> int:
    return algorithm.number if any("tuned" in name for name in algorithm.settings) else 0


def _bare(settings: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix("OMPI_MCA_"): value for name, value in settings.items()}


def _as_variables(mpi: MpiInUse, choices: Sequence[AlgorithmChoice], mined: AlgorithmChoice | None) -> Texts:
    """Return variables: one algorithm of each collective, whatever size and communicator."""
    prefix = "OMPI_MCA_" if mpi.family == "openmpi" else ""
    environment: dict[str, str] = {}
    for c in choices:
        settings = _bare(c.algorithm.settings)
        for name, value in settings.items():
            # no algorithm of any library is called so; a number stays one
            given = "no_such_algorithm" if c is mined and "algorithm" in name.lower() else value
            if environment.setdefault(prefix + name, given) != given and mined is None:
                raise wrong(
                    f"{c.collective} has choices of several algorithms: a variable holds for all sizes",
                    "leave out --as-variables, or tune fewer sizes",
                )
    note = "variables hold for all sizes and all communicators, not only for those that were measured"
    return Texts({}, environment, (note,))


def arguments(family: str, environment: Mapping[str, str]) -> list[str]:
    """Return the words with which a launcher of an MPI gives variables to the ranks."""
    words: list[str] = []
    for name, value in environment.items():
        if family == "openmpi":
            words += ["--mca", name.removeprefix("OMPI_MCA_"), value]
        else:
            words += ["-genv", name, value]
    return words


def writable(mpi: MpiInUse, algorithm: Algorithm) -> str:
    """Return why an algorithm cannot be written for an MPI, empty when it can.

    Parameters
    ----------
    mpi : MpiInUse
        Whose files.
    algorithm : Algorithm
        Algorithm that would be chosen.
    """
    sample = AlgorithmChoice(algorithm.collective, 2, 0, None, algorithm, 1.0, 1.0, 1.0, 1.0)
    try:
        compose(mpi, [sample])
    except DeviceError as error:
        return re.sub(r"\s+", " ", error.message)
    return ""


def main() -> None:
    """Print the values of the named variables of a library, as JSON."""
    tool = Tool(Path(sys.argv[1]))
    known = tool.variables(re.escape(n) for n in sys.argv[2:])
    print(json.dumps({v.name: tool.text(v.name) for v in known}))


if __name__ == "__main__":
    main()
