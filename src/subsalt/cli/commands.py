"""Steps that several commands share: check a job, migrate it, show the result."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from subsalt.cli import ranks, seen_warnings
from subsalt.cli.engine_options import EngineOptions
from subsalt.cli.output import Out, phase_table, plain, usage
from subsalt.cli.waiting import waiting
from subsalt.errors import (
    ConfigError,
    Finding,
    FindingsError,
    MissingInputError,
)
from subsalt.missing_files import missing_file

if TYPE_CHECKING:
    from subsalt.cli.app_root import ParallelOptions, RestartOptions
    from subsalt.job.base import BaseJob
    from subsalt.run.method_run import RunState


#: what a result names of its files, and the label of each
_FILES = {"image": "image", "shots_dir": "shots", "report": "report"}


def check_or_stop(job: BaseJob, out: Out, strict: bool) -> list[Finding]:
    """Apply every rule: errors stop, warnings are shown or, where `check` has shown them, counted; return all."""
    from subsalt.job.checking import check_before_run

    with ranks.together():
        with waiting("checking", out.as_json or out.quiet):
            result = check_before_run(job, strict)
        bad = [f for f in result.findings if f.level == "error" or (strict and f.level != "ok")]
        if bad:
            raise FindingsError(bad if out.quiet else result.findings, result.exit_code(strict))
        seen_warnings.show_new(job, result.findings, out)
    return result.findings


def seconds_of(text: str | None) -> float | None:
    """Return a time such as ``90``, ``45m``, ``3h``, ``1:30:00`` in seconds, None for none."""
    if text is None:
        return None
    units = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
    word = text.strip().lower()
    try:
        if ":" in word:
            parts = [float(p) for p in word.split(":")]
            if len(parts) > 3 or min(parts) < 0:
                raise ValueError
            seconds = 0.0
            for part in parts:
                seconds = 60 * seconds + part
        else:
            digits = word.rstrip("abcdefghijklmnopqrstuvwxyz ")
            unit = word[len(digits) :].strip()
            seconds = float(digits) * units[unit or "s"]
        if not 0 < seconds < float("inf"):
            raise ValueError
    except (ValueError, KeyError):
        raise usage(f"--time-limit {text!r} is not a time", "write 90s, 45m, 3h, 2d or 1:30:00") from None
    return seconds


def migrate_here(
    job: BaseJob,
    run: Path,
    out: Out,
    restart: RestartOptions,
    parallel: ParallelOptions,
    *,
    recompute: bool = False,
    engine: EngineOptions | None = None,
) -> None:
    """Migrate the survey of a job into a run directory, on all ranks or by an engine, and show the result."""
    from subsalt.methods import method_of

    with ExitStack() as stack:
        # before the checks: a folder that workers do not see is found in the first second
        migrate = stack.enter_context((engine or EngineOptions()).opened(run, out.note))
        job, state = _checked(job, run, out, restart, parallel, recompute)
        with out.progress("migrating", f"{method_of(job.method).unit}s") as bar:
            state.request = replace(state.request, progress=bar)
            done = migrate(job, state)
    show_result(out, done)
    end_with_holes(
        out,
        done,
        f"the reasons are in {done.report} and {done.run_dir / 'quarantine'}; fix the cause, then run: "
        f"subsalt resume {done.run_dir} --retry-quarantined",
    )


def _checked(
    job: BaseJob, run: Path, out: Out, restart: RestartOptions, parallel: ParallelOptions, recompute: bool
) -> tuple[BaseJob, RunState]:
    """Return a job that passed its checks, with the choices of its run directory, and the state of the run."""
    from subsalt.run.method_run import RunRequest, RunState
    from subsalt.run.migrate import pinned_job

    state = RunState.of(RunRequest(run, None, restart.strict, restart.options(), out.note, recompute))
    with state.clock("check"):
        pinned = pinned_job(job, state)
        job = parallel.applied_to(pinned)
        state.findings = check_or_stop(job, out, restart.strict)
    with ranks.together():
        if job.data is None:
            raise ConfigError(
                f"{job.path or run} has no [data]", 'add [data] with files = ["shots/*.sgy"]', code="E102"
            )
    state.request = replace(state.request, stored=pinned)
    return job, state


def prepare_here(
    job: BaseJob,
    run: Path,
    out: Out,
    restart: RestartOptions,
    parallel: ParallelOptions,
    *,
    recompute: bool = False,
    running_sum: bool = False,
) -> None:
    """Begin the run of a job without computing anything, and show its units that are left."""
    from subsalt.methods import method_of
    from subsalt.run.migrate import prepare_checked

    job, state = _checked(job, run, out, restart, parallel, recompute)
    state.request = replace(state.request, running_sum=running_sum)
    left = prepare_checked(job, state)
    word = method_of(job.method).unit
    out.row("prepared", f"{run}: {len(left)} {word}s to compute")
    out.row("next", f"subsalt unit {run} --unit {left[0]}" if left else f"subsalt resume {run}")
    out.json({"run": run, "unit": word, "left": left})


def show_result(out: Out, result: Any) -> None:
    """Print the files of a result, and the time that it took; with --profile the time of every phase."""
    facts: dict[str, Any] = plain(result)
    phases: dict[str, float] = facts.get("phases") or {}
    if out.profile:
        for line in phase_table(phases):
            out.say(line)
        compared = facts.get("model")
        if compared:
            out.row("model", compared["text"])
    for name, label in _FILES.items():
        value = facts.get(name)
        path = value.get("path") if isinstance(value, dict) else value
        if isinstance(path, str):
            count = f"{len(facts['files'])} files in " if name == "shots_dir" else ""
            out.row(label, f"{count}{path}")
    if "wall" in phases:
        out.row("time", f"{duration_words(phases['wall'])}{'' if out.profile else ' (--profile: by phase)'}")
    out.json(facts)


def duration_words(seconds: float) -> str:
    """Return a time as people say it: 4.2 s, 12 min 5 s, 3 h 20 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def end_with_holes(out: Out, result: Any, cure: str) -> None:
    """End with an error when shots are missing in the image of a result."""
    if result.shots_failed:
        ids = ", ".join(map(str, result.shots_failed[:10]))
        message = f"{len(result.shots_failed)} shots are missing in the image: {ids}"
        out.findings([Finding("E822", "error", message, cure)], sys.stderr)
        raise typer.Exit(65)


def must_exist(path: Path) -> None:
    """Refuse a path that is not there or may not be read."""
    if not path.exists():
        raise missing_file(path, "check the name and the folder")
    if not os.access(path, os.R_OK):
        raise MissingInputError(f"{path} cannot be read", "check its permissions", code="E111")
