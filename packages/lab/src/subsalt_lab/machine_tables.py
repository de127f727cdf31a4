"""machine.json as people read it: a table per section with age and noise, and what has not been measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from subsalt import __version__
from subsalt.host import gpus_of_driver
from subsalt.machine.machine_file import Machine, days_since
from subsalt.report.table import Column, render

#: what a section is called, what uses it, and how to measure it, in the order in which a machine is got to know
SECTIONS: dict[str, tuple[str, str, str]] = {
    "memory": ("Memory and arithmetic", "the roofs of kernel reports", "subsalt lab memory"),
    "kernels": ("Kernels", "the time of plans", "subsalt lab kernels --quick"),
    "shots": ("Shots of jobs", "the time of plans of jobs like these", "subsalt plan JOB"),
    "kirchhoff": ("Sums over traces", "the time of plans of time migrations like these", "subsalt plan JOB"),
    "device": ("GPU", "the time of plans for it", "subsalt lab memory --device cuda"),
    "device_kernels": (
        "Kernels of the GPU",
        "the time of plans for it",
        "subsalt lab kernels --device cuda",
    ),
    "copies": (
        "Independent copies",
        "how many jobs a node does side by side",
        "subsalt lab kernels --copies N",
    ),
    "storage": ("Storage", "where checkpoints go, and what they take", "subsalt lab storage DIR"),
    "network": ("Network", "what ranks wait for their neighbours", "subsalt lab network"),
}

#: what stands behind every row
WHEN = (Column("age", "age"), Column("version", "version"), Column("note", "note"))

_SHOT = (
    Column("medium", "medium"),
    Column("dim", "dim", "d"),
    Column("order", "order", "d"),
    Column("boundary", "boundary"),
    Column("layer_cells", "layer", "d"),
)

COLUMNS: dict[str, tuple[Column, ...]] = {
    "memory": (
        Column("what", "sweep"),
        Column("isa", "isa"),
        Column("threads", "threads", "d"),
        Column("rate", "rate", ".1f"),
        Column("unit", "unit"),
        Column("spread", "± %", ".1f", 100),
    ),
    "kernels": (
        *_SHOT,
        Column("loop", "loop"),
        Column("model_storage", "models"),
        Column("isa", "isa"),
        Column("threads", "threads", "d"),
        Column("n", "n", "d"),
        Column("points_per_s", "Gpt-steps/s", ".3f", 1e-9),
        Column("spread", "± %", ".1f", 100),
    ),
    "shots": (
        *_SHOT,
        Column("threads", "threads", "d"),
        Column("points", "points", ".3g"),
        Column("step_points_per_s", "Gpt-steps/s", ".3f", 1e-9),
        Column("snapshot_points_per_s", "snapshot Gpt/s", ".2f", 1e-9),
        Column("product_points_per_s", "product Gpt/s", ".2f", 1e-9),
        Column("injection_seconds", "injection us", ".3f", 1e6),
        Column("start_seconds", "start s", ".2f"),
    ),
    "kirchhoff": (
        Column("amplitude", "amplitude"),
        Column("antialias", "antialias"),
        Column("bands", "bands", "d"),
        Column("interpolation", "interpolation"),
        Column("threads", "threads", "d"),
        Column("samples", "samples", "d"),
        Column("contributions_per_s", "Gcontrib/s", ".3f", 1e-9),
        Column("prepared_samples_per_s", "prepared M/s", ".1f", 1e-6),
    ),
    "device": (
        Column("device", "GPU"),
        Column("what", "what"),
        Column("rate", "rate", ".1f"),
        Column("unit", "unit"),
        Column("spread", "± %", ".1f", 100),
    ),
    "device_kernels": (
        Column("device", "GPU"),
        *_SHOT,
        Column("model_storage", "models"),
        Column("n", "n", "d"),
        Column("points_per_s", "Gpt-steps/s", ".2f", 1e-9),
        Column("of_copy", "% of copy", ".0f", 100),
        Column("spread", "± %", ".1f", 100),
    ),
    "copies": (
        *_SHOT[:3],
        Column("copies", "copies", "d"),
        Column("threads", "threads", "d"),
        Column("n", "n", "d"),
        Column("rate", "Gpt-steps/s", ".3f", 1e-9),
        Column("points_per_s", "Gpt-steps/s", ".3f", 1e-9),
    ),
    "storage": (
        Column("mount", "file system at"),
        Column("file_system", "kind"),
        Column("what", "what"),
        Column("pattern", "pattern"),
        Column("bytes", "bytes", "d"),
        Column("threads", "threads", "d"),
        Column("how", "how"),
        Column("reaches", "reaches"),
        Column("engine", "engine"),
        Column("rate", "GB/s", ".3f"),
        Column("requests_per_s", "IOPS", ".0f"),
        Column("service_median", "service ms", ".3f", 1e3),
        Column("seconds_median", "file ms", ".2f", 1e3),
    ),
    "network": (
        Column("what", "what"),
        Column("where", "where"),
        Column("ranks", "ranks", "d"),
        Column("bytes", "bytes", "d"),
        Column("value", "value", ".4g"),
        Column("unit", "unit"),
        Column("a_s", "a us", ".2f", 1e6),
        Column("bytes_per_s", "b GB/s", ".3g", 1e-9),
        Column("spread", "± %", ".1f", 100),
        Column("mpi", "MPI"),
    ),
}

#: sections that only a machine with a GPU has
OF_A_GPU = ("device", "device_kernels")

#: media that a job may have
MEDIA = ("isotropic", "vti", "tti")
#: days after which a rate is worth measuring again: systems are updated
OLD = 180


def names() -> list[str]:
    """Return the sections that have a table of their own."""
    return list(SECTIONS)


def columns_of(section: str, rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the columns of a section; of one that is not known here all plain values of its rows."""
    known = COLUMNS.get(section)
    if known is not None:
        return [*known, *WHEN]
    keys = dict.fromkeys(k for r in rows for k, v in r.items() if isinstance(v, str | int | float))
    return [
        *(Column(k, k, "g") for k in keys if k not in ("date", "version", "noisy", "age", "note")),
        *WHEN,
    ]


