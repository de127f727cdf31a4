"""A time migration in a run directory: on any number of ranks, stoppable and resumable, always the same bytes."""

from __future__ import annotations

import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import CorruptionError, raise_on_errors
from subsalt.io.publish import make_folder, publish_text
from subsalt.io.traffic import TRACES
from subsalt.methods.kirchhoff.assemble import Assembly, block_path
from subsalt.methods.kirchhoff.blocks import BlockRunner
from subsalt.methods.kirchhoff.cutting import Block, recut
from subsalt.methods.kirchhoff.engine import bytes_of
from subsalt.methods.kirchhoff.facts import beginning_facts, ending_facts
from subsalt.methods.kirchhoff.outputs import TimeOutputs, draw, write_outputs
from subsalt.methods.kirchhoff.partial import SumsFile
from subsalt.methods.kirchhoff.prediction import of_blocks
from subsalt.methods.kirchhoff.restart import RestartPoints
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.methods.kirchhoff.work import work_of
from subsalt.parallel.comm import Comm, world
from subsalt.parallel.watchdog import watch
from subsalt.plan import World
from subsalt.plan import gpu as gpus
from subsalt.propagation import devices
from subsalt.run import gpu_work
from subsalt.run import groups as ranks
from subsalt.run.crashes import CrashNote
from subsalt.run.dealing import deal_units
from subsalt.run.facts import computed_by, over_ranks, write_facts
from subsalt.run.going_on import GoingOn, look_back, shots_to_do
from subsalt.run.identity import begin_run
from subsalt.run.ledger import Ledger
from subsalt.run.live import Live
from subsalt.run.migrate import MigrationRequest, RunResult, write_report
from subsalt.run.opening import open_run
from subsalt.run.shared import check_shared, inputs_of
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.job import KirchhoffJob
    from subsalt.methods.kirchhoff.memory import Layout

#: setting of the ledger that holds the blocks
BLOCKS = "blocks"


