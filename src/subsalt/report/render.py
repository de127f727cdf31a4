"""HTML from the templates beside this module: what they insert is escaped, so that no name can become code."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

#: folders with templates: ours, and those of packages that add pages
FOLDERS = [Path(__file__).with_name("templates")]


def add_templates(folder: Path) -> None:
    """Let pages be made of the templates and style sheets of another folder too."""
    if folder not in FOLDERS:
        FOLDERS.append(folder)
        _environment.cache_clear()
        _macros.cache_clear()


@dataclass(frozen=True)
class Section:
    """One section of a page.

    Parameters
    ----------
    key, title : str
        Anchor and heading.
    block : Markup
        Its content.
    folded : bool
        Whether only the heading is shown until it is opened.
    """

    key: str
    title: str
    block: Markup
    folded: bool = False


@cache
def _environment() -> Environment:
    """Return the templates; Jinja2 is imported when the first page is written."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(FOLDERS),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: "" if value is None else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _macros(template: str) -> Any:
    return _environment().get_template(template).module


def part(template: str, macro: str, *content: Any) -> Markup:
    """Return what a macro of a template makes of `content`."""
    made: Markup = getattr(_macros(template), macro)(*content)
    return made


def page(
    title: str,
    header: Markup,
    sections: Sequence[Section],
    version: object = "",
    styles: Sequence[str] = (),
) -> str:
    """Return a page that needs nothing else: no script, no network, pictures inside.

    Parameters
    ----------
    title : str
        Of the window.
    header : Markup
        What stands above the sections.
    sections : sequence of Section
        In order.
    version : str
        Of the subsalt that is said to have written it.
    styles : sequence of str
        Style sheets of the templates, besides ``page.css``.
    """
    from markupsafe import Markup

    environment = _environment()
    assert environment.loader is not None
    sources = (environment.loader.get_source(environment, name) for name in ("page.css", *styles))
    style = "".join(text for text, *_ in sources)
    # the style is allowed by its hash, so that nothing injected could bring one along
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    text = environment.get_template("page.html").render(
        title=title,
        header=header,
        sections=sections,
        version=version,
        style=Markup(style),
        digest=digest,
    )
    return visible(text) + "\n"


def visible(text: str) -> str:
    """Return text with control, format and unassigned characters as escapes; line ends and tabs stay.

    A bidirectional mark would show a name other than it is.
    """
    return re.sub(r"[^\t\n -~]", _escape, text)


def _escape(found: re.Match[str]) -> str:
    c = found[0]
    harmless = unicodedata.category(c)[0] != "C" and c not in "\u2028\u2029"
    return c if harmless else f"\\u{ord(c):04x}"
