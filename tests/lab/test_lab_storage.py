"""`lab storage`: transfers that are checked, rows that say what their bytes reached, rates that a plan finds."""

import errno
import fcntl
import itertools
import json
import os

import numpy as np
import pytest

from subsalt.checkpoint.storage.file_store import FileStore
from subsalt.errors import ConfigError, DiskError, SubsaltError
from subsalt.io.faults import FaultCounter, set_fault
from subsalt.machine import machine_file as machine
from subsalt.machine import records
from subsalt.machine import storage as put_get
from subsalt.machine.storage import Mount, mount_of
from subsalt_lab import storage, storage_rows
from subsalt_lab import storage as storage_own
from subsalt_lab.cli import storage as storage_tables
from subsalt_lab.transfers import PAGE, Taken, TrialFile

MIB = 1 << 20

MOUNTS = """\
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
22 21 0:20 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw
30 21 8:1 / {folder} rw,relatime shared:9 master:2 - xfs /dev/sda rw
31 30 8:2 / {folder}/a\\040b rw - lustre server:/fs rw
40 30 8:3 / {folder} rw - nfs4 server:/later rw
"""


@pytest.fixture
def fault():
    yield set_fault
    set_fault(None)


def test_a_directory_lies_on_the_last_and_deepest_mount_above_it(tmp_path):
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS.format(folder=tmp_path))
    (tmp_path / "a b").mkdir()
    assert mount_of(tmp_path / "a b" / "not yet" / "there", table) == Mount(f"{tmp_path}/a b", "lustre")
    assert mount_of(tmp_path, table) == Mount(str(tmp_path), "nfs4")
    assert mount_of("/", table) == Mount("/", "ext4")
    assert Mount("/dev/shm", "tmpfs").in_memory
    assert os.path.ismount(mount_of(tmp_path, tmp_path / "missing").point)


@pytest.mark.parametrize("threads", [1, 3])
def test_transfers_come_back_whole_in_pieces_too(tmp_path, fault, threads):
    with TrialFile(tmp_path, 8 * PAGE, direct=False) as file:
        fault(FaultCounter(short=1000))
        offsets = [o * 2 * PAGE for o in (2, 0, 3, 1)]
        taken = file.run([(o, True) for o in offsets], 2 * PAGE, threads, flush=True)
        assert (taken.nbytes, len(taken.services)) == (8 * PAGE, 4)
        file.run([(o, False) for o in offsets], 2 * PAGE, threads)
        file.verify(4 * PAGE)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("how", ["elsewhere", "nowhere", "damaged"])
def test_what_is_not_read_as_written_gives_no_figure(tmp_path, monkeypatch, how):
    right = os.pwrite

    def wrong(fd, data, offset):
        if how == "elsewhere":
            return right(fd, data, offset ^ PAGE)
        if how == "damaged":
            data = bytearray(data)
            data[-1] ^= 1  # beyond the number of the page: only the comparison of every byte sees it
            return right(fd, data, offset)
        return len(data)

    monkeypatch.setattr(os, "pwrite", wrong)
    with pytest.raises(SubsaltError, match="wrong answer") as error:
        list(storage_own.transfers(tmp_path, storage.Settings([tmp_path], MIB, seconds=0.01), direct=False))
    assert error.value.code == "E710"


