"""A GPU that is lost, fails, or has no more memory in the middle: what is said, and that the process can end."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_states import other_device, to_device

from kernel_problems import make_problem, random_state, to_cpu
from patience import cpu_seconds, wait_for
from segment_work import by_segment, work_for
from subsalt.earth.grid import Box
from subsalt.errors import DeviceError
from subsalt.kernels import cuda, cuda_library
from subsalt.kernels.work import Snapshots, Work

SHAPE = (12, 17, 35)


@pytest.fixture
def own(emulated: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return the plug-in of a device of its own, which may break."""
    other_device(emulated, monkeypatch, tmp_path / "breaks.so")
    return emulated


@pytest.mark.parametrize("after", [1, 2, 40, 200])
def test_a_device_lost_in_the_middle_is_said(own: Any, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    problem = make_problem(SHAPE, "isotropic", "pml", 4)
    state, work = to_device(problem, to_cpu(problem, random_state(problem))), work_for(problem)
    monkeypatch.setenv("SUBSALT_EMULATED_LOST", str(after))
    with pytest.raises(DeviceError, match="the GPU was lost") as said:
        by_segment(cuda, problem, state, 39, work)
    assert (said.value.code, said.value.exit_code) == ("E984", 69)
    assert "start it again" in said.value.fix
    # nothing works any more, and everything can be thrown away
    with pytest.raises(DeviceError) as again:
        np.asarray(state.curr[0])
    assert again.value.code == "E984"
    del state, work, problem
    gc.collect()


def test_what_releasing_ran_into_the_next_call_says(own: Any) -> None:
    """Finalizers have nobody to tell."""
    cuda.reserve(4)
    out = cuda_library.pointers([None])
    cuda_library.call("subsalt_cuda_allocate", out, 1024, 0)
    for _ in range(2):
        cuda_library.library().subsalt_cuda_release(out[0])
    with pytest.raises(DeviceError, match="releasing memory on the GPU"):
        cuda_library.call("subsalt_cuda_allocate", out, 1024, 0)
    cuda_library.call("subsalt_cuda_allocate", out, 1024, 0)
    cuda_library.library().subsalt_cuda_release(out[0])


def test_an_operation_that_fails_is_another_error(own: Any) -> None:
    cuda.reserve(4)
    with pytest.raises(DeviceError, match="second GPU in one process") as said:
        cuda_library.call("subsalt_cuda_use", 1)
    assert (said.value.code, said.value.exit_code) == ("E985", 69)


def in_use() -> int:
    """Return the bytes that this process has on the device."""
    values = [ctypes.c_int64() for _ in range(4)]
    cuda_library.call("subsalt_cuda_allocated", *(ctypes.byref(v) for v in values))
    return values[0].value


def test_too_little_memory_for_a_segment_leaves_the_device_as_it_was(
    own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = make_problem(SHAPE, "isotropic", "none", 4)
    state = cuda.new_state(problem)
    assert by_segment(cuda, problem, state, 0, Work())
    box = Box((0, 0, 0), SHAPE)
    work = Work(snapshots=Snapshots(box, {it: np.zeros(SHAPE, np.float32) for it in (1, 2)}))
    before = in_use()
    monkeypatch.setenv("SUBSALT_EMULATED_MEMORY", str(before + 4 * box.size + 100))
    with pytest.raises(cuda_library.OutOfDeviceMemory, match="preparing time steps"):
        by_segment(cuda, problem, state, 3, work)
    assert state.it == 0
    # the one buffer that there was room for is given back when somebody needs it
    room = cuda.reserve(box.size)
    assert in_use() == before + 4 * box.size
    del room
    monkeypatch.setenv("SUBSALT_EMULATED_MEMORY", str(before + 16 * box.size))
    assert by_segment(cuda, problem, state, 3, work)


def test_too_little_page_locked_memory_is_an_error_of_the_host(
    own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda.reserve(4)
    monkeypatch.setenv("SUBSALT_EMULATED_LOCKED", str(cuda.allocated()["host"] + 4000))
    reserved = cuda.reserve_host(1000)
    wanted = r"no more page-locked memory \(.*: 2\.000 MB of page-locked memory wanted beside 0\.004 MB"
    with pytest.raises(cuda_library.OutOfLockedMemory, match=wanted) as said:
        cuda.reserve_host(500_000)
    assert (said.value.code, said.value.exit_code) == ("E986", 69)
    assert "[checkpoint] memory" in said.value.fix
    assert not isinstance(said.value, cuda_library.OutOfDeviceMemory)
    # what segments need of it themselves
    problem = make_problem(SHAPE, "isotropic", "none", 4)
    with pytest.raises(cuda_library.OutOfLockedMemory, match="preparing time steps"):
        by_segment(cuda, problem, cuda.new_state(problem), 1, Work())
    assert cuda.lock(np.zeros(1000, np.float32)) is None  # copies are slower then, and right
    del reserved
    assert by_segment(cuda, problem, cuda.new_state(problem), 1, Work())


def test_buffers_are_lent_from_segment_to_segment_and_go_with_the_problem(own: Any) -> None:
    problem = make_problem(SHAPE, "isotropic", "none", 4)
    assert by_segment(cuda, problem, cuda.new_state(problem), 1, Work())
    del problem
    gc.collect()
    empty = in_use()  # what a check needs stays
    problem = make_problem(SHAPE, "isotropic", "none", 4)
    state, work = cuda.new_state(problem), work_for(problem)
    assert by_segment(cuda, problem, state, 3, work)
    after = in_use()
    for _ in range(3):
        assert by_segment(cuda, problem, state, 3, work)
        assert in_use() == after
    del state, problem
    work = Work()
    gc.collect()
    assert in_use() == empty


ENDS = """
import os, sys
sys.path[:0] = {paths!r}
from kernel_problems import make_problem
from segment_work import work_for
from subsalt.errors import DeviceError
from subsalt.kernels import cuda
from segment_work import by_segment

problem = make_problem({shape!r}, "isotropic", "pml", 8)
state, segment = cuda.new_state(problem), cuda.Segment(problem)
segment.advance(state, 2, 50, False)
"""

LOST = """
os.environ["SUBSALT_EMULATED_LOST"] = "30"
by_segment(cuda, problem, state, 39, work_for(problem))
"""

INTERRUPTED = """
print("started", flush=True)
try:
    segment.advance(state, 10**9, 10**9, False)
except KeyboardInterrupt:
    level = id(state.curr[0]), id(state.prev[0])
    segment.advance(state, 1, 50, True)
    turned = level == (id(state.prev[0]), id(state.curr[0]))
    print(state.it > 3, turned)
"""


def program(emulated: Any, shape: tuple[int, int, int], end: str) -> list[str]:
    here = Path(__file__).parent
    paths = [str(here), str(here.parent)]
    return [sys.executable, "-c", ENDS.format(paths=paths, shape=shape) + end]


def test_a_process_that_lost_its_device_ends(emulated: Any) -> None:
    done = subprocess.run(
        program(emulated, SHAPE, LOST), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1, done
    assert done.stderr.splitlines()[-1].startswith("subsalt.errors.DeviceError: the GPU was lost (")
    assert done.stderr.count("Traceback") == 1


def test_ctrl_c_ends_one_long_segment(gpu_device: Any) -> None:
    words = program(gpu_device, (40, 40, 40), INTERRUPTED)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        begun = cpu_seconds(process.pid)
        # into the segment
        wait_for(lambda: cpu_seconds(process.pid) > begun + 0.4, "the segment")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    assert out.split() == ["True", "True"]
    assert process.returncode == 0
