"""Every check of a job: what can be loaded is loaded, all rules run, all findings come at once.

The last check is whether the largest shot fits into this machine. In a run of several ranks rank 0 applies the rules,
and all go through the model for it: the other ranks wait for what rank 0 asks of all: their share of a pass over the
files, or to open the model together.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import check, kernels
from subsalt.check.context import Context
from subsalt.check.grids import LOWEST
from subsalt.check.tilt import impossible
from subsalt.earth.planes import Parameter, PartSummary, Planes, combine, summarise_part
from subsalt.errors import ConfigError, DiskError, Finding, SubsaltError
from subsalt.job.checking import CheckResult, Loader, with_files_left_out
from subsalt.job.inputs import data_files
from subsalt.job.signal.edited_noise import knowing_edits
from subsalt.job.signal.traces import recorded
from subsalt.kernels.tuning import forced_rows
from subsalt.methods.rtm.data import kept_headers
from subsalt.methods.rtm.earth_model import load_parameters, load_survey, share_headers
from subsalt.methods.rtm.gather_choice import with_gathers
from subsalt.methods.rtm.grouping import Grouping, group_size
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.scratch import checkpointing_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm, single, world
from subsalt.parallel.relay import plain
from subsalt.plan import gpu as gpus
from subsalt.plan.program import program_of
from subsalt.plan.rates import machine_if_known
from subsalt.plan.world import World
from subsalt.propagation import devices

if TYPE_CHECKING:
    from subsalt.checkpoint.choice.choose import Choice
    from subsalt.earth.model_like import ModelLike
    from subsalt.io.segy.kept_headers import KeptHeaders
    from subsalt.methods.rtm.job import Job


class ModelAccess:
    """Goes through the model of a job for the rules, on this process alone."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters of the model, summarised on the first request."""
        given: dict[str, Parameter] = self.job.remember("parameters", lambda: load_parameters(self.job))
        return given

    def model(self) -> ModelLike:
        """Return the model."""
        return self.job.open_model()

    def propagation_model(self) -> ModelLike:
        """Return the model on the grid on which waves are computed."""
        return self.job.open_propagation_model()


def on_ranks(job: Job, comm: Comm, rules: Callable[[Job, ModelAccess], CheckResult]) -> CheckResult:
    """Return what `rules` find on rank 0, on all ranks; collective.

    Parameters
    ----------
    rules : callable
        Goes through the model by what it is given.

    Returns
    -------
    CheckResult
        On rank 0 with everything that was loaded on the way; elsewhere the findings alone.
    """
    if not comm.is_root:
        while isinstance(request := comm.bcast(), str):
            # rank 0 has it too, and makes a finding of it
            with suppress(SubsaltError):
                ASKED[request](job, comm)
        findings = [Finding(**f) for f in request["findings"]]
        return CheckResult(findings, check.Context(), request["codes"])
    answer: dict[str, list[object]] = {"findings": [], "codes": []}
    try:
        result = rules(job, _CollectiveModelAccess(job, comm))
        answer["findings"] = [asdict(f) | {"evidence": plain(f.evidence)} for f in result.findings]
        answer["codes"] = list(result.codes)
    finally:
        # also when a rule breaks: the others must not wait for more
        comm.bcast(answer)
    return result


