"""What a user reads who has mistyped a name, given the wrong kind of file, or left a table out."""

from pathlib import Path

import pytest

from job_files import MIGRATE, write_files, write_job


@pytest.fixture
def line(tmp_path, monkeypatch) -> Path:
    write_files(tmp_path)
    write_job(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "wrong", "near"),
    [
        (("scan", "shoots.sgy"), "shoots.sgy", "shots.sgy"),
        (("check", "lines.toml"), "lines.toml", "line.toml"),
        (("view", "epsilom.rsf"), "epsilom.rsf", "epsilon.rsf"),
        (("init", "new.toml", "--from", "shot.sgy", "--vp", "vp.rsf"), "shot.sgy", "shots.sgy"),
        (("init", "new.toml", "--from", "shots.sgy", "--vp", "vpp.rsf"), "vpp.rsf", "vp.rsf"),
    ],
)
def test_a_missing_file_is_named_whole_with_the_nearest_name(line, subsalt_command, words, wrong, near):
    code, _, err = subsalt_command(*words)
    assert code == 66
    assert f"{line / wrong} does not exist" in err
    assert f"did you mean {near}?" in err
    assert not (line / "new.toml").exists()


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("mgirate", "line.toml"), "'migrate'"),
        (("lba",), "'lab'"),
        (("lab", "netwrok"), "'network'"),
        (("lab", "mdoel"), "'predict'"),  # called model up to 0.8
        (("lab", "xyz"), None),
    ],
)
def test_a_mistyped_command_is_answered_with_the_nearest(subsalt_command, words, near):
    code, _, err = subsalt_command(*words)
    assert code == 2
    assert "No such command" in err
    assert err.count("Did you mean") == (near is not None)
    assert near is None or f"Did you mean {near}?" in err


def test_a_missing_file_without_a_near_name(line, subsalt_command):
    code, _, err = subsalt_command("check", "something.toml")
    assert code == 66
    assert "subsalt init JOB.toml --from FILES" in err
    code, _, err = subsalt_command("scan", "nowhere/shots.sgy")
    assert code == 66
    assert "the folder does not exist either" in err


def test_a_pattern_without_a_match_names_the_folder_searched(line, subsalt_command):
    write_job(line, MIGRATE.replace('"shots.sgy"', '"*.segy"'))
    code, out, _ = subsalt_command("check", "line.toml")
    assert code == 66
    assert f"no file matches *.segy in {line}, which holds " in out
    write_job(line, MIGRATE.replace('"shots.sgy"', '"shots/*.sgy"'))
    code, out, _ = subsalt_command("check", "line.toml")
    assert code == 66
    assert f"no file matches *.sgy: the folder {line / 'shots'} does not exist" in out
    (line / "shots").mkdir()
    assert f"{line / 'shots'}, which holds nothing" in subsalt_command("check", "line.toml")[1]


def test_data_given_as_a_job_name_the_command_that_writes_one(line, subsalt_command):
    code, _, err = subsalt_command("check", "shots.sgy")
    assert code == 78
    assert "shots.sgy holds traces, and is no job file" in err
    assert "fix: subsalt init job.toml --from shots.sgy" in err
    code, _, err = subsalt_command("migrate", "vp.rsf")
    assert code == 78
    assert "fix: subsalt init job.toml --from FILES --vp vp.rsf" in err


def test_a_missing_table_shows_the_lines_to_paste(line, subsalt_command):
    write_job(line, MIGRATE.replace('[source]\nf0 = "10 Hz"\n', ""))
    code, _, err = subsalt_command("check", "line.toml")
    assert code == 78
    assert "[source] is missing" in err
    *_, first, second, _ = [text.strip() for text in err.splitlines()]
    pasted = [first, second]
    assert pasted == ["[source]", "f0 = 15"]
    write_job(line, MIGRATE.replace('[source]\nf0 = "10 Hz"\n', "\n".join(pasted)))
    assert "E102" not in subsalt_command("check", "line.toml", "--no-map")[2]
