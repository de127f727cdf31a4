"""The time that a run spent: its phases with their predictions, its ranks, its source wavefields.

Each function returns the input of the macro of its name in ``templates/run.html``, or None when the run has nothing on
its subject.
"""

from __future__ import annotations

from typing import Any

from subsalt.report import render
from subsalt.report.comparison import TimeComparison, compare
from subsalt.report.facts import RunFacts, listed, section

#: phases below this part of the wall time are folded
SHORT = 0.005

#: counters that are shown where one of them is not 0, and what they are called
COUNTERS = {
    "source_steps": "time steps of source wavefields",
    "receiver_steps": "time steps of receiver wavefields",
    "states_stored_memory": "states stored in memory",
    "states_loaded_memory": "states loaded from memory",
    "states_stored_disk": "states stored on disk",
    "states_loaded_disk": "states loaded from disk",
    "snapshots_written": "snapshots written",
    "snapshots_read": "snapshots read",
    "restart_points": "restart points",
}


def phases(facts: RunFacts) -> dict[str, Any] | None:
    """Where the time went; the rows sum to the wall time, those that are folded as one of them."""
    known = section(facts.run, "phases")
    if not known:
        return None
    rows, wall = render.phase_rows(known)
    short = [(name, v) for name, v in rows[:-1] if v < SHORT * wall]
    if len(short) < 2:
        short = []
    shown = [r for r in rows[:-1] if r not in short]
    if short:
        shown.append((f"{len(short)} shorter phases", round(sum(v for _, v in short), 3)))
    shown.append(rows[-1])
    most = max([v for _, v in rows] + [1e-9])

    def row(name: str, value: float) -> tuple[Any, ...]:
        share = f"{value / wall:.1%}" if wall > 0 else ""
        strip = [(value / most, "rest")] if name == "unexplained" else value / most
        return name, f"{value:.3f}", share, strip

    return {
        "rows": [row(*r) for r in shown],
        "short": [row(*r) for r in short],
        "least": f"{SHORT:.1%}",
        "foot": ("wall", f"{wall:.3f}", "100.0%", ""),
    }


def comparison_of(run: dict[str, Any]) -> TimeComparison | None:
    """Return a run against the prediction it began with; None when it made none, or is not finished.

    Parameters
    ----------
    run : dict
        Content of run.json.
    """
    predicted = _numbers(section(section(run, "predicted"), "phases"))
    spent = _numbers(section(run, "phases"))
    if not predicted or not spent.get("wall"):
        return None
    return compare(predicted, spent)


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    return {str(k): float(v) for k, v in values.items() if render.is_number(v)}


def model(facts: RunFacts) -> dict[str, Any] | None:
    """The table of predicted and measured seconds, or why there is none."""
    predicted = section(facts.run, "predicted")
    compared = comparison_of(facts.run)
    notes = [str(n) for n in listed(predicted, "notes")]
    if compared is None:
        return {"rows": [], "notes": notes} if notes else None
    most = max(max(r.rescaled or 0.0, r.measured or 0.0) for r in compared.rows) or 1.0

    def row(r: Any) -> tuple[Any, ...]:
        seconds = ["" if v is None else f"{v:.2f}" for v in (r.predicted, r.rescaled, r.measured, r.ratio)]
        return r.phase, *seconds, [((r.rescaled or 0.0) / most, "rest"), ((r.measured or 0.0) / most, "")]

    return {
        "rows": [row(r) for r in compared.shown],
        "foot": ("wall", *row(compared.wall)[1:-1], ""),
        "notes": [*compared.notes(), *_halo(facts), *notes],
    }


def _halo(facts: RunFacts) -> list[str]:
    """Return predicted and measured waiting for ghost planes, which is part of the time steps."""
    said = section(facts.run, "predicted").get("halo_seconds")
    waited = section(section(section(facts.run, "over_ranks"), "halo"), "waited").get("mean")
    if not render.is_number(waited) or not waited:
        return []
    predicted = f"{said:.2f} s predicted" if render.is_number(said) else "not predicted"
    return [f"waiting for ghost planes, inside the time steps: {predicted}, {waited:.2f} s measured"]


