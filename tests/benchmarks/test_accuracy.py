"""The benchmark of the time to an accuracy, without a peer: its geometry, its predictions, its judgement, its table."""

import importlib
import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def modules():
    """Import the modules of the benchmark, which are no package, and forget them afterwards."""
    folders = [str(ROOT / "benchmarks" / "peers"), str(ROOT / "benchmarks")]
    names = ["cases", "environments", "sides", "verify", "facts", "run", "fit_stencils"]
    names += ["waveform_case", "plane_waves", "accuracy"]
    before = list(sys.path)
    sys.path[:0] = folders
    try:
        yield {n: importlib.import_module(n) for n in names}
    finally:
        for n in names:
            sys.modules.pop(n, None)
        # other tests look for modules in these folders, too
        sys.path[:] = before


@pytest.mark.parametrize("order", [8, 12, 16])
def test_taylor_weights_need_the_points_that_the_fit_found(modules, order):
    # both bisect to 1e-3, and cut the spectrum near 1.25 fmax, beyond which it has 1e-3 of its energy
    rows = json.loads((ROOT / "src/subsalt/numerics/fitted_stencils.json").read_text())
    points = next(r["taylor_points"] for r in rows if (r["family"], r["order"]) == ("upright", order))
    waves = modules["plane_waves"]
    assert waves.Scheme(waves.Medium("iso"), order).needed(0.01) == pytest.approx(points, rel=3e-3)


@pytest.mark.parametrize("medium", ["iso", "vti", "tti"])
def test_every_record_is_reached_by_the_wave_that_its_prediction_has(modules, medium):
    case, waves = modules["waveform_case"], modules["plane_waves"].Medium(medium)
    slow, vectors = waves.slownesses, case.offsets(medium)
    along = (slow @ waves.axis) ** 2
    # a plane wave of the medium, whose fronts reach the receiver when the wave does
    squared = (1 + 2 * case.MEDIA[medium][0]) * ((slow**2).sum(axis=1) - along) + along
    assert squared == pytest.approx(np.ones(10), rel=1e-12)
    assert (slow * vectors).sum(axis=1) / case.VP == pytest.approx(
        case.traveltimes(medium, vectors), rel=1e-12
    )
    assert case.traveltimes(medium, vectors) == pytest.approx(np.full(10, case.FAR / case.VP), rel=1e-12)


@pytest.mark.parametrize("medium", ["iso", "vti"])
def test_no_echo_comes_before_a_modelling_ends(modules, medium):
    case = modules["waveform_case"]
    setting = case.Setting(medium, 8, 11.36, "")
    # the wavelet rises 0.9 / F0 before its peak; the modelling ends 2 / F0 after the record
    end = case.FAR / case.VP + case.TAIL + 2 / case.F0 - (case.DELAY - 0.9 / case.F0)
    for i, n in enumerate(setting.shape):
        for wall in (0.0, (n - 1) * setting.spacing):
            mirrored = case.offsets(medium)
            mirrored[:, i] = 2 * (wall - setting.source[i]) - mirrored[:, i]
            # to half a cell, by which the source lies off its place
            assert (case.traveltimes(medium, mirrored) / case.EARLY >= end - setting.spacing / case.VP).all()


def test_nodes_are_the_nearest(modules):
    setting = modules["waveform_case"].Setting("tti", 8, 11.0, "")
    source, receivers = setting.on_nodes()
    assert np.abs(source * 11.0 - setting.source).max() <= 5.5
    exact = modules["waveform_case"].offsets("tti")
    assert np.abs((receivers - source) * 11.0 - exact).max() <= 5.5
    assert ((receivers >= 0) & (receivers < setting.shape)).all()


def test_errors_are_those_of_the_part_before_the_echoes(modules):
    made, case = modules["accuracy"], modules["waveform_case"]
    offset = case.offsets("vti")[:3]
    truth = made.exact("vti", offset, made.SAMPLES)
    used = made.looked_at("vti", offset, made.SAMPLES)
    wrong = truth.copy()
    wrong[~used] = 1e3
    assert made.errors(wrong, "vti", offset)[0] == 0
    together, each = made.errors(1.02 * wrong, "vti", offset)
    assert together == pytest.approx(0.02, rel=1e-9)
    assert each == pytest.approx([0.02] * 3)
    # all of the wavelet is looked at
    late = np.where(used, 0, truth)
    assert np.abs(late).max() < 1e-2 * np.abs(truth).max()


def test_a_side_whose_records_are_wrong_ends_the_run(modules):
    made, setting = modules["accuracy"], modules["waveform_case"].Setting("iso", 12, 10.0, "")
    assert made.checked("ours", made.Entry(setting, error=0.0099))
    with pytest.raises(SystemExit, match=r"more than 1\.00%"):
        made.checked("ours", made.Entry(setting, error=0.0101))
    with pytest.raises(SystemExit, match="Devito"):
        made.checked("Devito", made.Entry(setting, "devito", error=math.nan))


def test_a_result_becomes_tables(modules, tmp_path, monkeypatch):
    # each order takes half a second to predict
    monkeypatch.setattr(modules["accuracy"], "PEER_ORDERS", modules["accuracy"].PEER_ORDERS[:1])
    side = {"points": 3.521, "shape": [211] * 3, "point_steps": 2.5e9, "error": 0.0089, "worst_record": 0.013}
    side |= {"seconds": 1.5, "spread": 0.02, "peak_bytes": 2.2e8}
    span = {"ratio": 2.04, "min": 1.9, "max": 2.2, "spread": 0.03}
    row = {"ours": "order 8", "peer": "Devito, order 16", "missed": [], "one_round": ["Devito, order 16"]}
    row |= {"ratios": {"order 8": span, "order 12": span}, "memory_ratios": {"order 8": 0.9, "order 12": 0.6}}
    row |= {
        "sides": {"order 8": side, "Devito, order 16": side},
        "predicted": modules["accuracy"].predicted("iso"),
    }
    machine = {"cpu": "A CPU", "cores": 2, "ram_gib": 8.0, "threads": 2, "gcc": "12", "date": "2026-11-25"}
    result = {"question": "accuracy", "command": "make", "machine": machine | {"subsalt": "1"}}
    for medium in ("iso", "vti"):
        modules["accuracy"].publish(result | {"media": {medium: row}}, tmp_path / "accuracy.json")
    stored = json.loads((tmp_path / "accuracy.json").read_text())
    assert list(stored["media"]) == ["iso", "vti"]
    spec = importlib.util.spec_from_file_location("make_performance", ROOT / "docs" / "make_performance.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    text = maker.tables([stored])
    assert (
        "| iso | order 8 | Devito, order 16 | **2.04** | 1.90 to 2.20 | 0.90 | order 12: 2.04, 0.60 |" in text
    )
    assert "| vti: order 8 | 3.52 | 211^3 | 2.50 | 0.89 % | 1.30 % | 1.50 | 2 % | 0.22 |" in text
    assert (
        "| iso: Devito, order 16 | 3.52 | 211^3 | 2.50 | 0.89 % | 1.30 % | 1.50 | one round | 0.22 |" in text
    )
