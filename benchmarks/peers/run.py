"""Which is faster on this machine, subsalt or a peer, at the same question?

One interleaved run per case: every side is a persistent process, rounds alternate forwards and backwards, the answers
are compared before any time is believed. A peer takes part with several of its own options (`sides.py`); the fastest
is the one that counts. Prints a table and, last, one JSON object; ``--publish`` keeps it as the case's row in
docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import verify
from cases import EXAMPLES, Case, parse
from environments import ROOT
from sides import Worker, is_large, sides_of

sys.path.insert(0, str(ROOT / "benchmarks"))
from facts import machine, spread

#: what is timed unless the command says otherwise: rounds, steps of a round, steps of the point source
DEFAULTS = {"steps": (9, 20, 60), "solution": (9, 20, 60), "plane": (15, 200, 200), "rtm": (5, 0, 0)}
DEFAULTS |= {"kirchhoff": (9, 0, 0), "lsrtm": (3, 0, 0), "gpu": (9, 50, 60)}
#: the same for grids of more than 10^8 points
LARGE = (5, 10, 30)


def measure(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Run one case and return its row."""
    request = options.rounds, options.steps, options.check_steps
    usual = LARGE if is_large(case) and case.kind != "gpu" else DEFAULTS[case.kind]
    rounds, steps, check_steps = (a or u for a, u in zip(request, usual, strict=True))
    sides = sides_of(case, options.device, options.storage)
    timed = [name for name, side in sides.items() if side.timed]
    workers: dict[str, Worker] = {}
    seconds: dict[str, list[float]] = {name: [] for name in timed}
    begin = time.perf_counter()
    try:
        for name, side in sides.items():
            workers[name] = Worker(side, case, options.threads)
        ready = time.perf_counter()
        if case.kind == "rtm":
            agreement = verify.images(case, sides, workers)
        elif case.kind == "kirchhoff":
            agreement = verify.sums(case, sides, workers)
        elif case.kind == "lsrtm":
            agreement = verify.scattering(case, sides, workers)
        else:
            agreement = verify.wavefields(case, sides, workers, check_steps, steps)
        for name in [name for name in workers if name not in timed]:
            workers.pop(name).close()
        for i in range(rounds):
            for name in timed if i % 2 == 0 else reversed(timed):
                seconds[name].append(_round(workers[name], steps))
        reached = {}
        if case.kind == "lsrtm":
            reached = {name: worker.ask("misfit") for name, worker in workers.items()}
        memory = {name: worker.ask("memory") for name, worker in workers.items()}
        about = {name: worker.about for name, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.close()
    row = {
        "kind": case.kind,
        "medium": case.medium,
        "interior": list(case.interior),
        "order": case.order,
        "rounds": rounds,
        "steps": steps or case.steps,
        "relative_l2": {k: float(f"{v:.2e}") for k, v in agreement.items()},
        "minutes": {
            "start": round((ready - begin) / 60, 2),
            "all": round((time.perf_counter() - begin) / 60, 2),
        },
    }
    peers = [name for name in timed if sides[name].peer]
    if reached:
        row["reached"] = reached
        row["holds"] = {"misfit no higher": no_higher(reached, peers)}
    return row | summary(case, seconds, peers, row["steps"]) | {"memory": memory, "about": about}


def _round(worker: Worker, steps: int) -> float:
    """Return the seconds of one round; a propagation starts from the filled grid."""
    if not steps:
        return worker.ask("round")
    worker.ask("fill")
    return worker.ask("round", steps=steps)


def summary(case: Case, seconds: dict[str, list[float]], peers: list[str], steps: int) -> dict[str, Any]:
    """Return medians, rates and the ratios of every side of ours to the fastest variant of the peer.

    A ratio is the median over rounds of the peer's seconds by ours; `against` has those of our first side to every
    variant of the peer. Rates count the points of the interior, in 10^9 point-steps per second; a migration counts both
    wavefields, and least squares the gradients of its points.
    """
    best = min(peers, key=lambda name: median(seconds[name]))
    work = math.prod(case.interior) * steps * (2 if case.kind == "rtm" else 1)
    ours = [name for name in seconds if name not in peers]
    return {
        "ours": ours[0],
        "peer": best,
        "seconds": {name: round(median(v), 5) for name, v in seconds.items()},
        "interior_gpts": {name: float(f"{work / median(v) / 1e9:.4g}") for name, v in seconds.items()},
        "ratios": {name: ratio(seconds[best], seconds[name]) for name in ours},
        "against": {name: ratio(seconds[name], seconds[ours[0]]) for name in peers},
    }


def no_higher(reached: dict[str, dict[str, float]], peers: list[str]) -> bool:
    """Return whether every side of ours ends at a misfit that none of the peer's is below."""
    best = min(reached[name]["misfit"] for name in peers)
    return all(end["misfit"] <= best for name, end in reached.items() if name not in peers)


def ratio(theirs: list[float], ours: list[float]) -> dict[str, float]:
    """Return the median of the rounds' ratios, their range and scatter."""
    values = [t / o for t, o in zip(theirs, ours, strict=True)]
    return {
        "ratio": round(median(values), 3),
        "min": round(min(values), 3),
        "max": round(max(values), 3),
        "spread": round(spread(values), 4),
    }


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Return the rows as text."""
    lines = [
        "median of a round, 10^9 point-steps/s of all points (layer included; Kirchhoff: contributions/s), peak memory,"
        "\nratio of times: ours to the fastest variant of the peer (*); a variant of the peer against the first line"
    ]
    for name, r in rows.items():
        count = {"kirchhoff": "traces", "lsrtm": "gradients"}.get(r["kind"], "steps")
        lines.append(f"\n{name}, {r['rounds']} rounds of {r['steps']} {count}, interior {r['interior']}")
        for side, s in r["seconds"].items():
            points = r["about"][side].get("points")
            rate = f"{points * r['steps'] / s / 1e9:8.3f}" if points else 8 * " "
            q = r["ratios"].get(side) or r["against"][side]
            text = f"{'' if side in r['ratios'] else 'against '}{q['ratio']:.2f} ({q['min']:.2f} to {q['max']:.2f})"
            mark = "*" if side == r["peer"] else " "
            peak = r["memory"][side]["peak"] / 1e9
            end = f"  misfit {r['reached'][side]['misfit']:.4f}" if "reached" in r else ""
            lines.append(f"{mark} {side:<36}{s:10.4f} s{rate}{peak:8.2f} GB  {text}{end}")
        worst = max(r["relative_l2"].items(), key=lambda kv: kv[1])
        lines.append(f"  largest difference: {worst[1]:.1e} ({worst[0]}); {r['minutes']['all']} minutes")
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, run the cases, print the table and the JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=["iso-256", "vti-256"], help=EXAMPLES)
    parser.add_argument("--rounds", type=int, help="rounds per case")
    parser.add_argument("--steps", type=int, help="time steps per round")
    parser.add_argument("--check-steps", type=int, help="steps of the point-source comparison")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--storage", default="", choices=["", "f32", "u16"], help="our model storage")
    parser.add_argument("--device", default="cpu", help="the device: cpu, cuda, or reference for a trial")
    parser.add_argument("--out", type=Path, help="also write the JSON object to this file")
    parser.add_argument("--publish", action="store_true", help="write docs/performance/CASE.json")
    options = parser.parse_args()
    cases = [parse(name) for name in options.cases]  # a wrong name ends the run before it starts
    if options.publish and any(":" in case.name for case in cases):
        parser.error("--publish keeps whole cases; leave the divisor away")
    facts = machine(options.threads)
    print(", ".join(f"{k} {v}" for k, v in facts.items()), flush=True)
    rows = {}
    for case in cases:
        rows[case.name] = measure(case, options)
        print(table({case.name: rows[case.name]}), flush=True)
        if options.publish:
            device = "" if options.device == "cpu" else f" DEVICE={options.device}"
            command = f'make bench-peers CASES="{case.name}"{device}'
            question = "peers, least squares" if case.kind == "lsrtm" else "peers"
            result = {"question": question, "case": case.name, "command": command, "machine": facts}
            publish(case.name, result | {"row": rows[case.name]})
    result = {"machine": facts, "cases": rows}
    result["ratio"] = {k: r["ratios"][r["ours"]]["ratio"] for k, r in rows.items()}
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))


def publish(name: str, result: dict[str, Any]) -> None:
    """Keep a result for docs/make_performance.py."""
    folder = ROOT / "docs" / "performance"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
