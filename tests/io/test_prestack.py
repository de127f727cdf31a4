"""Tables of prestack traces: any order, any format, with and without coordinates; what is refused."""

import numpy as np
import pytest

from job_files import shared_data
from kirchhoff_data import areal_positions, line_positions, make_survey, reflector_traces
from subsalt.errors import ConfigError, DataError, GeometryError, MissingInputError, SegyError
from subsalt.io.prestack.positions import BinGeometry, LineGeometry
from subsalt.io.prestack.table import azimuths, open_traces
from subsalt.io.scan.scan import scan
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.segy.shot_table import find_repeats, first_of_repeats

OFFSETS = (100.0, 200.0, 300.0)
DT = 0.004
#: positions are stored to 0.1 mm at worst: half of that in each coordinate
STORED = 0.5e-4 * 1.001


def small(n_midpoints=8, nt=40, **turn):
    src, rcv = line_positions(n_midpoints, 12.5, OFFSETS, x0=1000.0, y0=500.0, **turn)
    traces = np.random.default_rng(3).normal(size=(len(src), nt)).astype(np.float32)
    return src, rcv, traces


def refused(kind, call, *args, **named):
    """Return the error of this kind that a call raises."""
    with pytest.raises(kind) as caught:
        call(*args, **named)
    return caught.value


def by_content(table):
    """Return columns and traces in an order that does not depend on the file's."""
    order = np.lexsort((table.channel, table.ffid))
    columns = [table.src, table.rcv, table.offset, table.azimuth, table.cdp, table.ffid, table.channel]
    return [c[order] for c in columns] + [table.files.read(table.number)[order]]


def test_every_order_and_format_gives_the_same_table(tmp_path):
    src, rcv, traces = small(azimuth=30.0)
    tables = []
    for name in ("shot.sgy", "cdp.sgy", "random.sgy", "cdp.su"):
        path, rows = make_survey(tmp_path / name, src, rcv, traces, DT, order=name.split(".")[0], t0=0.02)
        table = open_traces(path)
        assert (table.time.nt, table.time.dt, table.time.t0) == (40, DT, 0.02)
        assert (table.number == np.arange(len(src))).all()
        assert np.abs(table.src - src[rows]).max() < STORED
        assert np.abs(table.rcv - rcv[rows]).max() < STORED
        assert np.abs(table.midpoint - 0.5 * (src + rcv)[rows]).max() < STORED
        assert (table.files.read(table.number) == traces[rows]).all()
        tables.append(by_content(table))
    for other in tables[1:]:
        for a, b in zip(tables[0], other, strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("code", "endian", "su"), [(1, "big", False), (5, "little", False), (3, "big", False), (5, "big", True)]
)
def test_sample_formats_and_byte_orders(tmp_path, code, endian, su):
    from segy_maker import line_headers, make_segy

    # whole numbers fit every format exactly
    traces = np.random.default_rng(5).integers(-9000, 9000, size=(12, 30)).astype(np.float32)
    headers = line_headers(3, 4) | {"cdp": np.arange(12)}
    path = make_segy(
        tmp_path / ("a.su" if su else "a.sgy"), traces, code=code, endian=endian, headers=headers, su=su
    )
    table = open_traces(path)
    assert (table.files.read(table.number) == traces).all()
    assert (table.cdp == np.arange(12)).all()
    assert (table.src[:, 0] == 50.0 * np.repeat(np.arange(3), 4)).all()
    assert (table.offset == np.abs(headers["offset"])).all()


def test_several_files_are_one_table_in_their_order(tmp_path):
    src, rcv, traces = small()
    half = len(src) // 2
    parts = [slice(half, None), slice(0, half)]
    paths = [
        make_survey(tmp_path / f"{k}.sgy", src[p], rcv[p], traces[p], DT, order="given")[0]
        for k, p in enumerate(parts)
    ]
    table = open_traces(paths)
    rows = np.r_[np.arange(half, len(src)), np.arange(half)]
    assert np.abs(table.src - src[rows]).max() < STORED
    assert (table.files.read(table.number) == traces[rows]).all()
    some = np.array([1, half - 1, half, len(src) - 1])
    assert (table.files.read(some) == traces[rows][some]).all()
    assert table.files.where(half + 2) == (str(paths[1]), 3)
    picked = table.take(some)
    assert len(picked) == 4
    assert (picked.offset == table.offset[some]).all()


