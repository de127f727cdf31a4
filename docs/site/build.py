"""Build the documentation site: gather the pages of docs/, write the generated ones, run Sphinx.

``python docs/site/build.py [FOLDER]`` writes the site to FOLDER, by default ``build/docs``. Pages are copied to
``build/docs-source``, so that nothing generated lies among what is written by hand. All pages are read each time, since
a change of one page may break a link of another. Every warning is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import api_pages
import command_pages
import gallery
import job_pages

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
SOURCE = ROOT / "build" / "docs-source"
#: what is copied from docs/ to the site's source
KINDS = (".md", ".png", ".svg", ".html", ".json")
#: folders of docs/ that are no pages
LEFT_OUT = ("site", "__pycache__")
#: where the home page names what only the site has
MARK = "<!-- site: generated pages -->"
GENERATED = """Written from the program:

| page | content |
|---|---|
| [Options of every command](reference/options/index.md) | what `--help` prints |
| [Keys of the job file](reference/keys/index.md) | every table, from the schema |
| [Python interface](reference/python/index.md) | every public name, from its docstring |
| [Gallery](gallery/index.md) | the examples by their pictures |
| [Laboratory notes](notes/index.md) | how results were obtained, for developers |
"""


def write(path: Path, text: str) -> None:
    """Write a file unless it has that content already: Sphinx reads changed files only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def toctree(pages: list[str], *options: str) -> str:
    """Return the Markdown of a table of contents."""
    return "\n".join(["```{toctree}", *(f":{o}" for o in options), *(f"/{p}" for p in pages), "```", ""])


def captioned(heading: dict) -> str:
    """Return the tables of contents of a heading: a new one at each page that has a caption above it."""
    captions = heading.get("captions", {})
    starts = [i for i, page in enumerate(heading["pages"]) if i == 0 or page in captions]
    trees = []
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        pages = heading["pages"][start:end]
        caption = [f"caption: {captions[pages[0]]}"] if pages[0] in captions else []
        trees.append(toctree(pages, "hidden:", "maxdepth: 1", *caption))
    return "\n".join(trees)


def section_of(home: str, title: str, folder: str) -> str:
    """Return the section of the home page whose heading begins with a title, its links seen from a folder of docs/."""
    bodies = [part for part in home.split("\n## ") if part.startswith(title)]
    if len(bodies) != 1:
        raise SystemExit(
            f"docs/index.md: {len(bodies)} sections begin with {title!r}, where there must be one"
        )
    body = bodies[0].partition("\n")[2]
    up = "../" * len(Path(folder).parts)
    return re.sub(r"\]\((?!https?:|#)", f"]({up}", body).strip()


def headings(navigation: dict, home: str) -> dict[str, str]:
    """Return the pages that hold the navigation, by name: the home page with it, and one page for each heading."""
    home = home.replace(MARK, GENERATED)
    pages, top = {}, []
    for heading in navigation["heading"]:
        top.append(heading.get("page") or heading["name"])
        if "name" in heading:
            text = section_of(home, heading["title"], str(Path(heading["name"]).parent))
            pages[heading["name"]] = f"# {heading['title']}\n\n{text}\n\n{captioned(heading)}"
    notes = "# Laboratory notes\n\nHow results were obtained, for developers.\n\n"
    written = sorted(path.stem for path in (DOCS / "notes").glob("*.md"))
    pages["notes/index"] = (
        "---\norphan: true\n---\n\n" + notes + toctree([f"notes/{name}" for name in written])
    )
    pages["index"] = home + "\n" + toctree(top, "hidden:", "maxdepth: 2")
    return pages


def sources() -> dict[str, Path]:
    """Return the files to copy from docs/, by their names below it."""
    files = (path for path in DOCS.rglob("*") if path.suffix in KINDS)
    named = {path.relative_to(DOCS).as_posix(): path for path in files}
    return {name: path for name, path in named.items() if name.split("/")[0] not in LEFT_OUT}


def gather() -> None:
    """Lay out the source of the site: copies, generated pages, navigation; files of an earlier build go."""
    copied = sources()
    navigation = tomllib.loads((DOCS / "site" / "navigation.toml").read_text(encoding="utf-8"))
    texts = {
        f"{name}.md": text for name, text in headings(navigation, copied["index.md"].read_text()).items()
    }
    for made in (command_pages.pages(), job_pages.pages(), api_pages.pages(), gallery.pages()):
        texts |= made
    expected = {*copied, *texts}
    for old in [path for path in SOURCE.rglob("*") if path.is_file()]:
        if old.relative_to(SOURCE).as_posix() not in expected:
            old.unlink()
    for name, text in texts.items():
        write(SOURCE / name, text)
    for name, path in copied.items():
        to = SOURCE / name
        if name not in texts and not (to.exists() and to.read_bytes() == path.read_bytes()):
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)


def main() -> None:
    """Gather the pages and build the site."""
    site = Path(sys.argv[1] if sys.argv[1:] else ROOT / "build" / "docs")
    gather()
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-E",
        "-W",
        "--keep-going",
        "-n",
        "-b",
        "html",
        "-c",
        DOCS,
    ]
    sys.exit(subprocess.run([*command, "-d", ROOT / "build" / "docs-trees", SOURCE, site]).returncode)


if __name__ == "__main__":
    main()
