"""The tables of docs/notes/performance-tables.md are those of its results."""

import importlib.util
import re
from pathlib import Path

import pytest

from subsalt.machine.records import Passed
from subsalt_lab import checkpoint

DOCS = Path(__file__).resolve().parents[2] / "docs"

MACHINE = {
    "cpu": "A CPU",
    "cores": 2,
    "ram_gib": 23.5,
    "threads": 2,
    "gcc": "12.2.0",
    "date": "2026-11-22",
}
RATIO = {"ratio": 1.9, "min": 1.7, "max": 2.1, "spread": 0.05}
PEERS = {
    "question": "peers",
    "case": "iso-256",
    "machine": MACHINE,
    "row": {
        "interior": [176, 176, 176],
        "steps": 20,
        "ours": "damping",
        "peer": "1-D profiles",
        "seconds": {"damping": 0.2, "1-D profiles": 0.38},
        "interior_gpts": {"damping": 0.545, "1-D profiles": 0.287},
        "ratios": {"damping": RATIO, "PML 12": RATIO | {"ratio": 1.2}},
        "against": {"1-D profiles": RATIO},
        "relative_l2": {"1-D profiles, source": 3e-7, "1-D profiles, field": 6e-6, "PML 12, source": 1e-5},
        "memory": {"damping": {"peak": 0.31e9}, "1-D profiles": {"peak": 0.42e9}},
        "about": {
            "damping": {"peer": "subsalt", "version": "1.2.3", "points": 256**3},
            "PML 12": {"peer": "subsalt", "version": "1.2.3", "points": 240**3},
            "1-D profiles": {"peer": "Devito", "points": 256**3},
        },
    },
}
INVERSION = {
    "question": "peers, least squares",
    "command": 'make bench-peers CASES="lsrtm"',
    "machine": MACHINE,
    "row": {
        "seconds": {"CGLS": 5.0, "Deepwave, Adam": 15.0},
        "ratios": {"CGLS": RATIO},
        "against": {"Deepwave, Adam": RATIO | {"ratio": 3.0}},
        "reached": {
            "CGLS": {"misfit": 0.013, "modelled": 9, "gradients": 10},
            "Deepwave, Adam": {"misfit": 0.15, "modelled": 10, "gradients": 10},
        },
        "relative_l2": {"CGLS, data": 0.004, "Deepwave, Adam, data": 0.0038},
        "memory": {"CGLS": {"peak": 0.09e9}, "Deepwave, Adam": {"peak": 1e9}},
        "about": {"CGLS": {"peer": "subsalt"}, "Deepwave, Adam": {"peer": "Deepwave"}},
    },
}
FOUNDING = {
    "question": "founding",
    "command": "make bench-founding STEPS=20",
    "machine": MACHINE,
    "shape": [125, 1151, 1231],
    "document": {"kernel_seconds": 484.9, "gb": 7.5},
    "rows": [
        {
            "order": 8,
            "boundary": "pml",
            "storage": "f32",
            "step_seconds": 0.1875,
            "spread": 0.01,
            "gpts": 0.945,
            "kernel_seconds": 300.0,
            "memory": {"planned": 5.2e9, "measured": 5.3e9},
        }
    ],
}
LAB = {
    "measurement": "kernels",
    "date": "2026-11-22T00:00:00Z",
    "machine": {"cpu": "A CPU", "cores": 2, "ram_bytes": 24 << 30},
    "load": {"noisy": True},
    "rows": [
        {
            "medium": "vti",
            "order": 8,
            "isa": "v4",
            "threads": 2,
            "n": 256,
            "model_storage": "f32",
            "case": "core",
            "points_per_s": 1.25e9,
            "spread": 0.02,
            "x_plain": 1.4,
            "of_roof": 0.8,
            "core_steps": 1.0,
            "roof_gb_s": 44.0,
        }
    ],
}


