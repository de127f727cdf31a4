"""Wavefields of finished runs put into their scratch, as a migration with ``keep`` leaves them."""

from __future__ import annotations

import numpy as np

from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.kernels.work import Snapshots
from subsalt.methods.rtm.engine import propagator_of, receiver_samples
from subsalt.methods.rtm.job_setup import migration_setup, survey_of
from subsalt.methods.rtm.wavefields import places, records_of
from subsalt.run.identity import wavefield_id
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import Wavefield


def keep_wavefields(job, run, names=("source", "receiver"), shots=None):
    """Keep wavefields of the shots of a job in its run directory."""
    model = job.open_propagation_model()
    survey = survey_of(job, model)
    setup = migration_setup(job, model, survey)
    scratch = Scratch(wavefield_id(job, job.inputs(), {"class": "fma"}), [run / "snapshots"])
    with Ledger(run) as ledger:
        for shot in survey.shots:
            if shots is None or shot.id in shots:
                for name in names:
                    _keep(setup, survey, shot, scratch, name)
                records = [
                    w | {"folders": places(scratch.directories, run)}
                    for w in records_of(shot.id, scratch.directories)
                ]
                ledger.keep_wavefields(shot.id, [Wavefield.of(shot.id, w) for w in records])
    scratch.close()


def _keep(setup, survey, shot, scratch, name):
    prop = propagator_of(setup, shot)
    steps, k = setup.axis.nt - 1, setup.image_step
    numbers = range(1, steps // k + 1)
    if name == "source":
        injected, times = prop.source(shot.src[None], setup.signature[None]), {i: i * k for i in numbers}
    else:
        samples = receiver_samples(setup, shot, survey.traces(shot))
        injected, times = prop.source(shot.rcv, samples), {i: steps - i * k for i in numbers}
    fields = {i: np.zeros(prop.interior.shape, np.float32) for i in numbers}
    copies = {n: fields[i] for i, n in times.items() if n > 0}
    prop.advance(prop.new_state(), steps, sources=[injected], snapshots=Snapshots(prop.interior, copies))
    meta = {
        "shape": list(prop.interior.shape),
        "box": [list(prop.image_box.lo), list(prop.image_box.hi)],
        "dt": setup.axis.dt,
        "image_step": k,
        "samples": len(numbers),
    }
    store = scratch.open(name, shot.id, prop.interior.size, 3, meta=meta, keep=True, records=len(numbers))
    for i, field in fields.items():
        buffer = store.room()
        buffer[:] = field.ravel()
        store.put(i, buffer)
    store.close(remove=False)
