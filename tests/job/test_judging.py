"""A cure that other evidence contradicts is not offered."""

from __future__ import annotations

import pytest

from subsalt.errors import Finding, FindingsError
from subsalt.job import judging
from subsalt.job.judging import judged
from subsalt.methods.rtm.job import Job


@pytest.fixture
def job(tmp_path):
    (tmp_path / "a.sgy").write_bytes(b"")
    model = {"model": {"vp": 2000}, "grid": {"spacing": 10, "shape": [11, 11]}}
    return Job.from_dict({"data": {"files": "a.sgy"}, **model, "source": {"f0": 10}}, tmp_path)


def bad(code, fix, level="error", **evidence):
    return Finding(code, level, f"{code} is wrong", fix, evidence)


SCALARS = bad("E330", "if the scalar is wrong: [data.fix] scalar = -10; or [data.fix] scalar = -100")


def test_a_cure_after_which_another_witness_disagrees_is_taken_out(job):
    def look(other):
        return [bad("W372", "", "warning")] if other.data.fix.scalar == -10 else []

    (findings,) = judged(job, [SCALARS], look)
    assert findings.fix == "[data.fix] scalar = -100"
    assert [c["holds"] for c in findings.evidence["cures"]] == [False, True]
    assert findings.evidence["cures"][0]["then"] == ["W372"]


def test_a_cure_that_leaves_its_own_finding_is_taken_out(job):
    (findings,) = judged(job, [SCALARS], lambda other: [SCALARS] if other.data.fix.scalar == -100 else [])
    assert findings.fix == "if the scalar is wrong: [data.fix] scalar = -10"


def test_what_was_tried_is_said_where_no_cure_is_left(job):
    (findings,) = judged(job, [SCALARS], lambda other: [bad("W372", "", "warning")])
    assert "[data.fix] scalar (then W372)" in findings.fix
    assert not judging.cures_in(findings.fix)


def test_what_was_wrong_before_speaks_against_no_cure(job):
    other = bad("W241", "", "warning")
    (findings, _) = judged(job, [SCALARS, other], lambda j: [other])
    assert findings.fix == SCALARS.fix


def test_a_second_mistake_with_a_cure_of_its_own_speaks_against_no_cure(job):
    def look(other):
        hidden = bad("E345", "[data.fix] dt = 0.002")
        return [] if other.data.fix.dt == 0.002 or other.data.fix.scalar != -10 else [hidden]

    (findings,) = judged(job, [SCALARS], look)
    assert findings.fix == SCALARS.fix


def test_cures_that_are_wrong_together_are_both_taken_out(job):
    """Sources above the model and receivers above it: each cure leaves the other's error, both sink the stations."""
    source = bad("E333", "[data.fix] source_depth = 490; or begin the model higher")
    receiver = bad("E334", "[data.fix] z_sign = -1; or begin the model higher")

    def look(other):
        fix = other.data.fix
        left = [f for f, on in ((source, fix.source_depth is None), (receiver, fix.z_sign != -1)) if on]
        return left or [bad("W372", "", "warning")]

    findings = judged(job, [source, receiver], look)
    assert [f.fix for f in findings] == ["begin the model higher"] * 2


def test_a_cure_that_breaks_the_check_is_seen(job):
    """It is not offered, and what became of it stands in the evidence, where tests look for it."""

    def look(other):
        return [1 / 0] if other.data.fix.scalar == -10 else []

    (findings,) = judged(job, [SCALARS], look)
    assert findings.fix == "[data.fix] scalar = -100"
    assert findings.evidence["cures"][0]["then"] == ["E001"]


def test_offsets_that_disagree_are_heard_while_other_errors_stand(job):
    offsets = bad(
        "W226", "if the offsets are wrong: [data.bytes] offset = 0; else correct the coordinates", "warning"
    )
    velocity = bad("E349", "correct the coordinates")

    def look(other):
        return [velocity] if other.data.bytes.get("offset") == 0 else [offsets, velocity]

    findings = judged(job, [offsets, velocity], look)
    assert findings[0].fix.endswith("correct the coordinates")
    assert "offset" not in findings[0].fix


def test_bins_are_not_taken_away_where_another_cure_mends_more(job):
    """Bins that say that the receivers of a file are wrong, beside receivers that lie off the model."""
    bins = bad(
        "W382",
        '[data] bytes = {cdp_x = 0, cdp_y = 0}; to leave the file out: [data] exclude = [{file = "a.sgy"}]',
        "warning",
    )
    outside = bad("E332", "extend the model")

    def look(other):
        if other.data.exclude:
            return []
        return [outside] if other.data.bytes.get("cdp_x") == 0 else [bins, outside]

    findings = judged(job, [bins, outside], look)
    assert findings[0].fix == 'to leave the file out: [data] exclude = [{file = "a.sgy"}]'


def test_two_keys_in_turn_are_no_way_out(job):
    """One scalar whose finding offers the other goes round in a circle."""

    def look(other):
        return [bad("E331", f"[data.fix] scalar = {-1000 if other.data.fix.scalar == -100 else -100}")]

    (findings, _) = judged(job, [SCALARS, bad("E999", "")], look)
    assert not judging.cures_in(findings.fix)


