"""A run with steps on traces goes on with its bytes; what it found in the samples is not read again."""

from __future__ import annotations

import json

import numpy as np
import pytest

from job_files import OWN_GRID, RUN, survey, write_files, write_job
from kirchhoff_jobs import areal
from kirchhoff_jobs import write_job as write_time_job
from subsalt.errors import ConfigError
from subsalt.io.stored_marks import MARKS
from subsalt.job.base import read_job
from subsalt.job.signal.flow import Flow
from subsalt.run.migrate import migrate_job

STEPS = """
[[signal]]
step = "bandpass"
corners = [3, 6, 40, 60]

[[signal]]
step = "edit"
where = "rms > 5*median"
"""


def line(folder):
    """Write a line with one trace that is far too strong, and its job."""
    shots = survey()
    shots.shots[1].data[4] *= 100
    write_files(folder, shots)
    return write_job(folder, RUN + OWN_GRID + STEPS)


def bins(folder):
    """Write prestack traces, one of them far too strong, and their job of time migration."""
    numbers = {"ffid": np.arange(360) // 12 + 1, "channel": np.arange(360) % 12 + 1}
    areal(folder / "traces.sgy", edit=lambda traces: traces.__setitem__(7, 7 * traces[7]), **numbers)
    path = write_time_job(folder, "time.toml")
    path.write_text(path.read_text() + STEPS)
    return path


@pytest.mark.parametrize(("write", "lost"), [(line, "shot_000003*"), (bins, "block_*")])
def test_a_run_goes_on_without_reading_all_shots_again(tmp_path, monkeypatch, write, lost):
    path = write(tmp_path)
    first = migrate_job(read_job(path), tmp_path / "run")
    whole, contents = first.image.read_bytes(), (first.run_dir / MARKS).read_bytes()
    assert (
        sum(
            json.loads((first.run_dir / "run.json").read_text())["signal"]["edited"][0][k] for k in ["traces"]
        )
        == 1
    )
    looked = []
    marks = Flow.marks
    monkeypatch.setattr(Flow, "marks", lambda *given: looked.append(1) or marks(*given))

    def go_on():
        looked.clear()
        gone = list((first.run_dir / "images").glob(lost))
        assert gone
        for file in gone:
            file.unlink()
        again = migrate_job(read_job(path), first.run_dir)
        assert again.image.read_bytes() == whole
        return len(looked)

    # the checks look at some shots; the run at none
    few = go_on()
    # damaged marks do not count, and are found and kept anew
    (first.run_dir / MARKS).write_bytes(contents[:-1] + bytes([contents[-1] ^ 1]))
    assert go_on() > few
    assert (first.run_dir / MARKS).read_bytes() == contents
    path.write_text(path.read_text().replace("rms > 5*median", "rms > 6*median"))
    with pytest.raises(ConfigError, match=r"signal\[1\].*5\*median.*6\*median"):
        migrate_job(read_job(path), first.run_dir)
