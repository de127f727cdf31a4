"""Mistakes in single traces and headers of shot records: each is found, named, and gone under the cure it offers."""

import numpy as np
import pytest
from segy_maker import make_segy
from shot_records import CHANNELS, DT, NS, SHOTS, cured, found, pasted, problems, records, write

from subsalt.errors import GeometryError, SegyError
from subsalt.io.prestack.table import open_traces
from subsalt.io.scan.scan import scan
from subsalt.io.segy.exclude import Exclusion, leave_out, runs, short_names, spans
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.reading import read_survey, refuse
from subsalt.job.data import header_options
from subsalt.job.signal.first_break_edge import edge_of
from subsalt.methods.rtm.data_sections import DataSection


def test_records_in_order_have_no_finding(tmp_path):
    headers, traces = records()
    for per_shot in (False, True):
        paths = write(tmp_path, headers, traces, per_shot=per_shot)
        assert problems(paths) == []
        assert scan(paths).n_shots == SHOTS


# ---- amplitudes


def noise(traces, rows, factor):
    rng = np.random.default_rng(5)
    traces[rows] += (factor * np.abs(traces).max() * rng.standard_normal((len(rows), NS))).astype("f4")


def spike(traces, rows, value):
    traces[rows, 150] = value


@pytest.mark.parametrize("per_shot", [False, True])
@pytest.mark.parametrize(
    ("plant", "word"),
    [
        (lambda x: noise(x, [30, 31, 100], 30.0), "noise"),
        (lambda x: spike(x, [77], 1e4), "spikes"),
        (lambda x: spike(x, [0], 1e4), "spikes"),
    ],
)
def test_strong_traces_are_named_and_left_out(tmp_path, plant, word, per_shot):
    headers, traces = records()
    before = traces.copy()
    plant(traces)
    rows = np.flatnonzero((traces != before).any(axis=1))
    paths = write(tmp_path, headers, traces, per_shot=per_shot)
    f = found(paths, "E246")
    assert word in f.message
    assert f.evidence["count"] == len(rows)
    for trace, row in zip(f.evidence["traces"], rows, strict=True):
        assert trace["shot"] == 101 + row // CHANNELS
        assert trace["trace"] == 1 + (row % CHANNELS if per_shot else row)
    assert cured(paths, f) == []
    assert problems(paths, Fix(noisy="keep")) == ["W246"]
    header, fix = pasted(f.fix)
    survey = read_survey(paths, header, fix)
    assert sum(len(s.rcv) for s in survey.shots) == len(traces) - len(rows)
    assert survey.notes["excluded_traces"] == len(rows)
    assert max(float(np.abs(survey.traces(s)).max()) for s in survey.shots) < 1.0
    table = open_traces(paths, header, fix)
    assert len(table) == len(traces) - len(rows)
    assert table.notes["excluded_traces"] == len(rows)


def test_a_trace_that_is_somewhat_stronger_is_a_warning(tmp_path):
    headers, traces = records(shots=40)
    traces[333] *= 15
    f = found(write(tmp_path, headers, traces), "W246")
    assert "trace 334 (shot 114, channel 22)" in f.message


def test_near_offsets_may_be_strong(tmp_path):
    headers, traces = records(first=5.0)
    assert problems(write(tmp_path, headers, traces)) == []


def test_humming_traces(tmp_path):
    headers, traces = records()
    hum = np.sin(2 * np.pi * 50.0 * DT * np.arange(NS))
    for row in (12, 13, 180):
        traces[row] += (0.5 * np.abs(traces[row]).max() * hum).astype("f4")
    paths = write(tmp_path, headers, traces)
    f = found(paths, "W247")
    assert [t["trace"] for t in f.evidence["traces"]] == [13, 14, 181]
    assert "hum at 50 Hz (the mains)" in f.message
    assert cured(paths, f) == []


@pytest.mark.parametrize(
    ("frequency", "words"),
    [
        (60.0, "60 Hz (the mains)"),
        (100.0, "100 Hz (2 times the 50 Hz of the mains)"),
        (38.0, "38 Hz (no multiple of the mains)"),
    ],
)
def test_a_hum_is_named_by_its_frequency(tmp_path, frequency, words):
    headers, traces = records()
    traces[[12, 13, 180]] += 0.3 * np.sin(2 * np.pi * frequency * DT * np.arange(NS)).astype("f4")
    assert f"hum at {words}" in found(write(tmp_path, headers, traces), "W247").message


