"""Small files of one layout are judged together, and what is said is what each says by itself."""

from dataclasses import replace

import numpy as np
import pytest
from segy_maker import ibm_words, make_segy
from shot_records import records

from subsalt.io.scan import file_blocks
from subsalt.io.scan.file_blocks import FileBlocks
from subsalt.io.scan.groups import Groups, different
from subsalt.io.scan.scan import scan
from subsalt.io.segy.exclude import Exclusion
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import HeaderBytes

SHOTS, CHANNELS = 4, 12
XY = ("source_x", "source_y", "receiver_x", "receiver_y")


def _midpoints(h, way=0):
    """Return positions of bins, `way` words from the midpoints."""
    return [(h[f"source_{c}"] + h[f"receiver_{c}"]) // 2 + way for c in "xy"]


def _upright(h):
    h.update(
        {
            "source_y": 900,
            "receiver_y": 90_000 + 100 * h["channel"],
            "source_depth": 0,
            "receiver_elevation": 0,
        }
    )


def _as_degrees(h):
    for name in XY:
        h[name] = np.round(1e5 * h[name] / 100 / 111_195.0 * 0.2 + 1e5).astype(int)
    h["coordinate_scalar"] = -10_000


def _bins(h, **more):
    h["cdp_x"], h["cdp_y"] = _midpoints(h, **more)


def _exchanged_bins(h):
    h["cdp_y"], h["cdp_x"] = _midpoints(h)


#: what is done to headers of a file, by what it is
HEADERS = {
    "nothing": lambda h: None,
    "a dead trace": lambda h: h["trace_id"].__setitem__(3, 2),
    "auxiliary traces": lambda h: h["trace_id"].__setitem__(slice(2, 6), 9),
    "none live": lambda h: h["trace_id"].__setitem__(slice(None), 2),
    "hydrophones": lambda h: h["trace_id"].__setitem__(slice(None), 11),
    "two components": lambda h: h["trace_id"].__setitem__(slice(0, 20), 12),
    "no scalar": lambda h: h.update(coordinate_scalar=0),
    "another scalar": lambda h: h["coordinate_scalar"].__setitem__(5, -10),
    "an odd scalar": lambda h: h.update(coordinate_scalar=-7, elevation_scalar=3),
    "floats": lambda h: h.update({n: (h[n] / 100).astype(np.float32).view(np.int32) for n in XY}),
    "two bytes": lambda h: h.update(channel=h["channel"] << 16),
    "angles by their code": lambda h: h.update(coordinate_units=3),
    "angles": _as_degrees,
    "a delay": lambda h: h.update(delay=100),
    "delays": lambda h: h["delay"].__setitem__(slice(0, 9), 8),
    "sources in the air": lambda h: h.update(source_depth=-60),
    "receivers in the air": lambda h: h.update(receiver_elevation=100),
    "land": lambda h: h.update(receiver_elevation=100, source_elevation=100, source_depth=0),
    "nominal offsets": lambda h: h.update(offset=h["offset"] + 3),
    "offsets too long": lambda h: h.update(offset=h["offset"] - 60),
    "no offsets": lambda h: h.update(offset=0),
    "bins": _bins,
    "bins beside": lambda h: _bins(h, way=5_000),
    "bins exchanged": _exchanged_bins,
    "a depth in y": _upright,
    "no coordinates": lambda h: h.update(dict.fromkeys(XY, 0)),
    "another interval": lambda h: h.update(dt=2000),
    "a strange count": lambda h: h["ns"].__setitem__(7, 17),
    "lines": lambda h: h.update(inline=1 + h["ffid"] % 4, crossline=h["channel"]),
}
SAMPLES = {
    "nothing": lambda x: x,
    "no numbers": lambda x: np.where(np.arange(len(x))[:, None] == 4, np.nan, x),
    "a quiet trace": lambda x: np.where(np.arange(len(x))[:, None] == 2, 0, x),
    "silence": lambda x: 0 * x,
    "huge": lambda x: 1e31 * x,
    "IBM words": lambda x: ibm_words(x).view(np.float32),
    "the other order": lambda x: x.astype(np.float32).byteswap(),
    "clipped": lambda x: np.clip(x, -0.02, 0.02),
    "one strong trace": lambda x: np.where(np.arange(len(x))[:, None] == 11, 300 * x, x),
}
_ONCE = [*((h, "nothing") for h in HEADERS), *(("nothing", s) for s in SAMPLES), ("nothing", "nothing")]
#: the files, by what is done to headers and to samples; some mistakes are in two
MADE = [*_ONCE, *_ONCE[1::5]]
#: mistakes of trace headers that say another layout
OTHER_LAYOUT = ("another interval", "a strange count")
FIXES = {
    "positions": Fix(scalar=-100, elevation_scalar=-10, delay=0.0, source_depth=6.0, unit="ft"),
    "kinds": Fix(all_traces=True, z_sign=-1, swap_xy=True),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return files of which each has one mistake, and some none."""
    folder = tmp_path_factory.mktemp("files")
    headers, traces = records(SHOTS, CHANNELS)
    n = len(traces)
    plain = {
        "coordinate_units": 1,
        "delay": 0,
        "ns": traces.shape[1],
        "dt": 4000,
        "source_elevation": 0,
    } | headers
    rng = np.random.default_rng(5)
    out = []
    for k, (of_headers, of_samples) in enumerate(MADE):
        h = {name: np.broadcast_to(np.asarray(v), (n,)).copy() for name, v in plain.items()}
        for name in ("source_x", "receiver_x"):
            h[name] += 5_000 * SHOTS * k
        h["ffid"] += SHOTS * k
        HEADERS[of_headers](h)
        own = n - CHANNELS * int(rng.integers(0, 2))
        h = {name: np.broadcast_to(np.asarray(v), (n,))[:own] for name, v in h.items()}
        text = (b"C 1 LINE" if k % 3 else b"C 1 SHOTS %d" % k).ljust(3200)
        with np.errstate(all="ignore"):
            x = SAMPLES[of_samples](traces[:own].astype(np.float64)).astype(np.float32)
        if of_samples == "IBM words":
            x = ibm_words(traces[:own]).view(np.float32)
        out.append(make_segy(folder / f"{k:02d}.sgy", x, headers=h, text=text))
    return out


@pytest.fixture(scope="module")
def together(files):
    """Return what a scan says of the files, which of them were taken, and at which rules looked by themselves."""
    taken, looked_at = [], []
    take, rules = FileBlocks.take, file_blocks.file_findings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileBlocks, "take", lambda *a: taken.append(take(*a)) or taken[-1])
        patch.setattr(
            file_blocks, "file_findings", lambda one, *a: looked_at.append(one.layout.path) or rules(one, *a)
        )
        return scan(files), taken, looked_at


def apart(files, fix=None):
    """Return what a scan says of files that are each read by themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileBlocks, "take", lambda self, place, file: False)
        return scan(files, fix=fix)


def same(one, other):
    """Check that two scans have equal findings and facts."""
    for a, b in zip(one.findings, other.findings, strict=True):
        assert a == b
    assert one.to_dict() == other.to_dict()


def test_files_say_together_what_each_says_by_itself(files, together):
    same(together[0], apart(files))


@pytest.mark.parametrize("fix", FIXES)
def test_corrections_hold_for_files_together(files, fix):
    some = files[::3]
    same(scan(some, fix=FIXES[fix]), apart(some, FIXES[fix]))


def test_most_files_are_taken_and_those_in_order_are_passed(files, together):
    _, taken, looked_at = together
    # all but the first, which is read by itself, and those with another layout in their traces
    assert len(files) - sum(taken) == 1 + sum(h in OTHER_LAYOUT for h, _ in MADE)
    in_order = {str(path) for path, (h, _) in zip(files, MADE, strict=True) if h == "nothing"}
    assert looked_at
    assert not in_order & set(looked_at)


@pytest.mark.parametrize(
    ("header", "fix"),
    [
        (HeaderBytes(), Fix(exclude=(Exclusion(file="03.sgy", traces=((1, 5, 1),)),))),
        (replace(HeaderBytes(), types=(("offset", "f4"),)), Fix()),
    ],
)
def test_what_names_traces_of_a_file_or_may_refuse_it_is_read_by_itself(files, header, fix, monkeypatch):
    taken = []
    take = FileBlocks.take
    monkeypatch.setattr(FileBlocks, "take", lambda *a: taken.append(take(*a)) or taken[-1])
    scan(files[:6], header, fix)
    assert taken == [False] * 6


def test_blocks_that_are_full_are_judged_before_more_is_read(files, monkeypatch):
    some = files[:9]
    whole = scan(some)
    monkeypatch.setattr(file_blocks, "AT_ONCE", 3 * files[0].stat().st_size)
    same(scan(some), whole)


def test_samples_of_large_files_are_looked_at_evenly(files, monkeypatch):
    monkeypatch.setattr("subsalt.io.scan.scan._STATISTICS_TOTAL", 0)
    monkeypatch.setattr("subsalt.io.scan.scan.LEAST", 20_000)
    some = [*files[:3], *files[len(HEADERS) : len(MADE) : 4]]
    result = scan(some)
    assert not result.files[1].statistics.complete
    same(result, apart(some))


@pytest.mark.parametrize("sizes", [(4, 4, 4), (1, 6, 3, 2)])
def test_groups_are_the_files_one_by_one(sizes):
    rng = np.random.default_rng(1)
    n, groups = sum(sizes), Groups(sizes)
    values, whole = rng.standard_normal(n), rng.integers(0, 3, n)
    rows = np.stack([values, -values], axis=1)
    parts = [slice(sum(sizes[:k]), sum(sizes[: k + 1])) for k in range(len(sizes))]
    assert groups.medians(values).tolist() == [float(np.median(values[p])) for p in parts]
    assert groups.distinct(whole).tolist() == [len(np.unique(whole[p])) for p in parts]
    assert groups.min(rows).tolist() == [rows[p].min(axis=0).tolist() for p in parts]
    assert groups.max(rows).tolist() == [rows[p].max(axis=0).tolist() for p in parts]
    assert groups.any(whole).tolist() == [bool(whole[p].any()) for p in parts]
    assert groups.all(whole > 0).tolist() == [bool((whole[p] > 0).all()) for p in parts]
    assert groups.count(whole > 1).tolist() == [int((whole[p] > 1).sum()) for p in parts]
    assert groups.spread(np.arange(len(sizes))).tolist() == [k for k, s in enumerate(sizes) for _ in range(s)]
    assert groups.number().tolist() == [i for s in sizes for i in range(s)]
    assert [len(part) for part in groups.parts(values)] == list(sizes)


def test_different_values_are_ascending():
    for values in ([], [3], [3, 3], [3, 1, 3]):
        assert different(np.array(values, int)).tolist() == sorted(set(values))
