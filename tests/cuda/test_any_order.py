"""Points, imaging and shells with blocks, threads and streams in any order that barriers and events allow."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from emulated_plugin import EMULATED_PLUGIN

TESTS = Path(__file__).parents[1]

PROGRAM = """
    import numpy as np
    from device_states import assert_same, both, fused, problem_of, random_points
    from subsalt.earth.grid import Box
    from subsalt.kernels import cpu, cuda
    from subsalt.kernels.shell import Shell

    problem = problem_of("vti", free_surface=True)
    host, device = both(problem)
    rng = np.random.default_rng(3)
    points = random_points(problem.layout.shape3, 3, 150, width=10)
    values = rng.uniform(-1, 1, 150).astype(np.float32)
    box = Box((1, 2, 3), (11, 30, 80))
    shell = Shell.of(Box((1, 0, 0), (11, 37, 80)), (2, 1, 3, 4, 0, 5))
    new = rng.uniform(-1, 1, (2, shell.cells)).astype(np.float32)
    u, image = (rng.uniform(-1, 1, box.shape).astype(np.float32) for _ in range(2))
    answers = []
    # nothing waits between the calls, but for what the host is given
    for kernels, state, isa in ((cpu, host, fused()), (cuda, device, "")):
        out = image.copy() if kernels is cpu else cuda.DeviceArray(box.shape)
        snap, kept = np.zeros(box.shape, np.float32), np.zeros(new.shape, np.float32)
        if kernels is cuda:
            out[...] = image
        with cpu.forced(isa):
            kernels.inject(problem, state.curr, points, values)
            kernels.put_back_shell(problem, state.curr, shell, new)
            kernels.inject(problem, state.curr, points, values)
            kernels.correlate(problem, out, u, state.curr, box, 0.7)
            kernels.square(problem, out, u, 0.3)
            kernels.keep_shell(problem, state.curr, shell, kept)
            kernels.snapshot(problem, state.curr, snap, box)
            samples = kernels.record(problem, state.curr, points)
            assert kernels.is_finite(problem, state.curr)
        answers.append([out, snap, kept, samples, *state.curr])
    assert_same(*answers)
"""


@pytest.mark.skipif(not EMULATED_PLUGIN.is_file(), reason="the emulated device is not built (make emulated)")
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_bytes_in_any_order(seed):
    environment = os.environ | {
        "SUBSALT_CUDA_PLUGIN": str(EMULATED_PLUGIN),
        "SUBSALT_EMULATED_ORDER": seed,
        "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS / "cuda")]),
    }
    program = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