@pytest.mark.parametrize("rows", [np.arange(20, 60), np.arange(CHANNELS * SHOTS)])
@pytest.mark.parametrize("narrow", [False, True])
def test_swell_is_no_hum(tmp_path, rows, narrow):
    """Broad below 3 Hz or nearly one frequency: it is swell, and the step against it is the cure."""
    rng = np.random.default_rng(8)
    headers, traces = records()
    # a second record length: swell is told over periods
    traces = np.pad(traces, ((0, 0), (0, 3 * NS)))
    f = np.fft.rfftfreq(traces.shape[1], DT)
    low = (f > 0) & (f < 3) if not narrow else np.abs(f - 2.5) < 0.3
    noise = np.fft.irfft(
        low * (rng.standard_normal((len(rows), len(f))) + 1j * rng.standard_normal((len(rows), len(f))))
    )
    traces[rows] += (0.05 * noise / noise.std()).astype("f4")
    paths = write(tmp_path, headers, traces)
    f = found(paths, "W270")
    assert '[[signal]] step = "swell"' in f.fix
    assert f.evidence["count"] >= 0.8 * len(rows)
    assert not {"W247", "W256"} & set(problems(paths))


def test_low_frequencies_that_a_source_made_are_no_swell(tmp_path):
    """A source of 4 Hz, with noise as strong as a hundredth of it."""
    headers, _ = records()
    t = DT * np.arange(4 * NS)
    offset = np.abs(headers["offset"])[:, None]
    a = (np.pi * 4.0 * (t - offset / 1500.0 - 0.3)) ** 2
    late = (np.pi * 4.0 * (t - np.sqrt(offset**2 + 3000.0**2) / 1500.0 - 0.3)) ** 2
    traces = (1 - 2 * a) * np.exp(-a) + 0.3 * (1 - 2 * late) * np.exp(-late)
    traces += 0.01 * np.random.default_rng(2).standard_normal(traces.shape)
    assert problems(write(tmp_path, headers, traces.astype("f4"))) == []


def test_a_trace_of_noise_that_is_no_stronger(tmp_path):
    headers, traces = records()
    level = np.sqrt((traces[50] ** 2).mean())
    traces[50] = 2 * level * np.random.default_rng(0).standard_normal(NS)
    paths = write(tmp_path, headers, traces)
    f = found(paths, "W256")
    assert f.evidence["traces"] == [{"file": str(paths[0]), "shot": 103, "trace": 51}]
    assert cured(paths, f) == []


def test_clipped_traces(tmp_path):
    headers, traces = records()
    limit = 0.15 * np.abs(traces).max()
    np.clip(traces, -limit, limit, out=traces)
    paths = write(tmp_path, headers, traces)
    f = found(paths, "W253")
    assert 8 <= f.evidence["count"] < len(traces)
    assert "shot 101, channel 1" in f.message
    assert "W253" not in cured(paths, f)


def test_a_shot_of_another_strength(tmp_path):
    headers, traces = records()
    traces[2 * CHANNELS : 3 * CHANNELS] *= 1000
    paths = write(tmp_path, headers, traces, per_shot=True)
    f = found(paths, "W254")
    assert f.evidence["shot"] == 103
    assert f.evidence["ratio"] == pytest.approx(1000, rel=0.5)
    assert cured(paths, f) == []


def test_dead_and_constant_traces_are_named(tmp_path):
    headers, traces = records()
    traces[[40, 41]], traces[99] = 0, 7
    paths = write(tmp_path, headers, traces)
    for code, trace in (("W233", 41), ("W234", 100)):
        f = found(paths, code)
        assert f.evidence["traces"][0]["trace"] == trace
        assert code not in cured(paths, f)
    headers["trace_id"] = np.where(np.arange(len(traces)) == 7, 2, 1)
    assert "traces 8" in found(write(tmp_path, headers, traces), "W230").message


