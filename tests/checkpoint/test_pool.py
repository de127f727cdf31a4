"""The compiled threads: checksums, whole transfers, failures of any call, slow files, and an orderly end."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scratch_faults import content, fill, is_right, native_faults

from patience import PATIENCE, wait_for
from subsalt import _native
from subsalt.checkpoint.storage.record import BLOCK, RecordLayout
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.transfers import Buffer, Pool, SlotInFile
from subsalt.errors import CannotCreateError, DiskError, SnapshotDamaged, SubsaltError
from subsalt.io.faults import FaultCounter, set_fault
from thorough import some

WAYS = _native.scratch.crc32c_ways()


@pytest.fixture
def store_in(tmp_path):
    made = []

    def make(record=3000, **kinds):
        arguments = {k: kinds.pop(k) for k in ("buffers", "records", "keep", "meta") if k in kinds}
        made.append(Scratch("a" * 64, [tmp_path / "s"], **kinds))
        return made[-1].open("states", 1, record, arguments.pop("buffers", 2), **arguments)

    yield make
    for scratch in made:
        scratch.close()


@pytest.fixture
def fault():
    yield set_fault
    set_fault(None)


@pytest.mark.parametrize("way", WAYS)
def test_checksums_are_those_of_the_standard(way):
    # RFC 3720, appendix B.4, and the check value of the catalogues
    known = [
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"123456789", 0xE3069283),
        (b"", 0),
    ]
    for data, expected in known:
        assert _native.scratch.crc32c(np.frombuffer(data, np.uint8), 0, way) == expected


@pytest.mark.parametrize("way", WAYS)
def test_checksums_do_not_depend_on_the_way_or_the_pieces(way):
    crc = _native.scratch.crc32c
    data = np.random.default_rng(3).integers(0, 256, 100_000, dtype=np.uint8)
    for n in [*range(70), 511, 512, 513, 4096, 12287, 12288, 12289, 24577, 99_991]:
        for start in (0, 1, 7):
            piece = data[start : start + n]
            assert crc(piece, 0, way) == crc(piece, 0, "tables")
            assert crc(piece[n // 3 :], crc(piece[: n // 3], 0, way), way) == crc(piece, 0, way)


def test_an_unknown_way_is_refused():
    with pytest.raises(ValueError, match="no CRC-32C by magic"):
        _native.scratch.crc32c(np.zeros(1, np.uint8), 0, "magic")


@pytest.mark.parametrize("threads", some(range(1, 9), 3))
@pytest.mark.parametrize("direct", [False, True])
def test_any_number_of_threads_moves_the_same_bytes(store_in, threads, direct):
    store = store_in(record=3 * BLOCK // 4 + 1234567 // 4, threads=threads, direct=direct, buffers=3)
    fill(store, [1, 2])
    first = store.files.paths[0].read_bytes()
    assert len(first) >= 2 * store.layout.total
    assert is_right(store, 1)
    assert is_right(store, 2)
    counts = store.counts
    assert counts.disk_written == counts.disk_read == 2 * store.layout.total
    assert counts.bytes_written == counts.bytes_read == 8 * store.record
    assert counts.put_seconds > 0
    assert counts.get_seconds > 0


def test_a_file_system_without_direct_access_is_written_all_the_same(store_in, monkeypatch):
    real = os.open

    def refuse(path, flags, *rest, **more):
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    store = store_in(direct=True)
    assert not store.files.direct
    fill(store, [1])
    assert is_right(store, 1)


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("faults", [{"most": 1000}, {"most": 5000}, {"every": 2}, {"most": 777, "every": 3}])
def test_short_and_interrupted_calls_are_invisible(store_in, faults, direct):
    store = store_in(record=BLOCK // 4 + 777, direct=direct, threads=3)
    with native_faults(**faults) as (calls, hits):
        fill(store, range(4))
        assert all(is_right(store, key) for key in range(4))
        assert calls() >= hits() > 10


def test_the_kth_failing_write_is_told_and_what_was_done_stays(store_in):
    keys, blocks = range(4), RecordLayout.of(BLOCK // 2).blocks
    calls = len(keys) * (blocks + 1)  # a trailer each
    for k in range(1, calls + 1):
        store = store_in(record=BLOCK // 2, threads=2)
        with native_faults(fail_at=k, error=errno.EIO, reads=False) as (_, hits):
            with pytest.raises(DiskError) as caught:
                fill(store, keys)
            assert hits() == 1
        assert caught.value.code == "E620"
        assert str(store.files.paths[0]) in str(caught.value)
        with pytest.raises(DiskError):
            store.room()
        store.close(remove=True)
        assert not store.files.paths[0].exists()
    with native_faults(fail_at=calls + 1, error=errno.EIO, reads=False) as (done, hits):
        fill(store_in(record=BLOCK // 2, threads=2), keys)
        assert (done(), hits()) == (calls, 0)


def test_a_disk_that_fills_up_says_what_is_needed(store_in):
    store = store_in()
    with (
        native_faults(fail_at=3, error=errno.ENOSPC, forever=True, reads=False),
        pytest.raises(DiskError, match=r"disk full: need .*, have .* at .*states\.r00\.snap") as caught,
    ):
        fill(store, range(5))
    assert caught.value.code == "E621"
    assert caught.value.exit_code == 74


def test_a_disk_that_is_too_small_is_told_before_anything_is_written(store_in, tmp_path):
    with pytest.raises(DiskError, match=r"need .*TB, have .* at"):
        store_in(record=1 << 28, records=1 << 16)
    assert not list(tmp_path.rglob("*.snap"))


def test_the_kth_failing_read_is_a_damaged_record(store_in):
    record = BLOCK // 2
    store = store_in(record=record, threads=2, buffers=3)
    fill(store, range(3))
    calls = 3 * store.layout.blocks
    for k in range(1, calls + 1):
        with native_faults(fail_at=k, error=errno.EIO, writes=False) as (_, hits):
            store.expect(range(3))
            broken = []
            for key in range(3):
                try:
                    assert is_right(store, key)
                except SnapshotDamaged as e:
                    broken.append((key, e.reason))
            assert len(broken) == hits() == 1
            assert "Input/output error" in broken[0][1]
        # the next look may succeed
        assert is_right(store, broken[0][0])


def test_every_operation_that_python_asks_for_may_fail(tmp_path, fault):
    def course(folder):
        with Scratch("a" * 64, [folder / "s"]) as scratch:
            meta = {"shape": [4, 5, 5], "box": [[0, 0, 0], [4, 5, 5]], "dt": 0.001, "image_step": 1}
            store = scratch.open("source", 1, 100, 2, records=3, meta=meta, keep=True)
            try:
                fill(store, range(3))
                for key in range(3):
                    assert is_right(store, key)
            except BaseException:
                store.close(remove=True)
                raise
            store.close()

    count = FaultCounter()
    fault(count)
    course(tmp_path / "all")
    assert count.count > 15
    assert {"mkdir", "open", "allocate", "pwrite", "pread", "fsync", "rename"} <= set(count.log)
    for k, operation in enumerate(count.log, 1):
        if operation == "unlink":
            continue
        fault(FaultCounter(k, errno.EIO))
        try:
            course(tmp_path / str(k))
        except (DiskError, CannotCreateError, SnapshotDamaged):
            pass
        else:
            pytest.fail(f"operation {k} ({operation}) failed, and nobody said so")
        fault(None)
        assert not list((tmp_path / str(k)).rglob("*.json")) or operation == "fsync-folder"


#: seconds that a disk holds every call back: far longer than any test, which lets go of it
HELD = 600.0


def test_a_slow_disk_holds_the_caller_back(store_in, monkeypatch):
    store = store_in(record=1000, buffers=2, threads=1)
    pool, waits = store._flight.pool, []
    wait = pool.wait

    def let_go(ticket):
        waits.append(pool.is_over(ticket))
        _native.scratch.clear_faults()
        wait(ticket)

    monkeypatch.setattr(pool, "wait", let_go)
    with native_faults(wait=HELD):
        for key in range(2):
            store.put(key, store.room())
        assert waits == []
        # both buffers are on their way: the caller waits for the older one
        store.put(2, store.room())
        assert waits == [False]
        assert store.counts.stall_seconds > 0
    store.flush()


def test_records_come_while_the_caller_computes(store_in):
    store = store_in(record=1000, buffers=2, threads=1)
    fill(store, range(5))
    store.expect(range(5))
    flight = store._flight
    coming = list(flight.reading)
    assert coming == [0, 1]
    # without being asked for
    wait_for(lambda: all(flight.pool.is_over(flight.reading[key].ticket) for key in coming))
    assert all(is_right(store, key) for key in range(5))


def test_a_signal_ends_a_wait(store_in):
    def interrupt(number, frame):
        if store._flight.reading:  # else the wait has not begun
            raise KeyboardInterrupt

    store = store_in(record=1000)
    fill(store, [1])
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with native_faults(wait=HELD):
            signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
            try:
                with pytest.raises(KeyboardInterrupt):
                    store.get(1)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            (moving,) = store._flight.reading.values()
            assert not store._flight.pool.is_over(moving.ticket)
    finally:
        signal.signal(signal.SIGALRM, before)
    store.close()


def test_stopping_leaves_what_has_not_begun(tmp_path):
    pool = Pool(1)
    layout = RecordLayout.of(1000)
    fd = os.open(tmp_path / "f", os.O_RDWR | os.O_CREAT)
    try:
        with native_faults(wait=HELD) as (calls, _):
            buffers = [Buffer(layout, 1000) for _ in range(4)]
            tickets = [
                pool.write(SlotInFile(fd, i * layout.total, tmp_path / "f", False), b, layout, i)
                for i, b in enumerate(buffers)
            ]
            wait_for(lambda: calls() == 1)
            # the one that has begun is held back until the others have been left
            waker = threading.Thread(
                target=let_go_after, args=(lambda: pool.outcome(tickets[-1]).error != 0,)
            )
            waker.start()
            pool.stop()
            waker.join()
        outcomes = [pool.outcome(t) for t in tickets]
        assert all(pool.is_over(t) for t in tickets)
        assert [o.error for o in outcomes] == [0, *3 * [errno.ECANCELED]]
        with pytest.raises(RuntimeError, match="have ended"):
            pool.write(SlotInFile(fd, 0, tmp_path / "f", False), buffers[0], layout, 1)
    finally:
        os.close(fd)


def let_go_after(condition):
    wait_for(condition)
    _native.scratch.clear_faults()


def wakings(threads=None):
    """Return how often threads of this process have gone to sleep or were taken off their core, by their number."""
    counts = {}
    for task in Path("/proc/self/task").iterdir():
        if threads is None or task.name in threads:
            lines = [line.split(":", 1) for line in (task / "status").read_text().splitlines() if ":" in line]
            words = dict(lines)
            counts[task.name] = sum(
                int(words[f"{kind}_ctxt_switches"]) for kind in ("voluntary", "nonvoluntary")
            )
    return counts


def test_threads_sleep_while_there_is_nothing_to_do(store_in):
    others = set(wakings())
    store = store_in(threads=8)
    fill(store, [1])
    mine = set(wakings()) - others
    assert len(mine) == 8
    seen = []
    wait_for(lambda: (seen.append(wakings(mine)), len(seen) > 20 and seen[-1] == seen[-20])[1])
    before = wakings(mine)
    time.sleep(0.2)
    # a thread that looks again and again, or computes, is put to sleep or taken off its core some time
    assert wakings(mine) == before


@pytest.mark.parametrize(
    "ending", ["", "raise ValueError('on purpose')", "os._exit(3)", "os.kill(os.getpid(), 2)"]
)
def test_a_process_may_end_at_any_time(tmp_path, ending):
    script = f"""
import os, sys
from pathlib import Path
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt import _native
scratch = Scratch("a", [Path(sys.argv[1])], threads=3)
store = scratch.open("states", 1, 1_000_000, 3)
_native.scratch.set_faults(wait=0.05)
for key in range(3):
    store.put(key, store.room())
{ending}
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE
    )
    expected = {"": 0, "r": 1}.get(ending[:1])
    if expected is not None:
        assert done.returncode == expected, done.stderr
    assert "Fatal" not in done.stderr
    assert done.returncode != -signal.SIGSEGV


def test_a_record_that_does_not_fit_its_buffer_is_refused(tmp_path):
    pool = Pool(1)
    small = Buffer(RecordLayout.of(10), 10)
    with pytest.raises(ValueError, match="does not fit"):
        pool.write(SlotInFile(0, 0, tmp_path / "f", False), small, RecordLayout.of(100000), 1)
    with pytest.raises(ValueError, match="threads must be"):
        Pool(0)
    pool.stop()


def test_contents_are_told_from_each_other():
    assert not np.array_equal(content(1, 10), content(2, 10))
    assert issubclass(SnapshotDamaged, SubsaltError)
