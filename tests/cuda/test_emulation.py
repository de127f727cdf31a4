"""The emulated device notices what a GPU may forgive for years: the mistakes planted in `planted.cu`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from emulated_plugin import EMULATED_PLUGIN

PROGRAM = EMULATED_PLUGIN.parent / "planted"

#: orders in which work is done: as asked for, and at random
ORDERS = ("", "1", "2", "3", "4", "5", "6")

ON_HOST = "a kernel was given the address of host memory that is not page-locked"

RELEASED = "page-locked memory was released while a copy was under way"

REACHES = "a copy or fill on device 0 has memory of device 1"

#: what the device says; None: the numbers are wrong, in some orders
CASES: dict[str, str | None] = {
    "threads that do not wait for each other": None,
    "shared memory used again too early": None,
    "blocks that count on each other": None,
    "no event between streams": None,
    "an event that was recorded too early": None,
    "a buffer overwritten while it is copied": None,
    "the host reads too early": None,
    "the host waits for another stream": None,
    "device memory used unwritten": None,
    "shared memory used unwritten": None,
    "a read behind an array": None,
    "one group of copies fewer than is read": None,
    "a copy that nobody waits for": None,
    "a write behind an array": "a kernel wrote behind a device array of 1516 bytes",
    "a write before an array": "a kernel wrote before a device array of 1536 bytes",
    "dynamic shared memory too short": "a kernel wrote behind its 256 bytes of shared memory",
    "a shared array too short": "a kernel wrote behind a shared array of 256 bytes",
    "an argument on the host": f"{ON_HOST}, at byte 0 of an argument of 8",
    "a struct that points to the host": f"{ON_HOST}, at byte 0 of an argument of 16",
    "memory that was given back": f"{ON_HOST}, at byte 0 of an argument of 8",
    "a copy beyond an array": "a copy or fill reaches beyond a device array, or lies on the other side",
    "a copy that goes the other way": "a copy or fill reaches beyond a device array, or lies on the other side",
    "page-locked memory given back too early": RELEASED,
    "memory unlocked too early": RELEASED,
    "threads at different barriers": "threads of a block waited at different barriers",
    "a vector off its alignment": "a kernel read or wrote a vector that does not lie on a multiple of its size",
    "memory of another device": (
        "a kernel of device 0 was given the address of memory of device 1, at byte 0 of an argument of 8"
    ),
    "a copy to memory of another device": REACHES,
    "memory of another device cleared": REACHES,
    "a stream of another device": "invalid resource handle",
    "an event of another device": "invalid resource handle",
    "a thread that has not chosen its device": (
        "a kernel of device 1 was given the address of memory of device 0, at byte 0 of an argument of 8"
    ),
    "shared memory allowed on another device": "invalid configuration argument",
    "more shared memory than there is": "invalid configuration argument",
}

pytestmark = pytest.mark.skipif(not PROGRAM.is_file(), reason="planted.cu is not built (make emulated)")


#: make emulated-sanitize: what the sanitizers see they stop themselves
SANITIZED = "sanitize" in PROGRAM.parent.name
STOPPED = "stopped by a sanitizer"


def planted(*words: str, order: str = "") -> str:
    env = {**os.environ, "SUBSALT_EMULATED_ORDER": order, "SUBSALT_EMULATED_GPUS": "2"}
    done = subprocess.run([PROGRAM, *words], env=env, capture_output=True, text=True, timeout=60)
    if SANITIZED and ("AddressSanitizer" in done.stderr or "runtime error:" in done.stderr):
        return STOPPED
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_planted_mistake_is_listed():
    assert sorted(planted().splitlines()) == sorted(CASES)


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_noticed_and_its_mending_too(case):
    said = {planted(case, "0", order=order) for order in ORDERS}
    assert {planted(case, "1", order=order) for order in ORDERS} == {"right"}
    if SANITIZED:
        assert said & {STOPPED, "wrong", CASES[case]}
    elif CASES[case] is None:
        assert "wrong" in said
        assert said <= {"wrong", "right"}
    elif CASES[case] == RELEASED:
        # where work is done as it is asked for, the copy is over by then
        assert said == {RELEASED, "right"}
    else:
        assert said == {CASES[case]}


def test_an_order_is_the_same_every_time():
    case = "no event between streams"
    assert len({planted(case, "0", order="5") for _ in range(5)}) == 1


def test_shared_memory_is_declared_by_the_macros_alone():
    # the emulation fills and guards what they make; of __shared__ it would see nothing
    folder = Path(__file__).parents[2] / "native" / "cuda"
    users = [f.name for f in folder.glob("*.cu*") if "__shared__" in f.read_text()]
    assert users == []
