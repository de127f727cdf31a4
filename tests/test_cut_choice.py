"""Rows and depth of a pass by the caches of a core: on machines that are made up, and with the same bytes on all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernel_problems import make_problem
from subsalt.kernels import cpu, tuning
from subsalt.kernels.cut_choice import LADDER, SINGLE, Caches, Planes, read_caches, suiting, worth_trying
from subsalt.kernels.tuning import CANDIDATES

MIB = 1 << 20
#: two cores of a Zen 3 that share 32 MiB; a core of a full node of 96 cores; a large L2, little L3; neither
PAIR, NODE, WIDE_L2, BARE = (
    Caches(MIB // 2, 16 * MIB),
    Caches(MIB, 4 * MIB),
    Caches(6 * MIB, MIB),
    Caches(MIB // 4, 0),
)


def planes(points: int, medium: str = "isotropic", storage: str = "f32", order: int = 8) -> Planes:
    return Planes(points, medium, storage, order // 2)


def test_a_ring_holds_the_planes_that_its_steps_still_read() -> None:
    # 48 rows of 512 points, three arrays of four bytes, 5 planes a step and 4
    assert planes(512).ring((48, 4, 1)) == 48 * 512 * 12 * 24
    assert planes(512, "vti").ring((48, 4, 1)) == 48 * 512 * 28 * 24
    assert planes(512, "vti", "u16").ring((48, 4, 1)) == 48 * 512 * 22 * 24
    assert planes(512, order=4).ring((48, 6, 1)) == 48 * 512 * 12 * 20


@pytest.mark.parametrize("medium", ["isotropic", "vti"])
@pytest.mark.parametrize("points", [128, 256, 512])
def test_two_cores_with_sixteen_mib_each_take_four_steps_over_48_rows(medium: str, points: int) -> None:
    assert suiting(planes(points, medium), PAIR) == (48, 4, 1)


@pytest.mark.parametrize(
    ("points", "medium", "caches", "cut"),
    [
        (256, "isotropic", NODE, (48, 4, 1)),
        (512, "isotropic", NODE, (24, 4, 2)),
        (256, "vti", NODE, (24, 4, 2)),
        (512, "vti", NODE, (12, 3, 2)),
        (1231, "vti", NODE, SINGLE),
        (1231, "vti", PAIR, (16, 4, 2)),
        (256, "vti", WIDE_L2, (32, 4, 1)),
        (256, "isotropic", BARE, SINGLE),
        (256, "isotropic", Caches(0, 0), (48, 4, 1)),
        (256, "isotropic", None, (48, 4, 1)),
    ],
)
def test_a_core_takes_the_first_cut_whose_ring_it_holds(
    points: int, medium: str, caches: Caches | None, cut: tuple[int, ...]
) -> None:
    assert suiting(planes(points, medium), caches) == cut


def test_more_cache_never_means_a_smaller_ring() -> None:
    row = planes(700, "vti")
    rings = [row.ring(suiting(row, Caches(MIB, n * MIB // 2))) for n in range(12, 80)]
    assert rings == sorted(rings)
    assert rings[-1] == row.ring(LADDER[0])


def test_rings_twice_as_large_as_the_cache_are_not_tried() -> None:
    tried = worth_trying(CANDIDATES[3], planes(512, "vti"), NODE)
    assert SINGLE in tried
    assert (12, 3, 2) in tried
    assert {c[:2] for c in CANDIDATES[3]} - {c[:2] for c in tried} == {
        (48, 6),
        (64, 4),
        (32, 4),
        (96, 4),
    }
    # the rings of 14 MiB that ran as fast as any other, in 16 MiB
    assert worth_trying(CANDIDATES[3], planes(512), PAIR) == CANDIDATES[3]
    assert worth_trying(CANDIDATES[3], planes(512), None) == CANDIDATES[3]


def write(root: Path, siblings: str, caches: dict[str, tuple[str, str, str, str]]) -> Path:
    """Write what Linux says of a core: level, type, size and who shares it, by folder."""
    (root / "topology").mkdir(parents=True)
    (root / "topology" / "thread_siblings_list").write_text(f"{siblings}\n")
    for name, said in caches.items():
        (root / "cache" / name).mkdir(parents=True)
        for file, text in zip(("level", "type", "size", "shared_cpu_list"), said, strict=True):
            (root / "cache" / name / file).write_text(f"{text}\n")
    return root


def test_a_core_has_its_share_of_what_it_shares(tmp_path: Path) -> None:
    eight = {
        "index0": ("1", "Data", "32K", "0,96"),
        "index1": ("1", "Instruction", "32K", "0,96"),
        "index2": ("2", "Unified", "1024K", "0,96"),
        "index3": ("3", "Unified", "32768K", "0-7,96-103"),
    }
    assert read_caches(write(tmp_path / "zen", "0,96", eight)) == Caches(MIB, 4 * MIB)
    of_a_cluster = {"index2": ("2", "Unified", "4M", "0-3")}
    assert read_caches(write(tmp_path / "cluster", "0", of_a_cluster)) == Caches(MIB, 0)


@pytest.mark.parametrize(
    "wrong", [("2", "Unified", "", "0"), ("x", "Data", "1K", "0"), ("2", "Data", "1K", "a")]
)
def test_a_system_that_does_not_tell_is_no_error(tmp_path: Path, wrong: tuple[str, str, str, str]) -> None:
    assert read_caches(tmp_path / "nothing") is None
    assert read_caches(write(tmp_path / "odd", "0", {"index2": wrong})) is None


def test_a_tuner_goes_by_the_caches_of_its_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem((12, 14, 20), "vti", "pml", 8)
    for caches, cut in ((PAIR, (48, 4, 1)), (Caches(0, 1 << 15), SINGLE)):
        monkeypatch.setattr(tuning, "caches_here", lambda c=caches: c)
        assert tuning.Tuner(problem, 1, "v3").best == cut
    assert tuning.candidates(problem) == (SINGLE,)


@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_bytes_are_the_same_whatever_the_caches_are(monkeypatch: pytest.MonkeyPatch, medium: str) -> None:
    rng = np.random.default_rng(7)
    problem = make_problem((26, 60, 24), medium, "pml", 8)
    start = cpu.new_state(problem)
    fields = [rng.standard_normal(a.shape).astype(np.float32) for a in start.curr]
    seen, results = set(), []
    rings = [tuning._planes(problem).ring(cut) for cut in LADDER]
    for size in (1, *rng.permutation(rings)):
        monkeypatch.setattr(tuning, "caches_here", lambda n=int(size): Caches(0, n))
        problem.cache.clear()
        state = cpu.new_state(problem)
        for to, values in zip(state.curr, fields, strict=True):
            to[...] = 0
            interior(to)[...] = interior(values)
        seen.add(tuning.cut(problem))
        with cpu.forced(threads=2):
            cpu.Segment(problem).advance(state, 9, 1 << 30, False)
        results.append([a.tobytes() for a in (*state.curr, *state.prev)])
    assert seen == {SINGLE, *LADDER}
    assert all(result == results[0] for result in results)


def interior(a: np.ndarray) -> np.ndarray:
    """Return the part of a wavefield that no edge of its array holds."""
    return a[tuple(slice(n // 4, n - n // 4) for n in a.shape)]
