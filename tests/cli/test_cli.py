"""The command as users and scripts meet it: output, exit codes, signals, pipes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from launch import forked

from job_files import MIGRATE, write_files, write_job
from patience import PATIENCE, wait_for
from subsalt.cli.app import app
from subsalt.cli.app_root import GROUPS
from subsalt.cli.guard import named_command_only
from thorough import some

COMMANDS = tuple(name for names in GROUPS.values() for name in names)


@pytest.fixture
def run(subsalt_command):
    """Return a function that runs the command in this process: (exit code, stdout, stderr)."""
    return subsalt_command


def start(*args):
    """Start the command in a process of its own."""
    return forked(args, {"NO_COLOR": "1"})


def finish(process):
    """Return exit code, stdout and stderr."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def test_help_names_every_command(run):
    code, out, _ = run("--help")
    assert code == 0
    titles = [line[:-1] for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == [*GROUPS, "Options", "Examples"]
    for title, names in GROUPS.items():
        listed = out.split(f"\n{title}:\n")[1].split("\n\n")[0].splitlines()
        assert tuple(line.split()[0] for line in listed) == names


def test_every_command_is_in_one_group():
    assert sorted(COMMANDS) == sorted(typer.main.get_command(app).list_commands(None))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    lines = out.split("Examples:\n")[1].splitlines()
    assert any(f"subsalt {command}" in line for line in lines)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_is_readable_in_eighty_columns(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = run(command, "--help")[1]
    assert max(map(len, out.splitlines())) <= 80
    for sign in ("<", "{", "x>=", "left out", "; by default"):
        assert sign not in out.split("Examples:")[0]


def test_only_the_command_asked_for_is_built():
    everything = typer.main.get_command(app)
    for name in everything.commands:
        assert list(typer.main.get_command(named_command_only(app, [name])).commands) == [name]
    # a command of another package is built by itself
    assert not typer.main.get_command(named_command_only(app, ["lab", "memory"])).commands
    for words in ([], ["--help", "check"], ["--version"], ["chek"]):
        assert named_command_only(app, words) is app


def test_heavy_modules_stay_out_of_help():
    code = (
        "import sys; from subsalt.cli.app import app; from subsalt.cli import guard\n"
        "guard.run(app, ['--help'])\n"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'segyio', 'pydantic', 'subsalt.methods.rtm.job'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_version(run):
    from subsalt import __version__

    assert run("--version") == (0, f"subsalt {__version__}\n", "")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["chek"], "Did you mean"),
        (["check"], "Missing argument"),
        (["check", "--nonsense", "a"], "No such option"),
        (["view", "a", "--clip", "x"], "valid number"),
        (["submit", "a"], "Missing option '--to'. Choose from: slurm, slurm-array, kubernetes, aws-batch\n"),
    ],
)
def test_wrong_use(run, args, says):
    code, out, err = run(*args)
    assert code == 2
    assert says in err
    assert "fix:" in err
    assert out == ""


def test_a_missing_job(run, tmp_path):
    code, out, err = run("check", tmp_path / "no.toml")
    assert (code, out) == (66, "")
    assert err.count("\n") == 2
    assert "does not exist" in err
    assert "fix:" in err


def test_a_wrong_job_lists_everything(run, tmp_path):
    path = write_job(tmp_path, MIGRATE.replace("f0", "fo").replace("[output]", "[outptu]"))
    code, _, err = run("check", path)
    assert code == 78
    assert "did you mean 'f0'" in err
    assert "did you mean 'output'" in err
    assert "Traceback" not in err


def test_errors_as_json(run, tmp_path):
    code, out, _ = run("check", tmp_path / "no.toml", "--json")
    result = json.loads(out)
    assert result["error"]["exit"] == code == 66
    assert result["error"]["code"] == "E110"


def test_check_prints_findings_and_json(run, tmp_path):
    write_files(tmp_path)
    path = write_job(tmp_path)
    code, out, err = run("check", path, "--no-map")
    assert (code, err) == (0, "")
    assert "0 errors, 0 warnings, 2 not checked. nothing was started." in out
    assert "not checked: echoes: " in out
    assert out.startswith("ok ")
    code, out, err = run("check", path, "--json")
    result = json.loads(out)
    assert (result["errors"], result["warnings"]) == (0, 0)
    assert Path(result["map"]).is_file()
    assert "ok " in err


