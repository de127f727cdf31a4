"""Offsets and bins as witnesses of where stations are: the one that disagrees is named, with what the others say."""

import numpy as np
import pytest
from line_files import FFID, GX, RECEIVERS, SX, findings_by_code, samples, survey

from subsalt.io.scan.scan import scan

MIDDLE = 0.5 * (SX + GX)
#: bins as processing writes them, in centimetres: 12.5 m long, named by their middles
BINS = 12.5 * np.round(MIDDLE / 12.5)


def words(**more):
    return {"cdp_x": np.round(100 * BINS), "cdp_y": 0} | more


#: (words, what W382 says); the offsets are right
OTHER_BINS = {
    "moved by 2.1 km": ({"cdp_x": 100 * (BINS + 2100)}, "all moved by about +2100, +0 m"),
    "moved by a bin": ({"cdp_x": 100 * (BINS + 12.5)}, "first trace 1; all moved by about +12.5, +0 m"),
    "beside the line": ({"cdp_y": 210_000}, "all moved by about +0, +2100 m"),
    "whole metres under the scalar": ({"cdp_x": BINS}, "0.01 times those of the midpoints"),
    "decimetres": ({"cdp_x": 10 * BINS}, "0.1 times those of the midpoints"),
    "feet": ({"cdp_x": 100 * BINS / 0.3048}, "3.281 times those of the midpoints"),
    "those of another order": (
        {"cdp_x": 100 * np.random.default_rng(1).permutation(BINS)},
        "each by another way",
    ),
    "of one shot": (
        {"cdp_x": 100 * (BINS + 500 * (FFID == 4))},
        "97 of 873 traces (292-388), first trace 292",
    ),
}


@pytest.mark.parametrize("name", OTHER_BINS)
def test_bins_elsewhere_are_named(tmp_path, name):
    wrong, say = OTHER_BINS[name]
    survey(tmp_path, **words(**{k: np.round(v) for k, v in wrong.items()}))
    (f,) = [f for f in scan(tmp_path / "line.sgy").findings if f.code in ("W382", "I001")]
    assert say in f.message
    assert "offsets (byte 37) agree with the coordinates" in f.message
    # in another unit they are no witness, which two others that agree do not need
    assert f.code == ("I001" if "times those" in say else "W382")
    assert ("[data] bytes = {cdp_x = 0, cdp_y = 0}" in f.fix) == (f.code == "W382")


def test_receivers_on_the_other_side_of_their_sources_are_told_by_bins(tmp_path):
    survey(tmp_path, **words(receiver_x=100 * (2 * SX - GX), cdp_x=100 * MIDDLE))
    (f,) = [f for f in scan(tmp_path / "line.sgy").findings if f.code == "W382"]
    assert "at the midpoints when receivers stand on the other side" in f.message
    assert "to twice sx less gx" in f.fix
    # bins that are right are no witness to be taken away
    assert "cdp_x = 0" not in f.fix


def test_moved_bins_far_from_the_origin_are_no_other_unit(tmp_path):
    """100 m at 1.1 km are a tenth, which is the factor of no scalar or unit."""
    survey(
        tmp_path, **words(source_x=100 * (SX + 1100), receiver_x=100 * (GX + 1100), cdp_x=100 * (BINS + 1200))
    )
    (f,) = [f for f in scan(tmp_path / "line.sgy").findings if f.code in ("W382", "I001")]
    assert f.code == "W382"
    assert "all moved by about +100, +0 m" in f.message


@pytest.mark.parametrize("wrong", ["model", "coordinates"])
def test_bins_side_with_coordinates_or_against_them(tmp_path, wrong):
    """An exchange of x and y in the model looks like one in the coordinates, but not to bins."""
    x, y = ("x", "y") if wrong == "model" else ("y", "x")
    at = {f"source_{x}": 100 * SX, f"receiver_{x}": 100 * GX, f"source_{y}": 0, f"receiver_{y}": 0}
    survey(tmp_path, **words(**at))
    assert scan(tmp_path / "line.sgy").bins_confirm == (wrong == "model")


def test_bins_that_are_left_out_are_no_witness(tmp_path):
    job = survey(tmp_path, "bytes = {cdp_x = 0, cdp_y = 0}", **words(cdp_x=1_000_000 + FFID))
    assert "W382" not in findings_by_code(job)


def test_bins_speak_against_a_scalar_that_offsets_do_not_know(tmp_path):
    """Stations ten times as far as their bins, and no offsets: one of the two has the wrong scalar."""
    survey(tmp_path, **words(source_x=1000 * SX, receiver_x=1000 * GX, offset=0))
    (f,) = [f for f in scan(tmp_path / "line.sgy").findings if f.code in ("W382", "I001")]
    assert f.code == "W382"
    assert "0.1 times those of the midpoints" in f.message


