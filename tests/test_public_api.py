"""The public interface: what `subsalt.__all__` names, what the pages import, and what earlier versions called it."""

import ast
import inspect
import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import subsalt
from subsalt import _moved

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
IMPORT = re.compile(r"^\s*(from subsalt[\w.]* import [\w, ]+|import subsalt[\w.]*(?: as \w+)?)$", re.M)


@pytest.mark.parametrize("name", [n for n in subsalt.__all__ if n != "__version__"])
def test_every_public_name_is_there_and_documented(name):
    thing = getattr(subsalt, name)
    assert inspect.getdoc(thing)
    assert name in dir(subsalt)


def test_another_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        subsalt.nothing  # noqa: B018
    with pytest.raises(ImportError):
        import_module("subsalt.survey_of_nothing")


def imports():
    """Yield every import of subsalt in the Python blocks of the pages, with its page."""
    for page in PAGES:
        for block in re.findall(r"^ *```python\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.M | re.S):
            for line in IMPORT.findall(block):
                yield pytest.param(line.strip(), id=f"{page.stem}: {line.strip()}")


@pytest.mark.parametrize("line", list(imports()))
def test_every_import_on_a_page_works_and_is_of_today(line):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        exec(line, {})


@pytest.mark.parametrize(
    ("module", "name"), [(m, n) for table in (_moved.NAMES, _moved.PACKAGES) for m in table for n in table[m]]
)
def test_what_0_7_documented_still_imports_with_a_warning(module, name):
    old = import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{re.escape(module)}.{name} has moved: use "):
        thing = getattr(old, name)
    assert thing is getattr(import_module({**_moved.NAMES, **_moved.PACKAGES}[module][name]), name)
    with pytest.raises(AttributeError):
        old.nothing  # noqa: B018


def test_importing_subsalt_stays_cheap():
    """It imports no other package: neither NumPy nor what conversions to other libraries need."""
    code = (
        "import sys; before = set(sys.modules); import subsalt; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(new - sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "['subsalt']", done


def test_the_time_step_takes_an_order_by_its_old_name():
    model = subsalt.EarthModel(subsalt.Grid((8, 8), (10.0, 10.0)), 2000.0)
    assert model.stable_dt() == model.stable_dt(subsalt.PropagationOptions().order) == model.stable_dt(8)
    with pytest.warns(DeprecationWarning, match="stable_dt"):
        assert model.stable_dt(order=4) == model.stable_dt(4)


def test_help_begins_with_a_run_and_lists_every_public_name_by_topic():
    said = inspect.getdoc(subsalt)
    listed = [name for row in re.findall(r"^    (`.*)$", said, re.M) for name in re.findall(r"`(\w+)`", row)]
    assert listed == [name for name in subsalt.__all__ if name != "__version__"]
    assert listed[:4] == ["Grid", "EarthModel", "Survey", "Shot"]
    first = said.split("::\n", 1)[1].split("\nLengths")[0]
    assert "subsalt.plot(" in first
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    names = {}
    exec(inspect.cleandoc("\n" + first), names)
    # the step between 790 and 800 m is the strongest event below the source
    assert abs(10.0 * int(np.abs(names["result"].image[150]).argmax()) - 795.0) <= 10.0


def test_the_stub_for_editors_has_every_public_name_from_where_it_is():
    stub = Path(subsalt.__file__).with_suffix(".pyi").read_text("utf-8")
    named = {
        alias.asname: node.module
        for node in ast.walk(ast.parse(stub))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("subsalt")
        for alias in node.names
    }
    assert named == subsalt._HOME
