"""What the model said of a run beside what the run took, phase by phase; the largest miss is named."""

from __future__ import annotations

from typing import Any

from subsalt.lab.model.compare import Comparison, compare
from subsalt.report import words
from subsalt.report.facts import RunFacts, listed, section
from subsalt.report.html import Markup, bar, join, number, table, tag


def comparison_of(run: dict[str, Any]) -> Comparison | None:
    """Return a run against the prediction it began with; None when it made none, or is not finished.

    Parameters
    ----------
    run : dict
        Content of run.json.
    """
    said = _numbers(section(section(run, "predicted"), "phases"))
    spent = _numbers(section(run, "phases"))
    if not said or not spent.get("wall"):
        return None
    return compare(said, spent)


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    return {str(k): float(v) for k, v in values.items() if words.is_number(v)}


def model(facts: RunFacts) -> Markup | None:
    """The table of predicted and measured seconds, or why there is none."""
    told = section(facts.run, "predicted")
    found = comparison_of(facts.run)
    if found is None:
        notes = [str(n) for n in listed(told, "notes")]
        return tag("p", *notes, class_="soft") if notes else None
    most = max(max(r.rescaled or 0.0, r.measured or 0.0) for r in found.rows) or 1.0
    body = [
        (
            r.phase,
            _seconds(r.predicted),
            _seconds(r.rescaled),
            _seconds(r.measured),
            number("" if r.ratio is None else f"{r.ratio:.2f}"),
            tag(
                "td",
                bar((r.rescaled or 0.0) / most, "rest"),
                bar((r.measured or 0.0) / most),
                class_="wide",
            ),
        )
        for r in found.shown
    ]
    wall = found.wall
    foot = (
        "wall",
        _seconds(wall.predicted),
        _seconds(wall.rescaled),
        _seconds(wall.measured),
        number("" if wall.ratio is None else f"{wall.ratio:.2f}"),
        "",
    )
    heads = ("model, s", "at the run's rate", "measured", "ratio")
    head = ("phase", *(tag("th", h, class_="number") for h in heads), "model above, run below")
    lines = [*found.notes(), *_halo(facts), *(str(n) for n in listed(told, "notes"))]
    return join([table(head, body, foot, class_="phases"), tag("ul", [tag("li", n) for n in lines])])


def _halo(facts: RunFacts) -> list[str]:
    """Return what was said and measured of waiting for ghost planes, which is inside of time steps."""
    said = section(facts.run, "predicted").get("halo_seconds")
    waited = section(section(section(facts.run, "over_ranks"), "halo"), "waited").get("mean")
    if not words.is_number(waited) or not waited:
        return []
    told = f"{said:.2f} s predicted" if words.is_number(said) else "not predicted"
    return [f"waiting for ghost planes, inside the time steps: {told}, {waited:.2f} s measured"]


def _seconds(value: float | None) -> Markup:
    return number("" if value is None else f"{value:.2f}")
