"""Exit codes as the table of the commands page has them; codes of signals, pipes and systems are in `test_cli`."""

import re
from pathlib import Path

import pytest

from job_files import MIGRATE, write_files, write_job
from subsalt.cli.guard import EXIT_CODES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def test_the_page_has_the_codes_of_the_command():
    table = PAGE.read_text(encoding="utf-8").split("## Exit codes")[1].split("\n## ")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.M)] == list(EXIT_CODES)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, ("check", "line.toml", "--no-map")),
        (0, ("check", "warned.toml", "--no-map")),
        (2, ("check",)),
        (2, ("chek", "line.toml")),
        (65, ("check", "late.toml", "--no-map")),
        (65, ("check", "warned.toml", "--no-map", "--strict")),
        (65, ("scan", "line.toml")),
        (66, ("check", "nothing.toml")),
        (66, ("check", "gone.toml", "--no-map")),
        (66, ("init", "new.toml", "--from", "shots.sgy", "--vp", "nothing.rsf")),
        (66, ("init", "new.toml", "--from", "nothing.sgy", "--vp", "vp.rsf")),
        (73, ("init", "line.toml", "--from", "shots.sgy", "--vp", "vp.rsf")),
        (73, ("export", "vp.rsf", "nowhere/vp.npy")),
        (78, ("check", "misspelt.toml")),
    ],
)
def test_a_code_of_the_table(subsalt_command, tmp_path, monkeypatch, code, words):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    write_job(tmp_path)
    write_job(tmp_path, MIGRATE + '\n[propagation]\nboundary = "none"\n', "warned.toml")
    write_job(tmp_path, MIGRATE + "\n[propagation]\ndt = 0.05\n", "late.toml")
    write_job(tmp_path, MIGRATE.replace("vp.rsf", "gone.rsf"), "gone.toml")
    write_job(tmp_path, MIGRATE.replace("f0", "fo"), "misspelt.toml")
    assert subsalt_command(*words)[0] == code
