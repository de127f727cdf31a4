"""A run of reverse time migration: its units are shots, whose partial images are summed in survey order.

Every group of ranks takes the next shot that is not done, until none is left; a process alone takes several where they
are small. A shot counts as done only after all ranks of its group have published their planes of its partial image. One
that fails (bad traces, a wavefield that blows up) is tried once more at the end, then quarantined, and the survey
continues. Which planes and receivers of a shot a rank has is known before anything is read (`share_of`).

Beside it: the prediction that a run begins with, seconds by phase of what is left to do, for run.json and the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError, CorruptionError, Finding
from subsalt.job.signal.summary import signal_ended, signal_facts
from subsalt.machine.machine_file import Machine
from subsalt.methods.rtm.ahead import ShotsAhead
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.duration import prediction_of
from subsalt.methods.rtm.earth_model import line_numbers
from subsalt.methods.rtm.engine import ShotImage, migrate_shot
from subsalt.methods.rtm.facts import beginning_facts, flatness_facts
from subsalt.methods.rtm.grouping import Grouping, ignored_at_once
from subsalt.methods.rtm.image import sum_image
from subsalt.methods.rtm.job_setup import migration_setup, model_and_survey
from subsalt.methods.rtm.outputs import RunOutputs, check_formats
from subsalt.methods.rtm.partial_image import write_partial
from subsalt.methods.rtm.ranks import plan_ranks
from subsalt.methods.rtm.reuse import Reuse, reused, unserved
from subsalt.methods.rtm.run_schemes import RunSchemes
from subsalt.methods.rtm.running_sum import (
    KEY,
    RunningSum,
    Summed,
    out_of_order,
    take_up,
    without_running_sum,
)
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt.methods.rtm.scheme_records import facts_of, findings_of, records_of_shots
from subsalt.methods.rtm.scratch import disks_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.shot_input import BroadcastTraceReader, Rows, TracePrefetcher, reading_of, with_input
from subsalt.methods.rtm.wavefields import facts_of as facts_of_wavefields
from subsalt.methods.rtm.wavefields import places, records_of
from subsalt.parallel.comm import Comm
from subsalt.plan.model import Surroundings
from subsalt.plan.prediction import Prediction, Writes, predicted_for_run
from subsalt.propagation.domain import Domain
from subsalt.propagation.halo import HaloTraffic
from subsalt.run import quarantine
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.identity import numerics_of, wavefield_id
from subsalt.run.ledger import Ledger
from subsalt.run.method_run import ImagingRun
from subsalt.run.result import Written
from subsalt.run.scheduler import Outcome, RankGroups
from subsalt.run.units import OneOf, Report
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job


@dataclass(frozen=True)
class ShotShare:
    """One rank's share of a shot.

    Parameters
    ----------
    domain : Domain
        The part of the shot's computational grid.
    rows : ndarray, (k,)
        Receivers whose support touches what is owned; one receiver may be in the shares of several ranks.
    image_box : Box
        The part of the image that this rank accumulates, on the model grid; may be empty.
    """

    domain: Domain
    rows: NDArray[np.intp]
    image_box: Box


def share_of(setup: MigrationSetup, shot: Shot, group: Comm | None = None) -> ShotShare:
    """Return a rank's share of a shot; needs no message and reads no model values.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices.
    shot : Shot
        Positions.
    group : Comm, optional
        The ranks that share the shot; None: this process alone.

    Raises
    ------
    ConfigError
        When the slabs of the group would be thinner than their halo.
    """
    rank, ranks = (group.rank, group.size) if group is not None else (0, 1)
    domain = RankArrays.of(setup, shot, (rank, ranks)).domain
    _, rows = domain.mine(domain.points(shot.rcv))
    return ShotShare(domain, rows, domain.image_box)


@dataclass
class ShotRunner:
    """Migrates shots on the ranks of one group, one after the other.

    Parameters
    ----------
    setup : MigrationSetup
        Setup that all shots share.
    survey : Survey
        Shots and their traces.
    images : Path
        Folder of the partial images.
    groups : RankGroups
        This rank's group.
    clock : Phases
        Takes the seconds.
    io : str
        How the group gets its input: `[parallel] io`.
    crash : CrashNote, optional
        Where it is said which shot this rank begins.
    reuse : Reuse, optional
        Kept wavefields and partial images of the run: shots that they serve are not propagated.
    schemes : RunSchemes, optional
        How shots have their source wavefields again; all snapshots in memory when None.
    by : str
        Name of the device that computes, in prose.
    prepares_ahead : bool
        Memory has room for the next shot while one is computed (`ShotsAhead`).
    traces_ahead : TracePrefetcher, optional
        Where another runner of this process reads its traces ahead, too: files are read by one thread.
    """

    setup: MigrationSetup
    survey: Survey
    images: Path
    groups: RankGroups
    clock: Phases
    io: str = "per-rank"
    crash: CrashNote | None = None
    reuse: Reuse | None = None
    schemes: RunSchemes | None = None
    by: str = ""
    prepares_ahead: bool = False
    traces_ahead: TracePrefetcher | None = None

    def __post_init__(self) -> None:
        self.pool, self.point_steps, self.grid_point_steps = SnapshotPool(), 0, 0
        #: traffic and seconds of all exchanges of ghost planes on this rank
        self.halo = HaloTraffic()
        reading = reading_of(self.io, self.groups.group)
        self.setup = with_input(self.setup, reading)
        if self.traces_ahead is None:
            self.traces_ahead = (
                TracePrefetcher(self.survey, self._rows)
                if reading is None
                else BroadcastTraceReader(self.survey, self._rows, reading)
            )
        self.ahead = ShotsAhead(self.setup, self.traces_ahead, self.groups.group, wanted=self.prepares_ahead)

    def _rows(self, shot: Shot) -> Rows:
        """Return the receivers whose traces this rank injects."""
        group = self.groups.group
        return share_of(self.setup, shot, group).rows if group.size > 1 else None

    def process(self, shot: Shot, next_shot: Shot | None, report: Report) -> Outcome:
        """Migrate one shot and publish its partial image; return what became of it. Collective over the group."""
        report(shot, 0.0)
        group = self.groups.group
        if self.crash is not None:
            self.crash.now(shot.id)
        reusable = self._reused(shot, report)
        if isinstance(reusable, ShotImage):
            return self._published(shot, reusable)
        try:
            ready = self.ahead.take(shot, self.clock)
            if next_shot is not None and not (self.reuse and self.reuse.source_of(next_shot.id)):
                with self.clock("trace input"):
                    self.ahead.begin(next_shot)
            part = migrate_shot(
                self.setup,
                shot,
                ready,
                group=group if group.size > 1 else None,
                pool=self.pool,
                phases=self.clock,
                progress=lambda fraction: report(shot, fraction),
                **({} if self.schemes is None else self.schemes.of(shot)),
            )
            del ready  # its arrays go before the image is written
        except Exception as error:
            if not quarantine.belongs_to_shot(error, group):
                raise
            if group.is_root:
                where: dict[str, object] = {"rank": self.groups.world.rank, "host": group.host}
                quarantine.record_failure(
                    self.images.parent, self.survey, shot, self.setup.window(shot), error, where
                )
            if self.schemes is not None:
                # what it left may be what was wrong
                self.schemes.scratch.remove(shot.id)
            return {"unit": shot.id, "reason": quarantine.describe_error(error)}
        outcome = self._published(shot, part) | ({} if reusable is None else {"damaged": str(reusable)[:300]})
        outcome["by"] = self.by
        if self.schemes is not None:
            with self.clock("scratch"):
                outcome["checkpoint"] = self.schemes.finished(shot, part)
            if group.is_root and self.schemes.choice(shot).scheme.keep != "none":
                outcome["wavefields"] = records_of(shot.id, self.schemes.scratch.directories)
        return outcome

    def _reused(self, shot: Shot, report: Report) -> ShotImage | CorruptionError | None:
        """Return the sums of a shot that need no propagation; what is damaged of them; None when it needs one."""
        if self.reuse is None or not self.reuse.source_of(shot.id):
            return None
        with self.clock(self.reuse.source_of(shot.id)):
            return reused(self.reuse, shot, self.groups.group, lambda fraction: report(shot, fraction))

    def _published(self, shot: Shot, part: ShotImage) -> Outcome:
        """Publish the partial image of a shot and return its record for the ledger. Collective over the group."""
        with self.clock("partial image"):
            window, lags = self.setup.window(shot), self.setup.lags
            inside = None if lags is None else lags.inside(window)
            sha = write_partial(self.images, part, window, self.groups.group, inside)
        self.point_steps += part.point_steps
        self.grid_point_steps += part.grid_point_steps
        self.halo.add(part.traffic, HaloTraffic())
        return {"unit": shot.id, "sha256": sha, "seconds": part.seconds}

    def give_back(self) -> None:
        """Give the memory of snapshots back: no shot is left, and what comes then needs its own."""
        self.pool.give_back("device", "memory")
        if self.schemes is not None and self.schemes.scratch is not None:
            self.schemes.scratch.give_back()


def predict_shots(
    job: Job, decision: Grouping, left: Sequence[Shot], folder: Path, *, is_root: bool = True
) -> dict[str, Any]:
    """Return what a reverse time migration of the shots that are left is predicted to take. Collective.

    Returns
    -------
    dict
        See `Prediction.for_run`. Empty on ranks that are not `is_root`.
    """
    needs = decision.needs
    if needs is None:
        return {}
    # what of the model is found by all ranks together
    _ = needs.volumes, needs.mean_speed
    if not is_root:
        return {}

    def predict(machine: Machine | str) -> Prediction:
        disk, *_ = disks_of(needs, decision, folder, job.output.formats)
        writes = Writes(disk.parts, job.output.pictures)
        return prediction_of(needs, decision, machine, writes, Surroundings.of(machine, folder), left)

    return predicted_for_run(predict)


class ShotsRun(ImagingRun):
    """See `ImagingRun`.

    Parameters
    ----------
    job : Job
        With `[data]`.
    state : RunState
    """

    #: adds partial images while others are computed, where that was asked for and this process is alone
    running: RunningSum | None = None

    def load(self) -> None:
        """Read the model, or open its files, and the headers of the survey."""
        self.model, self.survey = model_and_survey(self.job, self.state.clock, self.state.world)

    def prepare(self) -> None:
        """Choose time step and windows, the ranks that share a shot, and how snapshots are kept."""
        job, everybody = self.job, self.state.world
        self.setup = migration_setup(job, self.model, self.survey)
        self.plan = plan_ranks(job, self.setup, self.survey, everybody, self.state.folder)
        if everybody.size > 1 or self.state.device.OWN_MEMORY:
            self._warn(ignored_at_once(job.parallel.shots_at_once, everybody.size))
        with everybody.together():
            check_formats(job, self.setup.image_grid, everybody, self.survey.frame)

    def _warn(self, findings: Sequence[Finding]) -> None:
        """Say what of the job has no effect here, and keep it for the report."""
        for finding in findings:
            self.state.request.say(f"{finding.code} {finding.message}: {finding.fix}")
        self.state.findings = [*self.state.findings, *findings]

    def numerics(self) -> dict[str, object]:
        """Return what computes; storage of the model and a backward wavefield are classes of their own."""
        choice = self.plan.choice
        strategy = choice.scheme.strategy if choice else "store"
        return numerics_of(super().numerics(), self.job.propagation_options, strategy)

    def identity_extras(self, ledger: Ledger) -> dict[str, Any]:
        """Return the frame of the partial images, and what a change of the imaging condition lacks."""
        if text := out_of_order(Summed.of(ledger.get(KEY)), [s.id for s in self.survey.shots]):
            raise ConfigError(
                f"{self.state.folder}: {text}; partial images in that sum cannot be taken out again (--running-sum)",
                "keep the shots that the run began with, and add others behind them; or choose another directory with "
                "--run, or move the old result away with --recompute",
                code="E810",
            )
        lacking = partial(unserved, self.setup, self.state.folder, ledger)
        return {"place": self.survey.frame, "unserved": lacking}

    def units(self) -> Sequence[Shot]:
        """Return the shots; those that partial images, their sum or kept wavefields serve are not propagated."""
        state, summed = self.state, Summed()
        with state.world.together():
            if state.ledger is not None:
                if state.request.running_sum and state.ledger.get(KEY) is None:
                    state.ledger.set(KEY, summed.setting)
                summed = take_up(state)
        shots = self._enter_shots(set(state.world.bcast(summed.shots)))
        if state.world.size == 1 and state.ledger is not None and state.ledger.get(KEY) is not None:
            self.running = RunningSum(self.setup, state, [s.id for s in shots])
        return shots

    def planned_units(self) -> Sequence[Shot]:
        """Return the shots, for a process that computes some of them and leaves the run directory as it is."""
        return self._enter_shots(set())

    def without_running_sum(self) -> str:
        """Return why the images of shots cannot be added while others are computed."""
        return without_running_sum(self.job.imaging_options)

    def between_units(self) -> bool:
        """Add partial images to the running sum, where the run has one."""
        if self.running is None:
            return False
        with self.state.clock("image sum"):
            return self.running.advance()

    def _enter_shots(self, summed: Set[int]) -> Sequence[Shot]:
        """Return the shots, entered into the ledger; those whose sums are there count as done."""
        state, ledger, shots = self.state, self.state.ledger, self.survey.shots
        self.signal = signal_facts(
            self.survey, state.world, state.clock, state.stored_marks(), state.request.say
        )
        if ledger is not None:
            ledger.plan([s.id for s in shots])
        hashes = state.hashes()
        self.reuse = Reuse.of_run(self.setup, state.folder, ledger, state.world, summed)
        done = {shot for shot in hashes if shot in summed or not self.reuse.missing(shot)}
        if ledger is not None:
            ledger.keep(summed | set(self.reuse.names))
            ledger.requeue(set(self.reuse.names) - done)
        if text := self.reuse.said([s.id for s in shots], done):
            state.request.say(text)
        return shots

    def only_here(self) -> ConfigError | None:
        """Return the refusal to keep wavefields: they lie in the scratch of whoever propagated them."""
        keep = self.job.checkpoint_options.keep
        if keep == "none":
            return None
        return ConfigError(
            f'[checkpoint] keep = "{keep}": wavefields that single units keep are not found again',
            "leave keep out, or run the job with subsalt migrate, without --engine and --prepare",
            code="E874",
        )

    def facts(self) -> dict[str, Any]:
        """Return grid, time axes, model and plan."""
        facts = beginning_facts(self.setup, self.survey)
        lines = line_numbers(self.job, self.setup.image_grid) if self.state.world.is_root else None
        facts |= {"lines": asdict(lines)} if lines is not None else {}
        facts |= {"memory_plan": self.plan.need.arrays, "plan": self.plan.to_dict()}
        return facts | self.signal

    def predict(self, left: Sequence[Shot]) -> dict[str, Any]:
        """Return what the shots take that have to be propagated."""
        to_do = [s for s in left if not self.reuse.source_of(s.id)]
        root = self.state.world.is_root
        return predict_shots(self.job, self.plan, to_do, self.state.folder, is_root=root)

    def group_sizes(self) -> tuple[int, int | None]:
        """Return the ranks that share a shot, and among how many the smallest window can be cut."""
        return self.plan.group_size, self.plan.largest

    def units_at_once(self) -> int:
        """Return how many shots this process computes side by side."""
        return self.plan.at_once

    @contextmanager
    def work(
        self, stack: ExitStack, groups: RankGroups, crash: CrashNote | None
    ) -> Iterator[Callable[[Shot, Shot | None, Report], Outcome]]:
        """Migrate shots; traces are read ahead meanwhile."""
        job, state = self.job, self.state
        fields_id = state.world.bcast(wavefield_id(job, state.inputs, state.numerics))
        # one for each shot in hand, with threads and buffers of its own
        several = [
            stack.enter_context(
                RunSchemes.of_run(
                    self.setup, self.plan, groups.group, job.checkpoint_options, state.work_folder, fields_id
                )
            )
            for _ in range(self.plan.at_once)
        ]
        schemes = several[0]
        folders = schemes.scratch.directories
        if state.ledger is not None:
            state.ledger.scratch = places(folders, state.folder)
        if state.live is not None:
            state.live.facts["scratch"] = [str(d.resolve()) for d in folders]
        with state.clock("ledger"), state.world.together():
            # all ranks: directories may be of one host alone
            schemes.scratch.remove_strays(restart=bool(job.checkpoint_options.restart_every))
        self.runners: list[ShotRunner] = []
        for own in several:
            self.runners.append(
                ShotRunner(
                    self.setup,
                    self.survey,
                    state.images,
                    groups,
                    state.clock,
                    job.parallel.io,
                    crash,
                    self.reuse,
                    own,
                    state.by,
                    self.plan.need.ahead,
                    self.runners[0].traces_ahead if self.runners else None,
                )
            )
        self.halo = self.runners[0].halo
        with ExitStack() as reading:
            for runner in self.runners:
                assert runner.traces_ahead is not None
                reading.enter_context(runner.traces_ahead)
                reading.enter_context(runner.ahead)
            yield OneOf([runner.process for runner in self.runners])
        for runner in self.runners:
            runner.give_back()
        if state.attempt is not None:
            # nobody comes again to its folder of scratch
            schemes.scratch.remove_empty()

    def assemble(self) -> Written:
        """Sum the partial images, and write image, illumination and pictures."""
        state = self.state
        # its arrays go before those of the whole image are made
        self.running = None
        with state.clock("image sum"):
            planes = sum_image(self.setup, self.survey, state.ledger, state.images, state.world)
        outputs = RunOutputs(self.job, self.setup, self.survey, state.folder, state.run_id, state.world)
        self.written = outputs.write(planes, state.clock)
        return self.written

    def finish(self) -> list[Path]:
        """Remove the folders of scratch in which nothing is kept."""
        if self.runners[0].schemes is not None:
            self.runners[0].schemes.scratch.remove_empty()
        return super().finish()

    def totals(self) -> dict[str, Any]:
        """Return the points computed, and those of the grids; also of shots that other processes have computed."""
        self.signal_ended = signal_ended(self.survey, self.state.world)
        entered = self.state.world.bcast(dict(self.state.entered))
        return {name: n + entered.get(name, 0) for name, n in self.work_done().items()}

    def work_done(self) -> dict[str, int]:
        """Return the points that all ranks computed, and those of the grids. Collective."""
        total = self.state.world.sum
        return {
            "point_steps": total(sum(r.point_steps for r in self.runners)),
            "grid_point_steps": total(sum(r.grid_point_steps for r in self.runners)),
        }

    def parallel_facts(self) -> dict[str, Any]:
        """Return who reads the traces, and how many shots each rank computed side by side."""
        return {"io": self.job.parallel.io, "shots_at_once": self.plan.at_once}

    def ending_facts(self, rows: Sequence[Mapping[str, Any]], spent: Mapping[str, Any]) -> dict[str, Any]:
        """Return what shots did of what was planned for them, and the wavefields that are kept."""
        state, ledger = self.state, self.state.ledger
        records = records_of_shots(state.folder, [r["id"] for r in rows if r["state"] == "done"])
        state.findings += findings_of(records)
        image = self.written.image
        flat = flatness_facts(state.folder, beginning_facts(self.setup, self.survey))
        return (
            self.signal_ended
            | flat
            | {
                "checkpoint": facts_of(self.plan, records),
                "wavefields": facts_of_wavefields(ledger.wavefields()) if ledger else {},
                "image": {"path": Path(image).name, "sha256": self.written.sha256},
            }
        )
