"""Run directories as the runner leaves them: finished, and stopped on the way."""

import json
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest

from once import once
from subsalt import view
from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Grid

JOB = {
    "title": "Salt line 7",
    "data": {"files": ["shots/*.sgy"], "preset": "rev1", "fix": {"z_sign": 1}, "shots": "all"},
    "model": {
        "vp": {"file": "model/vp.rsf", "unit": "m/s"},
        "epsilon": {"value": [0.1]},
        "delta": {"value": [0.05]},
    },
    "source": {"wavelet": "ricker", "f0": 18.0},
    "propagation": {
        "medium": "auto",
        "order": 8,
        "boundary": "pml",
        "free_surface": False,
        "source_taper": 6.0,
    },
    "imaging": {"mode": "reflectivity", "condition": "source-normalised", "aperture": 600.0, "image_step": 7},
    "parallel": {"device": "cpu"},
    "output": {"formats": ["segy", "rsf"], "pictures": True},
}

TOML = '# every key of the job\ntitle = "Salt line 7"\n\n[source]\nwavelet = "ricker"\nf0 = 18.0\n'


def run_facts(n_shots=12):
    """Return what run.json holds."""
    rng = np.random.default_rng(7)
    shots = [
        {"id": 101 + 3 * i, "state": "done", "seconds": float(2 + rng.random()), "sha256": f"{i:02x}" * 32}
        for i in range(n_shots)
    ]
    shots[4] |= {
        "state": "quarantined",
        "sha256": None,
        "seconds": None,
        "reason": "shot 113: 3 traces are not finite",
    }
    phases = {
        "check": 0.41234,
        "model input": 0.0121,
        "survey": 0.2,
        "source": 12.34567,
        "receivers": 14.98765,
        "traces": 0.5,
        "setup": 0.31,
        "partial image": 0.07,
        "image sum": 0.02,
        "output": 0.09,
        "pictures": 3.3,
        "ledger": 0.06,
        "provenance": 0.1,
    }
    unexplained = 0.2345
    return {
        "version": "0.1.0",
        "run_id": "4f6a" * 16,
        "title": "Salt line 7",
        "state": "finished with holes",
        "job": JOB,
        "job_given": {"data": {"files": ["shots/*.sgy"]}, "source": {"f0": 18.0}},
        "grid": {"shape": [121, 81, 91], "spacing": [25.0, 25.0, 20.0], "origin": [0.0, 0.0, 0.0]},
        "dt": 0.00182,
        "stable_dt": 0.00192,
        "nt": 1100,
        "image_step": 7,
        "repaired_nodes": 0,
        "memory_plan": {
            "wavefields": 48_000_000,
            "snapshots": 210_000_000,
            "traces": 4_000_000,
            "absorbing layer": 0,
        },
        "point_steps": 21_000_000_000,
        "peak_memory_bytes": 412_000_000,
        "phases": {**phases, "unexplained": unexplained, "wall": sum(phases.values()) + unexplained},
        "shots": shots,
        "findings": [
            {
                "code": "W510",
                "level": "warning",
                "message": "2.9 points per wavelength",
                "fix": "use order 12",
            },
            {"code": "I001", "level": "ok", "message": "grids agree", "fix": ""},
        ],
        "image": {"path": "image.sgy", "sha256": "ab" * 32},
        "inputs": [
            {"key": "data.files", "path": "shots/line7.sgy", "bytes": 12_345_678, "sha256": "cd" * 32},
            {"key": "model.vp", "path": "model/vp.rsf", "bytes": 3_567_564, "sha256": "ef" * 32},
        ],
        "numerics": {"device": "cpu", "isa": "x86-64-v4", "class": "fma", "threads": 2},
        "code": {"version": "0.1.0", "python_sha256": "01" * 32, "native_sha256": "23" * 32},
        "machine": {"cpu": "a processor", "cores": 2, "ram_bytes": 24_000_000_000, "system": "Linux x86_64"},
    }


@pytest.fixture
def facts():
    """Content of run.json."""
    return run_facts()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """A folder of pictures as a 3-D run draws them, drawn once for all processes."""
    folder = tmp_path_factory.mktemp("pictures")
    for name, content in once("pictures of a report", drawn).items():
        (folder / name).write_bytes(content)
    return folder


def drawn():
    """Return the pictures by name."""
    with tempfile.TemporaryDirectory() as made:
        draw(Path(made))
        return {path.name: path.read_bytes() for path in Path(made).iterdir()}


def draw(folder):
    """Draw an image and a map."""
    grid = Grid((31, 21, 26), (20.0, 20.0, 20.0))
    image = np.random.default_rng(3).normal(size=grid.shape).astype(np.float32)
    survey = Survey.from_arrays(
        [(100.0, 100.0, 10.0)], [(0.0, 0.0, 0.0), (500.0, 300.0, 0.0)], nt=10, dt=0.004
    )
    view.sections(image, grid, folder / "image.png", survey=survey, run_id="4f6a" * 16)
    view.survey_map(survey, grid, folder / "survey_map.png", run_id="4f6a" * 16)


@pytest.fixture
def run(tmp_path, pictures):
    """A finished run with one hole."""
    folder = tmp_path / "line7.run"
    (folder / "pictures").mkdir(parents=True)
    for path in pictures.iterdir():
        (folder / "pictures" / path.name).write_bytes(path.read_bytes())
    (folder / "run.json").write_text(json.dumps(run_facts()))
    (folder / "job.resolved.toml").write_text(TOML)
    events = [{"event": "done", "shot": s["id"], "seconds": s["seconds"]} for s in run_facts()["shots"]]
    (folder / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events) + '{"event": "cut sho')
    return folder


@pytest.fixture
def stopped(tmp_path):
    """A run stopped after two of three shots: a ledger and the job, no run.json."""
    folder = tmp_path / "stopped.run"
    folder.mkdir()
    db = sqlite3.connect(folder / "ledger.sqlite")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    db.execute(
        "CREATE TABLE shot (id INTEGER PRIMARY KEY, place INTEGER NOT NULL, state TEXT NOT NULL, "
        "attempt INTEGER NOT NULL DEFAULT 0, seconds REAL, sha256 TEXT, reason TEXT)"
    )
    key = {"job": JOB, "inputs": [{"key": "model.vp", "bytes": 10, "sha256": "ef" * 32}], "numerics": "fma"}
    db.executemany("INSERT INTO meta VALUES (?, ?)", [("run_id", "77" * 32), ("key", json.dumps(key))])
    rows = [
        (1, 0, "done", 1, 2.5, "aa" * 32, None),
        (2, 1, "done", 1, 2.5, "bb" * 32, None),
        (3, 2, "running", 1, None, None, None),
    ]
    db.executemany("INSERT INTO shot VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    db.commit()
    db.close()
    (folder / "job.resolved.toml").write_text(TOML)
    return folder
