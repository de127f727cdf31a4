"""The choice of the instruction set, and the border between the objects compiled for different ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import small_run

from subsalt import _native, doctor
from subsalt.kernels import cpu
from subsalt.propagation import devices

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


STUBS = """
#include <cstdio>
#include "isa/dispatch.hpp"
#include "isa/row_dispatch.hpp"
namespace subsalt::v2 {
const Table& table() { static const Table t{"v2"}; return t; }
const LabTable& lab_table() { static const LabTable t{}; return t; }
const PrepareTable& prepare_table() { static const PrepareTable t{}; return t; }
const RowTable& row_table() { static const RowTable t{}; return t; }
} // namespace subsalt::v2
int main() {
    for (const auto& name : subsalt::available()) std::printf("%s ", name.c_str());
    std::printf("%s", subsalt::kernels().name);
    for (const auto& name : subsalt::left_out()) std::printf(" %s", name.c_str());
}
"""


@pytest.mark.skipif("v3" not in cpu.available(), reason="this processor has no level but v2")
def test_a_build_without_levels_chooses_among_those_it_has_and_names_the_others(tmp_path):
    """The dispatch of a build with LEVELS=here on a processor of level v2, run on this one."""
    native = ROOT / "native"
    (tmp_path / "main.cpp").write_text(STUBS)
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler")
    subprocess.run(
        [
            *(compiler, "-std=c++20", "-O0", "-DSUBSALT_WITHOUT_v3", "-DSUBSALT_WITHOUT_v4"),
            *(f"-I{native}", f"-I{native / 'include'}"),
            *(tmp_path / "main.cpp", native / "isa" / "dispatch.cpp", "-o", tmp_path / "dispatch"),
        ],
        check=True,
    )
    env = {k: v for k, v in os.environ.items() if k != "SUBSALT_ISA"}
    said = subprocess.run([tmp_path / "dispatch"], capture_output=True, text=True, check=True, env=env).stdout
    better = [isa for isa in [*cpu.available(), *cpu.left_out()] if isa in ("v3", "v4")]
    assert said.split() == ["v2", "v2", *better]


def test_what_this_processor_has_and_the_build_lacks_is_said(monkeypatch):
    """Results are the same without it, but nobody shall lose speed and not know."""
    monkeypatch.delenv("SUBSALT_ISA", raising=False)
    monkeypatch.setattr(cpu, "left_out", lambda: ["v3", "v4"])
    (finding,) = devices.slower_kernels("cpu")
    assert finding.code == "W707"
    assert "has x86-64-v4, for which no kernels were compiled: it computes with" in finding.message
    assert "LEVELS=all" in finding.fix
    assert devices.slower_kernels("reference") == []
    diagnosis = doctor.examine(self_test=False)
    assert diagnosis.left_out == finding.message
    assert finding.message in "\n".join(diagnosis.lines())
    # an instruction set that is forced is wanted
    monkeypatch.setenv("SUBSALT_ISA", "v2")
    assert devices.slower_kernels("cpu") == []
    monkeypatch.delenv("SUBSALT_ISA")
    monkeypatch.setattr(cpu, "left_out", list)
    assert devices.slower_kernels("cpu") == []


def test_the_check_of_a_job_says_it_too(tmp_path, monkeypatch, subsalt_command):
    monkeypatch.delenv("SUBSALT_ISA", raising=False)
    monkeypatch.setattr(cpu, "left_out", lambda: ["v4"])
    code, out, err = subsalt_command("check", small_run.make(tmp_path))
    assert code == 0
    assert "W707" in out + err


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
