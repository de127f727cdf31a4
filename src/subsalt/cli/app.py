"""The `subsalt` command: its sub-commands and options. What they do is in `cli_commands`, imported when one
runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli import lab_checkpoint as lab_checkpoint
from subsalt.cli import lab_io as lab_io
from subsalt.cli import lab_scaling as lab_scaling
from subsalt.cli import lab_storage as lab_storage
from subsalt.cli.lab import lab

app = typer.Typer(
    name="subsalt",
    help="Seismic depth imaging: reverse time migration from SEG-Y shots to a depth image, by one job file.",
    epilog="Start with: subsalt demo. Every command has --help with an example; --debug shows tracebacks.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object last on standard output.")]
Strict = Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")]
#: files that may not be read are an error of their own (exit code 66), not one of usage
JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="Job file (TOML).", readable=False)]

RunDir = Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.", readable=False)]
RetryQuarantined = Annotated[
    bool, typer.Option("--retry-quarantined", help="Try shots again that were set aside.")
]
AcceptChangedInputs = Annotated[
    bool,
    typer.Option(
        "--accept-changed-inputs", help="Keep finished shots although files of traces have changed since."
    ),
]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Stop cleanly (exit code 75) after so long: 90s, 45m, 3h, 2d or 1:30:00."
    ),
]


def _example(*lines: str) -> str:
    """Return the epilog of a command: a runnable example."""
    return "Example: " + "; ".join(lines)


def _version(value: bool) -> None:
    if value:
        from subsalt import __version__

        print(f"subsalt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options of the command itself."""


@app.command(
    short_help="Model and migrate a small 3-D salt survey.", epilog=_example("subsalt demo --out demo")
)
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", readable=False, help="Folder for everything the demo makes.")
    ] = Path("demo"),
    json: Json = False,
) -> None:
    """Model a small 3-D VTI salt survey to SEG-Y, migrate it from those files, and check the reflectors."""
    from subsalt.cli import commands

    commands.demo(out, json)


@app.command(short_help="Examine this machine and test the program on it.", epilog=_example("subsalt doctor"))
def doctor(
    json: Json = False,
    scratch: Annotated[Path, typer.Option(help="Folder whose speed is measured.", readable=False)] = Path(
        "."
    ),
) -> None:
    """Say what this machine offers, and test that the program computes rightly on it."""
    from subsalt.cli import commands

    commands.doctor(scratch, json)


@app.command(short_help="Show what SEG-Y and SU files hold.", epilog=_example("subsalt scan shots/*.sgy"))
def scan(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES...", help="SEG-Y or SU files.", readable=False)
    ],
    preset: Annotated[str, typer.Option(help="Header layout: rev1, su, marine2d, obn.")] = "rev1",
    json: Json = False,
) -> None:
    """Show what SEG-Y and SU files hold: shots, channels, coordinates, sampling, format, oddities."""
    from subsalt.cli import commands

    commands.scan(files, preset, json)


