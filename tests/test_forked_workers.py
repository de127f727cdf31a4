"""Forks of the process that collected the tests run them, each file in one of them, whatever a test does to its own."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from forked_workers import spread

HERE = Path(__file__).parent
FILES = {
    "conftest.py": """
        import sys
        sys.path.insert(0, {here!r})
        from forked_workers import ForkedWorkers
        def pytest_addoption(parser):
            parser.addoption("--forks", type=int, default=0)
            parser.addoption("--order", type=int)
        def pytest_configure(config):
            config.pluginmanager.register(ForkedWorkers(config.getoption("--forks"), config.getoption("--order")))
        """,
    "test_a.py": """
        import os, pathlib, pytest, warnings
        print("collected by", os.getpid(), file=open("pids", "a"))
        @pytest.fixture(scope="module")
        def made(tmp_path_factory):
            yield tmp_path_factory.mktemp("made")
            print("torn down", os.getpid(), file=open("pids", "a"))
        @pytest.mark.parametrize("n", range(3))
        def test_passes(made, capfd, n):
            os.system("echo out; echo err >&2")
            assert capfd.readouterr() == ("out\\n", "err\\n")
            print("ran in", os.getpid(), made, file=open("pids", "a"))
        def test_warns():
            warnings.warn("of the weather")
        """,
    "test_b.py": """
        import os, pytest
        def test_before():
            pass
        def test_ends_its_process():
            os._exit(3)
        def test_after():
            print("said")
            assert os.path.exists("nowhere")
        @pytest.mark.skip("no reason")
        def test_skipped():
            pass
        """,
    "test_c.py": """
        def test_last(tmp_path):
            assert "fork" in str(tmp_path)
        """,
}


def session(folder: Path, *words: str) -> tuple[int, str]:
    """Run the tests of a folder; return the exit code and what was printed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *words]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_forks_run_what_was_collected_once(tmp_path):
    from textwrap import dedent

    for name, text in FILES.items():
        (tmp_path / name).write_text(dedent(text).replace("{here!r}", repr(str(HERE))))
    code, said = session(tmp_path, "--forks", "2")
    assert code == 1, said
    assert "2 failed, 6 passed, 1 skipped, 1 warning" in said
    assert "the worker ended with exit code 3" in said
    assert "of the weather" in said
    assert re.search(r"Captured stdout call -+\nsaid\n", said)
    pids = (tmp_path / "pids").read_text().splitlines()
    assert len(pids) == 5
    ran = {line.split()[2] for line in pids[1:4]}
    # one worker, one folder of the module, and its end is that worker's
    assert len(ran) == 1
    assert ran != {pids[0].split()[2]}
    assert len({line.split()[3] for line in pids[1:4]}) == 1
    assert pids[4] == f"torn down {ran.pop()}"
    code, said = session(tmp_path, "--forks", "1", "-x")
    assert code == 1
    assert "1 failed, 5 passed" in said
    orders = set()
    for seed in "01":
        code, said = session(tmp_path, "--forks", "1", "--order", seed, "-v")
        assert code == 1
        assert "2 failed, 6 passed, 1 skipped, 1 warning" in said
        orders.add(tuple(dict.fromkeys(re.findall(r"^test_[abc]", said, re.MULTILINE))))
    assert len(orders) > 1


def test_files_of_a_folder_are_spread_over_the_session():
    folders = {"a": 1, "mpi": 2, "run": 4}
    files = [
        [SimpleNamespace(path=Path(folder, f"test_{i}.py"))]
        for folder, n in folders.items()
        for i in range(n)
    ]
    order = [str(file[0].path) for file in spread(files)]
    assert order == [
        f"{folder}/test_{i}.py"
        for folder, i in (("run", 0), ("mpi", 0), ("run", 1), ("a", 0), ("run", 2), ("mpi", 1), ("run", 3))
    ]
