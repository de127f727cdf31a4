"""Sweeps and multiply-adds: their answers, and the arithmetic from seconds to GB/s."""

import itertools
import re

import numpy as np
import pytest

from subsalt import _native
from subsalt.errors import MemoryPlanError, SubsaltError
from subsalt.host import cache_bytes
from subsalt.kernels import cpu
from subsalt_lab import memory, sweeps

ISAS = cpu.available()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("threads", [1, 3])
def test_sweeps_agree_with_numpy_on_whole_numbers(isa, threads):
    rng = np.random.default_rng(2)
    n = 16 * 100
    o, a, p = (rng.integers(-100, 100, n).astype(np.float32) for _ in range(3))
    how = {"threads": threads, "isa": isa}
    out = o.copy()
    sweeps.update(out, a, p, **how)
    assert (out == a * p + (p - o)).all()
    sweeps.triad(out, a, p, 3.0, **how)
    assert (out == a + 3 * p).all()
    sweeps.copy(out, p, **how)
    assert (out == p).all()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("threads", [1, 2])
def test_multiply_adds_of_every_thread_and_chain(isa, threads):
    chains, lanes = sweeps.chains(isa)
    got = sweeps.multiply_add(0.5, 1.0, 3, threads=threads, isa=isa)
    assert got.shape == (threads, chains, lanes)
    k = np.arange(chains, dtype=float)
    for _ in range(3):
        k = 0.5 * k + 1.0
    assert (got == k[:, None]).all()
    assert sweeps.operations(3, threads=threads, isa=isa) == 2 * 3 * got.size


def test_arguments_that_would_leave_the_arrays_are_refused():
    a = np.zeros(32, np.float32)
    with pytest.raises(ValueError, match="differ in size"):
        _native.lab.copy(a, np.zeros(48, np.float32), 1, ISAS[0])
    with pytest.raises(ValueError, match="multiple of 16"):
        _native.lab.copy(np.zeros(17, np.float32), np.zeros(17, np.float32), 1, ISAS[0])
    with pytest.raises(ValueError, match="threads"):
        _native.lab.copy(a, a.copy(), 0, ISAS[0])
    with pytest.raises(ValueError, match="chains"):
        _native.lab.multiply_add(a, 0.5, 1.0, 1, 1, ISAS[-1])
    with pytest.raises(RuntimeError, match="v9"):
        _native.lab.copy(a, a.copy(), 1, "v9")


def test_rates_follow_from_bytes_and_seconds():
    ticks = itertools.count(0.0, 0.5)  # every reading half a second after the one before
    settings = memory.Settings((1, 2), ISAS[-1:], rounds=3, array_bytes=1 << 20)
    result = memory.measure(settings, clock=lambda: next(ticks), seconds=0.1)
    elements = (1 << 20) // 4
    rates = {(r["what"], r["threads"]): r for r in result.rows}
    assert len(rates) == 8
    for what, nbytes in {"update": 16, "triad": 12, "copy": 8}.items():
        for threads in (1, 2):
            row = rates[what, threads]
            assert row["rate"] == pytest.approx(elements * nbytes / 0.5 / 1e9)
            assert (row["unit"], row["bytes_per_element"], row["spread"]) == ("GB/s", nbytes, 0.0)
            assert row["seconds"] == [0.5] * 3
    chains, lanes = sweeps.chains(ISAS[-1])
    adds = rates["multiply-add", 2]
    assert adds["rate"] == pytest.approx(2 * 2 * chains * lanes * memory.MULTIPLY_ADDS / 0.5 / 1e9)
    assert adds["of_one_thread"] == pytest.approx(2.0)
    assert rates["copy", 2]["of_one_thread"] == pytest.approx(1.0)
    assert rates["copy", 1]["of_one_thread"] is None


@pytest.mark.parametrize("what", ["update", "triad", "copy", "multiply_add"])
def test_a_wrong_answer_gives_no_figure(monkeypatch, what):
    right = getattr(sweeps, what)

    def wrong(*args, **more):
        out = right(*args, **more)
        if out is not None:
            out[..., -1] += 1e-6
        else:
            args[0][-1] += 1e-6

        return out

    monkeypatch.setattr(sweeps, what, wrong)
    with pytest.raises(SubsaltError, match="wrong answer") as error:
        memory.measure(memory.Settings((1,), ISAS[:1], 3, 1 << 16), seconds=0.0)
    assert error.value.code == "E710"


def test_arrays_exceed_four_caches():
    assert memory.wanted_bytes() > 4 * max(cache_bytes().values(), default=0)


def test_arrays_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "machine_facts", lambda: {"ram_bytes": 10**9})
    with pytest.raises(MemoryPlanError, match=re.escape("1.0 GB of memory")):
        memory.measure(memory.Settings((1,), ISAS[:1], 3, 2 * 10**8))


def test_caches_are_read_from_the_system(tmp_path):
    for i, (level, kind, size) in enumerate(
        [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "1M"), ("3", "Unified", "")]
    ):
        folder = tmp_path / f"index{i}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(text + "\n")
    assert cache_bytes(tmp_path) == {"L1": 48 << 10, "L2": 1 << 20}
    assert cache_bytes(tmp_path / "none") == {}
