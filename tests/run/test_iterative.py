"""The same directory again with another job: what serves is used, what does not is said, and the old result stays."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from kept_case import keep_wavefields
from survey_case import job_of, make_survey

from subsalt.errors import ConfigError
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.methods.rtm.wavefields import by_shot
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import Wavefield
from subsalt.run.migrate import migrate_job


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    return make_survey(tmp_path_factory.mktemp("survey"))


def with_condition(survey, condition):
    return job_of(survey).changed("imaging", condition=condition)


@pytest.fixture(scope="module")
def fresh(survey):
    """Return what a run makes in a directory of its own."""
    return migrate_job(job_of(survey), survey / "fresh")


@pytest.fixture(scope="module")
def correlated(survey):
    """Return a run by cross-correlation, to be copied, and its result."""
    return survey / "correlated", migrate_job(
        with_condition(survey, "cross-correlation"), survey / "correlated"
    )


def test_another_condition_uses_the_partial_images_or_the_wavefields(survey, fresh, tmp_path):
    """There and back: what a fresh run makes, without a step."""
    run, said = tmp_path / "run", []
    first = migrate_job(with_condition(survey, "cross-correlation"), run, say=said.append)
    assert said == []
    keep_wavefields(with_condition(survey, "cross-correlation"), run, ("source",))
    lit = migrate_job(job_of(survey), run, say=said.append)
    assert lit.point_steps == 0
    assert said == ["using again the kept wavefields of 3 shots: no propagation"]
    assert lit.sha256 == fresh.sha256
    facts = json.loads((run / "run.json").read_text())
    assert facts["wavefields"]["shots"] == [1, 2, 3]
    assert facts["wavefields"]["both"] == []
    assert facts["wavefields"]["bytes"] > 0
    assert "Kept of 3 shots" in (run / "report.html").read_text()
    back = migrate_job(with_condition(survey, "cross-correlation"), run, say=said.append)
    assert said[1:] == ["using again the partial images of 3 shots: no propagation"]
    assert back.point_steps == 0
    assert back.sha256 == first.sha256


def test_stopped_between_two_conditions_it_goes_on(survey, fresh, correlated, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(correlated[0], run)
    keep_wavefields(with_condition(survey, "cross-correlation"), run)

    def stop(done: float, total: float, message: str = "") -> None:
        if done > 1.2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_job(job_of(survey), run, stop)
    done = migrate_job(job_of(survey), run)
    assert done.point_steps == 0
    assert done.sha256 == fresh.sha256


def test_without_wavefields_another_condition_is_refused_and_the_old_image_stays(
    survey, correlated, tmp_path
):
    run, old = tmp_path / "run", correlated[1]
    shutil.copytree(correlated[0], run)
    with pytest.raises(ConfigError, match="do not hold the illumination") as caught:
        migrate_job(job_of(survey), run)
    assert caught.value.code == "E860"
    assert "3 of 3 finished shots" in caught.value.message
    assert "source wavefield was not kept" in caught.value.message
    again = migrate_job(with_condition(survey, "cross-correlation"), run)
    assert (again.point_steps, again.sha256) == (0, old.sha256)


def test_a_damaged_wavefield_is_propagated_again_and_said(survey, fresh, correlated, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(correlated[0], run)
    keep_wavefields(with_condition(survey, "cross-correlation"), run, ("source",))
    (file,) = (run / "snapshots" / "shot_000002").glob("source.*.snap")
    file.write_bytes(b"damaged" * 1000)
    lit = migrate_job(job_of(survey), run)
    assert lit.sha256 == fresh.sha256
    assert 0 < lit.point_steps < fresh.point_steps
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    (damaged,) = [e for e in events if e["event"] == "damaged"]
    assert damaged["shot"] == 2
    assert "kept wavefields of shot 2 are damaged" in damaged["reason"]


def test_a_damaged_partial_image_needs_no_propagation_where_both_were_kept(survey, fresh, tmp_path):
    run, first = tmp_path / "run", fresh
    shutil.copytree(survey / "fresh", run)
    keep_wavefields(job_of(survey), run)
    (run / "images" / "shot_000003.planes").unlink()
    again = migrate_job(job_of(survey), run)
    assert (again.point_steps, again.sha256) == (0, first.sha256)


def test_recompute_sets_the_old_result_aside(survey, fresh, tmp_path):
    run, said, old = tmp_path / "run", [], fresh
    shutil.copytree(survey / "fresh", run)
    keep_wavefields(job_of(survey), run)
    image = (run / "image.sgy").read_bytes()
    (run / "my notes.txt").write_text("mine")
    slower = job_of(survey).changed("model", vp=1900)
    with pytest.raises(ConfigError, match="both wavefields") as caught:
        migrate_job(slower, run)
    assert "--recompute" in caught.value.fix
    new = migrate_job(slower, run, say=said.append, recompute=True)
    assert new.sha256 != old.sha256
    assert new.sha256 == migrate_job(slower, tmp_path / "fresh").sha256
    (aside,) = (run / "previous").iterdir()
    assert said[0] == f"the old result is now in {aside}"
    assert (aside / "image.sgy").read_bytes() == image
    assert (run / "my notes.txt").read_text() == "mine"
    # it is a run like any other, its kept wavefields included
    assert reimage_run(aside, tmp_path / "again", Wish(wavefields=True)).sha256 == old.sha256
    # the same job needs nothing set aside
    assert migrate_job(slower, run, recompute=True).point_steps == 0
    assert len(list((run / "previous").iterdir())) == 1
    # and back: a second place of the same name
    migrate_job(job_of(survey), run, recompute=True)
    migrate_job(slower, run, recompute=True)
    assert len(list((run / "previous").iterdir())) == 3


def test_a_rebuilt_ledger_knows_the_kept_wavefields(tmp_path):
    """From the log of events, which the runner writes beside the ledger."""
    wavefields = [Wavefield(7, name, ("snapshots",), name * 8, 100) for name in ("receiver", "source")]
    with Ledger(tmp_path) as ledger:
        ledger.plan([7])
        ledger.set("key", "{}")
        ledger.keep_wavefields(7, wavefields)
    from subsalt.io.event_log import log_event

    log_event(tmp_path, event="kept", shot=7, wavefields=[vars(w) for w in wavefields])
    log_event(tmp_path, event="kept", shot=8, wavefields=[{"name": "source"}])
    log_event(tmp_path, event="done", shot=7, seconds=1.0, sha256="ab" * 32)
    (tmp_path / "ledger.sqlite").write_bytes(b"damaged" * 1000)
    with Ledger(tmp_path) as ledger:
        assert ledger.rebuilt
        assert by_shot(ledger.wavefields())[7]["source"] == wavefields[1]
        assert len(ledger.wavefields()) == 2