def migrate_time_job(job: KirchhoffJob, request: MigrationRequest) -> RunResult:
    """Migrate the traces of a job in time."""
    from subsalt.job.checking import check_job

    clock, everybody, folder, say = Phases(), world(), request.run_dir, request.say
    with clock("check"):
        findings = raise_on_errors(check_job(job).findings, request.strict)
    with clock("trace headers"):
        setup = job.setup(everybody)
    with clock("setup"):
        asked = None if job.parallel.threads == "auto" else int(job.parallel.threads)
        shared = ranks.threads_for(everybody, asked)
        device = devices.prepare(everybody, job.parallel.device, shared)
        with everybody.together():
            threads = kernels.threads_to_use(shared)
        with everybody.together():
            gpu = gpus.of_run(job.parallel.device)
        sharing = World.of(everybody, threads, gpu)
        layout = layout_for(job, setup, everybody, sharing)
    with clock("provenance"):
        inputs = inputs_of(job, everybody)
        run_id = job.run_id(inputs)
        numerics = device.describe()
        by = kernels.label(numerics)
        if device.OWN_MEMORY:
            say(f"computing on {by}")
    with ExitStack() as stack:
        # for programs: around the command the watch began before the job was checked
        stack.enter_context(watch(everybody, job.parallel.patience))
        ledger, live, facts, images = None, None, {}, folder / "images"
        points = RestartPoints(folder, run_id)
        with clock("ledger"):
            with everybody.together():
                if everybody.is_root:

                    def begin(ledger: Ledger) -> None:
                        accept = request.going_on.accept_changed_inputs
                        begin_run(ledger, job, run_id, inputs, numerics, accept_changed_inputs=accept)

                    ledger = open_run(stack, folder, begin, request.recompute, say)
                    ledger.set("unit", "block")
                    live = Live(folder, ledger.lock.lease, clock, request.going_on.limit, unit="block")
                    live.given_back = (
                        "were stored as restart points" if job.kirchhoff.save_every else live.given_back
                    )
                    publish_text(folder / "job.resolved.toml", job.resolved_toml())
                    make_folder(images)
            check_shared(folder, everybody)
            blocks = blocks_of_run(ledger, setup, layout, points, images, request.going_on, everybody)
            with everybody.together():
                if ledger is not None and live is not None:
                    stack.enter_context(live)
                    facts = beginning_facts(job, setup, run_id, inputs, findings, layout, numerics)
                    to_do = set(shots_to_do(ledger))
                    facts["predicted"] = of_blocks(
                        job,
                        setup,
                        layout,
                        [b for b in blocks if b.id in to_do],
                        job.remember("work", lambda: work_of(setup)),
                        sharing,
                        folder,
                    )
                    write_facts(folder, facts | {"state": "running"})
            by_id = {b.id: b for b in blocks}
            left = [by_id[i] for i in everybody.bcast(shots_to_do(ledger) if ledger else None)]
        crash = stack.enter_context(CrashNote(folder, everybody.rank))
        parts = ranks.form(everybody, 1, 1, max(1, len(left)))
        runner = BlockRunner(
            setup,
            images,
            points,
            clock,
            threads,
            layout.trace_block,
            job.kirchhoff.save_every,
            crash,
            device.NAME,
            by,
        )
        if live is not None:
            live.facts["by"] = by
        before, idle = TRACES.now(), gpu_work.counted(device)
        deal_units(
            parts,
            runner.one,
            left,
            len(blocks),
            clock,
            ledger,
            request.progress if everybody.is_root else None,
            live,
            unit="block",
        )
        everybody.agree(live.unfinished(len(shots_to_do(ledger))) if live and ledger else None)
        hashes = {
            int(k): str(v) for k, v in everybody.bcast(list(ledger.hashes().items()) if ledger else None)
        }
        with clock("output"):
            written = _written(job, setup, folder, run_id, blocks, hashes, ledger, everybody)
        with clock("facts"):
            done_there = gpu_work.since(device, idle)
            spent = over_ranks(everybody, clock.table(), TRACES.now() - before, gpu=done_there)
            counted = everybody.allgather(vars(runner.counted))
            parallel = parts.facts() | {"threads": threads, "trace_block": layout.trace_block}
            parts.free()
            rows = everybody.bcast(ledger.rows() if ledger else None)
            totals = _totals(images, blocks, hashes, everybody)
            with everybody.together():
                if everybody.is_root:
                    finished = [r["id"] for r in rows if r["state"] == "done"]
                    facts |= {
                        "parallel": parallel,
                        "findings": [vars(f) for f in findings],
                        "computed_by": computed_by(folder, finished, "block"),
                    }
                    facts |= ending_facts(
                        folder, blocks, rows, written, spent, counted, totals, clock.table()
                    )
                    write_facts(folder, facts)
        with clock("pictures"), everybody.together():
            if everybody.is_root and job.output.pictures:
                written.files += draw(folder, setup)
        with everybody.together():
            if everybody.is_root:
                # now that the pictures have taken their time
                names = [str(f.relative_to(folder)) for f in written.files]
                write_facts(folder, facts | {"files": names, "phases": clock.table()})
                points.clear()
    files = [Path(f) for f in everybody.bcast([str(f) for f in written.files])]
    return RunResult(
        folder,
        written.image,
        written.sha256,
        clock.table(),
        0,
        spent["peak_memory_bytes"]["max"],
        [r["id"] for r in rows if r["state"] == "done"],
        [],
        write_report(folder, clock),
        files,
        findings,
        totals["contributions"],
        "block",
        facts.get("predicted", {}),
    )


def layout_for(job: KirchhoffJob, setup: KirchhoffSetup, everybody: Comm, found: World) -> Layout:
    """Return blocks and traces per block for these ranks, decided before anything is allocated. Collective.

    Raises
    ------
    MemoryPlanError
        When a rank has not the memory; with the smallest change that fits.
    """
    from subsalt.methods.kirchhoff.memory import layout_of

    k = job.kirchhoff
    with everybody.together():
        layout = layout_of(
            setup,
            found,
            traces_at_a_time=None if k.trace_block == "auto" else int(k.trace_block),
            memory=None if k.memory == "auto" else int(k.memory),
            work=job.remember("work", lambda: work_of(setup)),
            pictures=job.output.pictures,
        )
        if layout.error is not None:
            raise layout.error
    return layout


