"""Stand-ins for what snippets of the pages use: small files in the current folder, or names that the text explains.

A page names one in a comment above a block, ``<!-- snippet: setup run -->``. A setup returns the names that it defines.
"""

from pathlib import Path

import numpy as np

import subsalt
from subsalt.acquisition.survey import Shot
from subsalt.io.volumes import volume

GRID = subsalt.Grid((201, 101), (10.0, 10.0))


def model():
    """Write the velocity of a page that opens one, ``vp.rsf``, and define nodes to look at."""
    volume.write(Path("vp.rsf"), GRID, np.full(GRID.shape, 2000.0, np.float32))
    return {}


def tall_model():
    """Write a 3-D velocity and define indices of nodes."""
    grid = subsalt.Grid((130, 6, 8), (10.0, 10.0, 10.0))
    volume.write(Path("vp.rsf"), grid, np.full(grid.shape, 2000.0, np.float32))
    return {"index": np.array([[0, 0, 0], [129, 5, 7]])}


def job():
    """Write a job over ``line.sgy``, which the page has written."""
    model()
    Path("line.toml").write_text(
        'data = { files = "line.sgy" }\nmodel = { vp = "vp.rsf" }\nsource = { f0 = 15 }\n'
        "imaging = { aperture = 500 }\n",
        encoding="utf-8",
    )
    return {}


def treated_job():
    """Write a job with a step on traces, and its files."""
    shots = _shots(range(1, 4), 1000.0, 100.0)
    _write("survey", shots, GRID, 'signal = [{ step = "bandpass", corners = [4, 8, 25, 35] }]\n')
    return {}


def run():
    """Migrate a small survey that has a shot 118 in a model of 8 km by 4 km, and keep its wavefields."""
    grid = subsalt.Grid((161, 81), (50.0, 50.0))
    _write(
        "survey", _shots([117, 118], 4000.0, 500.0, f0=4.0), grid, 'checkpoint = { keep = "both" }\n', f0=4
    )
    subsalt.migrate_job(subsalt.Job.from_toml("survey.toml"), "survey.run")
    return {}


def prestack():
    """Define prestack traces over the locations of the page, and their positions."""
    offset, middle = (
        a.reshape(-1) for a in np.meshgrid([200.0, 600.0], np.arange(400) * 12.5, indexing="ij")
    )
    zero = np.zeros_like(middle)
    traces = np.zeros((len(middle), 1000), np.float32)
    traces[:, 400] = 1.0
    src, rcv = (np.stack([middle + sign * offset / 2, zero], axis=1) for sign in (-1, 1))
    return {"traces": traces, "src": src, "rcv": rcv}


def cdp_gathers():
    """Write CDP gathers without coordinates, ``cdp601to610.su``."""
    from kirchhoff_data import line_positions, make_survey

    offsets = np.arange(12) * 150.0 + 100.0
    src, rcv = line_positions(10, 25.0, offsets)
    traces = np.random.default_rng(1).standard_normal((len(src), 200)).astype(np.float32)
    cdp = np.repeat(np.arange(601, 611), len(offsets))
    make_survey("cdp601to610.su", src, rcv, traces, 0.004, order="given", coordinates=False, cdp=cdp)
    return {}


def propagator():
    """Define a propagator with its state, and write a recorded source, ``source.rsf``."""
    from subsalt.io.prestack.time_slices import write_slices
    from subsalt.propagation.propagator import Propagator

    earth = subsalt.EarthModel(subsalt.Grid((40, 30), (10.0, 10.0)), 2000.0)
    made = Propagator(earth, subsalt.PropagationOptions(layer=5), 0.0008)
    values = np.random.default_rng(1).standard_normal((20, 40)).astype(np.float32)
    write_slices("source.rsf", values, subsalt.TimeAxis(20, 0.0008), (40,), (10.0,), (0.0,))
    return {"propagator": made, "state": made.new_state()}


def _shots(ids, first, step, f0=15.0):
    """Return a modelled survey of a few shots with these ids."""
    vp = np.full(GRID.shape, 2000.0, np.float32)
    spread = step * np.linspace(-4, 4, 21)
    shots = [
        Shot(
            n,
            np.array([first + step * k, 20.0]),
            np.stack([first + step * k + spread, np.full(21, 20.0)], axis=1),
        )
        for k, n in enumerate(ids)
    ]
    survey = subsalt.Survey(shots, subsalt.TimeAxis(301, 0.004), 2)
    grid = subsalt.Grid((161, 41), (50.0, 50.0)) if f0 < 10 else GRID
    earth = subsalt.EarthModel(grid, vp[:1, :1].item())
    return subsalt.forward(earth, survey, subsalt.ricker(f0, 0.001)).survey


def _write(name, survey, grid, tables, f0=15):
    """Write a job file NAME.toml with its shots and velocity."""
    subsalt.write_survey(f"{name}.sgy", survey)
    volume.write(Path(f"{name}-vp.rsf"), grid, np.full(grid.shape, 2000.0, np.float32))
    Path(f"{name}.toml").write_text(
        f'data = {{ files = "{name}.sgy" }}\nmodel = {{ vp = "{name}-vp.rsf" }}\nsource = {{ f0 = {f0} }}\n{tables}',
        encoding="utf-8",
    )
