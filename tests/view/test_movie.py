"""Frames of 8 bits: how near they are to the values, percentiles, thinning."""

import numpy as np
import pytest
from movie_maker import ring_movie

from subsalt.errors import ConfigError
from subsalt.view.frame_thinning import ordinal, raw_bytes, thinning
from subsalt.view.movie import PERCENTILES, TOP, Frames, quantise


@pytest.fixture
def values():
    rng = np.random.default_rng(3)
    return (rng.standard_normal((5, 20, 30)) * 10.0 ** np.arange(-20, 30, 10)[:, None, None]).astype(
        np.float32
    )


def test_levels_are_within_half_a_level_of_the_values(values):
    frames = quantise(values)
    for i, v in enumerate(values):
        scale = float(np.abs(v).max())
        got = frames.frame(i).astype(np.float64)
        # sqrt|v| is rounded to a 127th of its largest, in float32
        error = np.abs(np.sqrt(np.abs(got) / scale) - np.sqrt(np.abs(v.astype(np.float64)) / scale))
        assert error.max() <= 0.5 / TOP + 1e-6
        assert np.all((got == 0) | (np.sign(got) == np.sign(v)))


def test_frames_that_are_levels_come_back_exactly():
    q = np.arange(-127, 128).reshape(15, 17)
    v = (np.sign(q) * (q / TOP) ** 2 * 64).astype(np.float32)
    frames = quantise(v[None])
    np.testing.assert_array_equal(frames.levels[0], q)
    np.testing.assert_array_equal(frames.frame(0), v)


def test_frames_of_nothing_and_of_what_is_not_finite():
    v = np.zeros((2, 3, 4), dtype=np.float32)
    v[1, 0, 0], v[1, 1, 1], v[1, 2, 2] = np.nan, np.inf, -2
    frames = quantise(v)
    assert not frames.frame(0).any()
    assert frames.frame(1)[2, 2] == -2
    assert np.count_nonzero(frames.frame(1)) == 1
    np.testing.assert_array_equal(frames.clips()[0], np.ones(len(PERCENTILES)))


def test_percentiles_are_those_of_the_sorted_values(values):
    frames = quantise(values)
    for i in range(len(values)):
        level = np.sort(np.abs(frames.levels[i].astype(int))[frames.levels[i] != 0])
        for j, p in enumerate(PERCENTILES):
            assert frames.clips()[i, j] == level[int(np.ceil(len(level) * p / 100.0)) - 1]
    everything = np.concatenate([np.abs(frames.frame(i))[frames.frame(i) != 0] for i in range(len(values))])
    everything.sort()
    for j, p in enumerate(PERCENTILES):
        want = everything[int(np.ceil(len(everything) * p / 100.0)) - 1]
        assert frames.movie_clips()[j] == pytest.approx(want, rel=1e-6)


def test_frames_in_a_file_are_the_same(values, tmp_path):
    held, filed = quantise(values), Frames(5, (20, 30), tmp_path)
    for i in (3, 1, 4, 0, 2):
        filed.put(i, values[i])
    assert not list(tmp_path.iterdir())
    for i in range(5):
        np.testing.assert_array_equal(held.level(i), filed.level(i))
    np.testing.assert_array_equal(held.plane(2, 1, 0), filed.level(2).T)
    np.testing.assert_array_equal(held.clips(), filed.clips())


def test_a_frame_in_a_file_is_0_until_it_is_put(tmp_path):
    filed = Frames(2, (3, 4, 5), tmp_path)
    filed.put(1, np.ones((3, 4, 5)))
    assert not filed.level(0).any()
    assert (filed.level(1) == TOP).all()


def test_planes_have_depth_downwards(tmp_path):
    v = np.arange(2 * 3 * 4, dtype=np.float32).reshape(1, 2, 3, 4)
    frames = quantise(v)
    filed = Frames(1, (2, 3, 4), tmp_path)
    filed.put(0, v[0])
    for axis in range(3):
        np.testing.assert_array_equal(frames.plane(0, axis, 1), filed.plane(0, axis, 1))
        np.testing.assert_array_equal(frames.plane(0, axis, 1), np.take(frames.levels[0], 1, axis=axis).T)


def test_a_frame_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"\(3, 4\), the movie has \(4, 3\)"):
        Frames(2, (4, 3)).put(0, np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("shape", "samples"),
    [((300, 200), 100), ((1000, 500), 400), ((5000, 2000), 2000), ((150, 150, 150), 250)],
)
def test_thinned_movies_fit(shape, samples):
    step, every = thinning(shape, samples, 3, 50e6)
    assert raw_bytes(shape, samples, 3, step, every) <= 50e6
    assert -(-samples // every) >= min(samples, 60)
    assert max(shape) // step >= 32
    # one step finer, in points or in frames, is too much, or more frames than a movie needs
    finer = raw_bytes(shape, samples, 3, step, max(1, every - 1))
    assert every == 1 or finer > 50e6 or -(-samples // (every - 1)) > 240


def test_what_was_asked_for_is_kept_or_refused():
    assert thinning((1000, 500), 400, 3, 50e6, size=250, every=4) == (4, 4)
    assert thinning((1000, 500), 400, 1, 50e6, size=1000)[0] == 1
    assert thinning((300, 200), 1, 3, 50e6) == (1, 1)
    # few frames, since so few were asked for
    assert thinning((300, 200), 40, 3, 50e6, every=10) == (1, 10)
    with pytest.raises(ConfigError, match="400 frames takes 600 MB") as caught:
        thinning((1000, 500), 400, 3, 50e6, size=1000, every=1)
    assert caught.value.code == "E850"
    with pytest.raises(ConfigError, match="--max-size"):
        thinning((400, 400, 400), 100, 3, 1e5)


def test_ordinals():
    assert [ordinal(n) for n in (1, 2, 3, 4, 10, 11, 12, 13, 21, 22, 103, 111)] == (
        ["1st", "2nd", "3rd", "4th", "10th", "11th", "12th", "13th", "21st", "22nd", "103rd", "111th"]
    )


def test_a_player_opens_on_the_first_frame_that_shows_a_wave():
    """The source field is a point, a growing disc, and nothing at last: a tenth of it is covered from frame 2."""
    movie = ring_movie((40, 40), 10)
    x, z = np.meshgrid(np.arange(40.0), np.arange(40.0), indexing="ij")
    radius = np.hypot(x - 20, z)
    field = np.stack([np.where(radius < 5 * i, 1.0, 0.0) for i in range(9)] + [np.zeros((40, 40))])
    field[0, 20, 0] = 1000.0  # the source, far above what a movie clips at
    movie.fields = {"source": quantise(field.astype(np.float32)), "image": movie.fields["image"]}
    part = [float((np.abs(f) > 0).mean()) for f in field]
    np.testing.assert_allclose(movie.fields["source"].covered()[1:], part[1:])
    assert movie.opening == next(i for i, p in enumerate(part) if p >= 0.1) == 2


def test_a_player_of_nothing_opens_a_third_of_the_way():
    movie = ring_movie((40, 40), 12)
    movie.fields = {"image": quantise(np.zeros((12, 40, 40), np.float32))}
    assert movie.opening == 4
