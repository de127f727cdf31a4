"""The choice of the instruction set, and the border between the objects compiled for different ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from subsalt import _native
from subsalt.kernels import cpu

ROOT = Path(__file__).resolve().parents[2]


def in_process(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | env, capture_output=True, text=True, check=False
    )


DESCRIBE = "import json; from subsalt.kernels import cpu; print(json.dumps(cpu.describe()))"


@pytest.mark.parametrize("isa", cpu.available())
def test_the_environment_forces_an_instruction_set(isa):
    out = in_process(DESCRIBE, SUBSALT_ISA=isa, OMP_NUM_THREADS="1")
    facts = json.loads(out.stdout)
    assert facts == {
        "device": "cpu",
        "isa": isa,
        "class": "mul-add" if isa == "v2" else "fma",
        "threads": 1,
    }


def test_an_unknown_instruction_set_is_refused_with_those_there_are():
    out = in_process(DESCRIBE, SUBSALT_ISA="v9")
    assert out.returncode != 0
    assert f"'v9' is not available here; there are {', '.join(cpu.available())}" in out.stderr


def test_the_best_instruction_set_is_the_default():
    facts = json.loads(in_process(DESCRIBE, SUBSALT_ISA="").stdout)
    assert facts["isa"] == cpu.available()[-1]


def test_no_code_is_shared_between_instruction_sets():
    """A template instantiated under two sets of flags would be merged by the linker, maybe the wrong way."""
    tag = sys.implementation.cache_tag
    folder = ROOT / "build" / tag / "CMakeFiles"
    objects = sorted(folder.glob("isa_*.dir/native/isa/*.o"))
    if not objects or shutil.which("nm") is None:
        pytest.skip("no build folder here, or no nm")
    for path in objects:
        name = path.parent.parent.parent.name.partition("_")[2].removesuffix(".dir")
        listing = subprocess.run(["nm", "-C", str(path)], capture_output=True, text=True, check=True).stdout
        weak = [line.split(maxsplit=2)[-1] for line in listing.splitlines() if " W " in line or " u " in line]
        foreign = [s for s in weak if f"subsalt::{name}::" not in s]
        assert not foreign, (name, foreign[:3])


def test_the_module_is_compiled():
    assert "_native" in _native.__file__
