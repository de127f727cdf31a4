"""The README: its commands, its job and its Python snippet are what they say."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def block(kind, containing):
    """Return the code block of a kind, "" for commands, that contains a text."""
    (text,) = [
        text for text in re.findall(rf"^```{kind}\n(.*?)^```", README, re.M | re.S) if containing in text
    ]
    return text


def test_it_is_short():
    assert len(README.splitlines()) <= 110


def test_the_snippet_images_its_reflector(tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(block("python", "subsalt.migrate"), names)
    image, grid = names["image"], names["grid"]
    middle = np.abs(image[100:201]).mean(axis=0)
    # the strongest event of the picture is the step between 790 and 800 m
    assert abs(grid.axis(1)[int(np.argmax(middle))] - 795.0) <= 10.0


@pytest.fixture
def line(tmp_path, monkeypatch, subsalt_command):
    """Return a function that runs a command of the README in the folder of its line, here with fewer shots."""
    monkeypatch.chdir(tmp_path)

    def run(command):
        words = shlex.split(command, comments=True)
        assert words[0] == "subsalt"
        code, out, err = subsalt_command(*words[1:])
        return code, out + err

    code, _ = run("subsalt example marine line --shots 5")
    assert code == 0
    monkeypatch.chdir(tmp_path / "line")
    return run


def test_its_commands_and_its_job_image_the_example(line):
    commands = [c for c in block("", "subsalt example marine").splitlines() if c.startswith("subsalt ")]
    assert commands[0].startswith("subsalt example marine line; cd line ")
    scan, init, wavelet, check, plan, migrate, view = commands[1:]
    assert line(scan)[0] in (0, 65)  # the noisy traces, which the job's first step zeroes, are an error here
    assert line(init)[0] in (0, 65)
    job = Path("line.toml")
    assert "signal = [" in job.read_text()
    final = block("toml", "line.wavelet.txt")
    job.write_text(re.sub(r"^source = .*$", "source = { f0 = 15 }", final, flags=re.M))
    code, said = line(wavelet)
    assert code == 0
    assert '[source]\n    wavelet = "file"\n    file = "line.wavelet.txt"' in said
    job.write_text(final)
    code, said = line(check)
    assert (code, re.findall(r"^error", said, re.M)) == (0, [])
    assert line(plan)[0] == 0
    assert migrate.split("#")[0].strip() == "subsalt migrate line.toml"
    assert line("subsalt migrate line.toml --shots 3")[0] == 0
    assert line(view)[0] == 0
    assert Path("line.run/report.html").exists()
