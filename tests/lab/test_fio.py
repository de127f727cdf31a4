"""fio as the engine of `lab storage`: its answers, kept from a run of our own, and all that can be wrong with them."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from subsalt.errors import SubsaltError
from subsalt.machine import machine_file as machine
from subsalt_lab import fio, storage, storage_rows
from subsalt_lab import storage as storage_own
from subsalt_lab.cli import storage as storage_tables
from subsalt_lab.storage import Slabs
from subsalt_lab.storage_settings import Settings

SAMPLES = Path(__file__).with_name("samples")
#: 50-50 reads and writes of 4 KiB, four under way, for a tenth of a second, by fio 3.33
MIX = (SAMPLES / "fio-3.33-mix.json").read_text()
MIB = 1 << 20

real = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def code_of(call, *args, **more):
    with pytest.raises(SubsaltError) as error:
        call(*args, **more)
    return error.value.code


def test_an_answer_has_what_the_report_says():
    report = json.loads(MIX)["jobs"][0]
    answer = fio.parse(MIX, "mix", 4096)
    assert (answer.reads, answer.writes) == (report["read"]["total_ios"], report["write"]["total_ios"])
    assert answer.nbytes == 4096 * answer.count
    assert answer.seconds == report["read"]["runtime"] / 1000
    # every transfer is in a bucket, and those of reads lie where fio itself says that they do
    assert sum(answer.services.values()) == answer.count
    only_reads = json.loads(MIX)
    only_reads["jobs"][0]["write"] = dict.fromkeys(("runtime", "io_bytes", "total_ios"), 0) | {"clat_ns": {}}
    reads = fio.parse(json.dumps(only_reads), "reads")
    for part, name in ((0.5, "50.000000"), (0.99, "99.000000")):
        said = 1e-9 * report["read"]["clat_ns"]["percentile"][name]
        # both come from buckets of 1/64 of an octave or less
        assert reads.service(part) == pytest.approx(said, rel=1 / 32)


def test_lines_before_the_answer_are_skipped():
    assert fio.parse("fio: a note about this system\n" + MIX, "mix").count == fio.parse(MIX, "mix").count


@pytest.mark.parametrize("part", [0.0, 0.001, 0.2, 0.5, 0.9, 0.999])
def test_a_cut_answer_is_none(part):
    assert code_of(fio.parse, MIX[: int(part * len(MIX))], "mix") == "E962"


def changed(**more):
    report = json.loads(MIX)
    report["jobs"][0] |= more
    return report


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (json.dumps(changed() | {"fio version": "fio-2.21"}), "E962", "fio-2.21"),
        (json.dumps({k: v for k, v in changed().items() if k != "fio version"}), "E962", "fio version"),
        (json.dumps(changed(error=28)), "E961", "error 28"),
        (json.dumps(changed(read={})), "E962", "clat_ns"),
        (json.dumps(changed(read=None)), "E962", "NoneType"),
        (json.dumps(changed() | {"jobs": []}), "E962", "cannot be read"),
        (MIX.replace('"total_ios" : ', '"total_ios" : 0, "was" : '), "E962", "nothing was moved"),
        ("{}", "E962", "fio version"),
        ("[1, 2]", "E962", "cannot be read"),
    ],
)
def test_what_an_answer_may_lack(text, code, said):
    with pytest.raises(SubsaltError, match=said) as error:
        fio.parse(text, "mix")
    assert error.value.code == code
    assert error.value.fix


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Return a function that puts a program in place of fio on PATH."""

    def put(script, version="fio-3.33"):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "fio"
        # as fio does: the name of the file of the answer is in --output=
        program.write_text(
            "#!/bin/sh\n"
            f'case "$1" in --version) echo "{version}"; exit;; --enghelp) echo "Engines:"; echo psync; exit;; esac\n'
            'for w in "$@"; do case "$w" in --output=*) out="${w#--output=}";; esac; done\n' + script
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        place = tmp_path / "measured"
        place.mkdir(exist_ok=True)
        return place

    return put


def settings(place, **more):
    return Settings([place], 2 * MIB, (1,), MIB, False, repeats=1, seconds=0.02, engine="fio", **more)


@pytest.mark.parametrize("version", ["fio-2.99", "flexible", "", "a fio-3.1 of sorts"])
def test_another_fio_is_refused(fake, version):
    fake("", version)
    assert code_of(fio.Fio.find) == "E960"


def test_without_fio_threads_of_our_own_do_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert code_of(storage.measure, settings(tmp_path)) == "E960"
    own = Settings([tmp_path], MIB, (1,), MIB, False, repeats=1, seconds=0.01, engine="auto")
    result = storage.measure(own)
    assert {r["engine"] for r in result.rows} == {"snapshots", "own"}
    assert result.settings["fio"] is None
    assert any("fio is not on PATH" in note and "apt install fio" in note for note in result.notes)


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        (
            'echo "fio: pid=7, err=28/file:x.c:1, func=y, error=No space left" > "$out"; exit 1',
            "E961",
            "No space left",
        ),
        ("echo broken >&2; exit 2", "E961", "broken"),
        ("exit 0", "E962", "wrote none"),
        ('echo "{" > "$out"', "E962", "not whole"),
        ('echo "fio: verify: bad header" > "$out"; exit 84', "E710", "wrong answer"),
        ("kill -9 $$", "E961", "exit code -9"),
    ],
)
def test_a_fio_that_fails_leaves_no_figure_and_no_file(fake, script, code, said):
    place = fake(script)
    with pytest.raises(SubsaltError, match=said) as error:
        storage.measure(settings(place))
    assert error.value.code == code
    assert not list(place.iterdir())


