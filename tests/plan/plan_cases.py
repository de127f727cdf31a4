"""A small survey in 3-D whose needs are planned, for the tests of the plan."""

import numpy as np

import subsalt as ss
from subsalt.imaging.setup import MigrationSetup
from subsalt.options import ImagingOptions, PropagationOptions
from subsalt.plan import World
from subsalt.plan.need import Needs

SHAPE = (161, 61, 51)


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
