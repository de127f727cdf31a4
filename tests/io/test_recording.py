"""How shots were recorded, told by several traces or by what copying did to a file: each has its own text."""

import struct

import numpy as np
import pytest
from segy_maker import make_segy
from shot_records import CHANNELS, DT, NS, SHOTS, cured, finding_of, problems, records, write

from subsalt.errors import SegyError
from subsalt.io.scan.scan import scan
from subsalt.io.segy.copied import limit_of_size
from subsalt.io.segy.fix import Fix


def refused(path):
    """Return the error with which a file is refused."""
    with pytest.raises(SegyError) as raised:
        scan(path)
    return raised.value


@pytest.mark.parametrize("suffix", ["sgy", "su"])
def test_a_byte_order_mark(tmp_path, suffix):
    headers, traces = records()
    path = make_segy(tmp_path / f"a.{suffix}", traces, headers=headers, su=suffix == "su")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    error = refused(path)
    assert error.code == "E291"
    assert "UTF-8, 3 bytes" in error.message
    assert f"tail -c +4 a.{suffix}" in error.fix
    # the cure, without a shell
    path.write_bytes(path.read_bytes()[3:])
    assert problems([path]) == []


def test_a_file_written_as_text(tmp_path):
    headers, traces = records()
    path = make_segy(
        tmp_path / "a.sgy", traces, headers=headers, text=("C 1 Ä".ljust(80) * 40).encode("cp037")[:3200]
    )
    data = path.read_bytes()
    path.write_bytes(data.decode("utf-8", "replace").encode("utf-8"))
    assert refused(path).code == "E291"
    path.write_bytes(b"\xff\xfe" + data.decode("latin-1").encode("utf-16-le"))
    assert "UTF-16" in refused(path).message


def test_text_files_with_a_mark_are_read(tmp_path):
    from subsalt.acquisition.wavelet import read_columns
    from subsalt.methods.rtm.job import Job

    job = tmp_path / "job.toml"
    job.write_bytes(
        "\ufeff[data]\nfiles = ['a.sgy']\n[model]\nvp = 2000\n[source]\nf0 = 10\n".encode()
        + b"[grid]\nspacing = 10\nshape = [11, 11]\n"
    )
    assert Job.from_toml(job).source.f0 == 10
    (tmp_path / "w.txt").write_bytes("\ufeff0.0\n1.0\n0.5\n".encode())
    assert read_columns(tmp_path / "w.txt")[0].tolist() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize("size", [2**31 - 1, 2**31, 0x7FFFF000, 2**32 - 1])
