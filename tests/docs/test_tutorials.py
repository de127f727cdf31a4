"""Tutorials: their commands run as printed, in order, beginning in an empty folder."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from few_shots import shorten_the_land_line

from subsalt.examples import example_of, time3d
from subsalt.examples.marine import REFLECTORS, depth_of
from subsalt.io.volumes import volume

DOCS = Path(__file__).resolve().parents[2] / "docs"


def commands(page, until):
    """Return the commands of a page before a heading, in their order."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"\n{until}\n")[0]
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)
    printed = [line for kind, block in blocks if not kind for line in block.splitlines()]
    lines = [shlex.split(line, comments=True) for line in printed]
    return [words for words in lines if words and words[0] in ("subsalt", "cd")]


@pytest.fixture
def follow(tmp_path, monkeypatch, subsalt_command):
    """Return a function that runs one command of a page; patterns of file names are opened as a shell does."""
    monkeypatch.chdir(tmp_path)

    def run(words):
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
            return 0, ""
        spread = [sorted(str(p) for p in Path().glob(word)) if "*" in word else [word] for word in words[1:]]
        code, out, err = subsalt_command(*(word for part in spread for word in part))
        return code, out + err

    return run


def test_the_first_image_is_made_as_printed(follow):
    page = "tutorials/first-image.md"
    (source,) = re.findall(r"^```toml\n(\[source\]\n.*?)^```", (DOCS / page).read_text("utf-8"), re.M | re.S)
    done = []
    for words in commands(page, "## 8. Improve it"):
        command = words[1] if words[0] == "subsalt" else words[0]
        # three shots instead of sixty, of which two are migrated
        few = {"example": ["--shots", "3"], "migrate": ["--shots", "1,3"]}.get(command, [])
        code, said = follow(words + few)
        # noisy traces are an error of the file, as the page says
        assert code == (65 if command == "scan" else 0), said
        done.append(command)
        if command == "scan":
            assert "E246" in said
            assert "W233" in said
        if command == "init":
            # the list of steps that the README gives instead
            assert "signal = [" in Path("line.toml").read_text(encoding="utf-8")
        if command == "wavelet":
            assert re.sub(r"\s", "", source) in re.sub(r"\s", "", said)
            assert "for the job, in place of f0 and t0 of [source]:" in said
            job = Path("line.toml").read_text(encoding="utf-8")
            Path("line.toml").write_text(
                re.sub(r"^\[source\]\nf0 = .*\n(t0 = .*\n)?", source, job, flags=re.M)
            )
        if command == "check":
            assert "0 errors" in said
    assert " ".join(done) == "example cd scan init wavelet check plan migrate view report export"
    image = volume.read("line.run/image.rsf")
    z, x = image.grid.axis(1), 2900.0
    trace = np.abs(image.values[round(x / image.grid.spacing[0])])
    # the strongest reflector where these shots reach, within a cell as the page says
    depth = float(depth_of(REFLECTORS[4], np.array(x)))
    near = np.abs(z - depth) < 70.0
    assert abs(z[near][np.argmax(trace[near])] - depth) <= 12.5


def test_the_time_migration_runs_as_printed(follow, monkeypatch):
    # half of the sail lines, and a part of the image below them
    monkeypatch.setattr(time3d, "LINES", 8)
    done = []
    for words in commands("tutorials/time-migration.md", "## A line, step by step"):
        code, said = follow(words)
        assert code == 0, said
        done.append(words[-1])
        if words[0] == "cd":
            job = Path("time3d.toml").read_text(encoding="utf-8")
            few = job.replace("inline = { first = 1, last = 41 }", "inline = { first = 1, last = 5 }")
            assert few != job
            # the last command draws the pictures that a migration draws, too
            Path("time3d.toml").write_text(f"{few}[output]\npictures = false\n")
    assert done == ["time3d", "time3d", "time3d.toml", "time3d.toml", "time3d.run"]
    assert Path("time3d.run/report.html").exists()


def test_the_land_survey_runs_as_printed(follow, monkeypatch):
    shorten_the_land_line(monkeypatch)
    example, folder, scan, *others = commands("howto/land.md", "## Elevations")
    assert (example[1:3], folder, scan[1]) == (["example", "land"], ["cd", "land"], "scan")
    for words in (example, folder, scan):
        code, said = follow(words)
        assert code == 0, said
    # those of the example, which are run in `test_example_surveys`
    assert tuple(" ".join(words) for words in others) == example_of("land").commands
