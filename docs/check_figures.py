"""Report figures of hand-written tables that no record in docs/performance has.

A row is named by its first words; what it may state is computed here from its records. A figure is a number with a
decimal point, of per cent or of seconds (versions, dates, orders and shapes are none). A row without an entry may state
none; nor may a paragraph of these sections, unless `TEXTS` has its page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "docs" / "performance"
#: page, heading of the section whose tables are checked
SECTIONS = (
    ("docs/comparison.md", "## Speed"),
    ("docs/performance.md", "## How long does a time step take?"),
    ("docs/performance.md", "## How many points per second is that?"),
    ("docs/performance.md", "## How long does the migration of a shot take?"),
    ("docs/performance.md", "## What do gathers cost?"),
    ("docs/performance.md", "## How long does an accurate waveform take?"),
    ("docs/performance.md", "## How does it compare with a published migration?"),
    ("docs/performance.md", "## How fast is Kirchhoff time migration?"),
    ("docs/performance.md", "## Does the plan predict the run?"),
    ("docs/performance.md", "## What do checkpoints cost?"),
    ("docs/notes/performance-goals.md", "## Goals and measurements"),
)
#: column of a table of ratios to Devito: the processor it names, and the end of the names of its records
PROCESSORS = {"Zen 5": "", "Zen 4": "-family25", "Zen 3": "-family25-model1", "Xeon": "-family6"}

Figures = Callable[[str], list[float]]


@cache
def record(name: str) -> Any:
    """Return a record by the name of its file."""
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))


def ratios(case: str, *sides: str) -> Figures:
    """Return the ratios to the peer of some sides of a case, on a processor; the range of the first too."""

    def found(end: str) -> list[float]:
        if not (RECORDS / f"{case}{end}.json").exists():
            return []
        row = record(case + end)["row"]
        chosen = [row["ratios"][side] for side in sides or (row["ours"],) if side in row["ratios"]]
        return [q["ratio"] for q in chosen] + ([chosen[0]["min"], chosen[0]["max"]] if chosen else [])

    return found


def against(case: str, variant: str) -> Figures:
    """Return the ratio of one variant of the peer to our first side."""
    return lambda end: [record(case + end)["row"]["against"][variant]["ratio"]]


def several(*parts: Figures) -> Figures:
    """Return the figures of all parts."""
    return lambda end: [value for part in parts for value in part(end)]


def waveforms(end: str) -> list[float]:
    """Return what the record of the time to a waveform has: ratios, memory, errors in per cent, work; Zen 4 alone."""
    if end != "-family25":
        return []
    out = [0.09]  # GB of a process before any array
    for row in record("accuracy")["media"].values():
        out += [q["ratio"] for q in row["ratios"].values()] + list(row["memory_ratios"].values())
        out += [100 * side["worst_record"] for side in row["sides"].values()]
        out += [p["work_every_record"] for p in row["predicted"]]
        out += [s["point_steps"] / s["seconds"] / 1e9 for n, s in row["sides"].items() if "Devito" not in n]
    return out


def on_a_chosen_grid(end: str) -> list[float]:
    """Return ratios and errors of a migration on the grid that is chosen, over that on the model's."""
    rows = record("propagation-grid" + end)["rows"]
    model, auto = rows["Taylor, model's grid"], rows["fitted, auto"]
    out = [auto["ratio"], 100 * auto["image_error"], auto["peak_gb"] / model["peak_gb"]]
    return [*out, auto["points"]] if "points" in auto else out


def rate_of_a_sum(end: str) -> list[float]:
    """Return the rates of the default Kirchhoff sum and of the triangle, and bands over triangle."""
    last = record("kirchhoff-sum")["gcontrib_per_s_median_min_max"][-1]
    bands, triangle = last["sinc, 10 bands, interpolated"][0], last["sinc, triangle"][0]
    return [bands, triangle, bands / triangle]


def of_revolve(end: str) -> list[float]:
    """Return measured over predicted seconds of revolve, and their range over rounds, on a processor."""
    found = record("revolve-time-8" + ("" if end == "-family25" else end))
    rounds = [r["measured"] / r["predicted"] for r in found["rounds"]]
    return [found["ratio"], min(rounds), max(rounds)]


def bar(name: str, *keys: str) -> Figures:
    """Return values of a record that is one measurement: that of a processor where it has one of its own."""
    return lambda end: [
        record(name + end if (RECORDS / f"{name}{end}.json").exists() else name)[key] for key in keys
    ]


def judged(end: str) -> list[float]:
    """Return the rates at which models are read and judged, GB/s: in RSF, in SEG-Y."""
    found = record("judging-model")
    return [
        found["gigabytes"] / found["phases"][f"{kind}, read and judged"]["seconds"] for kind in ("rsf", "sgy")
    ]


def kernel_of_the_published_case(end: str) -> list[float]:
    """Return seconds of order 8 with a PML, with models in float32 and in 16 bits."""
    rows = record("founding" + end)["rows"]
    return [r["kernel_seconds"] for r in rows if (r["order"], r["boundary"]) == (8, "pml")]


