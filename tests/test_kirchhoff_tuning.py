"""Trials of the sum over traces: what they choose is kept and changes no bit, and no trace is added twice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kirchhoff_blocks import AXES, Block, make_block
from subsalt.io.tile_cache import TileCache
from subsalt.kernels import cpu, kirchhoff, kirchhoff_tuning, tuning
from subsalt.kernels.kirchhoff import Where, block_sum
from subsalt.kernels.kirchhoff_arguments import Medium
from subsalt.kernels.kirchhoff_tuning import ISAS, TILES, SumTuner

WAYS = len(TILES) * sum(name in cpu.available() for name in ISAS.values())


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Try one trace at a time, whatever the block, and remember in a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SUBSALT_TUNE", raising=False)
    monkeypatch.delenv("SUBSALT_ISA", raising=False)
    monkeypatch.setattr(kirchhoff_tuning, "SMALLEST", 1)
    monkeypatch.setattr(kirchhoff_tuning, "TRIAL", 1)
    monkeypatch.setattr(kirchhoff_tuning, "_tuners", {})
    monkeypatch.setattr(tuning, "_memory", TileCache())
    return tmp_path / "cache" / "subsalt" / "tiles.json"


def adder_of(block: Block, out: tuple[np.ndarray, ...]) -> kirchhoff.Adder:
    medium = Medium(block.v, block.eta)
    where = Where(*out, block.points, AXES, medium, block.time, block.options, block.spacing)
    return block_sum("cpu", where, block.ready().dt, 1)


@pytest.mark.skipif(WAYS == 0, reason="this processor has neither v3 nor v4")
@pytest.mark.parametrize("antialias", ["bands", "triangle"])
def test_trials_change_no_bit_and_their_choice_is_kept(own_cache: Path, antialias: str) -> None:
    block = make_block(21, locations=40, traces=2 * WAYS + 9, antialias=antialias)
    out = block.empty()
    with adder_of(block, out) as adder:
        done = adder.add(block.ready(), block.geometry)
    *want, contributions = block.sum()
    assert done == contributions > 1000
    for mine, other in zip(out, want, strict=True):
        assert mine.tobytes() == other.tobytes()
    ((key, stored),) = json.loads(own_cache.read_text())["cuts"].items()
    assert stored[0] in TILES
    assert stored[1] in ISAS
    again = SumTuner(40, block.v.shape[1], block.options, False, 1)
    assert (again.key, list(again.best), again.settled) == (key, stored, True)


def test_the_fastest_way_wins(own_cache: Path) -> None:
    tuner = SumTuner(1000, 500, make_block().options, False, 1)
    if tuner.settled:
        pytest.skip("this processor has neither v3 nor v4")
    wanted = tuner.left[-1]
    while not tuner.settled:
        ((way, traces),) = list(tuner.parts(tuner.steps(tuner.left[0])))
        tuner.summed(way, traces, 1000, 1.0 if way == wanted else 2.0)
    assert list(tuner.parts(7)) == [(wanted, slice(0, 7))]


def test_nothing_is_tried_where_that_is_switched_off_or_an_instruction_set_is_asked_for(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = make_block().options
    with cpu.forced("v2"):
        assert SumTuner(1000, 500, options, False, 1).settled
    monkeypatch.setenv("SUBSALT_ISA", cpu.available()[-1])
    tuner = SumTuner(1000, 500, options, False, 1)
    assert {lanes for _, lanes in tuner.left} <= {
        n for n, name in ISAS.items() if name == cpu.available()[-1]
    }
    monkeypatch.setenv("SUBSALT_TUNE", "off")
    assert list(SumTuner(1000, 500, options, False, 1).parts(5)) == [((0, 0), slice(0, 5))]