class _CollectiveModelAccess(ModelAccess):
    """Goes through the model with all ranks; used on rank 0."""

    def __init__(self, job: Job, comm: Comm) -> None:
        super().__init__(job)
        self.comm = comm

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters of the model, summarised."""
        self.comm.bcast("summaries")
        return _summaries(self.job, self.comm)

    def model(self) -> ModelLike:
        """Return the model, opened on all ranks."""
        self.comm.bcast("model")
        return _model(self.job, self.comm)

    def propagation_model(self) -> ModelLike:
        """Return the model on the grid on which waves are computed, opened on all ranks."""
        self.comm.bcast("propagation model")
        return _propagation_model(self.job, self.comm)


def _summaries(job: Job, comm: Comm) -> dict[str, Parameter]:
    """Return the parameters of the model; on rank 0 with the summaries of their files, a share from every rank."""
    parts: dict[str, PartSummary] = {}
    share_headers(job, comm)
    with comm.together():
        given: dict[str, Parameter] = job.remember("parameters", lambda: load_parameters(job))
        for name, p in given.items():
            if isinstance(p.values, Planes):
                n = len(p.values)
                parts[name] = summarise_part(
                    p.values, n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
                )
    for name, own in parts.items():
        by_rank = comm.gather([own.bad, own.first_bad, own.low, own.high])
        samples = comm.gather_array(own.sample)
        if by_rank is not None and samples is not None:
            whole = [
                PartSummary(bad, None if first is None else tuple(first), low, high, sample)
                for (bad, first, low, high), sample in zip(by_rank, samples, strict=True)
            ]
            given[name].summary = combine(given[name].volume.size, whole)
    return given


def _model(job: Job, comm: Comm) -> ModelLike:
    return job.open_model()


def _propagation_model(job: Job, comm: Comm) -> ModelLike:
    return job.open_propagation_model()


#: requests that rank 0 may send to all ranks
ASKED: dict[str, Callable[[Job, Comm], object]] = {
    "summaries": _summaries,
    "model": _model,
    "propagation model": _propagation_model,
}


def check_memory(job: Job, context: Context, findings: list[Finding], load: Loader) -> None:
    """Add the memory the largest shot needs to the facts; refuse what cannot fit."""
    # a run of several ranks plans for its groups, right after the checks
    if job.data is None or job.streaming or any(f.level == "error" for f in findings):
        return
    assert context.model is not None
    assert context.computed is not None
    assert context.wavelet is not None
    assert context.survey is not None
    survey, wavelet, image_grid = context.survey, context.wavelet, context.model.grid
    model = context.computed.moved_to(context.model.frame)

    def plan() -> Grouping:
        setup = MigrationSetup.build(
            model, wavelet, context.record or survey.time, context.propagation, context.imaging, image_grid
        )
        setup = with_gathers(setup, survey.shots)
        context.facts |= {"nt": setup.axis.nt, "image_step": setup.image_step}
        gpu = gpus.of_run(job.parallel.device, machine_if_known())
        world = World.of(single(), kernels.threads_to_use(context.propagation.threads), gpu)
        formats, machine = job.output.formats, machine_if_known()
        needs = Needs(setup, survey.shots, 1, world.threads, program=program_of(machine, "rtm"))
        how = checkpointing_of(job.checkpoint_options, needs, world, job.default_run_dir, formats, machine)
        needs = replace(needs, checkpointing=how, pictures=job.output.pictures)
        return group_size(needs, world, at_once=job.parallel.shots_at_once)

    loaded = load(plan)
    if loaded is not None:
        context.facts["memory_bytes"] = loaded.need.total
        load.findings += recomputing(loaded.choice)


def recomputing(choice: Choice | None) -> list[Finding]:
    """Return what a reader should know of a shot whose snapshots do not all fit into memory."""
    if choice is None or choice.best.name == "store, memory":
        return []
    store = choice.alternatives[0]
    done = choice.counts.source_steps + choice.counts.receiver_steps
    more = done / max(1, choice.scheme.steps + choice.scheme.samples * choice.scheme.image_step)
    return [
        Finding(
            "W665",
            "ok",
            f"{choice.best.name}: the snapshots of a shot would take {store.need.memory / 1e9:.2f} GB, "
            f"{max(0, choice.inputs.memory) / 1e9:.2f} GB are there for them; {more:.2f} times the time steps",
            "subsalt plan shows the alternatives",
            {"strategy": choice.best.name, "steps_ratio": more},
        )
    ]


#: shots whose traces are looked at: the first, the last and some between
SAMPLED_SHOTS = 3
#: errors for which no grid can be chosen: wavelet and model have rules, which check velocities and spacings
SAID_BY_RULES = ("E160", "E162", "E531")
#: bytes of traces of one shot above which it is not looked at
SAMPLE_BYTES = 256 << 20


def check_rtm(job: Job) -> CheckResult:
    """Apply the rules of reverse time migration and modelling; all ranks go through the model together."""
    comm = world()
    devices.settle(comm, job.parallel.device)
    return on_ranks(job, comm, _check) if comm.size > 1 and job.streaming else _check(job, ModelAccess(job))


def _check(job: Job, reader: ModelAccess) -> CheckResult:
    load = Loader()
    context = check.Context(
        resampling=job.grid is not None,
        covering=job.grid is not None and job.grid.depth is not None,
        modelling=job.data is None,
        accuracy=job.propagation.accuracy if job.propagation.grid == "auto" else None,
        judge_breaks=job.data is None or job.data.first_breaks != "ignore",
        propagation=job.propagation_options,
        imaging=job.imaging_options,
    )
    if job.data is None and job.acquisition is None:
        load.findings.append(
            Finding(
                "E102",
                "error",
                "the job has neither [data] nor [acquisition]",
                "[data] names recorded shots (migrate), [acquisition] places shots to model",
            )
        )
        load.codes.append(ConfigError.exit_code)
    load(lambda: _writable_formats(job))
    load(lambda: _scratch_folders(job))
    load(lambda: devices.describe(job.parallel.device))
    load.findings += devices.no_gpu(job.parallel.device) + devices.findings()
    load.findings += devices.slower_kernels(job.parallel.device)
    load(lambda: kernels.threads_to_use(context.propagation.threads))
    load(forced_rows)
    files_there = load(job.input_files) is not None
    if files_there:
        context.parameters = load(reader.parameters) or {}
        scanning = Loader()
        if job.data is not None and job.data.slices is None:
            # before the survey, which takes the headers that the scan has read
            data = job.data
            headers = scanning(lambda: kept_headers(job, data))
            context.scan = None if headers is None else scanning(lambda: _scan(job, headers))
            context.survey = load(lambda: load_survey(job, headers))
        else:
            context.survey = load(lambda: _survey(job))
        _keep_new(load, scanning)
        if context.survey is not None:
            # rules look at what was recorded
            context.record, context.survey = context.survey.time, recorded(context.survey)
            context.propagation = replace(context.propagation, topography=context.survey.surface)
        if "vp" in context.parameters and not _values_wrong(context.parameters):
            # silent: rules on the volumes say it with more evidence
            quiet = Loader()
            context.model = quiet(reader.model)
            _keep_new(load, quiet)
            if context.model is not None:
                grid = Loader()
                context.computed = grid(reader.propagation_model)
                if not any(f.code in SAID_BY_RULES for f in grid.findings):
                    _keep_new(load, grid)
            _one_frame(context)
    context.wavelet = load(lambda: job.wavelet(_wavelet_dt(job, context)))
    if context.survey is not None and job.data is not None:
        context.samples = load(lambda: _samples(context.survey)) or []
    findings = check.run_rules(context, check.load_rules())
    # the context stays with the job: a run needs the memory of the traces
    context.samples = []
    if context.survey is not None:
        findings = knowing_edits(findings, context.survey)
    if context.velocity is not None and context.wavelet is not None and context.survey is not None:
        check_memory(job, context, findings + load.findings, load)
    merged = _merged(load.findings, findings)
    if job.data is not None and job.data.slices is None:
        merged = with_files_left_out(merged, job)
    return CheckResult(merged, context, load.codes)


def _one_frame(context: check.Context) -> None:
    """Let model and survey lie in one frame: recorded shots bring theirs, modelled ones take the model's."""
    if context.model is None or context.survey is None:
        return
    if context.modelling:
        context.survey = replace(context.survey, frame=context.model.frame)
    else:
        context.model = context.model.moved_to(context.survey.frame)


