"""Sums of blocks in files: every bit comes back, damage is found, parts are what they would have been alone."""

import numpy as np
import pytest

from subsalt.acquisition.image_grid import LocationBox
from subsalt.errors import CorruptionError
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.partial_image import Sums, SumsFile, read_sums, write_sums


def some(block=None, nt=13, groups=30):
    """Sums with all kinds of bits."""
    rng = np.random.default_rng(3)
    block = block or Block(4, LocationBox(2, 5, 10, 14), 1, 4)
    s = Sums.zeros(block, nt, groups)
    s.image[:] = rng.standard_normal(s.image.shape)
    first = rng.integers(0, nt, (block.locations, 5))
    last = rng.integers(first, nt + 1)
    for k in range(5):
        s.hits[np.arange(block.locations), first[:, k]] += 1
        s.hits[np.arange(block.locations), last[:, k]] -= 1
    s.fold[:] = rng.integers(0, 1 << 30, s.fold.shape)
    s.next, s.contributions, s.traces = 77, 1 << 40, 55
    return s


def same(a, b):
    assert a.block == b.block
    assert (a.next, a.contributions, a.traces) == (b.next, b.contributions, b.traces)
    for name in ("image", "hits", "fold"):
        x, y = getattr(a, name), getattr(b, name)
        assert x.dtype == y.dtype
        assert np.array_equal(x, y), name


@pytest.mark.parametrize("groups", [3, 13, 30])
def test_sums_come_back(tmp_path, groups):
    s = some(groups=groups)
    sha = write_sums(tmp_path / "a", s)
    same(read_sums(tmp_path / "a", sha), s)
    assert write_sums(tmp_path / "b", s) == sha
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_part_of_the_locations(tmp_path):
    s = some()
    sha = write_sums(tmp_path / "a", s)
    part = Block(9, LocationBox(3, 5, 11, 13), 1, 4)
    got = read_sums(tmp_path / "a", sha, part)
    rows = [1 * 4 + 1, 1 * 4 + 2, 2 * 4 + 1, 2 * 4 + 2]
    assert np.array_equal(got.image, s.image[rows])
    assert np.array_equal(got.hits, s.hits[rows])
    assert np.array_equal(got.fold, s.fold[rows])
    assert (got.next, got.contributions, got.traces) == (77, 0, 0)
    assert read_sums(tmp_path / "a", sha, Block(8, LocationBox(2, 3, 10, 11), 1, 4)).traces == 55


@pytest.mark.parametrize(
    "other", [Block(9, LocationBox(3, 6, 11, 13), 1, 4), Block(9, LocationBox(3, 4, 11, 13), 1, 3)]
)
def test_no_part_of_the_block_is_refused(tmp_path, other):
    write_sums(tmp_path / "a", some())
    with pytest.raises(CorruptionError) as error:
        read_sums(tmp_path / "a", part=other)
    assert error.value.code == "E641"


def test_any_damage_is_found(tmp_path):
    s = some()
    sha = write_sums(tmp_path / "a", s)
    good = (tmp_path / "a").read_bytes()
    rng = np.random.default_rng(1)
    for at in [*rng.integers(0, len(good), 150), 0, 20, 1024, len(good) - 1]:
        bad = bytearray(good)
        bad[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "a").write_bytes(bad)
        with pytest.raises(CorruptionError):
            read_sums(tmp_path / "a", sha)
    for length in (0, 100, 1024, len(good) - 1):
        (tmp_path / "a").write_bytes(good[:length])
        with pytest.raises(CorruptionError):
            read_sums(tmp_path / "a", sha)


def test_rows_are_read_alone(tmp_path):
    s = some()
    write_sums(tmp_path / "a", s)
    with SumsFile(tmp_path / "a") as file:
        file.verify()
        got = file.read(5, 8)
    assert np.array_equal(got.image, s.image[5:8])
    assert np.array_equal(got.hits, s.hits[5:8])
