"""Links of the pages lead somewhere, the files they name exist, their words are plain, and the code they show runs."""

import functools
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from thorough import ALL

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]


@functools.cache
def generated():
    """Return the text of the pages that the site generates from the schema of job files, by path."""
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    try:
        pages = importlib.import_module("job_pages").pages()
    finally:
        sys.path.pop(0)
    return {ROOT / "docs" / name: text for name, text in pages.items()}


def text_of(page):
    """Return the text of a page, written or generated."""
    return generated()[page.resolve()] if not page.exists() else page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_exist(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    targets = [t.split("#")[0] for t in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in t]
    paths = [page.parent / target for target in targets if target]
    missing = [path for path in paths if not path.exists() and path.resolve() not in generated()]
    assert not missing


def script(name):
    """Return a script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def anchors(page):
    """Return the anchors of a page: of its headings, as the site and code hosts make them, and its own."""
    text = re.sub(r"```.*?```", "", text_of(page), flags=re.S)
    heads = re.findall(r"^#+ (.*)", text, re.M)
    slugs = {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", head.lower()).strip()) for head in heads}
    return slugs | set(re.findall(r"\{#([\w-]+)\}", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_anchors_exist(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    links = [t.partition("#")[::2] for t in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in t]
    named = [(page.parent / to if to else page, anchor) for to, anchor in links if anchor]
    pages = [(to, anchor) for to, anchor in named if to.suffix == ".md"]
    assert not [(to.name, anchor) for to, anchor in pages if anchor not in anchors(to)]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|native|tests|docs)/[\w./-]+)", text)
    # NAME and SUBJECT are for the reader to fill in
    named = [name for name in named if not re.search(r"[A-Z]{4}", name)]
    assert len(named) > 10
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_layers_are_those_of_the_contract():
    made = script("make_architecture")
    text = made.PAGE.read_text(encoding="utf-8")
    assert made.page(text) == text, "run: python docs/make_architecture.py"


def test_words_are_plain():
    """Of every twentieth file; `make lint` and ``make test-all`` read all of them."""
    words = script("check_words")
    pages = list(words.pages())[:: 1 if ALL else 20]
    assert not [line for page in pages for line in words.findings(page)]


def test_a_listed_phrase_is_found_even_across_lines(tmp_path, monkeypatch):
    words = script("check_words")
    monkeypatch.setattr(words, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("a\n\nIt goes\non there. `goes on`\n\n```\ngoes on\n```\n", encoding="utf-8")
    assert list(words.findings(page)) == ["page.md:3: 'goes on': continue, be resumed"]
    texts = tmp_path / "texts.toml"
    texts.write_text(
        '[E1]\nmeaning = """\nit goes\non where it is told to. `it\ngoes on`"""\n', encoding="utf-8"
    )
    assert [line.split(":")[1] for line in words.findings(texts)] == ["3", "4"]


def test_docstrings_and_names_that_say_nothing_are_found(tmp_path, monkeypatch):
    words = script("check_words")
    monkeypatch.setattr(words, "ROOT", tmp_path)
    source = tmp_path / "source.py"
    source.write_text(
        '"""What it is.\n\nOf old."""\n\n\ndef f(told):\n    """Return.\n\n    Parameters\n    ----------\n'
        '    told : int\n        Of it.\n    """\n    found = told\n    return found\n',
        encoding="utf-8",
    )
    assert sorted(int(line.split(":")[1]) for line in words.findings(source)) == [1, 6, 12, 14]
    monkeypatch.setattr(words, "HELD_DOCSTRINGS", ("source",))
    monkeypatch.setattr(words, "HELD_NAMES", ("source.py",))
    assert not list(words.findings(source))


def test_strings_that_users_see_are_read(tmp_path, monkeypatch):
    words = script("check_words")
    monkeypatch.setattr(words, "ROOT", tmp_path)
    source = tmp_path / "source.py"
    source.write_text(
        'option(1, help="Ranks on each node; 1.")\nsay(f"{n} traces; mend them")\nraise OddError("x", "copy it anew")\n'
        'quiet("anew")\nsay("`mend`")\nok(text, fix="is held against the model")\n',
        encoding="utf-8",
    )
    assert [int(line.split(":")[1]) for line in words.findings(source)] == [1, 2, 3, 6]
