"""Small modelled surveys whose first breaks are known, from which tests make mistakes."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

import subsalt
from once import once
from subsalt.acquisition.survey import Survey
from subsalt.check import Context, SampledShot, load_rules, run_rules
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.propagation.options import PropagationOptions

F0, DT, NT = 10.0, 0.004, 300
SUBJECTS = ("moveout", "first_breaks", "polarity")


def wavelet(f0=F0, **more):
    """Return the wavelet of the surveys."""
    return subsalt.ricker(f0=f0, dt=0.002, **more)


def layers(water=150.0, top=1800.0, shape=(201, 81), **more):
    """Return a 2-D model: water to a depth, then sediments with reflectors."""
    grid = Grid(shape, (10.0, 10.0))
    z = grid.axis(-1)
    vp = np.where(z < water, 1500.0, top + 0.8 * (z - water))
    for depth, step in ((350, 400), (500, -300), (650, 600)):
        vp[z >= depth] += step
    return EarthModel(grid, np.broadcast_to(vp, grid.shape), **more)


def streamer(n=5, near=150.0, channels=48):
    """Return shots that move towards +x with receivers behind them."""
    src = [(1450.0 + 100.0 * i, 10.0) for i in range(n)]
    rcv = [[(x - near - 25.0 * c, 10.0) for c in range(channels)] for x, _ in src]
    return Survey.from_arrays(src, rcv, nt=NT, dt=DT)


def split(n=5, spacing=25.0):
    """Return shots between receivers that stand still, none in the middle of them."""
    src = [(310.0 + 300.0 * i, 10.0) for i in range(n)]
    rcv = [(50.0 + spacing * i, 10.0) for i in range(int(1900 / spacing))]
    return Survey.from_arrays(src, rcv, nt=NT, dt=DT)


def bottom_nodes(n=5):
    """Return shots at the surface over receivers on the sea floor."""
    src = [(250.0 + 350.0 * i, 10.0) for i in range(n)]
    return Survey.from_arrays(src, [(50.0 + 50.0 * i, 140.0) for i in range(38)], nt=NT, dt=DT)


def patch():
    """Return a 3-D survey of a patch of receivers, and its model."""
    grid = Grid((61, 41, 21), (20.0, 20.0, 20.0))
    vp = np.broadcast_to(1700.0 + 0.7 * grid.axis(-1), grid.shape)
    src = [(300.0 + 250.0 * i, 400.0, 20.0) for i in range(3)]
    rcv = [(100.0 + 40.0 * i, 200.0 + 100.0 * j, 20.0) for j in range(5) for i in range(26)]
    return Survey.from_arrays(src, rcv, nt=200, dt=DT), EarthModel(grid, vp)


def anisotropic(theta=None):
    """Return a medium whose horizontal velocity is 18 % above the vertical one."""
    more = {} if theta is None else {"theta": theta}
    return layers(water=0.0, epsilon=0.2, delta=0.05, **more)


LAYOUTS = {
    "streamer": lambda: (streamer(), layers(), {}),
    "streamer under a free surface": lambda: (streamer(), layers(), {"free_surface": True}),
    "deep water": lambda: (streamer(), layers(water=600.0), {"free_surface": True}),
    "land, split spread": lambda: (split(), layers(water=0.0), {}),
    "coarse receivers": lambda: (split(spacing=110.0), layers(water=0.0), {}),
    "bottom nodes": lambda: (bottom_nodes(), layers(), {}),
    "refractions": lambda: (streamer(), layers(water=40.0, top=2400.0), {}),
    "inversion": lambda: (split(), inversion(), {}),
    "VTI": lambda: (split(), anisotropic(), {}),
    "TTI": lambda: (split(), anisotropic(theta=0.6), {}),
    "3-D patch": lambda: (*patch(), {}),
}


def inversion():
    """Return a model with a fast layer at the top."""
    model = layers(water=0.0)
    vp = model.vp.copy()
    vp[:, :8] = 2800.0
    return EarthModel(model.grid, vp)


@cache
def modelled(name):
    """Return a survey with its traces, the model and the options, modelled once for all processes."""
    survey, model, options = LAYOUTS[name]()
    f0 = 8.0 if model.grid.ndim == 3 else F0
    made = once(f"breaks of {name}", lambda: subsalt.forward(model, survey, wavelet(f0), **options).survey)
    return made, model, options


def context(name="streamer", change=None, **parts):
    """Return the context of a modelled survey, its shots changed by `change` (number, shot), parts replaced."""
    survey, model, options = modelled(name)
    if change is not None:
        survey = altered(survey, change)
    given = {
        "model": model,
        "survey": survey,
        "wavelet": wavelet(8.0 if model.grid.ndim == 3 else F0),
        "propagation": PropagationOptions(**options),
    } | parts
    out = Context(**given)
    shots = out.survey.shots
    out.samples = [SampledShot(s, s.data) for s in (shots[0], shots[len(shots) // 2], shots[-1])]
    return out


def altered(survey, change):
    """Return a survey whose shots have other fields, from `change` (number, shot)."""
    shots = [dataclasses.replace(s, **change(i, s)) for i, s in enumerate(survey.shots)]
    return dataclasses.replace(survey, shots=shots)


def with_time(name, **fields):
    """Return a context whose time axis says something else."""
    survey = modelled(name)[0]
    return context(name, survey=dataclasses.replace(survey, time=dataclasses.replace(survey.time, **fields)))


def later(data, samples):
    """Return traces that begin some samples late."""
    out = np.zeros_like(data)
    out[:, samples:] = data[:, :-samples]
    return out


def corrected(shot, time, v=1800.0, stretch=1.5):
    """Return the traces of a shot corrected for normal moveout, its stretch muted."""
    t = time.values()
    out = np.zeros_like(shot.data)
    for row, x in enumerate(shot.offset):
        from_time = np.sqrt(t**2 + (x / v) ** 2)
        out[row] = np.interp(from_time, t, shot.data[row], right=0.0)
        out[row][from_time > stretch * np.maximum(t, 1e-9)] = 0.0
    return out


def two_branches(survey, late=0.12, v1=1500.0, v2=2600.0, crossing=600.0):
    """Return the change that makes traces of a direct wave, and of a head wave that overtakes it at `crossing`."""
    t = survey.time.values()

    def change(i, s):
        x = s.offset[:, None]
        head = crossing / v1 + (x - crossing) / v2
        out = np.zeros((len(s.rcv), len(t)))
        for at, size in ((x / v1, 1.0), (head, 0.4)):
            a = (np.pi * 12.0 * (t[None] - at - late)) ** 2
            out += size * np.where(at == x / v1, 1.0, x > 0.6 * crossing) * (1 - 2 * a) * np.exp(-a)
        return {"data": out.astype(np.float32)}

    return change


def findings(case, subjects=SUBJECTS):
    """Return what the rules of some subjects find that is not in order."""
    rules = [r for r in load_rules() if r.subject in subjects]
    return [f for f in run_rules(case, rules) if f.is_fault]
