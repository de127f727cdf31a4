"""The report of a run: one HTML page that needs nothing else, made to be sent, printed and kept.

Pictures are inlined, there is no script, and the page's own policy forbids to load or run anything.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from subsalt.report import kept, model, parts, ranks, records, strategies, time_image
from subsalt.report.facts import RunFacts, gather
from subsalt.report.html import Markup, join, tag
from subsalt.report.style import CSS

SECTIONS = (
    ("pictures", "Image and survey", parts.pictures),
    ("numbers", "Numbers", parts.numbers),
    ("line", "Where it lies on the map", parts.line),
    ("findings", "Warnings and findings", parts.findings),
    ("phases", "Where the time went", parts.phases),
    ("model", "Model against measured", model.model),
    ("ranks", "Ranks", ranks.ranks),
    ("strategy", "Source wavefields", strategies.strategies),
    ("kept", "Wavefields used again", kept.kept),
    ("parameters", "Parameters", time_image.parameters),
    ("shots", "Shots", records.units),
    ("job", "Job, with every default", records.job),
    ("provenance", "Provenance", records.provenance),
    ("reproduce", "How to reproduce it", records.reproduce),
    ("events", "Course of the run", records.events),
)


#: what sections of a time migration are called instead
TIME_TITLES = {"pictures": "Image, gathers and fold", "shots": "Blocks of the image"}


def write(run_dir: str | Path, path: str | Path | None = None) -> Path:
    """Write the report of a run, finished or not.

    Parameters
    ----------
    run_dir : path
        Run directory.
    path : path, optional
        HTML file; ``report.html`` in the run directory when left out.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    MissingInputError
        When the directory holds no run.
    """
    from subsalt.io.publish import publish_text

    facts = gather(run_dir)
    out = Path(path) if path is not None else facts.folder / "report.html"
    publish_text(out, page(facts))
    return out


def page(facts: RunFacts) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    facts : RunFacts
        What `gather` found.
    """
    blocks = [
        (key, TIME_TITLES.get(key, title) if facts.is_time else title, part(facts))
        for key, title, part in SECTIONS
    ]
    shown = [(key, title, block) for key, title, block in blocks if block]
    body = [
        parts.header(facts),
        tag("nav", [tag("a", title, href=f"#{key}") for key, title, _ in shown], class_="contents"),
        [tag("section", tag("h2", title), block, id=key) for key, title, block in shown],
    ]
    main = [
        body[0],
        tag("main", body[1], body[2]),
        tag("footer", "One page, no script, no network: ", _about(facts)),
    ]
    return "<!DOCTYPE html>\n" + tag("html", _head(facts), tag("body", main), lang="en") + "\n"


def _about(facts: RunFacts) -> str:
    version = facts.run.get("version")
    return f"written by subsalt {version}." if version else "written by subsalt."


def _head(facts: RunFacts) -> Markup:
    """The head: encoding, policy, title, style."""
    style = Markup(CSS)
    # the style is allowed by its hash, so that nothing injected could bring one along
    digest = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", join([parts.title_of(facts), " · subsalt report"])),
        tag("style", style),
    )


__all__ = ["RunFacts", "gather", "page", "write"]