def _writable_formats(job: Job) -> None:
    """Raise when an output format needs a package that is not there: known before the first shot, not after the
    last.
    """
    if job.data is not None and "zarr" in job.output.formats:
        from subsalt.io.volumes.zarr_store import require_zarr

        require_zarr()


def _scratch_folders(job: Job) -> None:
    """Raise when a folder for snapshots cannot be used: known before the first shot."""
    for name in job.checkpoint_options.directories:
        folder = Path(name)
        why = (
            "does not exist"
            if not folder.exists()
            else "is no folder"
            if not folder.is_dir()
            else "cannot be written to"
            if not os.access(folder, os.W_OK | os.X_OK)
            else ""
        )
        if why:
            raise DiskError(
                f"[checkpoint] directories: {name} {why}", "make it, or name another folder", code="E665"
            )


def _values_wrong(parameters: dict[str, Parameter]) -> bool:
    """Return whether a model cannot be built from these values; the rules say why."""
    return any(p.summary.bad or p.summary.low <= LOWEST[n] or impossible(p) for n, p in parameters.items())


def _keep_new(load: Loader, quiet: Loader) -> None:
    load.findings += quiet.findings
    load.codes += quiet.codes


#: findings of the scan of all files, each with the finding on three shots that it makes superfluous
SAID_BY_SCAN = {"W282": "W233", "W286": "W234", "E284": "E250", "E285": "W252"}


