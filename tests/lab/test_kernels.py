"""The kernels' measurement: answers compared first, ratios to yardsticks, costs as the heads of the kernels say."""

import itertools
import re
from pathlib import Path

import pytest

from subsalt.errors import SubsaltError
from subsalt.kernels import cpu
from subsalt.lab import kernel_answers, kernel_bench, kernel_tables, kernels, operations
from subsalt.lab.machine import KEYS

NATIVE = Path(__file__).resolve().parents[2] / "native" / "kernels"
HEADS = {"isotropic": "iso_step.hpp", "vti": "vti_step.hpp", "tti": "tti_step.hpp"}
BEST = cpu.available()[-1]
N = 96


@pytest.mark.parametrize("medium", kernels.MEDIA)
def test_costs_are_those_of_the_kernels_heads(medium):
    text = (NATIVE / HEADS[medium]).read_text()
    head = " ".join(line.removeprefix("//").strip() for line in text.split("#pragma once")[0].splitlines())
    stated = head[head.index("Per point in 3-D at order 8") :]
    price = operations.cost(medium)
    assert int(re.search(r"(\d+) bytes", stated)[1]) == price.bytes
    assert int(re.search(r"(\d+) (floating-point )?operations", stated)[1]) == price.operations(4)


def test_two_steps_in_a_pass_read_every_array_once():
    # per point and two steps: every model, both levels read, both levels written
    assert kernels.pass_bytes("isotropic") == 4 * (1 + 2 + 2) / 2 == 10
    assert kernels.pass_bytes("vti") == 4 * (3 + 4 + 4) / 2 == 22


@pytest.fixture(scope="module")
def benches():
    return {m: kernel_bench.Bench(N, m, 4, 1) for m in kernels.MEDIA}


@pytest.mark.parametrize("isa", cpu.available())
@pytest.mark.parametrize("medium", kernels.MEDIA)
def test_every_way_of_doing_a_step_gives_the_same_bits(benches, medium, isa):
    kernel_answers.verify(benches[medium], isa)


@pytest.mark.parametrize("way", ["step", "segment", "roof", "plain"])
def test_a_kernel_that_differs_is_not_timed(benches, monkeypatch, way):
    bench = benches["isotropic"]
    right = getattr(bench, way)

    def wrong(*args):
        right(*args)
        bench.layout.view(bench.state.curr[0])[16, 16, 16] += 1e-3

    monkeypatch.setattr(bench, way, wrong)
    with pytest.raises(SubsaltError, match="wrong answer") as error:
        kernel_answers.verify(bench, BEST)
    assert error.value.code == "E710"


@pytest.fixture(scope="module")
def result():
    ticks = itertools.count(0.0, 0.5)  # every call takes half a second
    settings = kernels.Settings(("isotropic", "vti"), (4,), (BEST,), (1,), N, rounds=3)
    return kernels.measure(settings, clock=lambda: next(ticks), seconds=0.1)


def rows_of(result, medium):
    return {r["case"]: r for r in result.rows if r["medium"] == medium}


def test_rates_count_all_points_and_interior_ones_apart(result):
    rows = rows_of(result, "vti")
    assert rows["core"]["points_per_s"] == pytest.approx(N**3 / 0.5)
    assert rows["core"]["interior_points_per_s"] == rows["core"]["points_per_s"]
    assert rows["pml 12"]["interior_points_per_s"] == pytest.approx((N - 24) ** 3 / 0.5)
    assert rows["damping 40"]["interior_points_per_s"] == pytest.approx((N - 80) ** 3 / 0.5)


def test_a_call_of_several_steps_counts_them_all(result):
    row = rows_of(result, "isotropic")["core, segment"]
    steps = kernel_bench.STEPS_PER_CALL
    assert row["points_per_s"] == pytest.approx(steps * N**3 / 0.5)
    assert row["core_steps"] == pytest.approx(1 / steps)
    assert row["of_roof"] == pytest.approx(steps)
    assert row["steps_per_pass"] == 2


@pytest.mark.parametrize(("medium", "nbytes"), [("isotropic", 16), ("vti", 36)])
def test_shares_are_of_the_yardsticks(result, medium, nbytes):
    rows = rows_of(result, medium)
    core, points = rows["core"], N**3
    assert core["roof_gb_s"] == pytest.approx(nbytes * points / 0.5 / 1e9)
    assert core["of_roof"] == core["x_plain"] == pytest.approx(1.0)
    operations_per_s = operations.cost(medium).operations(2) * points / 0.5
    assert core["of_multiply_add"] == pytest.approx(operations_per_s / 1e9 / rows["multiply-add"]["gflop_s"])


def test_imaging_is_a_share_of_a_core_step(result):
    rows = rows_of(result, "vti")
    assert rows["snapshot, every 8th step"]["core_steps"] == pytest.approx(1 / 8)
    assert rows["correlate and square, every 8th step"]["core_steps"] == pytest.approx(2 / 8)
    assert rows["snapshot"]["core_steps"] == pytest.approx(1.0)


def test_what_a_plan_needs_goes_into_machine_json(result):
    rows = kernels.for_machine(result)
    assert len(rows) == 2 * 3 * 2  # media, boundaries, one step a pass and two
    for row in rows:
        assert set(KEYS["kernels"]) < set(row)
        assert row["points_per_s"] > 0
        assert {"date", "version", "noisy", "spread", "of_roof"} < set(row)
        assert "seconds" not in row
    assert len({tuple(row[k] for k in KEYS["kernels"]) for row in rows}) == len(rows)


def test_the_tables_say_what_ran_and_how_fast_memory_was(result):
    iso, vti = kernel_tables.tables(result.rows)
    assert f"isotropic, order 4, {N}^3 points, {BEST}, 1 thread: 16 B and 23 operations per point" in iso
    assert f"roof at {36 * N**3 / 0.5 / 1e9:.1f} GB/s" in vti
    assert "multiply-add" not in vti.split("\n", 1)[1]
    (csv,) = kernel_tables.tables(result.rows, "csv")
    assert csv.splitlines()[0].startswith("medium,order,isa,threads,n,model_storage,case,points_per_s")
    assert len(csv.splitlines()) == 1 + len(result.rows)
    first = next(kernel_tables.tables(result.rows, "markdown"))
    assert first.startswith("**isotropic")
    assert "| core |" in first


def test_the_notes_explain_shares_above_the_roof(result):
    assert any("isotropic 10 instead of 16, vti 22 instead of 36" in note for note in result.notes)
