"""An MPI without ranks or clock: it says what it has, and makes up times. For the tests of the tuner."""

import dataclasses
from types import SimpleNamespace

import numpy as np

from subsalt.errors import SubsaltError
from subsalt_lab.collectives.choice import DEFAULT, Algorithm
from subsalt_lab.collectives.plan import StartAnswer
from subsalt_lab.collectives.sweep import AlgorithmSamples

SIZES = (8, 32, 128, 512, 2048, 8192, 32768, 131072)
NAMES = ("nb", "ring", "tree", "binomial", "bruck", "recexch")
MPI = SimpleNamespace(family="mpich", name="MPICH 5.0.2", launcher=SimpleNamespace(name="mpiexec"))


def model(nbytes):
    """Return the time of a call without noise, s."""
    return 2e-6 + nbytes / 1e10


def noise(kind, draw, candidates, rounds):
    """Return factors on the times of one start, (candidates, rounds)."""
    shape = (candidates, rounds)
    if kind == "normal":
        return np.exp(0.05 * draw.standard_normal(shape))
    if kind == "heavy":  # now and then something else runs: ten to a thousand times as long
        hit = draw.random(shape) < 0.15
        return np.exp(0.05 * draw.standard_normal(shape)) * np.where(hit, 1 + draw.pareto(0.8, shape), 1.0)
    if kind == "drift":  # the machine becomes slower and faster, the same for all that runs in a round
        walk = np.cumsum(0.2 * draw.standard_normal(rounds))
        return np.exp(walk)[None] * np.exp(0.05 * draw.standard_normal(shape))
    if kind == "starts":  # every start gives each algorithm other pages: all of its rounds share that
        return np.exp(0.1 * draw.standard_normal((candidates, 1)) + 0.02 * draw.standard_normal(shape))
    raise ValueError(kind)


def samples(seed, kind, *, faster=None, starts=5, rounds=15, collectives=("allreduce", "bcast"), sizes=SIZES):
    """Return samples of all places; ``faster(collective, nbytes, name)`` is a planted speed-up."""
    draw = np.random.default_rng(seed)
    out = []
    for collective in collectives:
        algorithms = [Algorithm(collective, DEFAULT, 0)]
        algorithms += [Algorithm(collective, n, k + 1, {"X": n}) for k, n in enumerate(NAMES)]
        for nbytes in sizes:
            factors = [noise(kind, draw, len(algorithms), rounds) for _ in range(starts)]
            for k, a in enumerate(algorithms):
                time = model(nbytes) / (faster(collective, nbytes, a.name) if faster else 1.0)
                lines = tuple(tuple(float(v) for v in time * f[k]) for f in factors)
                out.append(AlgorithmSamples(collective, 2, nbytes, a, lines))
    return out


def variable(name, values, about=""):
    """Return a control variable as a worker tells it."""
    return {"name": name, "about": about, "values": values, "value": 0}


class Machine:
    """Starts nothing: gives what a start of the worker would have said.

    Parameters
    ----------
    faster : callable
        ``faster(collective, nbytes, name)``: planted speed-up.
    ends, wrong : callable
        ``(collective, nbytes, name)``: whether that ends the program, or gives a wrong answer.
    late : tuple
        What gives a wrong answer only when it is measured.
    stop_at : int
        Number of the start at which the user presses Ctrl-C.
    """

    def __init__(self, faster=None, ends=None, wrong=None, late=(), stop_at=None, variables=None, cores=64):
        never = lambda *place: False  # noqa: E731
        self.faster = faster or (lambda *place: 1.0)
        self.ends, self.wrong, self.late, self.stop_at = ends or never, wrong or never, late, stop_at
        self.cores = cores
        self.draw = np.random.default_rng(1)
        self.starts = []
        names = {"auto": 0} | {n: k + 1 for k, n in enumerate(NAMES)}
        self.variables = variables
        if variables is None:
            self.variables = [
                variable(f"MPIR_CVAR_{c}_INTRA_ALGORITHM", names) for c in ("ALLREDUCE", "BCAST", "BARRIER")
            ]

    def __call__(self, ranks, what, variables):
        if self.stop_at is not None and len(self.starts) == self.stop_at:
            raise KeyboardInterrupt
        self.starts.append((ranks, what, dict(variables)))
        answer = StartAnswer(ranks, ("a",) * ranks, {"a": self.cores}, floor=1e-7)
        if what.what == "list":
            return dataclasses.replace(answer, variables=self.variables)
        places = [
            (i, k, (what.cells[i].collective, what.cells[i].nbytes, what.cells[i].algorithms[k].name))
            for i, k in what.work()
        ]
        if what.what == "probe":
            for number, (_, _, place) in enumerate(places):
                if self.ends(*place):
                    with open(what.log, "w") as out:
                        out.write(str(number))
                    raise SubsaltError("the start ended with exit code 1: Assertion failed in it", "", "E781")
            return dataclasses.replace(answer, wrong=[(i, k) for i, k, place in places if self.wrong(*place)])
        seconds = {}
        for i, k, (collective, nbytes, name) in places:
            factors = np.exp(0.02 * self.draw.standard_normal(what.rounds))
            seconds[f"{i},{k}"] = list(model(nbytes) / self.faster(collective, nbytes, name) * factors)
        wrong = [(i, k) for i, k, place in places if place in self.late]
        return dataclasses.replace(answer, seconds=seconds, wrong=wrong)
