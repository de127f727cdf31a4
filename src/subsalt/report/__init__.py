"""The report of a run: one HTML page that needs nothing else, made to be sent, printed and archived.

Pictures are inlined, there is no script, and the page's own policy forbids to load or run anything. The image
comes first, then what was done, what the checks said with the meaning of each code, and the numbers; the rest is
folded, and printed.
"""

from __future__ import annotations

from pathlib import Path

from subsalt.report import facts as records
from subsalt.report import render, summary, time_spent
from subsalt.report.facts import RunFacts, gather

#: key (a macro of ``templates/run.html``), title, what it shows
SECTIONS = (
    ("pictures", "Image and survey", summary.pictures),
    ("iterations", "Misfit by iteration", lambda facts: facts.of_method.iterations),
    ("parameters", "Parameters", lambda facts: facts.of_method.parameters),
    ("signal", "Steps on the traces", records.signal),
    ("findings", "Warnings and findings", summary.findings),
    ("numbers", "Numbers", summary.numbers),
    ("line", "Where it lies on the map", summary.line),
    ("shots", "Shots", records.units),
    ("phases", "Where the time went", time_spent.phases),
    ("model", "Model against measured", time_spent.model),
    ("ranks", "Ranks", time_spent.ranks),
    ("strategy", "Source wavefields", time_spent.strategy),
    ("wavefields", "Wavefields used again", records.wavefields),
    ("job", "Job, with every default", records.job),
    ("provenance", "Provenance", records.provenance),
    ("reproduce", "How to reproduce it", records.reproduce),
    ("events", "Course of the run", records.events),
)
#: sections that are open when the page is
OPEN = ("pictures", "iterations", "parameters", "signal", "findings", "numbers")


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
        Facts of the run, collected by `gather`.
    """
    sections = []
    for key, title, content in SECTIONS:
        shown = content(facts)
        if shown is not None:
            title = facts.of_method.titles.get(key, title)
            block = render.part("run.html", key, shown)
            sections.append(render.PageSection(key, title, block, folded=key not in OPEN))
    header = render.part("run.html", "header", summary.header(facts))
    title = f"{summary.title_of(facts)} · subsalt report"
    return render.page(title, header, sections, facts.run.get("version") or "")


__all__ = ["RunFacts", "gather", "page", "write"]
