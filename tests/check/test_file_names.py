"""Cures that leave a file out name that one alone, also where folders hold files of one name."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from line_files import FFID, checked, headers, samples
from segy_maker import make_segy

from subsalt.errors import Finding
from subsalt.io.segy.exclude import Exclusion
from subsalt.job.checking import with_files_left_out
from subsalt.methods.rtm.job import Job

JOB = (
    '[data]\nfiles = "run*/shot.sgy"\nfirst_breaks = "ignore"\n{}\n'
    "[model]\nvp = 1500\n[grid]\nspacing = 10\ndepth = 800\n[source]\nf0 = 12\n"
)


@pytest.fixture
def folders(tmp_path):
    """Write one file a shot, all of one name; the headers of the fourth are spoiled."""
    words, traces = headers(), samples()
    for n in range(1, 10):
        rows = n == FFID
        own = {k: np.broadcast_to(v, FFID.shape)[rows] for k, v in words.items()}
        if n == 4:
            own["coordinate_scalar"] = -10
        (tmp_path / f"run{n}").mkdir()
        make_segy(tmp_path / f"run{n}" / "shot.sgy", traces[rows], headers=own)
    (tmp_path / "a.toml").write_text(JOB.format(""))
    return tmp_path


def test_every_cure_that_leaves_out_names_the_folder(folders):
    findings = checked(folders / "a.toml").findings
    # far traces of a second are silent, in other files
    said = [f for f in findings if f.code != "W233"]
    entries = [e for f in said for e in re.findall(r'file = "([^"]*)"', f.fix)]
    assert entries
    assert set(entries) == {"run4/shot.sgy"}
    (folders / "a.toml").write_text(JOB.format('exclude = [{file = "run4/shot.sgy"}]'))
    job = Job.from_toml(folders / "a.toml")
    assert [s.id for s in job.load_survey().shots] == [1, 2, 3, 5, 6, 7, 8, 9]


def test_a_name_that_several_files_have_is_no_cure(folders):
    job = Job.from_toml(folders / "a.toml")
    for message, names in (("shot.sgy: odd", []), ("run4/shot.sgy: odd", ["run4/shot.sgy"])):
        (f,) = with_files_left_out([Finding("W999", "warning", message, "", {})], job)
        assert re.findall(r'file = "([^"]*)"', f.fix) == names


def test_an_entry_leaves_out_the_traces_of_one_file():
    entry = Exclusion("run4/shot.sgy", ((41, 43, 1),))
    number, zero = np.arange(97), np.zeros(97, int)
    rows = SimpleNamespace(run4=entry.among("x/run4/shot.sgy", number, zero, zero))
    assert rows.run4.sum() == 3
    for other in ("x/run5/shot.sgy", "x/run14/shot.sgy"):
        assert not entry.among(other, number, zero, zero).any()