def test_a_flush_is_inside_the_time_of_what_is_called_durable(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(os, "fdatasync", lambda fd: now.__setitem__(0, now[0] + 100.0))
    with TrialFile(tmp_path, 4 * PAGE, direct=False) as file:

        def seconds(flush):
            return file.run([(0, True)], 4 * PAGE, 1, flush=flush, clock=lambda: now[0]).seconds

        assert (seconds(True), seconds(False)) == (100.0, 0.0)


def test_no_transfer_begins_after_the_limit(tmp_path):
    ticks = itertools.count(0.0, 1.0)
    with TrialFile(tmp_path, PAGE, direct=False) as file:
        # the clock is read once before, then twice for each transfer: the third ends at 6
        taken = file.run([(0, True)] * 99, PAGE, 1, limit=5.0, clock=lambda: next(ticks))
    assert len(taken.services) == 3
    assert taken.services.tolist() == [1.0] * 3


@pytest.mark.parametrize(("operation", "code"), [("open", "E630"), ("write", "E621"), ("fsync", "E620")])
def test_what_the_system_refuses_is_said(tmp_path, fault, operation, code):
    number = {"open": errno.EACCES, "write": errno.ENOSPC, "fsync": errno.EIO}[operation]

    def refuse(requested, path, nbytes):
        if requested == operation:
            raise OSError(number, os.strerror(number), path)

    fault(refuse)
    with pytest.raises(SubsaltError, match=str(tmp_path)) as error:
        list(storage_own.transfers(tmp_path, storage.Settings([tmp_path], MIB, seconds=0.01), direct=False))
    assert error.value.code == code


def test_a_row_has_the_rate_of_its_median_sample():
    services = np.linspace(0.001, 0.101, 101)
    taken = [Taken(s, 101 * PAGE, services, 50 * PAGE) for s in (1.0, 2.0, 4.0)]
    row = storage_rows.row(storage_rows.Transfers("read", "random", PAGE, 2, True, durable=True), taken)
    assert row["rate"] == pytest.approx(101 * PAGE / 2.0 / 1e9)
    assert row["requests_per_s"] == pytest.approx(101 / 2.0)
    assert row["service_median"] == pytest.approx(0.051)
    assert row["service_99"] == pytest.approx(0.100)
    assert (row["how"], row["reaches"], row["count"]) == ("direct", "partly memory", 101)


@pytest.mark.parametrize(
    ("shares", "reached"),
    [
        ([], "unknown"),
        ([1.0, 0.99, 0.0], "storage"),
        ([0.5], "partly memory"),
        ([0.0, 0.01, 1.0], "memory"),
    ],
)
def test_a_read_comes_from_where_the_system_says(shares, reached):
    assert put_get.reached(shares) == reached


def test_the_service_times_of_the_founding_documents_lie_on_the_lines_said_of_them():
    sizes = [1024 * k for k in (4, 8, 16, 32, 64, 128, 256, 512, 1024)]
    read = [0.41, 0.42, 0.45, 0.51, 0.63, 0.87, 1.34, 2.29, 4.19]
    write = [0.28, 0.35, 0.72, 0.77, 1.52, 2.99, 6.03, 12.14, 23.79]
    for times, line in ((read, (0.392, 276, 0.01)), (write, (0.189, 46, 0.25))):
        a, b, worst = storage_rows.line_through(sizes, [1e-3 * t for t in times])
        # as many digits as the documents' own times have
        assert (round(1e3 * a, 3), round(b / 1e6), round(worst, 2)) == line


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("storage")
    settings = storage.Settings([folder], 2 * MIB, (1, 2), 256 << 10, seconds=0.02, repeats=2)
    return folder, storage.measure(settings)


def test_every_test_of_a_directory_has_its_row(measured):
    folder, result = measured
    rows = result.rows
    assert not list(folder.iterdir())
    assert {r["directory"] for r in rows} == {str(folder)}
    kinds = [
        (r["pattern"], r["what"], r["threads"]) for r in rows if r["pattern"] in ("sequential", "random")
    ]
    assert kinds == [
        *(("sequential", what, threads) for threads in (1, 2) for what in ("write", "read")),
        *(("random", what, threads) for threads in (1, 32) for what in ("read", "write", "mix")),
    ]
    service = [r["bytes"] for r in rows if r["pattern"] == "service" and r["what"] == "read"]
    assert service == [4096 << i for i in range(9)]
    for r in rows:
        assert r["rate"] > 0
        assert r["moved"] == r["count"] * r["bytes"]
        assert r["pattern"] == "record" or 0 < r["service_median"] <= r["service_99"]
    puts = [r for r in rows if r["what"] == "put"]
    if not mount_of(folder).in_memory:
        assert [r["reaches"] for r in puts if r["how"] == "buffered"] == ["durable", "cached"] * 2
        assert {r["reaches"] for r in puts if r["how"] == "direct"} <= {"durable"}
    assert all(r["moved"] == 2 * MIB and len(r["seconds"]) == 2 for r in puts)


@pytest.mark.parametrize("how", ["text", "markdown", "csv"])
def test_tables_show_every_row(measured, how):
    _, result = measured
    text = "\n".join(storage_tables.tables(result.rows, how))
    lines = [line for line in text.splitlines() if str(measured[0]) in line]
    assert len(lines) == len(result.rows)


def rates_file(tmp_path, *rows):
    base = {"mount": mount_of(tmp_path).point, "pattern": "record", "how": "buffered", "bytes": 4 * MIB}
    return machine.Machine.here().merged("storage", [base | r for r in rows])


def test_a_plan_finds_durable_rates_of_the_same_file_system(tmp_path):
    put = {"what": "put", "reaches": "durable", "threads": 1, "rate": 1.0}
    get = {"what": "get", "reaches": "storage", "threads": 1, "rate": 2.0}
    known = rates_file(
        tmp_path,
        put,
        get,
        put | {"threads": 4, "rate": 3.0},
        put | {"threads": 8, "rate": 9.0, "noisy": True},
        put | {"reaches": "cached", "rate": 10.0},
        get | {"reaches": "memory", "rate": 20.0},
        put | {"reaches": "cached", "rate": 5.0, "bytes": 1 << 10},
        put | {"mount": "/elsewhere", "rate": 30.0},
    )
    assert put_get.rates_of(known, tmp_path / "not" / "there") == put_get.StorageRates(3e9, 2e9, 10e9, 20e9)
    assert put_get.rates_of(known, tmp_path, threads=1) == put_get.StorageRates(1e9, 2e9, 10e9, 20e9)
    assert put_get.rates_of(known, tmp_path, direct=True) is None
    assert put_get.rates_of(machine.Machine.here(), tmp_path) is None


def test_a_file_system_in_memory_has_its_rates_too(tmp_path):
    both = [{"what": w, "reaches": "memory", "threads": 1, "rate": 5.0} for w in ("put", "get")]
    assert put_get.rates_of(rates_file(tmp_path, *both), tmp_path) == put_get.StorageRates(
        5e9, 5e9, None, 5e9
    )
    # durable puts, and gets that the system kept in memory whatever it was asked: better than nothing
    put = {"what": "put", "reaches": "durable", "threads": 1, "rate": 1.0}
    assert put_get.rates_of(rates_file(tmp_path, put, both[1]), tmp_path) == put_get.StorageRates(
        1e9, 5e9, None, 5e9
    )


def test_what_a_plan_needs_is_kept_in_machine_json(tmp_path):
    rows = put_get.measure_directory(tmp_path, MIB, 2, record=64 << 10)
    path = tmp_path / "machine.json"
    assert machine.save(path, "storage", rows) == 0
    known = machine.read(path)
    assert len(known.sections["storage"]) == len(rows) == len({tuple(r.items()) for r in rows})
    rates = put_get.rates_of(known, tmp_path)
    assert rates is not None
    assert rates.put in {1e9 * r["rate"] for r in rows if r["what"] == "put"}
    assert "seconds" not in rows[0]


def test_a_directory_that_cannot_be_measured_is_refused_first(tmp_path, monkeypatch):
    def code(folder, **more):
        with pytest.raises(SubsaltError) as error:
            storage.measure(storage.Settings([tmp_path, folder], MIB, **more), say=pytest.fail)
        return error.value.code

    assert code(tmp_path / "missing") == "E620"
    if os.geteuid():
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
        assert code(closed) == "E620"
    for module in (records, put_get):
        monkeypatch.setattr(module, "free_bytes", lambda path: MIB)
    assert code(tmp_path) == "E787"


def test_a_file_system_without_direct_access_is_measured_without(tmp_path, monkeypatch):
    def refuse(fd, command, flags=0):
        if command == fcntl.F_SETFL:
            raise OSError(errno.EINVAL, "Invalid argument")
        return 0

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    settings = storage.Settings([tmp_path], MIB, (1,), MIB, quick=True, repeats=1)
    result = storage.measure(settings)
    assert {r["how"] for r in result.rows} == {"buffered"}
    assert "no access past the page cache" in result.notes[0]
    with pytest.raises(ConfigError, match="--direct") as error:
        storage.measure(storage.Settings([tmp_path], MIB, (1,), MIB, direct=True))
    assert error.value.code == "E788"


def test_a_full_disk_is_told_before_anything_is_timed(tmp_path, monkeypatch):
    def full(fd, offset, nbytes):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DiskError, match=r"need 1\.0 MB") as error:
        TrialFile(tmp_path, 1_000_000, direct=False)
    assert error.value.code == "E621"


