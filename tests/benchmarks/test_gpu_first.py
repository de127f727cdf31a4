"""The first minutes on a GPU: no failure ends other steps, nothing measured is lost, no wrong byte passes."""

import dataclasses
import json
import os
import subprocess
import sys
import tarfile
import time
from functools import partial
from pathlib import Path

import pytest

from patience import PATIENCE
from thorough import ALL

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import gpu_first
import gpu_kit
import gpu_steps
from gpu_steps import STEPS, Done, Settings

from subsalt.kernels import cpu

#: steps of a rehearsal in ``make test``
FEW = ("unpack", "machine", "tininess", "unpack again", "counters")

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
STEP_ROW = {
    "medium": "vti",
    "order": 8,
    "n": 512,
    "model_storage": "f32",
    "boundary": "none",
    "axis": "uniform",
}
STEP_ROW |= {"points_per_s": 2e11, "spread": 0.01, "copy_gb_s": 4000.0, "of_copy": 0.6, "bar_of_copy": 0.70}
THREADS_ROW = {"case": "iso-256", "side": "Devito", "threads": 4, "points_per_s": 2e9, "spread": 0.01}
THREADS_ROW |= {"speed_up": 3.9, "efficiency": 0.97, "relative_l2": 1e-6}
JOB = {"shape": [125, 1151, 1231], "samples": 800, "phases": {}, "checkpoint": {}, "process_seconds": 9.0}

ONE_TEST = TEST_LINES.splitlines()[0]
ARITHMETIC = [
    json.dumps({"rows": [{"what": "root", "tried": 9, "wrong": n, "operands": []}]}) for n in (0, 1)
]
RATES = [json.dumps({"rows": rows}) for rows in ([STEP_ROW], [{"what": "vti", "differ": ["pml stretched"]}])]
SANITIZED = [f"{ONE_TEST}\n========= ERROR SUMMARY: {n} errors" for n in (0, 2)]
RACES = [f"{ONE_TEST}\n========= RACECHECK SUMMARY: {n} hazards displayed" for n in (0, 2)]

#: by step: an output as it is to be, and one with an answer that differs
OUTPUTS = {
    "machine": ["Driver Version: 580", "other bytes"],
    "tininess": ARITHMETIC,
    "doctor": [
        json.dumps(
            {"gpu": "H200", "gpus": [1], "tests": [{"name": "gpu", "passed": ok, "detail": "other bytes"}]}
        )
        for ok in (True, False)
    ],
    "memory": [
        json.dumps({"rows": [{"what": "copy", "rate": 4100.0, "unit": "GB/s", "spread": 0.01}]}),
        "the GPU failed (measuring copies, what arrived is not what was sent: invalid argument)",
    ],
    "kernels": RATES,
    "job": [json.dumps(JOB | {"sha256": digest}) for digest in ("0", "1")],
    "tests": [ONE_TEST, TEST_LINES],
    "founding": [json.dumps(JOB | {"sha256": "0"}), "other bytes"],
    "sizes": RATES,
    "scaling": [json.dumps({"rows": [THREADS_ROW]}), "iso-256: ours and Devito do not agree"],
    "kirchhoff": [
        json.dumps({"rows": [{"case": SUM, "sum_per_s": 2e11, "prepared_per_s": 1e11}]}),
        f"{SUM}: GPU and CPU do not agree; nothing is measured",
    ],
    "jobs": [ONE_TEST, TEST_LINES],
    "counters": [
        '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n"0","march(int)","dram","%","81"',
        "other bytes",
    ],
    "races": RACES,
    "arithmetic": ARITHMETIC,
    "beyond": [json.dumps({"rows": [{"what": "vti", "points": 9, "differ": d}]}) for d in ([], ["image"])],
    "large": [json.dumps(JOB | {"sha256": "0"}), "other bytes"],
    "sanitizer": SANITIZED,
    "peers": [json.dumps({"ratio": {"gpu-iso-512": 1.2}}), "GPU and Deepwave do not agree"],
}
#: what no output can make wrong, since nothing is compared: only that it fails
UNPACKING = ("unpack", "unpack again")
COMPARING = [name for name in STEPS if name not in UNPACKING]


def settings_of(folder, rehearse=False, kit=None):
    (folder / "work").mkdir(exist_ok=True)
    return Settings(folder, folder / "work", sys.executable, rehearse=rehearse, kit=kit)


