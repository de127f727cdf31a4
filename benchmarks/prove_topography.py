"""Does a wave grow below any topography that is accepted, whatever the velocities?

Random surfaces (level ones 1e-6 to 0.5 cells above nodes, slopes up to 1.2, crests and valleys with radii of curvature
from half a cell on, broken lines) over random blocks of 500 to 6000 m/s. Two questions:

- the operator of small grids: is it symmetric, are its eigenvalues below zero and within the bound of the time step?
- long runs: noise of all wavelengths comes from a source in the first steps; then a closed box keeps its energy, and
  below an absorbing layer the largest sample falls from quarter to quarter.

    python benchmarks/prove_topography.py [--surfaces 200] [--steps 20000] [--json FILE]

Ends with an error if one of them does not hold.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass, replace

import numpy as np
from facts import machine

from subsalt import EarthModel, Grid, PropagationOptions, Topography
from subsalt.kernels import cpu
from subsalt.propagation.propagator import Propagator
from subsalt.propagation.topography import STEEPEST

H = 10.0
#: the kinds of surfaces, in turn
KINDS = ("level", "slope", "crest", "valley", "waves", "broken")
#: cells of an absorbing layer
LAYER = 10
#: samples of noise that come from the source
NOISE = 40
#: part of its energy that a closed box may gain or lose: every step rounds u_next to 6e-8 of the largest of its terms,
#: and u^2 - u_next u_before is down to (omega dt)^2, 1e-3, of u^2; over 20,000 steps errors add like their root
ENERGY = 6e-8 * math.sqrt(20_000) / 1e-3


@dataclass(frozen=True)
class Case:
    """A surface, by its kind and numbers, over a grid with blocks of velocities."""

    seed: int
    kind: str
    shape: tuple[int, ...]
    order: int = 8
    #: absorbing layer, or a closed box
    layer: bool = False

    def surface(self) -> Topography:
        """Return the surface."""
        rng = np.random.default_rng([self.seed, 1])
        return Topography(surface_of(self.kind, rng, self.shape, LAYER if self.layer else 0))

    def blocks(self) -> EarthModel:
        """Return blocks of 1 to 12 cells with velocities of their own."""
        rng = np.random.default_rng([self.seed, 2])
        edges = [np.cumsum(rng.integers(1, 12, n)) for n in self.shape]
        where = np.ix_(
            *(np.searchsorted(e, np.arange(n), "right") for e, n in zip(edges, self.shape, strict=True))
        )
        v = rng.uniform(500.0, 6000.0, tuple(n + 1 for n in self.shape))[where]
        return EarthModel(Grid(self.shape, (H,) * len(self.shape)), v.astype(np.float32))

    def propagator(self) -> Propagator:
        """Return the propagator with the longest time step that is accepted."""
        boundary = ("pml", "damping")[self.seed // 2 % 2] if self.layer else "none"
        options = PropagationOptions(
            topography=self.surface(),
            boundary=boundary,
            layer=LAYER if self.layer else None,
            order=self.order,
            device="cpu",
        )
        model = self.blocks()
        return Propagator(model, options, (1 - options.dt_reserve) * model.stable_dt(options.weights))


def surface_of(kind, rng, shape, beyond):
    """Return ``depth(points)``, m, of a random surface: as deep as ghosts and images need, slopes up to 1.2.

    `beyond`: cells on every side of the grid over which it goes on.
    """
    room, farthest = 9 * H, 0.5 * H * (max(shape[:-1]) + 2 * beyond) * math.sqrt(len(shape) - 1)
    off = 10.0 ** rng.uniform(-6, math.log10(0.5))
    if kind == "level":
        at_nodes = room + H * rng.integers(0, 4)
        return lambda at: np.full(len(at), at_nodes - off * H)
    azimuth = 0.0 if len(shape) == 2 else rng.uniform(0, 2 * np.pi)
    along = np.array([math.cos(azimuth), math.sin(azimuth)])
    slope, centre = rng.uniform(0.05, STEEPEST), 0.5 * H * (np.array([*shape[:-1], 1])[:2] - 1)

    def x(at):
        return (at - centre) @ along

    # of what lies above the middle of the surface, as high as the grid allows
    low = room + off * H
    half = 0.5 * (H * (shape[-1] - 6) - low)
    if kind == "slope":
        tilt = min(slope, half / farthest)
        return lambda at: low + half + tilt * x(at)
    # z = a sin(x / n): the steepest slope is a / n, the least radius of curvature n^2 / a
    radius = H * 10.0 ** rng.uniform(math.log10(0.5), 1.0)
    n = radius * slope
    a, phase = n * slope, rng.uniform(0, 2 * np.pi)
    if a > half:
        n, a = n * half / a, half
    if kind == "waves":
        return lambda at: low + half + a * np.sin(x(at) / n + phase)
    if kind in ("crest", "valley"):
        # hyperbolas: their radius of curvature is that of the top, their slope that of the sides
        side = min(slope, 2 * half / farthest)
        top, sign = radius * side**2, 1.0 if kind == "crest" else -1.0
        start = low if kind == "crest" else low + 2 * half
        shift = rng.uniform(-2, 2) * H
        return lambda at: start + sign * (np.sqrt(top**2 + (side * (x(at) - shift)) ** 2) - top)
    # broken lines that turn every half to three cells
    knots = np.cumsum(rng.uniform(0.5, 3.0, 4 * max(shape))) * H
    turns = np.cumsum(rng.uniform(-slope, slope, len(knots) - 1) * np.diff(knots))
    z = np.concatenate([[0.0], turns])
    line = np.clip(z - z[len(z) // 3], -half, half)
    return lambda at: low + half + np.interp(x(at) + knots[len(z) // 3], knots, line)


def quarters(prop, steps, seed):
    """Return the largest sample of every quarter of a run that begins with noise, and the energy after each."""
    shape = prop.layout.shape3
    grid = prop.comp_grid
    surface = prop.options.topography
    rng = np.random.default_rng([seed, 3])
    x = grid.origin3[0] + grid.spacing3[0] * np.array([0.35, 0.6, 0.75]) * (shape[0] - 1)
    y = np.full(3, grid.origin3[1] + 0.5 * grid.spacing3[1] * (shape[1] - 1))
    z = surface.depth(np.column_stack([x, y])) + np.array([1.2, 0.6, 3.0]) * H
    # as deep as their supports fit in
    places = np.column_stack([x, y, np.minimum(z, grid.origin3[2] + H * (shape[2] - 6))])
    reader = prop.source(places[:1], rng.standard_normal((1, NOISE)))
    recorder = prop.recorder(places, steps + 1)
    state, energy = prop.new_state(), []
    m = np.asarray(prop.layout.view(prop.problem.param("m")), np.float64)
    inside = m > 0
    for _ in range(4):
        prop.advance(state, steps // 4 - 1, sources=[reader], recorders=[recorder])
        before = level(prop, state.prev)
        prop.advance(state, 1, sources=[reader], recorders=[recorder])
        now, after = level(prop, state.prev), level(prop, state.curr)
        energy.append(float(((now**2 - after * before)[inside] / m[inside]).sum()))
    data = np.abs(np.asarray(prop.recorded(recorder)[1]))
    return [float(part.max()) for part in np.array_split(data[:, 1:], 4, axis=1)], energy


def level(prop, fields):
    """Return a copy of a time level."""
    return np.array(prop.layout.view(fields[0]), np.float64)


def operator_facts(case):
    """Return how far the operator of a grid is from its transpose, and its eigenvalues over those of the stencil."""
    k, bound = operator_of(case)
    largest = np.abs(k).max()
    values = np.linalg.eigvalsh(0.5 * (k + k.T)) / bound
    return {
        "asymmetry": float(np.abs(k - k.T).max() / largest),
        "fastest": float(-values[0]),
        "slowest": float(-values[-1]),
    }


def operator_of(case):
    """Return the operator of a step on the nodes that carry the field, found column by column, and the stencil's bound.

    In double precision and in Python, of unit m: a step from u, and nothing before, makes 2 u + K u.
    """
    options = PropagationOptions(
        topography=case.surface(), boundary="none", order=case.order, device="reference", dtype="float64"
    )
    grid = Grid(case.shape, (H,) * len(case.shape))
    model = EarthModel(grid, np.full(case.shape, 1000.0))
    prop = Propagator(model, options, 1e-3)
    m = prop.layout.view(prop.problem.param("m"))
    at = np.argwhere(m > 0)
    k = np.zeros((len(at), len(at)))
    mirror = prop.problem.mirror
    for column, place in enumerate(at):
        state = prop.new_state()
        prop.layout.view(state.curr[0])[tuple(place)] = 1.0
        flat = state.curr[0].reshape(-1)
        flat[mirror.above] = mirror.odd @ flat
        prop.advance(state, 1, check_last=False)
        k[:, column] = prop.layout.view(state.curr[0])[tuple(at.T)]
        k[column, column] -= 2.0
    bound = float(m.max()) * options.weights.nyquist() * len(case.shape) / H**2
    return k, bound


def small(case):
    """Return a case whose operator has at most some hundred rows."""
    return replace(case, shape=(20, 36) if len(case.shape) == 2 else (9, 8, 28), layer=False)


def cases(count):
    """Return so many cases: all kinds, closed and absorbing, three orders, every twentieth in 3-D."""
    out = []
    for i in range(count):
        kind = KINDS[(i + i // 6) % len(KINDS)]
        tall = kind in ("slope", "crest", "valley")
        shape = (40, 90) if tall else (60, 44)
        if i % 20 == 9:
            shape = (18, 16, 56) if tall else (18, 16, 34)
        # a layer makes of a small grid in 3-D one of ten times as many points
        layer = i % 2 == 1 and (len(shape) == 2 or i % 100 == 9)
        out.append(Case(i, kind, shape, (8, 4, 12)[i // 6 % 3], layer=layer))
    return out


def judged(case, steps):
    """Return what a long run shows, and what is wrong with it."""
    largest, energy = quarters(case.propagator(), steps, case.seed)
    by_name = {
        "seed": case.seed,
        "kind": case.kind,
        "order": case.order,
        "ndim": len(case.shape),
        "layer": case.layer,
        "largest": [float(f"{v / largest[0]:.4g}") for v in largest],
    }
    by_name["energy"] = [energy[i] / energy[0] - 1 for i in range(1, 4)]
    wrong = []
    if not np.isfinite(largest).all():
        wrong.append("not finite")
    if not max(by_name["energy"]) < ENERGY:
        wrong.append("energy grows")
    if not case.layer and not min(by_name["energy"]) > -ENERGY:
        wrong.append("energy is not kept")
    return by_name | {"wrong": wrong}


def main() -> int:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--surfaces", type=int, default=200)
    parser.add_argument("--operators", type=int, default=24)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--json", default="docs/performance/prove-topography.json")
    options = parser.parse_args()
    cpu.set_threads(1)
    out: dict = {"question": "does a wave grow below topography", "command": "make prove-topography"}
    out |= {"machine": machine(1), "steps": options.steps, "operators": [], "runs": []}
    for case in cases(options.operators):
        by_name = {"seed": case.seed, "kind": case.kind, "order": case.order, "ndim": len(case.shape)}
        by_name |= operator_facts(small(case))
        by_name["wrong"] = operator_faults(by_name)
        out["operators"].append(by_name)
        print(by_name, flush=True)
    for case in cases(options.surfaces):
        out["runs"].append(judged(case, options.steps))
        print(out["runs"][-1], flush=True)
    bad = [row for row in out["operators"] + out["runs"] if row["wrong"]]
    out["wrong"] = len(bad)
    with open(options.json, "w") as file:
        json.dump(out, file, indent=1)
        file.write("\n")
    print(
        f"{len(out['operators'])} operators, {len(out['runs'])} runs of {options.steps} steps; {len(bad)} are wrong"
    )
    return 1 if bad else 0


def operator_faults(counts):
    """Return what is wrong with an operator: it is symmetric to rounding, and no wave is faster than the stencil's."""
    wrong = []
    if not counts["asymmetry"] < 1e-13:
        wrong.append("not symmetric")
    if not 0 < counts["slowest"] <= counts["fastest"] < 1:
        wrong.append("eigenvalues beyond the bounds")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