@pytest.mark.parametrize("bias", [25.0, -25.0])
def test_offsets_that_are_all_larger(tmp_path, bias):
    survey(tmp_path, **words(offset=np.sign(GX - SX) * np.maximum(np.abs(GX - SX) + bias, 0)))
    (f,) = [f for f in scan(tmp_path / "line.sgy").findings if f.code == "W226"]
    assert f"are 25 m {'larger' if bias > 0 else 'smaller'} than the distances" in f.message
    assert "bins (bytes 181, 185) are those of the coordinates" in f.message
    assert "if the offsets are wrong: [data.bytes] offset = 0" in f.fix


@pytest.mark.parametrize("end", ["receiver", "source"])
def test_one_end_moved_by_a_trace(tmp_path, end):
    """Offsets and bins say the same: they tell which end was moved."""
    at = {"receiver": GX, "source": SX}[end]
    survey(tmp_path, **words(**{f"{end}_x": 100 * (at + 25)}))
    (f,) = [f for f in scan(tmp_path / "line.sgy").findings if f.code in ("W226", "W382")]
    assert f.code == "W226"
    assert f"bins (bytes 181, 185) side with the offsets: the {end}s were moved" in f.message


def turned(x, y, degrees):
    a = np.radians(degrees)
    return x * np.cos(a) - y * np.sin(a), x * np.sin(a) + y * np.cos(a)


def bent(x, sharp=600.0):
    """Return a line that bends by 40 degrees at x = 1200 m, and swings by 30 m."""
    return 0.8 * np.maximum(x - 1200.0, 0.0) + 30.0 * np.sin(x / sharp)


RNG = np.random.default_rng(7)
#: (sources, receivers, bins) on the map, m
IN_ORDER = {
    "not set": (SX, 0, GX, 0, 0, 0),
    "corners of bins": (SX, 0, GX, 0, 25.0 * np.floor(MIDDLE / 25.0), 0),
    "wide bins on a turned line": (
        *turned(SX, 0 * SX, 37.0),
        *turned(GX, 0 * GX, 37.0),
        *turned(25.0 * np.round(MIDDLE / 25.0), 0 * GX, 37.0),
    ),
    "a crooked line, bins on a smooth one": (
        SX,
        bent(SX),
        GX,
        bent(GX),
        (crooked := 12.5 * np.round(MIDDLE / 12.5)),
        0.5 * np.interp(crooked, [0, 1200, 2400], [0, 0, 960])
        + 0.25 * (bent(crooked - 300) + bent(crooked + 300)),
    ),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_bins_in_order(tmp_path, name):
    names = ("source_x", "source_y", "receiver_x", "receiver_y", "cdp_x", "cdp_y")
    at = dict(zip(names, IN_ORDER[name], strict=True))
    distance = np.hypot(at["receiver_x"] - at["source_x"], at["receiver_y"] - at["source_y"])
    survey(tmp_path, **{k: np.round(100 * v) for k, v in at.items()}, offset=np.round(distance))
    assert not {"W226", "W381", "W382"} & {f.code for f in scan(tmp_path / "line.sgy").findings}


def test_bins_of_a_rotated_patch(tmp_path):
    """Bins of 12.5 by 50 m, turned by 23 degrees, named by their middles."""
    n = len(GX)
    src, rcv = (RNG.uniform(0, 2000, (2, n)) for _ in range(2))
    src = src[:, FFID * RECEIVERS - 1]
    middle = 0.5 * (src + rcv)
    bins = np.array([12.5, 50.0])[:, None] * np.round(middle / [[12.5], [50.0]])
    at = {
        f"{name}_{axis}": np.round(100 * (v + 500_000))
        for name, p in (("source", src), ("receiver", rcv), ("cdp", bins))
        for axis, v in zip("xy", turned(*p, 23.0), strict=True)
    }
    offset = np.round(np.hypot(*(rcv - src)))
    survey(tmp_path, **at, offset=offset)
    assert not {"W226", "W381", "W382"} & {f.code for f in scan(tmp_path / "line.sgy").findings}
    survey(tmp_path, **at | {"cdp_x": at["cdp_x"] + 10_000}, offset=offset)
    assert "W382" in {f.code for f in scan(tmp_path / "line.sgy").findings}


@pytest.mark.parametrize(
    "offset",
    [
        np.round(np.abs(GX - SX)),  # without sign
        np.round(1.005 * (GX - SX)),  # nominal, cables stretched
        np.hypot(GX - SX, 230.0),  # slant distances to nodes
        np.where(GX == SX, 0, 1),
        0,
    ],
    ids=["unsigned", "nominal", "slant", "one", "none"],
)
def test_offsets_in_order(tmp_path, offset):
    slant = {"receiver_elevation": -23_600, "source_depth": 600} if np.min(offset) > 200 else {}
    survey(tmp_path, offset=offset, **slant)
    assert "W226" not in {f.code for f in scan(tmp_path / "line.sgy").findings}


def test_samples_are_those_of_the_line():
    assert samples().shape == (len(GX), 251)