def session(folder, seconds=60.0, rehearse=False, kit=None):
    return gpu_first.Session(settings_of(folder, rehearse, kit), seconds, dict(os.environ))


def step_of(folder, name):
    return json.loads((folder / gpu_first.RESULTS).read_text())["steps"][name]


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
            session(folder, kit=tmp_path).step(name, again=False)
        stored = step_of(folder, name)
        first = next(iter(stored["parts"].values()))
        assert {r["state"] for r in first} == {state}
        assert stored["state"] in gpu_steps.STATES[gpu_steps.STATES.index(state) :]
        assert stored["state"].upper() in (folder / gpu_first.SUMMARY).read_text()
        assert script[:20] in (folder / gpu_first.LOG).read_text()
        assert len([f for f in folder.iterdir() if f.is_file()]) <= gpu_first.FILES


@pytest.mark.parametrize("name", COMPARING)
def test_answers_that_differ_are_wrong_and_others_right(name, tmp_path):
    part = STEPS[name](settings_of(tmp_path))[0]
    before = {"processor": [gpu_steps.row("image", "right", sha256="0")]} if name == "job" else {}
    for text, state in zip(OUTPUTS[name], ("right", "wrong"), strict=True):
        done = Done(0 if state == "right" else 1, 1.0, text.splitlines())
        rows = gpu_first.judged(part, done, before)
        assert gpu_steps.worst(rows) == state
        assert all(isinstance(gpu_first.line(name, r), str) for r in rows)


def test_a_missed_bar_is_no_failure(tmp_path):
    part = STEPS["kernels"](settings_of(tmp_path))[1]
    (row,) = gpu_first.judged(part, Done(0, 1, OUTPUTS["kernels"][:1]), {})
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
    text = RATES[0]
    with monkeypatch.context() as patch:
        planted(patch, "kernels", f"echo '{text}'", "exit 3")
        session(tmp_path).step("kernels", again=False)
    first = step_of(tmp_path, "kernels")["parts"]
    assert [gpu_steps.worst(rows) for rows in first.values()] == ["right", "failed", "failed"]
    with monkeypatch.context() as patch:
        planted(patch, "kernels", f"echo ran >> {tmp_path}/ran; echo '{text}'")
        session(tmp_path).step("kernels", again=False)
    again = step_of(tmp_path, "kernels")
    assert (again["state"], again["not_run"]) == ("right", [])
    assert (tmp_path / "ran").read_text() == 2 * "ran\n"


def test_the_budget_ends_what_runs_and_leaves_the_rest_for_later(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_first, "LEAST", 0.3)
    monkeypatch.setattr(gpu_first, "GRACE", 0.2)
    planted(monkeypatch, "beyond", f"exec sleep {2 * PATIENCE:g}", limit=2 * PATIENCE)
    begin = time.monotonic()
    answers = session(tmp_path, 0.5)
    answers.step("beyond", again=False)
    assert time.monotonic() - begin < PATIENCE
    stored = step_of(tmp_path, "beyond")
    assert (stored["state"], stored["not_run"]) == ("cut", ["vti", "tti"])
    assert stored["parts"]["isotropic"][0]["state"] == "cut"
    assert answers.summary()["not_run"] == [name for name in STEPS if name != "beyond"]


def test_a_tool_that_is_missing_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    session(tmp_path).step("counters", again=False)
    stored = step_of(tmp_path, "counters")
    assert stored["state"] == "skipped"
    assert stored["parts"]["vti"][0]["said"] == ["ncu is not on PATH"]


@pytest.mark.parametrize(("slip", "state"), [("0", "right"), ("1", "wrong")])
@pytest.mark.parametrize("name", ["arithmetic", "kernels"])
def test_a_bit_that_differs_is_noticed_by_a_real_step(name, slip, state, emulated, tmp_path, monkeypatch):
    monkeypatch.setenv("SUBSALT_EMULATED_SLIP", slip)
    answers = session(tmp_path, PATIENCE, rehearse=True)
    answers.step(name, again=False)
    assert answers.steps[name]["state"] == state


