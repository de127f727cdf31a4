"""`[data]` of a time migration: from its words to the table of traces, and what `check` says of planted mistakes."""

import numpy as np
import pytest

from kirchhoff_data import line_positions, make_survey
from subsalt.errors import FindingsError
from subsalt.job.checking import check_job
from subsalt.methods.rtm.job import Job

DT = 0.004


@pytest.fixture
def line(tmp_path):
    """Return what writes a line of 20 CDPs with 3 offsets, and a job on it: (folder, write, job)."""
    src, rcv = line_positions(20, 12.5, (100.0, 200.0, 300.0))
    traces = np.random.default_rng(1).normal(size=(len(src), 60)).astype(np.float32)

    def write(name="line.sgy", samples=traces, dt=DT, **how):
        return make_survey(tmp_path / name, src, rcv, samples, dt, order="cdp", **how)[0]

    def job(*files, **data):
        data_section = {"files": [str(f) for f in files], **data}
        return Job.from_dict({"method": "kirchhoff", "data": data_section, "velocity": {"v": 2000}})

    return traces, write, job


def codes(job, level="error"):
    return [f.code for f in check_job(job).findings if f.level == level]


def test_a_line_is_placed_as_the_job_says(line):
    _, write, job = line
    path = write(coordinates=False)
    placing = {"spacing": "0.0125 km", "first_cdp": 11, "x0": 1000, "y0": "2 km", "azimuth": 180}
    table = job(path, cdp_line=placing).open_table()
    # ten CDPs before the one at x0, y0; growing numbers go south
    assert (np.unique(table.midpoint[:, 0]) == [1000.0]).all()
    assert table.midpoint[:, 1].max() == 2000.0 + 10 * 12.5
    assert (table.azimuth == 180).all()
    with pytest.raises(FindingsError, match="spacing"):
        job(path, cdp_line={"spacing": 0, "first_cdp": 1})
    with pytest.raises(FindingsError, match="cdp_line and bins"):
        job(path, cdp_line=placing, bins={"azimuth": 0})
    bins = write("bins.sgy")
    assert (job(bins, bins={"azimuth": 90}).open_table().midpoint == job(bins).open_table().midpoint).all()


def test_repeated_traces_stop_are_left_out_or_used(line):
    _, write, job = line
    files = write(), write("copy.sgy")
    assert codes(job(*files)) == ["E728"]
    first = job(*files, duplicates="first")
    assert codes(first) == []
    assert len(first.open_table()) == 60
    assert first.open_table().notes["duplicates_left_out"] == 60
    repeated_job = job(*files, duplicates="keep")
    assert codes(repeated_job) == []
    assert "W728" in codes(repeated_job, "warning")
    assert len(repeated_job.open_table()) == 120


def test_mistakes_are_named_with_their_cure(line):
    traces, write, job = line
    bare = check_job(job(write(coordinates=False)))
    (findings,) = (f for f in bare.findings if f.level == "error")
    assert (findings.code, bare.exit_code()) == ("E722", 65)
    assert 'cdp_line = {spacing = "25 m", first_cdp = 1}' in findings.fix
    assert codes(job(write(), fix={"dt": 4})) == ["E727"]
    wrong = traces.copy()
    wrong[4, 5] = np.inf
    assert codes(job(write("inf.sgy", wrong))) == ["E250"]
    assert codes(job(write("inf.sgy", wrong), bad_traces="zero")) == []
    assert codes(job(write(), write("other.sgy", dt=0.002))) == ["E261"]


def test_facts_of_a_check_tell_offsets_and_fold(line):
    _, write, job = line
    facts = check_job(job(write())).facts["traces"]
    assert facts["traces"] == 60
    assert facts["offsets"]["min_m"] == pytest.approx(100.0, abs=1e-3)
    assert sum(facts["offsets"]["counts"]) == 60
    assert facts["fold"]["max"] == 3
    assert facts["fold"]["empty_bins"] == 0
