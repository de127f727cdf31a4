"""The first sections of the report: state, numbers, pictures, findings; and where a line lies on the map.

Each function returns the input of the macro of its name in ``templates/run.html``, or None when the run has nothing on
its subject.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from subsalt.earth.grid import Frame, Grid, map_corners
from subsalt.earth.line_numbers import LineNumbers
from subsalt.error_texts import lookup
from subsalt.errors import ConfigError, ModelError
from subsalt.io.volumes.planes import frame_from
from subsalt.report import render
from subsalt.report.facts import Picture, RunFacts, listed, section

#: a value and what it means
Card = tuple[str, str]

# phases in which wavefields are propagated
STEPPING = ("source", "receivers")
#: the planes of a picture that shows several are drawn by themselves too, under its name with these endings
PLANES = ("inline", "crossline", "depth", "slice")


def state_of(facts: RunFacts) -> tuple[str, str]:
    """Return the state of the run in words, and its colour class."""
    bad = sum(s.get("state") in ("failed", "quarantined") for s in facts.units)
    done = sum(s.get("state") == "done" for s in facts.units)
    if not facts.finished:
        return f"not finished: {done} of {len(facts.units)} {facts.unit}s done", "warn"
    state = str(facts.run.get("state") or ("finished with holes" if bad else "finished"))
    return state, "good" if not bad and state.startswith("finished") else "warn"


def header(facts: RunFacts) -> dict[str, Any]:
    """Title, state, run id."""
    state, colour = state_of(facts)
    run = facts.run
    about = [f"run {run['run_id']}" if run.get("run_id") else "run id unknown"]
    if run.get("version"):
        about.append(f"subsalt {run['version']}")
    return {"title": title_of(facts), "state": state, "colour": colour, "facts": " · ".join(about)}


def title_of(facts: RunFacts) -> str:
    """Return the title of the run."""
    return str(facts.run.get("title") or facts.job.get("title") or facts.folder.resolve().name)


def pictures(facts: RunFacts) -> dict[str, Any] | None:
    """The image first and wide, the others folded; planes that stand in a picture are only named."""
    shown = facts.pictures
    if not shown:
        return {"first": None, "rest": []} if facts.finished else None
    names = {p.name for p in shown}
    planes = {p.name: [f"{p.name}_{k}" for k in PLANES if f"{p.name}_{k}" in names] for p in shown}
    inside = {name for of_one in planes.values() for name in of_one}
    run = title_of(facts)
    alone = [
        _figure(p, planes[p.name], run) | {"run": shlex.quote(facts.folder.resolve().name)}
        for p in shown
        if p.name not in inside
    ]
    return {"first": alone[0], "rest": alone[1:]}


def _figure(picture: Picture, planes: list[str], run: str) -> dict[str, Any]:
    """Return a picture with its caption, which does not repeat the title of the run."""
    title = picture.title.removeprefix(run).lstrip(": ") or picture.name.replace("_", " ")
    caption = title + (f": {picture.about}" if picture.about else "")
    return vars(picture) | {"title": title, "caption": caption, "planes": planes}


def numbers(facts: RunFacts) -> dict[str, Any] | None:
    """The figures of the run as cards."""
    run = facts.run
    waves, image = section(run, "grid"), section(run, "image_grid")
    cards = [*_grid(waves)]
    if image and image != waves:
        cards = [*_grid(image, " of the image"), *_grid(waves, " of the waves")]
    cards += facts.of_method.cards
    cards += [*_steps_in_time(run), *_done(facts)]
    repaired = run.get("repaired_nodes")
    if render.is_number(repaired) and repaired:
        cards.append((render.count(repaired), "nodes repaired, where delta was above epsilon"))
    surface = listed(section(run, "topography"), "depths")
    if len(surface) == 2:
        cards.append((f"{surface[0]:.0f} to {surface[1]:.0f} m", "depth of the free surface: topography"))
    cost = [*_steps(run), *_memory(facts), *_gpu(section(section(run, "over_ranks"), "gpu"))]
    arrays = _arrays(section(run, "memory_plan"))
    return {"cards": cards, "cost": cost, "memory": arrays} if cards or cost else None


def _grid(grid: dict[str, Any], whose: str = "") -> list[Card]:
    shape, spacing = listed(grid, "shape"), listed(grid, "spacing")
    cards = []
    if shape:
        axes = "x, y, z" if len(shape) == 3 else "x, z"
        cards.append((" x ".join(render.plain(n) for n in shape), f"grid points {axes}{whose}"))
    if spacing:
        text = " x ".join(render.plain(h) for h in spacing)
        widest = section(grid, "depth_axis").get("widest")
        if render.is_number(widest):
            text += f" to {widest:.3g}"
        cards.append((f"{text} m", f"spacing{whose}"))
    return cards


def _steps_in_time(run: dict[str, Any]) -> list[Card]:
    dt, bound = run.get("dt"), run.get("stable_dt")
    cards = []
    if isinstance(dt, int | float):
        limit = f", bound {bound * 1e3:.4g} ms" if isinstance(bound, int | float) else ""
        cards.append((f"{dt * 1e3:.4g} ms", f"time step{limit}"))
    for key, meaning in (("nt", "time steps"), ("image_step", "steps between imaged samples")):
        if render.is_number(run.get(key)):
            cards.append((render.count(run[key]), meaning))
    return cards


def _done(facts: RunFacts) -> list[Card]:
    """Return the finished units, the wall time, and the device."""
    cards, wall = [], section(facts.run, "phases").get("wall")
    if facts.units:
        done = sum(s.get("state") == "done" for s in facts.units)
        cards.append((f"{done} of {len(facts.units)}", f"{facts.unit}s in the image"))
    if render.is_number(wall):
        cards.append((render.seconds(wall), "wall time"))
    by = section(facts.run, "computed_by")
    counts = {name: len(ids) for name, ids in by.items() if isinstance(ids, list)}
    several = [f"{name}: {n} {facts.unit}{'s' * (n != 1)}" for name, n in counts.items()]
    if by:
        cards.append((next(iter(by)) if len(by) < 2 else ", ".join(several), "computed it"))
    return cards


def _steps(run: dict[str, Any]) -> list[Card]:
    """Return the computed point-steps of both wavefields and of the whole grid; older runs have only the latter."""
    phases = section(run, "phases")
    steps: Any = run.get("point_steps")
    whole: Any = run.get("grid_point_steps")
    if not render.is_number(steps):
        return []
    if not render.is_number(whole):
        cards = [(render.count(steps), "point-steps (grid points x time steps x wavefields)")]
    else:
        left = f": what no wave has reached is not computed, of {render.count(whole)} on the whole grid"
        cards = [(render.count(steps), f"point-steps computed{left if whole > steps else ''}")]
    stepping = sum(phases[k] for k in STEPPING if render.is_number(phases.get(k)))
    if stepping > 0:
        rate = f"{render.rate(steps / stepping)} point-steps/s"
        beside = ""
        if render.is_number(whole) and whole > steps:
            beside = f", computed; {render.rate(whole / stepping)} of the whole grid"
        cards.append((rate, f"while wavefields are propagated{beside}"))
    return cards


def _memory(facts: RunFacts) -> list[Card]:
    """Return planned and measured memory."""
    plan, measured = section(facts.run, "memory_plan"), facts.run.get("peak_memory_bytes")
    whole = "program" in plan  # plans of older runs count the arrays of a shot alone
    planned = sum(v for v in plan.values() if render.is_number(v))
    cards = []
    if plan:
        of = "a rank" if whole else facts.of_method.holder
        cards.append((render.size(planned), f"memory planned for {of}"))
    if render.is_number(measured):
        of_plan = f", {measured / planned:.0%} of the plan" if whole and planned else ""
        cards.append((render.size(measured), f"largest memory of a rank, measured{of_plan}"))
    return cards


def _gpu(work: dict[str, Any]) -> list[Card]:
    """Return the work of GPUs; nothing for runs on CPUs."""
    cards = []
    if render.is_number(work.get("memory")):
        cards.append((render.size(work["memory"]), "largest memory on the GPU of a rank, measured"))
    if render.is_number(work.get("to_device")) and render.is_number(work.get("to_host")):
        both = f"{render.size(work['to_device'])} in, {render.size(work['to_host'])} out"
        cards.append((both, "over the links of GPUs"))
    return cards


def _arrays(plan: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The planned memory by array, the largest first."""
    rows = sorted(
        [(str(k), v) for k, v in plan.items() if render.is_number(v) and v > 0], key=lambda kv: -kv[1]
    )
    return [(k, render.size(v), v / rows[0][1]) for k, v in rows]


