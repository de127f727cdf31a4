"""The README: its commands and its job are what they say; `test_snippets` runs its Python."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorials" / "first-image.md").read_text(encoding="utf-8")


def block(kind, containing):
    """Return the code block of a kind, "" for commands, that contains a text."""
    (text,) = [
        text for text in re.findall(rf"^```{kind}\n(.*?)^```", README, re.M | re.S) if containing in text
    ]
    return text


def test_it_is_short():
    assert len(README.splitlines()) <= 110


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
    lines = block("", "subsalt example marine").splitlines()
    commands = [c.split("#")[0].strip() for c in lines if c.startswith("subsalt ")]
    assert commands[0] == "subsalt example marine line; cd line"
    # all of them stand in the tutorial, whose test runs them one by one: here those that read the job of this page
    assert [c for c in commands[1:] if f"\n{c}\n" not in TUTORIAL] == []
    _, _, wavelet, check, _, migrate, _ = commands[1:]
    job = Path("line.toml")
    final = block("toml", "line.wavelet.txt")
    job.write_text(re.sub(r"^source = .*$", "source = { f0 = 15 }", final, flags=re.M))
    code, said = line(wavelet)
    assert code == 0
    assert '[source]\n    wavelet = "file"\n    file = "line.wavelet.txt"' in said
    job.write_text(final)
    code, said = line(check)
    assert (code, re.findall(r"^error", said, re.M)) == (0, [])
    # the pictures of a run are drawn by the test of the tutorial
    job.write_text(f"{final}output = {{ pictures = false }}\n")
    assert migrate == "subsalt migrate line.toml"
    assert line("subsalt migrate line.toml --shots 3")[0] == 0
    assert Path("line.run/report.html").exists()
