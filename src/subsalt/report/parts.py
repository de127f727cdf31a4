"""What the report shows: state, pictures, numbers, findings, phases.

Each function returns markup, or None when the run says nothing about its subject.
"""

from __future__ import annotations

from typing import Any

from subsalt.report import time_image, words
from subsalt.report.facts import Picture, RunFacts, listed, section
from subsalt.report.html import Markup, bar, code, join, number, table, tag

# phases in which wavefields are propagated
STEPPING = ("source", "receivers")


def state_of(facts: RunFacts) -> tuple[str, str]:
    """Return the state of the run in words, and its colour class."""
    bad = sum(s.get("state") in ("failed", "quarantined") for s in facts.units)
    done = sum(s.get("state") == "done" for s in facts.units)
    if not facts.finished:
        return f"not finished: {done} of {len(facts.units)} {facts.unit}s done", "warn"
    state = str(facts.run.get("state") or ("finished with holes" if bad else "finished"))
    return state, "good" if not bad and state.startswith("finished") else "warn"


def header(facts: RunFacts) -> Markup:
    """Title, state, run id."""
    state, colour = state_of(facts)
    run = facts.run
    facts_line = [f"run {run['run_id']}" if run.get("run_id") else "run id unknown"]
    if run.get("version"):
        facts_line.append(f"subsalt {run['version']}")
    return tag(
        "header",
        tag("h1", title_of(facts), " ", tag("span", state, class_=f"state {colour}")),
        tag("p", code(" · ".join(facts_line)), class_="soft"),
    )


def title_of(facts: RunFacts) -> str:
    """Return the title of the run."""
    return str(facts.run.get("title") or facts.job.get("title") or facts.folder.resolve().name)


def pictures(facts: RunFacts) -> Markup | None:
    """The image first and wide, its planes beside each other, then the survey map and what else there is."""
    if not facts.pictures:
        return tag("p", "There are no pictures in this run.", class_="soft") if facts.finished else None
    planes = [p for p in facts.pictures if p.name.startswith("image_")]
    others = [p for p in facts.pictures if p not in planes]
    beside = tag("div", _figures(planes), class_="pair")
    return join([_figures(others[:1]), beside if planes else None, _figures(others[1:])])


def _figures(pictures: list[Picture]) -> list[Markup]:
    return [_figure(p) for p in pictures]


def _figure(picture: Picture) -> Markup:
    words_of = picture.title + (f": {picture.about}" if picture.about else "")
    width, height = picture.size
    return tag(
        "figure",
        tag("img", src=f"data:image/png;base64,{picture.data}", alt=words_of, width=width, height=height),
        tag("figcaption", words_of, " (", code(f"pictures/{picture.name}.png"), ")"),
    )


def numbers(facts: RunFacts) -> Markup | None:
    """The figures of the run as cards."""
    run = facts.run
    phases = section(run, "phases")
    cards: list[tuple[str, str]] = []

    def card(value: str | None, meaning: str) -> None:
        if value is not None:
            cards.append((value, meaning))

    grid = section(run, "grid")
    shape, spacing = listed(grid, "shape"), listed(grid, "spacing")
    if shape:
        card(
            " x ".join(words.plain(n) for n in shape),
            "grid points " + ("x, y, z" if len(shape) == 3 else "x, z"),
        )
    if spacing:
        card(" x ".join(words.plain(h) for h in spacing) + " m", "spacing")
    if facts.is_time:
        cards += time_image.cards(facts)
    dt, bound = run.get("dt"), run.get("stable_dt")
    if isinstance(dt, int | float):
        limit = f", bound {bound * 1e3:.4g} ms" if isinstance(bound, int | float) else ""
        card(f"{dt * 1e3:.4g} ms", f"time step{limit}")
    if words.is_number(run.get("nt")):
        card(words.count(run["nt"]), "time steps")
    if words.is_number(run.get("image_step")):
        card(words.count(run["image_step"]), "steps between imaged samples")
    if facts.units:
        done = sum(s.get("state") == "done" for s in facts.units)
        card(f"{done} of {len(facts.units)}", f"{facts.unit}s in the image")
    card(words.seconds(phases["wall"]) if words.is_number(phases.get("wall")) else None, "wall time")
    card(_computed_by(section(run, "computed_by"), facts.unit), "computed it")
    for value, meaning in _steps(run, phases):
        card(value, meaning)
    plan, measured = section(run, "memory_plan"), run.get("peak_memory_bytes")
    whole = "program" in plan  # plans of older runs count the arrays of a shot alone
    planned = sum(v for v in plan.values() if words.is_number(v))
    if plan:
        card(
            words.size(planned),
            "memory planned for a rank" if whole or facts.is_time else "memory planned for the largest shot",
        )
    if words.is_number(measured):
        of_plan = f", {measured / planned:.0%} of the plan" if whole and planned else ""
        card(words.size(measured), f"largest memory of a rank, measured{of_plan}")
    for value, meaning in _gpu(section(section(run, "over_ranks"), "gpu")):
        card(value, meaning)
    if words.is_number(run.get("repaired_nodes")):
        card(words.count(run["repaired_nodes"]), "nodes repaired, where delta was above epsilon")
    if not cards:
        return None
    boxes = tag(
        "div", [tag("div", tag("b", v), tag("span", m), class_="card") for v, m in cards], class_="cards"
    )
    return join([boxes, _memory(plan)])


