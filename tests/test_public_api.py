"""The public interface: what `subsalt.__all__` names, what the pages import, and what earlier versions called it."""

import inspect
import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

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
    """Neither matplotlib, scipy nor the job file's models are imported with the package."""
    code = "import sys, subsalt; print([m for m in ('matplotlib', 'scipy', 'pydantic', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_the_time_step_takes_an_order_by_its_old_name():
    model = subsalt.EarthModel(subsalt.Grid((8, 8), (10.0, 10.0)), 2000.0)
    assert model.stable_dt() == model.stable_dt(subsalt.PropagationOptions().order) == model.stable_dt(8)
    with pytest.warns(DeprecationWarning, match="stable_dt"):
        assert model.stable_dt(order=4) == model.stable_dt(4)
