"""Mistakes in single traces of shot records: each is found, named, and gone under the cure it offers."""

import numpy as np
import pytest
from segy_maker import make_segy
from shot_records import CHANNELS, DT, NS, SHOTS, cured, finding_of, pasted, problems, records, write

from subsalt.io.prestack.table import open_traces
from subsalt.io.scan.scan import scan
from subsalt.io.segy.exclude import Exclusion
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.reading import read_survey


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
    f = finding_of(paths, "E246")
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
    f = finding_of(write(tmp_path, headers, traces), "W246")
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
    f = finding_of(paths, "W247")
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
    assert f"hum at {words}" in finding_of(write(tmp_path, headers, traces), "W247").message


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
    f = finding_of(paths, "W270")
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
    f = finding_of(paths, "W256")
    assert f.evidence["traces"] == [{"file": str(paths[0]), "shot": 103, "trace": 51}]
    assert cured(paths, f) == []


def test_clipped_traces(tmp_path):
    headers, traces = records()
    limit = 0.15 * np.abs(traces).max()
    np.clip(traces, -limit, limit, out=traces)
    paths = write(tmp_path, headers, traces)
    f = finding_of(paths, "W253")
    assert 8 <= f.evidence["count"] < len(traces)
    assert "shot 101, channel 1" in f.message
    assert "W253" not in cured(paths, f)


def test_a_shot_of_another_strength(tmp_path):
    headers, traces = records()
    traces[2 * CHANNELS : 3 * CHANNELS] *= 1000
    paths = write(tmp_path, headers, traces, per_shot=True)
    f = finding_of(paths, "W254")
    assert f.evidence["shot"] == 103
    assert f.evidence["ratio"] == pytest.approx(1000, rel=0.5)
    assert cured(paths, f) == []


def test_dead_and_constant_traces_are_named(tmp_path):
    headers, traces = records()
    traces[[40, 41]], traces[99] = 0, 7
    paths = write(tmp_path, headers, traces)
    for code, trace in (("W233", 41), ("W234", 100)):
        f = finding_of(paths, code)
        assert f.evidence["traces"][0]["trace"] == trace
        assert code not in cured(paths, f)
    headers["trace_id"] = np.where(np.arange(len(traces)) == 7, 2, 1)
    assert "traces 8" in finding_of(write(tmp_path, headers, traces), "W230").message


def test_nan_in_a_trace_that_is_left_out(tmp_path):
    headers, traces = records()
    traces[60, 3] = np.nan
    paths = write(tmp_path, headers, traces)
    assert "trace 61" in finding_of(paths, "E250").message
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
        f = finding_of(paths, "W255")
        assert "shot 104 has" in f.message
        assert f"channels {channels} are missing" in f.message
        assert cured(paths, f) == []


def test_channels_missing_in_every_shot(tmp_path):
    channel = np.tile(np.arange(CHANNELS), SHOTS)
    headers, traces = without(*records(), np.flatnonzero((channel > 4) & (channel < 14)))
    f = finding_of(write(tmp_path, headers, traces), "W255")
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
    f = finding_of(write(tmp_path, *without(headers | cable, traces, rows)), "W255")
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
    f = finding_of(write(tmp_path, *without(headers, traces, cut)), "W255")
    assert "4 of 24 shots have fewer traces than the usual 24: 103, 108, 112, 119" in f.message
    assert "103, 108, 112, 119" in f.fix


def test_a_shot_twice(tmp_path):
    headers, traces = records()
    one = write(tmp_path, headers, traces, per_shot=True)
    f = finding_of([*one, one[3]], "E728")
    assert f.evidence["count"] == CHANNELS
    assert "field record 104 channel 1" in f.message
    assert problems([*one, one[3]], Fix(duplicates="first")) == []
    assert problems([*one, one[3]], Fix(duplicates="keep")) == ["W728"]
    survey = read_survey([*one, one[3]], fix=Fix(duplicates="first"))
    assert [len(s.rcv) for s in survey.shots] == [CHANNELS] * SHOTS
    # under another number
    n = len(traces)
    again = {k: np.broadcast_to(np.asarray(v), (n,))[:CHANNELS] for k, v in headers.items()} | {"ffid": 900}
    paths = [*one, make_segy(tmp_path / "again.sgy", traces[:CHANNELS], headers=again)]
    f = finding_of(paths, "W263")
    assert f.evidence["shots"] == [900]
    assert cured(paths, f) == []
