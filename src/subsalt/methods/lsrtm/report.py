"""Sections of the report on a least-squares migration: its misfit by iteration, and its parameters."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from subsalt.inversion.cgls import Scalars
from subsalt.methods.lsrtm.course import history_of, kept_images, misfit_is_of, pass_misfits
from subsalt.methods.rtm.report import parameters
from subsalt.plan.plan import counted
from subsalt.report import render
from subsalt.report.facts import MethodRows, RunFacts, listed, section

#: columns of the table of iterations; the last one depends on the kind of iteration
_COLUMNS = (
    ("iteration", "number"), ("misfit / start", "number"), ("", "bar"), ("step length", "number"),
    ("|J p|², curvature", "number"),
)  # fmt: skip


def rows(facts: RunFacts) -> MethodRows:
    """Return the misfit of the last iteration with those before, the numbers of all, and parameters."""
    solve = section(facts.job, "inversion")
    in_image = solve.get("domain") == "image"
    history = [] if in_image else history_of(facts.folder)
    cards = _of_image_domain(section(facts.run, "inversion")) if in_image else []
    if history:
        cards += _of_history(history)
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
                *(
                    ()
                    if in_image
                    else (("Preconditioner", "precondition"), ("Shots of an iteration", "subset"))
                ),
            )
            if key in solve
        ]
    return MethodRows(cards=cards, parameters=table, iterations=_iterations(facts, history))


def _of_history(history: Sequence[Scalars]) -> list[tuple[str, str]]:
    """Return the misfit of the last iteration; with drawn shots that of the last pass over all, too."""
    of, after = misfit_is_of(history), f"after {counted(len(history) - 1, 'iteration')}"
    last = f"{history[-1].relative:.3g}"
    if not of:
        return [(last, f"misfit over that of the start, {after}")]
    cards = [(last, f"misfit of {of}, over that of the same shots at the start, {after}")]
    if passes := pass_misfits(history):
        about = (
            "misfit of all shots over that of the start in the last pass, each before the step that took it"
        )
        cards.append((f"{passes[-1]:.3g}", f"{about}; that of the image itself is not computed"))
    return cards


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
    of = misfit_is_of(history)
    most = max(s.relative for s in history) or 1.0
    lines = []
    for s in history:
        line = [str(s.iteration), f"{s.relative:.4g}", s.relative / most]
        line += [f"{s.alpha:.4g}", f"{s.curvature:.4g}"] if s.iteration else ["", ""]
        # a step over drawn shots never has J^T J of its direction
        line += [str(s.shots)] if of else [f"{s.pair:.1e}" if s.iteration else ""]
        lines.append(line)
    return {
        "columns": [*_COLUMNS, ("shots" if of else "J and J^T differ by", "number")],
        "rows": lines,
        "misfit_of": "the shots drawn, before the step" if of else "",
        "reason": str(section(facts.run, "inversion").get("reason", "")),
        "images": counted(len(kept_images(facts.folder)), "iteration") if kept_images(facts.folder) else "",
        "run": shlex.quote(facts.folder.resolve().name),
    }
