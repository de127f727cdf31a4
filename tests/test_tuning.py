"""The choice of tiles: trials, the cache of the user, forced rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_problems import make_problem
from subsalt.errors import ConfigError
from subsalt.io.tile_cache import TileCache
from subsalt.kernels import cpu, tuning
from subsalt.kernels.tuning import CANDIDATES, FINALISTS, ROUNDS, Tuner
from subsalt.parallel.comm import single
from subsalt.propagation import devices

SHAPE = (24, 30, 20)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Tune even small grids, into a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SUBSALT_TUNE", raising=False)
    monkeypatch.delenv("SUBSALT_TILE_ROWS", raising=False)
    monkeypatch.setattr(tuning, "SMALLEST", {2: 1, 3: 1})
    monkeypatch.setattr(tuning, "_memory", TileCache())
    monkeypatch.setattr(tuning, "_trusted", set())
    return tmp_path / "cache" / "subsalt" / "tiles.json"


def tuner(threads: int = 1, shape: tuple[int, int, int] = SHAPE, order: int = 8) -> Tuner:
    return Tuner(make_problem(shape, "isotropic", "pml", order), threads, "v3")


def tune(t: Tuner, fastest: tuning.Cut) -> int:
    """Try everything; a step is shortest in the second round of `fastest`. Return the number of trials."""
    trials = 0
    while not t.settled:
        cut, steps = t.trial(10**6)
        trials += 1
        late = trials > len(CANDIDATES[3])
        t.took(cut, steps, steps * (0.5 if cut == fastest and late else 1.0 + 0.01 * trials))
    return trials


def test_the_fastest_trial_wins_and_is_remembered(own_cache: Path) -> None:
    first = tuner()
    assert tune(first, (48, 6, 1)) == ROUNDS * (len(CANDIDATES[3]) + FINALISTS)
    assert first.trial(10) == ((48, 6, 1), 10)
    again = tuner()
    assert again.settled
    assert again.trial(7) == ((48, 6, 1), 7)
    assert list(json.loads(own_cache.read_text())["cuts"].values()) == [[48, 6, 1]]
    assert [p.name for p in own_cache.parent.iterdir()] == ["tiles.json"]


def timed(t: Tuner, seconds: dict[tuning.Cut, float]) -> dict[tuning.Cut, int]:
    """Let every step take what is said of its cut, else 1 s, until the cut is settled; return the trials of each."""
    trials: dict[tuning.Cut, int] = {}
    while not t.settled:
        cut, steps = t.trial(10**6)
        trials[cut] = trials.get(cut, 0) + 1
        t.took(cut, steps, steps * seconds.get(cut, 1.0))
    return trials


def test_the_finalists_are_tried_once_more() -> None:
    seconds = {(32, 4, 1): 0.7, (64, 1, 1): 0.8, (16, 4, 2): 0.9}
    t = tuner()
    trials = timed(t, seconds)
    assert t.best == (32, 4, 1)
    assert {cut for cut, n in trials.items() if n == 2 * ROUNDS} == set(seconds)
    assert sum(trials.values()) == ROUNDS * (len(CANDIDATES[3]) + FINALISTS)


def test_the_next_process_trusts_a_cut_that_holds(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timed(tuner(), {(96, 4, 1): 0.5})
    for slower in (0.5, 1.09):  # than another by less than what counts as disturbed
        monkeypatch.setattr(tuning, "_trusted", set())
        t = tuner()
        assert t.best == (96, 4, 1)
        assert timed(t, {(96, 4, 1): slower}) == {(96, 4, 1): 1, CANDIDATES[3][0]: 1}
        assert t.best == (96, 4, 1)
        assert tuner().settled


def test_a_cut_that_a_busy_machine_chose_is_found_out(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed(tuner(), {(12, 3, 2): 0.5})
    monkeypatch.setattr(tuning, "_trusted", set())
    t = tuner()
    trials = timed(t, {(12, 3, 2): 1.2, (64, 4, 1): 0.8})
    assert t.best == (64, 4, 1)
    assert trials[12, 3, 2] == 2 * ROUNDS  # against one other, then among all
    assert list(json.loads(own_cache.read_text())["cuts"].values()) == [[64, 4, 1]]


def test_trials_are_whole_passes_and_compared_by_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "TRIAL", 1)
    t = tuner()
    lengths = {cut: t.steps(cut) for cut in CANDIDATES[3]}
    assert all(n % depth == 0 for (_, depth, _), n in lengths.items())
    assert lengths[48, 6, 1] > lengths[64, 1, 1]
    while not t.settled:
        cut, steps = t.trial(100)
        t.took(cut, steps, steps * (0.9 if cut[1] == 6 else 1.0))  # the longest trial, the shortest steps
    assert t.best == (48, 6, 1)


def test_a_tilted_medium_tries_rows_and_does_one_step_in_a_pass() -> None:
    t = Tuner(make_problem(SHAPE, "tti", "pml", 8), 2, "v4")
    assert t.best == (0, 1, 1)
    tried = set()
    while not t.settled:
        cut, steps = t.trial(10**6)
        tried.add(cut)
        t.took(cut, steps, steps * (0.5 if cut == (32, 1, 1) else 1.0))
    assert tried == set(tuning.TILTED)
    assert all(depth == 1 for _, depth, _ in tried)
    assert t.best == (32, 1, 1)
    in_2d = Tuner(make_problem((24, 1, 20), "tti", "pml", 8, ndim=2), 2, "v4")
    assert in_2d.settled  # cut along x, a tile per thread


def test_other_threads_shapes_and_orders_are_tuned_apart(own_cache: Path) -> None:
    tune(tuner(), (48, 6, 1))
    others = tuner(threads=2), tuner(shape=(24, 90, 20)), tuner(order=4)
    assert not any(t.settled for t in others)
    tune(others[0], (64, 1, 1))
    assert tuner().best == (48, 6, 1)
    assert tuner(threads=2).best == (64, 1, 1)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cuts": 3}', '{"cuts": {"a": [1]}}', '{"cuts": {"a": ["x", 2]}}', "\udcff"]
)
def test_a_damaged_cache_is_no_error_and_mended(own_cache: Path, text: str) -> None:
    own_cache.parent.mkdir(parents=True)
    own_cache.write_bytes(text.encode("utf-8", "surrogateescape"))
    t = tuner()
    assert not t.settled
    tune(t, (96, 4, 1))
    assert tuner().best == (96, 4, 1)


def test_an_entry_that_is_no_candidate_is_tuned_anew(own_cache: Path) -> None:
    tune(tuner(), (96, 4, 1))
    own_cache.write_text(own_cache.read_text().replace("96,", "-5,"))
    assert not tuner().settled


def test_a_cache_that_cannot_be_written_is_no_error(own_cache: Path) -> None:
    own_cache.parent.parent.mkdir()
    own_cache.parent.write_text("a file where the folder should be")
    t = tuner()
    tune(t, (24, 4, 2))
    assert t.best == (24, 4, 2)


def test_tuning_off_and_small_grids_take_the_default(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setenv("SUBSALT_TUNE", "off")
    assert tuner().settled
    monkeypatch.delenv("SUBSALT_TUNE")
    monkeypatch.setattr(tuning, "SMALLEST", {2: 1e9, 3: 1e9})
    assert tuner().settled
    assert not own_cache.exists()


def test_forced_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUBSALT_TILE_ROWS", "17")
    assert tuner().settled
    assert tuner().best == (17, 4, 1)
    for wrong in ("0", "-3", "many", "1.5", str(2**31), "٣"):
        monkeypatch.setenv("SUBSALT_TILE_ROWS", wrong)
        with pytest.raises(ConfigError, match="use a whole number"):
            tuner()


def test_a_run_tunes_itself_with_the_steps_it_needs_anyway(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setattr(tuning, "TRIAL", 1)
    problem = make_problem(SHAPE, "isotropic", "pml", 8)
    state, segment = cpu.new_state(problem), cpu.Segment(problem)
    segment.advance(state, 3, 50, True)  # too few for a trial
    assert not own_cache.exists()
    segment.advance(state, 200, 50, True)
    assert state.it == 203
    (cut,) = json.loads(own_cache.read_text())["cuts"].values()
    assert tuple(cut) in CANDIDATES[3]


def test_jobs_remember_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "_memory", None)
    devices.prepare(single(), "cpu", 1)
    assert isinstance(tuning._memory, TileCache)


def test_functions_on_arrays_remember_tiles() -> None:
    code = "import subsalt; subsalt.forward; from subsalt.kernels import tuning; print(type(tuning._memory).__name__)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "TileCache\n"