def blocks_of_run(
    ledger: Ledger | None,
    setup: KirchhoffSetup,
    layout: Layout,
    points: RestartPoints,
    images: Path,
    going_on: GoingOn,
    everybody: Comm,
) -> list[Block]:
    """Return the blocks of the run: those of the layout, or those of an earlier start, what is left of them cut anew.

    Finished blocks whose sums are damaged are planned again. Collective.
    """
    known = _known_blocks(ledger) if ledger is not None else None
    hashes = {int(k): str(v) for k, v in everybody.bcast(list(ledger.hashes().items()) if ledger else None)}
    good = intact(images, hashes, everybody)
    blocks: list[Block] = []
    with everybody.together():
        if ledger is not None:
            begun = [p.block for p in points.points()]
            if known is None:
                blocks = layout.blocks
            else:
                here = {b.id for b in known}
                sums = {b.id for b in known if any(p.contains(b) for p in begun)}
                blocks = recut(known, good & here, sums, everybody.size, partial(fits, setup, layout))
            ledger.set(BLOCKS, json.dumps([b.to_list() for b in blocks]))
            ledger.plan([b.id for b in blocks])
            ledger.keep(good)
            look_back(ledger, going_on)
            # every block has its own place in the image: none is left out, whatever befell earlier starts
            ledger.forgive()
            points.tidy([b for b in blocks if b.id not in good])
    return [Block.from_list(b) for b in everybody.bcast([b.to_list() for b in blocks])]


def fits(setup: KirchhoffSetup, layout: Layout, block: Block) -> bool:
    """Return whether a block of an earlier start takes no more than those that the layout has for these ranks."""
    held = [bytes_of(setup, b) for b in layout.blocks]
    return bytes_of(setup, block) <= max(
        [*held, layout.limit - sum(layout.arrays.values()) + max(held, default=0)]
    )


def _known_blocks(ledger: Ledger) -> list[Block] | None:
    """Return the blocks of an earlier start, None when there are none."""
    text = ledger.get(BLOCKS)
    return [Block.from_list(b) for b in json.loads(text)] if text else None


def intact(images: Path, hashes: dict[int, str], everybody: Comm) -> set[int]:
    """Return the finished blocks whose sums have their checksums; every rank looks at some. Collective."""
    good = []
    for block in list(hashes)[everybody.rank :: everybody.size]:
        try:
            with SumsFile(block_path(images, block), hashes[block]) as file:
                file.verify()
            good.append(block)
        except CorruptionError:
            continue
    return {block for some in everybody.allgather(good) for block in some}


def _written(
    job: KirchhoffJob,
    setup: KirchhoffSetup,
    folder: Path,
    run_id: str,
    blocks: list[Block],
    hashes: dict[int, str],
    ledger: Ledger | None,
    everybody: Comm,
) -> TimeOutputs:
    """Write the outputs; a block whose sums are damaged is planned again, and the run ends. Collective."""
    with Assembly(setup, folder / "images", blocks, hashes) as assembly:
        try:
            return write_outputs(job, setup, folder, run_id, assembly, everybody)
        except CorruptionError:
            good = intact(folder / "images", hashes, everybody)
            if ledger is not None:
                ledger.keep(good)
            raise


def _totals(images: Path, blocks: list[Block], hashes: dict[int, str], everybody: Comm) -> dict[str, Any]:
    """Return what all blocks together took, of all starts. Collective."""
    found = {"contributions": 0, "traces_summed": 0}
    for block in blocks[everybody.rank :: everybody.size]:
        with SumsFile(block_path(images, block.id), hashes[block.id]) as file:
            found["contributions"] += file.contributions
            found["traces_summed"] += file.traces
    return {name: everybody.sum(value) for name, value in found.items()}
