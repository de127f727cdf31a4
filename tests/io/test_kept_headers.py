"""A scan leaves the headers that it has read for the survey: they are read once, and the survey is the same."""

import os
from collections import Counter

import numpy as np
import pytest
from shot_records import records, write

from job_files import RUN, write_files, write_job
from subsalt.io.input_traffic import COUNTED
from subsalt.io.scan.scan import scan
from subsalt.io.segy import geometry
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import needed_for
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.segy.kept_headers import KeptHeaders
from subsalt.io.segy.reading import read_survey
from subsalt.methods.rtm.check import check_rtm
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.job_setup import survey_of

SHOTS, CHANNELS = 5, 12
#: beyond what a scan says something of
COLUMN = "source_static"
FIX = Fix(scalar=-10)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return one file per shot: the first is scanned by itself, the others together."""
    headers, traces = records(SHOTS, CHANNELS)
    more = {
        "source_static": 7,
        "source_point": headers["ffid"] + 3,
        "inline": 4,
        "ns": traces.shape[1],
        "dt": 4000,
    }
    return write(tmp_path_factory.mktemp("kept"), headers | more, traces[:, :50], per_shot=True)


def kept_of(files, fix=FIX):
    """Return the headers that a scan keeps, and what it says."""
    headers = KeptHeaders(HeaderBytes(), fix, needed_for([COLUMN]))
    return headers, scan(files, fix=fix, headers=headers)


def read(files, fix=FIX, headers=None):
    """Return the survey of the files, and the bytes that were read for it."""
    before = COUNTED.now()
    survey = read_survey(files, fix=fix, columns=[COLUMN], headers=headers)
    return survey, (COUNTED.now() - before).read


def test_the_survey_is_that_of_the_files_and_reads_nothing(files):
    want, cost = read(files)
    headers, said = kept_of(files)
    got, none = read(files, headers=headers)
    assert cost > 0
    assert none == 0
    assert (got.time, got.frame, got.notes) == (want.time, want.frame, want.notes)
    for one, other in zip(got.shots, want.shots, strict=True):
        assert one.id == other.id
        for name in ("src", "rcv", "trace_index"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert np.array_equal(got.traces(one), want.traces(other))
    column = got.reader.columns[COLUMN]
    assert column.all()
    assert np.array_equal(column, want.reader.columns[COLUMN])
    assert got.reader.layouts == want.reader.layouts
    assert said.to_dict() == scan(files, fix=FIX).to_dict()


def test_each_file_is_given_once_and_to_who_reads_it_in_the_same_way(files):
    _, cost = read(files)
    headers, _ = kept_of(files)
    assert read(files, Fix(), headers)[1] == cost
    assert read(files, headers=headers)[1] == 0
    assert read(files, headers=headers)[1] == cost


def test_a_file_that_was_changed_since_is_read_again(files):
    headers, _ = kept_of(files)
    info = os.stat(files[2])
    os.utime(files[2], ns=(info.st_atime_ns, info.st_mtime_ns + 1))
    _, cost = read(files[2:3])
    assert read(files, headers=headers)[1] == cost > 0


def test_a_check_and_the_run_after_it_read_the_headers_once(tmp_path, monkeypatch):
    write_files(tmp_path)
    job = Job.from_toml(write_job(tmp_path, RUN))
    times = Counter()
    read_headers = geometry.read_headers
    monkeypatch.setattr(
        geometry,
        "read_headers",
        lambda file, *a, **k: times.update([file.path.name]) or read_headers(file, *a, **k),
    )
    result = check_rtm(job)
    assert result.context.scan.n_traces == 45
    assert len(result.context.survey.shots) == 3
    assert times == {"shots.sgy": 1}
    survey = survey_of(job, job.open_propagation_model())
    assert times == {"shots.sgy": 1}
    # a file that has changed since the check is read again
    (shots,) = tmp_path.glob("**/shots.sgy")
    info = os.stat(shots)
    os.utime(shots, ns=(info.st_atime_ns, info.st_mtime_ns + 1))
    assert survey_of(job, job.open_propagation_model()).time == survey.time
    assert times == {"shots.sgy": 2}
    job.forget()
    assert survey_of(job, job.open_propagation_model()).time == survey.time
    assert times == {"shots.sgy": 3}
