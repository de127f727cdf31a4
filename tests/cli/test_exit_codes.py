"""Exit codes as the table of the commands page has them."""

import os
import re
import signal
from pathlib import Path

import pytest
from launch import forked

from job_files import MIGRATE, write_files, write_job
from patience import PATIENCE
from subsalt.cli.guard import EXIT_CODES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def test_the_page_has_the_codes_of_the_command():
    table = PAGE.read_text(encoding="utf-8").split("## Exit codes")[1].split("\n## ")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.M)] == list(EXIT_CODES)


#: commands in a folder with a job, and the codes that they return
COMMANDS = [
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
    (69, ("plan", "line.toml", "--memory-per-rank", "1MB", "--no-measure")),
    (73, ("init", "line.toml", "--from", "shots.sgy", "--vp", "vp.rsf")),
    (73, ("export", "vp.rsf", "nowhere/vp.npy")),
    (78, ("check", "misspelt.toml")),
]
#: what happens while a command runs, and the codes that it returns
EVENTS = [
    (70, RuntimeError("odd")),
    (74, OSError(28, "No space left on device", "/x")),
    (75, signal.SIGUSR1),
    (130, KeyboardInterrupt()),
    (143, signal.SIGTERM),
]
#: the code when the reader of a pipe has gone
CLOSED = 141


def test_every_code_has_a_row():
    assert {code for code, _ in COMMANDS + EVENTS} | {CLOSED} == set(EXIT_CODES)


@pytest.mark.parametrize(("code", "words"), COMMANDS)
def test_a_code_of_the_table(subsalt_command, tmp_path, monkeypatch, code, words):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    write_job(tmp_path)
    write_job(tmp_path, MIGRATE + '\n[propagation]\nboundary = "none"\n', "warned.toml")
    write_job(tmp_path, MIGRATE + "\n[propagation]\ndt = 0.05\n", "late.toml")
    write_job(tmp_path, MIGRATE.replace("vp.rsf", "gone.rsf"), "gone.toml")
    write_job(tmp_path, MIGRATE.replace("f0", "fo"), "misspelt.toml")
    assert subsalt_command(*words)[0] == code


@pytest.mark.parametrize(("code", "event"), EVENTS)
def test_a_code_of_what_happens_in_a_command(subsalt_command, tmp_path, monkeypatch, code, event):
    def broken(*args):
        if isinstance(event, BaseException):
            raise event
        os.kill(os.getpid(), event)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("subsalt.error_texts.lookup", broken)
    assert subsalt_command("explain", "E412")[0] == code


def test_the_code_of_a_closed_pipe():
    process = forked(["explain", "E412"], {"NO_COLOR": "1"})
    process.stdout.close()
    process.stdout = None
    process.communicate(timeout=PATIENCE)
    assert process.returncode == CLOSED