JOB = {
    "question": "founding job",
    "command": "python benchmarks/founding_job.py FOLDER",
    "machine": MACHINE,
    "shape": [125, 1151, 1231],
    "samples": 800,
    "order": 8,
    "storage": "u16",
    "document": {"read": 4.54, "kernel": 484.89, "total": 892.4, "memory_bytes": 7.5e9},
    "seconds": {"read": 9.08, "kernel": 242.445, "write": 3.0, "total": 446.2},
    "peak_memory_bytes": 7.2e9,
}
BARS = [
    {
        "question": "storing",
        "command": "python benchmarks/storing.py DIR",
        "machine": MACHINE,
        "grid": [160, 160, 160],
        "samples": 300,
        "ratio": 1.0213,
        "direct": False,
        "follows": True,
        "counts": {"puts": 60, "stall_seconds": 0.25},
    },
    {
        "question": "revolve time",
        "command": "python benchmarks/revolve_time.py",
        "machine": MACHINE,
        "grid": [96, 96, 96],
        "samples": 800,
        "slots": 20,
        "image_step": 1,
        "ratio": 1.0987,
        "source_steps": 2147,
        "receiver_steps": 800,
    },
    {
        "question": "protection",
        "command": "python benchmarks/protection.py DIR",
        "machine": MACHINE,
        "grid": [160, 120, 120],
        "shots": 6,
        "samples": 251,
        "cost": 0.0123,
    },
]


SETTING = {
    "question": "one setting of a job",
    "case": "a line",
    "setting": "propagation.depth_axis",
    "command": "python benchmarks/job_settings.py line.toml propagation.depth_axis uniform auto",
    "machine": MACHINE,
    "values": {
        value: {
            "seconds": 40.0 / part,
            "spread": 0.01,
            "steps_seconds": 30.0 / part,
            "point_steps": 7e9 / part,
            "grid_point_steps": 8e9 / part,
            "snapshot_bytes": 0,
            "peak_memory_bytes": 1e9 / part,
        }
        for value, part in (("uniform", 1), ("auto", 2))
    },
    "ratios": {
        "auto": {"seconds": 0.5, "steps_seconds": 0.51, "grid_point_steps": 0.52, "peak_memory_bytes": 0.53}
    },
}
SIDE = {
    "points": 4.5,
    "layer": 12,
    "point_steps": 3e9,
    "error": 0.003,
    "worst_record": 0.006,
    "seconds": 10.0,
    "spread": 0.02,
    "peak_bytes": 0.4e9,
}
ROCK = {
    "question": "accuracy in rock",
    "command": "python benchmarks/accuracy_rock.py iso",
    "machine": MACHINE,
    "media": {
        "iso": {
            "peer": "Devito, order 8",
            "sides": {"Devito, order 8": SIDE | {"layer": 120, "seconds": 90.0}, "order 8": SIDE},
            "ratios": {"order 8": {"ratio": 9.0, "min": 8.7, "max": 9.25}},
        }
    },
}


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_performance", DOCS / "make_performance.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_holds_its_results(maker):
    page = maker.PAGE.read_text(encoding="utf-8")
    assert page == maker.page(page, maker.results()), "run: python docs/make_performance.py"


def test_every_kind_of_result_becomes_a_table(maker):
    text = maker.tables([PEERS, INVERSION, FOUNDING, LAB])
    assert "| subsalt, CGLS | 0.0130 | 10 | 5.00 |  |  | 4.0e-03 | 0.09 |" in text
    assert "| Deepwave, Adam | 0.1500 | 10 | 15.00 | 3.00 | 1.70 to 2.10 | 3.8e-03 | 1.00 |" in text
    assert (
        "| iso-256 | 176^3 | 1.2.3 | damping | Devito, 1-D profiles | **1.90** | 1.70 to 2.10 | 5 % | 6e-06 |"
        " PML 12: 1.20 |" in text
    )
    assert "| iso-256: subsalt, damping | 10 | 1.678 | 0.545 | 0.31 | 1.90 |" in text
    assert "| 8, pml, f32 | 0.188 | 1.0 % | 0.945 | 300 | 5.20 | 5.30 |" in text
    assert "125 x 1151 x 1231 points" in text
    assert "| core | 1.250 | 2.0 % | 1.40 | 80 % | 1.000 |" in text
    assert "not idle" in text


