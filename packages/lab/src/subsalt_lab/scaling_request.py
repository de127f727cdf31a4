"""Options of ``lab scaling``, checked before anything is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from subsalt.errors import MemoryPlanError
from subsalt.host import machine_facts
from subsalt.machine.launcher import ALONE, Launcher
from subsalt.parallel import decomp
from subsalt_lab import external, job_queue, scaling
from subsalt_lab import time_migrations as time_migration
from subsalt_lab import whole as migration
from subsalt_lab.kernel_bench import bytes_needed
from subsalt_lab.layouts import RankLayout, WorkRule, layouts, usual
from subsalt_lab.option_values import instruction_sets, words, wrong
from subsalt_lab.scaling_worker import LAYER
from subsalt_lab.topology import Topology

#: short and long names of the media
MEDIA = {"iso": "isotropic", "isotropic": "isotropic", "vti": "vti", "tti": "tti"}
#: what can be measured as a whole
METHODS = ("rtm", "kirchhoff")
#: of a made-up trace, which holds two pulses
LEAST_SAMPLES = 50
#: radius of the scheme of order 8
RADIUS = 4
#: part of the memory that the arrays may take
MEMORY_SHARE = 0.8
#: more ranks or threads than this are a slip of the pen
MOST = 65536


@dataclass(frozen=True)
class ScalingRequest:
    """The options as they came; `kernel`, `migrations`, `time_migrations` and `program` make settings of them."""

    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND",
            help="Command of another program. {ranks}, {threads}, {case}, {directory}, {job} and {node} in it are "
            "replaced by the values of each run.",
        ),
    ] = None
    ranks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="Numbers of ranks, such as 1,2,4.",
            show_default="1, 2, 4, ... up to all cores",
        ),
    ] = None
    threads: Annotated[
        list[str] | None,
        typer.Option(metavar="LIST", help="Numbers of threads of each rank, such as 1,2.", show_default="1"),
    ] = None
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,N",
            help="Grid points nx,ny,nz with absorbing layers; for kirchhoff inlines, crosslines and samples.",
            show_default="256,256,256; with --whole 160,96,96; for kirchhoff 20,100,500",
        ),
    ] = None
    medium: Annotated[str, typer.Option(metavar="NAME", help="Medium: isotropic (iso), vti or tti.")] = "vti"
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Time steps of a measurement; with --whole samples of a trace.",
            show_default="40; with --whole 300",
        ),
    ] = None
    weak: Annotated[
        bool, typer.Option("--weak", help="Weak scaling: the grid grows along x with the ranks.")
    ] = False
    whole: Annotated[
        bool,
        typer.Option("--whole", help="Measure whole migrations of a synthetic survey, with their files."),
    ] = False
    shots: Annotated[
        int | None,
        typer.Option(
            min=1, help="Shots of the synthetic survey; with --weak shots of each rank.", show_default="4"
        ),
    ] = None
    ranks_per_shot: Annotated[
        str, typer.Option(metavar="N", help="With --whole, ranks that share a shot: auto, all or a number.")
    ] = "auto"
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Method: rtm, or kirchhoff for whole time migrations of synthetic traces."
        ),
    ] = "rtm"
    job: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", readable=False, help="Migrate this Kirchhoff job instead of synthetic traces."
        ),
    ] = None
    builds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="For kirchhoff, instruction sets to compare.",
            show_default="the best and the oldest",
        ),
    ] = None
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Measurements of each layout.")] = 5
    directory: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            readable=False,
            help="Folder for the files of whole migrations; for COMMAND the value of {directory}.",
            show_default="a temporary folder",
        ),
    ] = None
    against: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", readable=False, help="Second folder, to compare two file systems."),
    ] = None
    cached: Annotated[
        bool, typer.Option("--cached", help="Keep the files in the page cache between runs.")
    ] = False
    pin: Annotated[bool, typer.Option("--pin", help="Bind each rank to its own hardware threads.")] = False
    hyperthreads: Annotated[
        bool,
        typer.Option(
            help="If the machine has hyperthreads, also measure each layout with all threads of its cores."
        ),
    ] = True
    launcher: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help='Words that start the ranks, such as "srun --mpi=pmi2" or "mpiexec -n {ranks} -ppn 4".',
            show_default="mpiexec of this environment",
        ),
    ] = None
    time_from: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Read the run time from the output of COMMAND: the group of this regular expression.",
            show_default="wall-clock time",
        ),
    ] = None
    work: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="For weak scaling of COMMAND, the value of {work}: ranks, cores or sockets, or a list such as "
            "1:1000,2:2000.",
        ),
    ] = None
    cases: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST", help="Values of {case} in COMMAND, such as small,large. One table compares them."
        ),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Run COMMAND as this many jobs of a queue and measure the time until the last one ends.",
        ),
    ] = None
    nodes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST", help="With --jobs, numbers of nodes that take jobs from the queue, such as 1,2,4."
        ),
    ] = None
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="With --jobs, names of the nodes for {node}, such as n01,n02.",
            show_default="1, 2, ...",
        ),
    ] = None
    timeout: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Stop a start after this time.")
    ] = 3600.0

    @property
    def is_kirchhoff(self) -> bool:
        """Time migrations are asked for."""
        return self.method == "kirchhoff" or self.job is not None

    def check(self) -> None:
        """Refuse options that do not belong together.

        Raises
        ------
        ConfigError
            E128, wrong use of the command line.
        """
        if self.method not in METHODS:
            raise wrong(f"--method {self.method}: not known", f"choose from {', '.join(METHODS)}")
        if self.is_kirchhoff:
            idle = "cases jobs shots steps against ranks_per_shot medium command time_from"
            mine, what = (" grid weak", "--job") if self.job is not None else ("", "--method kirchhoff")
            self._refuse(idle + mine, f"is not for {what}", "leave it out")
            return
        self._refuse("builds", "compares time migrations", "add --method kirchhoff, or leave it out")
        if not self.whole:
            files = "" if self.command else " directory against cached"
            self._refuse(
                f"shots ranks_per_shot{files}", "belongs to whole migrations", "add --whole, or leave it out"
            )
        if self.against is not None and self.directory is None and self.command:
            raise wrong("--against compares with --directory", "give both")
        if not self.command:
            self._refuse(
                "cases jobs time_from work", "belongs to a command", "put the command last, after --"
            )
        in_words = "write it into the command, or leave it out"
        if self.jobs is None:
            self._refuse("nodes hosts", "belongs to a queue", "add --jobs, or leave it out")
        else:
            self._refuse("ranks weak work time_from cases directory", "is not for --jobs", in_words)
        if self.command:
            self._refuse("whole grid steps launcher pin", "is not for a command of your own", in_words)

    def _refuse(self, names: str, reason: str, cure: str) -> None:
        """Refuse those of some options that were given."""
        for name in names.split():
            if getattr(self, name) not in (getattr(ScalingRequest, name), []):
                option = "a command" if name == "command" else f"--{name.replace('_', '-')}"
                raise wrong(f"{option} {reason}", cure)

    def time_migrations(self) -> time_migration.Settings:
        """Return what is measured of Kirchhoff time migrations.

        Raises
        ------
        ConfigError
            On a bad grid.
        DeviceError
            When an instruction set is not available here.
        """
        chosen = self.layouts()
        if self.builds is None:  # the one in use and the oldest one, which may be the same
            builds = list(dict.fromkeys([*instruction_sets(None), instruction_sets(["all"])[0]]))
        else:
            builds = instruction_sets(self.builds)
        if len(builds) > 2:
            raise wrong(f"--builds {','.join(builds)}: two stand side by side", "such as --builds v4,v2")
        return time_migration.Settings(
            chosen,
            _grid_of_image(self.grid or "20,100,500"),
            job=None if self.job is None else _given_job(self.job),
            builds=builds,
            repeats=self.repeats,
            weak=self.weak,
            directory=self.directory,
            cached=self.cached,
            timeout=self.timeout,
            launcher=self._launcher(chosen),
        )

    @property
    def counts(self) -> tuple[list[int], list[int]]:
        """Numbers of ranks and of threads."""
        ranks = _counts("--ranks", self.ranks, usual(len(Topology.here().cores)))
        return ranks, _counts("--threads", self.threads, [1])

    def layouts(self, *, placed: bool = True) -> list[RankLayout]:
        """Return the layouts; a foreign program is not placed by us."""
        ranks, threads = self.counts
        return layouts(
            ranks,
            threads,
            Topology.here(),
            pin=placed and self.pin,
            hyperthreads=placed and self.hyperthreads,
        )

    def program(self) -> external.Settings:
        """Return what is measured of a command."""
        rule = (
            WorkRule.read(self.work) if self.work is not None else WorkRule("ranks" if self.weak else "fixed")
        )
        settings = external.Settings(
            self.command or [],
            self.layouts(placed=False),
            self.repeats,
            self.time_from,
            rule,
            self.timeout,
            cases=list(dict.fromkeys(words(self.cases))) if self.cases is not None else ("",),
            places=[p.absolute() for p in (self.directory, self.against) if p is not None],
            cached=self.cached,
        )
        if not settings.cases:
            raise wrong("--cases is empty", "such as --cases small,large")
        for place in settings.places:
            if not place.is_dir():
                raise wrong(f"{place} is no directory", "make it, with the files that the command reads")
        external.check(settings)
        for layout in settings.layouts:
            rule.of(layout, 1)
        return settings

    def queue(self) -> job_queue.Settings:
        """Return what is measured of jobs in a queue."""
        _, threads = self.counts
        if len(threads) > 1:
            raise wrong(f"--threads {','.join(map(str, threads))}: jobs have one number", "give one")
        if self.jobs is None or not 1 <= self.jobs <= MOST:
            raise wrong(f"--jobs {self.jobs}: no number from 1 to {MOST}", "such as --jobs 40")
        settings = job_queue.Settings(
            self.command or [],
            self.jobs,
            _counts("--nodes", self.nodes, usual(len(Topology.here().cores))),
            words(self.hosts) if self.hosts is not None else (),
            threads[0],
            self.repeats,
            self.timeout,
        )
        job_queue.check(settings)
        return settings

    def kernel(self) -> scaling.Settings:
        """Return what is measured of time steps.

        Raises
        ------
        ConfigError
            On a bad grid or medium, or slabs thinner than their halo.
        MemoryPlanError
            When the arrays of the largest grid do not fit into the memory.
        """
        medium = _medium(self.medium)
        grid = _grid(self.grid or "256,256,256")
        chosen = self.layouts()
        settings = scaling.Settings(
            chosen,
            medium,
            grid,
            self.steps or 40,
            self.repeats,
            self.weak,
            self.timeout,
        )
        for layout in chosen:
            nx = settings.grid_of(layout)[0]
            most = decomp.largest_group(nx, medium, RADIUS, (LAYER, LAYER))
            if layout.ranks > most:
                raise wrong(
                    f"--ranks {layout.ranks}: slabs of {nx} planes would be thinner than their halo",
                    f"use --ranks {most} or less, or a longer --grid along x",
                )
        settings = replace(settings, launcher=self._launcher(chosen))
        _refuse_too_large(settings)
        return settings

    def _launcher(self, chosen: Sequence[RankLayout]) -> Launcher:
        """Return what starts the ranks; nothing is needed for single ones."""
        needed = self.launcher is not None or any(x.ranks > 1 for x in chosen)
        return Launcher.find(self.launcher) if needed else ALONE

    def migrations(self) -> migration.Settings:
        """Return what is measured of whole migrations."""
        chosen = self.layouts()
        if self.ranks_per_shot not in ("auto", "all") and not _is_count(self.ranks_per_shot):
            raise wrong(
                f"--ranks-per-shot {self.ranks_per_shot}: no number", "use auto, all, or a number from 1"
            )
        return migration.Settings(
            chosen,
            _medium(self.medium),
            _grid(self.grid or "160,96,96"),
            self.steps or 300,
            self.shots or 4,
            self.ranks_per_shot,
            self.against,
            repeats=self.repeats,
            weak=self.weak,
            directory=self.directory,
            cached=self.cached,
            timeout=self.timeout,
            launcher=self._launcher(chosen),
        )


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdecimal() and 1 <= int(word) <= MOST


def _counts(option: str, given: list[str] | None, default: list[int]) -> list[int]:
    """Return the numbers of an option, ascending, each once."""
    if given is None:
        return default
    numbers = words(given)
    bad = [w for w in numbers if not _is_count(w)]
    if bad or not numbers:
        raise wrong(
            f"{option} {' '.join(bad) or 'is empty'}: not a list of numbers from 1", f"such as {option} 1,2,4"
        )
    return sorted({int(w) for w in numbers})


def _medium(name: str) -> str:
    if name not in MEDIA:
        raise wrong(f"--medium {name}: not known", "choose from iso, vti, tti")
    return MEDIA[name]


def _grid(text: str) -> tuple[int, int, int]:
    """Return the points of ``nx,ny,nz``."""
    numbers = text.replace("x", ",").split(",")
    least = 2 * LAYER + 8
    if len(numbers) != 3 or not all(_is_count(w.strip()) and int(w) >= least for w in numbers):
        raise wrong(
            f"--grid {text}: three numbers from {least} are needed, two layers of {LAYER} cells and a core",
            "such as --grid 256,256,256",
        )
    nx, ny, nz = (int(w) for w in numbers)
    return nx, ny, nz


def _grid_of_image(text: str) -> tuple[int, int, int]:
    """Return inlines, crosslines and samples of a time image."""
    numbers = [w.strip() for w in text.replace("x", ",").split(",")]
    if len(numbers) != 3 or not all(map(_is_count, numbers)) or int(numbers[2]) < LEAST_SAMPLES:
        raise wrong(
            f"--grid {text}: inlines, crosslines and samples of the image are needed, {LEAST_SAMPLES} samples or more",
            "such as --grid 20,100,500",
        )
    ni, nj, nt = map(int, numbers)
    return ni, nj, nt


def _refuse_too_large(settings: scaling.Settings) -> None:
    """Refuse a grid whose arrays the machine does not hold; in weak scaling that of the most ranks on this node."""
    most = max(settings.grid_of(x)[0] for x in settings.layouts)
    _, ny, nz = settings.grid
    # arrays of a cube with as many points, and what ghosts and rows add
    side = round((most * ny * nz) ** (1 / 3)) + 1
    need, memory = bytes_needed(side, settings.medium, 8, False), machine_facts()["ram_bytes"]
    if need > MEMORY_SHARE * memory and settings.launcher.on_this_node:
        raise MemoryPlanError(
            f"{most} x {ny} x {nz} points of {settings.medium} take {need / 1e9:.1f} GB of the {memory / 1e9:.1f} GB "
            "of memory",
            "choose a smaller --grid, or ranks on more nodes with --launcher",
            code="E612",
        )


def _given_job(path: Path) -> time_migration.GivenJob:
    """Return a Kirchhoff job of the user's, whose threads every layout may choose.

    Raises
    ------
    SubsaltError
        When the file is no Kirchhoff job, or fixes its threads (E128).
    """
    from subsalt.job.base import read_job

    job = read_job(path)
    if job.method != "kirchhoff":
        raise wrong(f"--job {path}: its method is {job.method}", 'give a job with method = "kirchhoff"')
    if job.parallel.threads != "auto":
        raise wrong(
            f"--job {path}: it fixes threads = {job.parallel.threads}", "remove threads from [parallel]"
        )
    files = tuple(file for paths in job.input_files().values() for file in paths)
    return time_migration.GivenJob(path.resolve(), job.title or job.name, files)
