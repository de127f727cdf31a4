"""Machine code of device kernels, read: loops, classes of instructions, blocks at once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

ASSEMBLY = """
	.section	.text._Zkernel,"ax",@progbits
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   FADD.FTZ R2, R2, R3.reuse ;
        /*0020*/              @!PT LDS RZ, [RZ] ;
        /*0030*/               @P0 BRA `(.L_x_3) ;
        /*0040*/                   IMAD.MOV.U32 R4, RZ, RZ, R2 ;
.L_x_2:
        /*0050*/                   LDS.128 R4, [R6+0x10] ;
        /*0060*/               @P1 BRA `(.L_x_2) ;
        /*0070*/                   BRX R4 -0xd0                    (*"BRANCH_TARGETS .L_x_1,.L_x_3"*);
        /*0080*/                   EXIT ;
.L_x_3:
        /*0090*/                   STL [R1+0x20], R18              (*"SpillRefill"*);
        /*00a0*/                   BRA `(.L_x_1) ;
.L_x_4:
        /*00b0*/                   BRA `(.L_x_4);
        /*00c0*/                   NOP;
"""


@pytest.fixture
def device_code(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    return pytest.importorskip("device_code")


def test_loops_are_found_with_all_their_branches(device_code, monkeypatch):
    monkeypatch.setattr(device_code, "SMALLEST", 2)
    (rows,) = device_code.lines_of(ASSEMBLY).values()
    every, loops = device_code.loops_of(rows)
    # neither the padding nor what is never executed counts
    assert len(every) == 11
    # EXIT and what comes before and behind the loop are no part of it; the inner loop is
    assert [Counter(line.kind for line in loop) for loop in loops] == [
        {"arithmetic": 1, "moves": 1, "shared loads": 1, "spills": 1, "jumps": 4}
    ]


@pytest.mark.parametrize(
    ("arch", "threads", "shared", "registers", "blocks"),
    [
        ("sm_90", 256, 36864, 104, 2),  # registers: 4 warps of 3328 on each scheduler, two of each block
        ("sm_90", 448, 94208, 128, 1),  # 14 warps of 16
        ("sm_80", 256, 57344, 64, 2),  # shared memory: 164 KiB, and 57 taken
        ("sm_80", 64, 0, 16, 32),  # no multiprocessor has more
    ],
)
def test_blocks_at_once(device_code, arch, threads, shared, registers, blocks):
    assert device_code.blocks_at_once(arch, threads, shared, registers) == blocks