def test_dead_auxiliary_and_late_traces(tmp_path):
    from segy_maker import line_headers, make_segy

    traces = np.arange(12 * 20, dtype=np.float32).reshape(12, 20) + 1
    kind = np.ones(12, int)
    kind[[3, 7]], kind[5] = 2, 9
    late = np.zeros(12, int)
    late[[1, 2]] = 8
    headers = line_headers(3, 4) | {"trace_id": kind, "delay": late}
    path = make_segy(tmp_path / "a.sgy", traces, headers=headers)
    table = open_traces(path)
    assert table.number.tolist() == [0, 1, 2, 4, 6, 8, 9, 10, 11]
    assert [f.code for f in table.findings] == ["W230", "W231", "W232"]
    assert "2 of 12 traces are dead" in table.findings[0].message
    assert "first samples lie at 0 .. 8 ms" in table.findings[2].message
    assert (table.notes["dead_traces"], table.notes["auxiliary_traces"]) == (2, 1)
    # two samples of 4 ms late: the axis grows by two
    assert table.time.nt == 22
    read = table.files.read(table.number)
    assert (read[1, 2:] == traces[1]).all()
    assert (read[1, :2] == 0).all()
    assert (read[3, :20] == traces[4]).all()
    assert (read[3, 20:] == 0).all()
    opened = open_traces(path, fix=Fix(dead="zero"))
    assert 3 in opened.number
    assert not opened.files.read(np.array([3])).any()
    assert len(open_traces(path, fix=Fix(dead="zero", all_traces=True))) == 12


def test_feet_and_swapped_axes(tmp_path):
    from segy_maker import line_headers, make_segy

    traces = np.zeros((12, 20), np.float32)
    path = make_segy(tmp_path / "ft.sgy", traces, headers=line_headers(3, 4), binary={3255: ("h", 2)})
    table = open_traces(path)
    assert [f.code for f in table.findings] == ["W241"]
    assert np.allclose(table.rcv[3], [75 * 0.3048, 0.0], rtol=1e-15)
    assert np.allclose(table.offset[3], 75 * 0.3048, rtol=1e-15)
    swapped = open_traces(path, fix=Fix(swap_xy=True, unit="m"))
    assert swapped.rcv[3].tolist() == [0.0, 75.0]
    assert not swapped.findings


def test_a_line_without_coordinates(tmp_path):
    src, rcv, traces = small(azimuth=0.0)
    path, rows = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT, order="cdp", coordinates=False)
    error = refused(GeometryError, open_traces, path)
    assert error.code == "E722"
    assert "CDP numbers run from 1 to 8, offsets from 100 to 300 m" in error.message
    assert 'cdp_line = {spacing = "25 m", first_cdp = 1}' in error.fix
    line = LineGeometry(12.5, 1, (1000.0, 500.0), 0.0)
    table = open_traces(path, line=line)
    assert (table.src == src[rows]).all()
    assert (table.rcv == rcv[rows]).all()
    # along map y: from south to north
    assert (table.azimuth == 0).all()
    stacked = open_traces(path, line=LineGeometry(12.5, 1, offset=0.0))
    assert not stacked.offset.any()
    assert (stacked.midpoint[:, 0] == 12.5 * (stacked.cdp - 1)).all()


def test_the_sign_of_an_offset_is_its_direction(tmp_path):
    src, rcv, traces = small()
    path, rows = make_survey(tmp_path / "a.sgy", rcv, src, traces, DT, order="given", coordinates=False)
    table = open_traces(path, line=LineGeometry(12.5, 1, (1000.0, 500.0)))
    assert (table.src == rcv[rows]).all()
    assert (table.azimuth == 270.0).all()
    assert (table.offset == np.tile(OFFSETS, 8)).all()


def test_what_a_line_needs(tmp_path):
    src, rcv, traces = small()
    bare = make_survey(
        tmp_path / "a.sgy",
        src,
        rcv,
        traces,
        DT,
        coordinates=False,
        offsets=False,
        cdp=np.zeros(len(src), int),
    )[0]
    nothing = refused(GeometryError, open_traces, bare)
    assert nothing.code == "E722"
    assert "[data.bytes]" in nothing.fix
    assert refused(GeometryError, open_traces, bare, line=LineGeometry(25, 1)).code == "E723"
    no_offsets = make_survey(tmp_path / "b.sgy", src, rcv, traces, DT, coordinates=False, offsets=False)[0]
    assert refused(GeometryError, open_traces, no_offsets, line=LineGeometry(25, 1)).code == "E724"
    assert refused(ConfigError, LineGeometry, 0.0, 1).code == "E721"


