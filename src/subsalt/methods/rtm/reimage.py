"""A new image from what a run has kept: other conditions, filters, samples or a part of the image; no propagation.

Sums that the partial images of the run hold are taken from them, all others are summed again from the kept wavefields:
by the same kernels in the same order, so that the image has the bytes of a fresh run with that job. It goes into a run
directory of its own, with a ledger: stopped, it can be resumed; started under mpiexec, every rank takes shots.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError, CorruptionError, DataError
from subsalt.io.run_folder import claim_run, own_run
from subsalt.methods.rtm.conditions import Lags
from subsalt.methods.rtm.facts import beginning_facts, flatness_facts, gathers_facts, grid_facts
from subsalt.methods.rtm.gather_choice import with_gathers
from subsalt.methods.rtm.image import sum_image
from subsalt.methods.rtm.job_setup import migration_setup, model_and_survey
from subsalt.methods.rtm.outputs import RunOutputs, check_formats
from subsalt.methods.rtm.partial_image import intact, write_partial
from subsalt.methods.rtm.region import parse_region
from subsalt.methods.rtm.reuse import PLURAL, SECOND, WAVEFIELDS, Reuse, Times, image_of, in_words
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.source_run import SourceRun
from subsalt.methods.rtm.wavefields import CURE, by_shot
from subsalt.option_fields import documented, option
from subsalt.parallel.comm import Comm
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.engine import Engine
from subsalt.run.identity import numerics_of
from subsalt.run.ledger import Ledger
from subsalt.run.method_run import ImagingRun, RunRequest, RunState
from subsalt.run.result import RunResult, Written
from subsalt.run.run_directory import RunDirectory
from subsalt.run.scheduler import Outcome, RankGroups
from subsalt.run.settings import settings_of
from subsalt.run.units import Progress, Report
from subsalt.timing import Phases
from subsalt.view.run_image import run_facts as run_facts_of

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job


#: keys of [imaging] that another image of the same wavefields may change
IMAGING = ("condition", "filter", "normalise", "top_mute", "illumination", "image_step")


@documented
@dataclass(frozen=True)
class Wish:
    """Settings of a new image; None leaves a setting as the run had it."""

    condition: str | None = option(None, "imaging condition, as [imaging] condition of a job")
    filter: str | None = option(None, "filter of the summed image: none or laplacian")
    normalise: float | None = option(None, "stabilisation of the division, relative to the mean illumination")
    top_mute: float | str | None = option(
        None, "depth above which the image is muted, or a text with a unit", unit="m"
    )
    illumination: str | None = option(
        None, "survey divides by the sum over shots, shot adds the quotients of the shots"
    )
    image_step: int | None = option(
        None, "time steps between the samples that count: a multiple of that of the run"
    )
    times: Times | None = option(
        None, "only samples between these times, as in the traces; None is no limit", unit="s"
    )
    region: str | None = option(
        None, "only this part of the image, x0:x1[,y0:y1],z0:z1 in the local frame", unit="m"
    )
    gathers: str | None = option(
        None,
        'gathers, as [imaging.gathers]: "kind=lag, max=400, step=20, every=8", any of its keys, or auto; none: '
        "without",
    )
    shots: str | None = option(None, 'only these shots, such as "1-100:5, 201"')
    wavefields: bool = option(False, "sum everything from the wavefields, also what partial images hold")

    def job(self, job: Job) -> Job:
        """Return a job as it is wished for."""
        imaging = {k: getattr(self, k) for k in IMAGING if getattr(self, k) is not None}
        if self.gathers is not None:
            imaging["gathers"] = gathers_of(self.gathers)
        if imaging:
            job = job.changed("imaging", **imaging)
        return job.with_shots(self.shots) if self.shots is not None else job

    @property
    def beyond_a_job(self) -> dict[str, Any]:
        """Settings that no job file has, but on which the sums depend."""
        return {"times": list(self.times)} if self.times is not None else {}

    def said(self) -> dict[str, Any]:
        """Return what was wished for, for run.json."""
        return {k: v for k, v in vars(self).items() if v is not None and v is not False}


def gathers_of(text: str) -> dict[str, Any] | None:
    """Return the table [imaging.gathers] of a text such as ``max=400, every=8``; None of ``none``.

    Raises
    ------
    ConfigError
        E864: it is no such text. What the values may be is checked with the job.
    """
    word = text.strip()
    if word in ("none", "auto"):
        return None if word == "none" else {}
    table: dict[str, Any] = {}
    for part in word.split(","):
        name, equals, value = (p.strip() for p in part.partition("="))
        if not equals or not name or not value:
            raise ConfigError(
                f"gathers {text!r}: {part.strip()!r} is not KEY=VALUE",
                "write for example max=400, step=20, every=8, along=x; or auto, or none",
                code="E864",
            )
        table[name] = int(value) if value.isdecimal() and name == "every" else value
    return table


#: part of the key of a run, and setting of its ledger: what a new image is made of, and how
REIMAGE = "reimage"


def made_of(folder: Path, say: Callable[[str], None] = lambda text: None) -> tuple[Path, Wish] | None:
    """Return the run that a new image in a directory is made from, and what was wished for; None of any other run.

    Both are kept in the ledger. Those of versions before 0.9 have them in run.json alone; they count where its job
    agrees.

    Raises
    ------
    CorruptionError
        When they cannot be read, or run.json contradicts itself (E813).
    """
    known = settings_of(folder)
    try:
        if known and REIMAGE not in json.loads(known["key"]):
            return None
        origin, facts = json.loads(known.get(REIMAGE, "null")), {}
        if origin is None:
            facts = run_facts_of(folder)
            origin = facts.get(REIMAGE)
        if origin is None and not known:
            return None
        run, wished = Path(str(origin["run"])), {f.name: origin["wish"].get(f.name) for f in fields(Wish)}
        if wished["times"] is not None:
            first, last = (None if t is None else float(t) for t in wished["times"])
            wished["times"] = first, last
        wish = Wish(**{**wished, "wavefields": bool(wished["wavefields"])})
        then = {k: facts["job"]["imaging"].get(k) for k in IMAGING} if facts else {}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptionError(
            f"{folder} does not say any more what its image was made from",
            "give the same `subsalt reimage` command again",
            code="E641",
        ) from error
    changed = [k for k, v in then.items() if getattr(wish, k) not in (None, v)]
    if changed:
        raise CorruptionError(
            f"{folder / 'run.json'} contradicts itself in {', '.join(changed)}",
            "give the same `subsalt reimage` command again",
            code="E813",
        )
    if facts:
        say(f"no ledger says what {folder} is made from: run.json is taken as it is")
    return run, wish


def reimage_run(
    source: Path,
    target: Path,
    wish: Wish,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> RunResult:
    """Make a new image from a run directory into another one; the same call resumes where it was stopped. Collective.

    Parameters
    ----------
    source : Path
        The run: its partial images, its kept wavefields. It is only read.
    target : Path
        Made when missing; refused when it belongs to something else.
    wish : Wish
        Settings that differ from those of the run.
    progress : callable, optional
        ``progress(done, total, message)``; called on rank 0.
    say : callable, optional
        Callback for progress text: before the first sum, where the sums come from.

    Raises
    ------
    MissingInputError
        When `source` is no run.
    ConfigError
        When what is kept cannot make the wished-for image, or `target` is taken by something else.
    """
    request = RunRequest(Path(target), progress, say=say)
    state = RunState.of(request)
    with state.clock("check"), state.world.together():
        claim_run(state.folder)
        if state.world.is_root:
            own_run(state.folder, writing=True)
        run = SourceRun.open(source)
        if state.folder.exists() and state.folder.resolve() == Path(source).resolve():
            raise ConfigError(
                f"the new image would go into {source} itself",
                "name another directory with -o; or change the job file, and `subsalt migrate` it again",
                code="E864",
            )
    new = ReimageRun(wish.job(run.job), state, run, wish)
    return Engine(new, RunDirectory(new)).carry()


class ReimageRun(ImagingRun):
    """See `ImagingRun`: its units are the shots of a run, imaged again from what that run has kept.

    Parameters
    ----------
    job : Job
        Job of the new image.
    state : RunState
    source : SourceRun
        Run from which the image is made.
    wish : Wish
        Settings that differ from those of the run.
    """

    def __init__(self, job: Job, state: RunState, source: SourceRun, wish: Wish) -> None:
        super().__init__(job, state)
        self.source, self.wish = source, wish

    def load(self) -> None:
        """Read the model, or open its files, and the headers of the survey."""
        self.model, self.survey = model_and_survey(self.job, self.state.clock, self.state.world)

    def prepare(self) -> None:
        """Choose windows and the part of the image; refuse what the run cannot serve at all."""
        job, state = self.job, self.state
        self.setup = migration_setup(job, self.model, self.survey)
        with state.world.together():
            text = self.wish.region
            self.region = None if text is None else parse_region(text, self.setup.image_grid)
            check_formats(job, self.setup.image_grid, state.world, self.survey.frame)
            state.numerics = numerics_of(state.device.describe(), job.propagation_options)
            _check_source(self.source, self.wish, self.setup, state.numerics)

    def identify(self) -> None:
        """Look at what the run has kept: what it offers, and where it is lossy, is part of the id."""
        state, source = self.state, self.source
        with state.clock("ledger"):
            held = intact(source.folder / "images", source.partials, state.world)
            self.reuse = _offer(source, self.wish, self.setup, held, self.survey.shots)
            with state.world.together():
                _refuse_impossible(self.reuse, self.survey, source)
            self.origins = Counter(self.reuse.source_of(s.id) for s in self.survey.shots)
            self.lossy = source.job.checkpoint.compression if self.origins[WAVEFIELDS] else "none"
            state.inputs = source.inputs
            state.run_id = id_of(self.job.run_id(source.inputs), self.wish, self.region, self.lossy)
            state.by = kernels.label(state.numerics)

    @property
    def _made_from(self) -> dict[str, Any]:
        """The run and what was wished for, as ledger and run.json keep them."""
        return {"run": str(self.source.folder.resolve()), "wish": self.wish.said()}

    def identity_extras(self, ledger: Ledger) -> dict[str, Any]:
        """Return what the image is made from, and the frame of the partial images."""
        return {
            "more": {REIMAGE: self.wish.beyond_a_job},
            "also": {REIMAGE: json.dumps(self._made_from)},
            "option": "-o",
            "place": self.survey.frame,
        }

    def units(self) -> Sequence[Shot]:
        """Return the shots; those that failed are tried again, for the run may have gone on since."""
        state, ledger, shots = self.state, self.state.ledger, self.survey.shots
        if ledger is not None:
            ledger.plan([s.id for s in shots])
        there = intact(state.images, state.hashes(), state.world)
        done = {shot for shot, names in there.items() if set(self.reuse.wanted) <= set(names)}
        if ledger is not None:
            ledger.keep(set(there))
            ledger.requeue(set(there) - done)
            ledger.reset_attempts()
        state.request.say(_said(self.origins, len(done), len(self.survey)))
        if self.lossy != "none":
            state.request.say(
                f"the wavefields were compressed by {self.lossy}: the image differs from that of a new run by the loss"
            )
        return shots

    def facts(self) -> dict[str, Any]:
        """Return grid, time axes, model, and what the image is made from."""
        facts = beginning_facts(self.setup, self.survey) | {"memory_plan": {}}
        return facts | {"reimage": self._made_from | {"run_id": self.source.run_id}}

    @contextmanager
    def work(
        self, stack: ExitStack, groups: RankGroups, crash: CrashNote | None
    ) -> Iterator[Callable[[Shot, Shot | None, Report], Outcome]]:
        """Sum shots again, on one rank each."""
        state = self.state
        imager = _Imager(self.setup, self.reuse, self.source, state.images, groups.group, state.clock)
        yield imager.process

    def assemble(self) -> Written:
        """Sum the partial images, and write the part of the image that is wished for."""
        state = self.state
        with state.clock("image sum"):
            planes = sum_image(self.setup, self.survey, state.ledger, state.images, state.world)
        outputs = RunOutputs(
            self.job, self.setup, self.survey, state.folder, state.run_id, state.world, self.region
        )
        self.written = outputs.write(planes, state.clock)
        return self.written

    def totals(self) -> dict[str, Any]:
        """Return that nothing was propagated."""
        return {"point_steps": 0, "grid_point_steps": 0}

    def ending_facts(self, rows: Sequence[Mapping[str, Any]], spent: Mapping[str, Any]) -> dict[str, Any]:
        """Return where the sums came from, and the grid of the part."""
        made = self._made_from | {"run_id": self.source.run_id, "shots_from": dict(self.origins)}
        made |= {} if self.lossy == "none" else {"lossy": self.lossy}
        facts = {"reimage": made, "image": {"path": self.written.image.name, "sha256": self.written.sha256}}
        if self.region is None:
            facts |= flatness_facts(self.state.folder, beginning_facts(self.setup, self.survey))
        else:
            facts |= gathers_facts(self.setup, self.region)
            facts["image_grid"] = grid_facts(self.setup.image_grid.window(self.region))
            if not self.setup.carries:
                facts["grid"] = facts["image_grid"]
        return facts


def id_of(run_id: str, wish: Wish, region: Box | None = None, lossy: str = "none") -> str:
    """Return the id of a new image: that of a fresh run with its job, unless it is one that no job makes."""
    beyond = wish.beyond_a_job | ({} if region is None else {"region": [region.lo, region.hi]})
    beyond |= {} if lossy == "none" else {"lossy": lossy}
    if not beyond:
        return run_id
    return hashlib.sha256(json.dumps([run_id, beyond], sort_keys=True).encode()).hexdigest()


def _check_source(run: SourceRun, wish: Wish, setup: MigrationSetup, numerics: dict[str, object]) -> None:
    """Refuse what a run cannot serve at all."""
    if run.summed:
        raise ConfigError(
            f"{run.folder} keeps the sum of its first {run.summed} shots, not their partial images (--running-sum)",
            "change [imaging] in the job and start `subsalt migrate` in the same run directory: filter, mute and "
            "normalisation act on the sum",
            code="E861",
        )
    if str(numerics["class"]) != run.numerics:
        raise ConfigError(
            f"{run.folder} was computed with the numerics {run.numerics}, here are {numerics['class']}: the sums would "
            "mix both",
            "use the instruction set of the run (SUBSALT_ISA), or migrate again",
            code="E864",
        )
    kept_step = run_facts_of(run.folder).get("image_step")
    if wish.image_step is not None and isinstance(kept_step, int) and wish.image_step % kept_step:
        raise ConfigError(
            f"--image-step {wish.image_step}: {run.folder} has samples every {kept_step} time steps",
            f"give a multiple of {kept_step}",
            code="E864",
        )
    first, last = wish.times or (None, None)
    if (first is not None and first > setup.axis.duration) or (last is not None and last < (first or 0.0)):
        limits = ":".join("" if t is None else f"{t:g}" for t in (first, last))
        raise ConfigError(
            f"--time-range {limits} has no sample",
            f"give two times between {setup.axis.t0:g} and {setup.axis.duration:g} s",
            code="E864",
        )


def _offer(
    run: SourceRun,
    wish: Wish,
    setup: MigrationSetup,
    held: dict[int, tuple[str, ...]],
    shots: Sequence[Shot],
) -> Reuse:
    """Return what the run offers for the wished-for image of some shots."""
    # sums over other samples are in no partial image
    same = wish.times is None and wish.image_step is None and not wish.wavefields
    return Reuse(
        setup,
        run.folder,
        run.partials,
        held if same else {},
        by_shot(run.wavefields),
        wish.times or (None, None),
        _gathers_of(run, setup, shots),
    )


def _gathers_of(run: SourceRun, setup: MigrationSetup, shots: Sequence[Shot]) -> Lags | None:
    """Return the half offsets and columns of the gathers of a run, whose model the new image has; None without any."""
    return with_gathers(replace(setup, imaging=run.job.imaging_options), shots).lags


def _refuse_impossible(reuse: Reuse, survey: Survey, run: SourceRun) -> None:
    """Refuse when not a single shot can be imaged; single shots that lack something become holes."""
    finished = [s.id for s in survey.shots if run.partials.get(s.id) or reuse.wavefields.get(s.id)]
    if not finished:
        raise DataError(
            f"{run.folder} has no finished shot of those asked for",
            "let it finish with `subsalt migrate`",
            "E861",
        )
    if not any(reuse.source_of(shot) for shot in finished):
        need = " and ".join(reuse.unmade(finished[0]))
        never = any(name in SECOND for name in reuse.missing(finished[0]))
        raise ConfigError(
            f"{run.folder} has not kept the {need} wavefield{'s' * (' and ' in need)} of its shots, which "
            f"{' and '.join(map(in_words, reuse.missing(finished[0])))} need",
            "migrate a job that asks for it with `subsalt migrate`: no run keeps this wavefield"
            if never
            else CURE + _stored_gathers(reuse, finished[0]),
            code="E861",
        )


def _stored_gathers(reuse: Reuse, shot: int) -> str:
    """Return in words which gathers the stored sums of a shot serve; empty where they are not what lacks, or none."""
    lags, stored = reuse.setup.lags, reuse.gathers
    if lags is None or stored is None or reuse.missing(shot) != [lags.name]:
        return ""
    if stored.name not in reuse.names.get(shot, ()):
        return ""
    sides = " and ".join(
        f"to {a.lags[-1]:g} m along {a.name} every {a.lags[1] - a.lags[0]:g} m" for a in stored.axes
    )
    return f"; or ask for some of the half offsets that it has summed, {sides}, at some of its columns"


def _said(origins: Counter[str], done: int, total: int) -> str:
    """Return in words where the sums come from."""
    parts = [f"{n} from {PLURAL[what]}" for what, n in origins.items() if what and n]
    lacking = [f"{origins['']} lack what is needed"] if origins[""] else []
    before = [f"{done} are done already"] if done else []
    return (
        f"{total} shot{'s' * (total != 1)}, nothing is propagated: {', '.join([*parts, *lacking, *before])}"
    )


@dataclass
class _Imager:
    """Makes the partial images of shots, on one rank each."""

    setup: MigrationSetup
    reuse: Reuse
    run: SourceRun
    images: Path
    group: Comm
    clock: Phases

    def process(self, shot: Shot, next_shot: Shot | None, report: Report) -> Outcome:
        """Make the partial image of one shot and publish it; return what became of it."""
        report(shot, 0.0)
        if not self.reuse.source_of(shot.id):
            lacking = " and ".join(self.reuse.unmade(shot.id))
            why = (
                self.run.without(shot.id)
                if shot.id not in self.run.partials
                else f"its {lacking} is not kept"
            )
            return {"unit": shot.id, "reason": f"shot {shot.id} cannot be imaged again: {why}; {CURE}"}
        begin = time.perf_counter()
        try:
            with self.clock(self.reuse.source_of(shot.id)):
                sums = self.reuse.sums(shot, lambda fraction: report(shot, fraction))
        except CorruptionError as error:
            return {"unit": shot.id, "reason": str(error)}
        window = self.setup.window(shot)
        with self.clock("partial image"):
            part = image_of(self.setup, shot.id, window, sums)
            lags = None if self.setup.lags is None else self.setup.lags.inside(window)
            sha = write_partial(self.images, part, window, self.group, lags)
        return {"unit": shot.id, "sha256": sha, "seconds": time.perf_counter() - begin}
