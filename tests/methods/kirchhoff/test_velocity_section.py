"""`[velocity]`: short forms, units, what is refused; and the velocity it makes."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.methods.kirchhoff.velocity.load import open_velocity
from subsalt.methods.kirchhoff.velocity.section import VelocitySection

TIME = TimeAxis(101, 0.01)
GRID = ImageGrid((1, 5, 1), (1, 9, 1), (0.0, 0.0), (0.0, 25.0), (25.0, 0.0), TIME)


def velocity(**keys):
    section = VelocitySection.model_validate(keys)
    return open_velocity(section, lambda name: Path(name), GRID)


def one(**keys):
    v, eta = velocity(**keys).at(np.zeros((1, 2)), TIME)
    return v[0], None if eta is None else eta[0]


def refused(**keys):
    with pytest.raises(ValidationError) as caught:
        VelocitySection.model_validate(keys)
    return [(e["ctx"]["error"].code, str(e["ctx"]["error"])) for e in caught.value.errors() if "ctx" in e]


@pytest.mark.parametrize(
    "keys", [{"v": 2000}, {"v": "2 km/s"}, {"v": 2, "unit": "km/s"}, {"v": {"value": 2000}}]
)
def test_a_constant_in_any_unit(keys):
    v, eta = one(**keys)
    assert (v == 2000).all()
    assert eta is None


def test_a_function_with_units():
    v, _ = one(v={"t": ["0 ms", 1.0], "value": ["5000 ft/s", 3000]})
    assert v[0] == np.float32(1524)
    assert v[-1] == 3000


def test_interval_velocities_become_rms():
    v, _ = one(v={"t": [0.5, 1.0], "value": [2000, 3000]}, kind="layers")
    assert v[0] == 2000
    assert v[-1] == pytest.approx(np.sqrt((2000**2 + 3000**2) / 2), rel=1e-7)


def test_scale_and_eta():
    v, eta = one(v=2000, scale=1.1, eta=0.05)
    assert v[0] == pytest.approx(2200)
    assert eta is not None
    assert (eta == np.float32(0.05)).all()
    _, eta = one(v=2000, eta={"t": [0, 1], "value": [0, "10 %"]})
    assert eta is not None
    assert eta[-1] == np.float32(0.1)


def test_what_is_dumped_is_read_back_as_the_same():
    for keys in (
        {"v": 2, "unit": "km/s", "eta": 0.05, "scale": 1.05},
        {"v": {"t": [0, 1], "value": ["2 km/s", 3000]}, "smooth": {"time": "100 ms"}},
        {"file": "v.txt", "columns": "cdp t v", "unit": "ft/s", "eta": "eta.txt"},
    ):
        section = VelocitySection.model_validate(keys)
        again = VelocitySection.model_validate(section.model_dump(mode="json", exclude_none=True))
        assert again == section


@pytest.mark.parametrize(
    ("keys", "code", "word"),
    [
        ({}, "E104", "either v or file"),
        ({"v": 2000, "file": "v.txt"}, "E104", "either v or file"),
        ({"v": 0}, "E740", "0 m/s"),
        ({"v": {"t": [0, 1], "value": [2000, -1]}}, "E740", "-1 m/s"),
        ({"v": {"t": [0, 1, 1], "value": [1, 2, 3]}}, "E742", "1 s follows 1 s"),
        ({"v": {"t": [0, 1], "value": [1500]}}, "E104", "2 times t but 1 values"),
        ({"v": [1500, 2000]}, "E103", "not a velocity"),
        ({"v": "vels.txt"}, "E103", 'file = "vels.txt"'),
        ({"v": {"t": [0, 1500], "value": [1500, 2000]}}, "E743", '"1500 ms"'),
        ({"v": 2000, "smooth": "200 ms"}, "E104", "along what"),
        ({"v": 2000, "smooth": {"time": 200}}, "E743", '"200 ms"'),
        ({"v": 2000, "scale": 0}, "E104", "scale = 0"),
        ({"v": 2000, "columns": "cdp t v"}, "E104", "columns goes with file"),
        ({"file": "v.txt", "columns": "cdp t vrms"}, "E741", "'vrms' is no column"),
        ({"v": 2000, "unit": "furlongs"}, "E103", "furlongs"),
        ({"v": 2000, "eta": {"file": "e.txt", "value": {"value": 1}}}, "E104", "a value or a file"),
    ],
)
def test_what_is_refused(keys, code, word):
    refusal = refused(**keys)
    assert refusal[0][0] == code
    assert word in refusal[0][1]
