"""Rules on velocities of real surveys: stacking velocities in ft/s, and a migration velocity in depth."""

import pytest

from job_files import shared_data
from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.io.volumes.in_time import open_time_volume
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.rules.velocity import velocity_findings
from subsalt.methods.kirchhoff.velocity.load import open_velocity
from subsalt.methods.kirchhoff.velocity.section import VelocitySection

pytestmark = pytest.mark.shared_data


def findings_of(grid, **keys):
    section = VelocitySection.model_validate(keys)
    velocity = open_velocity(section, lambda name: shared_data() / name, grid)
    options = KirchhoffOptions(aperture=3000.0)
    return list(velocity_findings(velocity, grid, options, unit_said=section.unit is not None))


def alaska():
    # 534 CDPs, numbered 101 to 634
    return ImageGrid((1, 1, 1), (101, 634, 1), (0.0, 0.0), (0.0, 33.5), (33.5, 0.0), TimeAxis(1501, 0.004))


def test_stacking_velocities_of_alaska_are_in_feet():
    got = findings_of(alaska(), file="geometry/alaska_31_81/vpickorig.txt")
    assert [f.code for f in got] == ["E745"]


def test_stacking_velocities_of_alaska_with_their_unit():
    got = findings_of(alaska(), file="geometry/alaska_31_81/vpickorig.txt", unit="ft/s")
    assert [f for f in got if f.level == "error"] == []
    section = VelocitySection.model_validate({"file": "geometry/alaska_31_81/vpickorig.txt", "unit": "ft/s"})
    grid = alaska()
    velocity = open_velocity(section, lambda name: shared_data() / name, grid)
    v, _ = velocity.at(grid.positions(), grid.time)
    # the first pair of CDP 181 is 7852.94 ft/s at 0 s
    assert v[80, 0] == pytest.approx(7852.94 * 0.3048, rel=1e-6)
    assert velocity.describe()["v"]["functions"] == 9


def test_the_velocity_of_volve_is_suspected_to_be_in_depth():
    path = "segy/volve10-migvel-depth-sub3d.sgy"
    volume = open_time_volume(shared_data() / path)
    assert volume.lines == (10087, 4, 2148, 4)
    assert volume.place is not None
    frame = volume.place.frame
    grid = ImageGrid(
        (10087, 10155, 4),
        (2148, 2352, 4),
        (frame.x0, frame.y0),
        (-3.0, 12.1),
        (12.1, 3.0),
        TimeAxis(501, 0.008),
    )
    got = findings_of(grid, file=path, locate="numbers")
    codes = [f.code for f in got if f.is_fault]
    assert "W741" in codes
    # interval velocities of layers are no rms velocities
    assert "W740" in codes
