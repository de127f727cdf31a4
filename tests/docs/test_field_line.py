"""The made field line: its bytes, the wavelet that comes out of it, and the lines that its README edits."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from subsalt.acquisition import wavelet
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.starter import write_job
from subsalt.methods.rtm.wavelet_direct import from_direct_waves
from subsalt.methods.rtm.wavelet_job import WaveletOptions, through_steps

ROOT = Path(__file__).resolve().parents[2]
SHOTS = 5


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """Return the modules of the line and of its benchmark, and a folder with some of its shots."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        made, bench = (importlib.import_module(name) for name in ("subsalt.examples.marine", "field_line"))
        folder = tmp_path_factory.mktemp("line")
        made.make(folder, SHOTS)
        yield made, bench, folder


@pytest.fixture(scope="module")
def job(line):
    """Return the job of `init` with the first edits, and the texts before and after all."""
    _, bench, folder = line
    before = write_job(folder / "line.toml", [str(folder / "line.sgy")], vp=str(folder / "vp.rsf")).text
    first = bench.edited(before, "before the wavelet")
    (folder / "line.toml").write_text(first)
    return Job.from_toml(folder / "line.toml"), before, bench.edited(first, "after it")


def test_the_bytes_are_those_of_the_field_file_and_the_same_each_time(line):
    made, _, folder = line
    one = 120 * (240 + 4 * 1500)
    assert 3600 + made.SHOTS * one == 749_552_400
    whole = (folder / "line.sgy").read_bytes()
    assert len(whole) == 3600 + SHOTS * one
    again = made.Line(2)
    samples = np.frombuffer(whole[3600:], np.dtype([("head", "V240"), ("samples", ">f4", 1500)]))["samples"]
    assert np.array_equal(again.traces(again.survey.shots[1]), samples[120:240])


def test_the_readme_edits_at_most_ten_lines_that_make_a_job(line, job):
    _, bench, folder = line
    _, before, after = job
    assert bench.changed_lines(before, after) <= 10
    final = folder / "final.toml"
    final.write_text(after)
    assert [s.step for s in Job.from_toml(final).signal] == ["edit", "bandpass", "mute", "to2d"]
    readme = (ROOT / "examples" / "field_line" / "README.md").read_text()
    tutorial = (ROOT / "docs" / "tutorials" / "field-line.md").read_text()
    for text in after.splitlines():
        if text not in before.splitlines():
            assert text in readme
            assert text in tutorial


def test_the_wavelet_put_in_comes_out(line, job):
    _, _, folder = line
    read = job[0]
    made = from_direct_waves(read, WaveletOptions())
    put_in = through_steps(wavelet.from_file(folder / "wavelet.txt"), read)
    a = np.interp(made.wavelet.times(), put_in.times(), put_in.samples, left=0, right=0)
    size = np.sqrt((put_in.samples**2).sum() * (made.wavelet.samples**2).sum())
    assert a @ made.wavelet.samples / size >= 0.995
    assert len(made.used) == SHOTS
    # no worse than what is published for the field line
    assert made.to_dict()["correlation"] >= 0.994


def test_the_mute_lies_behind_the_direct_wave(job):
    survey = job[0].load_survey()
    ((_, step, _),) = survey.reader.flow.mutes()
    assert step.measured.reason == ""
    assert 1400 < step.velocity < 2000
    # behind the direct wave, which is through the water, where it is strong
    near = np.array([262.0, 600.0])
    assert (step.edge(near) > near / 1480.0 + 0.05).all()
