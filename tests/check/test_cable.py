"""Cables on the wrong side of their sources, and guesses against which the offsets speak."""

import numpy as np
from line_files import FFID, GX, SX, findings_by_code, survey

#: a cable of 600 m behind a ship that sails towards +x: the model begins where the cable of the first shot ends
BEHIND = {"receiver_x": 100 * (SX - 25.0 - (GX % 400))}
AHEAD = {"receiver_x": 100 * (SX + 25.0 + (GX % 400))}


def words(at, sign=None):
    """Return receivers and, where a sign is given, signed offsets; of the last shots, ahead of which the model ends."""
    dx = at["receiver_x"] / 100 - SX
    return at | {"offset": np.abs(dx) if sign is None else sign * dx}


def short(tmp_path, **more):
    """Return what is found of a survey whose last source stands 100 m from the end of the model."""
    job = survey(tmp_path, **more)
    v = np.full((211, 121), 1500.0, np.float32)
    np.savez(tmp_path / "vp.npz", vp=v, spacing_m=[10.0, 10.0], origin_m=[0.0, 0.0])
    return findings_by_code(job)


def test_a_cable_that_leads_is_called_reversed_and_not_left_out(tmp_path):
    fix = short(tmp_path, **words(AHEAD))["E332"].fix
    assert fix.startswith(
        "mirrored at their sources, all receivers lie on the model: if the cable is reversed, which it"
    )
    assert "exclude" not in fix
    assert "to twice sx less gx" in fix


def test_signs_of_offsets_turn_the_cable(tmp_path):
    by = short(tmp_path, **words(AHEAD, -1.0))
    assert '[data] receivers = "offset"' in by["E332"].fix
    job = survey(tmp_path, 'receivers = "offset"', **words(AHEAD, -1.0))
    assert "E332" not in findings_by_code(job)


def test_a_cable_behind_asks_for_a_larger_model_first(tmp_path):
    """Shot the other way round, the same cable lies behind."""
    fix = short(tmp_path, **words(AHEAD), ffid=10 - FFID)["E332"].fix
    assert fix.startswith("extend the model; else mirrored at their sources")
    assert "exclude" not in fix


def test_a_split_spread_has_no_other_side(tmp_path):
    fix = short(tmp_path)["E332"].fix
    assert "mirrored" not in fix


def test_no_scalar_against_the_offsets(tmp_path):
    """A model for a tenth of the survey: only a smaller scalar would fit, and the offsets say that it is none."""
    job = survey(tmp_path)
    vp = np.full((241, 121), 1500.0, np.float32)
    np.savez(tmp_path / "vp.npz", vp=vp, spacing_m=[1.1, 10.0], origin_m=[0.0, 0.0])
    by = findings_by_code(job)
    for code in {"E330", "E331", "E332"} & set(by):
        # nor are most traces of shots on the model left out
        assert " = " not in by[code].fix
    assert {"E331", "E332"} <= set(by)
    # without offsets it may be
    job.write_text(job.read_text().replace('files = "line.sgy"', 'files = "line.sgy"\nbytes = {offset = 0}'))
    assert "scalar = -1000" in findings_by_code(job)["E332"].fix
