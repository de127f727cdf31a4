"""Saved header values: the same numbers as in the file, and no word from an index of another state of it."""

from __future__ import annotations

import os

import numpy as np
import pytest
from segy_maker import line_headers, make_segy

from job_files import MIGRATE, survey, write_files, write_job
from subsalt.io.input_file import InputFile
from subsalt.io.segy import index
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import POSITION_NAMES, open_headers
from subsalt.io.segy.headers import HeaderBytes, place_of, read_headers, save_index
from subsalt.methods.rtm.job import Job

BESIDE = Fix(index="beside")


def values(path, header=HeaderBytes(), fix=Fix()):
    """Return the header values of a file, and whether an index that agrees with it is there."""
    with InputFile(path) as file:
        one = open_headers(file, header, fix, POSITION_NAMES)
        there = index.open_index(file, place_of(one.layout), 240, fix.index) is not None
    return one.values, there


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Return a file of 12 traces with values of every width, in blocks of 5."""
    monkeypatch.setattr(index, "BLOCK", 5)
    monkeypatch.setattr("subsalt.io.segy.headers.BLOCK", 5)
    heads = line_headers(3, 4)
    k = np.arange(12)
    heads |= {"cdp": (-1) ** k * k * 2**27, "delay": -300 * k}
    out = tmp_path / "line.sgy"
    make_segy(out, np.ones((12, 20), np.float32), headers=heads)
    return out


def test_the_values_are_those_of_the_file(path):
    plain, there = values(path)
    assert not there
    saved, there = values(path, fix=BESIDE)
    assert there
    for name, column in plain.items():
        np.testing.assert_array_equal(saved[name], column)
        assert saved[name].dtype == column.dtype
    # a part of the traces, across blocks
    with InputFile(path) as file:
        layout = open_headers(file, HeaderBytes(), Fix()).layout
        some = read_headers(file, layout, HeaderBytes(), ["cdp", "ffid"], 3, 8)
        np.testing.assert_array_equal(some["cdp"], plain["cdp"][3:11])


def test_it_is_read_instead_of_the_headers(path, monkeypatch):
    values(path, fix=BESIDE)
    monkeypatch.setattr("subsalt.io.segy.headers.header_blocks", lambda *_: pytest.fail("headers are read"))
    values(path)
    # values at other bytes of the rev 1 header are there under any name; those elsewhere are not
    values(path, HeaderBytes(ffid=17, source_point=9))
    with pytest.raises(pytest.fail.Exception, match="headers are read"):
        values(path, HeaderBytes(source_line=233))


def test_other_bytes_join_the_index(path):
    header = HeaderBytes(source_line=233)
    values(path, fix=BESIDE)
    saved, there = values(path, header, BESIDE)
    assert there
    np.testing.assert_array_equal(saved["source_line"], 0)


@pytest.mark.parametrize("change", ["size", "time", "header", "index"])
def test_an_index_of_another_state_does_not_count(path, change):
    values(path, fix=BESIDE)
    own = index.index_path(path, None)
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    data = bytearray(path.read_bytes())
    if change == "size":
        path.write_bytes(data + data[-320:])
    elif change == "time":
        os.utime(path, ns=(times[0], times[1] + 1))
    elif change == "header":  # changed, with size and time as before
        data[3600 + 11] ^= 1
        path.write_bytes(data)
        os.utime(path, ns=times)
    else:
        saved = bytearray(own.read_bytes())
        saved[len(index.MAGIC)] ^= 1
        own.write_bytes(saved)
    columns, there = values(path)
    assert there == (change == "index")
    with InputFile(path) as file:
        layout = open_headers(file, HeaderBytes(), Fix()).layout
        plain = read_headers(file, layout, HeaderBytes(), ["ffid"], index=str(path.parent / "none"))
        np.testing.assert_array_equal(columns["ffid"], plain["ffid"])
    assert len(columns["ffid"]) == (13 if change == "size" else 12)
    # and is made again where the job asks for it
    with InputFile(path) as file:
        assert save_index(file, layout, HeaderBytes())[1]
        assert not save_index(file, layout, HeaderBytes())[1]


def test_a_job_saves_it_in_a_folder_and_keeps_its_run(tmp_path):
    write_files(tmp_path)
    plain = Job.from_toml(write_job(tmp_path))
    job = Job.from_toml(
        write_job(tmp_path, MIGRATE.replace("[data]", '[data]\nindex = "headers"'), "other.toml")
    )
    for a, b in zip(job.load_survey().shots, survey().shots, strict=True):
        np.testing.assert_array_equal(a.rcv, b.rcv)
    assert [p.suffix for p in (tmp_path / "headers").iterdir()] == [index.SUFFIX]
    assert job.run_id() == plain.run_id()


def test_scan_says_where_it_is(tmp_path, subsalt_command):
    write_files(tmp_path)
    for word in ("saved", "up to date"):
        code, out, _ = subsalt_command("scan", tmp_path / "shots.sgy", "--index")
        assert code == 0
        assert f"45 traces: {tmp_path / 'shots.sgy.subsalt-index'}" in out
        assert word in out
