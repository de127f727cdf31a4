"""The benchmark of the sum on a GPU: it verifies before it measures, and counts what it says."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from subsalt.kernels import cpu

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WORDS = "--locations 2x3 --traces 5 --rounds 2 --threads 1 --kinds"

pytestmark = pytest.mark.skipif(
    cpu.available()[-1] == "v2", reason="the CPU has no multiply-add: its bytes are its own"
)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    monkeypatch.setattr(sys, "argv", ["kirchhoff_gpu.py", *WORDS.split(), *words])
    runpy.run_path(str(BENCHMARKS / "kirchhoff_gpu.py"), run_name="__main__")


def test_it_measures_what_it_verified(emulated, monkeypatch, capsys):
    run(monkeypatch, "linear, no antialias")
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["emulated"]
    assert result["gpu"] == "emulated device 0"
    (row,) = result["rows"]
    assert row["contributions"] % 8 == 0
    assert row["contributions"] > 8 * 2 * 3 * 5 * 100
    assert len(row["sum_seconds"]) == len(row["prepared_seconds"]) == 2


def test_a_wrong_answer_is_not_measured(emulated, monkeypatch, capsys):
    from subsalt.kernels.cuda.kirchhoff import BlockSum

    real = BlockSum.fetch

    def wrong(adder):
        done = real(adder)
        adder._where.image[0, 0, 300] += 1e-3
        return done

    monkeypatch.setattr(BlockSum, "fetch", wrong)
    with pytest.raises(SystemExit, match="do not agree"):
        run(monkeypatch, "linear, no antialias")
    assert "contributions" not in capsys.readouterr().out