@app.command(
    short_help="Write a job file from what the files say.",
    epilog=_example("subsalt init survey.toml --from 'shots/*.sgy' --vp vp.rsf --f0 15")
    + "; subsalt init time.toml --from line.sgy --method kirchhoff --vrms vrms.txt",
)
def init(
    job: JobFile,
    from_: Annotated[
        list[str] | None, typer.Option("--from", help="Recorded shots; repeat it for more.")
    ] = None,
    vp: Annotated[str | None, typer.Option(help='Velocity: a file, a number, or "2 km/s".')] = None,
    epsilon: Annotated[str | None, typer.Option(help="Thomsen epsilon: a file or a number.")] = None,
    delta: Annotated[str | None, typer.Option(help="Thomsen delta: a file or a number.")] = None,
    theta: Annotated[
        str | None, typer.Option(help='Tilt of the symmetry axis: a file, degrees, or "0.5 rad".')
    ] = None,
    phi: Annotated[str | None, typer.Option(help="Azimuth of the tilt: a file or degrees.")] = None,
    f0: Annotated[str | None, typer.Option(help="Peak frequency of the wavelet, Hz.")] = None,
    method: Annotated[str, typer.Option(help="rtm, or kirchhoff: prestack time migration.")] = "rtm",
    vrms: Annotated[
        str | None, typer.Option(help="kirchhoff: rms velocity in time, a file or a number.")
    ] = None,
    cdp_spacing: Annotated[
        str | None, typer.Option(help="kirchhoff: distance of CDPs of a line without coordinates.")
    ] = None,
    preset: Annotated[str, typer.Option(help="Header layout: rev1, su, marine2d, obn.")] = "rev1",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing job file.")] = False,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILES]...", help="More files for --from.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a commented job file, filled with what the files say."""
    from subsalt.cli import commands

    shots = [*(from_ or []), *(files or [])]
    model = {"vp": vp, "epsilon": epsilon, "delta": delta, "theta": theta, "phi": phi, "f0": f0}
    time = {"vrms": vrms, "cdp_spacing": cdp_spacing}
    commands.init(job, shots, method, {"rtm": model, "kirchhoff": time}, preset, force, json)


@app.command(
    short_help="Apply every rule to a job; compute nothing.", epilog=_example("subsalt check survey.toml")
)
def check(
    job: JobFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="Folder for the map; JOB.check beside the job."),
    ] = None,
    map_: Annotated[
        bool, typer.Option("--map/--no-map", help="Draw the survey on its model or image grid.")
    ] = True,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Apply every rule on units, geometry, models, stability and dispersion; draw the survey on the model."""
    from subsalt.cli import commands

    commands.check(job, out, map_, strict, json)


@app.command(
    short_help="Model the shots of a job to SEG-Y.", epilog=_example("subsalt model survey.toml -o shots")
)
def model(
    job: JobFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="Folder for the shots; JOB.shots beside the job."),
    ] = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Model the shots of [acquisition] to SEG-Y."""
    from subsalt.cli import commands

    commands.model(job, out, strict, json)


@app.command(
    short_help="Migrate the shots of a job to a depth image.",
    epilog=_example(
        "subsalt migrate survey.toml --run survey.run",
        "mpiexec -n 4 subsalt migrate survey.toml",
        "subsalt migrate survey.toml --slurm --nodes 4 --ranks-per-node 2 --print",
        "subsalt migrate line.toml --vscan 0.9:1.1:0.05 --at 605",
    ),
)
def migrate(
    job: JobFile,
    run: Annotated[
        Path | None, typer.Option("--run", readable=False, help="Run directory; JOB.run beside the job.")
    ] = None,
    shots: Annotated[str | None, typer.Option(help='Only these shots, such as "1-100:5, 201".')] = None,
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute", help="Set the result of a changed job aside in RUN/previous, start anew."
        ),
    ] = False,
    strict: Strict = False,
    json: Json = False,
    retry_quarantined: RetryQuarantined = False,
    accept_changed_inputs: AcceptChangedInputs = False,
    time_limit: TimeLimit = None,
    slurm: Annotated[
        bool, typer.Option("--slurm", help="Write a batch script for Slurm, start nothing.")
    ] = False,
    nodes: Annotated[int | None, typer.Option(help="Slurm: nodes.")] = None,
    ranks_per_node: Annotated[int | None, typer.Option(help="Slurm: ranks on each node; 1.")] = None,
    threads: Annotated[
        int | None, typer.Option(help="Slurm: threads of each rank; whole nodes when left out.")
    ] = None,
    memory_per_node: Annotated[
        str | None, typer.Option(help="Slurm: such as 64GB; what the plan needs when left out.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Slurm: limit, hh:mm:ss or days-hh:mm:ss; 24:00:00. Queued again after it."),
    ] = None,
    partition: Annotated[str | None, typer.Option(help="Slurm: partition.")] = None,
    account: Annotated[str | None, typer.Option(help="Slurm: account.")] = None,
    mpi: Annotated[
        str | None, typer.Option(help="Slurm: srun, srun:pmix (a type of srun --mpi), or mpiexec; srun.")
    ] = None,
    mpi_library: Annotated[
        str | None, typer.Option(help="Slurm: the MPI library of the site, for MPI4PY_LIBMPI.")
    ] = None,
    sbatch: Annotated[
        list[str] | None, typer.Option(help="Slurm: one more option of sbatch, such as --sbatch=--qos=long.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="Slurm: the script; JOB.sbatch beside the job."),
    ] = None,
    print_: Annotated[bool, typer.Option("--print", help="Slurm: print the script, write no file.")] = False,
    vscan: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST:LAST:STEP",
            help="Kirchhoff: a run at each of these scales of the velocity, in JOB.vscan, and their panels.",
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="PLACE", help="Scan: draw the gathers at inline,crossline (or CDP); repeat it."),
    ] = None,
) -> None:
    """Migrate the shots of [data] to a depth image; the same command goes on where a run was stopped."""
    from subsalt.cli import commands, slurm_command, vscan_command

    batch = slurm_command.Options(
        nodes,
        ranks_per_node,
        threads,
        memory_per_node,
        time,
        partition,
        account,
        mpi,
        mpi_library,
        sbatch,
        out,
        print_,
    )
    if slurm:
        vscan_command.refuse_with(vscan, at, slurm="--slurm")
        slurm_command.write(batch, job, run, shots, strict, json)
        return
    batch.refuse_alone()
    how = commands.going_on(retry_quarantined, accept_changed_inputs, time_limit)
    if vscan is not None:
        vscan_command.refuse_with(vscan, at, shots="--shots" if shots else None)
        vscan_command.vscan(job, vscan, at, run, strict, json, how, recompute)
        return
    vscan_command.refuse_with(vscan, at)
    commands.migrate(job, run, shots, strict, json, how, recompute)


