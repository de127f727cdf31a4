"""Snapshots in 16 bits: the error that was derived, and one set of bits for every instruction set and the reference."""

import numpy as np
import pytest

from kernel_problems import make_problem, random_state, to_cpu
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, reference
from subsalt.kernels.scaled16 import BLOCK, as_words, pack16, row16, shape16, unpack16, words16

#: half a step of the mantissas, which are whole numbers below 2^15 where the largest of a block has at least 2^14; a
#: whole step where 2^15 becomes 32767
BOUND = 2.0**-15 * (1 + 2.0**-15)
SHAPE = (21, 18, 165)


def blocks_of(rows):
    """Return rows in blocks, those that are cut short filled with zeros."""
    n = rows.shape[-1]
    full = np.zeros((*rows.shape[:-1], -(-n // BLOCK) * BLOCK))
    full[..., :n] = rows
    return full.reshape(*rows.shape[:-1], -1, BLOCK)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 128, 200])
def test_every_number_is_within_the_bound_of_its_block(n):
    rng = np.random.default_rng(n)
    # amplitudes of blocks, and of numbers inside them, over many orders
    field = (rng.standard_normal((50, n)) * 10.0 ** rng.uniform(-20, 20, (50, 1))).astype(np.float32)
    field *= (10.0 ** rng.uniform(-6, 0, field.shape)).astype(np.float32)
    field[0], field[1] = 0.0, np.float32(1.0) - np.float32(2.0**-24)
    packed = pack16(field)
    assert packed.shape == shape16(field.shape) == (50, row16(n))
    assert 2 * words16(field.shape) == packed.size
    back = unpack16(packed, n)
    error, most = (np.abs(blocks_of(a)).max(axis=-1) for a in (back.astype(np.float64) - field, field))
    assert (error <= BOUND * most).all()
    assert error[1].min() > 0.99 * BOUND  # a bound that is met
    assert np.array_equal(pack16(back), packed)


def test_a_weak_wave_beside_a_strong_one_is_kept():
    field = np.ones((1, 2 * BLOCK), np.float32)
    field[0, BLOCK:] = 1e-12 * np.sin(np.arange(BLOCK))
    error = np.abs(unpack16(pack16(field), 2 * BLOCK) - field)[0, BLOCK:]
    assert error.max() <= BOUND * 1e-12


def test_numbers_beyond_reach_become_zero_or_not_a_number():
    field = np.full((4, BLOCK), 1.0, np.float32)
    field[0] *= 2.0**-104
    field[1] *= 2.0**-103
    field[2, 5], field[3, 7] = np.nan, np.inf
    back = unpack16(pack16(field), BLOCK)
    assert not back[0].any()
    assert np.array_equal(back[1], field[1])
    assert np.isnan(back[2:]).all()


@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_all_instruction_sets_pack_like_the_reference(medium):
    problem = make_problem(SHAPE, medium, "none", 8)
    ref = random_state(problem)
    for level in ref.curr:
        view = problem.layout.view(level)
        view[3], view[4, 5] = view[3] * np.float32(1e-9), 0.0
        view[6, 7, 80] = np.inf
    state = to_cpu(problem, ref)
    for box in (Box((0, 0, 0), SHAPE), Box((2, 1, 5), (17, 11, 140)), Box((2, 2, 2), (2, 5, 9))):
        want = np.empty(shape16(box.shape), np.int16)
        reference.snapshot(problem, ref.curr, want, box)
        assert np.array_equal(want, pack16(reference.imaged(problem, ref.curr, box)))
        for isa in cpu.available():
            for threads in (1, 3):
                got = np.full_like(want, 77)
                with cpu.forced(isa, threads=threads):
                    cpu.snapshot(problem, state.curr, got, box)
                assert np.array_equal(got, want), (isa, threads, box)


@pytest.mark.parametrize("isa", cpu.available())
def test_a_packed_snapshot_is_correlated_as_it_is_unpacked(isa):
    problem = make_problem(SHAPE, "vti", "none", 8)
    state = to_cpu(problem, random_state(problem))
    box = Box((3, 2, 5), (17, 11, 154))
    rng = np.random.default_rng(9)
    u, start = (rng.uniform(-1, 1, box.shape).astype(np.float32) for _ in range(2))
    packed, images = pack16(u), [start.copy(), start.copy()]
    with cpu.forced(isa):
        cpu.correlate(problem, images[0], packed, state.curr, box, 0.7)
        cpu.correlate(problem, images[1], unpack16(packed, box.shape[2]), state.curr, box, 0.7)
    assert images[0].tobytes() == images[1].tobytes()


def test_a_packed_array_of_another_shape_is_refused():
    problem = make_problem(SHAPE, "isotropic", "none", 8)
    state = cpu.new_state(problem)
    box = Box((3, 2, 5), (17, 11, 154))
    for wrong in (np.empty(box.shape, np.int16), np.empty(shape16(box.shape), np.int16)[:, :, ::-1]):
        with pytest.raises(ValueError, match="the snapshot"):
            cpu.snapshot(problem, state.curr, wrong, box)
    assert as_words(np.empty(shape16(box.shape), np.int16)).size == words16(box.shape)
