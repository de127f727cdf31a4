"""`subsalt wavelet`: the source wavelet of a job, its quality, its picture, and the lines for the job."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt.cli.app_root import Shots
from subsalt.cli.output import Out, usage

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job
    from subsalt.methods.rtm.wavelet_job import SourceWavelet, WaveletOptions

#: shots left out that are named; --json has all
SHOWN = 5


DIRECT_PANEL, SIGNATURE_PANEL = "Wavelet from direct waves", "Wavelet from a signature or a spectrum"


@dataclass(frozen=True)
class WaveletInput:
    """Options of `subsalt wavelet`, as text."""

    signature: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Use the far-field signature (pressure times distance) in this file.",
            readable=False,
            rich_help_panel=SIGNATURE_PANEL,
        ),
    ] = None
    signature_dt: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Sampling interval of the signature, if the file has no times.",
            rich_help_panel=SIGNATURE_PANEL,
        ),
    ] = None
    phase: Annotated[
        str | None,
        typer.Option(
            metavar="PHASE",
            help="Use the mean amplitude spectrum of the traces, with this phase: zero or minimum.",
            rich_help_panel=SIGNATURE_PANEL,
        ),
    ] = None
    velocity: Annotated[
        str | None,
        typer.Option(
            metavar="V",
            help="Velocity of the direct wave in m/s.",
            show_default="that of the model at the sources",
            rich_help_panel=DIRECT_PANEL,
        ),
    ] = None
    offsets: Annotated[
        str | None,
        typer.Option(
            metavar="NEAR:FAR",
            help="Offset range in m.",
            show_default="offsets where, in this model, no other wave overlaps the direct wave",
            rich_help_panel=DIRECT_PANEL,
        ),
    ] = None
    start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time of the first sample of the wavelet.",
            show_default="half a period before the wavelet begins",
            rich_help_panel=DIRECT_PANEL,
        ),
    ] = None
    length: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Length of the wavelet.",
            show_default="four periods, or less where other waves follow",
        ),
    ] = None
    free_surface: Annotated[
        bool | None,
        typer.Option(
            "--free-surface/--no-free-surface",
            help="Whether the traces contain the ghosts of the sea surface.",
            show_default="[propagation] free_surface of the job",
            rich_help_panel=DIRECT_PANEL,
        ),
    ] = None
    spreading: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="Geometrical spreading in the traces: 2d, 3d, or auto for that of the job.",
        ),
    ] = "auto"
    shots: Shots = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            readable=False,
            help="Wavelet file (text) to be written.",
            show_default="JOB.wavelet.txt in the folder of the job file",
        ),
    ] = None


def wavelet(path: Path, given: WaveletInput, out: Out) -> None:
    """Estimate, write and draw the wavelet of a job."""
    from subsalt.methods.rtm import wavelet_job
    from subsalt.methods.rtm.job import Job
    from subsalt.view.source_wavelet import source_wavelet

    options = options_of(given)
    job = Job.from_toml(path)
    if not isinstance(job, Job):
        raise usage(
            f"{path} is a time migration, which has no source wavelet",
            "name a job of RTM of these traces: with its wavelet comes the [[signal]] step that turns them to zero "
            "phase for a time migration",
        )
    if given.shots is not None:
        job = job.with_shots(given.shots)
    target = given.out or job.base / f"{job.name}.wavelet.txt"
    if target.suffix not in (".txt", ".dat", ".csv"):
        raise usage(f"--out {target}: a wavelet is written as text", "end its name in .txt")
    made = _estimate(job, given, options, out)
    wavelet_job.write(made, target)
    title = f"{job.title or job.name}: source wavelet from {'its ' * (made.way == 'spectrum')}{made.way}"
    picture = source_wavelet(
        made.wavelet,
        target.with_suffix(".png"),
        title=title,
        about=", ".join(_summary(made)),
        shots=made.shots,
        direct=made.example,
    )
    lines = wavelet_job.lines_for_job(target, job, made)
    for label, text in _rows(made, target):
        out.row(label, text)
    out.row("picture", str(picture))
    # a t0 that is left would move the wavelet of the file
    replaced = [key for key in ("f0", "t0") if key in job.source.model_fields_set]
    out.say(f"for the job, in place of {' and '.join(replaced)} of [source]:" if replaced else "for the job:")
    for line in lines:
        out.say(f"    {line}")
    step = _zero_phase(out, job, made, target)
    out.json({"file": target, "picture": picture, "job_lines": lines, "time_lines": step, **made.to_dict()})


def _zero_phase(out: Out, job: Job, made: SourceWavelet, target: Path) -> list[str]:
    """Write the pulse of reflections, and say the step that makes it zero-phase in a time migration."""
    from subsalt.methods.rtm import wavelet_job, wavelet_pulse

    if made.way != "direct waves":
        # of a signature or a spectrum nothing is known but itself
        return []
    both = made.facts["ghosts"]
    if both is not None and both["wanted"] not in (None, both["used"]):
        # with the wrong ghosts it has the wrong phase
        return []
    path = target.with_suffix(".pulse.txt")
    pulse = wavelet_pulse.of_reflections(made.wavelet, made.facts)
    ghosts = (
        "with both ghosts, times from the sea surface" if made.facts["free_surface"] else "without ghosts"
    )
    wavelet_job.write_samples(pulse, f"pulse of reflections, {made.facts['spreading']}, {ghosts}", path)
    lines = wavelet_pulse.step_for_job(path, job)
    out.say(f"for a time migration of these traces, whose image else has the phase of this pulse ({ghosts}):")
    for line in lines:
        out.say(f"    {line}")
    return lines


def options_of(request: WaveletInput) -> WaveletOptions:
    """Return the options in SI, or refuse values without sense, before any file is read."""
    from subsalt.job import units
    from subsalt.methods.rtm.wavelet_job import WaveletOptions

    if request.signature is not None and request.phase is not None:
        raise usage("--signature and --phase", "give one of them: a signature keeps its phase")
    if request.phase not in (None, "zero", "minimum"):
        raise usage(f"--phase {request.phase}", "use zero or minimum")
    if request.signature_dt is not None and request.signature is None:
        raise usage("--signature-dt without --signature", "name the file of the signature")
    if request.spreading not in ("auto", "2d", "3d"):
        raise usage(f"--spreading {request.spreading}", "use auto, 2d or 3d")
    of_direct = ("velocity", "offsets", "start", "free_surface")
    given = [name for name in of_direct if getattr(request, name) is not None]
    if given and (request.signature is not None or request.phase is not None):
        other = "--signature" if request.signature is not None else "--phase"
        raise usage(f"--{given[0].replace('_', '-')} is for direct waves, not for {other}", "leave it out")

    def value(name: str, kind: str, low: float = 0.0) -> float | None:
        text = getattr(request, name)
        number = None if text is None else units.parse(_number(text), kind)
        if number is not None and not low < number < math.inf:
            raise usage(f"--{name} {text} is out of range", "give a positive number, or one with its unit")
        return number

    return WaveletOptions(
        velocity=value("velocity", "velocity"),
        offsets=_span(request.offsets),
        start=value("start", "time", -math.inf),
        length=value("length", "time"),
        free_surface=request.free_surface,
        spreading=request.spreading,  # type: ignore[arg-type]
    )


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _span(text: str | None) -> tuple[float, float] | None:
    """Return the offsets of ``NEAR:FAR``."""
    if text is None:
        return None
    near, _, far = text.partition(":")
    try:
        span = float(near or 0.0), float(far or "inf")
    except ValueError:
        span = (1.0, 0.0)
    if not 0 <= span[0] < span[1]:
        raise usage(f"--offsets {text}", "write NEAR:FAR in metres, such as 0:600")
    return span


def _estimate(job: Job, request: WaveletInput, options: WaveletOptions, out: Out) -> SourceWavelet:
    """Return the wavelet, estimated as the options request."""
    from subsalt.job import units
    from subsalt.methods.rtm.wavelet_direct import from_direct_waves
    from subsalt.methods.rtm.wavelet_job import from_signature, from_spectrum

    if request.signature is not None:
        dt = None if request.signature_dt is None else units.parse(_number(request.signature_dt), "time")
        return from_signature(job, request.signature, dt)
    if request.phase is not None:
        return from_spectrum(job, request.phase, options)  # type: ignore[arg-type]
    with out.progress("wavelet") as bar:
        return from_direct_waves(job, options, bar)


def _summary(made: SourceWavelet) -> list[str]:
    """Return the summary of the wavelet for one line."""
    w = made.wavelet
    out = [f"{w.nt} samples of {1e3 * w.dt:g} ms from {1e3 * w.t0:g} ms"]
    facts = made.to_dict()
    if made.shots:
        out.append(
            f"{facts['shots_used']} of {len(made.shots)} shots, residual {100 * facts['residual']:.1f} %, "
            f"correlation {facts['correlation']:.4f}"
        )
    return out


def _ghosts(readings: dict[str, Any]) -> str:
    """Return which of the two readings of the ghosts the direct waves want."""
    from subsalt.methods.rtm.wavelet_ghosts import Both

    both = Both(**readings)
    if both.wanted is None:
        return f"{both.said()}: the direct waves do not tell"
    if both.wanted == both.used:
        return f"{both.said()}: the direct waves agree with the job"
    key, option = ("true", "--free-surface") if both.wanted else ("false", "--no-free-surface")
    return f"{both.said()}: the direct waves want [propagation] free_surface = {key}; set it, or use {option}"


def _rows(made: SourceWavelet, path: Path) -> list[tuple[str, str]]:
    """Return the rows that are printed."""
    w, facts = made.wavelet, made.facts
    summary = _summary(made)
    rows = [
        (
            "wavelet",
            f"{path}: {summary[0]}, peak at {1e3 * w.peak_time:.0f} ms, {w.f0:.0f} Hz, below 3 % from {w.fmax:.0f} Hz",
        )
    ]
    if made.shots:
        used = made.used
        scales = [s.scale for s in used]
        rows.append(("shots", f"{summary[1]}; scales {min(scales):.3g} to {max(scales):.3g}"))
        left = [s for s in made.shots if s.reason]
        rows += [("left out", f"shot {s.shot}: {s.reason}") for s in left[:SHOWN]]
        if len(left) > SHOWN:
            rows.append(("", f"and {len(left) - SHOWN} more (--json has all)"))
        if facts["traces_left_out"]:
            words = ", ".join(f"{n} {name}" for name, n in facts["traces_left_out"].items())
            rows.append(("traces", f"left out in their shots: {words}"))
        seen = facts["first_break_velocity_m_per_s"]
        breaks = "" if seen is None else f", first breaks {seen:.0f} m/s"
        ghost = "with" if facts["free_surface"] else "without"
        rows.append(
            ("modelled", f"{facts['spreading']}, {ghost} ghost, {facts['velocity_m_per_s']:.0f} m/s{breaks}")
        )
        if facts["ghosts"] is not None:
            rows.append(("ghosts", _ghosts(facts["ghosts"])))
    if facts.get("low_cut_hz"):
        rows.append(
            (
                "low cut",
                f"{facts['low_cut_hz']:.1f} Hz: below it the traces gave noise (swell, drift), no wavelet",
            )
        )
    for label, name in (("steps", "steps"), ("filters", "filters")):
        if facts.get(name):
            rows.append((label, "; ".join(facts[name]) + " (on the wavelet)" * (name == "filters")))
    rows += [("not used", text) for text in facts.get("steps_left_out", [])]
    return rows
