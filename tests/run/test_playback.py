"""Movies of shots: kept wavefields and propagating again show the same, and the image grows to that of the shot."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from kept_case import keep_wavefields
from survey_case import job_of, make_survey

import subsalt
from subsalt.errors import ConfigError, MissingInputError
from subsalt.io.volumes import volume
from subsalt.methods.rtm.playback import movie_of
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.run.migrate import migrate_job

WINDOWS = "[imaging]\naperture = 150\n"


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """A folder with a run that has kept both wavefields of shot 2."""
    folder = make_survey(tmp_path_factory.mktemp("survey"))
    migrate_job(job_of(folder, more=WINDOWS), folder / "run")
    keep_wavefields(job_of(folder, more=WINDOWS), folder / "run", shots=[2])
    return folder


def frames_of(movie):
    return {
        name: (f.scale.tobytes(), [f.frame(i).tobytes() for i in range(len(f))])
        for name, f in movie.fields.items()
    }


@pytest.mark.parametrize("options", [{}, {"size": 20, "every": 3}, {"start": 0.1, "stop": 0.25}], ids=str)
def test_a_shot_propagated_again_shows_what_was_kept(survey, tmp_path, options):
    bare = tmp_path / "run"
    shutil.copytree(survey / "run", bare)
    shutil.rmtree(bare / "snapshots")
    said, frames = [], []
    movie = movie_of(survey / "run", 2, **options, say=said.append)
    assert said == []
    again = movie_of(bare, 2, **options, say=said.append, progress=lambda *now: frames.append(now))
    assert frames_of(movie) == frames_of(again)
    assert (movie.facts["frames"], again.facts["frames"]) == ("kept wavefields", "propagated again")
    assert "propagating again" in said[-1]
    assert frames == sorted(frames, key=lambda now: now[0])
    assert frames[-1][:2] == (3, 3)
    assert np.array_equal(movie.times, again.times)
    assert [a.name for a in movie.axes] == ["x", "z"]
    assert movie.velocity.shape == movie.shape
    assert max(np.abs(movie.fields["image"].frame(i)).max() for i in range(len(movie.times))) > 0


def test_frames_are_thinned_samples_at_their_times(survey):
    whole = movie_of(survey / "run", 2)
    thin = movie_of(survey / "run", 2, size=21, every=4, fields=("receiver",))
    assert list(thin.fields) == ["receiver"]
    assert thin.shape == (21, 14)
    assert [a.spacing for a in thin.axes] == [30.0, 30.0]
    assert thin.samples.tolist() == whole.samples[::4].tolist()
    assert thin.times.tolist() == whole.times[::4].tolist()
    with subsalt.saved_wavefields(survey / "run", 2) as shot:
        assert np.allclose(shot.times, whole.times)
        assert len(shot.source) == len(shot.times)
        assert shot.grid.shape == whole.shape
        for i in (0, 5):
            field = shot.receiver[4 * i][::3, ::3]
            frame = thin.fields["receiver"].frame(i)
            # levels are square roots in 127 steps: half a step at the top is 1/127 of the scale
            assert np.abs(frame - field).max() <= np.abs(field).max() / 127
        assert np.array_equal(shot.source[-1], shot.source[len(shot.source) - 1])


@pytest.mark.parametrize("condition", ["source-normalised", "inverse-scattering", "cross-correlation"])
def test_the_image_grows_to_that_of_the_shot(survey, tmp_path, condition):
    if condition == "source-normalised":
        source = survey / "run"
    else:
        source = tmp_path / "run"
        migrate_job(job_of(survey, more=WINDOWS + f'condition = "{condition}"\n'), source)
    movie = movie_of(source, 2)
    reimage_run(survey / "run", tmp_path / "one", Wish(condition=condition, shots="2"))
    image = volume.read(tmp_path / "one" / "image.rsf")
    first = [round((a.origin - o) / a.spacing) for a, o in zip(movie.axes, image.grid.origin, strict=True)]
    cut = tuple(slice(i, i + n) for i, n in zip(first, movie.shape, strict=True))
    # the mean illumination is that of the window here and of the model there: the same where the window is the model
    assert movie.shape == image.values.shape
    last = movie.fields["image"].frame(len(movie.times) - 1)
    assert np.abs(last - image.values[cut]).max() <= 1.01 * np.abs(image.values).max() / 127
    # it begins with nothing
    assert np.abs(movie.fields["image"].frame(0)).max() < 0.1 * np.abs(last).max()


def test_a_damaged_wavefield_is_propagated_again(survey, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(survey / "run", run)
    (index,) = (run / "snapshots" / "shot_000002").glob("source.*.json")
    index.unlink()
    said = []
    movie = movie_of(run, 2, say=said.append)
    assert "source wavefield of shot 2 is gone" in said[0]
    assert "the source wavefield of shot 2 was not kept" in said[1]
    assert movie.facts["frames"] == "kept wavefields, source propagated again"
    assert frames_of(movie) == frames_of(movie_of(survey / "run", 2))


def test_what_cannot_be_played_is_said(survey, tmp_path):
    run = survey / "run"
    for wrong, said in (
        ({"shot": 9}, "has no shot 9"),
        ({"shot": 2, "fields": ("sauce",)}, "fields sauce"),
        ({"shot": 2, "start": 5.0}, "no sample between 5 and inf s"),
    ):
        with pytest.raises(ConfigError, match=said) as caught:
            movie_of(run, **wrong)
        assert caught.value.code == "E865"
    with pytest.raises(MissingInputError, match="does not exist"):
        movie_of(tmp_path / "none")
    with pytest.raises(MissingInputError, match="kept no wavefield of shot 1; kept are shots 2") as caught:
        subsalt.saved_wavefields(run, 1)
    assert caught.value.code == "E861"


def test_without_a_shot_the_first_one_is_played(survey):
    assert movie_of(survey / "run", fields=("source",), size=20).shot == 1


def test_reimage_of_a_notebook(survey, tmp_path):
    new = subsalt.reimage(survey / "run", tmp_path / "new", condition="inverse-scattering")
    again = reimage_run(survey / "run", tmp_path / "again", Wish(condition="inverse-scattering"))
    assert new.sha256 == again.sha256
    with pytest.raises(TypeError, match="no argument 'conditions'; did you mean 'condition'") as caught:
        subsalt.reimage(survey / "run", tmp_path / "other", conditions="inverse-scattering")
    assert caught.value.code == "E864"
