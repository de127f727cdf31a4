"""A stranger's questions are answered on the pages of docs/notes/twenty-questions.md, a few clicks from home."""

import importlib
import posixpath
import re
import tomllib
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROW = re.compile(
    r"^\| (?P<question>.+?\?) (?:.*?)\| (?P<page>\S+) \| (?P<words>.+?) \| (?P<clicks>\d) \|$", re.M
)


def texts(build):
    """Return the Markdown of every page of the site by its name, with the generated ones and the navigation."""
    navigation = tomllib.loads((DOCS / "site" / "navigation.toml").read_text(encoding="utf-8"))
    made = {
        name.removesuffix(".md"): path.read_text(encoding="utf-8")
        for name, path in build.sources().items()
        if name.endswith(".md")
    }
    made |= build.headings(navigation, made["index"])
    for module in (build.command_pages, build.job_pages, build.api_pages, build.gallery):
        made |= {name.removesuffix(".md"): text for name, text in module.pages().items()}
    return made


def targets(name, text):
    """Return the pages that a page leads to: by its links and by its tables of contents."""
    linked = re.findall(r"\]\(([^)\s#:]+)\.md(?:#[^)]*)?\)", text)
    trees = re.findall(r"```\{toctree\}\n(.*?)```", text, re.S)
    linked += [line for tree in trees for line in tree.split() if line[0] not in ":0123456789"]
    folder = posixpath.dirname(name)
    return {posixpath.normpath(posixpath.join("/", folder, to)).lstrip("/") for to in linked}


@pytest.fixture(scope="module")
def site():
    """Return the texts of the pages, and how many clicks each is from the home page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS / "site")
        made = texts(importlib.import_module("build"))
    clicks, edge = {"index": 0}, ["index"]
    while edge:
        reached = [(to, clicks[name] + 1) for name in edge for to in targets(name, made[name]) if to in made]
        edge = []
        for to, number in reached:
            if to not in clicks:
                clicks[to] = number
                edge.append(to)
    return made, clicks


def test_every_question_is_answered_where_the_list_says_and_within_three_clicks(site):
    made, clicks = site
    rows = list(ROW.finditer((DOCS / "notes" / "twenty-questions.md").read_text(encoding="utf-8")))
    assert len(rows) == 20
    for row in rows:
        assert row["words"] in " ".join(made[row["page"]].split()), row["question"]
        assert clicks[row["page"]] == int(row["clicks"]) <= 3, row["question"]


def test_every_page_is_within_three_clicks(site):
    made, clicks = site
    assert not [name for name in made if clicks.get(name, 9) > 3]


def test_the_home_page_links_to_every_page_of_the_navigation(site):
    navigation = tomllib.loads((DOCS / "site" / "navigation.toml").read_text(encoding="utf-8"))
    listed = [
        page for heading in navigation["heading"] for page in heading.get("pages", [heading.get("page")])
    ]
    assert not set(listed) - targets(
        "index", re.sub(r"```\{toctree\}.*?```", "", site[0]["index"], flags=re.S)
    )
