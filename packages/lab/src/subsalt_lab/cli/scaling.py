"""`subsalt lab scaling`: measure what is asked for, print speed-up and efficiency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from subsalt.cli.output import spread
from subsalt.report.table import Column, render
from subsalt_lab.cli.lab import Json, Table, command
from subsalt_lab.result import Result
from subsalt_lab.scaling_request import ScalingRequest

WHERE = (
    Column("ranks", "ranks", "d"),
    Column("threads", "threads", "d"),
    Column("cores", "cores", "d"),
    Column("nodes", "nodes", "d"),
)

SPEED = (
    Column("speed_up", "speed-up", ".2f"),
    Column("efficiency", "eff %", ".0f", 100),
    Column("interval", "95 %"),
)

#: time steps alone
KERNEL = (
    *WHERE,
    Column("grid", "grid"),
    Column("time", "time s", ".3f"),
    Column("spread", "± %", ".1f", 100),
    *SPEED,
    Column("rate", "Mpt-steps/s", ".0f", 1e-6),
    Column("rate_per_rank", "/rank", ".0f", 1e-6),
    Column("rate_per_core", "/core", ".0f", 1e-6),
    Column("sockets", "sockets", "d"),
    Column("socket_gain", "socket gain", ".2f"),
    Column("against_fewest_ranks", "x fewest ranks", ".3f"),
    Column("marks", "note"),
)

#: whole migrations, one directory beside another when there are two
WHOLE = (
    *WHERE,
    Column("grid", "grid"),
    Column("shots", "shots", "d"),
    Column("init", "init s", ".2f"),
    Column("init_b", "init B s", ".2f"),
    Column("read", "read MB", ".1f", 1e-6),
    Column("traces", "traces s", ".2f"),
    Column("traces_b", "traces B s", ".2f"),
    Column("total", "total s", ".2f"),
    Column("total_b", "total B s", ".2f"),
    Column("b_over_a", "B/A", ".2f"),
    Column("kernel", "kernel s", ".2f"),
    Column("kernel_speed_up", "k. speed-up", ".2f"),
    Column("kernel_efficiency", "k. eff %", ".0f", 100),
    Column("rate_per_rank", "Mps/rank", ".0f", 1e-6),
    Column("rate_per_core", "Mps/core", ".0f", 1e-6),
    *SPEED,
    Column("kernel_share", "kernel share %", ".0f", 100),
    Column("spread", "± %", ".1f", 100),
    Column("against_fewest_ranks", "x fewest ranks", ".3f"),
    Column("marks", "note"),
)

#: time migrations, one build beside another when there are two
TIME_MIGRATION = (
    *WHERE,
    Column("grid", "output"),
    Column("traces_in", "traces", "d"),
    Column("init", "init s", ".2f"),
    Column("read", "read MB", ".1f", 1e-6),
    Column("traces", "waiting s", ".2f"),
    Column("prepare", "prepare s", ".2f"),
    Column("image", "image s", ".2f"),
    Column("total", "total s", ".2f"),
    *SPEED,
    Column("total_b", "total B s", ".2f"),
    Column("build_gain", "B/A", ".2f"),
    Column("kernel", "sum s", ".2f"),
    Column("kernel_b", "sum B s", ".2f"),
    Column("kernel_gain", "sum B/A", ".2f"),
    Column("kernel_speed_up", "sum speed-up", ".2f"),
    Column("kernel_efficiency", "sum eff %", ".0f", 100),
    Column("rate", "Mcontrib/s", ".0f", 1e-6),
    Column("rate_per_core", "/core", ".0f", 1e-6),
    Column("kernel_share", "sum share %", ".0f", 100),
    Column("spread", "± %", ".1f", 100),
    Column("against_fewest_ranks", "x fewest ranks", ".3f"),
    Column("marks", "note"),
)

#: any other program, in one directory beside another when there are two
COMMAND = (
    Column("case", "case"),
    *WHERE,
    Column("time", "time s", ".6g"),
    Column("time_b", "time B s", ".6g"),
    Column("b_over_a", "B/A", ".3f"),
    Column("spread", "± %", ".1f", 100),
    Column("rating", "rating", ".1f"),
    Column("work", "work", ".6g"),
    Column("rating_per_core", "/core", ".1f"),
    Column("sockets", "sockets", "d"),
    Column("rating_per_socket", "/socket", ".1f"),
    *SPEED,
    Column("socket_gain", "socket gain", ".2f"),
    Column("against_fewest_ranks", "x fewest ranks", ".3f"),
    Column("marks", "note"),
)


#: jobs of any program that wait in a queue
QUEUE = (
    Column("nodes", "nodes", "d"),
    Column("time", "to completion s", ".6g"),
    Column("spread", "± %", ".1f", 100),
    *SPEED,
    Column("jobs_per_hour", "jobs/h", ".6g"),
    Column("job", "job s", ".6g"),
    Column("longest", "longest s", ".6g"),
    Column("idle", "idle %", ".0f", 100),
    Column("marks", "note"),
)


def ratings(result: Result, how: str) -> list[str]:
    """Return the ratings of all cases side by side, one line a layout; nothing when there are not several."""
    cases = result.settings.get("cases") or []
    if len(cases) < 2:
        return []
    lines: dict[tuple[int, int], dict[str, Any]] = {}
    for row in result.rows:
        line = lines.setdefault(
            (row["ranks"], row["threads"]), {k: row[k] for k in ("ranks", "threads", "cores")}
        )
        line[row["case"]] = row["rating"]
    columns = [*WHERE, *(Column(case, case, ".1f") for case in cases)]
    return [render(list(lines.values()), columns, how)]


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], how: str) -> str:
    """Return a table; columns whose value is the same trivial one everywhere are left out.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of a result.
    columns : sequence of Column
        `KERNEL`, `WHOLE`, `TIME_MIGRATION` or `COMMAND`.
    how : str
        One of `table.FORMATS`.
    """
    plain = [dict(row) | {"interval": _interval(row)} for row in rows]
    idle = set()
    if columns is not QUEUE and all(row.get("nodes") in (None, 0, 1) for row in rows):
        idle.add("nodes")
    if columns is KERNEL and all(row.get("sockets") in (None, 1) for row in rows):
        # it would repeat the speed-up
        idle |= {"sockets", "socket_gain"}
    if all(row.get("work") in (None, 1.0) for row in rows):
        idle.add("work")
    if len({row.get("grid") for row in rows}) <= 1:
        idle.add("grid")
    return render(plain, [c for c in columns if c.key not in idle], how)


def _interval(row: Mapping[str, Any]) -> str:
    """Return the interval of the efficiency in per cent, empty for the smallest run and for single samples."""
    low, high = row.get("efficiency_low"), row.get("efficiency_high")
    if low is None or high is None or low == high:
        return ""
    return f"{100 * low:.0f}-{100 * high:.0f}"


def title(result: Result) -> str:
    """Return the line above a table: what was measured."""
    s = result.settings
    if s["what"] == "queue":
        return f"{s['jobs']} jobs as a queue: {s['command']}"
    if s["what"] == "command":
        rule = "" if s.get("work", "fixed") in ("fixed", "ranks") else f", work by {s['work']}"
        return f"{s['scaling']} scaling of: {s['command']}{rule}"
    if s["what"] == "time migration":
        return _time_migration_title(s)
    medium, grid = s["medium"], " x ".join(map(str, s["grid"]))
    each = " for each rank" if s["scaling"] == "weak" else ""
    if s["what"] == "whole":
        shots = f"{s['shots']} shot{'s' * (s['shots'] != 1)}"
        return (
            f"{s['scaling']} scaling of whole migrations: {medium}, {grid} points, {shots}{each}, "
            f"{s['samples']} samples, ranks per shot: {s['ranks_per_shot']}"
        )
    return f"{s['scaling']} scaling of time steps: {medium}, order 8, {grid} points{each}, {s['steps']} steps"


def _time_migration_title(s: Mapping[str, Any]) -> str:
    if s["job"]:
        return f"{s['scaling']} scaling of time migrations: {s['job']}"
    ni, nj, nt = s["grid"]
    each = " for each rank" if s["scaling"] == "weak" else ""
    return (
        f"{s['scaling']} scaling of time migrations: {ni} x {nj} bins of {nt} samples, {s['offsets']} traces a bin, "
        f"full-offset gathers, 10 alias bands{each}"
    )


@command(
    "Measure speed-up and efficiency over ranks and threads.",
    "subsalt lab scaling --ranks 1,2 --threads 1,2 --grid 256,256,256",
    "subsalt lab scaling --whole --directory /scratch --against /home",
    "subsalt lab scaling --method kirchhoff --ranks 1,2 --threads 1,2",
    "subsalt lab scaling --ranks 1,2,4 -- mpiexec -n {ranks} program",
    "subsalt lab scaling --jobs 40 --nodes 1,2,4 -- ssh node{node} run {job}",
)
@spread
def scaling(
    request: ScalingRequest,
    table: Table = "text",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, metavar="FILE", help="File for the result (JSON)."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure how time steps, whole migrations (--whole) or any other command scale with ranks, threads or nodes."""
    _measure(request, table, out, json)