def test_check_strict(run, tmp_path):
    write_files(tmp_path)
    path = write_job(tmp_path, MIGRATE + '\n[propagation]\nboundary = "none"\n')
    assert run("check", path, "--no-map")[0] == 0
    assert run("check", path, "--no-map", "--strict")[0] == 65


def test_scan(run, tmp_path):
    write_files(tmp_path)
    code, out, _ = run("scan", tmp_path / "shots.sgy")
    assert code == 0
    assert "151 samples" in out
    code, out, _ = run("scan", tmp_path / "shots.sgy", "--json")
    assert json.loads(out)["n_shots"] == 3
    (tmp_path / "bad.sgy").write_bytes(b"xy")
    assert run("scan", tmp_path / "bad.sgy")[0] == 65
    assert run("scan", tmp_path / "no.sgy")[0] == 66


def test_explain(run):
    code, out, _ = run("explain", "E412")
    assert code == 0
    assert "km/s" in out
    assert json.loads(run("explain", "imaging.aperture", "--json")[1])["key"] == "imaging.aperture"
    code, _, err = run("explain", "E41")
    assert code == 78
    assert "did you mean" in err


def test_model_refuses_a_job_without_acquisition(run, tmp_path):
    write_files(tmp_path)
    code, _, err = run("model", write_job(tmp_path))
    assert code == 78
    assert "[acquisition]" in err
    assert not (tmp_path / "line.shots").exists()


def test_a_wrong_job_leaves_nothing_behind(run, tmp_path):
    write_files(tmp_path)
    path = write_job(tmp_path, MIGRATE + "\n[propagation]\ndt = 0.05\n")
    before = sorted(tmp_path.iterdir())
    code, _, err = run("migrate", path)
    assert code == 65
    assert "E501" in err
    assert sorted(tmp_path.iterdir()) == before


def test_migrate_view_export_report(run, tmp_path):
    write_files(tmp_path)
    path = write_job(tmp_path)
    code, out, err = run("migrate", path, "--json")
    assert code == 0, err
    result = json.loads(out.splitlines()[-1])
    assert {"image", "sha256", "phases", "point_steps", "peak_memory_bytes"} <= set(result)
    phases = result["phases"]
    assert sum(v for k, v in phases.items() if k != "wall") == pytest.approx(phases["wall"])
    code, out, _ = run("view", tmp_path / "line.run", "-o", tmp_path / "p.png", "--json")
    assert code == 0
    assert json.loads(out)["pictures"]
    assert run("export", tmp_path / "line.run", tmp_path / "image.rsf")[0] == 0
    assert run("report", tmp_path / "line.run", "-o", tmp_path / "r.html")[0] == 0
    assert (tmp_path / "r.html").read_text().lstrip().lower().startswith("<!doctype html>")
    # the same job again computes nothing; another one is refused
    again = json.loads(run("migrate", path, "--json")[1].splitlines()[-1])
    assert (again["sha256"], again["point_steps"]) == (result["sha256"], 0)
    other = write_job(tmp_path, MIGRATE.replace("10 Hz", "9 Hz"), "other.toml")
    code, _, err = run("migrate", other, "--run", tmp_path / "line.run")
    assert code == 78
    assert "source.f0" in err


MODEL = """
[model]
vp = 2000
[grid]
spacing = 10
shape = [81, 41]
[source]
f0 = 12
[acquisition]
shots = {first = [200, 20], last = [600, 20], n = 2}
receivers = {first = [50, 10], last = [750, 10], step = 50}
dt = "4 ms"
record_length = "0.4 s"
"""


