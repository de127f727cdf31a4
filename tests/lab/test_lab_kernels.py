"""The kernels' measurement: answers compared first, ratios to yardsticks, costs as the heads of the kernels say."""

import itertools
import re
from pathlib import Path

import pytest

from subsalt.errors import SubsaltError
from subsalt.kernels import cpu
from subsalt.machine.machine_file import KEYS
from subsalt.methods.rtm import speed
from subsalt_lab import kernel_bench, kernels
from subsalt_lab import kernels as kernel_answers
from subsalt_lab.cli import kernels as kernel_tables

NATIVE = Path(__file__).resolve().parents[2] / "native" / "kernels"
HEADS = {"isotropic": "iso_step.hpp", "vti": "vti_step.hpp", "tti": "tti_step.hpp"}
BEST = cpu.available()[-1]
N = 96


@pytest.mark.parametrize("medium", kernels.MEDIA)
def test_costs_are_those_of_the_kernels_heads(medium):
    text = (NATIVE / HEADS[medium]).read_text()
    head = " ".join(line.removeprefix("//").strip() for line in text.split("#pragma once")[0].splitlines())
    stated = head[head.index("Per point in 3-D at order 8") :]
    price = speed.cost(medium)
    assert int(re.search(r"(\d+) bytes", stated)[1]) == price.bytes
    packed = re.search(r"packed (?:m|models):? (\d+)", stated)
    assert (int(packed[1]) if packed else None) == price.packed
    assert int(re.search(r"(\d+) (floating-point )?operations", stated)[1]) == price.operations(4)


def test_two_steps_in_a_pass_read_every_array_once():
    # per point and two steps: every model, both levels read, both levels written
    assert speed.pass_bytes("isotropic") == 4 * (1 + 2 + 2) / 2 == 10
    assert speed.pass_bytes("vti") == 4 * (3 + 4 + 4) / 2 == 22
    assert speed.pass_bytes("vti", "u16") == (2 * 3 + 4 * (4 + 4)) / 2 == 19


def test_a_medium_without_packed_models_has_no_bytes_for_them():
    with pytest.raises(ValueError, match="tti"):
        speed.bytes_of("tti", "u16")


@pytest.fixture(scope="module")
def benches():
    all_benches = {m: kernel_bench.Bench(N, m, 4, 1) for m in kernels.MEDIA}
    return all_benches | {f"{m} u16": all_benches[m].packed() for m in ("isotropic", "vti")}


@pytest.mark.parametrize("isa", cpu.available())
@pytest.mark.parametrize("which", [*kernels.MEDIA, "isotropic u16", "vti u16"])
def test_every_way_of_doing_a_step_gives_the_same_bits(benches, which, isa):
    kernel_answers.verify(benches[which], isa)


def test_a_size_that_no_vector_divides_works_too():
    bench = kernel_bench.Bench(N + 1, "vti", 8, 2)
    kernel_answers.verify(bench, BEST)
    for case in kernel_bench.cases(bench, BEST):
        case.run()


def nbytes(bench, packed):
    """Return the bytes of all different arrays of a bench, or of two."""
    arrays = [bench.noise, bench.start, bench.image, bench.snap, *bench.state.prev, *bench.state.curr]
    for b in (bench, *packed):
        arrays += [*b.memory.values(), *(a for p in b.problems.values() for a in p.params.values())]
    return sum({a.ctypes.data: a.nbytes for a in arrays}.values())


@pytest.mark.parametrize("medium", kernels.MEDIA)
def test_the_bytes_of_a_bench_are_known_beforehand(benches, medium):
    packed = [benches[f"{medium} u16"]] if f"{medium} u16" in benches else []
    # memory fields have rows of whole vectors, image and snapshot drop none: nothing but rounding differs
    assert kernel_bench.bytes_needed(N, medium, 4, bool(packed)) == pytest.approx(
        nbytes(benches[medium], packed), rel=1e-3
    )


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
    settings = kernels.Settings(("isotropic", "vti"), (4,), (BEST,), (1,), ("f32", "u16"), N, rounds=1)
    return kernels.measure(settings, clock=lambda: next(ticks), seconds=0.1)


def rows_of(result, medium, storage="f32"):
    return {r["case"]: r for r in result.rows if (r["medium"], r["model_storage"]) == (medium, storage)}


