"""A small survey in 3-D whose needs are planned, for the tests of the plan."""

import numpy as np

import subsalt as ss
from subsalt.io.segy.writing import write_survey
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.plan import World, program
from subsalt.propagation.options import ImagingOptions, PropagationOptions

SHAPE = (161, 61, 51)

#: of a made-up machine
CORES = 4


def survey(shots=12, receivers=40):
    src = [[x, 300.0, 20.0] for x in np.linspace(400.0, 1200.0, shots)]
    rcv = [[x, 300.0, 20.0] for x in np.linspace(20.0, 1580.0, receivers)]
    return ss.Survey.from_arrays(src, rcv, nt=250, dt=0.004)


def setup(medium="vti", aperture=None, **options):
    model = ss.EarthModel(ss.Grid(SHAPE, (10.0,) * 3), 2000.0, 0.1, 0.05, 0.3, 0.2).as_medium(medium)
    return MigrationSetup.build(
        model,
        ss.ricker(20.0, 0.001),
        survey().time,
        PropagationOptions(**options),
        ImagingOptions(aperture=aperture),
    )


def needs(ranks=8, **options):
    return Needs(setup(**options), survey().shots, ranks)


def world(ranks, memory, given=True):
    return World(ranks, int(memory), 1, ranks, given)


def program_row(method):
    """Return a row of the section `programs` of a made-up machine."""
    return program.kind_of(method) | {"bytes": 123_000_000, "date": "2026-11-22T10:00:00Z"}


def shot_row(points, **more):
    """Return a row of the section `shots` of a made-up machine."""
    row = {
        "medium": "vti",
        "dim": 2,
        "order": 8,
        "boundary": "pml",
        "layer_cells": 12,
        "free_surface": False,
        "model_storage": "f32",
        "threads": CORES,
        "points": points,
        "step_points_per_s": 1e6,
        "snapshot_points_per_s": 4e8,
        "product_points_per_s": 4e8,
        "injection_seconds": 1e-7,
        "copy_bytes_per_s": 4e9,
        "touch_bytes_per_s": 2e9,
        "setup_points_per_s": 1e7,
        "start_seconds": 0.5,
        "date": "2026-11-22T10:00:00Z",
        "version": "0.5.0",
    }
    return row | more


#: every step of `[[signal]]`
STEPS = """\
signal = [
  { step = "edit", where = "rms > 20*median" },
  { step = "designature", signature = "wavelet.txt" },
  { step = "bandpass", corners = [2, 4, 20, 30] },
  { step = "mute", velocity = 1500, delay = 0.1 },
  { step = "gain", kind = "power", power = 0.5 },
  { step = "to2d", velocity = 2000 },
  { step = "shift", time = "4 ms" },
  { step = "resample", dt = "5 ms" },
]

"""
WIDE = """\
[data]
files = ["shots.sgy"]
line = "x"

[model]
vp = 2000

[grid]
spacing = 20
depth = 1000

[source]
wavelet = "file"
file = "wavelet.txt"

[propagation]
grid = "model"

[output]
pictures = false
"""


def wide_job(folder, traces=3000):
    """Write a job with every step on traces, of two shots with so many traces that these take most; return its file."""
    x = np.linspace(0.0, 3000.0, traces)
    src = np.array([[1000.0, 20.0], [2000.0, 20.0]])
    time = 0.004 * np.arange(501)
    far = np.hypot(x - src[:, :1], 200.0)[:, :, None] / 2000.0
    wave = ss.ricker(10.0, 0.004)
    data = np.interp(time - far, wave.times(), wave.samples, 0.0, 0.0).astype(np.float32)
    rcv = np.stack([x, np.full(traces, 20.0)], axis=1)
    recorded = ss.Survey.from_arrays(src, rcv, nt=len(time), dt=0.004, data=data)
    write_survey(folder / "shots.sgy", recorded)
    rows = zip(wave.times(), wave.samples, strict=True)
    (folder / "wavelet.txt").write_text("".join(f"{t:.6f} {a:.9e}\n" for t, a in rows))
    job = folder / "job.toml"
    job.write_text(STEPS + WIDE)
    return job