def _merged(raised: list[Finding], reported: list[Finding]) -> list[Finding]:
    """Return all findings, each matter once: a rule goes before what a loader raised under the same code."""
    codes = {f.code for f in reported if f.level == "error"}
    everything = {f.code for f in [*raised, *reported]}
    out: list[Finding] = []
    for f in [*(f for f in raised if f.code not in codes), *reported]:
        if f not in out and SAID_BY_SCAN.get(f.code) not in everything:
            out.append(f)
    return out


def _survey(job: Job) -> Any:
    return (
        job.load_survey() if job.data is not None else (job.acquisition_survey() if job.acquisition else None)
    )


def _scan(job: Job, headers: KeptHeaders) -> Any:
    """Return the scan of the recorded files; a job that tries a cure outside `[data]` has what the other had."""
    return job.remember("scan", lambda: _scan_of_files(job, headers))


def _scan_of_files(job: Job, headers: KeptHeaders) -> Any:
    from subsalt.io.scan.scan import scan

    assert job.data is not None
    scanned = scan(
        data_files(job), headers.header, headers.fix, placed=job.data.geometry is not None, headers=headers
    )
    if job.data.receivers == "offset":  # the coordinates of receivers do not count
        scanned.findings = [_placed_by_offsets(f) for f in scanned.findings if f.code != "E380"]
    if job.data.shot_key != "auto" or job.data.gathers == "receiver":  # the job says what tells shots apart
        scanned.findings = [f for f in scanned.findings if f.code != "W224"]
    return scanned


def _placed_by_offsets(f: Finding) -> Finding:
    """Return a finding on offsets with the cure of a job that places receivers by them."""
    if f.code != "W226":
        return f
    cure = (
        'receivers are placed by these offsets; if the coordinates are right: [data] receivers = "coordinates" and '
        "[data.bytes] offset = 0; ignore it if the offsets are"
    )
    return replace(f, fix=cure)


def _wavelet_dt(job: Job, context: check.Context) -> float:
    """Return an interval at which the wavelet is looked at: the time step, or less where that is too coarse
    for it.

    A velocity or a grid in the wrong unit makes the time step useless; that is the finding, not the wavelet.
    """
    highest = [f for f in (job.source.f0, job.source.f4) if isinstance(f, float)]
    dt = job.propagation_options.dt
    if context.model is not None and not dt:
        # a thousand steps in a period and more say nothing of the wavelet
        dt = max(
            0.95 * context.model.stable_dt(job.propagation_options.weights),
            1e-3 / max(highest, default=100.0),
        )
    dt = dt or (context.survey.time.dt if context.survey is not None else 1e-3)
    return min(dt, 0.05 / max(highest)) if highest else dt


def _samples(survey: Any) -> list[check.SampledShot]:
    """Read the traces of the first, the last and a middle shot, before any mute."""
    read = getattr(survey.reader, "inner", survey.traces)
    n = len(survey.shots)
    chosen = sorted({0, n // 2, n - 1})[:SAMPLED_SHOTS] if n else []
    out = []
    for i in chosen:
        shot = survey.shots[i]
        if 4 * len(shot.rcv) * survey.time.nt <= SAMPLE_BYTES:
            out.append(check.SampledShot(shot, read(shot)))
    return out
