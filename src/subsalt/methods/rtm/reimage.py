"""A new image from what a run has kept: other conditions, filters, samples or a part of the image; no propagation.

Sums that the partial images of the run hold are taken from them, all others are summed anew from the kept wavefields:
by the same kernels in the same order, so that the image has the bytes of a fresh run with that job. It goes into a run
directory of its own, with a ledger: stopped, it goes on; started under mpiexec, every rank takes shots.

A part of the image is given as text: ``x0:x1[,y0:y1],z0:z1`` in m of the model's local frame.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Box, Grid
from subsalt.errors import ConfigError, CorruptionError, DataError
from subsalt.io.input_traffic import TRACES
from subsalt.io.publish import make_folder, publish_text
from subsalt.io.run_folder import claim_run, own_run
from subsalt.methods.rtm.facts import beginning_facts, grid_facts
from subsalt.methods.rtm.image import sum_image
from subsalt.methods.rtm.job_setup import migration_setup, survey_of
from subsalt.methods.rtm.outputs import RunOutputs, check_formats
from subsalt.methods.rtm.partial_image import intact, write_partial
from subsalt.methods.rtm.reuse import PLURAL, WAVEFIELDS, Reuse, Times
from subsalt.methods.rtm.rtm import ShotImage
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.source_run import SourceRun
from subsalt.methods.rtm.wavefields import CURE, by_shot
from subsalt.parallel.comm import Comm, world
from subsalt.parallel.watchdog import watch
from subsalt.propagation import devices
from subsalt.run import scheduler as ranks
from subsalt.run.engine import write_report
from subsalt.run.facts import facts_of_ending, facts_of_job, over_ranks, write_facts
from subsalt.run.identity import begin_run, numerics_of
from subsalt.run.ledger import Ledger
from subsalt.run.leftovers import noted_memory
from subsalt.run.lock import check_shared
from subsalt.run.result import RunResult
from subsalt.run.scheduler import Outcome
from subsalt.run.settings import settings_of
from subsalt.run.units import Bookkeeping, Progress, Report, run_units
from subsalt.timing import Phases
from subsalt.view.run_image import run_facts as run_facts_of

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job


#: a node this close to a limit counts as on it, in cells
ON_LIMIT = 1e-6


def region_text(limits: list[tuple[float, float]]) -> str:
    """Return limits (low, high) of every axis as a region is written."""
    return ",".join(f"{lo:.10g}:{hi:.10g}" for lo, hi in limits)


def parse_region(text: str, grid: Grid) -> Box:
    """Return the nodes of a grid inside a region, limits included.

    Parameters
    ----------
    text : str
        ``x0:x1,z0:z1`` in 2-D, ``x0:x1,y0:y1,z0:z1`` in 3-D, m; a limit may be left out: ``:2000`` is all up to 2000.
    grid : Grid
        Of the image.

    Raises
    ------
    ConfigError
        When the text says no region, or one without a node of the grid.
    """
    names = ("x", "z") if grid.ndim == 2 else ("x", "y", "z")
    form = ",".join(f"{n}0:{n}1" for n in names)
    parts = text.replace(" ", "").split(",")
    if len(parts) != len(names) or any(p.count(":") != 1 for p in parts):
        raise ConfigError(
            f"--region {text!r} has not the form {form}",
            f"the image has {grid.ndim} axes, for example {region_text(_all(grid))}",
            code="E862",
        )
    lo, hi = [], []
    for i, (name, part) in enumerate(zip(names, parts, strict=True)):
        first, last = _all(grid)[i]
        low, high = (_number(v, text, form) for v in part.split(":"))
        a = 0 if low is None else math.ceil((low - first) / grid.spacing[i] - ON_LIMIT)
        b = grid.shape[i] - 1 if high is None else math.floor((high - first) / grid.spacing[i] + ON_LIMIT)
        a, b = max(a, 0), min(b, grid.shape[i] - 1)
        if a > b:
            raise ConfigError(
                f"--region {text!r}: no point of the image lies in {name} = {part}",
                f"the image goes from {name} = {first:g} to {last:g} m, every {grid.spacing[i]:g} m",
                code="E862",
            )
        lo.append(a)
        hi.append(b + 1)
    if grid.ndim == 2:
        lo.insert(1, 0)
        hi.insert(1, 1)
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def _all(grid: Grid) -> list[tuple[float, float]]:
    """Return the limits of the whole grid."""
    return list(zip(grid.origin, grid.last, strict=True))


def _number(text: str, region: str, form: str) -> float | None:
    """Return a limit; None where it is left out."""
    try:
        value = float(text) if text else None
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise ConfigError(f"--region {region!r}: {text!r} is no number", f"write {form} in m", code="E862")
    return value


#: keys of [imaging] that another image of the same wavefields may change
IMAGING = ("condition", "filter", "normalise", "top_mute", "illumination", "image_step")


@dataclass(frozen=True)
class Wish:
    """What is asked of a new image; None leaves it as the run had it.

    Parameters
    ----------
    condition, filter, normalise, top_mute, illumination
        As in `[imaging]`.
    image_step : int, optional
        Time steps between the samples that count: a multiple of that of the run.
    times : tuple of float or None, optional
        Only samples between these times, s as in the traces; None is no limit.
    region : str, optional
        Only this part of the image, ``x0:x1[,y0:y1],z0:z1`` in m of the local frame.
    shots : str, optional
        Only these, such as ``"1-100:5, 201"``.
    wavefields : bool
        Sum everything anew from the wavefields, also what partial images hold.
    """

    condition: str | None = None
    filter: str | None = None
    normalise: float | None = None
    top_mute: float | str | None = None
    illumination: str | None = None
    image_step: int | None = None
    times: Times | None = None
    region: str | None = None
    shots: str | None = None
    wavefields: bool = False

    def job(self, job: Job) -> Job:
        """Return a job as it is wished for."""
        imaging = {k: getattr(self, k) for k in IMAGING if getattr(self, k) is not None}
        if imaging:
            job = job.changed("imaging", **imaging)
        return job.with_shots(self.shots) if self.shots is not None else job

    @property
    def beyond_a_job(self) -> dict[str, Any]:
        """What no job can say, but the sums depend on."""
        return {"times": list(self.times)} if self.times is not None else {}

    def said(self) -> dict[str, Any]:
        """Return what was wished for, for run.json."""
        return {k: v for k, v in vars(self).items() if v is not None and v is not False}


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
        found, facts = json.loads(known.get(REIMAGE, "null")), {}
        if found is None:
            facts = run_facts_of(folder)
            found = facts.get(REIMAGE)
        if found is None and not known:
            return None
        run, asked = Path(str(found["run"])), {f.name: found["wish"].get(f.name) for f in fields(Wish)}
        if asked["times"] is not None:
            first, last = (None if t is None else float(t) for t in asked["times"])
            asked["times"] = first, last
        wish = Wish(**{**asked, "wavefields": bool(asked["wavefields"])})
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
    """Make a new image from a run directory into another one; the same call goes on where it was stopped. Collective.

    Parameters
    ----------
    source : Path
        The run: its partial images, its kept wavefields. It is only read.
    target : Path
        Made when missing; refused when it belongs to something else.
    wish : Wish
        What is to be different.
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
    clock, everybody, folder = Phases(), world(), Path(target)
    with clock("check"), everybody.together():
        claim_run(folder)
        if everybody.is_root:
            own_run(folder, writing=True)
        run = SourceRun.open(source)
        if folder.exists() and folder.resolve() == Path(source).resolve():
            raise ConfigError(
                f"the new image would go into {source} itself",
                "name another directory with -o; or change the job file, and `subsalt migrate` it again",
                code="E864",
            )
        job = wish.job(run.job)
        options = job.propagation_options
    with clock("model input"):
        model = job.open_propagation_model()
    with clock("survey"), everybody.together():
        survey = survey_of(job, model)
    with clock("setup"):
        threads = ranks.threads_for(everybody, options.threads)
        device = devices.prepare(everybody, options.device, threads)
        setup = migration_setup(job, model, survey)
        with everybody.together():
            region = None if wish.region is None else parse_region(wish.region, setup.image_grid)
            check_formats(job, setup.image_grid, everybody, survey.frame)
            numerics = numerics_of(device.describe(), options)
            _check_source(run, wish, setup, numerics)
    with ExitStack() as stack:
        stack.enter_context(watch(everybody, job.parallel.patience))
        ledger, facts, images = None, {}, folder / "images"
        with clock("ledger"):
            held = intact(run.folder / "images", run.partials, everybody)
            reuse = _offer(run, wish, setup, held)
            with everybody.together():
                _refuse_impossible(reuse, survey, run)
            origins = Counter(reuse.source_of(s.id) for s in survey.shots)
            lossy = run.job.checkpoint.compression if origins[WAVEFIELDS] else "none"
            run_id = id_of(job.run_id(run.inputs), wish, region, lossy)
            with everybody.together():
                if everybody.is_root:
                    make_folder(folder, 0o700)
                    ledger = stack.enter_context(Ledger(folder))
                    asked = {"run": str(run.folder.resolve()), "wish": wish.said()}
                    begin_run(
                        ledger,
                        job,
                        run_id,
                        run.inputs,
                        numerics,
                        more={REIMAGE: wish.beyond_a_job},
                        also={REIMAGE: json.dumps(asked)},
                        option="-o",
                        place=survey.frame,
                    )
                    ledger.plan([s.id for s in survey.shots])
                    publish_text(folder / "job.resolved.toml", job.resolved_toml())
                    make_folder(images)
                    facts = facts_of_job(job, run_id, run.inputs, numerics)
                    facts |= beginning_facts(setup, survey) | {"memory_plan": {}}
                    facts["reimage"] = asked | {"run_id": run.run_id}
                    write_facts(folder, facts | {"state": "running"})
            check_shared(folder, everybody)
            stack.enter_context(noted_memory(folder, everybody))
            hashes = dict(everybody.bcast(list(ledger.hashes().items()) if ledger else None))
            there = intact(images, hashes, everybody)
            done = {shot for shot, names in there.items() if set(reuse.wanted) <= set(names)}
            if ledger is not None:
                ledger.keep(set(there))
        left = [s for s in survey.shots if s.id not in done]
        say(_said(origins, len(done), len(survey)))
        if lossy != "none":
            say(
                f"the wavefields were compressed by {lossy}: the image is that of a fresh run but for what it lost"
            )
        parts = ranks.form(everybody, 1, 1, max(1, len(left)))
        imager = _Imager(setup, reuse, run, images, parts.group, clock)
        before = TRACES.now()
        books = Bookkeeping(clock, ledger, progress if everybody.is_root else None)
        run_units(parts, imager.process, left, len(survey), books)
        with clock("image sum"):
            planes = sum_image(setup, survey, ledger, images, everybody)
        outputs = RunOutputs(job, setup, survey, folder, run_id, everybody, region)
        written = outputs.write(planes, clock)
        with clock("facts"):
            spent = over_ranks(everybody, clock.table(), TRACES.now() - before)
            parallel = parts.facts()
            parts.free()
            rows = everybody.bcast(ledger.rows() if ledger else None)
            failed = [r["id"] for r in rows if r["state"] == "quarantined"]
            peak = spent["peak_memory_bytes"]["max"]
            with everybody.together():
                if everybody.is_root:
                    facts["reimage"] |= {"shots_from": dict(origins)}
                    if lossy != "none":
                        facts["reimage"]["lossy"] = lossy
                    if region is not None:
                        facts["image_grid"] = grid_facts(setup.image_grid.window(region))
                        if not setup.carries:
                            facts["grid"] = facts["image_grid"]
                    facts |= {
                        "point_steps": 0,
                        "grid_point_steps": 0,
                        "parallel": parallel | {"threads": kernels.threads_to_use(threads)},
                    }
                    facts |= facts_of_ending(folder, "shot", rows, written.files, spent, clock.table())
                    facts["image"] = {"path": written.image.name, "sha256": written.sha256}
                    write_facts(folder, facts)
    return RunResult(
        folder,
        written.image,
        written.sha256,
        clock.table(),
        peak,
        [r["id"] for r in rows if r["state"] == "done"],
        failed,
        report=write_report(folder, clock),
        files=written.files,
    )


