"""What `native/cuda/check_ptx.py` says of arithmetic instructions: nothing excepted goes under the name of rounded."""

import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "native" / "cuda"))

import check_ptx
import pytest

ROUNDED = Counter({"add.rn.ftz.f32": 5, "fma.rn.ftz.f32": 3, "fma.rn.f64": 2})


def test_all_rounded_is_said_only_where_it_is_so():
    said, bad = check_ptx.report({"field_step.cu": ROUNDED})
    assert not bad
    assert said == "10 of 10 operations in 1 sources are rounded as written"


def test_what_is_excepted_is_counted_and_named():
    said, bad = check_ptx.report(
        {"field_step.cu": ROUNDED, "kirchhoff_sum.cu": ROUNDED + Counter({"rsqrt.approx.ftz.f32": 4})}
    )
    assert not bad
    assert said.startswith("20 of 24 operations in 2 sources are rounded as written; 4 are approximations")
    assert "4 x rsqrt.approx.ftz.f32 in kirchhoff_sum.cu" in said


def test_what_is_not_rounded_is_wrong():
    for instruction, source in (
        ("rsqrt.approx.ftz.f32", "field_step.cu"),
        ("sqrt.approx.ftz.f32", "kirchhoff_sum.cu"),
        ("add.ftz.f32", "field_step.cu"),
        ("add.rn.f32", "field_step.cu"),
    ):
        said, bad = check_ptx.report({source: ROUNDED + Counter({instruction: 1})})
        assert bad == [f"{source}: 1 x {instruction}"]
        assert "some not rounded" in said


def code_of(*entries):
    """Return a library with containers of one entry each: (kind, generation, version of PTX)."""
    out = b"a library"
    for kind, generation, (major, minor) in entries:
        body = (
            check_ptx.CODE.pack(kind, 0x101, 64, 8, 0, 0, minor, major, generation).ljust(64, b"\0")
            + 8 * b"x"
        )
        out += check_ptx.CONTAINER.pack(0xBA55ED50, 1, 16, len(body)) + body + b"between"
    return out


def test_the_code_in_a_plugin_is_named_and_must_be_complete():
    ours = [(2, generation, (8, 1)) for generation in (80, 90, 100)] + [(1, 80, (9, 0))]
    said, complete = check_ptx.report_code(code_of(*ours))
    assert complete
    assert said.endswith("carries machine code for sm_80, sm_90, sm_100, and PTX 9.0 of sm_80")
    for lacking in range(4):
        assert not check_ptx.report_code(code_of(*ours[:lacking], *ours[lacking + 1 :]))[1]
    assert not check_ptx.report_code(code_of(*ours, (1, 90, (9, 0))))[1]
    assert check_ptx.report_code(b"nothing")[0].endswith("machine code for no GPU, and no PTX")


def test_fewer_generations_are_complete_where_fewer_were_asked_for():
    oldest = code_of((2, 80, (8, 1)), (1, 80, (9, 0)))
    assert check_ptx.report_code(oldest, [80])[1]
    assert not check_ptx.report_code(oldest)[1]


def test_kept_ptx_is_that_of_the_source_as_it_is(tmp_path):
    source = tmp_path / "planes.cu"
    source.touch()
    with pytest.raises(SystemExit, match=r"no PTX of planes\.cu"):
        check_ptx.kept(tmp_path, source)
    (tmp_path / "planes.compute_90.ptx").write_text("of another generation")
    (tmp_path / "planes.ptx").write_text("\tadd.rn.ftz.f32 %f1, %f2, %f3;\n")
    assert check_ptx.arithmetic(check_ptx.kept(tmp_path, source)) == {"add.rn.ftz.f32": 1}
    # of several generations the oldest is looked at; it is the newer build here
    (tmp_path / "planes.compute_80.ptx").write_text("\tmul.rn.ftz.f32 %f1, %f2, %f3;\n")
    os.utime(tmp_path / "planes.ptx", (1, 1))
    assert check_ptx.arithmetic(check_ptx.kept(tmp_path, source)) == {"mul.rn.ftz.f32": 1}
    os.utime(tmp_path / "planes.compute_80.ptx", (1, 1))
    with pytest.raises(SystemExit, match="as it is now"):
        check_ptx.kept(tmp_path, source)