@app.command(
    short_help="Go on with a run that was stopped or killed.",
    epilog=_example("subsalt resume survey.run", "mpiexec -n 4 subsalt resume survey.run"),
)
def resume(
    run: RunDir,
    strict: Strict = False,
    json: Json = False,
    retry_quarantined: RetryQuarantined = False,
    accept_changed_inputs: AcceptChangedInputs = False,
    time_limit: TimeLimit = None,
) -> None:
    """Go on with a run from its directory alone, on any number of ranks: the same as its first command again."""
    from subsalt.cli import run_commands

    run_commands.resume(run, strict, json, retry_quarantined, accept_changed_inputs, time_limit)


@app.command(
    short_help="Ask a run to stop; it can go on later.",
    epilog=_example("subsalt stop survey.run", "subsalt stop survey.run --finish-shots"),
)
def stop(
    run: RunDir,
    finish_shots: Annotated[
        bool,
        typer.Option(
            "--finish-shots",
            help="Let shots (blocks of a time migration) in hand be finished; else they are given back.",
        ),
    ] = False,
    wait: Annotated[
        float, typer.Option(help="Seconds to wait for the end; 0 returns when the request is left.")
    ] = 60.0,
    json: Json = False,
) -> None:
    """Ask a run to stop, from any shell that sees its directory; it ends with exit code 75 and can go on."""
    from subsalt.cli import run_commands

    run_commands.stop(run, finish_shots, wait, json)


@app.command(
    short_help="Show how far a run is.",
    epilog=_example("subsalt watch survey.run", "subsalt watch survey.run --json"),
)
def watch(
    run: RunDir,
    once: Annotated[bool, typer.Option("--once", help="Show it once, also on a terminal.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between two looks on a terminal.")] = 2.0,
    json: Json = False,
) -> None:
    """Show shots done, running and failed, rate, time left and scratch used; reads only, from any shell.

    Of a time migration it shows blocks of the image, and contributions per second.
    """
    from subsalt.cli import run_commands

    run_commands.watch(run, once, every, json)