def test_counters_leave_clocks_alone_and_tests_have_one_thread(tmp_path):
    settings = settings_of(tmp_path)
    for part in STEPS["counters"](settings):
        assert " --clock-control none " in " ".join(part.words)
    for part in [p for name in ("tests", "jobs", "races", "sanitizer") for p in STEPS[name](settings)]:
        assert part.environment["OMP_NUM_THREADS"] == "1"


def test_the_summary_says_how_a_gpu_flushes(tmp_path):
    answer = {
        "what": "multiply-add",
        "tried": 9,
        "wrong": 3,
        "operands": [{"a": "0x1p-1"}],
        "tininess": "before",
    }
    (part,) = STEPS["tininess"](settings_of(tmp_path))
    (row,) = gpu_first.judged(part, Done(1, 1.0, [json.dumps({"rows": [answer]})]), {})
    assert (row["state"], row["tininess"], row["measured"]) == ("wrong", "before", 3)


def test_every_file_of_a_watched_tool_is_there_and_has_tests_for_a_gpu():
    files = gpu_steps.test_files()
    assert {f"tests/cuda/test_{name}.py" for name in gpu_steps.WATCHED} <= set(files)
    assert gpu_steps.OF_A_FILE * len(gpu_steps.WATCHED) == 12


@pytest.mark.parametrize("call", gpu_steps.CALL_SECONDS)
def test_a_call_fits_its_seconds_even_where_one_command_hangs(call, tmp_path):
    settings = settings_of(tmp_path, kit=tmp_path)
    parts = [p for maker in gpu_steps.CALLS[call].values() for p in maker(settings)]
    assert all(p.expected <= p.limit for p in parts)
    # a call that follows at once finds the kit unpacked; the last command may take what is left
    expected = sum(p.expected for p in parts if call == "1" or p.name != "unpack")
    assert expected <= gpu_steps.CALL_SECONDS[call]
    late = max(p.limit - p.expected for p in parts[1:-1])
    assert expected + late <= gpu_steps.CALL_SECONDS[call] + 20
    assert sum(gpu_steps.CALL_SECONDS.values()) <= 720


def test_every_test_for_a_gpu_runs_in_one_of_the_calls(tmp_path):
    words = [w for name in ("tests", "jobs") for p in STEPS[name](settings_of(tmp_path)) for w in p.words]
    assert sorted(w for w in words if w.endswith(".py")) == gpu_steps.test_files()


def test_results_of_both_calls_are_published_and_those_of_a_rehearsal_are_not(tmp_path, monkeypatch):
    folders = [tmp_path / "1", tmp_path / "2"]
    for folder, name in zip(folders, ("kernels", "sizes"), strict=True):
        folder.mkdir()
        with monkeypatch.context() as patch:
            planted(patch, name, f"echo '{RATES[0]}'")
            session(folder).step(name, again=False)
    target = tmp_path / "docs" / "performance"
    target.mkdir(parents=True)
    monkeypatch.setattr(gpu_first, "HERE", tmp_path / "benchmarks")
    gpu_first.publish(folders)
    assert list(json.loads((target / "gpu.json").read_text())["steps"]) == ["kernels", "sizes"]
    rehearsed = tmp_path / "3"
    rehearsed.mkdir()
    session(rehearsed, rehearse=True).keep("memory", {}, [], {})
    with pytest.raises(SystemExit, match="is a rehearsal"):
        gpu_first.publish([rehearsed])


def test_the_log_ends_before_it_is_too_large_to_be_brought_back(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_first, "LOG_BYTES", 1000)
    planted(monkeypatch, "memory", "yes long | head -n 10000")
    session(tmp_path).step("memory", again=False)
    assert (tmp_path / gpu_first.LOG).stat().st_size < 1200


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """A kit of this Python with the emulated device, without the packages of others: those are here."""
    if not (gpu_kit.ROOT / "build" / "emulated" / gpu_kit.EMULATED).is_file():
        pytest.skip("the emulated device is not built (make emulated)")
    folder = tmp_path_factory.mktemp("kit") / "kit"
    with pytest.MonkeyPatch.context() as patch:
        fast(patch)
        gpu_kit.pack(folder, gpu_kit.python_here(), emulated=True, wheels=False)
    return folder


def fast(patch):
    """Let archives be compressed as little as possible: the most takes seconds."""
    patch.setattr(gpu_kit.tarfile, "open", partial(tarfile.open, preset=0))