@pytest.mark.parametrize("where", [0, 500, -1])
def test_a_record_that_comes_back_otherwise_gives_no_figure(tmp_path, monkeypatch, where):
    right = FileStore.get

    def wrong(store, key):
        field = right(store, key)
        field[where] += 1
        return field

    monkeypatch.setattr(FileStore, "get", wrong)
    with pytest.raises(SubsaltError, match="wrong answer") as error:
        put_get.measure_directory(tmp_path, 8000, 1, record=4000)
    assert error.value.code == "E710"
    assert not list(tmp_path.iterdir())


def test_cold_gets_ask_the_system_to_forget(tmp_path, monkeypatch):
    forgotten = []
    monkeypatch.setattr(records, "drop_from_cache", lambda files: forgotten.extend(p.name for p in files))
    with records.trial(tmp_path, 2, 4000, 1, direct=False) as run:
        assert run.get(cold=False).nbytes == 8000
        assert not forgotten
        run.get(cold=True)
    assert forgotten == ["states.r00.snap"]


def test_the_time_of_durable_puts_has_the_flush_in_it(tmp_path, monkeypatch):
    now = [0.0]
    right = FileStore.flush

    def flush(store, durable=False):
        right(store, durable)
        now[0] += 100.0 if durable else 1.0

    monkeypatch.setattr(FileStore, "flush", flush)
    run = records.Trial(tmp_path, 2, 4000, 1, direct=False, clock=lambda: now[0])
    assert (run.put(durable=True).seconds, run.put(durable=False).seconds) == (100.0, 1.0)
    run.close()


def test_rows_are_plain(measured):
    json.dumps(measured[1].to_dict() | {"settings": {}}, allow_nan=False)
