"""The first minutes on a GPU: no failure ends other steps, nothing measured is lost, no wrong byte passes."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patience import PATIENCE

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import gpu_first
import gpu_kit
import gpu_steps
from gpu_steps import STEPS, Done, Settings

#: what a command may do instead of its work, and the state of its row
PLANTED = {
    "exit 3": "failed",
    "kill -SEGV $$": "failed",
    "echo '{}'": "failed",
    'echo \'{"rows": [{}], "gpus": [1], "ratio": 3}\'': "failed",
    "echo error E710 vti: wrong answer; exit 1": "wrong",
    "echo begun; sleep 60 & sleep 60": "cut",
}

TEST_LINES = """\
tests/cuda/test_steps.py::test_a[real-iso] PASSED                [ 33%]
[gw1] [ 66%] PASSED tests/cuda/test_points.py::test_b[real-0, 1]
tests/cuda/test_steps.py::test_c[real] FAILED                    [100%]
FAILED tests/cuda/test_steps.py::test_c[real] - AssertionError: 1 == 2
"""
SUM = gpu_steps.DEFAULT_SUM
FAST = {"points_per_s": 2e11, "spread": 0.01, "copy_gb_s": 4000.0, "layer_extra": None}
STEP_ROW = {"medium": "vti", "order": 8, "n": 512, "model_storage": "f32", "boundary": "none", "of_copy": 0.6}
JOB = {"shape": [125, 1151, 1231], "samples": 800, "phases": {}, "checkpoint": {}, "process_seconds": 9.0}

#: by step: an output as it is to be, and one with an answer that differs
OUTPUTS = {
    "doctor": [
        json.dumps(
            {"gpu": "H200", "gpus": [1], "tests": [{"name": "gpu", "passed": ok, "detail": "other bytes"}]}
        )
        for ok in (True, False)
    ],
    "arithmetic": [
        json.dumps({"rows": [{"what": "root", "tried": 9, "wrong": n, "operands": []}]}) for n in (0, 1)
    ],
    "tests": [TEST_LINES.splitlines()[0], TEST_LINES],
    "beyond": [json.dumps({"rows": [{"what": "vti", "points": 9, "differ": d}]}) for d in ([], ["image"])],
    "memory": [
        json.dumps({"rows": [{"what": "copy", "rate": 4100.0, "unit": "GB/s", "spread": 0.01}]}),
        "the GPU failed (measuring copies, what arrived is not what was sent: invalid argument)",
    ],
    "kernels": [json.dumps({"rows": [FAST | STEP_ROW]}), "error E710 vti: wrong answer; no figure is given"],
    "kirchhoff": [
        json.dumps({"rows": [{"case": SUM, "sum_per_s": 2e11, "prepared_per_s": 1e11}]}),
        f"{SUM}: GPU and CPU do not agree; nothing is measured",
    ],
    "founding": [json.dumps(JOB | {"sha256": digest}) for digest in ("0", "1")],
    "large": [json.dumps(JOB | {"sha256": "0"}), "other bytes"],
    "sanitizer": [f"{TEST_LINES.splitlines()[0]}\n========= ERROR SUMMARY: {n} errors" for n in (0, 2)],
    "counters": [
        '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n"0","march(int)","dram","%","81"',
        "other bytes",
    ],
    "peers": [json.dumps({"ratio": {"gpu-iso-512": 1.2}}), "GPU and Deepwave do not agree"],
}


def session(folder, minutes=1.0, rehearse=False):
    settings = Settings(folder, sys.executable, rehearse=rehearse)
    return gpu_first.Session(settings, minutes, dict(os.environ))


def planted(monkeypatch, name, *scripts, limit=30):
    """Let the commands of a step be shell scripts, the last one for all that are left."""
    real = STEPS[name]

    def made(settings):
        parts = real(settings)
        texts = [*scripts, *scripts[-1:] * len(parts)]
        return [
            dataclasses.replace(p, words=["sh", "-c", text], limit=limit, needs="")
            for p, text in zip(parts, texts, strict=False)
        ]

    monkeypatch.setitem(STEPS, name, made)


@pytest.mark.parametrize("name", STEPS)
def test_no_failure_of_a_step_reaches_the_next(name, tmp_path, monkeypatch):
    for i, (script, state) in enumerate(PLANTED.items()):
        with monkeypatch.context() as patch:
            patch.setattr(gpu_first, "GRACE", 0.2)
            planted(patch, name, script, "exit 3", limit=0.4 if state == "cut" else 30)
            folder = tmp_path / str(i)
            folder.mkdir()
            answers = session(folder)
            answers.step(name, again=False)
            answers.summary()
        stored = json.loads((folder / f"{name}.json").read_text())
        first = next(iter(stored["parts"].values()))
        assert {r["state"] for r in first} == {state}
        assert stored["state"] in gpu_steps.STATES[gpu_steps.STATES.index(state) :]
        assert state.upper() in (folder / "summary.txt").read_text()
        assert script[:20] in (folder / f"{name}.log").read_text()


@pytest.mark.parametrize("name", STEPS)
def test_answers_that_differ_are_wrong_and_others_right(name, tmp_path):
    part = STEPS[name](Settings(tmp_path, sys.executable))[0]
    before = {"processor": [gpu_steps.row("image", "right", sha256="0")]} if name == "founding" else {}
    for text, state in zip(OUTPUTS[name], ("right", "wrong"), strict=True):
        done = Done(0 if state == "right" else 1, 1.0, text.splitlines())
        rows = gpu_first.judged(part, done, before)
        assert gpu_steps.worst(rows) == state
        assert all(isinstance(gpu_first.line(name, r), str) for r in rows)


def test_a_missed_bar_is_no_failure(tmp_path):
    (row,) = gpu_first.judged(
        STEPS["kernels"](Settings(tmp_path, ""))[1], Done(0, 1, OUTPUTS["kernels"][:1]), {}
    )
    assert (row["state"], row["met"], row["bar"], row["measured"]) == ("right", False, 0.70, 0.6)
    assert "MISSED" in gpu_first.line("kernels", row)


def test_tests_are_counted_from_what_is_left_of_their_output():
    rows = gpu_steps.judged_tests(Done(None, 600.0, TEST_LINES.splitlines()[:2]))
    assert rows[0]["state"] == "cut"
    assert (rows[0]["measured"], rows[0]["unit"]) == (2, "passed, 0 skipped of 2")
    rows = gpu_steps.judged_tests(Done(1, 60.0, TEST_LINES.splitlines()))
    assert [r["what"] for r in rows[1:]] == ["tests/cuda/test_steps.py::test_c[real]"]
    skipped = [text.replace("PASSED", "SKIPPED") for text in TEST_LINES.splitlines()[:2]]
    assert gpu_steps.judged_tests(Done(0, 1.0, skipped))[0]["state"] == "failed"


def test_what_ended_is_kept_and_what_failed_runs_again(tmp_path, monkeypatch):
    text = json.dumps({"rows": [FAST | STEP_ROW]})
    with monkeypatch.context() as patch:
        planted(patch, "kernels", f"echo '{text}'", "exit 3")
        session(tmp_path).step("kernels", again=False)
    first = json.loads((tmp_path / "kernels.json").read_text())["parts"]
    assert [gpu_steps.worst(rows) for rows in first.values()] == ["right", *["failed"] * 4]
    with monkeypatch.context() as patch:
        planted(patch, "kernels", f"echo ran >> {tmp_path}/ran; echo '{text}'")
        session(tmp_path).step("kernels", again=False)
    again = json.loads((tmp_path / "kernels.json").read_text())
    assert (again["state"], again["not_run"]) == ("right", [])
    assert (tmp_path / "ran").read_text() == 4 * "ran\n"


def test_the_budget_ends_what_runs_and_leaves_the_rest_for_later(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_first, "LEAST", 0.3)
    monkeypatch.setattr(gpu_first, "GRACE", 0.2)
    planted(monkeypatch, "beyond", f"exec sleep {2 * PATIENCE:g}", limit=2 * PATIENCE)
    begin = time.monotonic()
    answers = session(tmp_path, 0.5 / 60)
    answers.step("beyond", again=False)
    assert time.monotonic() - begin < PATIENCE
    stored = json.loads((tmp_path / "beyond.json").read_text())
    assert (stored["state"], stored["not_run"]) == ("cut", ["vti", "tti"])
    assert stored["parts"]["isotropic"][0]["state"] == "cut"
    assert answers.summary()["not_run"] == [name for name in STEPS if name != "beyond"]


def test_a_tool_that_is_missing_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    session(tmp_path).step("counters", again=False)
    stored = json.loads((tmp_path / "counters.json").read_text())
    assert stored["state"] == "skipped"
    assert stored["parts"]["vti"][0]["said"] == ["ncu is not on PATH"]


@pytest.mark.parametrize(("slip", "state"), [("0", "right"), ("1", "wrong")])
def test_a_bit_that_differs_is_noticed_by_a_real_step(slip, state, emulated, tmp_path, monkeypatch):
    monkeypatch.setenv("SUBSALT_EMULATED_SLIP", slip)
    answers = session(tmp_path, rehearse=True)
    answers.step("arithmetic", again=False)
    assert answers.steps["arithmetic"]["state"] == state


def test_counters_leave_clocks_alone_and_tests_have_one_thread(tmp_path):
    settings = Settings(tmp_path, sys.executable)
    for part in STEPS["counters"](settings):
        assert " --clock-control none " in " ".join(part.words)
    for part in STEPS["tests"](settings) + STEPS["sanitizer"](settings):
        assert part.environment["OMP_NUM_THREADS"] == "1"


def test_the_summary_says_how_a_gpu_flushes(tmp_path):
    answer = {
        "what": "multiply-add",
        "tried": 9,
        "wrong": 3,
        "operands": [{"a": "0x1p-1"}],
        "tininess": "before",
    }
    (part,) = STEPS["arithmetic"](Settings(tmp_path, sys.executable))
    (row,) = gpu_first.judged(part, Done(1, 1.0, [json.dumps({"rows": [answer]})]), {})
    assert (row["state"], row["tininess"], row["measured"]) == ("wrong", "before", 3)


def test_every_file_of_a_watched_tool_is_there_and_has_tests_for_a_gpu():
    files = gpu_steps.test_files()
    assert {f"tests/cuda/test_{name}.py" for name in gpu_steps.WATCHED} <= set(files)
    assert gpu_steps.OF_A_FILE * len(gpu_steps.WATCHED) == 12


def test_a_kit_is_unpacked_once_and_refused_by_another_python(tmp_path):
    import zipfile

    kit = tmp_path / "kit"
    with pytest.raises(SystemExit, match="is no kit"):
        gpu_kit.unpack(kit, tmp_path / "out")
    kit.mkdir()
    with zipfile.ZipFile(kit / "subsalt-0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("subsalt/__init__.py", "HERE = __file__\n")
    (kit / gpu_kit.PLUGIN).write_bytes(b"plug-in")
    (kit / "kit.json").write_text(json.dumps({"python": gpu_kit.tag()}))
    unpacked = gpu_kit.unpack(kit, tmp_path / "out")
    assert unpacked == gpu_kit.unpack(kit, tmp_path / "out")
    words = [sys.executable, "-S", "-c", "import subsalt; print(subsalt.HERE)"]
    where = subprocess.run(words, env=unpacked, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(where).parent == tmp_path / "out" / "subsalt"
    assert (tmp_path / "out" / "subsalt" / gpu_kit.PLUGIN).read_bytes() == b"plug-in"
    (kit / "kit.json").write_text(json.dumps({"python": "cpython-29"}))
    with pytest.raises(SystemExit, match="packed for cpython-29"):
        gpu_kit.unpack(kit, tmp_path / "out")