@app.command(
    short_help="Say what a job takes on so many ranks; start nothing.",
    epilog=_example("subsalt plan survey.toml --ranks 24 --memory-per-rank 16GB"),
)
def plan(
    job: JobFile,
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help="Ranks to be started.")] = 1,
    memory_per_rank: Annotated[
        str | None,
        typer.Option(help="Such as 16GB; what is free on this machine over the ranks when left out."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of each rank; the cores over the ranks when left out.")
    ] = None,
    machine: Annotated[
        Path | None,
        typer.Option(
            help="machine.json of the machine that will run it; that of this one when left out.",
            readable=False,
        ),
    ] = None,
    run: Annotated[
        Path | None, typer.Option("--run", readable=False, help="Run directory; JOB.run beside the job.")
    ] = None,
    shots: Annotated[str | None, typer.Option(help='Only these shots, such as "1-100:5, 201".')] = None,
    json: Json = False,
    measure: Annotated[
        bool,
        typer.Option(help="Measure for some seconds what this machine was not measured for, and keep it."),
    ] = True,
) -> None:
    """Say what memory, disk and time a job takes on so many ranks, and whether it fits; nothing is started."""
    from subsalt.cli import plan_command

    plan_command.plan(job, ranks, memory_per_rank, threads, machine, run, shots, json, measure)