def ranks(facts: RunFacts) -> dict[str, Any] | None:
    """Groups, time by phase and input over the ranks; None for a process alone."""
    parallel, over = section(facts.run, "parallel"), section(facts.run, "over_ranks")
    count: Any = parallel.get("ranks")
    if not render.is_number(count) or count < 2:
        return None
    of_phases = section(over, "phases")
    mean = {k: v.get("mean") for k, v in of_phases.items() if isinstance(v, dict)}
    largest = {k: v.get("max") for k, v in of_phases.items() if isinstance(v, dict)}
    rows, wall = render.phase_rows(mean) if mean else ([], 0.0)
    most = max([v for _, v in rows] + [1e-9])
    return {
        "groups": _groups(parallel, facts.unit),
        "phases": [(name, f"{v:.3f}", _seconds(largest.get(name)), v / most) for name, v in rows],
        "wall": ("wall", f"{wall:.3f}", _seconds(largest.get("wall")), ""),
        "input": _input(section(over, "input")),
    }


def _groups(parallel: dict[str, Any], unit: str) -> str:
    """One sentence on who worked with whom."""
    sizes = [n for n in listed(parallel, "groups") if render.is_number(n)]
    nodes = parallel.get("nodes")
    parts = [
        f"{parallel['ranks']} ranks on "
        + (f"{nodes} nodes" if render.is_number(nodes) and nodes != 1 else "1 node"),
        _gpus(parallel),
        f"{parallel['threads']} threads each" if render.is_number(parallel.get("threads")) else "",
        f"in {len(sizes)} groups of {' or '.join(map(str, sorted(set(sizes))))}, one {unit} each"
        if len(sizes) > 1
        else f"all on one {unit} at a time",
    ]
    idle = parallel.get("idle_ranks")
    if render.is_number(idle) and idle:
        parts.append(
            f"{idle} of them without {unit}s: slabs of larger groups would be thinner than their halo"
        )
    return ", ".join(p for p in parts if p)


def _gpus(parallel: dict[str, Any]) -> str:
    """Return how many GPUs they computed on, and which; empty on processors."""
    seats = [s for s in listed(parallel, "gpus") if isinstance(s, dict)]
    count = len({(str(s.get("host")), str(s.get("bus"))) for s in seats})
    names = ", ".join(dict.fromkeys(str(s.get("name")) for s in seats))
    return f"on {count} GPU{'s' * (count != 1)} ({names})" if seats else ""


def _seconds(value: Any) -> str:
    return f"{value:.3f}" if render.is_number(value) else ""


def _input(kinds: dict[str, Any]) -> list[tuple[str, ...]]:
    """Requested and read bytes, summed over the ranks."""
    rows = []
    for kind, label in (("traces", "traces"), ("all", "all input, checks included")):
        amounts: list[Any] = [section(kinds, kind).get(k) for k in ("wanted", "read", "received")]
        if not all(render.is_number(v) for v in amounts):
            continue
        wanted, read, received = amounts
        ratio = f"{(read + received) / wanted:.2f}" if wanted else ""
        rows.append((label, *map(render.size, amounts), ratio))
    return rows


def strategy(facts: RunFacts) -> dict[str, Any] | None:
    """The strategy of the shots, planned against counted; None for runs that say nothing of it."""
    known = section(facts.run, "checkpoint")
    name, shots = known.get("strategy"), section(known, "shots")
    if not isinstance(name, str) or not shots:
        return None
    differing = listed(known, "differing")
    agreed = "as planned" if not differing else f"not as planned in {len(differing)} of {len(shots)} shots"
    text = f"{name}: {known.get('why', '')}. What the shots did is {agreed}."
    return {"text": text, "rows": _counters(list(shots.values()))}


def _counters(shots: list[Any]) -> list[tuple[str, str, str]]:
    """Return sums over the shots, planned and counted."""
    rows = []
    for key, text in COUNTERS.items():
        both = [sum(_count(section(s, side).get(key)) for s in shots) for side in ("planned", "counted")]
        if any(both):
            rows.append((text, render.count(both[0]), render.count(both[1])))
    for key, text in (("bytes_written", "written to scratch"), ("bytes_read", "read from scratch")):
        pairs = [p for s in shots if len(p := listed(s, key)) == 2]
        both = [sum(_count(p[i]) for p in pairs) for i in (0, 1)]
        if any(both):
            rows.append((text, render.size(both[0]), render.size(both[1])))
    for key, text in (("damaged", "damaged records"), ("recomputed", "time steps done again for them")):
        count = sum(_count(s.get(key)) for s in shots)
        if count:
            rows.append((text, "", render.count(count)))
    return rows


def _count(value: Any) -> int:
    return int(value) if render.is_number(value) else 0
