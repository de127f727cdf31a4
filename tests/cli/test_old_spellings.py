"""Spellings of versions up to 0.8: the same command, with one note on standard error."""

import json

import pytest

from job_files import write_files, write_job
from subsalt.cli.old_spellings import renewed
from subsalt.errors import ConfigError


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("migrate a.toml --slurm --nodes 2 -o x", "submit --to slurm a.toml --nodes 2 -o x"),
        ("migrate --slurm a.toml --nodes 2", "submit --to slurm a.toml --nodes 2"),
        ("migrate a.toml --vscan 0.9:1.1:0.1 --at 5", "vscan a.toml --at 5 0.9:1.1:0.1"),
        ("migrate --vscan=0.9:1.1:0.1 a.toml", "vscan a.toml 0.9:1.1:0.1"),
        ("reimage a.run --out b.run --filter none", "reimage a.run --filter none --run b.run"),
        ("reimage a.run -o b.run", "reimage a.run --run b.run"),
        ("reimage a.run -ob.run", "reimage a.run --run b.run"),
        ("lab model --founding", "lab predict --founding"),
    ],
)
def test_old_words_become_new_ones_with_a_note(old, new, capsys):
    assert renewed(old.split()) == new.split()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("note: ") == err.count("\n") == 1
    assert f"is now `subsalt {new.split()[0]}" in err
    assert "0.10" in err
    renewed(old.split(), quiet=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "words",
    [
        "migrate a.toml --run b.run --threads 2",
        "reimage a.run --run b.run",
        "lab memory --out model",
        "view a.run -o b.png",
        "--help",
        "",
    ],
)
def test_words_of_today_stay(words, capsys):
    assert renewed(words.split()) == words.split()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "code", "cure"),
    [
        ("migrate a.toml --nodes 2", "E786", "subsalt submit JOB --to slurm"),
        ("migrate a.toml -o b.run", "E786", "--run"),
        ("migrate a.toml --at 605", "E834", "subsalt vscan JOB"),
        ("migrate a.toml --slurm --nodes 1 --vscan 0.9:1.1:0.1", "E834", "subsalt vscan JOB"),
    ],
)
def test_options_that_migrate_never_took_alone_name_their_command(words, code, cure):
    with pytest.raises(ConfigError) as error:
        renewed(words.split())
    assert error.value.code == code
    assert cure in error.value.fix


def test_a_script_by_the_old_spelling(tmp_path, subsalt_command, monkeypatch):
    monkeypatch.delenv("MPI4PY_LIBMPI", raising=False)
    write_files(tmp_path)
    job = write_job(tmp_path)
    old = subsalt_command("migrate", job, "--slurm", "--nodes", "2", "--print")
    new = subsalt_command("submit", job, "--to", "slurm", "--nodes", "2", "--print")
    assert old[:2] == new[:2]
    assert old[0] == 0
    assert "note: `subsalt migrate JOB --slurm` is now `subsalt submit JOB --to slurm`" in old[2]
    assert "note: " not in new[2]


def test_one_rank_writes_the_note(tmp_path, subsalt_command):
    code, out, err = subsalt_command("reimage", tmp_path / "none.run", "-o", tmp_path / "new.run", "--json")
    assert code == 66
    assert json.loads(out)["error"]["code"] == "E110"
    assert err.count("note: ") == 1
