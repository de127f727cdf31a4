"""SEG-Y of revision 2.1, byte by byte: numbers of 64 bits, long traces, fine intervals, trailers, byte orders."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from segy_maker import line_headers, make_segy

from subsalt.errors import SegyError
from subsalt.io.input_file import InputFile
from subsalt.io.prestack.table import open_traces
from subsalt.io.scan.scan import scan
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import POSITION_NAMES, open_headers
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.segy.reading import read_survey
from subsalt.io.volumes.segy_volume import open_segy_volume

NS = 30
#: byte in the extension, kind
PLACES = {
    "ffid": (17, "q"), "cdp": (25, "q"), "receiver_elevation": (33, "d"), "receiver_depth": (41, "d"),
    "source_elevation": (49, "d"), "source_depth": (57, "d"), "source_x": (97, "d"), "source_y": (105, "d"),
    "receiver_x": (113, "d"), "receiver_y": (121, "d"), "offset": (129, "d"), "ns": (137, "I"), "dt": (145, "d"),
    "blocks": (157, "H"), "cdp_x": (161, "d"), "cdp_y": (169, "d"),
}  # fmt: skip
RNG = np.random.default_rng(5)


def extended(path, values, headers=None, *, ns=NS, n=6, binary=None, endian="big", name=b"SEG00001", **more):
    """Write a file of revision 2.1 whose first extensions hold `values`, arrays (n,) or numbers."""
    heads = line_headers(2, n // 2) if headers is None else headers
    traces = RNG.standard_normal((n, ns)).astype(np.float32)
    said = {3501: ("B", 2), 3502: ("B", 1), 3507: ("h", 1)} | (binary or {})
    code = more.get("code", 5)
    make_segy(path, traces, headers=heads, extra_headers=1, binary=said, endian=endian, **more)
    raw, order = bytearray(path.read_bytes()), ">" if endian == "big" else "<"
    width = {5: 4, 8: 1}[code]
    for i in range(n):
        at = 3600 + i * (480 + width * ns) + 240
        for key, value in values.items():
            byte, kind = PLACES[key]
            one = np.broadcast_to(np.asarray(value), (n,))[i].item()
            struct.pack_into(order + kind, raw, at + byte - 1, one)
        raw[at + 232 : at + 240] = name
    path.write_bytes(bytes(raw))
    return path


def values(path, fix=Fix(), header=HeaderBytes()):
    with InputFile(path) as file:
        return open_headers(file, header, fix, (*POSITION_NAMES, "cdp_x", "cdp_y"))


@pytest.mark.parametrize("endian", ["big", "little"])
def test_numbers_of_64_bits_count(tmp_path, endian):
    x = 6_543_210.123456 + 12.5 * np.arange(6)
    said = {
        "source_x": x, "source_y": -x, "receiver_x": x + 1 / 3, "receiver_y": 2 * x, "offset": 1 / 3,
        "source_depth": 6.4321, "source_elevation": 100.25, "receiver_elevation": 50.5, "receiver_depth": 2.25,
        "ffid": 1_000_000 + np.arange(6), "cdp": 7,
    }  # fmt: skip
    one = values(extended(tmp_path / "a.sgy", said, endian=endian))
    p = one.positions
    np.testing.assert_array_equal(p.src, np.stack([x, -x, np.full(6, 6.4321 - 100.25)], axis=1))
    np.testing.assert_array_equal(p.rcv, np.stack([x + 1 / 3, 2 * x, np.full(6, 2.25 - 50.5)], axis=1))
    np.testing.assert_array_equal(p.offset, 1 / 3)
    np.testing.assert_array_equal(one.values["ffid"], 1_000_000 + np.arange(6))
    np.testing.assert_array_equal(one.values["cdp"], 7)
    table = open_traces(tmp_path / "a.sgy")
    np.testing.assert_array_equal(table.src, p.src[:, :2])
    np.testing.assert_array_equal(table.offset, np.hypot(*(table.rcv - table.src).T))


def test_zeros_leave_the_header_as_it_is(tmp_path):
    plain = make_segy(tmp_path / "a.sgy", np.ones((6, NS)), headers=line_headers(2, 3))
    one = values(extended(tmp_path / "b.sgy", {"source_x": [0, 0, 0, 1234.5, 0, 0]}))
    two = values(plain)
    np.testing.assert_array_equal(one.positions.rcv, two.positions.rcv)
    assert one.positions.src[3, 0] == 1234.5
    np.testing.assert_array_equal(np.delete(one.positions.src, 3, 0), np.delete(two.positions.src, 3, 0))
    # a block under another name is somebody's own
    other = values(extended(tmp_path / "c.sgy", {"source_x": 1234.5}, name=b"OTHER001"))
    np.testing.assert_array_equal(other.positions.src, two.positions.src)


def test_bytes_that_the_job_names_are_read_there(tmp_path):
    path = extended(tmp_path / "a.sgy", {"source_x": 1234.5, "receiver_x": 99.0})
    one = values(path, header=HeaderBytes(source_x=77))
    assert (one.positions.src[:, 0] == 0).all()
    assert (one.positions.rcv[:, 0] == 99.0).all()


def test_units_and_exchanges_hold_for_them_too(tmp_path):
    path = extended(tmp_path / "a.sgy", {"source_x": 1000.5, "source_y": 7.25}, binary={3255: ("h", 2)})
    one = values(path, Fix(swap_xy=True))
    np.testing.assert_array_equal(one.positions.src[:, :2], np.array([[7.25, 1000.5]] * 6) * 0.3048)


def test_an_index_keeps_them(tmp_path, monkeypatch):
    x = 1e6 + RNG.standard_normal(6)
    path = extended(tmp_path / "a.sgy", {"source_x": x, "ffid": np.arange(6) + 2**30})
    fresh = values(path, Fix(index="beside"))
    monkeypatch.setattr("subsalt.io.segy.headers.header_blocks", lambda *_: pytest.fail("headers are read"))
    saved = values(path)
    np.testing.assert_array_equal(saved.positions.src, fresh.positions.src)
    np.testing.assert_array_equal(saved.positions.src[:, 0], x)
    np.testing.assert_array_equal(saved.values["ffid"], np.arange(6) + 2**30)


def test_traces_of_more_than_65535_samples(tmp_path):
    ns = 70_000
    heads = line_headers(1, 2) | {"ns": 0}
    path = extended(
        tmp_path / "a.sgy", {"ns": ns}, heads, ns=ns, n=2, code=8, binary={3221: ("H", 0), 3269: ("I", ns)}
    )
    assert scan(path).files[0].ns == ns
    # the extension alone says it
    path = extended(tmp_path / "b.sgy", {"ns": ns}, heads, ns=ns, n=2, code=8, binary={3221: ("H", 0)})
    assert read_survey(path).time.nt == ns
    path = extended(tmp_path / "c.sgy", {"ns": NS + 1})
    with pytest.raises(SegyError, match=f"says {NS + 1} samples, {NS} fit the file") as caught:
        scan(path)
    assert caught.value.fix == f"[data.fix] ns = {NS} if that is right"


def test_intervals_finer_than_a_microsecond(tmp_path):
    dt = 62.5
    layout = values(extended(tmp_path / "a.sgy", {"dt": dt}, dt=62)).layout
    assert (layout.dt, layout.dt_source) == (62.5e-6, "extended trace header (byte 145)")
    layout = values(extended(tmp_path / "b.sgy", {}, dt=62, binary={3273: ("d", dt)})).layout
    assert layout.dt == 62.5e-6
    with pytest.raises(SegyError, match=r"62\.5 microseconds, the extended binary header \(byte 3273\) 125"):
        values(extended(tmp_path / "c.sgy", {"dt": dt}, dt=62, binary={3273: ("d", 125.0)}))
    with pytest.raises(SegyError, match=r"sample intervals 62\.5, 125"):
        values(extended(tmp_path / "d.sgy", {"dt": [dt] * 5 + [125.0]}, dt=62))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"source_x": [0, 0, 0, 0, float("nan"), 0]},
            "trace 5: its trace header extension .* has source_x nan",
        ),
        ({"receiver_y": float("inf")}, "trace 1: .* has receiver_y inf"),
        ({"offset": -1e200}, "has offset -1e"),
        ({"ffid": 2**40}, f"has ffid {2**40}"),
        ({"blocks": 5}, "counts 5 extensions"),
    ],
)
def test_numbers_that_cannot_be_are_refused(tmp_path, said, words):
    path = extended(tmp_path / "a.sgy", said)
    for read in (values, open_traces):
        with pytest.raises(SegyError, match=words) as caught:
            read(path)
        assert caught.value.code == "E258"


@pytest.mark.parametrize("said", [2, -1])
def test_records_behind_the_traces(tmp_path, said):
    stanza = [
        b"((SEG: Recording Parameters))".ljust(3200),
        "((SEG: End))".encode("cp037").ljust(3200, b"\x40"),
    ]
    traces = np.zeros((6, NS), np.float32)
    binary = {3501: ("B", 2), 3502: ("B", 1), 3529: ("i", said)}
    path = make_segy(
        tmp_path / "a.sgy", traces, headers=line_headers(2, 3), binary=binary, tail=b"".join(stanza)
    )
    assert scan(path).n_traces == 6


def test_the_first_trace_is_where_the_header_says(tmp_path):
    traces = np.ones((6, NS), np.float32)
    blocks = [b"((SEG: Coordinate Reference System))".ljust(3200)] * 3
    binary = {3501: ("B", 2), 3502: ("B", 1), 3505: ("h", -1), 3521: ("Q", 3600 + 9600), 3511: ("h", 4)}
    path = make_segy(tmp_path / "a.sgy", traces, headers=line_headers(2, 3), binary=binary, extended=blocks)
    assert scan(path).files[0].n_traces == 6


def test_byte_orders_by_the_constant(tmp_path):
    traces = np.ones((6, NS), np.float32)
    for endian in ("big", "little"):
        binary = {3501: ("B", 2), 3297: ("I", 0x01020304)}
        path = make_segy(tmp_path / "a.sgy", traces, headers=line_headers(2, 3), binary=binary, endian=endian)
        assert scan(path).files[0].endian == endian
    raw = bytearray(path.read_bytes())
    raw[3296:3300] = b"\x02\x01\x04\x03"
    path.write_bytes(bytes(raw))
    with pytest.raises(SegyError, match="bytes of each pair are exchanged"):
        scan(path)


def test_volumes_take_exact_coordinates(tmp_path):
    i, j = np.divmod(np.arange(6), 3)
    heads = {"inline": i + 1, "crossline": j + 1, "cdp": np.arange(6) + 1}
    x0 = 6_500_000.125
    path = extended(tmp_path / "a.sgy", {"cdp_x": x0 + 12.345 * i, "cdp_y": 10.0 + 7.5 * j}, heads, dt=5000)
    grid = open_segy_volume(path).grid
    assert grid.shape == (2, 3, NS)
    # stored to a millimetre in the grid
    np.testing.assert_allclose(grid.spacing, (12.345, 7.5, 5.0), atol=1e-9)
    np.testing.assert_allclose(grid.origin[:2], (x0, 10.0), atol=5e-4)
