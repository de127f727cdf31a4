"""The notebooks of examples/notebooks run cell after cell, and hold no output."""

import json
import re
from pathlib import Path

import pytest

from thorough import some

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def cells(path, kind):
    """Return the sources of the cells of a kind."""
    read = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in read["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_the_form_4_5_and_no_output(path):
    read = json.loads(path.read_text(encoding="utf-8"))
    assert set(read) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (read["nbformat"], read["nbformat_minor"]) == (4, 5)
    assert read["metadata"]["kernelspec"]["language"] == "python"
    names = [cell["id"] for cell in read["cells"]]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[\w-]{1,64}", name) for name in names)
    for cell in read["cells"]:
        code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source", *code}
        assert cell["cell_type"] in ("code", "markdown")
        assert cell["metadata"] == {}
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        assert all(line.endswith("\n") for line in cell["source"][:-1])
    assert path.stat().st_size < 20_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_to_files(path):
    links = re.findall(r"\]\(([^)#]+)", "\n".join(cells(path, "markdown")))
    assert all((path.parent / link).is_file() for link in links)
    assert path.name in (ROOT / "examples" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", some(NOTEBOOKS, 1), ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run_in_their_order(path, tmp_path, monkeypatch):
    """Magics and commands behind an exclamation mark would be no Python."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, code in enumerate(cells(path, "code")):
        exec(compile(code, f"{path.name}, code {number}", "exec"), names)
        plt.close("all")
    if path.stem == "arrays":
        assert all(abs(true - depth) < 35.0 for true, depth in names["imaged"].items())
        assert (tmp_path / "arrays.png").stat().st_size > 10_000
    elif path.stem == "segy_to_image":
        assert not [f for f in names["checked"].findings if f.level == "error"]
        assert names["run"].shots_done == [1, 2, 3, 4, 5, 6]
        assert names["run"].report.is_file()
    else:
        assert names["correlation"].any()
        assert names["part"].shots_done == [2]


def test_there_are_the_three_of_the_gallery(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    import gallery

    assert {path.stem for path in NOTEBOOKS} == {
        gallery.name_of(example) for example in gallery.SHOWN if example.file.endswith(".ipynb")
    }
    page = gallery.pages()["gallery/segy_to_image.md"]
    assert "](look_into_a_run.md)" in page
    assert "](../tutorials/first-image.md)" in page
    assert page.count("```python") == len(
        cells(ROOT / "examples" / "notebooks" / "segy_to_image.ipynb", "code")
    )