def test_bins_that_have_positions(tmp_path):
    from segy_maker import make_segy

    x, offset = 100 * np.arange(12), 40 * np.arange(12) - 100
    headers = {"cdp_x": x, "cdp_y": 5000, "offset": offset, "coordinate_scalar": -10, "trace_id": 1, "cdp": 7}
    path = make_segy(tmp_path / "a.sgy", np.zeros((12, 20), np.float32), headers=headers)
    error = refused(GeometryError, open_traces, path)
    assert error.code == "E722"
    assert "[data] bins = {azimuth = 90}" in error.fix
    table = open_traces(path, bins=BinGeometry(180.0))
    assert (table.midpoint == np.stack([x / 10, np.full(12, 500.0)], axis=1)).all()
    assert (table.rcv[:, 1] - table.src[:, 1] == -offset).all()
    assert set(table.azimuth) == {0.0, 180.0}
    assert table.notes["positions"]["from"] == "bins"
    none = HeaderBytes(cdp_x=0, cdp_y=0)
    assert refused(GeometryError, open_traces, path, none, bins=BinGeometry()).code == "E726"


def test_half_of_the_coordinates_are_refused(tmp_path):
    src, rcv, traces = small()
    path = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT)[0]
    no_receivers = HeaderBytes(receiver_x=0, receiver_y=0)
    assert refused(GeometryError, open_traces, path, no_receivers).code == "E322"
    no_sources = HeaderBytes(source_x=0, source_y=0)
    assert refused(GeometryError, open_traces, path, no_sources).code == "E323"


def test_offsets_are_compared_with_coordinates(tmp_path):
    src, rcv, traces = small()
    path = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT, offsets=False)[0]
    table = open_traces(path)
    assert np.allclose(np.sort(np.unique(np.round(table.offset))), OFFSETS)
    assert table.notes["offsets"] == {"in_headers": False, "disagree": 0}
    # coordinates of a tenth of the scale
    path = make_survey(tmp_path / "b.sgy", src, rcv, traces, DT)[0]
    wrong = open_traces(path, fix=Fix(scalar=-1000)).notes["offsets"]
    assert wrong["disagree"] == len(src)
    assert wrong["ratio"] == pytest.approx(10.0)


def test_files_of_different_samples_are_refused(tmp_path):
    src, rcv, traces = small()
    a = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT)[0]
    for name, other, dt, code in (("b", traces[:, :30], DT, "E260"), ("c", traces, 0.002, "E261")):
        b = make_survey(tmp_path / f"{name}.sgy", src, rcv, other, dt)[0]
        error = refused(GeometryError, open_traces, [a, b])
        assert error.code == code
        assert str(a) in error.message
        assert str(b) in error.message


def test_files_that_cannot_be_read(tmp_path):
    src, rcv, traces = small()
    path = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT)[0]
    refused(MissingInputError, open_traces, [path, tmp_path / "none.sgy"])
    # the field record number as trace id: kinds 3 and more are auxiliary
    path = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT, ffid=np.full(len(src), 9))[0]
    assert refused(GeometryError, open_traces, path, HeaderBytes(trace_id=11)).code == "E325"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    assert refused(SegyError, open_traces, path).code == "E213"


def test_a_file_that_changes_is_noticed(tmp_path):
    import os

    src, rcv, traces = small()
    path = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT)[0]
    table = open_traces(path)
    whole = path.read_bytes()
    os.utime(path, ns=(0, table.files.stamps[0] + 1_000_000))
    changed = refused(SegyError, table.files.read, np.array([0]))
    assert (changed.code, "was written to" in changed.message) == ("E218", True)
    path.write_bytes(whole + whole[-400:])
    longer = refused(SegyError, table.files.read, np.array([0]))
    assert (longer.code, f"had {len(whole)} bytes" in longer.message) == ("E218", True)


def test_samples_that_are_not_finite(tmp_path):
    src, rcv, traces = small()
    traces[5, 7] = np.nan
    traces[9, 3] = np.inf
    path = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT, order="given")[0]
    table = open_traces(path)
    assert (table.files.read(np.array([0, 1, 4])) == traces[[0, 1, 4]]).all()
    error = refused(DataError, table.files.read, table.number)
    assert error.code == "E250"
    assert f"{path}: 2 samples are not finite, the first in trace 6, sample 8" in error.message
    zeroed = open_traces(path, fix=Fix(nan="zero"))
    assert (zeroed.files.read(zeroed.number) == np.where(np.isfinite(traces), traces, 0)).all()


def test_numbers_must_ascend(tmp_path):
    src, rcv, traces = small()
    table = open_traces(make_survey(tmp_path / "a.sgy", src, rcv, traces, DT)[0])
    for wrong in ([3, 2], [1, 1], [-1, 2], [0, len(src)]):
        with pytest.raises(ValueError, match="ascend"):
            table.files.read(np.array(wrong))
    assert table.files.read(np.empty(0, np.int64)).shape == (0, 40)