def id_of(run_id: str, wish: Wish, region: Box | None = None, lossy: str = "none") -> str:
    """Return the id of a new image: that of a fresh run with its job, unless it is one that no job makes."""
    beyond = wish.beyond_a_job | ({} if region is None else {"region": [region.lo, region.hi]})
    beyond |= {} if lossy == "none" else {"lossy": lossy}
    if not beyond:
        return run_id
    return hashlib.sha256(json.dumps([run_id, beyond], sort_keys=True).encode()).hexdigest()


def _check_source(run: SourceRun, wish: Wish, setup: MigrationSetup, numerics: dict[str, object]) -> None:
    """Refuse what a run cannot serve at all."""
    if str(numerics["class"]) != run.numerics:
        raise ConfigError(
            f"{run.folder} was computed with the numerics {run.numerics}, here are {numerics['class']}: the sums would "
            "mix both",
            "use the instruction set of the run (SUBSALT_ISA), or migrate anew",
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


def _offer(run: SourceRun, wish: Wish, setup: MigrationSetup, held: dict[int, tuple[str, ...]]) -> Reuse:
    """Return what the run offers for the wished-for image."""
    # sums over other samples are in no partial image
    same = wish.times is None and wish.image_step is None and not wish.wavefields
    return Reuse(
        setup,
        run.folder,
        run.partials,
        held if same else {},
        by_shot(run.wavefields),
        wish.times or (None, None),
    )


def _refuse_impossible(reuse: Reuse, survey: Survey, run: SourceRun) -> None:
    """Refuse when not a single shot can be imaged; single shots that lack something become holes."""
    finished = [s.id for s in survey.shots if run.partials.get(s.id) or reuse.kept.get(s.id)]
    if not finished:
        raise DataError(
            f"{run.folder} has no finished shot of those asked for",
            "let it finish with `subsalt migrate`",
            "E861",
        )
    if not any(reuse.source_of(shot) for shot in finished):
        need = " and ".join(reuse.unmade(finished[0]))
        raise ConfigError(
            f"{run.folder} has not kept the {need} wavefield{'s' * (' and ' in need)} of its shots, which "
            f"{' and '.join(reuse.missing(finished[0]))} need",
            CURE,
            code="E861",
        )


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
            return {"shot": shot.id, "reason": f"shot {shot.id} cannot be imaged again: {why}; {CURE}"}
        begin = time.perf_counter()
        try:
            with self.clock(self.reuse.source_of(shot.id)):
                sums = self.reuse.sums(shot, lambda fraction: report(shot, fraction))
        except CorruptionError as error:
            return {"shot": shot.id, "reason": str(error)}
        window = self.setup.window(shot)
        with self.clock("partial image"):
            part = ShotImage(shot.id, window, sums, 0, 0.0)
            sha = write_partial(self.images, part, window, self.group)
        return {"shot": shot.id, "sha256": sha, "seconds": time.perf_counter() - begin}
