"""The figures of the source, on a tree whose figures are known by hand."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "house.py"

FILES = {
    # a registry of rules
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
    "look_back.py": "def was_found(): pass\ndef foundation(): pass\nclass ToldMore: pass\nasked = told_more = 1\n",
    # two parts of 50 lines, tied to nothing; then the same, one naming the other by way of a constant
    "two.py": "def left():\n" + "    x = 1\n" * 49 + "def right():\n" + "    x = 1\n" * 49,
    "one.py": "N = 1\ndef left():\n" + "    x = N\n" * 49 + "def right():\n" + "    x = N\n" * 49,
    "nearly.py": "def left():\n" + "    x = 1\n" * 49 + "def right():\n" + "    x = 1\n" * 48,
    # physics that reaches three files: one at the head, one in a function, one further on; a fourth for types alone
    "api.py": "from typing import TYPE_CHECKING\nimport subsalt.two\nif TYPE_CHECKING:\n    import subsalt.wide\n"
    "def f():\n    from subsalt.ask import ask\n    from subsalt import _native\n",
    "physics/one_more.py": '"""Not netcdf here."""\nFORMAT = "netcdf"\n',
    "lab/rates.py": "\n" * 10,
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "src" / "subsalt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def house():
    sys.path.insert(0, str(SCRIPT.parent))
    spec = importlib.util.spec_from_file_location("house", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    return module


def test_sizes(house, root):
    figures = house.measure(root)
    assert figures["lines_lab"] == 10
    assert figures["lines"] == sum(text.count("\n") for text in FILES.values()) - 10
    assert figures["largest_file"] == "101 subsalt.one"
    assert figures["over_600"] == []
    assert figures["long_functions"] == ["subsalt.long:1 long"]
    assert figures["many_parameters"] == ["subsalt.wide:2 wide"]


def test_imports(house, root):
    figures = house.measure(root)
    ring = ["subsalt.plan.plan", "subsalt.run.ledger", "subsalt.run.migrate"]
    assert figures["largest_circle"] == figures["largest_running_circle"] == ring
    assert figures["circles_across"] == [ring]


def test_reach_counts_imports_in_functions_and_none_for_types(house, root):
    figures = house.measure(root)
    lines = sum(FILES[f"{name}.py"].count("\n") for name in ("api", "two", "ask"))
    assert figures["reach api"] == [3, lines]
    assert figures["reach methods.rtm.engine"] == [0, 0]


def test_a_file_of_two_ideas_has_two_parts_that_nothing_ties(house, root):
    assert house.measure(root)["two_ideas"] == {"subsalt.two": ["50 right", "50 left"]}


def test_the_radius_of_a_change_is_the_files_that_name_its_example(house, root):
    assert house.measure(root)["radius a file format of volumes"] == ["src/subsalt/physics/one_more.py"]


def test_namesakes(house, root):
    (root / "src/subsalt/again.py").write_text("class A: pass\nclass _B: pass\n")
    (root / "src/subsalt/short.py").write_text("class _B: pass\n")
    assert house.measure(root)["namesakes"] == {"A": ["subsalt.again", "subsalt.wide"]}


def test_a_class_that_every_device_has_counts_once(house, root):
    (root / "src/subsalt/kernels/cuda").mkdir(parents=True)
    for folder in ("", "cuda/"):
        (root / f"src/subsalt/kernels/{folder}__init__.py").write_text("")
        (root / f"src/subsalt/kernels/{folder}steps.py").write_text("class Segment: pass\nclass Own: pass\n")
    own = ["subsalt.kernels.cuda.steps", "subsalt.kernels.steps"]
    assert house.measure(root)["namesakes"] == {"Own": own}
    (root / "src/subsalt/again.py").write_text("class Segment: pass\n")
    assert house.measure(root)["namesakes"]["Segment"] == ["subsalt.again", "subsalt.kernels"]


def test_a_figure_over_its_limit_ends_with_one(house, root, monkeypatch):
    monkeypatch.setattr(
        house, "HELD", {"two_ideas": 1, "reach api": [3, 200], "largest_circle": 3, "device_lines": 1}
    )
    assert house.over(house.measure(root)) == []
    assert house.main([str(root), "--hold"]) == 0
    monkeypatch.setattr(house, "HELD", {"two_ideas": 0, "reach api": [3, 100]})
    assert house.over(house.measure(root)) == [
        "two_ideas: 1, at most 0",
        "reach api: 3 / 110, at most 3 / 100",
    ]
    assert house.main([str(root), "--hold"]) == 1


def test_a_lab_of_its_own_is_counted_as_the_lab(house, root):
    lines = house.measure(root)["lines"]
    lab = root / "packages" / "lab" / "src" / "subsalt_lab"
    lab.mkdir(parents=True)
    (lab / "own.py").write_text("import subsalt.io.left\n")
    figures = house.measure(root)
    assert (figures["lines_lab"], figures["lines"]) == (11, lines)


def test_devices_and_words(house, root):
    figures = house.measure(root)
    assert figures["device_lines"] == ["subsalt.ask:2"]
    words = {word: names for word, names in figures["words"].items() if names}
    assert words == {
        "dealer": ["subsalt.run.ledger:2 Dealer"],
        "look_back": ["subsalt.look_back"],
        "told": ["subsalt.look_back:3 ToldMore"],
        "found": ["subsalt.look_back:1 was_found"],
        "asked": ["subsalt.look_back:4"],
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
    modules, lines = house.HELD["reach api"]
    assert f"| files / lines that `api` reaches | 3 / 110 | <= {modules} / {lines} |" in table
    assert "| files of two ideas | 1 | <= 8 |" in table


def test_the_modules_of_this_tree_are_found(house, monkeypatch):
    # by their files: `make lint` reads what is in them, which takes seconds
    monkeypatch.setattr(sys.modules["house_source"].ast, "parse", lambda text: ast.Module([], []))
    modules = house.read(SCRIPT.parents[1])
    assert {"subsalt", "subsalt.cli.app", "subsalt.errors"} <= set(modules)
