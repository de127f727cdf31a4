"""Mistakes in trace headers of shot records: each is found, named, and gone under the cure it offers."""

import numpy as np
import pytest
from segy_maker import make_segy
from shot_records import CHANNELS, SHOTS, cured, finding_of, pasted, problems, records, write

from subsalt.errors import SegyError
from subsalt.io.prestack.table import open_traces
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.reading import read_survey, refuse

XY = ("source_x", "source_y", "receiver_x", "receiver_y")


def zeroed(headers, n, rows, names):
    full = {k: np.array(np.broadcast_to(np.asarray(v), (n,))) for k, v in headers.items()}
    for name in names:
        full[name][rows] = 0
    return full


@pytest.mark.parametrize("names", [XY, tuple(records()[0])])
@pytest.mark.parametrize("rows", [[5, 6, 50], range(2 * CHANNELS, 3 * CHANNELS)])
def test_headers_of_zeros(tmp_path, rows, names):
    headers, traces = records()
    rows = np.array(rows)
    paths = write(tmp_path, headers, traces, per_shot=True)
    for k, path in enumerate(paths):
        own = np.arange(k * CHANNELS, (k + 1) * CHANNELS)
        inside = np.flatnonzero(np.isin(own, rows))
        part = {n: np.broadcast_to(np.asarray(v), (len(traces),))[own] for n, v in headers.items()}
        make_segy(path, traces[own], headers=zeroed(part, CHANNELS, inside, names))
    f = finding_of(paths, "E235")
    assert f.evidence["count"] == len(rows)
    assert f.evidence["traces"][0]["file"] == str(paths[rows[0] // CHANNELS])
    assert f.evidence["traces"][0]["trace"] == 1 + rows[0] % CHANNELS
    assert cured(paths, f) == []


def test_one_trace_at_the_origin_of_the_map_is_right(tmp_path):
    headers, traces = records(first=0.0)
    full = {k: np.array(np.broadcast_to(np.asarray(v), (len(traces),))) for k, v in headers.items()}
    full["source_y"][:] = full["receiver_y"][:] = 0
    full["source_x"] -= 500_000
    full["receiver_x"] -= 500_000
    assert "E235" not in problems(write(tmp_path, full, traces))


@pytest.mark.parametrize(
    ("scalar", "code"), [(10, "E236"), (100, "E236"), (1, "W216"), (0, "W216"), (-1000, "W216")]
)
def test_scalars_of_depths(tmp_path, scalar, code):
    headers, traces = records()
    paths = write(tmp_path, headers | {"elevation_scalar": scalar}, traces)
    f = finding_of(paths, code)
    assert "elevation_scalar = -10" in f.fix
    assert cured(paths, f) == []


@pytest.mark.parametrize("scalar", [10, 1, -100, -1000])
def test_the_scalar_of_depths_of_one_file(tmp_path, scalar):
    headers, traces = records()
    row = np.arange(len(traces)) // CHANNELS == 3
    paths = write(tmp_path, headers | {"elevation_scalar": np.where(row, scalar, -10)}, traces, per_shot=True)
    f = finding_of(paths, "W390")
    assert f.message.startswith(f"{paths[3]}: source depth is ")
    assert "[data.fix] elevation_scalar = -10" in f.fix
    assert cured(paths, f) == []


def test_depths_of_holes_that_differ(tmp_path):
    headers, traces = records()
    holes = np.repeat([20, 30, 60, 100, 180, 40, 20, 250], CHANNELS)
    assert problems(write(tmp_path, headers | {"source_depth": holes}, traces, per_shot=True)) == []


def test_a_field_record_that_repeats_is_named_with_its_files(tmp_path):
    headers, traces = records()
    paths = write(tmp_path, headers, traces, per_shot=True)
    again = headers["ffid"].copy()
    again[again == 104] = 103
    for path, own in zip(paths, range(101, 101 + SHOTS), strict=True):
        rows = headers["ffid"] == own
        part = {k: np.broadcast_to(np.asarray(v), rows.shape)[rows] for k, v in headers.items()}
        make_segy(path, traces[rows], headers=part | {"ffid": again[rows]})
    assert "(record 103 in line03.sgy, line04.sgy)" in finding_of(paths, "W224").message


def test_deep_sources_that_are_meant(tmp_path):
    headers, traces = records()
    deep = headers | {"source_depth": 8000}
    paths = write(tmp_path, deep, traces)
    assert "says that it is right" in finding_of(paths, "E236").fix
    assert problems(paths, Fix(elevation_scalar=-10)) == []
    # between wells both change from trace to trace
    n = len(traces)
    wells = {
        "source_depth": 8000 + 400 * (np.arange(n) // 24),
        "receiver_elevation": -7000 - 200 * (np.arange(n) % 24),
    }
    assert problems(write(tmp_path, headers | wells, traces)) == []


@pytest.mark.parametrize("scalar", [100, 0, 1, -10, -1000, 10])
def test_scalars_of_coordinates(tmp_path, scalar):
    headers, traces = records()
    paths = write(tmp_path, headers | {"coordinate_scalar": scalar}, traces)
    f = finding_of(paths, "W226")
    assert f.fix.startswith("[data.fix] scalar = -100")
    assert cured(paths, f) == []


def test_the_scalar_of_one_file(tmp_path):
    headers, traces = records()
    scalars = np.where(np.repeat(np.arange(SHOTS), CHANNELS) == 4, 1, -100)
    paths = write(tmp_path, headers | {"coordinate_scalar": scalars}, traces, per_shot=True)
    f = finding_of(paths, "W223")
    assert str(paths[4]) in f.message
    assert cured(paths, f) == []
    # a file whose numbers go with its scalar is right
    other = {k: np.array(np.broadcast_to(np.asarray(v), (len(traces),))) for k, v in headers.items()}
    tens = scalars == 1
    for name in XY:
        other[name] = np.where(tens, other[name] // 10, other[name])
    other["coordinate_scalar"] = np.where(tens, -10, -100)
    assert problems(write(tmp_path, other, traces, per_shot=True)) == []


def test_the_delay_of_one_file(tmp_path):
    headers, traces = records()
    for here, others in ((100, 0), (0, 100)):
        delay = np.where(np.repeat(np.arange(SHOTS), CHANNELS) == 2, here, others)
        paths = write(tmp_path, headers | {"delay": delay}, traces, per_shot=True)
        f = finding_of(paths, "W217")
        assert str(paths[2]) in f.message
        assert "W217" not in cured(paths, f)
        together = write(tmp_path, headers | {"delay": delay}, traces)
        f = finding_of(together, "W217")
        assert "traces 49-72 (shot 103)" in f.message
        assert "W217" not in cured(together, f)


def test_intervals_without_sense(tmp_path):
    headers, traces = records()
    for binary, trace, cure in (
        (-2000, 0, "dt = 0.002"),
        (0, 65536 - 4000, "dt = 0.004"),
        (32767, 32767, "dt = ..."),
    ):
        paths = write(tmp_path, headers | {"dt": trace}, traces, binary={3217: ("h", binary)})
        f = finding_of(paths, "E238")
        assert cure in f.fix
        # what a clipped interval was, the files do not say
        assert cure.endswith("...") or cured(paths, f) == []
        with pytest.raises(SegyError) as caught:
            read_survey(paths)
        assert caught.value.code == "E238"
        with pytest.raises(SegyError):
            open_traces(paths)


def test_a_hydrophone_of_rev_1_is_data(tmp_path):
    headers, traces = records()
    for kind in (11, 12):
        assert problems(write(tmp_path, headers | {"trace_id": kind}, traces)) == []
    both = np.tile([11, 12], len(traces) // 2)
    paths = write(tmp_path, headers | {"trace_id": both}, traces)
    f = finding_of(paths, "E241")
    assert "96 of pressure (trace id 11)" in f.message
    assert "trace_ids = [11]" in f.fix
    assert len(open_traces(paths, fix=Fix(trace_ids=(11,)))) == 96
    with pytest.raises(SegyError) as caught:
        read_survey(paths)
    assert caught.value.code == "E241"
    shots = read_survey(paths, fix=pasted(f.fix)[1]).shots
    assert sum(len(s.rcv) for s in shots) == 96
    alone = write(tmp_path, headers | {"trace_id": 14}, traces)
    assert finding_of(alone, "E241").fix.startswith("[data.fix] trace_ids = [14]")


def test_components_in_files_of_their_own(tmp_path):
    headers, traces = records()
    kinds = np.where(np.repeat(np.arange(SHOTS), CHANNELS) % 2, 12, 11)
    paths = write(tmp_path, headers | {"trace_id": kinds}, traces, per_shot=True)
    f = finding_of(paths, "E241")
    assert f"vertical (trace id 12) in {paths[1]}" in f.message
    assert cured(paths, f) == []
    with pytest.raises(SegyError) as caught:
        refuse(open_traces(paths).findings)
    assert caught.value.code == "E241"


def test_auxiliary_traces_are_not_blamed_for_coordinates(tmp_path):
    headers, traces = records()
    assert problems(write(tmp_path, headers | {"trace_id": 6}, traces)) == ["W231"]


def test_half_the_traces_a_thousand_kilometres_away(tmp_path):
    headers, traces = records()
    away = np.where(np.arange(len(traces)) % 2, 100_000_000, 0)
    moved = {k: np.asarray(headers[k]) + away for k in ("source_x", "receiver_x")}
    paths = write(tmp_path, headers | moved, traces)
    f = finding_of(paths, "E243")
    assert f.evidence["count"] == len(traces) // 2
    assert "999 km" in f.message
    assert "E243" not in cured(paths, f)


def angles(headers, per_degree, scalar):
    """Return positions as longitudes and latitudes of a line along 60 degrees north."""
    out = {"coordinate_scalar": -scalar}
    for name in ("source", "receiver"):
        # a sphere of 6371 km
        east = np.asarray(headers[f"{name}_x"]) / 100.0 / (np.pi / 180.0 * 6_371_000.0 * 0.5)
        out[f"{name}_x"] = np.round((10.0 + east) * per_degree * scalar).astype(int)
        out[f"{name}_y"] = round(60.0 * per_degree * scalar)
    return headers | out


@pytest.mark.parametrize(
    ("per_degree", "scalar", "word"), [(1, 100_00, "degrees"), (3600, 100, "seconds of arc")]
)
@pytest.mark.parametrize("unit", [0, 1])
def test_angles_called_lengths(tmp_path, per_degree, scalar, word, unit):
    headers, traces = records()
    paths = write(tmp_path, angles(headers, per_degree, scalar) | {"coordinate_units": unit}, traces)
    f = finding_of(paths, "E240")
    assert f"longitudes and latitudes in {word}" in f.message
    for read in (read_survey, lambda p: refuse(open_traces(p).findings)):
        with pytest.raises(SegyError) as caught:
            read(paths)
        assert caught.value.code == "E240"
    # offsets that say nothing about angles, and those of no survey on Earth
    other = headers | {"coordinate_scalar": -1000}
    assert "E240" not in problems(write(tmp_path, other, traces))


def test_receivers_in_another_map_zone(tmp_path):
    headers, traces = records()
    away = {"receiver_x": np.asarray(headers["receiver_x"]) - 33_400_000}
    f = finding_of(write(tmp_path, headers | away, traces), "E380")
    assert "334.1 to 334.7 km from their sources" in f.message
    assert "W227" not in problems(write(tmp_path, headers | away, traces))
    # a scalar that makes offsets as long leaves their ratio
    large = {"coordinate_scalar": 1000}
    assert "E380" not in problems(write(tmp_path, headers | large, traces))


@pytest.mark.parametrize("ends", [("source", "receiver"), ("receiver",), ("source",)])
def test_stations_exchanged_against_their_bins(tmp_path, ends):
    headers, traces = records()
    n = len(traces)
    full = {k: np.broadcast_to(np.asarray(v), (n,)) for k, v in headers.items()}
    # bins of 25 m: midpoints lie up to half of that away
    for a in "xy":
        middle = 0.5 * (full[f"source_{a}"] + full[f"receiver_{a}"])
        full[f"cdp_{a}"] = (np.round(middle / 2500) * 2500).astype(int)
    assert problems(write(tmp_path, full, traces)) == []
    swapped = full | {f"{e}_{a}": full[f"{e}_{b}"] for e in ends for a, b in ("xy", "yx")}
    paths = write(tmp_path, swapped, traces)
    f = finding_of(paths, "W381")
    assert f.evidence["ends"] == list(ends)
    assert cured(paths, f) == []


def test_offsets_that_no_scalar_explains(tmp_path):
    headers, traces = records()
    offset = np.random.default_rng(1).permutation(np.asarray(headers["offset"]))
    paths = write(tmp_path, headers | {"offset": offset}, traces)
    f = finding_of(paths, "W226")
    assert "no scalar or unit explains" in f.message
    assert cured(paths, f) == []
    # nominal offsets: a few per cent off in all traces
    paths = write(
        tmp_path, headers | {"offset": np.round(1.04 * np.asarray(headers["offset"])).astype(int)}, traces
    )
    assert problems(paths) == []


def test_offsets_that_are_wrong_in_a_few_traces(tmp_path):
    headers, traces = records()
    offset = np.array(headers["offset"])
    offset[[10, 11]] *= 3
    paths = write(tmp_path, headers | {"offset": offset}, traces)
    f = finding_of(paths, "W226")
    assert f.evidence["count"] == 2
    assert "traces 11-12" in f.message
    assert cured(paths, f) == []


def test_four_cables_are_no_line(tmp_path):
    headers, traces = records(channels=40)
    n = len(traces)
    cable = np.arange(n) % 4
    y = 200_000 + 10_000 * (cable - 1) - 5_000
    offset = 100.0 + 75.0 * (np.arange(n) % 40 // 4)
    x = np.asarray(headers["source_x"]) - np.round(100 * offset).astype(int)
    paths = write(tmp_path, headers | {"receiver_y": y, "receiver_x": x, "offset": 0}, traces)
    line = read_survey(paths, ndim=2).notes
    assert line["cables"]["cables"] == 4
    # from the source to the outer cables; the nearest receiver of all is 100 m behind
    assert line["cables"]["beside_m"] == pytest.approx(150.0, rel=0.05)
    assert "cables" not in read_survey(write(tmp_path, *records()), ndim=2).notes