def shown(rows: Iterable[Mapping[str, Any]], now: datetime | None = None) -> list[dict[str, Any]]:
    """Return rows with their age and a note, true and false as words, times of messages in microseconds."""
    now = now or datetime.now(UTC)
    out = []
    for row in rows:
        plain = {k: ("yes" if v else "no") if isinstance(v, bool) else v for k, v in row.items()}
        noisy = "noisy" if row.get("noisy") else ""
        if row.get("unit") == "s" and isinstance(row.get("value"), float):
            plain |= {"value": 1e6 * row["value"], "unit": "us"}
        out.append(plain | {"age": age(str(row.get("date", "")), now), "note": noisy})
    return out


def age(date: str, now: datetime) -> str:
    """Return how long ago a date was: minutes, hours, days; empty when it is none."""
    days = days_since(date, now)
    if days is None:
        return ""
    for unit, length in (("d", 1.0), ("h", 24.0), ("min", 1440.0)):
        if days * length >= 1:
            return f"{math.floor(days * length)} {unit}"
    return "now"


def missing(machine: Machine, wanted: Sequence[str], now: datetime | None = None) -> list[str]:
    """Return what has not been measured, what is disturbed and what is old, each with the command that measures it."""
    now = now or datetime.now(UTC)
    out = []
    for name in wanted:
        _, use, how = SECTIONS[name]
        rows = machine.sections.get(name, [])
        if not rows and name in OF_A_GPU and not gpus_of_driver():
            continue  # nobody misses it
        if not rows:
            out.append(f"{name}: not measured ({use}): {how}")
            continue
        noisy = sum(bool(r.get("noisy")) for r in rows)
        if noisy:
            out.append(f"{name}: {noisy} of {len(rows)} rows are noisy: {how}, when nothing else runs")
        ages = [d for r in rows if (d := days_since(str(r.get("date", "")), now)) is not None]
        if ages and max(ages) > OLD:
            out.append(f"{name}: up to {max(ages):.0f} days old: {how}")
        others = sorted({str(r.get("version")) for r in rows} - {__version__})
        if others and name in ("kernels", "shots", "kirchhoff"):
            out.append(f"{name}: rows of version {', '.join(others)}, this is {__version__}: {how}")
    media = {r.get("medium") for r in machine.sections.get("kernels", [])}
    if media and "kernels" in wanted:
        lacking = [m for m in MEDIA if m not in media]
        out += [f"kernels: {' and '.join(lacking)} not measured: subsalt lab kernels"] if lacking else []
    if (
        machine.sections.get("network")
        and "network" in wanted
        and not machine.find("network", where="across")
    ):
        out.append(
            "network: nothing between nodes: subsalt lab network over two nodes, or give --network to a plan"
        )
    return out


def title(machine: Machine) -> str:
    """Return processor, cores and memory in a line."""
    m = machine.machine
    cores = int(m.get("cores") or 0)
    return (
        f"{m.get('cpu', 'unknown processor')}, {cores} core{'s' * (cores != 1)}, "
        f"{int(m.get('ram_bytes') or 0) / 1e9:.0f} GB, {m.get('system', '')}"
    )


def lines(machine: Machine, wanted: Sequence[str], how: str, path: str) -> list[str]:
    """Return the sections as text, Markdown or CSV (of one section)."""
    out = [] if how == "csv" else [title(machine), path]
    for name in [
        *wanted,
        *(s for s in machine.sections if s not in SECTIONS and len(wanted) == len(SECTIONS)),
    ]:
        rows = machine.sections.get(name, [])
        if not rows:
            continue
        if how != "csv":
            heading = SECTIONS.get(name, (name, "", ""))[0]
            out += ["", f"{name}: {heading}" if how == "text" else f"**{heading}**", ""]
        out.append(render(shown(rows), columns_of(name, rows), how))
    if how != "csv":
        lacking = missing(machine, wanted)
        out += ["", *(f"missing  {m}" for m in lacking)] if lacking else []
    return out


def content(machine: Machine, wanted: Sequence[str]) -> dict[str, Any]:
    """Return the sections and what is missing, for programs."""
    sections = {name: machine.sections.get(name, []) for name in wanted}
    return {"machine": dict(machine.machine), **sections, "missing": missing(machine, wanted)}
