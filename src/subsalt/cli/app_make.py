"""Sub-commands before an image: demo, doctor, scan, init, wavelet, check, model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt.cli import check_command, ranks, wavelet_command
from subsalt.cli.app_root import REV1, JobFile, ParallelOptions, Preset, Strict, command
from subsalt.cli.commands import check_or_stop, show_result
from subsalt.cli.output import Out, finding_dict, spread
from subsalt.cli.talk import Json, Talk, TalkOfRun
from subsalt.cli.waiting import waiting
from subsalt.errors import ConfigError, DataError
from subsalt.methods import DEFAULT, METHODS, method_of

if TYPE_CHECKING:
    from subsalt.io.geometry.join import SurveyGeometry
    from subsalt.io.segy.fix import Fix
    from subsalt.io.segy.headers import HeaderBytes
    from subsalt.job.starter import InitResult
    from subsalt.methods.rtm.born_job import BornImage


@command(
    "Test the whole program on a small 3-D salt survey.",
    "subsalt demo",
    "subsalt demo --quick --out salt",
)
@spread
def demo(
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FOLDER", readable=False, help="Folder for all files of the demo."
        ),
    ] = Path("demo"),
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Model only one line of four shots: a quarter of the time."),
    ] = False,
    talk: Talk,
) -> None:
    """Model a small 3-D VTI salt survey to SEG-Y, migrate these files, and compare the reflectors with the model.

    It takes some minutes and 1 GB of disk space.
    """
    from subsalt.demo import run_demo

    printer = talk.out()
    with printer.progress("demo") as bar:
        result = run_demo(out, quick=quick, progress=bar, say=printer.say)
    printer.json(result)


@command(
    "Examine this machine and test the program on it.",
    "subsalt doctor",
    "subsalt doctor --scratch /tmp",
    "mpiexec -n 2 subsalt doctor",
)
def doctor(
    json: Json = False,
    scratch: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder whose write speed is measured.", readable=False)
    ] = Path("."),
) -> None:
    """Show processor, memory, GPU, MPI and optional packages, and test that the program computes correctly here."""
    from subsalt.doctor import examine, examine_mpi
    from subsalt.parallel import comm

    out = Out(json)
    mpi = examine_mpi()
    # the ranks have seen each other; the rest is about one machine, and needs one process
    comm.close()
    if out.mute:
        return
    result = examine(scratch, mpi=mpi)
    for line in result.lines():
        out.say(line)
    out.json(result)
    if not result.healthy:
        raise typer.Exit(70)


@command(
    "Show what SEG-Y and SU files contain.",
    "subsalt scan shots/*.sgy",
    "subsalt scan shots/*.sgy --first-breaks -o breaks.png",
    "subsalt scan *.sgy --geometry a.sps --geometry a.rps --geometry a.xps",
)
@spread
def scan(
    *,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="SEG-Y or SU files, MDIO or Zarr stores; local, s3:// or https://.",
        ),
    ],
    preset: Preset = REV1,
    first_breaks: Annotated[
        bool,
        typer.Option(
            "--first-breaks",
            help="Pick the first breaks, fit a line to those of each shot, and write a picture.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            readable=False,
            help="Picture (PNG) of the first breaks.",
            show_default="first-breaks.png",
        ),
    ] = None,
    index: Annotated[
        bool,
        typer.Option(
            "--index",
            help="Save the header values in a file next to each input file; later commands read them faster.",
        ),
    ] = False,
    index_folder: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Save the header values in this folder.", readable=False),
    ] = None,
    geometry: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Positions of sources and receivers: SPS (S, R and X files), P1/90 or P1/11. Repeatable.",
            readable=False,
        ),
    ] = None,
    join: Annotated[
        str,
        typer.Option(
            metavar="KEY",
            help="With --geometry, match traces by field record or by shot point: auto, record or point.",
        ),
    ] = "auto",
    talk: Talk,
) -> None:
    """Show what SEG-Y and SU files contain: shots, channels, coordinates, sampling, format, and suspicious headers.

    --first-breaks picks first arrivals on up to 200 shots, with up to 64 traces each, and fits a velocity and an
    intercept on each side of the source. These values reveal reversed or shifted channels, a wrong sampling interval
    and a wrong time zero.
    """
    from subsalt.io.objects import as_paths
    from subsalt.io.scan.scan import scan as read
    from subsalt.io.segy.fix import Fix
    from subsalt.io.segy.headers import HeaderBytes
    from subsalt.io.segy.index import SUFFIX

    if out is not None and not first_breaks:
        raise ConfigError(
            "--out is the picture of the first breaks, but they are not picked", "add --first-breaks"
        )
    printer = talk.out()
    header = HeaderBytes.preset(preset)
    paths = as_paths([f for f in files if not f.endswith(SUFFIX)] or files)
    placing = read_positions(geometry, join)
    more: dict[str, object] = {}
    fix = Fix()
    if index or index_folder is not None:
        fix, more["index"] = save_indexes(paths, header, index_folder, printer)
    with waiting("scanning", printer.as_json or printer.quiet):
        result = read(paths, header, fix, placed=placing is not None)
    printer.say(result.describe())
    if placing is not None:
        from subsalt.io.geometry.join import described
        from subsalt.io.segy.reading import read_survey

        read_survey(paths, header, fix, geometry=placing)
        more["geometry"] = placing.facts
        printer.say(described(placing.facts))
    if first_breaks:
        from subsalt.cli import first_breaks_command

        breaks = first_breaks_command.show(paths, header, out, printer)
        more["first_breaks"] = breaks
    if printer.as_json:
        printer.json(result.to_dict() | more)
    if any(f.level == "error" for f in result.findings):
        raise typer.Exit(65)


def save_indexes(
    files: list[Path], header: HeaderBytes, folder: Path | None, out: Out
) -> tuple[Fix, list[dict[str, object]]]:
    """Save the header values of files; return the fix with which they are read, and the saved files."""
    from subsalt.host import human
    from subsalt.io.input_file import InputFile
    from subsalt.io.segy.fix import Fix
    from subsalt.io.segy.geometry import header_for
    from subsalt.io.segy.headers import save_index
    from subsalt.io.segy.index import BESIDE
    from subsalt.io.segy.layout import find_layout

    fix = Fix(index=BESIDE if folder is None else str(folder))
    saved: list[dict[str, object]] = []
    for path in files:
        with InputFile(path) as file:
            layout = find_layout(file, header, fix)
            target, made = save_index(file, layout, header_for(layout, header), fix.index)
        size = target.stat().st_size
        what = "saved" if made else "is up to date"
        out.say(f"header values of {layout.n_traces:,} traces: {target}, {human(size)}, {what}")
        saved.append({"file": path, "index": target, "bytes": size, "traces": layout.n_traces, "made": made})
    return fix, saved


def read_positions(files: list[Path] | None, join: str) -> SurveyGeometry | None:
    """Return the geometry in files of positions; None without any."""
    from subsalt.io.geometry.survey import read_geometry

    if join not in ("auto", "record", "point") or (not files and join != "auto"):
        raise ConfigError(
            f"--join {join}", "use auto, record or point, with --geometry FILE for each file of positions"
        )
    return read_geometry(files, join=join) if files else None  # type: ignore[arg-type]


def _start_options(*methods: str) -> type:
    """Return a dataclass of the options of `init` that methods declare; each is a text and optional."""
    declared = [
        (
            option.name,
            Annotated[
                str | None,
                typer.Option(metavar="VALUE", help=option.help, rich_help_panel=f"Options for {name} jobs"),
            ],
            field(default=None),
        )
        for name in methods
        for option in method_of(name).start_options
    ]
    return make_dataclass("StartOptions", declared, frozen=True)


#: the methods with their titles
_METHODS = " or ".join(f"{n} ({method_of(n).title})" for n in METHODS)
OfDefault: Any = _start_options(DEFAULT)
OfOthers: Any = _start_options(*(name for name in METHODS if name != DEFAULT))


@command(
    "Write a job file for given data.",
    "subsalt init survey.toml --from 'shots/*.sgy' --vp vp.sgy --f0 15",
    "subsalt init time.toml --from line.sgy --method kirchhoff --vrms vrms.txt",
)
@spread
def init(
    job: JobFile,
    *,
    from_: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="FILE", help="Recorded traces: a file or a quoted pattern. Repeatable."
        ),
    ] = None,
    first: OfDefault,
    method: Annotated[str, typer.Option(metavar="NAME", help=f"Imaging method: {_METHODS}.")] = DEFAULT,
    more: OfOthers,
    geometry: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Positions: an SPS, P1/90 or P1/11 file. Repeatable."),
    ] = None,
    preset: Preset = REV1,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing job file.")] = False,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="More files, as for --from.")
    ] = None,
    talk: Talk,
) -> None:
    """Write a commented job file. Its values come from the headers of the traces and from the velocity model."""
    shots = [*(from_ or []), *(files or [])]
    given = asdict(first) | asdict(more)
    out = talk.out()
    own = _own_options(method, given)
    if not shots:
        raise ConfigError(
            "no shot files given",
            "add --from 'shots/*.sgy'; a job that models shots is written by hand (subsalt explain acquisition)",
            code="E124",
        )
    with waiting("reading", out.as_json or out.quiet):
        result = method_of(method).start(
            job, shots, **own, geometry=geometry or (), preset=preset, force=force
        )
    if _show_start(out, job, result):
        raise typer.Exit(DataError.exit_code)


@command(
    "Estimate the source wavelet of a job.",
    "subsalt wavelet survey.toml",
    "subsalt wavelet survey.toml --offsets 0:600 --free-surface",
    "subsalt wavelet survey.toml --signature gun.txt",
    "subsalt wavelet survey.toml --phase minimum",
)
@spread
def wavelet(
    job: JobFile,
    *,
    options: wavelet_command.WaveletInput,
    talk: Talk,
) -> None:
    """Estimate the source wavelet of a job from direct waves, from a signature or from the spectrum of the traces.

    By default one wavelet for all shots is fitted to the direct waves by least squares: they are modelled through the
    water or the near surface, with one scale for each shot. Residual and correlation of every shot are reported.
    Filters in [[signal]] also act on the wavelet; mute, gain and to2d do not. The command prints the lines that put the
    wavelet into [source].
    """
    wavelet_command.wavelet(job, options, talk.out())


@command(
    "Check a job before it runs.",
    "subsalt check survey.toml",
    "subsalt check survey.toml --strict --no-map",
)
@spread
def check(
    job: JobFile,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            readable=False,
            help="Folder for the map.",
            show_default="JOB.check in the folder of the job file",
        ),
    ] = None,
    map_: Annotated[
        bool, typer.Option("--map/--no-map", help="Draw the survey on the model or the image grid.")
    ] = True,
    strict: Strict = False,
    talk: Talk,
) -> None:
    """Check units, headers, geometry, model, stability, dispersion and memory of a job. Nothing is computed.

    Each error and warning comes with evidence and a fix; `subsalt explain CODE` says more.
    """
    printer = talk.out()
    with ranks.on_all_ranks(job, printer) as read:
        code = check_command.check(read, printer, out, map_, strict)
    if code:
        raise typer.Exit(code)


@dataclass(frozen=True)
class BornOptions:
    """Options that make `model` demigrate an image."""

    born: Annotated[
        Path | None,
        typer.Option(
            metavar="IMAGE",
            readable=False,
            help="Write the Born data of this volume instead: perturbation of 1/v^2, s2/m2, on the grid of the model.",
        ),
    ] = None
    born_scale: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Factor on the values of IMAGE.", show_default="1"),
    ] = None

    def image(self) -> BornImage | None:
        """Return the image to demigrate, with its scale.

        Raises
        ------
        ConfigError
            When there is a scale, and no image (E837).
        """
        from subsalt.methods.rtm.born_job import NO_PERTURBATION, BornImage

        if self.born is not None:
            return BornImage(self.born, 1.0 if self.born_scale is None else self.born_scale)
        if self.born_scale is not None:
            raise ConfigError(
                "--born-scale is a factor on an image, and there is none",
                "add --born IMAGE",
                code=NO_PERTURBATION,
            )
        return None


@command(
    "Model the shots of a job to SEG-Y.",
    "subsalt model survey.toml -o shots",
    "subsalt model survey.toml --born dm.rsf",
    "mpiexec -n 4 subsalt model survey.toml",
)
@spread
def model(
    job: JobFile,
    *,
    parallel: ParallelOptions,
    born: BornOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            readable=False,
            help="Folder for the shots.",
            show_default="JOB.shots in the folder of the job file, or JOB.born",
        ),
    ] = None,
    strict: Strict = False,
    talk: TalkOfRun,
) -> None:
    """Model the shots of [acquisition] and write one SEG-Y file for each.

    --born demigrates an image: it writes the traces that the image scatters, linearised about the model of the job.
    The same command continues a run that was stopped.
    """
    from subsalt.methods.rtm.born_job import born_checked
    from subsalt.methods.rtm.job import Job
    from subsalt.methods.rtm.model_job import model_checked
    from subsalt.run.method_run import RunRequest, RunState

    printer = talk.out()
    with ranks.on_all_ranks(job, printer) as as_written:
        read = parallel.applied_to(as_written)
        with ranks.together():
            image = born.image()
        kind = "shots" if image is None else "born"
        state = RunState.of(RunRequest(out or read.base / f"{read.name}.{kind}"))
        with state.clock("check"):
            check_or_stop(read, printer, strict)
        with ranks.together():
            if not isinstance(read, Job) or read.acquisition is None:
                raise ConfigError(
                    f"{job} has no [acquisition]",
                    "add shots, receivers, record_length and dt",
                    code="E102",
                )
        with printer.progress("modelling") as bar:
            state.request = replace(state.request, progress=bar)
            result = model_checked(read, state) if image is None else born_checked(read, image, state)
    show_result(printer, result)


def _own_options(method: str, given: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the options of a method; refuse an unknown method, and options of another one."""
    if method not in METHODS:
        raise ConfigError(
            f"--method {method}: there is no such method", f"use one of {', '.join(METHODS)}", code="E125"
        )
    own = {o.name for o in method_of(method).start_options}
    for other in METHODS:
        for option in method_of(other).start_options:
            if given[option.name] is not None and option.name not in own:
                flag = "--" + option.name.replace("_", "-")
                raise ConfigError(
                    f"{flag} belongs to method {other}", f"leave it out, or add --method {other}", code="E769"
                )
    return {name: given[name] for name in given if name in own}


def _show_start(out: Out, job: Path, result: InitResult) -> bool:
    """Show from which values a job file was made; return whether there are errors."""
    out.findings(result.findings)
    out.row("job", str(job))
    out.row("read", "; ".join(result.read) or "nothing")
    out.row("made up", "; ".join(result.made_up) or "nothing")
    wrong = any(f.level == "error" for f in result.findings)
    out.row(
        "next", f"fix the errors above, then run: subsalt check {job}" if wrong else f"subsalt check {job}"
    )
    out.json(
        {
            "job": job,
            "findings": [finding_dict(f) for f in result.findings],
            "read": result.read,
            "made_up": result.made_up,
        }
    )
    return wrong
