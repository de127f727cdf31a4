"""How exact is a free surface inside the grid, and what does it cost?

Misfits (relative L2) of traces with 10 and 5 points per shortest wavelength against source and negative image source,
by slope, then by depth; below hills, against a grid four times as fine; between traces of exchanged source and
receiver. Then the time of a step with and without it, in turns.

    python benchmarks/topography.py [--rounds 10] [--threads 2]

Prints a table of each, last one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from facts import machine

from subsalt import EarthModel, Grid, PropagationOptions, Topography, analytic
from subsalt.acquisition.wavelet import ricker
from subsalt.kernels import cpu
from subsalt.propagation.propagator import Propagator

V, H = 2000.0, 10.0
#: hills: half their height, and their length over 2 pi, m
HILLS = ((20, 100), (20, 60), (20, 47), (15, 35), (10, 25), (10, 20), (8, 15.5), (6, 11), (4, 7.75))


def propagator(shape, h, surface, dt, points=None, layer=None):
    """Return the propagator of a constant medium."""
    grid = Grid(shape, (h,) * len(shape))
    options = PropagationOptions(topography=surface, free_surface=True, device="cpu", layer=layer)
    return Propagator(EarthModel(grid, np.full(shape, V, np.float32)), options, dt, points=points)


def traces(prop, source, receivers, samples):
    """Return what receivers record of a source."""
    recorder = prop.recorder(receivers, len(samples))
    reader = prop.source(source[None], samples[None])
    prop.advance(prop.new_state(), len(samples) - 1, sources=[reader], recorders=[recorder])
    return prop.recorded(recorder)[1]


def misfit(a, b):
    """Return |a - b| / |b| of the worst trace, %."""
    a, b = (np.asarray(x, np.float64) for x in (a, b))
    return round(100 * float((np.linalg.norm(a - b, axis=-1) / np.linalg.norm(b, axis=-1)).max()), 3)


def samples_of(points, dt, nt):
    """Return a Ricker wavelet whose shortest wavelength has so many points."""
    return ricker(V / (points * H) / 2.5, dt, nt).samples[:nt]


def slope_case(slope, points, under=35.0, depths=(15.0, 60.0, 150.0)):
    """Return the misfit with the image source below a plane."""
    dt, nt = 0.0005, 900
    surface = Topography(lambda at: 263.0 + slope * at[:, 0])
    source = np.array([300.0, 0.0, 263.0 + slope * 300.0 + under])
    x = np.array([650.0, 700.0, 600.0])
    receivers = np.column_stack([x, 0 * x, 263.0 + slope * x + depths])
    prop = propagator((100, 125), H, surface, dt, np.vstack([source, receivers]), 20)
    wave = samples_of(points, dt, nt)
    image = 2 * surface.foot(source[None], 0.5 * H)[0] - source
    direct, ghost = (
        analytic.isotropic_waveform((receivers - at)[:, [0, 2]], V, wave, dt, nt) for at in (source, image)
    )
    return misfit(traces(prop, source, receivers, wave), direct - ghost)


def hill_case(height, length):
    """Return radius of curvature, m, and the misfit below hills with a grid four times as fine."""

    def depth(x):
        return 180.0 + height * np.sin(np.asarray(x) / length)

    source, x = np.array([150.0, 0.0, depth(150.0) + 20.0]), np.array([450.0, 500.0, 550.0])
    receivers = np.column_stack([x, 0 * x, depth(x) + np.array([15.0, 15.0, 80.0])])
    calls = []
    for fine in (4, 1):
        h, dt = H / fine, 0.0006 / fine
        prop = propagator(
            (64 * fine, 50 * fine),
            h,
            Topography(lambda at: depth(at[:, 0])),
            dt,
            np.vstack([source, receivers]),
            20 * fine,
        )
        calls.append(traces(prop, source, receivers, samples_of(10, dt, 700 * fine))[:, ::fine])
    return length**2 / height, misfit(calls[1], calls[0])


def exchanged_case(slope, deep):
    """Return the misfit of exchanged source and receiver below a plane."""
    a, b = (np.array([x, 0.0, 170.0 + slope * x + deep]) for x in (150.0, 350.0))
    surface = Topography(lambda at: 170.0 + slope * at[:, 0])
    prop = propagator((60, 70), H, surface, 0.001, np.vstack([a, b]), 12)
    wave = samples_of(10, 0.001, 400)
    return misfit(traces(prop, a, b[None], wave), traces(prop, b, a[None], wave))


def step_case(shape, rounds):
    """Return seconds of a step without and with a surface inside the grid, best of some rounds, and bytes of it."""
    surface = Topography(lambda at: 200 + 40 * np.sin(at[:, 0] / 150) * np.cos(at[:, 1] / 170))
    props = [propagator(shape, H, s, 0.0015) for s in (None, surface)]
    states, n = [p.new_state() for p in props], 60 if len(shape) == 2 else 12
    rng, best = np.random.default_rng(0), [np.inf, np.inf]
    for prop, state in zip(props, states, strict=True):
        # everywhere, so that nothing is left out
        for level in (state.prev, state.curr):
            noise = rng.standard_normal(prop.layout.shape3).astype(np.float32)
            prop.layout.view(level[0])[...] = noise * (prop.layout.view(prop.problem.param("m")) > 0)
    for _ in range(rounds):
        for i, (prop, state) in enumerate(zip(props, states, strict=True)):
            began = time.perf_counter()
            prop.advance(state, n, check_last=False)
            best[i] = min(best[i], (time.perf_counter() - began) / n)
    mirror = props[1].problem.mirror
    assert mirror is not None
    return {"plain_s": best[0], "topography_s": best[1], "bytes": mirror.nbytes}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    cpu.set_threads(1)
    out: dict = {"machine": machine(options.threads)}
    out["slopes"] = {s: [slope_case(s, n) for n in (10, 5)] for s in (0.1, 0.3, 0.577, 0.8)}
    print("slope: misfit, %, at 10 and 5 points per shortest wavelength\n ", out["slopes"])
    out["depths"] = {d: slope_case(0.577, 10, d, (d, d, 100.0)) for d in (4.0, 7.0, 10.0, 20.0)}
    print("depth of source and receivers, m (cells of 10 m): misfit, %\n ", out["depths"])
    out["hills"] = [hill_case(a, n) for a, n in HILLS]
    print("radius of curvature, m: misfit, %\n ", [(round(r), m) for r, m in out["hills"]])
    out["exchanged"] = {s: [exchanged_case(s, d) for d in (30.0, 150.0)] for s in (0.1, 0.3, 0.577, 0.8)}
    print("slope: exchanged source and receiver, 3 and 15 cells below, %\n ", out["exchanged"])
    cpu.set_threads(options.threads)
    out["steps"] = {str(n): step_case(n, options.rounds) for n in ((1024, 488), (120, 120, 120))}
    for name, row in out["steps"].items():
        print(
            f"{name} and the layer: {1e3 * row['plain_s']:.3g} ms a step below a plane on the grid, "
            f"{1e3 * row['topography_s']:.3g} ms with topography, whose weights take {row['bytes'] / 1e6:.3g} MB"
        )
    print(json.dumps(out))


if __name__ == "__main__":
    main()
