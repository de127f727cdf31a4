"""Cures are read from the text of a finding as a person pastes them, and put into a job."""

from __future__ import annotations

import pytest

from job_files import MIGRATE, write_files, write_job
from subsalt.earth.streamed import Facts
from subsalt.job.cures import cured, cures_in, for_list_of_steps, keys_in, without
from subsalt.methods.rtm.job import Job

UNITS = 'if feet: [data.fix] unit = "ft"; or, if not: [data.fix] unit = "m"'
DELAY = "[data.fix] delay = 0.1; or, where the wavelet is wrong: [source] t0 = 0.3"
VOLUMES = '[model] vp = {file = "a.rsf", spacing = [1, 2]}; epsilon = {file = "b; c"}; else extend the model'


@pytest.mark.parametrize(
    ("fix", "keys"),
    [
        ('if feet: [data.fix] unit = "ft"', [("data.fix", "unit", "ft")]),
        ("[data] frame = {x0 = 1.5, y0 = 0}; or wait", [("data", "frame", {"x0": 1.5, "y0": 0})]),
        ("leave [propagation] dt out", [("propagation", "dt", None)]),
        (
            "[propagation] dt = 0.001, or leave dt out",
            [("propagation", "dt", 0.001), ("propagation", "dt", None)],
        ),
        (
            "[data.bytes] source_x = 73, source_y = 77",
            [("data.bytes", "source_x", 73), ("data.bytes", "source_y", 77)],
        ),
        ("give it: [data.fix] source_depth = ...", []),
        ('[data] shots = "1-3"; or leave these shots out', [("data", "shots", "1-3")]),
        ("wait until f = 3", []),
    ],
)
def test_keys_are_read_as_a_person_pastes_them(fix, keys):
    assert [(k.section, k.key, k.value) for k in keys_in(fix)] == keys


def test_keys_of_one_cure_stay_together():
    assert [[k.key for k in c] for c in cures_in(UNITS)] == [["unit"], ["unit"]]
    assert [[k.key for k in c] for c in cures_in(DELAY)] == [["delay"], ["t0"]]
    assert [[k.key for k in c] for c in cures_in(VOLUMES)] == [["vp", "epsilon"]]
    two = 'if so: [data.fix] unit = "ft"; [data.bytes] offset = 0 silences this'
    assert [[k.key for k in c] for c in cures_in(two)] == [["unit"], ["offset"]]
    assert without(two, cures_in(two)[:1]) == "[data.bytes] offset = 0 silences this"


@pytest.mark.parametrize(
    ("fix", "which", "left"),
    [
        (UNITS, 0, 'if not: [data.fix] unit = "m"'),
        (UNITS, 1, 'if feet: [data.fix] unit = "ft"'),
        (DELAY, 0, "where the wavelet is wrong: [source] t0 = 0.3"),
        (VOLUMES, 0, "extend the model"),
        ("[data.fix] scalar = -10, or [data.fix] scalar = -100", 0, "[data.fix] scalar = -100"),
        ("[data.fix] scalar = -10, or [data.fix] scalar = -100", 1, "[data.fix] scalar = -10"),
        ("[data.fix] scalar = -10", 0, ""),
    ],
)
def test_a_cure_goes_out_of_a_text_with_its_words(fix, which, left):
    assert without(fix, [cures_in(fix)[which]]) == left


def test_a_cure_changes_the_job_and_nothing_else(tmp_path):
    job = Job.from_dict(
        {"data": {"files": "a.sgy"}, "model": {"vp": "vp.rsf"}, "source": {"f0": 10}}, tmp_path, name="line"
    )
    other = cured(job, cures_in('[model] vp = {unit = "km/s"} and [data.fix] scalar = -100')[0])
    assert other.model.vp.unit == "km/s"
    assert other.model.vp.file == "vp.rsf"
    assert other.data.fix.scalar == -100
    assert (other.name, other.base) == ("line", tmp_path)
    assert job.data.fix.scalar is None
    assert other.source.model_fields_set == job.source.model_fields_set


def test_a_cure_of_something_else_leaves_the_model_as_it_was_read(tmp_path, monkeypatch):
    write_files(tmp_path)
    job = Job.from_toml(write_job(tmp_path, MIGRATE))
    model = job.load_model()
    assert cured(job, cures_in("[source] t0 = 0.3")[0]).load_model() is model
    assert cured(job, cures_in('[model] vp = {unit = "ft/s"}')[0]).load_model() is not model
    moved = cured(job, cures_in("[data] frame = {x0 = 1.5, y0 = 0}")[0]).load_model()
    assert moved.frame != model.frame
    assert job.load_model() is model
    # of a model that stays in its files, what was found is known
    job = Job.from_toml(write_job(tmp_path, MIGRATE + "\n[parallel]\nstream_model = true\n"))
    limits = job.open_propagation_model().limits("vp")
    monkeypatch.setattr(Facts, "of", None)
    assert cured(job, cures_in("[source] t0 = 0.3")[0]).open_propagation_model().limits("vp") == limits


def test_a_step_is_written_for_jobs_that_list_their_steps():
    """``[[signal]]`` is refused by TOML in a file that has ``signal = [...]``."""
    fix = (
        'limit the band: [[signal]] step = "bandpass", corners = [2, 4, 23, 33], [source] f0 = 13.2, t0 = 0.04; '
        "or a finer grid: [propagation] grid = 5"
    )
    listed = for_list_of_steps(fix)
    assert (
        'add to signal = [...]: { step = "bandpass", corners = [2, 4, 23, 33] }, [source] f0 = 13.2' in listed
    )
    keys = [[(k.section, k.key, k.value) for k in cure] for cure in cures_in(listed)]
    assert keys == [[(k.section, k.key, k.value) for k in cure] for cure in cures_in(fix)]
    assert for_list_of_steps(listed) == listed
    assert without(listed, cures_in(listed)[:1]) == "a finer grid: [propagation] grid = 5"
    assert without(listed, cures_in(listed)[1:]) == without(fix, cures_in(fix)[1:]).replace(
        '[[signal]] step = "bandpass", corners = [2, 4, 23, 33]',
        'add to signal = [...]: { step = "bandpass", corners = [2, 4, 23, 33] }',
    )
    one = '[[signal]] step = "swell"; to leave them out: [data] exclude = [{shot = 3}]'
    assert for_list_of_steps(one).startswith('add to signal = [...]: { step = "swell" }; to leave')


def test_a_cure_adds_a_step_to_those_of_the_job():
    fix = '[[signal]] step = "swell", below = 4; to leave them out: [data] exclude = [{shot = 3}]'
    step, others = cures_in(fix)
    assert [(k.section, k.key) for k in step] == [("signal[]", "step"), ("signal[]", "below")]
    assert [k.key for k in others] == ["exclude"]
    made = Job.from_dict(
        {
            "data": {"files": "x.sgy"},
            "signal": [{"step": "bandpass", "low": 5}],
            "model": {"vp": 2000},
            "grid": {"spacing": 10, "shape": [11, 11]},
            "source": {"f0": 10},
        }
    )
    assert [s.step for s in cured(made, step).signal] == ["bandpass", "swell"]
    assert [s.step for s in cured(made, others).signal] == ["bandpass"]
