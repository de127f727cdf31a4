"""What is wrong with the input of a time migration is said once, by one rank, and all leave with one exit code."""

import numpy as np
from launch import MPI, run

from kirchhoff_jobs import CORNERS, areal, write_job

pytestmark = MPI

#: name of a job, its exit code, the code that is said
WRONG = {
    "bands": (78, "E762"),
    "outside": (65, "E730"),
    "nan": (65, "E250"),
    "twice": (65, "E728"),
    "none": (66, "E112"),
}


def folder_of(path):
    """Write one job for each mistake."""

    def spoil(traces):
        traces[:, 40] = np.nan

    areal(path / "traces.sgy")
    areal(path / "nan.sgy", edit=spoil)
    write_job(path, "bands.toml", kirchhoff={"bands": 0})
    far = [[i, j, x + 60000.0, y] for i, j, x, y in CORNERS]
    write_job(path, "outside.toml", kirchhoff={"corners": far})
    write_job(path, "nan.toml", data={"files": ["nan.sgy"]})
    write_job(path, "none.toml", data={"files": ["nothing*.sgy"]})
    return path


def test_the_command_says_it_once(tmp_path):
    folder = folder_of(tmp_path)
    for name, command in (("outside", "migrate"), ("bands", "check")):
        done = run(2, ["subsalt", command, f"{name}.toml"], cwd=folder)
        code, said = WRONG[name]
        assert done.rc == code, done
        assert (done.err[0] + done.out[0]).count(f"{said} ") == 1, done
        assert not done.err[1], done
        assert not done.out[1], done
        assert "Traceback" not in done.err[0], done


def test_all_ranks_find_the_same(tmp_path):
    folder = folder_of(tmp_path)
    done = run(
        3,
        """
        from subsalt.errors import SubsaltError
        from subsalt.job.checking import check_job
        from subsalt.job.base import read_job
        for name in ("outside", "nan", "none", "bands"):
            try:
                result = check_job(read_job(name + ".toml"))
                print(name, result.exit_code(), sorted({f.code for f in result.findings if f.level == "error"}))
            except SubsaltError as e:
                print(name, e.exit_code, e.findings[0].code)
        """,
        cwd=folder,
    )
    assert done.rc == 0, done
    assert done.out[0] == done.out[1] == done.out[2], done
    for row in done.out[0].splitlines():
        code, said = WRONG[row.split()[0]]
        assert str(code) in row, done
        assert said in row, done
    assert len(done.out[0].splitlines()) == 4, done
