"""The demo's reading of known reflectors."""

import numpy as np
import pytest

from subsalt.demo import GRID, Reflector, claim, read_reflector, true_model
from subsalt.errors import ConfigError


def test_the_numbers_of_a_row_agree():
    # of five places one has a stronger peak 45 m above the reflector at 600 m
    image = np.zeros(GRID.shape, np.float32)
    image[:, :, 40] = 1.0
    image[20, 20, 37] = 2.0
    where = [(GRID.spacing[0] * i, GRID.spacing[1] * 20) for i in (20, 30, 40, 50, 60)]
    flat = Reflector("flat", lambda x, y: np.full(np.shape(x), 600.0), 1, tuple(where))
    reflector = read_reflector(image, flat)
    assert reflector.error == 0.0
    assert reflector.largest == 45.0
    assert reflector.imaged_depth - reflector.true_depth == reflector.error


def test_the_demo_of_another_version_is_left_alone(tmp_path):
    claim(tmp_path, true_model())
    claim(tmp_path, true_model())
    other = true_model()
    other.vp[0, 0, 0] += 1
    with pytest.raises(ConfigError, match="another version"):
        claim(tmp_path, other)
    assert [p.name for p in tmp_path.iterdir()] == ["demo.json"]