def test_model_and_init_and_check_of_what_was_modelled(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("model", write_job(tmp_path, MODEL, "m.toml"), "-o", "shots", "--json")
    assert code == 0, err
    assert len(json.loads(out.splitlines()[-1])["files"]) == 2
    code, out, err = run("init", "line.toml", "--from", "shots/*.sgy", "--vp", "2 km/s", "--f0", "12 Hz")
    assert code == 0, err
    assert "subsalt check line.toml" in out
    assert run("check", "line.toml", "--no-map")[0] == 0
    code, _, err = run("init", "line.toml", "--from", "shots/*.sgy")
    assert code == 73
    assert "--force" in err


def test_outputs_that_cannot_be_created(run, tmp_path):
    write_files(tmp_path)
    (tmp_path / "occupied").write_text("a file")
    code, _, err = run("migrate", write_job(tmp_path), "--run", tmp_path / "occupied")
    assert code == 73
    assert "fix:" in err


def test_internal_errors_write_a_bug_report(run, monkeypatch, tmp_path):
    def broken(*args):
        raise RuntimeError("odd, at https://store/line.sgy?key=9f8e")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("subsalt.error_texts.lookup", broken)
    monkeypatch.setattr(
        sys, "argv", ["subsalt", "explain", "s3://me:hunter2@store/line.sgy", "--api-key", "abc123"]
    )
    theirs = tmp_path / "theirs"
    theirs.write_text("years of work")
    # where a report lay up to 0.8, under a name that anybody could guess
    (tmp_path / f"subsalt-bug-{os.getpid()}.txt").symlink_to(theirs)
    code, _, err = run("explain", "E412")
    assert code == 70
    assert "Traceback" not in err
    (report,) = (p for p in tmp_path.glob("subsalt-bug-*.txt") if not p.is_symlink())
    assert str(report) in err
    assert "RuntimeError: odd" in report.read_text()
    assert report.stat().st_mode & 0o777 == 0o600
    assert "s3://***@store/line.sgy" in report.read_text()
    assert not any(word in report.read_text() for word in ("hunter2", "abc123", "key=9f8e"))
    assert theirs.read_text() == "years of work"
    assert (tmp_path / f"subsalt-bug-{os.getpid()}.txt").is_symlink()
    assert "Traceback" in run("explain", "E412", "--debug")[2]


def test_memory_that_runs_out_has_its_exit_code(run, monkeypatch):
    def broken(*args):
        raise MemoryError("array")

    monkeypatch.setattr("subsalt.error_texts.lookup", broken)
    assert run("explain", "E412")[0] == 69


def test_control_characters_of_files_are_made_harmless(capsys):
    from subsalt.cli.output import Out, printable

    assert printable("a\x1b[31mb\u202ec\nd") == "a\\x1b[31mb\\x202ec\nd"
    Out().say("x\x07")
    assert capsys.readouterr().out == "x\\x07\n"


def test_json_holds_no_nan():
    import numpy as np

    from subsalt.cli.output import plain

    plain_json = plain(
        {"a": np.float32(1.5), "b": float("nan"), "c": np.arange(2), "d": Path("x"), "e": (1, None, True)}
    )
    assert json.loads(json.dumps(plain_json, allow_nan=False)) == {
        "a": 1.5,
        "b": None,
        "c": [0, 1],
        "d": "x",
        "e": [1, None, True],
    }


def test_a_closed_pipe_is_no_traceback(tmp_path):
    process = start("--help")
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err
    assert "Exception" not in err


def test_names_that_the_terminal_cannot_write(tmp_path, monkeypatch):
    # what forks commands is started without the variable, with which a command then has a start of its own
    finish(start("--version"))
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    code, _, err = finish(start("check", tmp_path / "schüsse.toml"))
    assert code == 66
    write_files(tmp_path)
    (tmp_path / "shots.sgy").rename(tmp_path / "schüsse.sgy")
    code, out, err = finish(start("scan", tmp_path / "schüsse.sgy"))
    assert code == 0, err
    assert "sch\\xfcsse.sgy" in out


def test_a_run_directory_too_deep_for_the_ledger(run, tmp_path):
    write_files(tmp_path)
    folder = tmp_path.joinpath(*["d" * 200] * 3)
    folder.mkdir(parents=True)
    code, _, err = run("migrate", write_job(tmp_path), "--run", folder / "run")
    assert code == 74
    assert "shorter" in err


def test_an_instruction_set_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("SUBSALT_ISA", "v9")
    write_files(tmp_path)
    code, _, err = finish(start("migrate", write_job(tmp_path), "--run", tmp_path / "run"))
    assert code == 69
    assert "E702" in err
    assert not (tmp_path / "run").exists()


def slow_job(tmp_path):
    """Return a job whose three shots take a second each."""
    write_files(tmp_path)
    text = MIGRATE + "\n[grid]\nspacing = 4\nshape = [201, 126]\n\n[propagation]\ndt = '0.6 ms'\n"
    return write_job(tmp_path, text)


@pytest.fixture(scope="module")
def slow_image(tmp_path_factory):
    """Return the hash of the image of `slow_job` that nobody stopped."""
    path = slow_job(tmp_path_factory.mktemp("slow"))
    status, out, err = finish(start("migrate", path, "--json"))
    assert status == 0, err
    return json.loads(out.splitlines()[-1])["sha256"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), some([(signal.SIGINT, 130), (signal.SIGTERM, 75), (signal.SIGUSR1, 75)], 1)
)
def test_stopped_in_the_middle_of_a_shot_and_continued(tmp_path, slow_image, number, code):
    path = slow_job(tmp_path)
    run_dir = tmp_path / "line.run"
    process = start("migrate", path)
    wait_for(lambda: (run_dir / "events.jsonl").exists() or process.poll() is not None)
    process.send_signal(number)
    status, _, err = finish(process)
    assert status == code, err
    assert "Traceback" not in err
    assert "the same command resumes from there" in err
    assert not list(run_dir.rglob("*.tmp*")) + list(run_dir.rglob(".*tmp*"))
    assert not (run_dir / "image.sgy").exists()
    from subsalt.run.ledger_file import peek

    states = [r["state"] for r in peek(run_dir)]
    assert states[0] == "done"
    assert "running" not in states
    status, out, err = finish(start("migrate", path, "--json"))
    assert status == 0, err
    attempts = {r["id"]: r["attempt"] for r in peek(run_dir)}
    assert attempts[1] == 1
    assert json.loads(out.splitlines()[-1])["sha256"] == slow_image


