"""The recorded walk: which files one migration executes, in which stages."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "house_walk.py"
#: named beside the way: the formulas in NumPy
ASIDE = {"kernels/reference.py"}


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """Return the folder of a recorded migration, and its files."""
    folder = tmp_path_factory.mktemp("walk")
    words = [sys.executable, str(SCRIPT), "--json", "--folder", str(folder)]
    return folder, json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def test_the_walk_of_contributing_goes_where_a_migration_goes(walked):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## A walk through the house")[1].split("A Kirchhoff job takes the same way")[0]
    named = set(re.findall(r"src/subsalt/([\w/]+\.py)", section)) - ASIDE
    assert 25 <= len(named) <= 45
    assert named - set(walked[1]) == set()


def test_a_migration_is_followed_from_the_command_to_the_report(walked):
    folder, files = walked
    order = list(files)
    assert order[0] == "cli/app.py"
    stages = {name: file["stages"] for name, file in files.items()}
    assert stages["methods/rtm/executor.py"] == ["shots"]
    assert stages["physics/isotropic.py"] == ["shots"]
    assert "physics/tti.py" not in files
    assert "checks" in stages["check/stability.py"]
    assert "shots" not in stages["check/stability.py"]
    assert "report" in stages["report/summary.py"]
    # modules that are only imported are no part of it: their tables are, at most, read
    assert not any(name.startswith(("methods/kirchhoff/", "view/")) for name in files)
    assert (folder / "job.run" / "report.html").exists()


def test_what_an_import_executes_does_not_count(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    monkeypatch.syspath_prepend(str(tmp_path))
    import house_walk

    (tmp_path / "walked_one.py").write_text(
        "def table():\n    return 1\nTABLE = table()\ndef used():\n    return TABLE\n"
    )
    (tmp_path / "walked_two.py").write_text("def table():\n    return 1\nTABLE = table()\n")

    def work():
        import walked_one
        import walked_two

        return walked_one.used() - walked_two.TABLE

    files = house_walk.traced(work, tmp_path).files()
    assert files == {"walked_one.py": {"functions": 1, "stages": ["frame"]}}