def with_gcc(end: str) -> list[float]:
    """Return the ratios of the isotropic steps to the fastest variant of the peer that gcc compiled."""
    row = record("iso-256" + end)["row"]
    name = min((n for n in row["against"] if "clang" not in n), key=lambda n: row["seconds"][n])
    return [row["against"][name]["ratio"], row["seconds"][name] / row["seconds"]["PML 12"]]


def rates(case: str) -> Figures:
    """Return 10^9 point-steps per second of our damping and PML on a processor."""

    def of_a_processor(end: str) -> list[float]:
        row = record(case + end)["row"]
        return [
            row["about"][side]["points"] * row["steps"] / row["seconds"][side] / 1e9
            for side in ("damping", "PML 12")
        ]

    return of_a_processor


def published_migration(end: str) -> list[float]:
    """Return the seconds that a study of 2009 published, the jobs' here, and the kernel's of each processor over it."""
    jobs = [record(f"founding-job-8-u16{end}") for end in ("", "-family25-model1")]
    kernel = record("founding")["document"]["kernel_seconds"]
    measured = [e for e in PROCESSORS.values() if (RECORDS / f"founding{e}.json").exists()]
    here = [kernel_of_the_published_case(e)[0] / kernel for e in measured]
    totals = [s for job in jobs for s in (*job["seconds"].values(), job["peak_memory_bytes"] / 1e9)]
    return [kernel, record("founding")["document"]["gb"], jobs[0]["document"]["total"], *totals, *here]


def published_time_migration(end: str) -> list[float]:
    """Return seconds here and as published of the two cases of a time migration, and their ratios."""
    rows = [row for end in ("", "-family25-model1") for row in record("kirchhoff-founding" + end)["rows"]]
    seconds = [r[key] for r in rows for key in ("seconds", "document_seconds")]
    return seconds + [r["document_seconds"] / r["seconds"] for r in rows]


def cost_of_gathers(variant: str) -> Figures:
    """Return the time of a migration with gathers over that without."""
    return lambda end: [record("prove-gathers")["cost"]["variants"][variant]["ratio"]]


def per_cent(figures: Figures) -> Figures:
    """Return figures times 100."""
    return lambda end: [100 * value for value in figures(end)]


STEPS = ("damping", "PML 12", "damping, u16")
MIGRATIONS = ("every 5th sample", "every 5th sample, whole grid")
BEST = "1-D profiles, 2 levels, huge pages"
#: per cent that a waveform may be off in the comparison of accurate waveforms
ACCURACY = 1.0
#: figures of a row, by the first words of its label
ROWS: dict[str, Figures] = {
    "isotropic step, 256^3": ratios("iso-256", *STEPS),
    "isotropic, equal damping": ratios("iso-256", *STEPS),
    "isotropic, 256^3, equal damping": several(ratios("iso-256", *STEPS), with_gcc),
    "same solution, isotropic": ratios("solution-iso"),
    "same solution, VTI": ratios("solution-vti"),
    "same solution, TTI": ratios("solution-tti"),
    "VTI step": ratios("vti-256", *STEPS),
    "VTI": ratios("vti-256", *STEPS),
    "VTI, the same": ratios("vti-256", *STEPS),
    "TTI step": several(ratios("tti-256", *STEPS), against("tti-256", "our scheme")),
    "TTI, against": ratios("tti-256", *STEPS),
    "TTI, the same": several(ratios("tti-256", *STEPS), against("tti-256", "our scheme")),
    "RTM of a shot": several(ratios("rtm2d", *MIGRATIONS), ratios("rtm3d", *MIGRATIONS)),
    "the same with the whole grid": several(ratios("rtm2d", MIGRATIONS[1]), ratios("rtm3d", MIGRATIONS[1])),
    "2-D RTM against Devito": ratios("rtm2d", *MIGRATIONS),
    "3-D RTM against Devito": ratios("rtm3d", *MIGRATIONS),
    "a direct wave in a uniform 3-D medium": waveforms,
    "time to a waveform": waveforms,
    "memory of it": waveforms,
    "3-D RTM of dipping layers": on_a_chosen_grid,
    "storing with direct": several(bar("storing-direct", "ratio"), per_cent(bar("storing-direct", "spread"))),
    "published case, PML": kernel_of_the_published_case,
    "the small case, PML": kernel_of_the_published_case,
    "revolve over steps": of_revolve,
    "models read and judged": judged,
    "2-D step, 2000^2": ratios("iso2d-2000", "PML 12", "damping 40"),
    "rate, isotropic": rates("iso-256"),
    "rate, VTI": rates("vti-256"),
    "rate, TTI": rates("tti-256"),
    "gathers at every eighth column": cost_of_gathers("every eighth column"),
    "gathers at all columns": cost_of_gathers("all columns"),
    "PyLops": lambda end: ratios("kirchhoff")(""),
    "published case, 70,808": published_time_migration,
    "published case, 283,232": published_time_migration,
    "published case on Zen 3, 70,808": published_time_migration,
    "published Kirchhoff case": published_time_migration,
    "plan, memory": per_cent(bar("plan-against-measured", "memory_error")),
    "plan, disk": per_cent(bar("plan-against-measured", "disk_error")),
    "Kirchhoff": rate_of_a_sum,
    "isotropic 256^3 / 400^3": several(ratios("iso-256"), ratios("iso-400")),
    "VTI 256^3 / 400^3": several(ratios("vti-256"), ratios("vti-400")),
    "VTI on 63 x 1089 x 1169 points": ratios("vti-founding"),
    "TTI 256^3, Devito's": several(ratios("tti-256"), against("tti-256", "our scheme")),
    "isotropic 2-D, 2000^2": ratios("iso2d-2000"),
    "time to solution": several(ratios("solution-iso"), ratios("solution-vti")),
    "migration of one shot": several(ratios("rtm2d"), ratios("rtm3d")),
}
#: figures of the paragraphs of a page's section
TEXTS: dict[str, Figures] = {
    "docs/comparison.md": several(
        lambda end: with_gcc("-family25"),
        lambda end: ratios("iso2d-2000", "PML 12", "damping 40")(""),
        lambda end: ratios("iso2d-2000", "PML 12", "damping 40")("-family6"),
        lambda end: ratios("iso2d-2000", "damping 40")("-family6"),
        lambda end: ratios("kirchhoff")(""),
    ),
    "docs/performance.md": several(
        lambda end: [ACCURACY],
        lambda end: against("tti-256", "our scheme")("-family25"),
        lambda end: against("tti-256", "our scheme")("-family25-model1"),
        lambda end: ratios("rtm2d", *MIGRATIONS)("-family25"),
        lambda end: ratios("rtm3d", *MIGRATIONS)("-family25"),
        lambda end: waveforms("-family25"),
        published_migration,
        lambda end: [record("kirchhoff-founding-family25-model1")["gcontrib_per_s"]],
    ),
    "docs/notes/performance-goals.md": lambda end: [],
}
#: columns that are goals, not figures
GOALS = ("goal", "target")


