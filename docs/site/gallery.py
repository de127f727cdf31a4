"""The gallery of examples/: a picture, what the example shows, and how it is run. Nothing is run at build time."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Example:
    """An entry of the gallery: file in examples/, picture in docs/, page with more, and a title of a few words."""

    file: str
    picture: str
    page: str
    title: str


SHOWN = (
    Example("notebooks/arrays.ipynb", "python.png", "howto/python.md", "Arrays in ten minutes"),
    Example(
        "notebooks/segy_to_image.ipynb",
        "first-image.png",
        "tutorials/first-image.md",
        "From SEG-Y to an image and its report",
    ),
    Example("notebooks/look_into_a_run.ipynb", "playback.png", "howto/reimaging.md", "Look into a run"),
    Example("viking.toml", "viking.png", "tutorials/first-image.md", "Viking Graben: four shots in depth"),
    Example(
        "field_line/README.md",
        "field-line-image.png",
        "tutorials/field-line.md",
        "A field line, from its file to its image",
    ),
    Example("marmousi2.py", "marmousi2.png", "theory/field-line.md", "Marmousi-II from raw shots"),
    Example("marmousi_vti.py", "marmousi.png", "tutorials/marmousi.md", "Marmousi with VTI anisotropy"),
    Example("marmousi_tti.py", "marmousi_tti.png", "tutorials/marmousi.md", "What the tilt of TTI is worth"),
    Example(
        "time_migration_3d.py", "kirchhoff-3d.png", "tutorials/time-migration.md", "A 3-D time migration"
    ),
    Example(
        "cdp601to610.toml",
        "kirchhoff-cdp601.png",
        "tutorials/time-migration.md",
        "Ten marine CDPs without coordinates",
    ),
    Example(
        "viking_time.toml",
        "kirchhoff-viking.png",
        "tutorials/time-migration.md",
        "Viking Graben: four shots in time",
    ),
    Example(
        "kirchhoff_against_rtm.py",
        "kirchhoff-against-rtm.png",
        "tutorials/time-migration.md",
        "Depth and time migration of the same shots",
    ),
)


def name_of(example: Example) -> str:
    """Return the name of the page of an example: that of its folder, notebook or script."""
    path = Path(example.file)
    return path.stem if path.suffix == ".ipynb" else path.parts[0].partition(".")[0]


def notebook(cells: dict) -> tuple[str, str]:
    """Return the title of a notebook, and its cells as Markdown with the links of the site."""
    parts = []
    for cell in cells["cells"]:
        source = "".join(cell["source"])
        parts.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
    head, _, body = "\n\n".join(parts).partition("\n")
    body = re.sub(r"\]\((\w+)\.ipynb\)", r"](\1.md)", body).replace("](../../docs/", "](../")
    return head.lstrip("# "), body.strip()


def title_and_text(path: Path) -> tuple[str, str]:
    """Return the first line of an example, and what follows it as Markdown."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        doc = ast.get_docstring(ast.parse(text)) or ""
        head, _, body = doc.partition("\n")
        # an indented block of the docstring is what one types
        block = re.compile(r"((?:^ {4}.*\n?)+)", re.MULTILINE)
        body = block.sub(
            lambda m: "```console\n" + re.sub("(?m)^ {4}", "$ ", m[0]).rstrip() + "\n```\n", body
        )
        return head, body.strip()
    if path.suffix == ".toml":
        comment = text.partition("\n")[0].lstrip("# ")
        return comment, f"```toml\n{text.strip()}\n```\n\n`subsalt migrate examples/{path.name}`"
    if path.suffix == ".ipynb":
        return notebook(json.loads(text))
    head = text.partition("\n")[0].lstrip("# ")
    return head, f"The commands are in `examples/{path.relative_to(EXAMPLES)}`."


def pages() -> dict[str, str]:
    """Return the pages by their names below docs/."""
    made, cards = {}, []
    for example in SHOWN:
        name = name_of(example)
        head, body = title_and_text(EXAMPLES / example.file)
        title = example.title
        about = f"`examples/{example.file}`" + ("" if head.startswith(title) else f": {head}")
        made[f"gallery/{name}.md"] = (
            f"# {title}\n\n{about}\n\n![{title}](../{example.picture})\n\n{body}\n\n"
            f"More in [the page with its results](../{example.page}).\n"
        )
        card = [f":img-top: ../{example.picture}", f":img-alt: {title}", f":link: {name}"]
        cards.append((name, "\n".join([f":::{{grid-item-card}} {title}", *card, ":link-type: doc", ":::\n"])))
    grid = "::::{grid} 1 2 3 3\n:gutter: 3\n\n" + "\n".join(card for _, card in cards) + "::::\n"
    tree = "\n".join(["```{toctree}", ":hidden:", "", *(name for name, _ in cards), "```", ""])
    intro = (
        "# Gallery\n\nEvery example is a file in `examples/`. `examples/README.md` lists all of them with their run\n"
        "times and says where their data come from; several make their own.\n\n"
    )
    return made | {"gallery/index.md": intro + grid + "\n" + tree}
