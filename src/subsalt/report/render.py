"""HTML from the templates next to this module: inserted values are escaped, so that no name can become code.

Numbers are formatted here, too.
"""

from __future__ import annotations

import base64
import hashlib
import math
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
class PageSection:
    """One section of a page.

    Parameters
    ----------
    key, title : str
        Anchor and heading.
    block : Markup
        Content of the section.
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
    """Return the HTML of a macro of a template for `content`."""
    made: Markup = getattr(_macros(template), macro)(*content)
    return made


def page(
    title: str,
    header: Markup,
    sections: Sequence[PageSection],
    version: object = "",
    styles: Sequence[str] = (),
) -> str:
    """Return a self-contained page: no script, no network, pictures inside.

    Parameters
    ----------
    title : str
        Title of the window.
    header : Markup
        Content above the sections.
    sections : sequence of PageSection
        Sections in order.
    version : str
        Version of subsalt that the page names as its author.
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


def _escape(match: re.Match[str]) -> str:
    c = match[0]
    harmless = unicodedata.category(c)[0] != "C" and c not in "\u2028\u2029"
    return c if harmless else f"\\u{ord(c):04x}"


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number (and no truth value)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def seconds(value: Any) -> str:
    """Return a duration: ``0.123 s``, ``12.3 s``, ``2 min 05 s``, ``1 h 02 min``."""
    if not is_number(value):
        return "unknown"
    if value < 60:
        return f"{value:.3g} s" if value >= 0.001 else "0 s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def size(value: Any) -> str:
    """Return bytes as B, kB, MB, GB or TB (powers of ten)."""
    if not is_number(value):
        return "unknown"
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"


def count(value: Any) -> str:
    """Return an integer with its thousands apart."""
    return f"{value:,.0f}".replace(",", " ") if is_number(value) else "unknown"


def rate(value: Any) -> str:
    """Return a large number with a prefix: ``1.23 G``."""
    if not is_number(value):
        return "unknown"
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g}"


def plain(value: Any) -> str:
    """Return a value of the job as it would stand in TOML, near enough to be read."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, list | tuple):
        shown = [plain(v) for v in value[:24]]
        if len(value) > 24:
            shown.append(f"... {len(value) - 24} more")
        return "[" + ", ".join(shown) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {plain(v)}" for k, v in value.items()) + "}"
    return str(value)


def phase_rows(phases: dict[str, Any]) -> tuple[list[tuple[str, float]], float]:
    """Return phases (longest first, `unexplained` last) to the millisecond, and the wall time they sum to.

    What rounding takes away goes to `unexplained`, so that the rows sum to the last line exactly.

    Parameters
    ----------
    phases : dict
        Seconds by phase, with `wall` and maybe `unexplained`.
    """
    known = {str(k): round(float(v) * 1000) for k, v in phases.items() if is_number(v)}
    rest = known.pop("unexplained", 0)
    wall = known.pop("wall", sum(known.values()) + rest)
    rows = sorted(known.items(), key=lambda kv: (-kv[1], kv[0]))
    rows.append(("unexplained", wall - sum(v for _, v in rows)))
    return [(name, v / 1000) for name, v in rows], wall / 1000
