"""How long until a schedule says its first action, and how long for all of them?

    python benchmarks/schedules.py [--length 100000]

A schedule of 100,000 steps is to start in under 0.1 s: ends with 1 when one does not. Every schedule is checked before
its time counts: forward steps as in the closed form, every state visited once, last one first.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from facts import machine  # noqa: E402

from subsalt.checkpoint.schedule import two_level  # noqa: E402
from subsalt.checkpoint.schedule.two_level import (  # noqa: E402
    Action,
    Slots,
    distance,
    forward_steps,
)

BAR = 0.1


def checked(actions: Iterator[Action], length: int) -> tuple[int, int]:
    """Return the number of actions and the forward steps; fails when a state is missed."""
    here = steps = number = 0
    left = length
    for number, action in enumerate(actions, 1):  # noqa: B007
        if action.kind == "advance":
            steps += action.block - here
        elif action.kind == "image":
            left -= 1
            assert action.block == left
        if action.kind != "drop":
            here = action.block
    assert left == 0
    return number, steps


def forget() -> None:
    """Empty all caches: a process that has just started."""
    for f in (distance, two_level.uses, two_level.best_way, two_level.moves_of):
        f.cache_clear()


def measure(length: int, slots: Slots) -> dict[str, float | int | str]:
    """Return seconds to the first action and to the last, and what was done between."""
    start: Callable[[], Iterator[Action]] = lambda: two_level.two_level(length, slots)  # noqa: E731
    number, steps = checked(start(), length)
    if not slots.disk:
        assert steps == forward_steps(length, slots.memory + 1)
    forget()
    begin = time.perf_counter()
    actions = start()
    next(actions)
    first = time.perf_counter() - begin
    for _ in actions:
        pass
    return {
        "memory": slots.memory,
        "disk": slots.disk,
        "first_s": first,
        "all_s": time.perf_counter() - begin,
        "actions": number,
        "steps": steps,
    }


def main() -> int:
    """Print the table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--length", type=int, default=100_000, help="states")
    length = parser.parse_args().length
    rows = [measure(length, Slots(m, d, 100, 100, 100)) for m, d in ((5, 0), (20, 0), (200, 0), (20, 200))]
    print(f"{length} states")
    print("memory   disk   first action (ms)   all (s)     actions   forward steps")
    for r in rows:
        print(
            f"{r['memory']:6} {r['disk']:6} {1e3 * float(r['first_s']):19.3f} "
            f"{r['all_s']:9.3f} {r['actions']:11} {r['steps']:15}"
        )
    print(json.dumps({"question": "schedules", "length": length, "machine": machine(1), "rows": rows}))
    return int(max(float(r["first_s"]) for r in rows) > BAR)


if __name__ == "__main__":
    sys.exit(main())