def test_what_checkpoints_cost_becomes_tables(maker):
    text = maker.tables([JOB, *BARS])
    assert (
        "order 8, models u16, what no wave has reached left out. Peak memory 7.20 GB (2009: 7.5 GB)." in text
    )
    assert "| kernel | 242.4 | 484.9 | 2.00 |" in text
    assert "| write | 3.0 |  |  |" in text
    assert (
        "| 160^3, 60 snapshots of 300 steps | 1.021 | 1.05 | through the page cache; the device follows;"
        in text
    )
    assert "| 96^3, 20 slots, 800 steps, image step 1 | 1.099 | 0.85 to 1.15 | 2147 + 800 steps |" in text
    assert "| cost of protection | 160 x 120 x 120, 6 shots, 251 samples | 1.23 % | 2 % |" in text


def test_settings_and_rock_become_tables(maker):
    text = maker.tables([SETTING, ROCK])
    assert "| a line: uniform | 40.0 | 1 % | 30.0 | 8.00 | 0.00 | 1.00 |  |  |  |  |  |" in text
    assert "| a line: auto | 20.0 | 1 % | 15.0 | 4.00 | 0.00 | 0.50 | 0.50 | 0.51 | 0.52 |  | 0.53 |" in text
    assert "| iso: Devito, order 8 | 4.50 | 120 | 3.00 | 0.30 % | 0.60 % | 90.00 | 2 % | 0.40 |  |" in text
    assert "| 10.00 | 2 % | 0.40 | **9.00**, 8.70 to 9.25 |" in text


def test_a_table_of_the_lab_becomes_one_of_the_page(maker):
    row = checkpoint.bare(
        8, Passed(2.0, 10**9, 1.0, 0.5, None), Passed(1.0, 10**9, 1.0, 0.0, 10**9), durable=True
    )
    row |= {"directory": "disk", "checkpoints": 8, "threads": 1, "how": "buffered"}
    recorded = {
        "measurement": "checkpoint",
        "date": "2026-11-22T00:00:00Z",
        "machine": LAB["machine"],
        "load": {"noisy": False},
        "settings": {"case": {"grid": [96, 96, 96], "samples": 800, "strategy": "store"}},
        "rows": [row],
    }
    text = maker.tables([recorded])
    assert "96^3 points with their layer, 800 steps, store" in text
    assert "| 8 | 1 | disk | buffered | durable | 8 | 1000 | 2.000 | 0.5 | storage |" in text


def test_the_published_time_migration_stands_beside_its_study(maker):
    row = {
        "case": "small",
        "traces": 70808,
        "seconds": 96.0,
        "document_seconds": 288.0,
        "peak_gb": 0.5,
        "contributions": 120621107646,
        "fraction": 0.649,
        "gcontrib_per_s": 1.7,
        "gcontrib_per_s_whole": 1.256,
        "amplitudes": [{"error": 0.001}, {"error": 0.0032}],
    }
    recorded = {
        "question": "founding kirchhoff",
        "command": "make bench-kirchhoff LARGE=1",
        "machine": MACHINE,
    }
    recorded |= {"ranks": 1, "threads": 2, "rows": [row], "large_over_small": 3.987}
    text = maker.tables([recorded])
    assert "`make bench-kirchhoff LARGE=1`. The large set takes 3.99 times the small." in text
    line = "| small | 1 x 2 | 70808 | 96.0 | 288 | 3.00 | 0.50 | 1.21e+11 | 65 % | 1.70 | 1.26 | 0.32 % |"
    assert line in text


def test_tables_are_replaced_not_added(maker):
    text = f"before\n{maker.BEGIN}\nold\n{maker.END}\nafter\n"
    once = maker.page(text, [FOUNDING])
    assert "old" not in once
    assert once == maker.page(once, [FOUNDING])
    assert maker.page(once, []) == f"before\n{maker.BEGIN}\n{maker.END}\nafter\n"


def test_published_results_name_no_path_of_a_machine():
    files = sorted((Path(__file__).parents[2] / "docs" / "performance").glob("*.json"))
    assert files
    for file in files:
        assert not re.search(r'"/[a-z]+/', file.read_text(encoding="utf-8")), file.name