def test_rates_count_all_points_and_interior_ones_apart(result):
    rows = rows_of(result, "vti")
    assert rows["core"]["points_per_s"] == pytest.approx(N**3 / 0.5)
    assert rows["core"]["interior_points_per_s"] == rows["core"]["points_per_s"]
    assert rows["pml 12"]["interior_points_per_s"] == pytest.approx((N - 24) ** 3 / 0.5)
    assert rows["damping 40"]["interior_points_per_s"] == pytest.approx((N - 80) ** 3 / 0.5)


def test_a_call_of_several_steps_counts_them_all(result):
    row = rows_of(result, "isotropic")["core, segment"]
    steps = kernel_bench.STEPS_PER_CALL["isotropic"]
    assert row["points_per_s"] == pytest.approx(steps * N**3 / 0.5)
    assert row["core_steps"] == pytest.approx(1 / steps)
    assert row["of_roof"] == pytest.approx(steps)
    assert (row["loop"], row["steps_per_pass"]) == ("segment", 4)


def test_a_layer_costs_what_it_adds_to_the_core_done_the_same_way(result):
    rows = rows_of(result, "vti")
    # every call takes the same half second here
    assert rows["pml 12"]["layer_extra"] == rows["damping 40, segment"]["layer_extra"] == pytest.approx(0.0)
    assert rows["pml 12, segment"]["core_steps"] == pytest.approx(1 / kernel_bench.STEPS_PER_CALL["vti"])
    assert rows["core"]["layer_extra"] is None


@pytest.mark.parametrize(("medium", "nbytes"), [("isotropic", 16), ("vti", 36)])
def test_shares_are_of_the_yardsticks(result, medium, nbytes):
    rows = rows_of(result, medium)
    core, points = rows["core"], N**3
    assert core["roof_gb_s"] == pytest.approx(nbytes * points / 0.5 / 1e9)
    assert core["of_roof"] == core["x_plain"] == pytest.approx(1.0)
    operations_per_s = speed.cost(medium).operations(2) * points / 0.5
    assert core["of_multiply_add"] == pytest.approx(operations_per_s / 1e9 / rows["multiply-add"]["gflop_s"])


@pytest.mark.parametrize(("medium", "nbytes"), [("isotropic", 14), ("vti", 30)])
def test_packed_models_have_their_own_roof_and_are_compared_with_float32(result, medium, nbytes):
    rows = rows_of(result, medium, "u16")
    assert rows["roof"]["roof_gb_s"] == pytest.approx(nbytes * N**3 / 0.5 / 1e9)
    assert rows["core"]["x_f32"] == rows["core"]["x_plain"] == pytest.approx(1.0)
    assert "plain loop" not in rows
    assert "snapshot" not in rows


def test_imaging_is_a_share_of_a_core_step(result):
    rows = rows_of(result, "vti")
    assert rows["snapshot, every 8th step"]["core_steps"] == pytest.approx(1 / 8)
    assert rows["correlate and square, every 8th step"]["core_steps"] == pytest.approx(2 / 8)
    assert rows["snapshot"]["core_steps"] == pytest.approx(1.0)


def test_what_a_plan_needs_goes_into_machine_json(result):
    rows = kernels.for_machine(result)
    assert len(rows) == 2 * 2 * 3 * 2  # media, storages, boundaries, loops
    for row in rows:
        assert set(KEYS["kernels"]) < set(row)
        assert row["points_per_s"] > 0
        assert {"date", "version", "noisy", "spread", "of_roof"} < set(row)
        assert "seconds" not in row
    assert len({tuple(row[k] for k in KEYS["kernels"]) for row in rows}) == len(rows)


def test_the_tables_say_what_ran_and_how_fast_memory_was(result):
    iso, packed, vti, _ = kernel_tables.tables(result.rows)
    assert f"isotropic, order 4, {N}^3 points, {BEST}, 1 thread: 16 B and 23 operations per point" in iso
    assert f"isotropic, order 4, {N}^3 points, models u16, {BEST}, 1 thread: 14 B" in packed
    assert f"roof at {36 * N**3 / 0.5 / 1e9:.1f} GB/s" in vti
    assert "multiply-add" not in vti.split("\n", 1)[1]
    (csv,) = kernel_tables.tables(result.rows, "csv")
    assert csv.splitlines()[0].startswith("medium,order,isa,threads,n,model_storage,case,points_per_s")
    assert len(csv.splitlines()) == 1 + len(result.rows)
    first = next(kernel_tables.tables(result.rows, "markdown"))
    assert first.startswith("**isotropic")
    assert "| core |" in first


def test_the_notes_explain_shares_above_the_roof(result):
    assert any("isotropic 10 B instead of 16, vti 22 B instead of 36" in note for note in result.notes)
