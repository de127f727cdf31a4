"""The tables and the picture of docs/theory/kirchhoff.md are those of the filters."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make_filters", DOCS / "make_filters.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text():
    return (DOCS / "theory" / "kirchhoff.md").read_text(encoding="utf-8")


def test_interpolation_and_picture_are_made_from_the_code(made):
    assert made.tables()["interpolation"] in text(), "run python docs/make_filters.py"
    assert (DOCS / "kirchhoff-filters.svg").read_text(encoding="utf-8") == made.picture()


def test_antialiasing_was_measured(made):
    """Noise far below that of no antialiasing is cancellation, whose last digit belongs to the instruction set."""
    begin, end = "<!-- antialiasing: begin -->\n", "<!-- antialiasing: end -->"
    lines = text().split(begin)[1].split(end)[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    now = made.antialiasing()
    assert [row[0] for row in rows] == [row[0] for row in now]
    for (_, noise, flat, dip), (_, *fresh) in zip(rows, now, strict=True):
        assert float(noise) == pytest.approx(float(fresh[0]), abs=1)
        assert float(flat) == pytest.approx(float(fresh[1]), abs=0.11)
        assert float(dip) == pytest.approx(float(fresh[2]), abs=0.11)


def test_the_python_of_the_page_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", text(), re.S)
    exec(compile(code, "kirchhoff.md", "exec"), {})
    assert "(4, 10, 5, 672)" in capsys.readouterr().out


def test_the_numbers_of_interpolation_are_those_of_their_script():
    """Least squares by LAPACK: digits beyond the sixth depend on the machine."""
    from subsalt.methods.kirchhoff import prepare as interpolator

    spec = importlib.util.spec_from_file_location("make_interpolator", DOCS / "make_interpolator.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    even, odd = module.design()
    np.testing.assert_allclose(even, interpolator.EVEN, atol=1e-5)
    np.testing.assert_allclose(odd, interpolator.ODD, atol=1e-5)