def test_nan_in_a_trace_that_is_left_out(tmp_path):
    headers, traces = records()
    traces[60, 3] = np.nan
    paths = write(tmp_path, headers, traces)
    assert "trace 61" in found(paths, "E250").message
    fix = Fix(exclude=(Exclusion("line.sgy", ((61, 61, 1),)),))
    assert problems(paths, fix) == []
    survey = read_survey(paths, fix=fix)
    assert all(np.isfinite(survey.traces(s)).all() for s in survey.shots)


# ---- traces that are missing, or there twice


def without(headers, traces, gone):
    n = len(traces)
    full = {k: np.broadcast_to(np.asarray(v), (n,)) for k, v in headers.items()}
    keep = ~np.isin(np.arange(n), gone)
    return {k: v[keep] for k, v in full.items()}, traces[keep]


@pytest.mark.parametrize(
    ("gone", "channels"),
    [
        (3 * CHANNELS + np.arange(9), "1-9"),
        (3 * CHANNELS + np.arange(14, CHANNELS), "15-24"),
        (3 * CHANNELS + np.arange(5, 14), "6-14"),
    ],
)
def test_missing_channels(tmp_path, gone, channels):
    headers, traces = without(*records(), gone)
    for per_shot in (False, True):
        paths = write(tmp_path, headers, traces, per_shot=per_shot)
        f = found(paths, "W255")
        assert "shot 104 has" in f.message
        assert f"channels {channels} are missing" in f.message
        assert cured(paths, f) == []


def test_channels_missing_in_every_shot(tmp_path):
    channel = np.tile(np.arange(CHANNELS), SHOTS)
    headers, traces = without(*records(), np.flatnonzero((channel > 4) & (channel < 14)))
    f = found(write(tmp_path, headers, traces), "W255")
    assert "8 of 8 shots lack channels" in f.message
    assert "channels 6-14" in f.message


