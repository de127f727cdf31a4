"""Write the tables and the picture of docs/theory/checkpoints.md from the schedules; with --check, only compare.

The picture is a schedule as it is done: forward steps to the right, the state they reach upwards.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from subsalt.checkpoint.schedule.two_level import (
    Action,
    Slots,
    best_way,
    forward_steps,
    moves_of,
    repetitions,
    two_level,
)
from subsalt.view import palettes

PAGE = Path(__file__).with_name("theory") / "checkpoints.md"
PICTURE = Path(__file__).with_name("schedules.svg")

LENGTHS, SLOTS = (10, 50, 100, 200, 400, 800, 1600), (1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 40)
FOUNDING = (5, 10, 20, 40, 80, 200, 400, 799)
#: memory slots, disk slots, what writing and reading a state costs in block advances
PAIRS = ((10, 0, 0), (10, 20, 0), (10, 20, 1), (10, 20, 5), (10, 200, 1), (10, 200, 5), (0, 20, 1))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---:" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def tables() -> dict[str, str]:
    """Return the tables of the page by name."""
    two = []
    for memory, disk, cost in PAIRS:
        slots = Slots(memory, disk, 100 * cost, 100 * cost, 100)
        way, moves = best_way(800, slots), moves_of(800, slots)
        name = f"{way.segments} segments" if way.segments else f"multistage, {way.disk} on disk"
        two.append(
            (
                memory,
                disk,
                cost,
                name,
                moves.advances,
                moves.stored_disk,
                moves.loaded_disk,
                f"{moves.advances / 799:.2f}",
            )
        )
    return {
        "counts": table(
            ["l \\ c", *map(str, SLOTS)],
            [[n, *(forward_steps(n, c) for c in SLOTS)] for n in LENGTHS],
        ),
        "founding": table(
            ["slots c", "r", "forward steps", "against all kept"],
            [(c, repetitions(800, c), t := forward_steps(800, c), f"{t / 799:.2f}") for c in FOUNDING],
        ),
        "two levels": table(
            ["memory", "disk", "w = r", "way", "forward steps", "written", "read", "steps against all kept"],
            two,
        ),
    }


def page(text: str) -> str:
    """Return the page with its tables made anew."""
    for name, made in tables().items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{made}\n{end}{rest.split(end, 1)[1]}"
    return text


WIDTH, HEIGHT, LEFT, TOP = 900.0, 250.0, 60.0, 34.0


def drawing(title: str, length: int, actions: Iterable[Action], top: float) -> list[str]:
    """Return the shapes of one schedule: its way, its visits, and how long each slot holds its state."""
    actions = list(actions)
    total = 0
    here = 0
    for a in actions:
        if a.kind == "advance":
            total += a.block - here
        here = a.block if a.kind != "drop" else here

    def x(steps: float) -> float:
        return LEFT + steps * (WIDTH - LEFT - 20) / total

    def y(block: float) -> float:
        return top + TOP + (HEIGHT - TOP - 40) * (1 - block / (length - 1))

    out = [f'<text x="{LEFT}" y="{top + 20:.0f}" class="title">{title}: {total} forward steps</text>']
    for block in (0, length - 1):
        out.append(f'<text x="{LEFT - 8}" y="{y(block) + 4:.1f}" text-anchor="end">x{block}</text>')
    here, done = 0, 0
    since: dict[tuple[str, int], tuple[int, int]] = {}
    held, way, visits = [], [], []
    for a in actions:
        place = (a.level, a.slot)
        if a.kind == "advance":
            way.append(
                f'<path d="M{x(done):.1f} {y(here):.1f} L{x(done + a.block - here):.1f} {y(a.block):.1f}"/>'
            )
            done += a.block - here
        elif a.kind == "store":
            since[place] = done, a.block
        elif a.kind == "drop":
            start, block = since.pop(place)
            ends = x(start), max(x(done), x(start) + 1)
            held.append(
                f'<path class="{a.level}" d="M{ends[0]:.1f} {y(block):.1f} L{ends[1]:.1f} {y(block):.1f}"/>'
            )
        elif a.kind == "image":
            visits.append(f'<circle cx="{x(done):.1f}" cy="{y(a.block):.1f}" r="2.4"/>')
        here = a.block if a.kind != "drop" else here
    return [
        *out,
        '<g class="held">',
        *held,
        '</g><g class="way">',
        *way,
        '</g><g class="visits">',
        *visits,
        "</g>",
    ]


def picture() -> str:
    """Return the picture: memory slots alone, and with disk slots."""
    shapes = drawing("40 blocks, 3 slots in memory", 40, two_level(40, Slots(3)), 0)
    both = Slots(2, 6, 100, 100, 100)
    shapes += drawing("the same with 2 slots in memory and 6 on disk", 40, two_level(40, both), HEIGHT)
    style = (
        "text{font:13px sans-serif;fill:#333}.title{font-weight:bold}"
        f".way path{{stroke:{palettes.BLUE};stroke-width:1.4;fill:none}}.visits circle{{fill:{palettes.INK}}}"
        ".held path{stroke-width:4;stroke-opacity:.6}"
        f".memory{{stroke:{palettes.SKY_BLUE}}}.disk{{stroke:{palettes.ORANGE}}}"
    )
    legend = "".join(
        f'<text x="{LEFT:.0f}" y="{2 * HEIGHT - up}">{line}</text>'
        for up, line in (
            (
                22,
                "To the right: forward steps done. Blue: the source wavefield; black: a block is visited and imaged;",
            ),
            (6, "light blue: a slot in memory holds a state; orange: a slot on disk does."),
        )
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {2 * HEIGHT:.0f}">'
    body = "\n".join(
        [head, f"<style>{style}</style>", '<rect width="100%" height="100%" fill="#fff"/>', *shapes, legend]
    )
    return body + "\n</svg>\n"


def main() -> int:
    """Write, or compare."""
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        return int(page(text) != text or PICTURE.read_text(encoding="utf-8") != picture())
    PAGE.write_text(page(text), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
