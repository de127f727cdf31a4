"""The pages of job keys describe every key of every table; those that explain them name real keys, codes and jobs."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from subsalt import error_texts
from subsalt.methods import METHODS, method_of
from subsalt.methods.rtm.job import Job

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDES = {
    name: (DOCS / "reference" / name).read_text(encoding="utf-8") for name in ("job.md", "kirchhoff.md")
}


@pytest.fixture
def job_pages(monkeypatch):
    """Return the module that writes the pages of job keys."""
    monkeypatch.syspath_prepend(DOCS / "site")
    return importlib.import_module("job_pages")


def test_every_key_has_a_row_with_its_meaning(job_pages):
    for name, text in job_pages.pages().items():
        rows = re.findall(r"^\| \[`(\w+)`\]\{#([\w-]+)\} \|.*\| (.*) \|$", text, re.M)
        assert rows or name.endswith("index.md")
        assert not [anchor for _, anchor, meaning in rows if len(meaning) < 5], name


def test_the_pages_have_the_keys_of_the_sections_in_their_order(job_pages):
    pages = job_pages.pages()
    for table in job_pages.Schema().tables():
        section = next(
            field.annotation
            for name, field in method_of(table.method).job_class().model_fields.items()
            if name == table.name
        )
        section = next((part for part in getattr(section, "__args__", ()) if part is not type(None)), section)
        first = pages[f"{job_pages.FOLDER}/{table.file}.md"].split("\n## ")[0]
        assert re.findall(r"^\| \[`(\w+)`\]", first, re.M) == list(section.model_fields)


def test_every_table_of_both_methods_is_explained_and_linked(job_pages):
    assert {key.split(".")[0] for key in job_pages.PROSE} == set(METHODS)
    for table in job_pages.Schema().tables():
        guide = job_pages.PROSE[f"{table.method}.{table.name}"].partition("#")[0]
        assert f"](keys/{table.file}.md)" in GUIDES[guide]


@pytest.mark.parametrize("guide", GUIDES)
def test_codes_and_the_smallest_job_are_real(guide):
    text = GUIDES[guide]
    assert all(error_texts.lookup(code) for code in re.findall(r"\b[EW][1-9]\d\d\b", text))
    smallest = re.search(r"[Tt]he smallest.*?```toml\n(.*?)```", text, re.S)
    method = "kirchhoff" if guide == "kirchhoff.md" else "rtm"
    assert Job.from_dict(tomllib.loads(smallest[1])).method == method


@pytest.mark.parametrize("guide", GUIDES)
def test_the_tables_in_examples_have_only_known_keys(guide, job_pages):
    pages = job_pages.pages()
    anchors = {anchor for text in pages.values() for anchor in re.findall(r"\{#([\w-]+)\}", text)}
    for block in re.findall(r"```toml\n(.*?)```", GUIDES[guide], re.S):
        for name, table in (tomllib.loads(block) if "\n[" in f"\n{block}" else {}).items():
            if isinstance(table, dict):
                missing = {key for key in table if not anchors & {f"{name}-{key}", f"kirchhoff-{name}-{key}"}}
                assert not missing, block