def test_a_file_that_ends_at_a_limit_of_size(tmp_path, size):
    """Sparse: only the headers of a few traces are there, and read."""
    ns, width = 30_000, 240 + 4 * 30_000
    path = make_segy(tmp_path / "big.sgy", np.zeros((1, ns)), headers={"ffid": 1})
    head = path.read_bytes()[3600:3840]
    with path.open("r+b") as file:
        count = (size - 3600) // width
        # those that are looked at: eight for the number of samples, and more on the way
        for k in {*(i * (count - 1) // 7 for i in range(8)), *range(20), *range(count - 20, count)}:
            file.seek(3600 + k * width)
            file.write(head)
        file.truncate(size)
    error = refused(path)
    assert error.code == ("E292" if (size - 3600) % width else "E213")
    assert f"{2 if size <= 2**31 else 4} GiB" in error.message
    assert 'truncated = "drop"' in error.fix


def test_other_sizes_are_no_limit():
    assert not any(limit_of_size(n) for n in (0, 2**30, 2**31 - 2**17, 2**31 + 1, 3 * 2**30, 2**33))


def both(kind):
    """Return records in which every station has two traces, alternating, of like places."""
    headers, traces = records()
    double = {k: np.repeat(np.broadcast_to(np.asarray(v), (len(traces),)), 2) for k, v in headers.items()}
    double["channel"] = np.tile(np.arange(2 * CHANNELS), SHOTS) + 1
    data = np.repeat(traces, 2, axis=0)
    rng = np.random.default_rng(4)
    if kind == "weaker":
        data[1::2] *= 0.4
        data[1::2] += 1e-3 * rng.standard_normal(data[1::2].shape)
    else:
        data[1::2, 1:] = np.diff(data[1::2], axis=1)
        data[1::2] *= np.sqrt((data[::2] ** 2).mean() / (data[1::2] ** 2).mean())
    return double, data.astype(np.float32)


@pytest.mark.parametrize("kind", ["weaker", "rougher"])
@pytest.mark.parametrize("per_shot", [False, True])
def test_two_components_without_names(tmp_path, kind, per_shot):
    paths = write(tmp_path, *both(kind), per_shot=per_shot)
    f = finding_of(paths, "W293")
    assert "channels 1 and 2" in f.message
    assert '{channels = "2-48:2"}' in f.fix
    assert len(f.evidence["channels"]) == 2
    assert "W293" in problems(paths)
    assert cured(paths, f) == []


def test_two_cables_at_two_depths_are_no_components(tmp_path):
    headers, data = both("weaker")
    headers["receiver_elevation"] = headers["receiver_elevation"] - 100 * (headers["channel"] % 2 == 0)
    assert "W293" not in problems(write(tmp_path, headers, data))


def test_one_record_under_two_headers(tmp_path):
    headers, traces = records()
    traces[4 * CHANNELS : 5 * CHANNELS] = traces[2 * CHANNELS : 3 * CHANNELS]
    paths = write(tmp_path, headers, traces)
    f = finding_of(paths, "W294")
    assert "shot 105 those of shot 103" in f.message
    assert cured(paths, f) == []


def test_shots_that_a_program_made_alike_are_right(tmp_path):
    headers, traces = records()
    traces[:] = np.tile(traces[:CHANNELS], (SHOTS, 1))
    assert problems(write(tmp_path, headers, traces)) == []


def test_shots_over_a_symmetric_earth_are_right(tmp_path):
    """Shots at equal distances from the middle have the same traces, the other way round."""
    headers, traces = records()
    for k in range(SHOTS // 2):
        here, there = (slice(i * CHANNELS, (i + 1) * CHANNELS) for i in (k, SHOTS - 1 - k))
        traces[there] = traces[here][::-1]
    assert "W294" not in problems(write(tmp_path, headers, traces))


def timed(paths, seconds, system=None):
    """Write time words into files of one shot each: seconds of a day, and the system of time (byte 167)."""
    for path, second, number in zip(paths, seconds, system or [0] * len(paths), strict=True):
        data = bytearray(path.read_bytes())
        words = (
            2024,
            100 + int(second // 86400),
            int(second // 3600 % 24),
            int(second // 60 % 60),
            int(second % 60),
        )
        for at in range(3600, len(data), 240 + 4 * NS):
            struct.pack_into(">6h", data, at + 156, *words, number)
        path.write_bytes(bytes(data))
    return paths


def test_shots_fired_into_each_others_records(tmp_path):
    """Records of 12 s, shots every 10 s with one pair 4 s apart; those every 12 s hold each other's nothing."""
    headers, traces = records()
    long = np.pad(traces, ((0, 0), (0, 0)))
    paths = timed(write(tmp_path, headers, long, per_shot=True, dt=32_000), 40_000 + 10 * np.arange(SHOTS))
    assert pytest.approx(9.6) == NS * 0.032
    assert "W295" not in problems(paths)
    timed(paths, 40_000 + np.array([0, 10, 20, 24, 40, 50, 60, 70]))
    f = finding_of(paths, "W295")
    assert "shots 103 and 104 4 s apart, records are 9.6 s long" in f.message


def test_times_of_one_value_are_none(tmp_path):
    headers, traces = records()
    paths = write(tmp_path, headers, traces, per_shot=True, dt=32_000)
    assert "W295" not in problems(timed(paths, np.full(SHOTS, 40_000)))


def test_two_systems_of_time(tmp_path):
    """Local time in the last three files: five hours back while numbers go on; or byte 167 says it."""
    headers, traces = records()
    paths = write(tmp_path, headers, traces, per_shot=True)
    even = 40_000 + 20 * np.arange(SHOTS)
    assert problems(timed(paths, even)) == []
    f = finding_of(timed(paths, even - 5 * 3600 * (np.arange(SHOTS) >= 5)), "W296")
    assert str(paths[5]) in f.message
    assert "by 5 h" in f.message
    assert "2 more files" in f.message
    f = finding_of(timed(paths, even, [4] * 6 + [1] * 2), "W296")
    assert "local and UTC" in f.message
    # a break of a night is none, and neither is a line that was shot the other way
    assert problems(timed(paths, even + 50_000 * (np.arange(SHOTS) >= 5))) == []
    assert "W296" not in problems(timed(paths, even[::-1]))


@pytest.mark.parametrize("seconds", [1, 4])
def test_delays_in_seconds_and_milliseconds(tmp_path, seconds):
    headers, traces = records()
    shot = np.arange(len(traces)) // CHANNELS
    delays = np.where(shot < seconds, 2, 2000)
    paths = write(tmp_path, headers | {"delay": delays}, traces, per_shot=True)
    f = finding_of(paths, "W297")
    assert f"seconds in {seconds} of {SHOTS} files" in f.message
    assert f.fix == "[data.fix] delay = 2"
    assert "W217" not in problems(paths)
    assert not {"W297", "W217"} & set(problems(paths, Fix(delay=2.0)))
    assert DT == 0.004
