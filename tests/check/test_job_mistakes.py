"""Jobs with a number in another unit, positions of another sign, a model elsewhere: told by name, cured when pasted."""

import dataclasses
import re

import numpy as np
import pytest
from rules_alone import rules_on

from job_files import GRID, MIGRATE, survey, velocity, write_files, write_job
from kirchhoff_jobs import areal
from kirchhoff_jobs import write_job as write_time_job
from subsalt.earth.grid import Grid
from subsalt.io.volumes import volume
from subsalt.job.base import read_job
from subsalt.job.checking import check_job
from subsalt.methods.rtm.job import Job

FIX = 'line = "2d"\n[data.fix]\n{}\n'


def found(folder, text, check=rules_on):
    """Return the findings of a job by code, errors first."""
    result = check(Job.from_toml(write_job(folder, text)))
    return {f.code: f for f in sorted(result.findings, key=lambda f: f.level) if f.is_fault}


#: code, the key as it was written, and the key that the cure gives
KEYS = {
    "time step in ms": ("E501", "[propagation]\ndt = 1", '[propagation] dt = "1 ms"'),
    "aperture in km": ("W340", "[imaging]\naperture = 0.5", '[imaging] aperture = "0.5 km"'),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_in_another_unit(tmp_path, name):
    code, wrong, cure = KEYS[name]
    write_files(tmp_path)
    first = found(tmp_path, f"{MIGRATE}\n{wrong}\n")
    assert cure in first[code].fix
    table, key = cure.split("] ")
    assert found(tmp_path, f"{MIGRATE}\n{table}]\n{key}\n") == {}


@pytest.mark.parametrize(
    ("wrong", "code", "cure"),
    [
        ("f0 = 0.01", "W532", 'f0 = "10 Hz"'),
        ("f0 = 10000", "E533", 'f0 = "10 Hz"'),
        ('f0 = "10 Hz"\nt0 = 150', "E160", '"150 ms"'),
        ('f0 = "10 Hz"\nt0 = 90', "E289", 't0 = "90 ms"'),
    ],
)
def test_a_source_in_another_unit(tmp_path, wrong, code, cure):
    write_files(tmp_path)
    first = found(tmp_path, MIGRATE.replace('f0 = "10 Hz"', wrong))
    assert cure in first[code].fix
    assert any(c.startswith("E") for c in first)
    if code != "E160":
        mended = cure if cure.startswith("f0") else 'f0 = "10 Hz"\n' + cure
        assert found(tmp_path, MIGRATE.replace('f0 = "10 Hz"', mended)) == {}


def test_a_delay_in_milliseconds(tmp_path):
    write_files(tmp_path)
    first = found(tmp_path, MIGRATE.replace('line = "2d"\n', FIX.format("delay = 100")), check_job)
    # the records begin at time zero: 100 ms would be wrong, too
    assert next(iter(first)) == "E346"
    assert first["E346"].fix == "[data.fix] delay = 0"
    assert first["E316"].fix == "E346 above explains this: correct that first"
    assert "E316" not in found(tmp_path, MIGRATE.replace('line = "2d"\n', FIX.format('delay = "100 ms"')))


def test_an_interval_in_microseconds(tmp_path):
    write_files(tmp_path)
    first = found(tmp_path, MIGRATE.replace('line = "2d"\n', FIX.format("dt = 4000")))
    assert 'dt = "4000 us"' in first["E100"].fix


def with_depth(line, src=None, rcv=None):
    """Return the survey with other depths."""

    def at(points, z):
        return points if z is None else np.where([False, False, True], z, points)

    line.shots = [dataclasses.replace(s, src=at(s.src, src), rcv=at(s.rcv, rcv)) for s in line.shots]
    return line


def test_source_depths_of_the_other_sign(tmp_path):
    write_files(tmp_path, with_depth(survey(), src=-15.0))
    first = found(tmp_path, MIGRATE)
    assert "[data.fix] source_depth = 15;" in first["E333"].fix
    assert "E333" not in found(tmp_path, MIGRATE.replace('line = "2d"\n', FIX.format("source_depth = 15")))


def test_all_shots_at_one_place(tmp_path):
    line = survey()
    line.shots = [dataclasses.replace(s, src=line.shots[0].src) for s in line.shots]
    write_files(tmp_path, line)
    assert "all 3 shots stand at one place (200, 0, 15)" in found(tmp_path, MIGRATE)["W337"].message


def test_receivers_alone_in_another_zone(tmp_path):
    """No scalar for all is offered, which would move the sources away."""
    line = survey()
    line.shots = [dataclasses.replace(s, rcv=s.rcv + np.array([5e5, 0, 0])) for s in line.shots]
    write_files(tmp_path, line)
    fix = found(tmp_path, MIGRATE)["E332"].fix
    assert fix.startswith("all sources lie on the model, no receiver does")
    assert "receiver_x" in fix
    assert "scalar" not in fix


@pytest.mark.parametrize(
    ("origin", "code"), [((125_000.0, 0.0), "E330"), ((0.0, 5000.0), "E318"), ((0.0, -500.0), "E318")]
)
def test_a_model_with_its_origin_far_away(tmp_path, origin, code):
    write_files(tmp_path)
    grid = Grid(GRID.shape, GRID.spacing, origin)
    for name, values in (("vp", velocity()), ("epsilon", 0.1), ("delta", 0.05)):
        volume.write(tmp_path / f"{name}.rsf", grid, np.broadcast_to(values, GRID.shape).astype(np.float32))
    first = found(tmp_path, MIGRATE)
    assert set(first) == {code}
    text = MIGRATE
    for name, table in re.findall(r"(\w+) = (\{[^}]*\})", first[code].fix.split("else")[0]):
        text = text.replace(f'{name} = "{name}.rsf"', f"{name} = {table}")
    assert "origin" in text
    assert found(tmp_path, text) == {}


def test_times_of_a_time_migration_in_milliseconds(tmp_path):
    areal(tmp_path / "traces.sgy")

    def codes(**tables):
        job = read_job(write_time_job(tmp_path, **tables))
        return {f.code: f.fix for f in check_job(job).findings if f.is_fault}

    first = codes(kirchhoff={"time": {"first": 0.0, "last": 1000.0, "step": 1.0}})
    assert 'time = {last = "1000 ms"}' in first["W761"]
    assert "W761" not in codes(kirchhoff={"time": {"last": "1000 ms"}})
    first = codes(data={"fix": {"delay": 100}})
    assert first["E316"] == '[data.fix] delay = "100 ms"'