def test_an_interrupted_fio_leaves_nothing(fake, monkeypatch):
    place = fake("")
    seen = []

    def interrupted(*args, **kwargs):
        seen.extend(p.name for p in place.iterdir())
        raise KeyboardInterrupt

    program = fio.Fio.find()
    monkeypatch.setattr(fio.programs, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(storage_rows.transfers(program, place, settings(place), direct=False))
    assert seen
    assert not list(place.iterdir())


def test_rows_of_fio_stand_beside_ours_and_old_rows_go(tmp_path):
    base = {"mount": "/d", "pattern": "random", "what": "read", "bytes": 4096, "threads": 1, "how": "direct"}
    # as versions before fio wrote it
    old = base | {"reaches": "storage", "rate": 1.0, "date": "2026-01-01"}
    known = machine.Machine.here().merged("storage", [old])
    new = [old | {"rate": 2.0, "date": "2026-02-02"}, old | {"engine": "fio", "rate": 3.0}]
    rows = known.merged("storage", new).sections["storage"]
    assert [(r.get("engine"), r["rate"]) for r in rows] == [(None, 2.0), ("fio", 3.0)]


@real
def test_every_table_by_the_real_fio(tmp_path, monkeypatch):
    for module in (storage_rows, storage_own):
        monkeypatch.setattr(module, "SIZES", (4096, MIB))
    # fio keeps the state of a comparison where it was started, unless told otherwise
    monkeypatch.chdir(tmp_path)
    wanted = Settings(
        [tmp_path],
        4 * MIB,
        (1, 2),
        MIB,
        False,
        repeats=1,
        seconds=0.02,
        engine="both",
        streams=(1, 2),
        sustained=1.2,
    )
    result = storage.measure(wanted)
    assert not list(tmp_path.iterdir())
    assert result.settings["fio"].startswith("3.")
    assert result.settings["memory_free"] > 0
    rows = result.rows

    def kinds(engine):
        return [(r["pattern"], r["what"], r["threads"], r["bytes"]) for r in rows if r["engine"] == engine]

    # fio makes the tests that threads of this program make
    assert set(kinds("own")) <= set(kinds("fio"))
    assert len([k for k in kinds("fio") if k[0] == "service"]) == 4
    assert {k[2] for k in kinds("fio") if k[0] == "streams"} == {1, 2}
    assert set(kinds("snapshots")) >= {("streams", "write", 1, MIB), ("streams", "write", 2, MIB)}
    for r in rows:
        assert r["rate"] > 0
        assert r["moved"] > 0
    section = storage.for_machine(result, wanted)
    assert {r.get("engine") for r in section if r["pattern"] == "random"} == {None, "fio"}
    assert not any("per_second" in r for r in section)
    for how in ("text", "markdown", "csv"):
        lines = "\n".join(storage_tables.tables(rows, how)).splitlines()
        assert len([x for x in lines if str(tmp_path) in x]) == len(rows)
    json.dumps(section, allow_nan=False)


def test_rates_by_second_are_sums_over_threads():
    logs = [(SAMPLES / f"fio-3.33_iops.{k}.log").read_text() for k in (1, 2)]
    first = [float(line.split(",")[1]) for line in logs[0].splitlines()]
    second = [float(line.split(",")[1]) for line in logs[1].splitlines()]
    rates = storage_rows.rates_by_second(logs, "writes")
    assert rates == [a + b for a, b in zip(first, second, strict=True)]
    assert code_of(storage_rows.rates_by_second, [], "writes") == "E962"
    assert code_of(storage_rows.rates_by_second, [logs[0][:-9] + "\n10"], "writes") == "E962"


@pytest.mark.parametrize(
    ("rates", "burst", "last"),
    [
        ([9.0] * 3 + [6.0] * 3 + [3.0] * 3, 9.0, 3.0),  # thirds of a short test
        ([8.0] * 60 + [4.0] * 180, 8.0, 4.0),  # the first minute of a long one
        ([5.0], 5.0, 5.0),
    ],
)
def test_what_is_sustained_of_a_burst(rates, burst, last):
    row = storage_rows.sustained_row("fio", rates, 4096 * 100, 10.0, 32, True)
    assert (row["burst_per_s"], row["sustained_per_s"]) == (burst, last)
    assert row["of_burst"] == last / burst
    assert row["requests_per_s"] == 10.0


def test_our_writer_is_marked_when_it_is_slower_by_more_than_a_tenth():
    def marks(seconds, against):
        test = storage_rows.Transfers("write", "streams", MIB, 4, direct=True, durable=True)
        return storage_rows.stream_row("snapshots", test, 64 * MIB, seconds, against)["marks"]

    assert marks([1.0, 1.1, 1.2], [1.0, 1.0, 1.0]) == ""
    assert marks([1.2, 1.2, 1.2], [1.0, 1.0, 1.0]) == "slower"
    assert marks([0.5, 9.0, 0.5], [1.0, 1.0, 1.0]) == ""
    # a millisecond is what the clock of fio can tell
    assert marks([0.0019] * 3, [0.001] * 3) == ""


@pytest.mark.parametrize(
    ("mib", "most", "threads", "cut"),
    [
        (224, 32, 1, (1, 32, 7)),
        (224, 32, 4, (4, 28, 2)),  # slabs of 56 MiB in equal transfers
        (224, 32, 16, (16, 14, 1)),
        (224, 1, 3, (3, 1, 74)),  # 2 MiB are left over
        (4, 32, 16, (4, 1, 1)),  # no more threads than blocks
        (7, 4, 2, (2, 3, 1)),
    ],
)
def test_slabs_are_whole_transfers(mib, most, threads, cut):
    slabs = Slabs.of(mib * MIB, MIB, most * MIB, threads)
    assert (slabs.threads, slabs.size // MIB, slabs.each) == cut
    assert slabs.size <= most * MIB
    # at most a block of each transfer of each thread is left out
    assert mib * MIB - slabs.nbytes < (slabs.each * slabs.threads + threads) * MIB
    assert slabs.nbytes <= mib * MIB


def test_the_founding_tables_stand_beside_a_directory():
    base = {"directory": "/d", "file_system": "ext4", "engine": "fio"}
    rows = [
        base | {"pattern": "random", "what": "read", "reaches": "storage", "requests_per_s": 12_000.0},
        base | {"pattern": "random", "what": "read", "reaches": "memory", "requests_per_s": 90_000.0},
        base | {"pattern": "sequential", "what": "write", "reaches": "durable", "rate": 1.25},
        base | {"pattern": "service", "what": "read", "bytes": 4096, "service_median": 0.0005},
    ]
    text = "\n".join(storage_rows.founding_tables(rows, "text"))
    lines = {line.split(",")[0]: line.split() for line in text.splitlines() if "," in line}
    assert lines["random read 4K"][-5:] == ["1591", "796", "397", "21", "12"]
    assert lines["sequential write 1M"][-2:] == ["0.118", "1.25"]
    # the lines of the document's own service times
    assert "F5100  read   0.392     276        1" in text
    assert "F5100  write  0.189      46       25" in text
    assert " 4        0.41   0.28    0.500" in text
