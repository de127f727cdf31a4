"""Planted mistakes in prestack traces: each is one finding, with its evidence and cure."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from kirchhoff_data import areal_positions, line_positions, make_survey
from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.io.prestack.positions import LineGeometry
from subsalt.io.prestack.table import open_traces
from subsalt.io.segy.exclude import Exclusion
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import HeaderBytes
from subsalt.job.signal.edit import Edit
from subsalt.job.signal.edited_noise import knowing_edits
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.traces import treated_table
from subsalt.methods.kirchhoff.placing import from_corners
from subsalt.methods.kirchhoff.rules import midpoints as prestack_grid
from subsalt.methods.kirchhoff.rules import traces as rules
from subsalt.methods.kirchhoff.rules.midpoints import MAP_HEIGHT, MAP_WIDTH, edges_of_bins, text_map

NT, DT = 50, 0.004


def line(n=30, spacing=12.5, offsets=(100.0, 300.0), **turn):
    src, rcv = line_positions(n, spacing, offsets, **turn)
    return src, rcv, np.random.default_rng(1).normal(size=(len(src), NT)).astype(np.float32)


def table_of(folder, name="a.sgy", data=None, fix=None, header=None, geometry=None, dt=DT, **how):
    src, rcv, traces = data or line()
    path = make_survey(folder / name, src, rcv, traces, dt, order="given", **how)[0]
    return open_traces(path, header, fix, line=geometry)


def codes(findings):
    return [f.code for f in findings if f.is_fault]


def grid(azimuth=30.0, corner=(1000.0, 2000.0), shape=(20, 80), spacing=(25.0, 12.5), nt=40):
    """Return a grid whose crosslines grow along `azimuth` and whose inlines grow to the right of it."""
    a = np.radians(azimuth)
    return ImageGrid(
        (101, 100 + shape[0], 1),
        (501, 500 + shape[1], 1),
        corner,
        (spacing[0] * np.cos(a), -spacing[0] * np.sin(a)),
        (spacing[1] * np.sin(a), spacing[1] * np.cos(a)),
        TimeAxis(nt, DT),
    )


def on_grid(g, offset=200.0):
    """Return traces with a midpoint at every location of a grid."""
    middle = g.positions()
    step = np.array([0.5 * offset, 0.0])
    return middle - step, middle + step, np.ones((len(middle), NT), np.float32)


@pytest.fixture(scope="module")
def areal(tmp_path_factory):
    """Return (grid, table) that belong together."""
    g = grid()
    return g, table_of(tmp_path_factory.mktemp("areal"), data=on_grid(g))


def test_traces_in_order_have_no_finding(areal):
    g, table = areal
    findings = list(rules.prestack_findings(table, Fix(), g, 500.0))
    # ones all along are what `W234` is for; nothing else is odd
    assert codes(findings) == ["W234"]
    said = "\n".join(f.message for f in findings)
    assert "1600 of 1600 midpoints lie on the output grid" in said
    assert "fold 1 to 1, every bin has a midpoint" in said
    facts = rules.prestack_facts(table, g)
    assert facts["fold"] == {
        "bins": 1600,
        "empty_bins": 0,
        "traces_on_grid": 1600,
        "traces_off_grid": 0,
        "max": 1,
        "median_of_live": 1.0,
    }
    assert sum(facts["offsets"]["counts"]) == facts["traces"] == 1600


def test_fold_counts_midpoints_by_bin(areal):
    g, table = areal
    some = table.take(np.r_[0, 0, 5, 1599, 1599, 1599])
    fold = prestack_grid.midpoint_fold(some, g)
    assert fold.shape == g.shape
    assert fold[0, 0] == 2
    assert fold[0, 5] == 1
    assert fold[19, 79] == 3
    assert fold.sum() == 6


def test_sample_intervals_a_thousand_times_off(tmp_path):
    coarse = table_of(tmp_path, fix=Fix(dt=4.0))
    (findings,) = rules.sample_interval(coarse)
    assert (findings.code, findings.fix) == (
        "E727",
        'if milliseconds were given as seconds: [data.fix] dt = "4 ms"',
    )
    assert "record of 200 s" in findings.message
    fine = table_of(tmp_path, "b.sgy", dt=4e-6)
    (findings,) = rules.sample_interval(fine)
    assert findings.code == "E727"
    assert '[data.fix] dt = "4 ms"' in findings.fix
    assert not list(rules.sample_interval(table_of(tmp_path, "b.sgy", dt=4e-6, fix=Fix(dt=4e-6))))
    assert not list(rules.sample_interval(table_of(tmp_path)))


def test_samples_that_are_not_finite_are_found_before_a_run(tmp_path):
    src, rcv, traces = line()
    traces[7, 3] = np.nan
    table = table_of(tmp_path, data=(src, rcv, traces))
    (findings,) = rules.sampled_findings(table, Fix())
    assert findings.code == "E250"
    assert "1 samples are not finite, the first in trace 8" in findings.message
    assert codes(rules.sampled_findings(table, Fix(nan="zero"))) == ["W250"]


def test_receivers_at_their_sources(tmp_path):
    src, rcv, traces = line()
    path = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT, order="given")[0]
    same = HeaderBytes(receiver_x=73, receiver_y=77)
    (findings,) = rules.missing_offsets(open_traces(path, same))
    assert findings.code == "E725"
    assert "offsets up to 300 m" in findings.message
    stacked = open_traces(path, HeaderBytes(receiver_x=73, receiver_y=77, offset=0))
    assert codes(rules.missing_offsets(stacked)) == ["W725"]
    assert not list(rules.offsets_agree(stacked))
    assert codes(rules.missing_offsets(open_traces(path))) == []


@pytest.mark.parametrize(
    ("fix", "cure"),
    [
        (Fix(scalar=-1000), "[data.fix] scalar = -100"),
        (Fix(unit="m", scalar=-328), 'in feet: [data.fix] unit = "ft"'),
    ],
)
def test_offsets_that_disagree_with_coordinates(tmp_path, fix, cure):
    table = table_of(tmp_path, fix=fix)
    (findings,) = rules.offsets_agree(table)
    assert findings.code == "W226"
    assert findings.evidence["count"] == len(table)
    assert "in 60 of 60 traces" in findings.message
    assert "a.sgy trace 1: offset 100 m" in findings.message
    assert cure in findings.fix


def test_some_traces_without_coordinates(tmp_path):
    src, rcv, traces = line(x0=5000.0)
    src[4:6] = rcv[4:6] = 0.0
    table = table_of(tmp_path, data=(src, rcv, traces))
    (findings,) = rules.traces_at_the_origin(table)
    assert (findings.code, findings.evidence["count"]) == ("W726", 2)
    assert "a.sgy trace 5" in findings.message
    # a line that is placed by its CDPs needs none
    placed = table_of(tmp_path, "b.sgy", geometry=LineGeometry(12.5, 1), coordinates=False)
    assert not list(rules.traces_at_the_origin(placed))


def test_traces_that_are_there_twice(tmp_path):
    src, rcv, traces = line()
    a = make_survey(tmp_path / "a.sgy", src, rcv, traces, DT)[0]
    table = open_traces([a, a])
    (findings,) = rules.repeated_traces(table)
    assert (findings.code, findings.evidence["count"]) == ("E728", 60)
    assert f"{a} trace 1 and {a} trace 1" in findings.message
    assert 'duplicates = "first"' in findings.fix
    table.notes["duplicates"] = "keep"
    assert codes(rules.repeated_traces(table)) == ["W728"]
    b = make_survey(tmp_path / "b.sgy", src, rcv + 500, traces, DT)[0]
    assert codes(rules.repeated_traces(open_traces([a, b]))) == ["W729"]
    assert not list(rules.repeated_traces(open_traces(a)))


def test_traces_not_at_one_level(tmp_path):
    heights = np.linspace(100.0, 112.0, 60)
    (findings,) = rules.elevations(table_of(tmp_path, elevation=heights))
    assert findings.code == "W732"
    assert "heights from 100 to 112 m" in findings.message
    assert not list(rules.elevations(table_of(tmp_path, "b.sgy", elevation=heights / 10)))


def test_image_times_and_records(areal):
    g, table = areal
    assert not list(rules.image_times(table, g))
    late = ImageGrid(g.inlines, g.crosslines, g.corner, g.per_inline, g.per_crossline, TimeAxis(10, DT, 4.0))
    assert codes(rules.image_times(table, late)) == ["E729"]


def wrong(areal, g, aperture=300.0):
    findings = [f for f in prestack_grid.on_the_grid(areal[1], g, aperture) if f.is_fault]
    assert len(findings) == 1
    return findings[0]


def test_traces_outside_are_drawn_beside_the_grid(areal):
    findings = wrong(areal, grid(corner=(9000.0, 2000.0)))
    assert findings.code == "E730"
    assert "all 1600 traces lie outside" in findings.message
    drawn = findings.message.split("\n")
    assert drawn[1].startswith("north up")
    body = "".join(row[1:-1] for row in drawn[3:-2])
    assert set(body) == set(" .#A")
    # midpoints in the west, the grid in the east
    assert max(row.rfind(".") for row in drawn[3:-2]) < min(
        row.find("#") for row in drawn[3:-2] if "#" in row
    )
    assert "corners of the grid" in findings.fix
    assert "lies -8000, +0 m (x, y) from that of the output" in findings.fix


def test_traces_outside_in_part(areal):
    # 30 degrees from north: 70 crosslines of 12.5 m further on
    far = (1000.0 + 875.0 * np.sin(np.pi / 6), 2000.0 + 875.0 * np.cos(np.pi / 6))
    findings = wrong(areal, grid(corner=far))
    assert findings.code == "W730"
    assert "200 of 1600 midpoints lie on the output, " in findings.message
    assert "within the aperture of 300 m" in findings.message
    assert "corners of the grid" in findings.fix


def test_a_part_of_the_survey_is_in_order(areal):
    some = list(prestack_grid.on_the_grid(areal[1], grid(shape=(20, 10)), 51.0))
    assert codes(some) == []
    # 51 m are four crosslines beside those of the output
    assert "200 of 1600 midpoints (12%) lie on the output grid and 1400 outside it" in some[0].message
    assert "80 of these within the aperture" in some[0].message
    assert "every bin has a midpoint" in some[1].message
    beyond = list(prestack_grid.on_the_grid(areal[1], grid(shape=(20, 90)), None))
    assert "1600 of 1600 midpoints lie on the output grid and 0 outside it" in beyond[0].message
    assert "200 of 1800 bins have no midpoint" in beyond[1].message
    # bins of half the distance of the midpoints, one inline: half of them are empty, and the line is covered
    fold = np.tile([[1, 0]], (1, 40))
    assert prestack_grid.covered(fold) == 1.0
    assert prestack_grid.covered(np.where(np.arange(80) < 20, 1, 0)[None]) == 0.25


@pytest.mark.parametrize(
    ("azimuth", "cure"),
    [
        (60.0, "azimuth 30 degrees instead of 60, counted from map y"),
        (120.0, "azimuth 30 degrees instead of 120"),
        (210.0, "azimuth 30 degrees instead of 210"),
        (-30.0, "azimuth 30 degrees instead of 330"),
    ],
)
def test_a_grid_that_is_turned(areal, azimuth, cure):
    findings = wrong(areal, grid(azimuth))
    assert findings.code in ("E730", "W730")
    assert cure in findings.fix
    assert "100% of the midpoints would lie on the output" in findings.fix
    assert "north up" in findings.message


def test_a_grid_to_the_other_side(areal):
    findings = wrong(areal, grid(spacing=(-25.0, 12.5)))
    assert "its inlines grow to the other side" in findings.fix
    assert "turned" not in findings.fix


def test_an_origin_with_its_coordinates_exchanged(areal):
    findings = wrong(areal, grid(corner=(2000.0, 1000.0)))
    assert "x and y of the origin are exchanged, corners = [[101, 501, 1000, 2000], " in findings.fix


def test_a_misplaced_grid_is_said_once(areal):
    g, table = areal
    numbered = replace(table, inline=g.numbers()[:, 0].astype(np.int32))
    assert codes(rules.prestack_findings(numbered, Fix(), grid(60.0), 300.0)) == ["W234", "W730"]
    # the same place, other numbers
    other = ImageGrid(
        (201, 220, 1),
        *(getattr(g, n) for n in ("crosslines", "corner", "per_inline", "per_crossline", "time")),
    )
    assert codes(rules.prestack_findings(numbered, Fix(), other, 300.0)) == ["W234", "W731"]


def test_a_grid_with_its_axes_exchanged(areal):
    g = grid()
    mixed = ImageGrid(
        g.inlines,
        g.crosslines,
        g.corner,
        tuple(2 * v for v in g.per_crossline),
        tuple(v / 2 for v in g.per_inline),
        g.time,
    )
    findings = wrong(areal, mixed)
    assert "inlines and crosslines are exchanged" in findings.fix
    # the corners that the traces were made on
    a, _, _, d = np.round(g.corners(), 2)
    assert f"[101, 501, {a[0]:g}, {a[1]:g}], [101, 580, {d[0]:g}, {d[1]:g}], [120, 501, " in findings.fix


def test_exchanged_coordinates_and_scalars(tmp_path):
    g = grid(corner=(5000.0, 9000.0))
    data = on_grid(g)
    for name, fix, cure in (
        ("a", Fix(swap_xy=True), "[data.fix] swap_xy = true"),
        (
            "b",
            Fix(scalar=-1),
            "coordinates are 100 times too large: [data.fix] scalar = -100 (byte 71 is -1)",
        ),
        ("c", Fix(unit="ft"), '[data.fix] unit = "m"'),
    ):
        # stored in centimetres
        src, rcv, traces = (np.round(data[0], 2), np.round(data[1], 2), data[2])
        table = table_of(tmp_path, f"{name}.sgy", data=(src, rcv, traces), fix=fix)
        assert table.notes["scalars"] == ([-1] if name == "b" else [-100])
        (findings,) = (f for f in prestack_grid.on_the_grid(table, g, 300.0) if f.is_fault)
        assert findings.code == "E730"
        assert cure in findings.fix


def test_a_line_has_bins_as_wide_as_need_be(tmp_path):
    src, rcv, traces = line()
    table = table_of(tmp_path, data=(src, rcv + np.array([0.0, 40.0]), traces))
    along = ImageGrid((1, 1, 1), (1, 30, 1), (0.0, 0.0), (0.0, -1.0), (12.5, 0.0), TimeAxis(NT, DT))
    assert (prestack_grid.midpoint_fold(table, along) == 2).all()
    far = ImageGrid((1, 1, 1), (1, 30, 1), (5000.0, 0.0), (0.0, -1.0), (12.5, 0.0), TimeAxis(NT, DT))
    (findings,) = (f for f in prestack_grid.on_the_grid(table, far, 300.0) if f.is_fault)
    assert findings.code == "E730"
    assert "leave the grid out" in findings.fix


def test_numbers_of_headers_and_of_the_grid(areal, tmp_path):
    g, table = areal
    numbers = g.numbers().astype(np.int32)
    same = replace(table, inline=numbers[:, 0], crossline=numbers[:, 1])
    assert not list(prestack_grid.numbers_agree(same, g))
    assert not list(prestack_grid.numbers_agree(table, g))
    moved = replace(table, inline=numbers[:, 0] + 10, crossline=numbers[:, 1])
    (findings,) = prestack_grid.numbers_agree(moved, g)
    assert findings.code == "W731"
    assert "inline 111 (byte 189) at map 1000, 2000, where the output grid has 101" in findings.message
    # CDPs of a line that grow the other way
    cdps = table_of(tmp_path)
    back = ImageGrid((1, 1, 1), (30, 1, -1), (0.0, 0.0), (0.0, -1.0), (-12.5, 0.0), TimeAxis(NT, DT))
    assert codes(prestack_grid.numbers_agree(cdps, back)) == ["W731"]
    along = ImageGrid((1, 1, 1), (1, 30, 1), (0.0, 0.0), (0.0, -1.0), (12.5, 0.0), TimeAxis(NT, DT))
    assert not list(prestack_grid.numbers_agree(cdps, along))


def test_maps_fit_a_terminal():
    for g in (grid(), grid(shape=(2, 400)), grid(corner=(1e6, 0.0))):
        middle = areal_positions(np.arange(5) * 100.0, np.arange(4) * 100.0, [0.0])[0]
        drawn = text_map(middle, g)
        assert len(drawn) <= MAP_HEIGHT + 5
        assert max(map(len, drawn[1:-1])) <= MAP_WIDTH + 2
        assert len({len(row) for row in drawn[1:-1]}) == 1


@pytest.mark.parametrize(
    ("shift", "noise", "warned"),
    [
        (6.25, 0.3, True),
        (6.25, 0.02, False),
        (6.25, 0.0, False),
        (0.0, 0.3, False),
        (3.0, 0.3, False),
        (0.0, 60.0, False),
    ],
)
def test_midpoints_on_edges_with_more_noise_than_is_taken_out(shift, noise, warned):
    rng = np.random.default_rng(4)
    along = shift + 12.5 * (np.arange(4000) % 200)
    middle = np.stack([along + rng.uniform(-noise, noise, 4000), np.zeros(4000)], axis=1)
    grid = ImageGrid((1, 1, 1), (1, 200, 1), (0.0, 0.0), (0.0, 1.0), (12.5, 0.0), TimeAxis(50, 0.004))
    edges = list(edges_of_bins(SimpleNamespace(midpoint=middle), grid))
    assert [f.code for f in edges] == ["W315"] * warned
    if warned:
        assert edges[0].evidence["below"] + edges[0].evidence["above"] > 0.99
        assert "6.25 m along the crossline numbers" in edges[0].fix


def test_traces_that_spoil_an_image_are_named_and_left_out(tmp_path):
    src, rcv, traces = line(n=60)
    traces[[7, 8]] *= 300
    by_code = {f.code: f for f in rules.prestack_findings(table_of(tmp_path, data=(src, rcv, traces)), Fix())}
    assert [t["trace"] for t in by_code["E246"].evidence["traces"]] == [8, 9]
    entry = Exclusion("a.sgy", ((8, 9, 1),))
    assert by_code["E246"].fix.startswith(f"[data] exclude = [{entry}]")
    table = table_of(tmp_path, data=(src, rcv, traces))
    edit = Edit(step="edit", where="rms > 50")
    treated = treated_table(table, Flow([edit], table.files.time, lambda name, key: tmp_path / name))
    (known,) = knowing_edits([by_code["E246"]], treated)
    assert known.code == "W246"
    assert known.message.endswith("[[signal]] 1 (edit) zeroes the 2 in these shots")
    mended = table_of(tmp_path, data=(src, rcv, traces), fix=Fix(exclude=(entry,)))
    assert codes(rules.prestack_findings(mended, Fix(exclude=(entry,)))) == []
    assert mended.notes["excluded_traces"] == 2
    assert len(mended) == len(traces) - 2


def test_half_the_traces_a_thousand_kilometres_away(tmp_path):
    src, rcv, traces = line(n=60)
    away = np.where(np.arange(len(src)) < 60, 1e6, 0.0)[:, None] * [1.0, 0.0]
    by_code = {
        f.code: f
        for f in rules.prestack_findings(table_of(tmp_path, data=(src + away, rcv + away, traces)), Fix())
    }
    assert by_code["E243"].evidence["count"] == 60
    assert 'exclude = [{file = "a.sgy", traces = "1-60"}]' in by_code["E243"].fix
    fix = Fix(exclude=(Exclusion("a.sgy", ((1, 60, 1),)),))
    mended = table_of(tmp_path, data=(src + away, rcv + away, traces), fix=fix)
    assert codes(rules.prestack_findings(mended, fix)) == []


def test_a_part_that_is_asked_for_says_its_share(areal):
    (part, *_) = prestack_grid.on_the_grid(areal[1], grid(shape=(20, 10)), None)
    assert part.level == "ok"
    assert part.message.startswith("the output is a part of the survey, as [kirchhoff] asks")
    assert "200 of 1600 midpoints (12%) lie on the output grid and 1400 outside it" in part.message


def test_midpoints_beside_the_grid_of_their_own_numbers(areal):
    """Bins that name another place, or numbers of another line: the cure is a grid that holds the midpoints."""
    own = grid(shape=(20, 10))
    (findings, *_) = prestack_grid.on_the_grid(areal[1], own, None, grid_is_given=False)
    assert findings.code == "W730"
    assert (
        "200 of 1600 midpoints lie on the output, though it is the grid of their own numbers"
        in findings.message
    )
    corners = re.search(r"\[kirchhoff\] corners = (\[\[.*?\]\])", findings.fix).group(1)
    placed = from_corners([tuple(p) for p in json.loads(corners)])
    numbers = np.array([p[:2] for p in json.loads(corners)])
    whole = replace(
        own,
        inlines=(numbers[:, 0].min(), numbers[:, 0].max(), 1),
        crosslines=(numbers[:, 1].min(), numbers[:, 1].max(), 1),
        corner=placed.position(numbers[:, 0].min(), numbers[:, 1].min()),
    )
    (findings, *_) = prestack_grid.on_the_grid(areal[1], whole, None, grid_is_given=False)
    assert findings.level == "ok"
    assert "1600 of 1600" in findings.message


def test_offsets_that_are_all_larger_by_one_length(tmp_path):
    path = tmp_path / "a.sgy"
    table_of(tmp_path)
    rows = np.frombuffer(path.read_bytes()[3600:], np.uint8).reshape(-1, 240 + 4 * NT).copy()
    offset = rows[:, 36:40].copy().view(">i4")[:, 0]
    rows[:, 36:40] = (offset + 25 * np.where(offset < 0, -1, 1)).astype(">i4")[:, None].view(np.uint8)
    path.write_bytes(path.read_bytes()[:3600] + rows.tobytes())
    (findings,) = rules.offsets_agree(open_traces(path))
    assert "in 60 of 60 traces, by 25 m in all alike" in findings.message
    assert "scalar" not in findings.fix