def test_two_runs_in_one_directory(tmp_path, run):
    from subsalt.run.ledger import Ledger

    write_files(tmp_path)
    (tmp_path / "line.run").mkdir()
    with Ledger(tmp_path / "line.run"):
        code, _, err = run("migrate", write_job(tmp_path))
    assert code == 73
    assert "in use by process" in err


def test_files_that_may_not_be_read_are_no_misuse(run, tmp_path, monkeypatch):
    write_files(tmp_path)
    job = write_job(tmp_path)
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, *a, **k: "vp.rsf" not in str(path) and allowed(path, *a, **k)
    )
    code, _, err = run("view", tmp_path / "vp.rsf")
    assert code == 66
    assert "E111" in err

    def refused(path, *rest, **more):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("subsalt.job.base.read_regular", refused)
    monkeypatch.setattr(os, "access", lambda path, *a, **k: False)
    code, _, err = run("check", job)
    assert code == 66
    assert "E111" in err


def test_check_without_a_folder_for_the_map_says_what_it_found(run, tmp_path):
    write_files(tmp_path)
    job = write_job(tmp_path)
    (tmp_path / f"{job.stem}.check").write_text("in the way")
    code, out, _ = run("check", job)
    assert code == 73
    assert "survey on the model" in out
    assert "--no-map" in out
    code, out, _ = run("check", job, "--json")
    assert code == 73
    assert json.loads(out)["errors"] == 1
    assert run("check", job, "--no-map")[0] == 0


def test_scan_of_wrong_files_prints_one_object(run, tmp_path):
    write_files(tmp_path)
    (tmp_path / "two.sgy").write_bytes(b"ab")
    code, out, err = run("scan", tmp_path / "shots.sgy", tmp_path / "two.sgy", "--json")
    assert code == 65
    assert "E212" in [f["code"] for f in json.loads(out)["findings"]]
    assert err.count("E212") == 1


def test_view_of_a_folder_of_shots_names_a_file(run, tmp_path):
    write_files(tmp_path)
    code, _, err = run("view", tmp_path)
    assert code == 65
    assert f"name one of its files: {tmp_path / 'shots.sgy'}" in err


@pytest.mark.parametrize("words", [("lab",), ("lab", "memory", "--threads", "1"), ("lab", "--help")])
def test_the_lab_that_is_not_installed_says_how_to_get_it(run, monkeypatch, words):
    monkeypatch.setattr("subsalt.extensions.extensions", lambda group: {})
    code, _, err = run(*words)
    assert code == 69
    assert "E904  subsalt lab is part of the package subsalt-lab, which is not installed" in err
    assert "pip install -e packages/lab" in err


def test_commands_that_another_package_brings_are_listed_without_it(run, monkeypatch):
    monkeypatch.setattr("subsalt.extensions.extensions", lambda group: {})
    code, out, _ = run("--help")
    assert code == 0
    assert "Measure this machine and MPI programs on it." in out


def test_the_lab_is_not_imported_by_other_commands():
    code = "import subsalt.cli.app, sys; sys.exit(any(m.startswith('subsalt_lab') for m in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)
