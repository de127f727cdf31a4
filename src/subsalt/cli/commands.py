"""What the commands do: read the job, call the part that computes, print for people or as JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from subsalt.cli import ranks
from subsalt.cli.output import Out, finding_dict, phase_table, plain, usage
from subsalt.errors import (
    CannotCreateError,
    ConfigError,
    DataError,
    Finding,
    FindingsError,
    MissingInputError,
)

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.run.resume import ResumeOptions


def demo(out_dir: Path, quick: bool, as_json: bool) -> None:
    """Run the demo and say where everything is."""
    from subsalt.demo.demo import run_demo
    from subsalt.run import progress

    out = Out(as_json)
    with progress.for_stream("demo") as bar:
        result = run_demo(out_dir, quick=quick, progress=bar, say=out.say)
    out.json(result)


def doctor(scratch: Path, as_json: bool) -> None:
    """Print what the machine offers and the self-test."""
    from subsalt import mpi_doctor
    from subsalt.doctor import examine
    from subsalt.parallel import comm

    out = Out(as_json)
    mpi = mpi_doctor.examine()
    # the ranks have seen each other; the rest is about one machine, and needs one process
    comm.close()
    if out.quiet:
        return
    result = examine(scratch, mpi=mpi)
    for line in result.lines():
        out.say(line)
    out.json(result)
    if not result.healthy:
        raise typer.Exit(70)


def scan(
    files: list[Path], preset: str, as_json: bool, first_breaks: bool = False, picture: Path | None = None
) -> None:
    """Describe SEG-Y and SU files, and their first breaks when asked."""
    from subsalt.io.scan.scan import scan
    from subsalt.io.segy.headers import HeaderBytes

    if picture is not None and not first_breaks:
        raise ConfigError(
            "--out names the picture of the first breaks, which were not asked for", "add --first-breaks"
        )
    out = Out(as_json)
    header = HeaderBytes.preset(preset)
    result = scan(files, header)
    out.say(result.describe())
    if first_breaks:
        from subsalt.cli import first_breaks_command

        told = first_breaks_command.show(files, header, picture, out)
        out.json(result.to_dict() | {"first_breaks": told})
    else:
        out.json(result)
    if any(f.level == "error" for f in result.findings):
        raise typer.Exit(65)


def init(
    job: Path,
    files: list[str],
    method: str,
    given: Mapping[str, Mapping[str, str | None]],
    preset: str,
    force: bool,
    as_json: bool,
) -> None:
    """Write a job file from what the files say; `given` are the options that each method understands."""
    from subsalt.methods import METHODS, method_of

    out = Out(as_json)
    if method not in METHODS:
        raise ConfigError(f"--method {method} is none", f"use one of {', '.join(METHODS)}", code="E125")
    for other, options in given.items():
        lost = [name for name, value in options.items() if value is not None and other != method]
        if lost:
            option = "--" + lost[0].replace("_", "-")
            raise ConfigError(
                f"{option} belongs to method {other}", f"leave it out, or add --method {other}", code="E769"
            )
    if not files:
        raise ConfigError(
            "no shot files given",
            "add --from 'shots/*.sgy'; a job that models shots is written by hand (subsalt explain acquisition)",
            code="E124",
        )
    result = method_of(method).start(job, files, **given[method], preset=preset, force=force)
    out.findings(result.findings)
    out.row("job", str(job))
    out.row("read", "; ".join(result.read) or "nothing")
    out.row("made up", "; ".join(result.made_up) or "nothing")
    wrong = any(f.level == "error" for f in result.findings)
    out.row("next", f"mend the errors above, then subsalt check {job}" if wrong else f"subsalt check {job}")
    out.json(
        {
            "job": job,
            "findings": [finding_dict(f) for f in result.findings],
            "read": result.read,
            "made_up": result.made_up,
        }
    )
    if wrong:
        raise typer.Exit(DataError.exit_code)


def check(job_file: Path, out_dir: Path | None, draw: bool, strict: bool, as_json: bool) -> None:
    """Run every rule and draw the map."""
    out = Out(as_json)
    with ranks.on_all_ranks(job_file, out) as job:
        code = _check(job, out, out_dir, draw, strict)
    if code:
        raise typer.Exit(code)


def _check(job: BaseJob, out: Out, out_dir: Path | None, draw: bool, strict: bool) -> int:
    from subsalt.job.checking import check_job
    from subsalt.job.maps import draw_gate, draw_map

    with ranks.together():
        result = check_job(job)
    findings, picture, gate = list(result.findings), None, None
    draw = draw and not out.quiet  # one rank draws for all
    try:
        picture = draw_map(job, result, out_dir) if draw else None
        gate = draw_gate(job, result, out_dir) if draw else None
    except CannotCreateError as error:
        # what was found matters more than its picture
        cure = "choose a folder for the map with --out, or leave it out with --no-map"
        findings.append(Finding(error.code, "error", error.message, cure))
    out.findings(findings)
    errors = sum(f.level == "error" for f in findings)
    warnings = sum(f.level == "warning" for f in findings)
    if picture is not None:
        out.row("map", str(picture))
    if gate is not None:
        out.row("", f"{gate} (symmetry axis, and what is repaired)")
    out.say(
        f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}. nothing was "
        "started."
    )
    out.json(
        {
            "errors": errors,
            "warnings": warnings,
            "map": picture,
            "anisotropy_map": gate,
            "facts": result.facts,
            "findings": [finding_dict(f) for f in findings],
        }
    )
    return result.exit_code(strict) or (CannotCreateError.exit_code if errors else 0)


def check_or_stop(job: BaseJob, out: Out, strict: bool) -> None:
    """Apply every rule: errors stop, warnings are shown."""
    from subsalt.job.checking import check_job

    with ranks.together():
        result = check_job(job)
        out.findings(f for f in result.findings if f.level == "warning")
        bad = [f for f in result.findings if f.level == "error" or (strict and f.level == "warning")]
        if bad:
            raise FindingsError(result.findings, result.exit_code(strict))


def model(job_file: Path, out_dir: Path | None, strict: bool, as_json: bool) -> None:
    """Model a survey to SEG-Y."""
    from subsalt.methods.rtm.model_job import model_job
    from subsalt.run import progress

    out = Out(as_json)
    with ranks.on_all_ranks(job_file, out) as job:
        check_or_stop(job, out, strict)
        with ranks.together():
            if job.acquisition is None:
                raise ConfigError(
                    f"{job_file} has no [acquisition]",
                    "add shots, receivers, record_length and dt",
                    code="E102",
                )
        folder = out_dir or job.base / f"{job.name}.shots"
        with progress.for_stream("modelling") as bar:
            result = model_job(job, folder, bar)
    show_result(out, result)


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
        raise usage(f"--time-limit {text!r} is no time", "write 90s, 45m, 3h, 2d or 1:30:00") from None
    return seconds


def resume_options(
    retry_quarantined: bool, accept_changed_inputs: bool, time_limit: str | None
) -> ResumeOptions:
    """Return what a start does with what an earlier one left, and when it stops."""
    from subsalt.run.resume import ResumeOptions

    return ResumeOptions(retry_quarantined, accept_changed_inputs, seconds_of(time_limit))


def migrate(
    job_file: Path,
    run: Path | None,
    shots: str | None,
    strict: bool,
    as_json: bool,
    how: ResumeOptions,
    recompute: bool = False,
) -> None:
    """Migrate a survey."""
    out = Out(as_json)
    with ranks.on_all_ranks(job_file, out, shots) as job:
        migrate_here(job, run or job.default_run_dir, strict, out, how, recompute)


def migrate_here(
    job: BaseJob, run: Path, strict: bool, out: Out, how: ResumeOptions, recompute: bool = False
) -> None:
    """Migrate the survey of a job into a run directory, on all ranks, and show what came of it."""
    from subsalt.methods import method_of
    from subsalt.parallel.comm import world
    from subsalt.run import progress
    from subsalt.run.identity import keep_place
    from subsalt.run.migrate import migrate_job

    method = method_of(job.method)
    if method.domain == "depth":
        keep_place(job, run, world())
    check_or_stop(job, out, strict)
    with ranks.together():
        if job.data is None:
            raise ConfigError(
                f"{job.path or run} has no [data]", 'add [data] with files = ["shots/*.sgy"]', code="E102"
            )
    with progress.for_stream("migrating", units=f"{method.unit}s") as bar:
        result = migrate_job(job, run, bar, resume=how, say=out.say, recompute=recompute)
    show_result(out, result)
    end_with_holes(
        out,
        result,
        f"the reasons are in {result.report} and {result.run_dir / 'quarantine'}; when they are mended, "
        f"subsalt resume {result.run_dir} --retry-quarantined",
    )


def show_result(out: Out, result: Any) -> None:
    """Print files and phases of a result."""
    facts: dict[str, Any] = plain(result)
    for line in phase_table(facts.get("phases") or {}):
        out.say(line)
    compared = facts.get("model")
    if compared:
        out.row("model", compared["text"])
    for name in ("image", "shots_dir", "files", "pictures", "report", "run_dir"):
        value = facts.get(name)
        if isinstance(value, dict):
            value = value.get("path")
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                out.row(name, item)
    out.json(facts)


def end_with_holes(out: Out, result: Any, cure: str) -> None:
    """End with an error when shots are missing in the image of a result."""
    if result.shots_failed:
        ids = ", ".join(map(str, result.shots_failed[:10]))
        message = f"{len(result.shots_failed)} shots are missing in the image: {ids}"
        out.findings([Finding("E822", "error", message, cure)], sys.stderr)
        raise typer.Exit(65)


def export(source: Path, target: Path, key: str | None, unit: str | None, as_json: bool) -> None:
    """Convert a volume or shots."""
    from subsalt.io.export import export as convert

    must_exist(source)
    result = convert(source, target, key=key, unit=unit)
    out = Out(as_json or str(target) == "-")
    if str(target) != "-":
        out.row("wrote", str(target))
        out.json({"path": target, "result": plain(result)})


def report(run: Path, target: Path | None, as_json: bool) -> None:
    """Write the report of a run."""
    from subsalt import report as pages
    from subsalt.report.time_spent import comparison_of

    out = Out(as_json)
    must_exist(run)
    path = pages.write(run, target)
    found = comparison_of(pages.gather(run).run)
    for line in [] if found is None else found.lines():
        out.say(line)
    out.row("report", str(path))
    out.json({"report": path, "model": None if found is None else found.to_dict()})


def explain(what: str, as_json: bool) -> None:
    """Explain a code or a key of the job file."""
    from subsalt import messages

    out = Out(as_json)
    entry = messages.lookup(what)
    if entry is not None:
        out.say(f"{entry.code}  {entry.title}\n\n{entry.meaning}\n\nfix: {entry.cure}")
        out.json(entry)
        return
    from subsalt.job.text import explain_key

    found = explain_key(what)
    if found is None:
        raise ConfigError(
            f"{what!r} is neither a code nor a key of the job file", messages.suggest(what), code="E126"
        )
    out.say(found["text"])
    out.json(found)


def must_exist(path: Path) -> None:
    """Refuse a path that is not there or may not be read."""
    if not path.exists():
        raise MissingInputError(f"{path} does not exist", "check the name", code="E110")
    if not os.access(path, os.R_OK):
        raise MissingInputError(f"{path} cannot be read", "check its permissions", code="E111")