#: keys of cures that `check` tries before it shows them
_TRIED = re.compile(r"\[(data|model|source|velocity)\b")


def _untried(finding: dict[str, Any]) -> bool:
    """Return whether a warning has a cure that a check tries, and nothing says that it was tried."""
    cure, evidence = str(finding.get("fix", "")), finding.get("evidence")
    tried = isinstance(evidence, dict) and "cures" in evidence
    return finding.get("level") == "warning" and bool(_TRIED.search(cure)) and not tried


def findings(facts: RunFacts) -> dict[str, Any] | None:
    """Errors and warnings of the checks, then what the report itself could not find."""
    known = [f for f in listed(facts.run, "findings") if isinstance(f, dict)]
    texts = {
        code: entry
        for code in (str(f.get("code", "")) for f in known if f.get("level") != "ok")
        if (entry := lookup(code))
    }
    warnings = [
        [
            (f.get("code", ""), f.get("code", "") in texts),
            str(f.get("level", "")).replace("unchecked", "not checked"),
            f.get("message", ""),
            f.get("fix", ""),
        ]
        for f in known
        if f.get("level") != "ok"
    ]
    passed = [(f.get("code", ""), f.get("message", "")) for f in known if f.get("level") == "ok"]
    if not (warnings or passed or facts.notes or facts.finished):
        return None
    return {
        "warnings": warnings,
        "texts": list(texts.values()),
        "untried": any(map(_untried, known)),
        "passed": passed,
        "notes": facts.notes,
        "finished": facts.finished,
    }


