"""Runs of a job: migrate a survey into a run directory, or model one to SEG-Y; stoppable at any time, resumable.

The unit of work is the shot. Its partial image is published before the ledger calls it done, and the image is
the sum of the partial images in survey order, so that neither a stop nor the order of work changes a byte of it.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from subsalt import kernels
from subsalt.errors import raise_on_errors
from subsalt.io.publish import make_folder, publish_text
from subsalt.io.traffic import TRACES
from subsalt.methods.rtm.facts import ending_facts, run_facts
from subsalt.methods.rtm.image import sum_image
from subsalt.methods.rtm.job_setup import migration_setup, survey_of
from subsalt.methods.rtm.outputs import check_formats, write_outputs
from subsalt.methods.rtm.prediction import of_shots
from subsalt.methods.rtm.ranks import plan_ranks
from subsalt.methods.rtm.reuse import Reuse, unserved
from subsalt.methods.rtm.shots import ShotRunner, migrate_shots
from subsalt.methods.rtm.strategies import Strategies, facts_of, findings_of, told_of_shots
from subsalt.methods.rtm.wavefields import facts_of as facts_of_wavefields
from subsalt.methods.rtm.wavefields import places
from subsalt.parallel.comm import world
from subsalt.parallel.watchdog import watch
from subsalt.propagation import devices
from subsalt.run import gpu_work
from subsalt.run import groups as ranks
from subsalt.run.crashes import CrashNote
from subsalt.run.facts import computed_by, over_ranks, write_facts
from subsalt.run.going_on import look_back, shots_left, shots_to_do
from subsalt.run.identity import begin_run, keep_place, numerics_of, wavefield_id
from subsalt.run.ledger import Ledger
from subsalt.run.live import Live
from subsalt.run.migrate import MigrationRequest, RunResult, write_report
from subsalt.run.opening import open_run
from subsalt.run.shared import check_shared, inputs_of
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.job.job import Job


def migrate_shots_job(job: Job, request: MigrationRequest) -> RunResult:
    """Migrate the shots of a job by reverse time migration."""
    from subsalt.job.checking import check_job

    clock, everybody, folder, say = Phases(), world(), request.run_dir, request.say
    with clock("check"):
        keep_place(job, folder, everybody)
        findings = raise_on_errors(check_job(job).findings, request.strict)
    with clock("model input"):
        model = job.open_model()
    with clock("survey"), everybody.together():
        survey = survey_of(job, model)
    with clock("setup"):
        options = job.propagation_options
        threads = ranks.threads_for(everybody, options.threads)
        device = devices.prepare(everybody, options.device, threads)
        setup = migration_setup(job, model, survey)
        plan = plan_ranks(job, setup, survey.shots, everybody, folder)
        with everybody.together():
            check_formats(job, model.grid, everybody, survey.frame)
    with clock("provenance"):
        inputs = inputs_of(job, everybody)
        run_id = job.run_id(inputs)
        numerics = numerics_of(
            device.describe(), options, plan.choice.scheme.strategy if plan.choice else "store"
        )
        by = kernels.label(numerics)
        if device.OWN_MEMORY:
            say(f"computing on {by}")
    with ExitStack() as stack:
        # for programs: around the command the watch began before the job was checked
        stack.enter_context(watch(everybody, job.parallel.patience))
        ledger, live, facts, images = None, None, {}, folder / "images"
        with clock("ledger"):
            with everybody.together():
                if everybody.is_root:

                    def begin(ledger: Ledger) -> None:
                        begin_run(
                            ledger,
                            job,
                            run_id,
                            inputs,
                            numerics,
                            accept_changed_inputs=request.going_on.accept_changed_inputs,
                            place=survey.frame,
                            unserved=partial(unserved, setup, folder, ledger),
                        )

                    ledger = open_run(stack, folder, begin, request.recompute, say)
                    ledger.plan([s.id for s in survey.shots])
                    look_back(ledger, request.going_on)
                    live = stack.enter_context(Live(folder, ledger.lock.lease, clock, request.going_on.limit))
                    publish_text(folder / "job.resolved.toml", job.resolved_toml())
                    make_folder(images)
                    facts = run_facts(
                        job, setup, run_id, inputs, findings, plan.need.arrays, numerics, survey
                    )
                    facts["plan"] = plan.to_dict()
                    write_facts(folder, facts | {"state": "running"})
            check_shared(folder, everybody)
            hashes = dict(everybody.bcast(list(ledger.hashes().items()) if ledger else None))
            reuse = Reuse.of_run(setup, folder, ledger, everybody)
            done = {shot for shot in hashes if not reuse.missing(shot)}
            if ledger is not None:
                ledger.keep(set(reuse.names))
                ledger.again(set(reuse.names) - done)
            left = shots_left(survey, ledger, everybody)
            with everybody.together():
                to_do = [s for s in left if not reuse.source_of(s.id)]
                predicted = of_shots(job, plan, to_do, folder, is_root=everybody.is_root)
                facts |= {"predicted": predicted} if everybody.is_root else {}
        if text := reuse.said([s.id for s in survey.shots], done):
            say(text)
        with clock("setup"):
            parts = ranks.form(everybody, plan.group_size, plan.largest, max(1, len(left)))
        crash = stack.enter_context(CrashNote(folder, everybody.rank))
        fields_id = everybody.bcast(wavefield_id(job, inputs, numerics))
        strategies = stack.enter_context(
            Strategies.of_run(setup, plan, parts.group, job.checkpoint_options, folder, fields_id)
        )
        if ledger is not None:
            ledger.scratch = places(strategies.scratch.directories, folder)
        if live is not None:
            live.facts["by"] = by
            live.facts["scratch"] = [str(d.resolve()) for d in strategies.scratch.directories]
        with clock("ledger"), everybody.together():
            # all ranks: directories may be of one host alone
            strategies.scratch.remove_strays(restart=bool(job.checkpoint_options.restart_every))
        runner = ShotRunner(
            setup, survey, images, parts, clock, job.parallel.io, crash, reuse, strategies, by
        )
        before, idle = TRACES.now(), gpu_work.counted(device)
        migrate_shots(runner, ledger, left, request.progress if everybody.is_root else None, live)
        runner.give_back()
        everybody.agree(live.unfinished(len(shots_to_do(ledger))) if live and ledger else None)
        with clock("image sum"):
            planes = sum_image(setup, survey, ledger, images, everybody)
        written = write_outputs(job, setup, survey, folder, run_id, planes, clock, everybody)
        with clock("facts"):
            point_steps, whole = everybody.sum(runner.point_steps), everybody.sum(runner.grid_point_steps)
            done_there = gpu_work.since(device, idle)
            spent = over_ranks(everybody, clock.table(), TRACES.now() - before, runner.halo, done_there)
            parallel = parts.facts()
            parts.free()
            rows = everybody.bcast(ledger.rows() if ledger else None)
            failed = [r["id"] for r in rows if r["state"] == "quarantined"]
            peak = spent["peak_memory_bytes"]["max"]
            with everybody.together():
                if everybody.is_root:
                    finished = [r["id"] for r in rows if r["state"] == "done"]
                    told = told_of_shots(folder, finished)
                    findings += findings_of(told)
                    facts |= {
                        "checkpoint": facts_of(plan, told),
                        "computed_by": computed_by(folder, finished),
                        "findings": [vars(f) for f in findings],
                        "wavefields": facts_of_wavefields(ledger.wavefields()) if ledger else {},
                        "point_steps": point_steps,
                        "grid_point_steps": whole,
                        "parallel": parallel
                        | {"threads": kernels.threads_to_use(threads), "io": job.parallel.io},
                    }
                    facts |= ending_facts(folder, rows, written, spent, clock.table())
                    write_facts(folder, facts)
    return RunResult(
        folder,
        written.image,
        written.sha256,
        clock.table(),
        point_steps,
        peak,
        [r["id"] for r in rows if r["state"] == "done"],
        failed,
        write_report(folder, clock),
        written.files,
        findings,
        predicted=facts.get("predicted", {}),
        grid_point_steps=whole,
    )
