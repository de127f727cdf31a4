"""The tests of the founding documents by fio: 1 MiB in sequence, 4 KiB at random, service times, writes that go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from subsalt.errors import SubsaltError
from subsalt.io.publish import explain_os_error
from subsalt.machine.records import folder_in, wrong_answer
from subsalt.machine.storage import Row
from subsalt_lab import storage_rows
from subsalt_lab.fio import Answer, Fio, unreadable
from subsalt_lab.storage_rows import Transfers
from subsalt_lab.storage_settings import MIB, OUTSTANDING, SIZES, Settings

PAGE = 4096
#: what fio calls reads, writes and both at random
AT_RANDOM = {"read": "randread", "write": "randwrite", "mix": "randrw"}


class FioFile:
    """A file that fio made, verified, and tests; gone with its folder.

    Parameters
    ----------
    fio : Fio
        What runs.
    folder : Path
        Of our own.
    nbytes : int
        Of the file; whole MiB.
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
        """Return the options that keep `count` transfers under way."""
        if count > 1 and self.direct and "libaio" in self.fio.engines:
            return {"ioengine": "libaio", "iodepth": count}
        # through the page cache no call returns before it is done: as many threads
        return {"ioengine": "psync", "numjobs": count}

    def run(self, what: str, options: Mapping[str, object], seconds: float = 0.0) -> Answer:
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

    def timed(self, what: str, rw: str, size: int, count: int, seconds: float, **more: object) -> Answer:
        """Run a test of `seconds` with `count` transfers of `size` bytes under way."""
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
                yield storage_rows.fio_row(
                    Transfers(what, "sequential", MIB, threads, direct, durable=True), answer
                )
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
                yield storage_rows.fio_row(
                    Transfers(what, "random", PAGE, count, direct, durable=True), answer
                )
        for what in ("read", "write"):
            for size in (s for s in SIZES if s <= nbytes):
                answer = file.timed(
                    f"service time, {what}", AT_RANDOM[what], size, 1, settings.seconds, time_based=1
                )
                # through the cache the time of one write is that of memory
                yield storage_rows.fio_row(
                    Transfers(what, "service", size, 1, direct, durable=direct), answer
                )


def sustained(fio: Fio, directory: Path, settings: Settings, *, direct: bool) -> Row:
    """Return the row of random writes of 4 KiB that go on for a while, with the rate of every second."""
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
    return storage_rows.sustained_row("fio", rates, answer.nbytes, answer.seconds, count, direct)


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
