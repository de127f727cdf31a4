"""Setting an old result aside: stopped anywhere it goes on, and a directory in use stays where it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from survey_case import job_of, make_survey

from subsalt.errors import CannotCreateError
from subsalt.io import faults
from subsalt.run.ledger import Ledger
from subsalt.run.migrate import migrate_job
from subsalt.run.set_aside import finish_setting_aside, set_aside


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    return make_survey(tmp_path_factory.mktemp("survey"))


def test_stopped_while_it_is_set_aside_it_goes_on(survey, tmp_path):
    """At every rename, and at every file operation before and after: nothing is lost, nothing mixed."""
    first = migrate_job(job_of(survey), tmp_path / "whole")
    slower = job_of(survey).changed("model", vp=1900)
    fresh = migrate_job(slower, tmp_path / "fresh")

    class Struck(Exception):
        """Stands for the end of the process."""

    def strike(k):
        count = 0

        def hook(operation, path, nbytes):
            nonlocal count
            # a process that ends gives its lock free whatever it writes into it
            count += bool(path) and not str(path).endswith("run.lock")
            if count == k:
                raise Struck

        return hook

    k, struck = 0, True
    while struck:
        k += 1
        run = tmp_path / f"run{k}"
        shutil.copytree(tmp_path / "whole", run)
        faults.set_fault(strike(k))
        try:
            set_aside(run, "0123456789abcdef")
            struck = False
        except Struck:
            pass
        finally:
            faults.set_fault(None)
        # what every start does first; stopped before the first move it is as if nothing had been
        finish_setting_aside(run)
        if (run / "ledger.sqlite").exists():
            set_aside(run, "0123456789abcdef")
        (place,) = [p for p in (run / "previous").iterdir() if any(p.iterdir())]
        assert sorted(p.name for p in run.iterdir()) == ["previous", "run.lock"]
        here, there = ({p.name for p in f.iterdir()} for f in (place, tmp_path / "whole"))
        assert here == there - {"run.lock"}
        assert (place / "image.sgy").read_bytes() == (tmp_path / "whole" / "image.sgy").read_bytes()
    assert k > 15
    assert migrate_job(job_of(survey), place).sha256 == first.sha256
    assert migrate_job(slower, run).sha256 == fresh.sha256
    assert first.sha256 != fresh.sha256


def test_a_directory_in_use_is_not_set_aside(survey, tmp_path):
    run = tmp_path / "run"
    migrate_job(job_of(survey), run)
    with Ledger(run), pytest.raises(CannotCreateError, match="in use"):
        set_aside(run, "0123456789")
    assert not (run / "previous").exists()
