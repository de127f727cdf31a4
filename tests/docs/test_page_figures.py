"""Numbers in the text of pages are those that the program computes: points, steps, traces, shots."""

import json
import re
import shutil
from pathlib import Path

import pytest

from job_files import shared_data
from subsalt.examples import marine
from thorough import ALL

ROOT = Path(__file__).resolve().parents[2]


def text_of(page):
    """Return the text of a page on one line."""
    return " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


@pytest.mark.slow
@pytest.mark.skipif(not ALL, reason="the whole line takes half a minute: make test-all")
def test_the_first_image_counts_the_traces_and_shots_that_the_program_names(
    tmp_path, monkeypatch, subsalt_command
):
    monkeypatch.chdir(tmp_path)
    assert subsalt_command("example", "marine", "line")[0] == 0
    monkeypatch.chdir("line")
    scanned = "".join(subsalt_command("scan", "line.sgy")[1:])
    noisy, dead = (int(re.search(rf"{code}\s+(\d+) of 7200 traces", scanned)[1]) for code in ("E246", "W233"))
    page = text_of("tutorials/first-image.md")
    assert (
        f"It reports {noisy} traces that are far stronger than their neighbours (E246) and {dead} dead"
        in page
    )
    assert subsalt_command("init", "line.toml", "--from", "line.sgy", "--vp", "vp.sgy")[0] == 0
    said = subsalt_command("wavelet", "line.toml")[1]
    used, shots, residual = re.search(r"(\d+) of (\d+) shots, residual ([\d.]+) %", said).groups()
    assert f"Of the {shots} shots it uses {used} and names the two others" in page
    assert said.count("left out  shot") == int(shots) - int(used) == 2
    assert f"the residual is small ({float(residual):.0f} % on the example line" in text_of(
        "howto/quality.md"
    )


def test_the_commands_of_the_first_image_say_what_the_page_quotes(tmp_path, monkeypatch, subsalt_command):
    """On the first two shots, whose counts are others; the page has such sentences."""
    monkeypatch.chdir(tmp_path)
    assert subsalt_command("example", "marine", "line", "--shots", "2")[0] == 0
    scanned = "".join(subsalt_command("scan", "line/line.sgy")[1:])
    for code in ("E246", "W233"):
        assert re.search(rf"{code}\s+\d+ of 240 traces", scanned)
    page = text_of("tutorials/first-image.md")
    assert re.search(
        r"It reports \d+ traces that are far stronger than their neighbours \(E246\) and \d+ dead", page
    )
    assert re.search(r"Of the \d+ shots it uses \d+ and names the two others", page)


@pytest.mark.shared_data
def test_the_field_shots_have_the_points_and_steps_of_the_page(tmp_path, subsalt_command):
    (tmp_path / "data" / "segy").mkdir(parents=True)
    shutil.copy(shared_data() / "segy" / "viking_small.segy", tmp_path / "data" / "segy")
    shutil.copy(ROOT / "examples" / "viking.toml", tmp_path)
    code, out, _ = subsalt_command("plan", str(tmp_path / "viking.toml"), "--no-measure", "--json")
    assert code == 0
    plan = json.loads(out)
    points = " x ".join(map(str, plan["grid"]))
    page = text_of("tutorials/first-image.md")
    assert f"Waves are computed on {points} points" in page
    assert f"in {plan['time_steps']} steps per shot" in page


def test_the_field_line_has_the_size_of_the_page():
    page = text_of("theory/field-line.md")
    points = " x ".join(map(str, marine.GRID.shape))
    assert f"| model | {points} points at {marine.GRID.spacing[0]:g} m:" in page
    assert f"| shots | {marine.EXAMPLE.most}, every" in page
    assert f"{3600 + marine.EXAMPLE.most * 120 * (240 + 4 * 1500):,} bytes" in page