def line(facts: RunFacts) -> dict[str, Any] | None:
    """Where a 2-D line, or local coordinates that are not those of the map, lie on the map."""
    known, frame = section(facts.run, "line"), section(facts.run, "frame")
    rows: list[tuple[str, str]] = []
    if known:
        ends = [listed(known, k) for k in ("start", "end")]
        if all(len(e) == 2 and all(map(render.is_number, e)) for e in ends):
            rows.append(
                ("line, in the order of shooting", " to ".join(f"({x:.2f}, {y:.2f})" for x, y in ends))
            )
        for key, what, form in (
            ("length_m", "length", "{:.6g} m"),
            ("direction_deg", "direction of shooting, from map x towards map y", "{:.4f} degrees"),
            ("bend_max_m", "stations beside their best line, at most", "{:.2f} m"),
            ("misfit_max_m", "stations beside local x, at most", "{:.2f} m"),
        ):
            if render.is_number(known.get(key)):
                rows.append((what, form.format(known[key])))
        rows.append(("where x = 0 lies is said by", str(known.get("says", ""))))
    if all(render.is_number(frame.get(k)) for k in ("x0", "y0", "azimuth_deg")) and (
        known or any(frame[k] for k in ("x0", "y0", "azimuth_deg", "flip") if k in frame)
    ):
        rows.append(("local (0, 0) on the map", f"({frame['x0']:.2f}, {frame['y0']:.2f})"))
        turn = f"{frame['azimuth_deg']:.6f} degrees"
        rows.append(
            (
                "local x, from map x towards map y",
                f"{turn}, local y to its right" if frame.get("flip") else turn,
            )
        )
    rows += _corners(facts)
    return {"rows": rows} if rows else None


def _corners(facts: RunFacts) -> list[tuple[str, str]]:
    """Return the corners of a 3-D image on the map with their line numbers, where it has a place or numbers."""
    said, lines = section(facts.run, "image_grid"), section(facts.run, "lines")
    try:
        frame = frame_from(
            [section(facts.run, "frame")[k] for k in ("x0", "y0", "azimuth", "flip")], "run.json"
        )
        shape, spacing, origin = (tuple(said[k]) for k in ("shape", "spacing", "origin"))
        grid = Grid(shape, spacing, origin)
        numbers = LineNumbers(**lines)
    except (ConfigError, ModelError, KeyError, TypeError, ValueError):
        return []
    if grid.ndim != 3 or (frame == Frame() and not lines):
        return []
    (i, j), (last_i, last_j) = (numbers.first_inline, numbers.first_crossline), numbers.last(*grid.shape[:2])
    around = ((i, j), (last_i, j), (last_i, last_j), (i, last_j))
    rows = [
        (f"inline {a}, crossline {b} of the image on the map", f"({x:.2f}, {y:.2f})")
        for (a, b), (x, y) in zip(around, map_corners(grid, frame), strict=True)
    ]
    return [*rows, ("numbers of its lines", numbers.described(*grid.shape[:2]))] if lines else rows