def _measure(request: ScalingRequest, how: str, file: Path | None, as_json: bool) -> None:
    """Measure time steps, whole migrations of either method, or a command."""
    from subsalt.cli.output import Out
    from subsalt_lab import external, job_queue, migrations
    from subsalt_lab import scaling as kernel
    from subsalt_lab.cli.commands import hand_over, possible, progress, results_lost_on_stop, show

    possible(file, how)
    request.check()
    out = Out(as_json)
    measure: Callable[..., Result]
    settings: Any
    columns: Sequence[Column]
    if request.jobs is not None:
        measure, settings, columns = job_queue.measure, request.queue(), QUEUE
    elif request.command:
        measure, settings, columns = external.measure, request.program(), COMMAND
    elif request.is_kirchhoff:
        measure, settings, columns = migrations.measure, request.time_migrations(), TIME_MIGRATION
    elif request.whole:
        measure, settings, columns = migrations.measure, request.migrations(), WHOLE
    else:
        measure, settings, columns = kernel.measure, request.kernel(), KERNEL
    with results_lost_on_stop():
        result = measure(settings, say=progress)
    titles = [] if how == "csv" else [title(result)]
    show(out, result, [*titles, table(result.rows, columns, how), *ratings(result, how)], how)
    hand_over(out, result, file)
