"""Output of a foreign program, and whether another run of it produced the same.

Outputs are what a program printed, or the files that match globs. A file counts only when the run wrote it: one that
an earlier run left, untouched, would compare as equal to itself.
"""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from subsalt.errors import SubsaltError
from subsalt.io.publish import atomic_write, make_folder
from subsalt_lab.option_values import wrong

#: stands, in a command and in globs, for a folder of each run's own, made empty before it and removed after it
FOLDER = "{folder}"
#: the name of what a program printed
STDOUT = "standard output"
#: bytes compared at once
BLOCK = 1 << 22

#: says how two files differ, nothing when they are the same
Compare = Callable[[Path, Path], str]
#: what of a file changes when it is written
Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Difference:
    """An output that is not what it was.

    Parameters
    ----------
    name : str
        The file, or `STDOUT`.
    what : str
        In which way.
    """

    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"


def bytes_differ(one: Path, other: Path) -> str:
    """Say where two files first differ, and their sizes; nothing when all bytes are the same."""
    at = 0
    with one.open("rb") as a, other.open("rb") as b:
        while True:
            x, y = a.read(BLOCK), b.read(BLOCK)
            if x != y:
                break
            if not x:
                return ""
            at += len(x)
    # the block is small beside a run, so it may be walked through byte by byte
    at += next(i for i, (p, q) in enumerate(zip_longest(x, y)) if p != q)
    sizes = one.stat().st_size, other.stat().st_size
    lengths = f"{sizes[0]} bytes" if sizes[0] == sizes[1] else f"{sizes[0]} bytes against {sizes[1]}"
    return f"first differing byte {at} of {lengths}"


@dataclass(frozen=True)
class Outputs:
    """Output of a program that is compared.

    Parameters
    ----------
    globs : sequence of str
        Files, relative to the working folder; ``**`` goes down. Empty: what it prints on standard output.
    ignore : str, optional
        Regular expression: what it matches in standard output is left out of the comparison, such as a time.
    compare : callable
        Says how two files differ, nothing when they do not.
    """

    globs: Sequence[str] = ()
    ignore: str | None = None
    compare: Compare = bytes_differ

    def __post_init__(self) -> None:
        try:
            re.compile(self.ignore or "")
        except re.error as error:
            raise wrong(f"--ignore {self.ignore!r}: {error}", "correct the regular expression") from None
        if self.ignore is not None and self.globs:
            raise wrong(
                "--ignore belongs to standard output, and --outputs names files", "leave one of them out"
            )

    def files(self, folder: Path) -> dict[str, Path]:
        """Return the files that match now, by name; `folder` takes the place of `FOLDER`."""
        files: dict[str, Path] = {}
        for pattern in self.globs:
            for name in glob.glob(pattern.replace(FOLDER, glob.escape(str(folder))), recursive=True):
                path = Path(name)
                inside = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
                files |= {_name(p, folder): p for p in inside}
        return dict(sorted(files.items()))

    def stamps(self, folder: Path) -> dict[str, Stamp]:
        """Return what tells, after a run, which of the files it wrote."""
        return {name: _stamp(path) for name, path in self.files(folder).items()}

    def keep(self, printed: str, before: Mapping[str, Stamp], folder: Path, into: Path) -> dict[str, Path]:
        """Copy what a run left into a folder, by name.

        Raises
        ------
        SubsaltError
            When the globs match nothing that the run wrote (E920).
        """
        if not self.globs:
            make_folder(into)
            return {STDOUT: _write(into / "stdout", [self.text(printed, folder).encode()])}
        copies = {}
        make_folder(into)
        for number, (name, path) in enumerate(self.written(before, folder).items()):
            copies[name] = _copy(path, into / str(number))
        if not copies:
            old = f"; {len(before)} matched before and were not written" if before else ""
            raise SubsaltError(
                f"--outputs {' '.join(self.globs)} matches no file that the program wrote{old}",
                "quote the glob, and give it relative to the folder where the command is started; "
                "leave --outputs out to compare what is printed",
                code="E920",
            )
        return copies

    def written(self, before: Mapping[str, Stamp], folder: Path) -> dict[str, Path]:
        """Return the matching files that were written since `before` was taken."""
        return {n: p for n, p in self.files(folder).items() if before.get(n) != _stamp(p)}

    def text(self, printed: str, folder: Path) -> str:
        """Return what was printed without what may differ, its lines sorted: a launcher mixes those of ranks."""
        stable = re.sub(self.ignore, "", printed) if self.ignore else printed
        return "".join(sorted(stable.replace(str(folder), FOLDER).splitlines(keepends=True)))

    def differences(
        self,
        reference: Mapping[str, Path],
        printed: str,
        before: Mapping[str, Stamp],
        folder: Path,
    ) -> list[Difference]:
        """Return how the outputs of a run differ from those kept of another.

        Parameters
        ----------
        reference : mapping of str to Path
            From `keep`.
        printed : str
            Text that the run printed.
        before : mapping
            `stamps` from before the run.
        folder : Path
            The run's own folder.
        """
        if not self.globs:
            what = lines_differ(reference[STDOUT].read_text(), self.text(printed, folder))
            return [Difference(STDOUT, what)] if what else []
        differences = []
        now = self.written(before, folder)
        for name in sorted(reference.keys() | now.keys()):
            if name not in now:
                differences.append(Difference(name, "was not written"))
            elif name not in reference:
                differences.append(Difference(name, "was not written before"))
            elif what := self.compare(reference[name], now[name]):
                differences.append(Difference(name, what))
        return differences


def lines_differ(one: str, other: str) -> str:
    """Say which line of two texts is in one of them alone; nothing when they have the same lines."""
    if one == other:
        return ""
    for more, less, how in ((other, one, "prints"), (one, other, "no longer prints")):
        if extra := Counter(more.splitlines()) - Counter(less.splitlines()):
            return f"{how} {next(iter(extra))[:120]!r}"
    return "ends its lines in another way"


def _name(path: Path, folder: Path) -> str:
    return FOLDER + "/" + path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def _stamp(path: Path) -> Stamp:
    about = os.stat(path)
    return about.st_ino, about.st_mtime_ns, about.st_size


def _copy(source: Path, to: Path) -> Path:
    with source.open("rb") as f:
        return _write(to, iter(lambda: f.read(BLOCK), b""))


def _write(path: Path, blocks: Iterable[bytes]) -> Path:
    with atomic_write(path) as f:
        for block in blocks:
            f.write(block)
    return path
