"""Sections of the report on a least-squares migration: its misfit by iteration, and its parameters."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from subsalt.inversion.cgls import Scalars
from subsalt.methods.lsrtm.course import history_of, kept_images
from subsalt.methods.rtm.report import parameters
from subsalt.plan.plan import counted
from subsalt.report import render
from subsalt.report.facts import MethodRows, RunFacts, section


def rows(facts: RunFacts) -> MethodRows:
    """Return the misfit of the last iteration with those before, the numbers of all, and parameters."""
    history = history_of(facts.folder)
    cards = []
    if history:
        about = f"misfit over that of the start, after {counted(len(history) - 1, 'iteration')}"
        cards.append((f"{history[-1].relative:.3g}", about))
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
    return MethodRows(cards=cards, parameters=table, iterations=_iterations(facts, history))


def _iterations(facts: RunFacts, history: Sequence[Scalars]) -> dict[str, Any] | None:
    """Return the numbers of every iteration, why it ended, and the images that are kept; None before the first."""
    if not history:
        return None
    most = max(s.relative for s in history) or 1.0
    lines = [
        (
            str(s.iteration),
            f"{s.relative:.4g}",
            s.relative / most,
            *((f"{s.alpha:.4g}", f"{s.curvature:.4g}", f"{s.pair:.1e}") if s.iteration else ("", "", "")),
        )
        for s in history
    ]
    return {
        "rows": lines,
        "reason": str(section(facts.run, "inversion").get("reason", "")),
        "images": counted(len(kept_images(facts.folder)), "iteration") if kept_images(facts.folder) else "",
        "run": shlex.quote(facts.folder.resolve().name),
    }