def test_repeated_numbers(tmp_path):
    src, rcv, traces = small()
    a = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT, order="given")[0]
    twice = open_traces([a, a])
    n = len(src)
    repeats = find_repeats(twice)
    assert (repeats.same == np.arange(n, 2 * n)).all()
    assert (repeats.first == np.arange(n)).all()
    assert not len(repeats.other)
    assert (first_of_repeats(twice) == np.arange(n)).all()
    # the same numbers on another line are other traces
    b = make_survey(tmp_path / "b.sgy", src + 1000, rcv + 1000, traces, DT, order="given")[0]
    lines = find_repeats(open_traces([a, b]))
    assert (len(lines.same), len(lines.other)) == (0, n)
    assert (lines.first == np.arange(n)).all()
    assert not len(find_repeats(open_traces(a)).first)
    unnumbered = make_survey(tmp_path / "c.sgy", src, rcv, traces, DT, channel=np.zeros(n, int))[0]
    assert not len(find_repeats(open_traces([unnumbered, unnumbered])).same)


def test_bins_are_kept_where_headers_have_them(tmp_path):
    from segy_maker import line_headers, make_segy

    headers = line_headers(3, 4)
    path = make_segy(tmp_path / "a.sgy", np.zeros((12, 20), np.float32), headers=headers)
    bare = open_traces(path)
    assert bare.inline is bare.crossline is bare.bin_x is bare.bin_y is None
    binned = headers | {
        "inline": np.arange(12) + 7,
        "crossline": 3,
        "cdp_x": 100 * np.arange(12),
        "cdp_y": -50,
    }
    table = open_traces(make_segy(tmp_path / "b.sgy", np.zeros((12, 20), np.float32), headers=binned))
    some = table.take(np.array([2, 5]))
    assert some.inline.tolist() == [9, 12]
    assert some.crossline.tolist() == [3, 3]
    assert some.bin_x.tolist() == [2.0, 5.0]
    assert some.bin_y.tolist() == [-0.5, -0.5]
    assert table.nbytes - bare.nbytes == 12 * 24


def test_azimuths_are_those_of_a_compass():
    angle = np.arange(0.0, 360.0, 7.5)
    d = 250.0 * np.stack([np.sin(np.radians(angle)), np.cos(np.radians(angle))], axis=1)
    length = np.hypot(*d.T)
    # a few units in the last place of 360 degrees
    assert np.abs(azimuths(d, length) - angle).max() < 1e-12
    exact = np.array([[0.0, 3], [3, 0], [0, -3], [-3, 0], [0, 0], [-1e-20, 3]])
    assert azimuths(exact, np.hypot(*exact.T)).tolist() == [0, 90, 180, 270, 0, 0]


def test_three_dimensions(tmp_path):
    src, rcv = areal_positions(np.arange(4) * 25.0, np.arange(3) * 25.0, [0.0, 150.0], (0.0, 45.0, 300.0))
    traces = reflector_traces(src, rcv, 64, DT, depth=100.0)
    path, rows = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT, order="random")
    table = open_traces(path)
    far = table.offset > 1
    assert sorted(set(np.round(table.azimuth[far]))) == [0, 45, 300]
    assert (table.files.read(table.number) == traces[rows]).all()


def test_scan_knows_gathers_without_coordinates_from_a_section(tmp_path):
    src, rcv, traces = small()
    gathers = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT, order="cdp", coordinates=False)[0]
    scanned = scan(gathers)
    assert scanned.kind == "shots"
    assert "offset 100.00 .. 300.00 m  CDP 1..8" in scanned.describe()
    assert "[data] cdp_line" in scanned.describe()
    section = make_survey(tmp_path / "b.sgy", src, rcv, traces, DT, coordinates=False, offsets=False)[0]
    assert scan(section).kind == "stack"


@pytest.mark.shared_data
def test_a_cdp_gather_of_the_field_gets_its_line():
    path = shared_data() / "segy" / "cdp601to610_be.su"
    error = refused(GeometryError, open_traces, path)
    assert "CDP numbers run from 601 to 610, offsets from 264 to 3439 m" in error.message
    table = open_traces(path, line=LineGeometry(25.0, 601))
    assert len(table) == 300
    assert (table.time.nt, table.time.dt) == (750, 0.008)
    assert (np.unique(table.midpoint[:, 0]) == 25.0 * np.arange(10)).all()
    assert (np.bincount(table.cdp - 601) == 30).all()
    assert np.isfinite(table.files.read(table.number)).all()


@pytest.mark.shared_data
def test_marine_shots_of_the_field():
    table = open_traces(shared_data() / "segy" / "viking_small.segy")
    assert len(table) == 480
    assert (table.offset.min(), table.offset.max()) == (262.0, 3237.0)
    assert (table.time.nt, table.time.dt) == (600, 0.004)
    assert {f.code for f in table.findings} == {"W211", "W240"}
    assert table.notes["offsets"]["disagree"] == 0