def test_four_cables_have_numbers_of_their_own(tmp_path):
    """Channels 1-6, 101-106, 201-206, 301-306: numbers jump in every shot, and no station is missing."""
    headers, traces = records()
    channel = headers["channel"] - 1
    cable = {
        "channel": 100 * (channel // 6) + channel % 6 + 1,
        "receiver_x": headers["receiver_x"] + 2500 * 6 * (channel // 6),
        "receiver_y": 200_000 + 10_000 * (channel // 6),
        "offset": 0,
    }
    assert problems(write(tmp_path, headers | cable, traces)) == []
    # and nothing can be said where stations have no coordinates
    nowhere = dict.fromkeys(("source_x", "source_y", "receiver_x", "receiver_y"), 0)
    assert "W255" not in problems(
        write(tmp_path, headers | cable | nowhere | {"offset": headers["offset"]}, traces)
    )
    # a cable that one shot lacks is missing
    rows = np.flatnonzero((headers["ffid"] == 104) & (channel // 6 == 2))
    f = found(write(tmp_path, *without(headers | cable, traces, rows)), "W255")
    assert "shot 104" in f.message
    assert "channels 201-206 are missing" in f.message


@pytest.mark.parametrize("share", [0.03, 0.06])
def test_edited_data_are_no_warning(tmp_path, share):
    """Single traces that an editor took here and there are said, and no fault."""
    headers, traces = records(channels=60)
    gone = np.flatnonzero(np.random.default_rng(11).random(len(traces)) < share)
    paths = write(tmp_path, *without(headers, traces, gone))
    assert problems(paths) == []
    assert any("lack single channels" in f.message for f in scan(paths).findings)


def test_many_cut_shots_are_one_finding(tmp_path):
    headers, traces = records(shots=24)
    channel = np.tile(np.arange(CHANNELS), 24)
    cut = np.flatnonzero(np.isin(headers["ffid"], [103, 108, 112, 119]) & (channel >= 12))
    f = found(write(tmp_path, *without(headers, traces, cut)), "W255")
    assert "4 of 24 shots have fewer traces than the usual 24: 103, 108, 112, 119" in f.message
    assert "103, 108, 112, 119" in f.fix


def test_a_shot_twice(tmp_path):
    headers, traces = records()
    one = write(tmp_path, headers, traces, per_shot=True)
    f = found([*one, one[3]], "E728")
    assert f.evidence["count"] == CHANNELS
    assert "field record 104 channel 1" in f.message
    assert problems([*one, one[3]], Fix(duplicates="first")) == []
    assert problems([*one, one[3]], Fix(duplicates="keep")) == ["W728"]
    kept = read_survey([*one, one[3]], fix=Fix(duplicates="first"))
    assert [len(s.rcv) for s in kept.shots] == [CHANNELS] * SHOTS
    # under another number
    n = len(traces)
    again = {k: np.broadcast_to(np.asarray(v), (n,))[:CHANNELS] for k, v in headers.items()} | {"ffid": 900}
    paths = [*one, make_segy(tmp_path / "again.sgy", traces[:CHANNELS], headers=again)]
    f = found(paths, "W263")
    assert f.evidence["shots"] == [900]
    assert cured(paths, f) == []


# ---- headers


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
    f = found(paths, "E235")
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
    f = found(paths, code)
    assert "elevation_scalar = -10" in f.fix
    assert cured(paths, f) == []


@pytest.mark.parametrize("scalar", [10, 1, -100, -1000])
def test_the_scalar_of_depths_of_one_file(tmp_path, scalar):
    headers, traces = records()
    row = np.arange(len(traces)) // CHANNELS == 3
    paths = write(tmp_path, headers | {"elevation_scalar": np.where(row, scalar, -10)}, traces, per_shot=True)
    f = found(paths, "W390")
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
    assert "(record 103 in line03.sgy, line04.sgy)" in found(paths, "W224").message


def test_deep_sources_that_are_meant(tmp_path):
    headers, traces = records()
    deep = headers | {"source_depth": 8000}
    paths = write(tmp_path, deep, traces)
    assert "says that it is right" in found(paths, "E236").fix
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
    f = found(paths, "W226")
    assert f.fix.startswith("[data.fix] scalar = -100")
    assert cured(paths, f) == []


def test_the_scalar_of_one_file(tmp_path):
    headers, traces = records()
    scalars = np.where(np.repeat(np.arange(SHOTS), CHANNELS) == 4, 1, -100)
    paths = write(tmp_path, headers | {"coordinate_scalar": scalars}, traces, per_shot=True)
    f = found(paths, "W223")
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
        f = found(paths, "W217")
        assert str(paths[2]) in f.message
        assert "W217" not in cured(paths, f)
        together = write(tmp_path, headers | {"delay": delay}, traces)
        f = found(together, "W217")
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
        f = found(paths, "E238")
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
    f = found(paths, "E241")
    assert "96 of pressure (trace id 11)" in f.message
    assert "trace_ids = [11]" in f.fix
    assert len(open_traces(paths, fix=Fix(trace_ids=(11,)))) == 96
    with pytest.raises(SegyError) as caught:
        read_survey(paths)
    assert caught.value.code == "E241"
    shots = read_survey(paths, fix=pasted(f.fix)[1]).shots
    assert sum(len(s.rcv) for s in shots) == 96
    alone = write(tmp_path, headers | {"trace_id": 14}, traces)
    assert found(alone, "E241").fix.startswith("[data.fix] trace_ids = [14]")


def test_components_in_files_of_their_own(tmp_path):
    headers, traces = records()
    kinds = np.where(np.repeat(np.arange(SHOTS), CHANNELS) % 2, 12, 11)
    paths = write(tmp_path, headers | {"trace_id": kinds}, traces, per_shot=True)
    f = found(paths, "E241")
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
    f = found(paths, "E243")
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
    f = found(paths, "E240")
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
    f = found(write(tmp_path, headers | away, traces), "E380")
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
    f = found(paths, "W381")
    assert f.evidence["ends"] == list(ends)
    assert cured(paths, f) == []


def test_offsets_that_no_scalar_explains(tmp_path):
    headers, traces = records()
    offset = np.random.default_rng(1).permutation(np.asarray(headers["offset"]))
    paths = write(tmp_path, headers | {"offset": offset}, traces)
    f = found(paths, "W226")
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
    f = found(paths, "W226")
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


# ---- what is left out


def test_exclusions():
    assert runs([5, 3, 4, 9]) == ((3, 5, 1), (9, 9, 1))
    assert spans([1, 2, 3, 8]) == "1-3, 8"
    number = np.arange(6)
    ffid, channel = np.array([1, 1, 1, 2, 2, 2]), np.array([1, 2, 3, 1, 2, 3])
    some = Exclusion(shots=((2, 2, 1),), channels=((1, 3, 2),))
    assert some.among("x/a.sgy", number, ffid, channel).tolist() == [False] * 3 + [True, False, True]
    assert (
        Exclusion("a.sgy", ((2, 3, 1),)).among("x/a.sgy", number, ffid, channel).tolist()
        == [False, True, True] + [False] * 3
    )
    assert not Exclusion("b/a.sgy").names("x/a.sgy")
    assert Exclusion("x/a.sgy").names("/data/x/a.sgy")
    assert str(Exclusion(shots=((2, 2, 1),), channels=((1, 3, 2),))) == '{shot = 2, channels = "1-3:2"}'
    assert leave_out([("x/a.sgy", [1, 2, 3, 7]), ("x/b.sgy", None)], ["x/a.sgy", "x/b.sgy"]) == (
        '[data] exclude = [{file = "a.sgy", traces = "1-3, 7"}, {file = "b.sgy"}]'
    )


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/d/a.sgy", "/d/b.sgy"], ["a.sgy", "b.sgy"]),
        (["/d/1/s.sgy", "/d/2/s.sgy", "/d/2/t.sgy"], ["1/s.sgy", "2/s.sgy", "t.sgy"]),
        (["/1/x/s.sgy", "/2/x/s.sgy"], ["1/x/s.sgy", "2/x/s.sgy"]),
        (["x/s.sgy", "s.sgy"], ["x/s.sgy", "s.sgy"]),
    ],
)
def test_files_of_one_name_are_told_apart(paths, names):
    assert list(short_names(paths).values()) == names
    for path, name in zip(paths, names, strict=True):
        # a path that is the end of another names both, whatever is written
        assert [p for p in paths if Exclusion(name).names(p)] == [path] or path == name


def test_the_cure_of_one_bad_file_leaves_the_others(tmp_path):
    headers, traces = records()
    n = len(traces)
    rng = np.random.default_rng(5)
    paths = []
    for shot in range(SHOTS):
        own = slice(shot * CHANNELS, (shot + 1) * CHANNELS)
        samples = traces[own].copy()
        if shot == 3:
            samples[4:7] = 500 * rng.standard_normal((3, samples.shape[1]))
        (tmp_path / f"run{shot}").mkdir()
        some = {k: np.broadcast_to(np.asarray(v), (n,))[own] for k, v in headers.items()}
        paths += write(tmp_path / f"run{shot}", some, samples)
    finding = found(paths, "E246")
    assert 'file = "run3/line.sgy"' in finding.fix
    assert cured(paths, finding) == []
    ambiguous = Fix(exclude=(Exclusion("line.sgy", ((5, 7, 1),)),))
    assert "8 files" in found(paths, "W268", fix=ambiguous).message


@pytest.mark.parametrize("scalar", [-10000, 1000])
def test_depths_have_the_scalar_that_the_coordinates_need(tmp_path, scalar):
    headers, traces = records()
    metres = {k: np.asarray(headers[k]) // 100 for k in ("source_x", "receiver_x", "source_y", "receiver_y")}
    depths = {"source_depth": 10, "receiver_elevation": -10}
    both = {"coordinate_scalar": scalar, "elevation_scalar": scalar}
    paths = write(tmp_path, headers | metres | depths | both, traces)
    shallow = found(paths, "W216" if scalar < 0 else "E236")
    assert "[data.fix] elevation_scalar = 1" in shallow.fix
    assert "scalar = 1" in found(paths, "W226").fix
    # and the mute behind first breaks does not believe such places
    edge = edge_of(read_survey(paths))
    assert "coordinates or times are wrong" in edge.reason
    header, fix = header_options(DataSection(files=["a"], fix={"scalar": 1, "elevation_scalar": 1}))
    assert problems(paths, fix, header) == []
    assert edge_of(read_survey(paths, header, fix)).reason == ""


def test_an_entry_that_meets_no_trace_is_refused(tmp_path):
    headers, traces = records()
    paths = write(tmp_path, headers, traces)
    for entry in (
        Exclusion("other.sgy"),
        Exclusion(shots=((999, 999, 1),)),
        Exclusion("line.sgy", ((500, 500, 1),)),
    ):
        for read in (read_survey, open_traces):
            with pytest.raises(GeometryError) as caught:
                read(paths, fix=Fix(exclude=(entry,)))
            assert caught.value.code == "E244"
