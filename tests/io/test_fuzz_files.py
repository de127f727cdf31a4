"""Damaged files end in an error of ours or in an answer: never in a crash, a hang or a large allocation."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location(
    "fuzz_segy", Path(__file__).parents[2] / "benchmarks" / "fuzz_segy.py"
)
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)


@pytest.mark.parametrize("kind", sorted(fuzz.TARGETS))
def test_damaged_files(kind, tmp_path):
    report = fuzz.run(kind, count=1200 if kind == "segy" else 300, seed=3, folder=tmp_path)
    assert report["tried"] >= 300
    assert not report["failures"], report["failures"][:3]
    # damage that nothing notices and damage that stops must both occur, or the test tests nothing
    assert 0 < report["opened"] < report["tried"]
    assert report["peak_growth_mb"] < 256
