"""Section of the report on a least-squares migration: its misfit, and its parameters in the words of the field."""

from __future__ import annotations

from typing import Any

from subsalt.methods.rtm.report import parameters
from subsalt.report import render
from subsalt.report.facts import MethodRows, RunFacts, listed, section


def rows(facts: RunFacts) -> MethodRows:
    """Return the misfit of the last iteration with those before, and parameters."""
    inversion = section(facts.run, "inversion")
    misfit = [m for m in listed(inversion, "misfit") if render.is_number(m)]
    cards = []
    if misfit:
        course = ", ".join(f"{m:.3g}" for m in misfit)
        about = f"misfit over that of the start; by iteration: {course}. {inversion.get('reason', '')}"
        cards.append((f"{misfit[-1]:.3g}", about))
    table: dict[str, Any] | None = parameters(facts)
    if table is not None:
        table["rows"] = [
            ("Method", "least-squares reverse time migration", *row[2:]) if row[0] == "Method" else row
            for row in table["rows"]
        ]
        solve = section(facts.job, "inversion")
        given = section(section(facts.run, "job_given"), "inversion")
        table["rows"] += [
            (name, render.plain(solve[key]), f"inversion.{key}", "given" if key in given else "default")
            for name, key in (("Iterations at most", "iterations"), ("Preconditioner", "precondition"))
            if key in solve
        ]
    return MethodRows(cards=cards, parameters=table)