def section(text: str, heading: str) -> str:
    """Return the text below a heading, up to the next of its level."""
    level = heading.split()[0]
    return re.split(rf"^{level} ", text.split(f"\n{heading}\n", 1)[1], maxsplit=1, flags=re.M)[0]


def tables(text: str) -> Iterator[tuple[list[str], list[list[str]], str]]:
    """Return head, rows and the title above every table."""
    title = ""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("#"):
            title = line
        if line.startswith("|---"):
            rows = [lines[i - 1]]
            for following in lines[i + 1 :]:
                if not following.startswith("|"):
                    break
                rows.append(following)
            head, *body = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
            yield head, body, title


def processor(head: str, title: str) -> str:
    """Return the end of the names of the records of a column."""
    for name, end in PROCESSORS.items():
        if head.startswith(name):
            return end
    # the tables of goals: that of version 0.8 was measured on a Zen 4, the one before on a Zen 5
    return "" if title.endswith("Before version 0.8") else "-family25"


def figures(cell: str) -> list[str]:
    """Return the numbers with a decimal point, of per cent or of seconds; not versions, links or code."""
    plain = re.sub(r"\]\([^)]*\)|`[^`]*`|[vV]ersions? [\d., /to]+|\d+\.\d+\.\d+", " ", cell)
    return re.findall(r"\d+\.\d+|\d+(?= ?%| s\b)", plain)


def stated(value: float, text: str) -> bool:
    """Return whether a value, rounded as the text is, is that text."""
    places = len(text.partition(".")[2])
    return abs(value - float(text)) <= 0.5 * 10.0**-places * (1 + 1e-9)


def paragraphs(text: str) -> str:
    """Return a section without its tables."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("|"))


def missing(page: str, text: str, heading: str) -> Iterator[str]:
    """Return a line per figure that no record of its row has."""
    for head, body, title in tables(section(text, heading)):
        for row in body:
            names = [name for name in ROWS if row[0].startswith(name)]
            known = ROWS[max(names, key=len)] if names else None
            for column, cell in zip(head[1:], row[1:], strict=True):
                if column.startswith(GOALS):
                    continue
                texts = figures(cell)
                values = known(processor(column, title)) if known and texts else []
                for one in texts:
                    if not any(stated(value, one) for value in values):
                        yield f"{page}: {row[0]!r}: no record has {one} ({column})"
    values = TEXTS[page]("") if page in TEXTS else []
    for one in figures(paragraphs(section(text, heading))):
        if not any(stated(value, one) for value in values):
            yield f"{page}: {heading!r}, below its tables: no record has {one}"


def found() -> list[str]:
    """Return what is wrong on all pages."""
    return [
        line
        for page, heading in SECTIONS
        for line in missing(page, (ROOT / page).read_text(encoding="utf-8"), heading)
    ]


if __name__ == "__main__":
    wrong = found()
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
