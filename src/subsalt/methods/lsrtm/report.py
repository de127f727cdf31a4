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
from subsalt.report.facts import MethodRows, RunFacts, listed, section


def rows(facts: RunFacts) -> MethodRows:
    """Return the misfit of the last iteration with those before, the numbers of all, and parameters."""
    solve = section(facts.job, "inversion")
    in_image = solve.get("domain") == "image"
    history = [] if in_image else history_of(facts.folder)
    cards = _of_image_domain(section(facts.run, "inversion")) if in_image else []
    if history:
        about = f"misfit over that of the start, after {counted(len(history) - 1, 'iteration')}"
        cards.append((f"{history[-1].relative:.3g}", about))
    table: dict[str, Any] | None = parameters(facts)
    if table is not None:
        table["rows"] = [
            ("Method", "least-squares reverse time migration", *row[2:]) if row[0] == "Method" else row
            for row in table["rows"]
        ]
        given = section(section(facts.run, "job_given"), "inversion")
        table["rows"] += [
            (name, render.plain(solve[key]), f"inversion.{key}", "given" if key in given else "default")
            for name, key in (
                ("Domain of least squares", "domain"),
                ("Iterations at most", "iterations"),
                *(() if in_image else (("Preconditioner", "precondition"),)),
            )
            if key in solve
        ]
    return MethodRows(cards=cards, parameters=table, iterations=_iterations(facts, history))


def _of_image_domain(known: dict[str, Any]) -> list[tuple[str, str]]:
    """Return how well the image is explained, and how far point-spread functions reach into each other."""
    cards = []
    misfit = [m for m in listed(known, "image_misfit") if render.is_number(m)]
    if misfit:
        about = f"misfit of the image over that of the start, after {counted(len(misfit) - 1, 'iteration')}"
        cards.append((f"{misfit[-1]:.3g}", about))
    if render.is_number(known.get("overlap")):
        rows = [row for row in listed(known, "overlap_by_depth") if isinstance(row, list) and len(row) == 2]
        by_depth = ", ".join(f"{100 * o:.0f} % at {z:.0f} m" for z, o in rows)
        about = (
            f"of a point-spread function lies in the outer quarter of its window, in the median: {by_depth}"
        )
        cards.append((f"{100 * known['overlap']:.0f} %", about))
    return cards


def _iterations(facts: RunFacts, history: Sequence[Scalars]) -> dict[str, Any] | None:
    """Return the numbers of every iteration, why it ended, and the images that are kept; None before the first."""
    if len(history) < 2:
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
