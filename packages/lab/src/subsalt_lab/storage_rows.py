"""The rows of `lab storage`: what moved, how, what it reached, and at which rate.

The other tables are those of founding document 004, a flash array of up to 80 modules. Its figures are the best of one
minute, by vdbench with 32 transfers in flight for each module; service times are those of one transfer at a time.

The tests of the founding documents by fio: 1 MiB in sequence, 4 KiB at random, service times, sustained writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from subsalt.errors import SubsaltError
from subsalt.io.publish import explain_os_error
from subsalt.machine.records import folder_in, wrong_answer
from subsalt.machine.stats import fit_line, ratio, summary
from subsalt.machine.storage import HOW, Row, reached
from subsalt.report.table import Column, render
from subsalt_lab.fio import Fio, FioResult, unreadable
from subsalt_lab.storage_settings import MIB, OUTSTANDING, SIZES, Settings
from subsalt_lab.transfers import Taken

#: seconds of a burst and of what follows it, of the founding documents' one minute
LONG = 180
#: resolution of the times of fio, s
FIO_CLOCK = 1e-3
#: part by which the store of the migrations may be slower than what does nothing else
SLOWER = 0.1

UNITS = {
    "bytes": "B",
    "moved": "B",
    "rate": "GB/s",
    "requests_per_s": "1/s",
    "burst_per_s": "1/s, mean of the first minute, or of the first third",
    "sustained_per_s": "1/s, mean of the last third",
    "of_burst": "sustained over burst",
    "against": "rate over that of the yardstick of the same rounds",
    "service_median": "s",
    "service_99": "s",
    "busy": "s",
    "stall": "s",
    "spread": "1",
    "from_storage": "1",
    "seconds": "s",
}


@dataclass(frozen=True)
class Transfers:
    """Transfers of a test: kind, size, number and depth.

    Parameters
    ----------
    what : str
        ``"read"``, ``"write"`` or ``"mix"``.
    pattern : str
        ``"sequential"``, ``"random"``, ``"service"`` or ``"streams"``.
    size : int
        Bytes of a transfer.
    threads : int
        Transfers at a time.
    direct : bool
        Past the page cache.
    durable : bool
        The flush to storage is inside the time of the writes.
    """

    what: str
    pattern: str
    size: int
    threads: int
    direct: bool
    durable: bool

    def row(self, engine: str, moved: Sequence[int], seconds: Sequence[float], reads_reach: str = "") -> Row:
        """Return what all rows have in common, of the bytes and the seconds of each sample."""
        rates = summary([n / s for n, s in zip(moved, seconds, strict=True)])
        return {
            "engine": engine,
            "what": self.what,
            "pattern": self.pattern,
            "bytes": self.size,
            "threads": self.threads,
            "how": HOW[self.direct],
            "reaches": reads_reach or ("durable" if self.durable else "cached"),
            "count": moved[0] // self.size,
            "moved": moved[0],
            "rate": rates.median / 1e9,
            "spread": rates.spread,
            "seconds": list(seconds),
        }


def row(test: Transfers, taken: Sequence[Taken]) -> Row:
    """Return the row of some samples of one test."""
    services = np.concatenate([t.services for t in taken])
    return _tested("own", test, taken) | {
        "service_median": float(np.median(services)),
        "service_99": float(np.percentile(services, 99)),
    }


def fio_row(test: Transfers, answer: FioResult) -> Row:
    """Return the row of one test by fio."""
    return _tested("fio", test, [answer]) | {
        "service_median": answer.service(0.5),
        "service_99": answer.service(0.99),
    }


def _tested(engine: str, test: Transfers, taken: Sequence[Taken | FioResult]) -> Row:
    """Return what rows of both engines have in common."""
    shares = [t.from_storage for t in taken if t.from_storage is not None]
    reads = test.what == "read"
    reach = reached(shares) if reads else ""
    common = test.row(engine, [t.nbytes for t in taken], [t.seconds for t in taken], reach)
    return common | {
        "count": taken[0].count,
        "requests_per_s": 1e9 * common["rate"] / test.size,
        "from_storage": median(shares) if reads and shares else None,
    }


def stream_row(
    engine: str, test: Transfers, moved: int, seconds: Sequence[float], against: Sequence[float] = ()
) -> Row:
    """Return the row of threads that wrote one file.

    Parameters
    ----------
    engine : str
        ``"fio"``, ``"own"``, or ``"snapshots"`` for the store of the migrations.
    test : Transfers
        Transfers of the pattern ``"streams"``.
    moved : int
        Bytes of the file.
    seconds : sequence of float
        Samples.
    against : sequence of float
        Seconds of the yardstick for as many bytes, of the same rounds.
    """
    compared = ratio(against, seconds).median if against else None
    # fio counts milliseconds
    is_significant = bool(against) and median(seconds) - median(against) > FIO_CLOCK
    return test.row(engine, [moved] * len(seconds), seconds) | {
        "against": compared,
        "marks": "slower" if compared is not None and compared < 1 - SLOWER and is_significant else "",
    }


def sustained_row(
    engine: str, rates: Sequence[float], moved: int, seconds: float, threads: int, direct: bool
) -> Row:
    """Return the row of sustained random writes.

    Parameters
    ----------
    engine : str
        Which wrote.
    rates : sequence of float
        Transfers per second, of every second.
    moved : int
        Bytes.
    seconds : float
        Seconds of the whole test, with its flush.
    threads : int
        Transfers at a time.
    direct : bool
        Past the page cache.

    Notes
    -----
    Burst is the mean of the first minute, or of the first third of a shorter test; sustained that of the last third.
    Founding document 004 calls the best of a minute the rate of its flash array, and found 26 to 29 % of it sustained.
    """
    third = max(1, len(rates) // 3)
    burst, last = rates[: min(60, third)], rates[-third:]
    first, end = sum(burst) / len(burst), sum(last) / len(last)
    test = Transfers("write", "sustained", 4096, threads, direct, durable=direct)
    return test.row(engine, [moved], [seconds]) | {
        "spread": summary(rates).spread,
        "requests_per_s": moved / 4096 / seconds,
        "burst_per_s": first,
        "sustained_per_s": end,
        "of_burst": end / first if first > 0 else None,
        "per_second": list(rates),
    }


def line_through(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float, float]:
    """Fit t = a + s / b to service times; return a in s, b in B/s, and the largest relative error.

    Notes
    -----
    Least squares of the relative errors: each row is divided by its time, so that 4 KiB counts as much as 1 MiB.
    """
    line = fit_line(sizes, seconds)
    return line.intercept, 1.0 / line.slope, line.worst


def fits(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the line through the service times of each directory, for reads and for writes."""
    by_kind: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for r in rows:
        if r["pattern"] == "service":
            by_kind.setdefault((r["directory"], r["what"], r["engine"]), []).append(r)
    out = []
    for (directory, what, engine), some in by_kind.items():
        a, b, worst = line_through([r["bytes"] for r in some], [r["service_median"] for r in some])
        out.append({"directory": directory, "what": what, "engine": engine, "a": a, "b": b, "worst": worst})
    return out


def notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a reader of the numbers must know."""
    out = [
        f"{f['directory']}: a {f['what']} of s bytes takes {1e3 * f['a']:.3f} ms + s / {f['b'] / 1e6:.0f} MB/s "
        f"(within {f['worst']:.0%}; {f['engine']})"
        for f in fits(rows)
    ]
    memory = sorted(
        {r["directory"] for r in rows if r["reaches"] == "memory" and r["file_system"] == "tmpfs"}
    )
    out += [f"{d} lies in memory: none of its speeds is that of a disk" for d in memory]
    if any(r["reaches"] == "cached" or (r["reaches"] == "memory" and r["what"] == "get") for r in rows):
        out.append("cached and memory are speeds of the page cache: no disk was waited for")
    slower = sum(r.get("marks") == "slower" for r in rows)
    if slower:
        out.append(
            f"slower: in {slower} rows the store of the migrations took over {SLOWER:.0%} longer than the plain writer"
        )
    short = [r for r in rows if r["pattern"] == "sustained" and len(r["per_second"]) < LONG]
    if short:
        out.append(f"writes that continue for less than {LONG} s may not have left the burst behind")
    partly = sum(r["reaches"] == "partly memory" for r in rows)
    if partly:
        out.append(
            f"{partly} rows had some of their bytes from memory: their storage is slower than they say"
        )
    if any(r["reaches"] == "unknown" for r in rows):
        out.append("the system does not say which reads storage gave")
    return out


#: modules of the array in the columns of the document
MODULES = (80, 40, 20, 1)


@dataclass(frozen=True)
class StorageTest:
    """One row of the document's first table.

    Parameters
    ----------
    name : str
        As the document calls it.
    unit : str
        ``"K IOPS"`` (thousands of transfers per second) or ``"GB/s"``.
    figures : tuple of float
        By `MODULES`.
    pattern, what : str
        Pattern and operation of our rows.
    value : str
        Key of the figure in them.
    """

    name: str
    unit: str
    figures: tuple[float, ...]
    pattern: str
    what: str
    value: str


TESTS = (
    StorageTest("random read 4K", "K IOPS", (1591, 796, 397, 21), "random", "read", "requests_per_s"),
    StorageTest("random write 4K", "K IOPS", (1217, 610, 304, 15), "random", "write", "requests_per_s"),
    StorageTest("50-50 read and write 4K", "K IOPS", (850, 426, 213, 11), "random", "mix", "requests_per_s"),
    StorageTest("sequential read 1M", "GB/s", (12.8, 6.4, 3.2, 0.265), "sequential", "read", "rate"),
    StorageTest("sequential write 1M", "GB/s", (9.7, 4.8, 2.4, 0.118), "sequential", "write", "rate"),
    StorageTest(
        "random write 4K sustained", "K IOPS", (311, 169, 86, 4.4), "sustained", "write", "sustained_per_s"
    ),
)

#: KiB of a transfer -> ms of a read and of a write
SERVICE_MS: Mapping[int, tuple[float, float]] = {
    4: (0.41, 0.28),
    8: (0.42, 0.35),
    16: (0.45, 0.72),
    32: (0.51, 0.77),
    64: (0.63, 1.52),
    128: (0.87, 2.99),
    256: (1.34, 6.03),
    512: (2.29, 12.14),
    1024: (4.19, 23.79),
}


def best(rows: Sequence[Mapping[str, Any]], directory: str, test: StorageTest) -> float | None:
    """Return the best figure of a directory for a test that reached its storage; None when it was not made.

    A speed of the page cache is none of a disk, and is left out; that of a file system in memory is labelled there.
    """
    figures = [
        float(r[test.value]) * (1e-3 if test.unit == "K IOPS" else 1.0)
        for r in rows
        if (r["directory"], r["pattern"], r["what"]) == (directory, test.pattern, test.what)
        and (r["reaches"] not in ("cached", "memory") or r["file_system"] in ("tmpfs", "ramfs"))
    ]
    return max(figures, default=None)


def founding_tables(rows: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    """Yield the tables of the document with a column for each directory.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of `storage.measure`.
    how : str
        See `table.render`.
    """
    gap = "" if how == "text" else "\n"
    places = list(dict.fromkeys(r["directory"] for r in rows))
    in_memory = {r["directory"] for r in rows if r["file_system"] in ("tmpfs", "ramfs")}
    here = [Column(f"at {p}", f"{p} (memory)" if p in in_memory else p, ".4g") for p in places]
    modules = [Column(f"modules {m}", f"F5100, {m}", ".4g") for m in MODULES]
    first: list[dict[str, Any]] = [
        dict[str, Any](test=f"{t.name}, {t.unit}")
        | {f"modules {m}": f for m, f in zip(MODULES, t.figures, strict=True)}
        | {f"at {p}": best(rows, p, t) for p in places}
        for t in TESTS
    ]
    yield (
        f"A published flash array by modules, the best of a minute, and this machine\n{gap}"
        + render(first, [Column("test", "test"), *modules, *here], how)
    )
    yield f"Service time, one transfer at a time, ms\n{gap}" + render(*_service(rows, places), how)
    fits = [
        _fit("F5100", what, [(k, SERVICE_MS[k][i]) for k in SERVICE_MS])
        for i, what in enumerate(("read", "write"))
    ]
    for p in places:
        for what in ("read", "write"):
            times = _times(rows, p, what)
            if len(times) > 2:
                fits.append(_fit(p, what, sorted(times.items())))
    columns = [
        Column("where", "where"),
        Column("what", "what"),
        Column("a", "a ms", ".3f"),
        Column("b", "b MB/s", ".0f"),
        Column("worst", "worst %", ".0f", 100),
    ]
    yield f"Service time of s bytes as a + s / b\n{gap}" + render(fits, columns, how)


def _service(
    rows: Sequence[Mapping[str, Any]], places: Sequence[str]
) -> tuple[list[dict[str, Any]], list[Column]]:
    out: list[dict[str, Any]] = []
    for kib, (read, write) in SERVICE_MS.items():
        row: dict[str, Any] = {"KiB": kib, "read": read, "write": write}
        for p in places:
            row |= {f"{what} {p}": _times(rows, p, what).get(kib) for what in ("read", "write")}
        out.append(row)
    columns = [
        Column("KiB", "KiB", "d"),
        Column("read", "F5100 read", ".2f"),
        Column("write", "write", ".2f"),
    ]
    for p in places:
        columns += [Column(f"read {p}", f"{p} read", ".3f"), Column(f"write {p}", "write", ".3f")]
    return out, columns


def _times(rows: Sequence[Mapping[str, Any]], directory: str, what: str) -> dict[int, float]:
    """Return milliseconds by KiB; those of fio where both were measured, for they come first."""
    milliseconds: dict[int, float] = {}
    for r in rows:
        if (r["directory"], r["pattern"], r["what"]) == (directory, "service", what):
            milliseconds.setdefault(r["bytes"] // 1024, 1e3 * r["service_median"])
    return milliseconds


def _fit(where: str, what: str, times: Sequence[tuple[int, float]]) -> dict[str, Any]:
    a, b, worst = line_through([1024 * k for k, _ in times], [1e-3 * t for _, t in times])
    return {"where": where, "what": what, "a": 1e3 * a, "b": b / 1e6, "worst": worst}


PAGE = 4096
#: what fio calls reads, writes and both at random
AT_RANDOM = {"read": "randread", "write": "randwrite", "mix": "randrw"}


class FioFile:
    """A file that fio made, verified, and tests; gone with its folder.

    Parameters
    ----------
    fio : Fio
        Installed fio.
    folder : Path
        Folder for files of this test alone.
    nbytes : int
        Size of the file; whole MiB.
    direct : bool
        Past the page cache.
    """

    def __init__(self, fio: Fio, folder: Path, nbytes: int, *, direct: bool) -> None:
        self.fio, self.folder, self.nbytes, self.direct = fio, folder, nbytes, direct
        try:
            folder.mkdir()
        except OSError as error:
            raise explain_os_error(error, folder.parent, nbytes) from None

    def lay_out(self) -> None:
        """Write the file once and compare every byte, so that no test meets blocks that were never written.

        Raises
        ------
        SubsaltError
            When what is read is not what was written (E710).
        """
        try:
            self.run(
                "laying out a file",
                {"rw": "write", "bs": MIB, "verify": "crc32c", "verify_state_save": 0, "end_fsync": 1},
            )
        except SubsaltError as error:
            if "verify" in error.message or "error 84" in error.message:
                raise wrong_answer(f"reading {self.folder.parent} by fio") from None
            raise

    def outstanding(self, count: int) -> Mapping[str, object]:
        """Return the options that keep `count` transfers in flight."""
        if count > 1 and self.direct and "libaio" in self.fio.engines:
            return {"ioengine": "libaio", "iodepth": count}
        # through the page cache no call returns before it is done: as many threads
        return {"ioengine": "psync", "numjobs": count}

    def run(self, what: str, options: Mapping[str, object], seconds: float = 0.0) -> FioResult:
        """Run one test on the file; what is not said is the usual."""
        usual: dict[str, object] = {
            "filename": self.folder / "trial",
            "size": self.nbytes,
            "direct": int(self.direct),
            "ioengine": "psync",
            "thread": 1,
            "group_reporting": 1,
            "norandommap": 1,
        }
        label = f"fio in {self.folder.parent}, {what}"
        return self.fio.run(self.folder, label, usual | dict(options), seconds)

    def timed(self, what: str, rw: str, size: int, count: int, seconds: float, **more: object) -> FioResult:
        """Run a test of `seconds` with `count` transfers of `size` bytes in flight."""
        options = {"rw": rw, "bs": size, "runtime": f"{max(1, round(1e3 * seconds))}ms"} | more
        return self.run(what, options | dict(self.outstanding(count)), seconds)


def transfers(fio: Fio, directory: Path, settings: Settings, *, direct: bool) -> Iterator[Row]:
    """Yield the tables of the founding documents: sequence, random, mix, and service times by size."""
    nbytes = settings.file_bytes
    with folder_in(directory) as folder:
        file = FioFile(fio, folder, nbytes, direct=direct)
        file.lay_out()
        for threads in dict.fromkeys((1, max(settings.threads))):
            # each thread has a share of its own of the file
            share = nbytes // threads // PAGE * PAGE
            slabs = {"size": share, "offset_increment": share, "numjobs": threads, "ioengine": "psync"}
            for what in ("write", "read"):
                runtime = f"{round(1e3 * settings.seconds)}ms"
                options = slabs | {
                    "rw": what,
                    "bs": min(MIB, share),
                    "end_fsync": int(what == "write"),
                    "runtime": runtime,
                }
                answer = file.run(f"1 MiB in sequence, {what}", options, settings.seconds)
                yield fio_row(Transfers(what, "sequential", MIB, threads, direct, durable=True), answer)
        for count in OUTSTANDING:
            for what, rw in AT_RANDOM.items():
                answer = file.timed(
                    f"4 KiB at random, {what}",
                    rw,
                    PAGE,
                    count,
                    settings.seconds,
                    time_based=1,
                    end_fsync=int(what != "read"),
                )
                yield fio_row(Transfers(what, "random", PAGE, count, direct, durable=True), answer)
        for what in ("read", "write"):
            for size in (s for s in SIZES if s <= nbytes):
                answer = file.timed(
                    f"service time, {what}", AT_RANDOM[what], size, 1, settings.seconds, time_based=1
                )
                # through the cache the time of one write is that of memory
                yield fio_row(Transfers(what, "service", size, 1, direct, durable=direct), answer)


def sustained(fio: Fio, directory: Path, settings: Settings, *, direct: bool) -> Row:
    """Return the row of sustained random writes of 4 KiB, with the rate of every second."""
    count = max(OUTSTANDING)
    with folder_in(directory) as folder:
        file = FioFile(fio, folder, settings.file_bytes, direct=direct)
        file.lay_out()
        what = "writes that go on"
        answer = file.timed(
            what,
            "randwrite",
            PAGE,
            count,
            settings.sustained,
            time_based=1,
            end_fsync=1,
            write_iops_log=folder / "rate",
            log_avg_msec=1000,
        )
        logs = [p.read_text() for p in sorted(folder.glob("rate_iops.*.log"))]
    rates = rates_by_second(logs, what)
    return sustained_row("fio", rates, answer.nbytes, answer.seconds, count, direct)


def rates_by_second(logs: list[str], what: str) -> list[float]:
    """Return transfers per second, of every second, summed over the logs of all threads.

    Parameters
    ----------
    logs : list of str
        As fio writes them: milliseconds, transfers per second, direction, block, offset, priority.
    what : str
        How an error calls the test.

    Raises
    ------
    SubsaltError
        When there is none, or a line has no numbers (E962).
    """
    seconds: dict[int, float] = {}
    try:
        for log in logs:
            for line in log.splitlines():
                words = line.split(",")
                # entries are of the second that ends there; the clock of fio may be some milliseconds late
                second = max(0, round(int(words[0]) / 1000) - 1)
                seconds[second] = seconds.get(second, 0.0) + float(words[1])
    except (ValueError, IndexError) as error:
        raise unreadable(what, f"a line of its log is damaged ({error})") from None
    if not seconds:
        raise unreadable(what, "its log of rates is empty")
    return [seconds.get(k, 0.0) for k in range(max(seconds) + 1)]
