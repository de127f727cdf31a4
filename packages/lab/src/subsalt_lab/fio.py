"""Drive fio, the usual tester of storage: find it, run one test, read its answer.

fio (Axboe, https://github.com/axboe/fio) is found on PATH and never brought along. Every test is one start with one
job; its answer is read from JSON with all buckets of the times of single transfers (``json+``, fio 3 and later).
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, SubsaltError
from subsalt.machine import programs, records

#: the first version whose JSON has times in nanoseconds
OLDEST = 3
#: how to get it
CURE = "install it (Debian: apt install fio), or use --engine own"
#: seconds in which it says its version
ANSWERS = 120.0
#: seconds beside those of a test that fio may take to start, lay out files and report
SLACK = 600.0


@dataclass(frozen=True)
class Fio:
    """A fio that can be used.

    Parameters
    ----------
    path : Path
        The program.
    version : str
        Such as ``"3.33"``.
    engines : frozenset of str
        Engines of input and output that it was built with, such as ``"psync"`` and ``"libaio"``.
    """

    path: Path
    version: str
    engines: frozenset[str]

    @classmethod
    def find(cls, path: Path | None = None) -> Fio:
        """Return the fio on PATH.

        Raises
        ------
        DeviceError
            When there is none, or one before version 3 (E960).
        """
        program = path or shutil.which("fio")
        if program is None:
            raise DeviceError("fio is not on PATH", CURE, code="E960")
        said = programs.answer([str(program), "--version"], ANSWERS)
        version = re.search(r"^fio-((\d+)\.\d+\S*)\s*$", said, re.MULTILINE)
        if version is None or int(version[2]) < OLDEST:
            raise DeviceError(
                f"{program} says it is {said.strip()[:40]!r}, version {OLDEST} or later is needed",
                CURE,
                code="E960",
            )
        known = programs.answer([str(program), "--enghelp"], ANSWERS)
        return cls(
            Path(program), version[1], frozenset(w for line in known.splitlines()[1:] for w in line.split())
        )

    def run(self, folder: Path, what: str, options: Mapping[str, object], seconds: float = 0.0) -> FioResult:
        """Run one test.

        Parameters
        ----------
        folder : Path
            For the answer; files of the test are named in the options.
        what : str
            How an error calls it.
        options : mapping
            Options of the job, such as ``{"rw": "randread", "bs": 4096}``.
        seconds : float
            How long the test is to take.

        Raises
        ------
        SubsaltError
            When fio fails (E961), or its answer cannot be read (E962).
        """
        file = folder / "fio.json"
        file.unlink(missing_ok=True)
        words = [f"--{key}={value}" for key, value in ({"name": "test"} | dict(options)).items()]
        before = records.storage_bytes()
        try:
            programs.run(
                [str(self.path), *words, "--output-format=json+", f"--output={file}"],
                what=what,
                timeout=seconds + SLACK,
            )
        except SubsaltError as error:
            raise failed(what, _said(file) or error.message) from None
        after = records.storage_bytes()
        fetched = None if before is None or after is None else after - before
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            raise unreadable(what, "it wrote none") from None
        return parse(text, what, fetched)


def failed(what: str, said: str) -> SubsaltError:
    """Return the error of a fio that did not do what it should."""
    error = SubsaltError(
        f"{what}: {said}", "correct what fio complains about, or use --engine own", code="E961"
    )
    error.exit_code = 74
    return error


def unreadable(what: str, why: str) -> SubsaltError:
    """Return the error of an answer that is none."""
    error = SubsaltError(
        f"{what}: the answer of fio cannot be read: {why}",
        "use --engine own, and report the version that fio --version prints",
        code="E962",
    )
    error.exit_code = 70
    return error


def _said(file: Path) -> str:
    """Return the complaint of fio that stands before or in place of its JSON, empty when there is none."""
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in lines if line.startswith("fio:")), "")


@dataclass(frozen=True)
class FioResult:
    """Result of one test of fio.

    Parameters
    ----------
    seconds : float
        Seconds of the test; the flush at its end, where one was requested, is included.
    read, written : int
        Bytes.
    reads, writes : int
        Transfers.
    services : mapping of int to int
        Transfers by their nanoseconds, in buckets of fio (within 1 %).
    fetched : int, optional
        Bytes that the system fetched from storage meanwhile; None where it does not say.
    """

    seconds: float
    read: int
    written: int
    reads: int
    writes: int
    services: Mapping[int, int]
    fetched: int | None = None

    @property
    def nbytes(self) -> int:
        """Bytes moved."""
        return self.read + self.written

    @property
    def count(self) -> int:
        """Transfers."""
        return self.reads + self.writes

    @property
    def from_storage(self) -> float | None:
        """Share of the bytes read that storage gave; of writes it means nothing."""
        return None if self.fetched is None else min(1.0, self.fetched / max(1, self.read))

    def service(self, part: float) -> float:
        """Return the seconds within which that part of the transfers was done."""
        wanted, seen = part * sum(self.services.values()), 0
        for nanoseconds, count in sorted(self.services.items()):
            seen += count
            if seen >= wanted:
                return 1e-9 * nanoseconds
        return 0.0


def parse(text: str, what: str, fetched: int | None = None) -> FioResult:
    """Return what a report of fio says about its one test.

    Parameters
    ----------
    text : str
        As fio wrote it; lines for people before the JSON are skipped.
    what : str
        How an error calls the test.
    fetched : int, optional
        Passed on.

    Raises
    ------
    SubsaltError
        E961 when fio reports an error of the job; E962 when the text is cut, of an old version, or says nothing.
    """
    try:
        report = json.loads(text[text.index("{") :])
    except (ValueError, RecursionError) as error:
        end = "it is empty" if not text.strip() else f"its JSON is not whole ({error})"
        raise unreadable(what, end) from None
    try:
        version = re.fullmatch(r"fio-(\d+)\..*", str(report["fio version"]))
        if version is None or int(version[1]) < OLDEST:
            raise unreadable(
                what, f"it is of {report['fio version']}, of version {OLDEST} and later are known"
            )
        jobs: Sequence[Mapping[str, Any]] = report["jobs"]
        wrong = [int(j["error"]) for j in jobs if j["error"]]
        if wrong:
            raise failed(what, f"fio reports error {wrong[0]}")
        sides = [j[side] for j in jobs for side in ("read", "write")]
        services: Counter[int] = Counter()
        for side in sides:
            services.update({int(k): int(n) for k, n in side["clat_ns"].get("bins", {}).items()})
        reads, writes = sides[::2], sides[1::2]
        answer = FioResult(
            1e-3 * max(int(side["runtime"]) for side in sides),
            sum(int(side["io_bytes"]) for side in reads),
            sum(int(side["io_bytes"]) for side in writes),
            sum(int(side["total_ios"]) for side in reads),
            sum(int(side["total_ios"]) for side in writes),
            services,
            fetched,
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise unreadable(what, f"{type(error).__name__} {error}") from None
    if not answer.count or answer.seconds <= 0:
        raise unreadable(what, "nothing was moved in a time that can be told")
    return answer
