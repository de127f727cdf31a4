"""The command under mpiexec: said once, with the exit code of its class, and all ranks leave."""

import json

import pytest
from launch import MPI, run

from job_files import RUN, write_files
from subsalt.methods.rtm.job import Job
from subsalt.run.migrate import migrate_job
from thorough import ALL, thorough

pytestmark = MPI


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("command")
    write_files(path)
    (path / "job.toml").write_text(RUN)
    (path / "bad_key.toml").write_text(RUN.replace("f0 =", "frequency ="))
    (path / "no_model.toml").write_text(RUN.replace('vp = "vp.rsf"', 'vp = "nowhere.rsf"'))
    (path / "unstable.toml").write_text(RUN + "\n[propagation]\ndt = 0.1\n")
    return path


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        (["migrate", "no_job.toml"], 66, "no_job.toml"),
        pytest.param(["model", "bad_key.toml"], 78, "frequency", marks=thorough),
        (["check", "no_model.toml", "--no-map"], 66, "nowhere.rsf"),
        pytest.param(["migrate", "unstable.toml"], 65, "dt", marks=thorough),
        (["migrate", "job.toml", "--no-such-option"], 2, "--no-such-option"),
        (["model", "job.toml"], 78, "[acquisition]"),
        pytest.param(["view", "nothing.sgy"], 66, "nothing.sgy", marks=thorough),
    ],
)
def test_wrong_input_is_said_once(folder, command, code, text):
    done = run(2, ["subsalt", *command], cwd=folder)
    assert done.rc == code, done
    assert not any(done.err[1:]), done
    assert not any(done.out[1:]), done
    assert text in done.err[0] + done.out[0], done
    assert "Traceback" not in done.err[0], done
    assert not done.mpiexec, done


def test_errors_as_json_are_one_object(folder):
    done = run(2, ["subsalt", "migrate", "no_model.toml", "--json"], cwd=folder)
    assert done.rc == 66, done
    assert json.loads(done.out[0])["error"]["exit"] == 66
    assert not done.out[1]


def test_a_command_that_is_not_parallel_is_done_by_one_rank(folder):
    done = run(3, ["subsalt", "scan", "shots.sgy"], cwd=folder)
    assert done.rc == 0, done
    assert "shots 3 " in done.out[0]
    assert done.err == ["subsalt scan works in one process; 2 other ranks had nothing to do\n", "", ""], done
    assert not any(done.out[1:])


def test_help_is_given_once(folder):
    for arguments in (["migrate", "--help"], []):
        done = run(2, ["subsalt", *arguments], cwd=folder)
        assert "Usage: subsalt" in done.out[0] + done.err[0], done
        assert (done.out[1], done.err) == ("", [done.err[0], ""]), done


def test_a_check_says_what_one_process_says(folder):
    done, alone = (run(n, ["subsalt", "check", "job.toml", "--no-map"], cwd=folder) for n in (2, 1))
    assert (done.rc, alone.rc) == (0, 0), done
    assert done.out == [alone.out[0], ""], done
    assert done.err == ["", ""], done


@pytest.mark.parametrize(
    ("failing", "debug"), [pytest.param(1, False, marks=thorough), (0, False), (1, True)]
)
def test_an_unexpected_error_of_one_rank_ends_all(folder, failing, debug):
    # an error in the middle of the work, where nobody agrees with anybody
    program = f"""
        import sys
        from subsalt.cli import main
        from subsalt.parallel import comm
        from subsalt.run import migrate as engine
        def migrate(*arguments, **options):
            world = comm.world()
            if world.rank == {failing}:
                raise RuntimeError("planted")
            world.allgather(1)
        engine.migrate_checked = migrate
        main(["migrate", "job.toml"] + {["--debug"] if debug else []})
    """
    done = run(2, program, cwd=folder)
    assert done.rc == 70, done
    said = "".join(done.err)
    assert said.count("internal error: RuntimeError: planted") == 1, done
    assert ("Traceback" in said) == debug, done
    assert (f"(rank {failing} on " in said) == (failing != 0), done


@pytest.mark.parametrize(
    ("where", "failing"),
    [
        (
            "subsalt.methods.rtm.migrate.write_partial",
            1,
        ),  # in the middle of the work: nobody agrees with anybody
        ("subsalt.report.write", 0),  # at its end, where all ranks come together
    ],
)
def test_a_full_disk_of_one_rank_ends_all(folder, tmp_path, where, failing):
    module, function = where.rsplit(".", 1)
    program = f"""
        import importlib
        from subsalt.parallel import comm
        from subsalt.cli import main
        from subsalt.errors import DiskError
        module = importlib.import_module("{module}")
        careful = module.{function}
        def full(*arguments, **named):
            if comm.world().rank == {failing}:
                raise DiskError("no space", "make room", code="E620")
            return careful(*arguments, **named)
        module.{function} = full
        main(["migrate", "job.toml", "--run", {str(tmp_path / "run")!r}])
    """
    done = run(2, program, cwd=folder)
    assert done.rc == 74, done
    said = "".join(done.err)
    assert said.count("error E620  no space") == 1, done
    assert ("(rank 1 on " in said) == (failing == 1), done
    assert not done.mpiexec, done
    if not ALL and failing == 0:  # that it goes on is told by the other one
        return
    assert len(migrate_job(Job.from_toml(folder / "job.toml"), tmp_path / "run").shots_done) == 3


def test_a_program_of_ones_own_is_watched_too(folder, tmp_path):
    # the calls that the command makes, in a script: started by mpiexec it migrates on all ranks
    done = run(
        2,
        f"""
        from pathlib import Path
        from subsalt.parallel import watchdog
        from subsalt.methods.rtm.job import Job
        from subsalt.run.migrate import migrate_job
        seen = []
        result = migrate_job(
            Job.from_toml("job.toml"),
            Path({str(tmp_path / "run")!r}),
            lambda *told: seen.append(watchdog._watching is not None),
        )
        print(len(result.shots_done), all(seen), watchdog._watching is None)
        """,
        cwd=folder,
    )
    assert done.rc == 0, done
    assert done.out == ["3 True True\n"] * 2, done
