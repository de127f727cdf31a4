"""`subsalt explain` on subjects of the field, and on keys of steps that both methods have."""

import json

import pytest

from subsalt.job.topics import subject
from subsalt.methods.rtm.sections import ImagingSection


def test_an_imaging_condition_is_explained_with_all_that_there_are(subsalt_command):
    code, out, _ = subsalt_command("explain", "condition")
    assert code == 0
    assert "An imaging condition makes the image from two wavefields" in out
    for name in ("source-normalised", "cross-correlation", "inverse-scattering"):
        assert out.count(name) >= 2  # among the values, and described
    assert ImagingSection().condition in out


@pytest.mark.parametrize("word", ["gathers", "--gathers", "imaging.gathers"])
def test_gathers_are_explained_with_how_to_make_others(subsalt_command, word):
    code, out, err = subsalt_command("explain", "--", word)
    assert code == 0, err
    for text in ("subsalt reimage RUN --gathers", 'keep = "both"', "whether its velocity was right"):
        assert text in out


@pytest.mark.parametrize("word", ["vrms", "--vrms", "velocity text"])
def test_the_forms_of_an_rms_velocity_are_explained(subsalt_command, word):
    code, out, err = subsalt_command("explain", "--", word)
    assert code == 0, err
    for form in ("t v ", "cdp t v", "inline crossline t v", "Handvel", "# are comments"):
        assert form in out
    assert json.loads(subsalt_command("explain", "--json", "--", word)[1])["text"] == subject(word)


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("t0", ["source.t0: ", "signal.mute.t0: ", "signal.designature.t0: "]),
        ("mute", ["data.mute: ", '[[signal]] step = "mute": ']),
        ("taper", ["signal.mute.taper: ", "signal.bandpass.taper: "]),
        ("step", ["[[signal]]: "]),
        ("corners", ["signal.bandpass.corners: ", "signal.designature.corners: "]),
    ],
)
def test_keys_of_steps_belong_to_every_method(subsalt_command, word, lines):
    code, out, err = subsalt_command("explain", word)
    assert code == 0, err
    for line in lines:
        assert line in out
    # what stands in a step is not filed under one method
    *_, last = out.split("method kirchhoff")
    at = out.find("[[signal]]" if word in ("mute", "step") else "signal.")
    assert "(method" not in out[at:]
    assert at >= 0
    assert last