def test_a_kit_is_refused_by_another_python_and_other_sources(kit, tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="is no kit"):
        gpu_kit.known(tmp_path)
    facts = gpu_kit.known(kit)
    for key, value, message in (
        ("python", "2.7", "packed for Python 2.7"),
        ("sources", "0", "from other sources"),
    ):
        (tmp_path / gpu_kit.FACTS).write_text(json.dumps(facts | {key: value}))
        with pytest.raises(SystemExit, match=message):
            gpu_kit.unpack(tmp_path, tmp_path / "site")
    called = subprocess.run
    # without the wheel of the lab, which takes seconds to make
    monkeypatch.setattr(
        gpu_kit.subprocess, "run", lambda words, **more: None if "wheel" in words else called(words, **more)
    )
    fast(monkeypatch)
    monkeypatch.setattr(gpu_kit, "MOST_BYTES", 1 << 20)
    with pytest.raises(SystemExit, match="too much to travel"):
        gpu_kit.pack(tmp_path / "large", gpu_kit.python_here(), emulated=True, wheels=False)


@pytest.mark.slow
def test_both_calls_run_from_a_kit_in_a_folder_of_their_own(kit, tmp_path):
    """Commands on the emulated device and grids of a few points: every kind once in ``make test-all``."""
    words = [
        sys.executable,
        str(gpu_kit.ROOT / "benchmarks" / "gpu_first.py"),
        "--kit",
        str(kit),
        "--rehearse",
    ]
    words += ["--work", str(tmp_path / "work")]
    for call, left_out in (("1", {"job"}), ("2", {"sizes", "scaling", "kirchhoff", "jobs"})):
        out = tmp_path / call
        steps = [name for name in gpu_steps.CALLS[call] if name not in left_out and (ALL or name in FEW)]
        done = subprocess.run([*words, str(out), "--only", ",".join(steps)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        results = json.loads((out / gpu_first.RESULTS).read_text())
        assert list(results["steps"]) == steps
        assert {s["state"] for s in results["steps"].values()} <= {"right", "skipped"}
        assert {f.name for f in out.iterdir()} >= {gpu_first.RESULTS, gpu_first.SUMMARY, gpu_first.LOG}
        assert len(list(out.iterdir())) <= gpu_first.FILES
    # what a bare Python computes with is what was unpacked (this one has subsalt itself, which comes first)
    code = "from importlib.util import find_spec as f; print(f('subsalt').origin, f('subsalt_lab').origin)"
    env = os.environ | gpu_kit.environment(kit, tmp_path / "work" / "site")
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.count(str(tmp_path / "work" / "site")) == 2
    assert env["SUBSALT_CUDA_PLUGIN"].startswith(str(tmp_path / "work" / "site"))


def test_what_is_shortened_keeps_all_else(tmp_path):
    import zipfile

    wheel = tmp_path / "devito-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("devito/__init__.py", "devito-0.dist-info/METADATA", "examples/a/b.ipynb"):
            archive.writestr(name, name)
    gpu_kit.shorten(wheel, gpu_kit.LEFT_OUT["devito"])
    with zipfile.ZipFile(wheel) as archive:
        assert archive.namelist() == ["devito/__init__.py", "devito-0.dist-info/METADATA"]
        assert archive.read("devito/__init__.py") == b"devito/__init__.py"


def test_objects_that_travel_are_those_of_all_instruction_sets_and_know_no_python():
    tree = gpu_kit.ROOT / "build" / str(sys.implementation.cache_tag)
    if not (tree / "build.ninja").is_file():
        pytest.skip("the kernels were not compiled in this tree")
    names = [str(path.relative_to(tree)) for path in gpu_kit.objects_without_python(tree)]
    assert all((tree / name).is_file() for name in names)
    # make LEVELS=here compiles fewer; make gpu-kit compiles all
    some = "SUBSALT_LEVELS:STRING=here" in (tree / "CMakeCache.txt").read_text(encoding="utf-8")
    for isa in [isa for isa in cpu.available() if isa != "generic"] if some else ["v2", "v3", "v4"]:
        assert any(isa in name for name in names)
    deps = subprocess.run(
        [str(Path(sys.executable).parent / "ninja"), "-C", str(tree), "-t", "deps", *names],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Python.h" not in deps
    assert "nanobind" not in deps
