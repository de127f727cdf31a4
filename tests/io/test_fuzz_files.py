"""Damaged files end in an error of ours or in an answer: never in a crash, a hang or a large allocation."""

import importlib.util
from pathlib import Path

import pytest

from thorough import sample

spec = importlib.util.spec_from_file_location(
    "fuzz_segy", Path(__file__).parents[2] / "benchmarks" / "fuzz_segy.py"
)
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)


@pytest.mark.filterwarnings("ignore:The data type")
@pytest.mark.parametrize("kind", sorted(fuzz.TARGETS))
def test_damaged_files(kind, tmp_path):
    # a store is opened by another package, ten times slower than a file
    count = {"segy": sample(150, 600), "segy2": 60, "traces2": 60, "store": sample(20, 40)}.get(
        kind, sample(50, 150)
    )
    report = fuzz.run(kind, count=count, seed=3, folder=tmp_path)
    assert report["tried"] == count
    assert not report["failures"], report["failures"][:3]
    # damage that nothing notices and damage that stops must both occur, or the test tests nothing
    assert 0 < report["opened"] < report["tried"]
    assert report["peak_growth_mb"] < 256
