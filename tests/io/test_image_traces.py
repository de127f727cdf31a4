import numpy as np
import pytest
from segy_maker import make_segy

from subsalt.errors import SegyError
from subsalt.io.volumes.image_traces import open_image_traces

NT = 20


def lines(shuffle=None, **more):
    """Return samples and headers of gathers at inlines 10 and 12, crosslines 5, 6 and 7, offsets 100, 300 and 500 m."""
    inline, crossline, offset = (
        a.ravel() for a in np.meshgrid([10, 12], [5, 6, 7], [100, 300, 500], indexing="ij")
    )
    samples = (1000 * inline + 100 * crossline + offset / 100)[:, None] + 0.01 * np.arange(NT)
    order = (
        np.arange(len(inline)) if shuffle is None else np.random.default_rng(shuffle).permutation(len(inline))
    )
    headers = {
        "inline": inline,
        "crossline": crossline,
        "offset": offset,
        "cdp_x": 100 * (1000 + 25 * crossline),
        "cdp_y": 100 * (2000 + 50 * inline),
        "coordinate_scalar": np.full(len(inline), -100),
        "delay": np.full(len(inline), 200),
        **more,
    }
    return samples[order], {k: np.asarray(v)[order] for k, v in headers.items()}


def made(path, samples, headers):
    return make_segy(path, samples, headers=headers)


@pytest.mark.parametrize("shuffle", [None, 1])
def test_a_location_is_found_whatever_the_order_of_the_file(shuffle, tmp_path):
    traces = open_image_traces(made(tmp_path / "g.sgy", *lines(shuffle)))
    np.testing.assert_array_equal(traces.locations, [(i, j) for i in (10, 12) for j in (5, 6, 7)])
    assert traces.per_location == 3
    assert (traces.time.nt, traces.time.dt, traces.time.t0) == (NT, 0.004, 0.2)
    offset, data = traces.gather(12, 6)
    np.testing.assert_array_equal(offset, [100, 300, 500])
    expected = (12600 + offset / 100)[:, None] + 0.01 * np.arange(NT)
    np.testing.assert_array_equal(data, expected.astype(np.float32))
    np.testing.assert_allclose(traces.xy[0], [1125, 2500])
    assert len(traces.gather(11, 6)[0]) == 0


def test_the_nearest_location_is_on_the_nearest_inline(tmp_path):
    traces = open_image_traces(made(tmp_path / "g.sgy", *lines()))
    assert traces.nearest(10.4, 99) == (10, 7)
    assert traces.nearest(11.6, 5.4) == (12, 5)


def test_a_line_of_cdps_is_inline_one(tmp_path):
    samples, headers = lines()
    headers |= {
        "cdp": headers["crossline"],
        "crossline": 0 * headers["crossline"],
        "inline": 0 * headers["inline"],
    }
    traces = open_image_traces(made(tmp_path / "g.sgy", samples, headers))
    np.testing.assert_array_equal(traces.locations, [(1, 5), (1, 6), (1, 7)])


def test_a_file_that_is_no_image_says_why(tmp_path):
    samples, headers = lines()
    nowhere = headers | {"crossline": 0 * headers["crossline"]}
    with pytest.raises(SegyError, match="no line numbers") as caught:
        open_image_traces(made(tmp_path / "a.sgy", samples, nowhere))
    assert caught.value.code == "E832"
    moved = headers | {"delay": headers["delay"] + 40 * (headers["inline"] == 12)}
    with pytest.raises(SegyError, match="delays from"):
        open_image_traces(made(tmp_path / "b.sgy", samples, moved))
