"""The figures of the source, on a tree whose figures are known by hand."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "house.py"

FILES = {
    # a registry: it alone imports its rules
    "check/__init__.py": "".join(f"from subsalt.check import rule{i}\n" for i in range(3)),
    **{f"check/rule{i}.py": "" for i in range(3)},
    # a circle of three over two folders, closed by an import in a function
    "run/migrate.py": "from subsalt.plan.plan import forecast\nfrom . import ledger\n",
    "plan/plan.py": "def forecast():\n    import subsalt.run.ledger\n",
    "run/ledger.py": "from .migrate import main\nclass Dealer:\n    pass\n",
    # a circle for type checkers alone
    "io/left.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from subsalt.io.right import R\n",
    "io/right.py": "import subsalt.io.left\n",
    # 61 lines without the docstring, then 60; 7 parameters, then 6
    "long.py": 'def long():\n    """Say.\n\n    More.\n    """\n' + "    x = 1\n" * 60,
    "short.py": 'def short():\n    """Say."""\n' + "    x = 1\n" * 59,
    "wide.py": "class A:\n    def wide(self, a, b, c, d, e, f, *, g): ...\n    def slim(self, a, b, c, d, e, f): ...\n",
    "ask.py": 'def ask(d):\n    if d == "cuda" or d in ("cpu", "x"):\n        return d == "other"\n',
    "kernels/cpu.py": 'NAME = "cpu" == "cpu"\n',
    "look_back.py": "def was_found(): pass\ndef foundation(): pass\nclass ToldMore: pass\n",
    "lab/rates.py": "\n" * 10,
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "src" / "subsalt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    layers = '[[tool.importlinter.contracts]]\ntype = "layers"\nlayers = ["run : plan", "io", "errors"]\n'
    (tmp_path / "pyproject.toml").write_text(layers)
    return tmp_path


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    return module


def test_sizes(house, root):
    found = house.measure(root)
    assert (found["lines_lab"], found["files"]) == (10, len(FILES) - 1)
    assert found["lines"] == sum(text.count("\n") for text in FILES.values()) - 10
    assert found["largest_file"] == [65, "subsalt.long"]
    assert found["over_600"] == []
    assert (found["layers"], found["layers_joined"]) == (3, 1)
    assert found["long_functions"] == ["subsalt.long:1 long"]
    assert found["many_parameters"] == ["subsalt.wide:2 wide"]


def test_imports(house, root):
    found = house.measure(root)
    ring = ["subsalt.plan.plan", "subsalt.run.ledger", "subsalt.run.migrate"]
    assert found["largest_circle"] == found["largest_running_circle"] == ring
    assert found["circles_across"] == [ring]
    # the ledger has two importers, rules stand in their registry
    alone = ["subsalt.io.left", "subsalt.io.right", "subsalt.plan.plan", "subsalt.run.migrate"]
    assert found["single_importer"] == alone


def test_a_module_that_alone_imports_five_of_a_folder_lists_them(house, tmp_path):
    folder = tmp_path / "src" / "subsalt"
    (folder / "rules").mkdir(parents=True)
    for i in range(5):
        (folder / "rules" / f"rule{i}.py").write_text("")
    names = [f"from subsalt.rules import rule{i}\n" for i in range(5)]
    (folder / "table.py").write_text("".join(names[:4]))
    assert len(house.measure(tmp_path)["single_importer"]) == 4
    (folder / "table.py").write_text("".join(names))
    assert house.measure(tmp_path)["single_importer"] == []


def test_a_lab_of_its_own_is_counted_as_the_lab_and_imports_like_the_rest(house, root):
    lab = root / "packages" / "lab" / "src" / "subsalt_lab"
    lab.mkdir(parents=True)
    (lab / "own.py").write_text("import subsalt.io.left\n")
    found = house.measure(root)
    assert (found["lines_lab"], found["files"]) == (11, len(FILES) - 1)
    assert "subsalt.io.left" not in found["single_importer"]


def test_devices_and_words(house, root):
    found = house.measure(root)
    assert found["device_lines"] == ["subsalt.ask:2"]
    words = {word: names for word, names in found["words"].items() if names}
    assert words == {
        "dealer": ["subsalt.run.ledger:2 Dealer"],
        "look_back": ["subsalt.look_back"],
        "told": ["subsalt.look_back:3 ToldMore"],
        "found": ["subsalt.look_back:1 was_found"],
    }


def test_circles_by_hand(house):
    edges = {"a": "b", "b": "c", "c": "a", "d": "ae", "e": "d", "f": "f", "g": ""}
    assert house.circles(edges) == [["a", "b", "c"], ["d", "e"]]


def test_the_table_shows_the_figures(house, root):
    table = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=True).stdout
    said = subprocess.run(
        [sys.executable, SCRIPT, root, "--json"], capture_output=True, text=True, check=True
    )
    figures = json.loads(said.stdout)
    assert figures == house.measure(root)
    assert "| what | today | aim |" in table
    assert f"| files in src/subsalt, without the lab | {figures['files']} | < 330 |" in table
    assert "| modules with one importer, registries aside | 4 | <= 40 |" in table


def test_the_modules_of_this_tree_are_found(house):
    found = house.read(SCRIPT.parents[1])
    assert {"subsalt", "subsalt.cli.app", "subsalt.errors"} <= set(found)