def _steps(run: dict[str, Any], phases: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what was computed of both wavefields, and the whole grid beside it; runs of before know that alone."""
    steps, whole = run.get("point_steps"), run.get("grid_point_steps")
    if not words.is_number(steps):
        return []
    if not words.is_number(whole):
        out = [(words.count(steps), "point-steps (grid points x time steps x wavefields)")]
    else:
        left = f": what no wave has reached is not computed, of {words.count(whole)} on the whole grid"
        out = [(words.count(steps), f"point-steps computed{left if whole > steps else ''}")]
    stepping = sum(phases[k] for k in STEPPING if words.is_number(phases.get(k)))
    if stepping > 0:
        rate = f"{words.rate(steps / stepping)} point-steps/s"
        beside = ""
        if words.is_number(whole) and whole > steps:
            beside = f", computed; {words.rate(whole / stepping)} of the whole grid"
        out.append((rate, f"while wavefields are propagated{beside}"))
    return out


def _computed_by(shots: dict[str, Any], unit: str) -> str | None:
    """Return what computed the shots in words, with the number of each where there were several."""
    if len(shots) < 2:
        return next(iter(shots), None)
    counts = {name: len(ids) for name, ids in shots.items() if isinstance(ids, list)}
    return ", ".join(f"{name}: {n} {unit}{'s' * (n != 1)}" for name, n in counts.items())


def _gpu(work: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what GPUs did; nothing of runs on processors."""
    out = []
    if words.is_number(work.get("memory")):
        out.append((words.size(work["memory"]), "largest memory on the GPU of a rank, measured"))
    if words.is_number(work.get("to_device")) and words.is_number(work.get("to_host")):
        both = f"{words.size(work['to_device'])} in, {words.size(work['to_host'])} out"
        out.append((both, "over the links of GPUs"))
    return out


def _memory(plan: dict[str, Any]) -> Markup | None:
    """The planned memory of the largest shot by array."""
    rows = [(str(k), v) for k, v in plan.items() if words.is_number(v) and v > 0]
    if not rows:
        return None
    most = max(v for _, v in rows)
    rows.sort(key=lambda kv: -kv[1])
    body = [(k, number(words.size(v)), tag("td", bar(v / most), class_="wide")) for k, v in rows]
    return tag(
        "details", tag("summary", "planned memory by array"), table(("array", tag("th", "bytes"), ""), body)
    )


def findings(facts: RunFacts) -> Markup | None:
    """Errors and warnings of the checks, then what the report itself could not find."""
    rows = []
    for f in listed(facts.run, "findings"):
        if not isinstance(f, dict) or f.get("level") == "ok":
            continue
        colour = "bad" if f.get("level") == "error" else "warn"
        rows.append(
            (
                code(f.get("code", "")),
                tag("td", f.get("level", ""), class_=colour),
                f.get("message", ""),
                f.get("fix", ""),
            )
        )
    body = table(("code", "level", "what was found", "cure"), rows) if rows else None
    if body is None and facts.finished:
        body = tag("p", "The checks found nothing to warn about.")
    fine = [
        (code(f.get("code", "")), f.get("message", ""))
        for f in listed(facts.run, "findings")
        if isinstance(f, dict) and f.get("level") == "ok"
    ]
    if fine:
        passed = tag("details", tag("summary", f"found in order: {len(fine)}"), table(("code", "what"), fine))
        body = join([body, passed])
    notes = tag("ul", [tag("li", n) for n in facts.notes]) if facts.notes else None
    return join([body, notes]) if body or notes else None


def line(facts: RunFacts) -> Markup | None:
    """Where a 2-D line, or local coordinates that are not those of the map, lie on the map."""
    found, frame = section(facts.run, "line"), section(facts.run, "frame")
    rows: list[tuple[str, str]] = []
    if found:
        ends = [listed(found, k) for k in ("start", "end")]
        if all(len(e) == 2 and all(map(words.is_number, e)) for e in ends):
            rows.append(
                ("line, in the order of shooting", " to ".join(f"({x:.2f}, {y:.2f})" for x, y in ends))
            )
        for key, what, form in (
            ("length_m", "length", "{:.6g} m"),
            ("direction_deg", "direction of shooting, from map x towards map y", "{:.4f} degrees"),
            ("bend_max_m", "stations beside their best line, at most", "{:.2f} m"),
            ("misfit_max_m", "stations beside local x, at most", "{:.2f} m"),
        ):
            if words.is_number(found.get(key)):
                rows.append((what, form.format(found[key])))
        rows.append(("where x = 0 lies is said by", str(found.get("says", ""))))
    if all(words.is_number(frame.get(k)) for k in ("x0", "y0", "azimuth_deg")) and (
        found or any(frame[k] for k in ("x0", "y0", "azimuth_deg", "flip") if k in frame)
    ):
        rows.append(("local (0, 0) on the map", f"({frame['x0']:.2f}, {frame['y0']:.2f})"))
        rows.append(("local x, from map x towards map y", f"{frame['azimuth_deg']:.6f} degrees"))
    return table(("on the map", ""), rows) if rows else None


def phases(facts: RunFacts) -> Markup | None:
    """Where the time went; the rows sum to the wall time."""
    known = section(facts.run, "phases")
    if not known:
        return None
    rows, wall = words.phase_rows(known)
    most = max([v for _, v in rows] + [1e-9])
    body = []
    for name, value in rows:
        share = f"{value / wall:.1%}" if wall > 0 else ""
        strip = bar(value / most, "rest" if name == "unexplained" else "")
        body.append((name, number(f"{value:.3f}"), number(share), tag("td", strip, class_="wide")))
    foot = ("wall", number(f"{wall:.3f}"), number("100.0%"), "")
    head = ("phase", tag("th", "seconds", class_="number"), tag("th", "share", class_="number"), "")
    note = "Phases exclude what runs inside them, so that the rows sum to the wall time of the last call."
    return join([table(head, body, foot, class_="phases"), tag("p", note, class_="soft")])
