"""HTML from nested calls: what is not markup already is escaped, so that no name can become code."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from html import escape
from typing import Any

# no closing tag, no content
_VOID = frozenset({"img", "meta", "rect", "br"})


class Markup(str):
    """Text that is HTML already; only `tag` and `join` make it."""

    __slots__ = ()


def visible(text: object) -> str:
    """Return text with control, format and unassigned characters as escapes; line ends and tabs stay.

    A bidirectional mark would show a name other than it is.
    """
    return "".join(
        c
        if c in "\n\t" or (unicodedata.category(c)[0] != "C" and c not in "\u2028\u2029")
        else f"\\u{ord(c):04x}"
        for c in str(text)
    )


def markup(content: Any) -> Markup:
    """Return content as HTML: markup as it is, None as nothing, sequences joined, the rest escaped."""
    if isinstance(content, Markup):
        return content
    if content is None:
        return Markup("")
    if isinstance(content, list | tuple):
        return join(content)
    return Markup(escape(visible(content), quote=True))


def join(parts: Iterable[Any], between: str = "") -> Markup:
    """Return parts one after the other."""
    return Markup(markup(between).join(markup(p) for p in parts))


def tag(name: str, /, *content: Any, **attributes: Any) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : str
        Of the element.
    *content
        Children, see `markup`.
    **attributes
        A trailing underscore is dropped, others become hyphens (``class_``, ``http_equiv``); None or False
        leaves an attribute out, True gives it without a value.
    """
    shown = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        shown.append(key if value is True else f'{key}="{escape(visible(value), quote=True)}"')
    start = " ".join([name, *shown])
    if name in _VOID:
        return Markup(f"<{start}>")
    return Markup(f"<{start}>{join(content)}</{name}>")


def table(
    head: Iterable[Any], rows: Iterable[Iterable[Any]], foot: Iterable[Any] = (), **attributes: Any
) -> Markup:
    """Return a table in a box that scrolls sideways by itself on a narrow screen."""
    body = [tag("tr", [c if _is_cell(c) else tag("td", c) for c in row]) for row in rows]
    last = list(foot)
    return tag(
        "div",
        tag(
            "table",
            tag("thead", tag("tr", [c if _is_cell(c) else tag("th", c, scope="col") for c in head])),
            tag("tbody", body),
            tag("tfoot", tag("tr", [c if _is_cell(c) else tag("td", c) for c in last])) if last else None,
            **attributes,
        ),
        class_="scroll",
    )


def _is_cell(content: Any) -> bool:
    return isinstance(content, Markup) and content.startswith(("<td", "<th"))


def number(text: Any) -> Markup:
    """Return a table cell for a number: to the right, figures of one width."""
    return tag("td", text, class_="number")


def code(text: Any) -> Markup:
    """Return text in fixed width, broken where it must be."""
    return tag("code", text)


def bar(fraction: float, kind: str = "") -> Markup:
    """Return a horizontal bar; drawn without a style attribute, which the page's own policy forbids."""
    width = min(max(fraction, 0.0), 1.0) * 100
    return tag(
        "svg",
        tag("rect", x=0, y=0, width=f"{width:.2f}", height=10),
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        class_=f"bar {kind}".strip(),
        aria_hidden="true",
    )