@app.command(
    short_help="Make another image of a run, without propagating.",
    epilog=_example(
        "subsalt reimage survey.run --condition inverse-scattering --top-mute 200",
        "subsalt reimage survey.run --filter laplacian --region 0:2000,500:1500 -o salt.run",
        "mpiexec -n 4 subsalt reimage survey.run --condition source-normalised",
    ),
)
def reimage(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.", readable=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", readable=False, help="Run directory of the new image; beside RUN when left out."
        ),
    ] = None,
    condition: Annotated[
        str | None,
        typer.Option(help="source-normalised, cross-correlation or inverse-scattering; that of RUN."),
    ] = None,
    filter_: Annotated[str | None, typer.Option("--filter", help="none or laplacian; that of RUN.")] = None,
    normalise: Annotated[
        float | None, typer.Option(help="Stabilisation, relative to the mean illumination.")
    ] = None,
    top_mute: Annotated[
        str | None, typer.Option(help='Depth above which the image is zero: 200, "0.2 km".')
    ] = None,
    illumination: Annotated[
        str | None, typer.Option(help="survey or shot: divide the sums, or shot by shot.")
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(help="Only this part, m of the local frame: x0:x1,z0:z1 or x0:x1,y0:y1,z0:z1."),
    ] = None,
    shots: Annotated[str | None, typer.Option(help='Only these shots, such as "1-100:5, 201".')] = None,
    time_range: Annotated[
        str | None, typer.Option(help="Only samples between these times, s: 0.5:2; kept wavefields alone.")
    ] = None,
    image_step: Annotated[
        int | None, typer.Option(min=1, help="Time steps between samples: a multiple of that of RUN.")
    ] = None,
    wavefields: Annotated[
        bool,
        typer.Option(
            "--from-wavefields", help="Sum anew from kept wavefields even what partial images hold."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Make another image of a run from its partial images and kept wavefields: other condition, filter, part."""
    from subsalt.cli import reimage_command

    reimage_command.reimage(
        run,
        out,
        json,
        time_range,
        condition=condition,
        filter=filter_,
        normalise=normalise,
        top_mute=top_mute,
        illumination=illumination,
        region=region,
        shots=shots,
        image_step=image_step,
        wavefields=wavefields,
    )


@app.command(
    short_help="Draw a run, a model, an image, gathers or shots.",
    epilog=_example(
        "subsalt view survey.run -o image.png",
        "subsalt view line.run --at 605 --at 608 --velocity",
        "subsalt view line.run/gathers.sgy --gathers-every 50",
    ),
)
def view(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|FILE", help="Run directory, or a model, image or shot file.", readable=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="PNG file; beside the input when left out."),
    ] = None,
    clip: Annotated[float, typer.Option(help="Percentile of |amplitude| that becomes black.")] = 99.0,
    key: Annotated[str | None, typer.Option(help="Name of the array in an .npz or .nc file.")] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE",
            help="Where to cut and whose gathers to draw: inline,crossline[,time] of a time image (the CDP of a "
            "line), repeat it for more gathers; x,y,z in m of a depth volume.",
        ),
    ] = None,
    gathers_every: Annotated[
        int | None, typer.Option(metavar="N", help="Image gathers at every N locations of the inline.")
    ] = None,
    velocity: Annotated[
        bool, typer.Option("--velocity", help="Lay the rms velocity over the time image.")
    ] = False,
    gain: Annotated[
        float, typer.Option(help="Multiply time images and gathers by time to this power.")
    ] = 0.0,
    draw: Annotated[str, typer.Option(help="Gathers: auto, wiggle, grey or residual.")] = "auto",
    open_: Annotated[bool, typer.Option("--open", help="Show the picture in the desktop's viewer.")] = False,
    json: Json = False,
) -> None:
    """Draw pictures of a run (also of a partial image) or of any volume, shot or gather file.

    A time migration gives its image, image gathers beside their stack with the moveout that is left, the fold map and
    the hit count.
    """
    from subsalt.cli import view_command

    asked = view_command.Options(clip, key, at, gathers_every, velocity, gain, draw)
    view_command.view(what, out, asked, open_, json)


@app.command(
    short_help="Play back a shot: its wavefields and the growing image.",
    epilog=_example(
        "subsalt play survey.run --shot 118 -o shot118.html",
        "subsalt play survey.run --shot 118 --serve --open",
    ),
)
def play(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.", readable=False)],
    shot: Annotated[
        int | None, typer.Option(help="Id of the shot; the first one with something to show.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", readable=False, help="HTML file; RUN-shotN.html in this folder when left out."
        ),
    ] = None,
    fields: Annotated[str, typer.Option(help="What to show.")] = "source,receiver,image",
    every: Annotated[
        int | None, typer.Option(min=1, help="A frame every so many imaged samples; as fits when left out.")
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(min=2, help="Most grid points along an axis; as many as fit when left out."),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", help='First time, such as "0.5 s" or "500 ms".')
    ] = None,
    to: Annotated[str | None, typer.Option("--to", help="Last time.")] = None,
    max_size: Annotated[
        str | None,
        typer.Option(help="Most bytes of frames, unpacked: 50MB, and 4GB with --serve, when left out."),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Write no file; show it from a server on this machine alone.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the server; a free one when left out.")
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open what is served in the desktop's browser.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Serve on a node of a batch system too.")] = False,
    json: Json = False,
) -> None:
    """Play back a shot in a browser: source, receivers and the growing image over the velocity model.

    The frames come from kept wavefields ([checkpoint] keep), or the shot is propagated again. The page is one
    file that needs no network; a box drawn in it gives the --region of `subsalt reimage`.
    """
    from subsalt.cli import play_command

    asked = play_command.Options(
        shot, out, fields, every, size, from_, to, max_size, serve, port, open_, force
    )
    play_command.play(run, asked, json)


@app.command(
    short_help="Convert an image, model or shots.", epilog=_example("subsalt export survey.run image.sgy")
)
def export(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="Run directory, or a volume or shot file.", readable=False)
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File whose suffix says the format; - writes SU to a pipe.", readable=False
        ),
    ],
    key: Annotated[
        str | None,
        typer.Option(
            help="Name of the array in an .npz or .nc file; of a time migration image, gathers or hits."
        ),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Unit of the values, when the file does not say it.")
    ] = None,
    json: Json = False,
) -> None:
    """Convert an image, model or shots: .sgy .su .rsf .npy .npz .vti .nc .zarr."""
    from subsalt.cli import commands

    commands.export(source, target, key, unit, json)


@app.command(short_help="Write one HTML page about a run.", epilog=_example("subsalt report survey.run"))
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.", readable=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="HTML file; RUN/report.html when left out."),
    ] = None,
    json: Json = False,
) -> None:
    """Write one self-contained HTML page: image, survey, job, phases, warnings, provenance."""
    from subsalt.cli import commands

    commands.report(run, out, json)


@app.command(
    short_help="Explain a code or a key of the job file.",
    epilog=_example("subsalt explain E412", "subsalt explain imaging.aperture"),
)
def explain(
    what: Annotated[
        str, typer.Argument(metavar="CODE|KEY", help="A code such as E412, or a key of the job file.")
    ],
    json: Json = False,
) -> None:
    """Explain an error or warning code, or a key of the job file."""
    from subsalt.cli import commands

    commands.explain(what, json)


app.add_typer(lab, short_help="Measure this machine and the kernels on it.")


def main(argv: list[str] | None = None) -> None:
    """Run the command and leave with the exit code of what happened."""
    from subsalt.cli import guard

    sys.exit(guard.run(app, sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    main()
