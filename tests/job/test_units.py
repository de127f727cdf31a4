"""Quantities: every unit of the job file, decimal texts to the nearest double, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subsalt.errors import ConfigError
from subsalt.job import units


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("12.5 m", "length", 12.5),
        ("12.5m", "length", 12.5),
        ("3 km", "length", 3000.0),
        ("100 ft", "length", 30.48),
        ("1 kft", "length", 304.8),
        ("2 km/s", "velocity", 2000.0),
        ("5000 ft/s", "velocity", 1524.0),
        ("4 ms", "time", 0.004),
        ("4000 us", "time", 0.004),
        ("-20 ms", "time", -0.02),
        ("15 Hz", "frequency", 15.0),
        ("15 hz", "frequency", 15.0),
        ("30 deg", "angle", 30.0),
        ("12 %", "fraction", 0.12),
        ("1e-3 km", "length", 1.0),
        (7, "length", 7.0),
        (0.25, "fraction", 0.25),
        ("0.25", "fraction", 0.25),
    ],
)
def test_quantities(text, kind, value):
    assert units.parse(text, kind) == value


def test_radians_become_degrees():
    assert units.parse("1.5707963267948966 rad", "angle") == pytest.approx(90.0, abs=1e-12)


@pytest.mark.parametrize(
    ("value", "kind", "says"),
    [
        ("12.5 s", "length", "'s' measures a time"),
        ("12.5 furlong", "length", "unit 'furlong' is not known"),
        ("fast", "velocity", "is not a velocity"),
        ("", "length", "is not a length"),
        (True, "length", "is not a length"),
        (None, "length", "is not a length"),
        ([1], "length", "is not a length"),
        (math.inf, "length", "not a finite length"),
        (math.nan, "time", "not a finite time"),
        ("1e999 m", "length", "not a finite length"),
    ],
)
def test_refused(value, kind, says):
    with pytest.raises(ConfigError) as caught:
        units.parse(value, kind)
    assert says in caught.value.message
    assert caught.value.fix.startswith("write ")


@given(st.integers(1, 10**6), st.integers(0, 3))
def test_milliseconds_are_the_nearest_double(count, digits):
    number = f"{count / 10**digits:.{digits}f}"
    assert units.parse(f"{number} ms", "time") == float(f"{number}e-3")


@pytest.mark.parametrize(
    ("unit", "stored"),
    [
        ("m/s", 2000.0),
        ("km/s", 2.0),
        ("ft/s", 2000.0 / 0.3048),
        ("s/m", 1 / 2000.0),
        ("s/km", 0.5),
        ("us/ft", 0.3048e6 / 2000.0),
        ("us/m", 500.0),
        ("s2/km2", 0.25),
        ("s2/m2", 2.5e-7),
    ],
)
def test_units_of_velocity_files(unit, stored):
    factor, power = units.conversion(unit, "velocity")
    # a product, a quotient and a root: 3 roundings
    assert factor * stored**power == pytest.approx(2000.0, rel=4 * 2.3e-16)


def test_unknown_file_unit_names_those_that_exist():
    with pytest.raises(ConfigError) as caught:
        units.check_file_unit("furlong/h", "velocity")
    assert "km/s" in caught.value.fix
