"""Figures of hand-written tables have a record; those that have none say so, and on what they were taken."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_figures", DOCS / "check_figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_figure_has_a_record(check):
    assert check.found() == []


README = """
## How fast

| | Zen 5, versions 0.2 to 0.4 | Zen 4, 0.8 |
|---|---|---|
| RTM of a shot in 2-D / 3-D | 1.65 / 2.27 | 2.63 / 1.72 |
{row}

Text. {text}

## Next

9.99
"""


@pytest.mark.parametrize(
    ("row", "text", "wrong"),
    [
        ("", "", []),
        # the record of that version has no such side, although another column has, and other records such numbers
        ("| the same with the whole grid computed | 1.57 / 1.59 | 2.46 / 1.20 |", "", ["1.57", "1.59"]),
        ("| the same with the whole grid computed | 2.46 | 2.46 / 1.20 |", "", ["2.46"]),
        ("| VTI step | 1.62 / 1.17 | 1.64 / 1.20 |", "", ["1.62"]),
        ("| something new | | 30 % and 12 s |", "", ["30", "12"]),
        ("", "It takes 3.50 times as long, since version 0.4, of 256^3 points.", ["3.50"]),
    ],
)
def test_a_figure_without_a_record_is_found(check, row, text, wrong):
    page = README.format(row=row, text=text)
    lines = list(check.missing("README.md", page, "## How fast"))
    assert [re.search(r"no record has ([\d.]+)", line)[1] for line in lines] == wrong


def test_the_sections_that_are_checked_have_tables(check):
    for page, heading in check.SECTIONS:
        text = (check.ROOT / page).read_text(encoding="utf-8")
        assert list(check.tables(check.section(text, heading)))


def test_trials_say_on_what_they_were_taken():
    """Each chapter of the notes on kernels names processor and date, or says that its figures are counted."""
    text = (DOCS / "notes" / "kernels.md").read_text(encoding="utf-8")
    chapters = re.split(r"^## ", text, flags=re.M)[1:]
    assert len(chapters) >= 5
    for chapter in chapters:
        named = re.search(r"family \d+, model \d+", chapter) and re.search(r"20\d\d-\d\d-\d\d", chapter)
        assert named or "Not run on a GPU" in chapter, chapter.splitlines()[0]
    named = re.findall(r"`docs/performance/([\w-]+\.json)`", text)
    assert named
    assert all((DOCS / "performance" / name).exists() for name in named)
