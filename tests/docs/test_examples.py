"""The files of examples/ are what the documentation says of them."""

import importlib
import os
from pathlib import Path

import pytest

from subsalt.job.job import Job

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
DATA = Path(os.environ.get("SUBSALT_SHARED_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.name)
def test_example_jobs_are_valid(path):
    job = Job.from_toml(path)
    assert job.data is not None or job.acquisition is not None


def test_the_viking_job_has_at_most_fifteen_lines():
    lines = (EXAMPLES / "viking.toml").read_text(encoding="utf-8").splitlines()
    effective = [l for l in lines if l.strip() and not l.lstrip().startswith("#")]
    assert len(effective) <= 15


@pytest.mark.shared_data
@pytest.mark.skipif(not (DATA / "reference").is_dir(), reason="../shared/data is not there")
def test_the_measure_gives_the_published_image_its_published_correlation(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    compare = importlib.import_module("compare_marmousi")
    match = compare.published()
    # the notes of the data say 0.23 at 2 samples, without the widths of the filters: one unit of the last
    assert abs(match.correlation - 0.23) <= 0.01
    assert abs(match.shift) == 2
