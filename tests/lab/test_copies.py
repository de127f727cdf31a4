"""`lab kernels --copies`: independent copies at the same time, counted in the window in which all of them ran."""

import json
import os

import pytest

from subsalt.errors import MemoryPlanError, SubsaltError
from subsalt_lab import copies, copies_worker
from subsalt_lab.copies import ALONE, THREADS, TOGETHER, Settings
from subsalt_lab.topology import Topology

FOUR = Topology(((0,), (1,), (2,), (3,)))


def settings(**more):
    return Settings(**{"media": ["vti"], "orders": [8], "isas": ["v3"], "copies": [2], "rounds": 2} | more)


def test_only_the_window_in_which_all_ran_counts():
    # one begins late, the other ends early: the window is 2 to 6
    first = {"first": 0.0, "ends": [2.0, 4.0, 6.0]}
    late = {"first": 2.0, "ends": [3.0, 4.0, 5.0, 8.0]}
    assert copies.window_rates([first, late], 10.0) == [
        2 * 10.0 / 4.0,  # of its three calls the first lies before
        pytest.approx((3 + 1 / 3) * 10.0 / 4.0),  # a third of its last call is inside
    ]
    assert copies.window_rates([first], 10.0) == [5.0]


def answered(work, field="same", slow=1.0):
    """Answer as copies that take a second a call alone, `slow` seconds together, and half of one with two threads."""
    seconds = {ALONE: 1.0, TOGETHER: slow, THREADS: 0.5}
    cases = {
        name: [
            [{"first": 0.0, "ends": [seconds[name] * k for k in range(1, 9)]} for _ in running]
            for _ in range(work.rounds)
        ]
        for name, running in work.cases.items()
    }
    facts = [{"field": field if i else "same", "point_steps": 100.0} for i in range(len(work.threads))]
    return {"facts": facts, "cases": cases}


def test_rates_of_copies_against_one_and_against_threads():
    seen = []

    def run(work, timeout):
        seen.append(work)
        return answered(work, slow=2.0)

    result = copies.measure(settings(copies=[1, 2]), run=run, topology=FOUR)
    rows = {(r["case"], r["copies"], r["threads"]): r for r in result.rows}
    assert set(rows) == {(ALONE, 1, 1), (TOGETHER, 2, 1), (THREADS, 1, 2)}
    together = rows[TOGETHER, 2, 1]
    assert together["points_per_s"] == 2 * 50.0
    assert together["least_per_s"] == together["most_per_s"] == 50.0
    assert together["of_copies_alone"] == 0.5
    assert together["of_one_process"] == 0.5
    # two copies on cores of their own; the process with two threads on both
    assert seen[1].cpus == [[0], [1], [0, 1]]
    assert seen[1].threads == [1, 1, 2]
    section = copies.for_machine(result)
    assert {(r["copies"], r["threads"]) for r in section} == {(1, 1), (2, 1), (1, 2)}
    assert not any("samples" in r for r in section)
    for how in ("text", "markdown", "csv"):
        assert "copies" in copies.tables(result.rows, how)[0]


def test_more_threads_than_cores_are_marked_and_not_kept():
    result = copies.measure(
        settings(copies=[3], threads=2), run=lambda work, timeout: answered(work), topology=FOUR
    )
    assert [r["marks"] for r in result.rows] == ["", "oversubscribed", "oversubscribed"]
    assert [r["copies"] for r in copies.for_machine(result)] == [1]
    assert any("not kept" in note for note in result.notes)


def test_copies_that_differ_give_no_figure():
    with pytest.raises(SubsaltError, match="different fields") as error:
        copies.measure(settings(), run=lambda work, timeout: answered(work, "other"), topology=FOUR)
    assert error.value.code == "E710"


def test_copies_that_do_not_fit_into_memory():
    with pytest.raises(MemoryPlanError, match="100001 processes") as error:
        copies.measure(settings(copies=[100_000]), run=lambda work, timeout: pytest.fail("run"))
    assert error.value.code == "E612"


def test_copies_for_real(subsalt_command, tmp_path):
    """Two copies and their process of two threads, on a grid as small as its layer allows."""
    result = copies.measure(
        settings(n=40, isas=["v2"], rounds=2, media=["isotropic"], copies=[2], seconds=0.02)
    )
    assert {r["case"] for r in result.rows} == {ALONE, TOGETHER, THREADS}
    assert all(r["points_per_s"] > 0 and len(r["samples"]) == 2 for r in result.rows)
    json.dumps(copies.for_machine(result), allow_nan=False)


@pytest.mark.parametrize("how", ["raises", "dies"])
def test_a_copy_that_fails_ends_the_measurement(how):
    work = copies_worker.CopyWork("isotropic", 8, "v2", 40, [1], [[]], {ALONE: [0]}, 1, 0.01)
    if how == "raises":
        work = copies_worker.CopyWork("granite", 8, "v2", 40, [1], [[]], {ALONE: [0]}, 1, 0.01)
        with pytest.raises(SubsaltError, match="copy 1") as error:
            copies.run(work, 60.0)
        assert error.value.code == "E781"
        return
    with copies_worker.started(work) as there:
        os.kill(there[0].pid, 9)
        with pytest.raises(RuntimeError, match="ended by itself"):
            there[0].answer()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--copies", "0"), "--copies 0"),
        (("--copies", "two"), "--copies two"),
        (("--copies", "2", "--medium", "kirchhoff"), "--medium kirchhoff"),
        (("--copies", "2", "--storage", "u16"), "--storage u16"),
        (("--copies", "1", "--threads", "1,1,2"), "--threads"),
        (("--copies", "1", "-n", "40"), "-n 40"),
    ],
)
def test_wrong_options_are_refused(subsalt_command, tmp_path, args, said):
    code, _, err = subsalt_command("lab", "kernels", *args, "--out", tmp_path / "m.json")
    assert code == 2
    assert said in err
    assert not (tmp_path / "m.json").exists()