def test_what_a_value_shows_by_itself_needs_no_witness(job):
    unit = bad("E413", "[model] vp = 2500")
    (findings,) = judged(job, [unit], lambda other: [bad("W349", "", "warning")])
    assert findings.fix == unit.fix


def test_of_several_files_each_has_its_cure(job):
    two = [
        Finding("E250", "error", f"{name} is wrong", f'[data] exclude = [{{file = "{name}"}}]')
        for name in ("b.sgy", "c.sgy")
    ]

    def look(other):
        return [f for f in two if not any(f.message[:5] in str(e) for e in other.data.excluded())]

    assert [f.fix for f in judged(job, two, look)] == [f.fix for f in two]


def test_a_cure_with_which_the_job_is_none_is_taken_out(job):
    (findings,) = judged(job, [bad("E330", "[data.fix] scalar = 3.5; or wait")], lambda other: [])
    assert findings.fix == "wait"


def test_what_costs_is_a_matter_of_choice(job):
    choice = bad("W530", "[propagation] dt = 0.001", "warning")
    assert judged(job, [choice], lambda other: pytest.fail("tried")) == [choice]


def test_large_surveys_are_not_read_again_for_each_cure(job, monkeypatch):
    monkeypatch.setattr(judging, "READ", -1)
    assert judged(job, [SCALARS], lambda other: pytest.fail("tried")) == [SCALARS]


def test_the_number_of_trials_is_bounded(job):
    many = [bad("E330", "; or ".join(f"[data.fix] scalar = {-(10**k)}" for k in range(1, 6)))] * 20
    seen = []

    def look(other):
        seen.append(other)
        return [bad("E331", f"[data.fix] dt = 0.00{len(seen) % 9 + 1}")]

    judged(job, many, look)
    assert len(seen) <= judging.MOST


def test_a_check_that_breaks_off_counts_as_an_error(job):
    def look(other):
        raise FindingsError([bad("E201", "")])

    (findings,) = judged(job, [SCALARS], look)
    assert "then E201" in findings.fix


def test_the_cause_stands_above_what_it_explains(job):
    """Exchanged axes put stations beside the model: to extend the model mends the stations alone."""
    outside = bad("E331", '[data] shots = "1-3"; or extend the model')
    axes = bad("W426", "[model] vp = 2500", "warning")
    other = bad("W241", "", "warning")

    def look(trial):
        if trial.model.vp.value == 2500:
            return [other]
        return [axes, other] if trial.data.shots != "all" else [outside, axes, other]

    findings = judged(job, [outside, axes, other], look)
    assert [f.code for f in findings] == ["W426", "E331", "W241"]
    assert findings[1].fix == "W426 above explains this: correct that first"
    assert findings[0].fix == axes.fix


def test_findings_that_mend_each_other_stay_as_they_are(job):
    two = [bad("E331", "[data.fix] scalar = -10"), bad("E332", "[data.fix] scalar = -10")]
    findings = judged(job, two, lambda other: [] if other.data.fix.scalar == -10 else two)
    assert [(f.code, f.fix) for f in findings] == [(f.code, f.fix) for f in two]


def test_a_key_that_takes_a_witness_away_is_no_cause(job):
    two = [bad("E331", "[data.fix] scalar = -10"), bad("W226", "[data.bytes] offset = 0", "warning")]
    findings = judged(job, two, lambda other: [])
    assert findings[0].fix == two[0].fix


def test_of_two_cures_the_one_that_mends_all_else_is_offered(job):
    """Coordinates in metres that the header calls feet: half the interval fits the first breaks, too."""
    breaks = bad("W345", '[data.fix] dt = 0.0025; or [data.fix] unit = "m"', "warning")
    feet = bad("W241", '[data.fix] unit = "m"; unit = "ft" silences this', "warning")

    def look(other):
        left = [breaks] if other.data.fix.unit != "m" and other.data.fix.dt is None else []
        return left + ([feet] if other.data.fix.unit is None else [])

    findings = judged(job, [breaks, feet], look)
    assert [f.fix for f in findings] == ['[data.fix] unit = "m"'] * 2


def test_a_wrong_cure_of_another_finding_speaks_against_none(job):
    two = [bad("E331", "[data.fix] scalar = -10"), bad("E349", "[model] vp = 2500")]

    def look(other):
        if other.model.vp.value == 2500:
            return [bad("E413", ""), two[0]]
        return two[1:] if other.data.fix.scalar == -10 else two

    findings = judged(job, two, look)
    assert findings[0].fix == two[0].fix
    assert "then E413" in findings[1].fix


def test_what_options_cost_is_no_witness(job):
    short = bad("W341", "", "warning")
    assert judged(job, [SCALARS], lambda other: [short])[0].fix == SCALARS.fix


def test_a_witness_is_not_taken_away_where_another_cure_mends_more(job):
    """Scalars of -10000: offsets disagree, and so do first breaks and depths."""
    offsets = bad(
        "W226", "[data.fix] scalar = 1; if the offsets are wrong: [data.bytes] offset = 0", "warning"
    )
    breaks, depths = bad("E349", ""), bad("W216", "", "warning")

    def look(other):
        if other.data.fix.scalar == 1:
            return [depths]
        return [breaks, depths] if other.data.bytes.get("offset") == 0 else [offsets, breaks, depths]

    assert judged(job, [offsets, breaks, depths], look)[0].fix == "[data.fix] scalar = 1"
