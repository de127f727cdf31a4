"""y that holds a depth or a height is told from a place on the map, and read as what it is."""

import re

import numpy as np
import pytest
from line_files import GX, SX, findings_by_code, positions, survey

#: words of a program that computes in x and z: no depths, no scalars, no field records
PLAIN = {
    **dict.fromkeys(("ffid", "receiver_elevation", "source_depth"), 0),
    **dict.fromkeys(("elevation_scalar", "coordinate_scalar", "coordinate_units"), 0),
    "source_x": SX,
    "receiver_x": GX,
}
#: a sea floor that rises
FLOOR = 290.0 - 0.05 * GX


def pasted(folder, fix, words):
    """Return the job with the keys of the first reading, and what is found of it."""
    first = fix.split("; ")[0]
    data = re.search(r"\[data\] (bytes = \{.*?\}), (fix = \{.*?\})", first)
    vp = re.search(r"\[model\] vp = (\{.*?\})", first)
    job = survey(folder, "\n".join(data.groups()), vp=vp.group(1) if vp else '"vp.npz"', **words)
    return job, findings_by_code(job)


@pytest.mark.parametrize(
    ("y", "depth"),
    [
        ((1190, 910), (10, 290)),  # heights above the bottom of a model 1200 m deep
        ((10, 290), (10, 290)),  # depths
        ((1190, 1200 - FLOOR), (10, FLOOR)),
        ((10, FLOOR), (10, FLOOR)),
    ],
    ids=["heights", "depths", "heights of a slope", "depths of a slope"],
)
def test_y_is_read_as_what_it_is(tmp_path, y, depth):
    words = PLAIN | {"source_y": np.round(y[0]), "receiver_y": np.round(y[1])}
    by = findings_by_code(survey(tmp_path, **words))
    assert not {"E329", "W222", "W224", "W226", "W339"} & set(by)
    job, after = pasted(tmp_path, by["E381"].fix, words)
    assert not {"E329", "E333", "E334", "E335", "E381", "W224", "W226", "W339", "W242", "W243"} & set(after)
    src, rcv = positions(job)
    assert src[:, 2] == pytest.approx(np.full(9, depth[0]))
    assert rcv[:, 2] == pytest.approx(np.broadcast_to(depth[1], GX.shape), abs=0.5)


def test_field_records_that_are_not_set_repeat_nothing(tmp_path):
    assert "W224" not in findings_by_code(survey(tmp_path, ffid=0))
    assert "W224" in findings_by_code(survey(tmp_path, ffid=7))


@pytest.mark.parametrize(
    "right",
    [
        {"receiver_y": 5000},  # a line of receivers 50 m beside the sources, offsets along the line
        {"receiver_y": 5000, "receiver_elevation": 0, "source_depth": 0},
        {"source_y": 30 * SX, "receiver_y": 30 * GX, "offset": 1.044 * (GX - SX)},  # across the map
    ],
)
def test_places_on_the_map_are_no_depths(tmp_path, right):
    assert "E381" not in findings_by_code(survey(tmp_path, **right))
