"""The steps of gpu_first.py: their commands, time limits, bars and predictions, and what their output says.

Standard library alone: no import here may fail on a machine where nothing has run yet.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"

#: seconds of a call on a machine that one has for a quarter of an hour: what is left of it is its start, twice
CALL_SECONDS = {"1": 370.0, "2": 340.0}

#: shares of the copy bandwidth, seconds, contributions per second, and times as fast as the peer
SHARES = {"isotropic": 0.70, "vti": 0.70, "tti": 0.45}
SECONDS = {"founding": 10.0, "large": 180.0}
CONTRIBUTIONS, TIMES_PEER = 100e9, 1.0
#: what the heads of the kernels in native/cuda predict of an H200
PREDICTED_SHARES = {"isotropic": 0.80, "vti": 0.80, "tti": 0.45}
DEFAULT_SUM, PREDICTED_CONTRIBUTIONS = "sinc, 10 bands, interpolated", 175e9
SUMS = (DEFAULT_SUM, "sinc, no antialias")

Row = dict[str, Any]
#: of rows and steps, from best to worst: as expected, left out for a reason, cut short, broken, other bytes
STATES = ("right", "skipped", "cut", "failed", "wrong")
#: what commands say when an answer differs
DIFFERS = re.compile(r"\bE710\b|do not agree|other bytes|is not what was sent")
#: lines of a command that broke that its row keeps
KEPT_LINES = 5


@dataclass(frozen=True)
class Settings:
    """Where and how steps run.

    `out` is for results, `work` for whatever else they write, `python` the interpreter that has subsalt, `kit` what is
    unpacked first. `rehearse`: on the emulated device, with grids of a few points.
    """

    out: Path
    work: Path
    python: str
    workers: int = 8
    rehearse: bool = False
    kit: Path | None = None

    @property
    def site(self) -> Path:
        """Where a kit is unpacked."""
        return self.work / "site"

    def subsalt(self, *words: str) -> list[str]:
        """Return a command of subsalt."""
        return [self.python, "-m", "subsalt", *words]

    def program(self, name: str, *words: str) -> list[str]:
        """Return a command that runs a file of this folder."""
        return [self.python, str(HERE / name), *words]


@dataclass(frozen=True)
class Done:
    """What became of a command: its exit code (None: stopped after its time), seconds, and lines."""

    code: int | None
    seconds: float
    lines: Sequence[str] = ()

    def answer(self, key: str = "rows") -> dict[str, Any] | None:
        """Return the last line that is a JSON object with this key; an error is one without."""
        for text in reversed(self.lines):
            if text.startswith("{"):
                try:
                    stored = dict(json.loads(text))
                except ValueError:
                    continue
                if key in stored:
                    return stored
        return None

    @property
    def state(self) -> str:
        """The state of a row that is all one can say of the command."""
        if self.code is None:
            return "cut"
        if any(map(DIFFERS.search, self.lines)):
            return "wrong"
        return "right" if self.code == 0 else "failed"


#: the rows that a command's output makes, given those of the step's commands before it by name
Judge = Callable[[Done, Mapping[str, Sequence[Row]]], list[Row]]


@dataclass(frozen=True)
class Part:
    """One command of a step: it has `limit` seconds, and is skipped where the program `needs` is missing.

    `expected` are the seconds that it should take on a machine with 16 cores and a GPU, by what its parts take here.
    `environment` is added to that of the process; its PYTHONPATH comes before what is there.
    """

    name: str
    words: Sequence[str]
    limit: float
    judge: Judge
    expected: float
    needs: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


Maker = Callable[[Settings], list[Part]]


def row(what: str, state: str, **more: Any) -> Row:
    """Return a row of the summary."""
    return {"what": what, "state": state} | more


def against(what: str, measured: float, bar: float, unit: str, *, least: bool = True, **more: Any) -> Row:
    """Return a row with a figure and its bar; `least`: the bar is reached from above."""
    met = measured >= bar if least else measured <= bar
    return row(what, "right", measured=measured, bar=bar, unit=unit, met=met, **more)


def broken(what: str, done: Done) -> list[Row]:
    """Return the row of a command whose output says nothing else."""
    state = "failed" if done.state == "right" else done.state
    return [row(what, state, code=done.code, said=list(done.lines)[-KEPT_LINES:])]


def worst(rows: Sequence[Row]) -> str:
    """Return the state of a step."""
    return max((r["state"] for r in rows), key=STATES.index, default="failed")


def unpack(s: Settings) -> list[Part]:
    """Can the kit be unpacked, and the rest of the kernels compiled?"""
    if s.kit is None:
        return []

    def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
        reply = done.answer("module")
        if reply is None:
            return broken("unpack", done)
        # a later call, on a machine where nothing is left of this one, takes it from there
        shutil.copy(reply["module"], s.out)
        return [row("kit unpacked", "right", measured=reply["seconds"], unit="s")]

    return [Part("unpack", s.program("gpu_kit.py", "unpack", str(s.kit), str(s.site)), 110, judge, 45)]


def machine(s: Settings) -> list[Part]:
    """Which GPU, driver and processor?"""

    def judge_of(name: str, pattern: str) -> Judge:
        def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
            if done.code == 0 and any(re.search(pattern, text) for text in done.lines):
                return [row(name, "right", lines=list(done.lines))]
            return broken(name, done)

        return judge

    #: the command, and what its output has when it works
    commands = {
        "GPU": (["nvidia-smi"], r"Driver Version"),
        "processor": (["lscpu"], r"Architecture"),
        "compiler": (["c++", "--version"], r"\d+\.\d+"),
    }
    return [Part(k, w, 15, judge_of(k, pattern), 1, needs=w[0]) for k, (w, pattern) in commands.items()]


def doctor(s: Settings) -> list[Part]:
    """Is there a GPU, and does a small shot have the processor's bytes on it?"""

    def state_of(test: Row) -> str:
        return "right" if test["passed"] else "wrong" if DIFFERS.search(test["detail"]) else "failed"

    def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
        reply = done.answer("gpus")
        if reply is None:
            return broken("a GPU", done)
        if not reply["gpus"]:
            return [row("a GPU", "failed", said=[reply["gpu"]])]
        tests = [row(t["name"], state_of(t), said=[t["detail"]]) for t in reply["tests"]]
        return [row(reply["gpu"], "right", facts=reply["gpus"]), *tests]

    return [Part("doctor", s.subsalt("doctor", "--json", "--scratch", str(s.work)), 60, judge, 12)]


def judged_arithmetic(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Return a row per kind of operands."""
    reply = done.answer()
    if reply is None:
        return broken("arithmetic", done)
    return [
        row(
            r["what"],
            "wrong" if r["wrong"] else "right",
            measured=r["wrong"],
            unit=f"of {r['tried']}",
            **{key: r[key] for key in ("operands", "tininess") if r.get(key)},
        )
        for r in reply["rows"]
    ]


def tininess(s: Settings) -> list[Part]:
    """Does it flush denormals after rounding, as x86 does?"""
    words = s.program("device_arithmetic.py", "--tininess")
    return [Part("tininess", words, 40, judged_arithmetic, 5)]


def arithmetic(s: Settings) -> list[Part]:
    """Are roots, inverses and quotients rounded correctly?"""
    count = "10000" if s.rehearse else "100000000"
    few = ["--quotients", count, *(["--most", "10000"] if s.rehearse else [])]
    return [Part("arithmetic", s.program("device_arithmetic.py", *few), 60, judged_arithmetic, 25)]


#: how pytest reports a test: with several workers the state comes first
TOLD = re.compile(
    r"(?:(PASSED|FAILED|ERROR|SKIPPED) +(tests/\S+::.+?)|(tests/\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED).*)$"
)


def judged_tests(done: Done, name: str = "device tests") -> list[Row]:
    """Return a row of the counts, and one for every test that failed."""
    by_file: dict[str, str] = {}
    for text in done.lines:
        if match := TOLD.search(text):
            first, test, other, last = match.groups()
            by_file[(test or other).split(" - ")[0].strip()] = first or last
    count = {state: list(by_file.values()).count(state) for state in ("PASSED", "SKIPPED", "FAILED", "ERROR")}
    if done.code != 0 and not count["FAILED"] + count["ERROR"]:
        out = broken(name, done)
    else:
        out = [row(name, "right" if count["PASSED"] else "failed")]
    out[0] |= {"measured": count["PASSED"], "unit": f"passed, {count['SKIPPED']} skipped of {len(by_file)}"}
    bad = {"FAILED": "wrong", "ERROR": "failed"}
    return out + [row(test, bad[state]) for test, state in by_file.items() if state in bad]


#: for tests: their grids are small, and workers side by side have a core each
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


#: files whose tests run whole jobs: the second call
JOBS = re.compile(r"job|shots|ranks|migrate|plan_of|schemes|lab/")


def test_files() -> list[str]:
    """Return the files with tests that run on a GPU too."""
    with_gpu = re.compile(r"gpu_device|mark\.gpu")
    files = sorted(f for f in TESTS.rglob("test_*.py") if with_gpu.search(f.read_text()))
    return [str(f.relative_to(TESTS.parent)) for f in files]


def pytest(s: Settings, *words: str) -> list[str]:
    """Return a command that runs tests on the GPU and reports each by a line."""
    which = ["-k", "emulated"] if s.rehearse else ["-m", "gpu"]
    return [s.python, "-m", "pytest", "-vv", "--tb=short", *which, *words]


def tests(s: Settings) -> list[Part]:
    """Do the device tests pass on the GPU? They have small grids."""
    files = [f for f in test_files() if not JOBS.search(f)]
    return [tests_part(s, "tests", ["tests/cuda/test_cuda_library.py"] if s.rehearse else files, 170, 90)]


def jobs(s: Settings) -> list[Part]:
    """Do the tests of whole jobs pass on the GPU?"""
    files = [f for f in test_files() if JOBS.search(f)]
    return [tests_part(s, "jobs", ["tests/lab/test_device_memory.py"] if s.rehearse else files, 70, 35)]


def tests_part(s: Settings, name: str, files: Sequence[str], limit: float, expected: float) -> Part:
    """Return the command that runs the tests of some files."""
    words = pytest(s, "-n", "0" if s.rehearse else str(s.workers), *files)
    return Part(
        name, words, limit, lambda done, before: judged_tests(done, name), expected, environment=ONE_THREAD
    )


def beyond(s: Settings) -> list[Part]:
    """Are fields right behind number 2^31 of an array?"""

    def judge_of(medium: str) -> Judge:
        def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
            reply = done.answer()
            if reply is None:
                return broken(medium, done)
            return [one(r) for r in reply["rows"]]

        return judge

    def one(r: Row) -> Row:
        if "skipped" in r:
            return row(r["what"], "skipped", said=[r["skipped"]])
        return row(
            r["what"],
            "wrong" if r["differ"] else "right",
            measured=r["points"],
            unit="points",
            said=r["differ"],
        )

    small = ["--points", "150000", "--across", "48"] if s.rehearse else []
    return [
        Part(m, s.program("device_beyond.py", "--media", m, *small), 180, judge_of(m), 60)
        for m in ("isotropic", "vti", "tti")
    ]


def memory(s: Settings) -> list[Part]:
    """How many bytes per second do its memory and its link give?"""

    def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
        reply = done.answer()
        if reply is None:
            return broken("lab memory", done)
        return [
            row(r["what"], "right", measured=r["rate"], unit=r["unit"], spread=r["spread"])
            for r in reply["rows"]
        ]

    words = s.subsalt("lab", "memory", "--device", "cuda", "--json", "--out", str(s.work / "machine.json"))
    return [Part("memory", words, 45, judge, 15)]


def judged_rates(name: str) -> Judge:
    """Return how the rows of device_steps.py are judged."""

    def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
        reply = done.answer()
        return broken(name, done) if reply is None else [one(r) for r in reply["rows"]]

    def one(r: Row) -> Row:
        if "differ" in r:
            return row(
                r["what"], "wrong", said=[f"other bytes than the processor's: {', '.join(r['differ'])}"]
            )
        what = f"{r['medium']}, order {r['order']}, {r['n']}^3, {r['model_storage']}, {r['boundary']}, {r['axis']}"
        more = {k: r[k] for k in ("points_per_s", "spread", "copy_gb_s", "of_copy")}
        if r["bar_of_copy"] is None or r["n"] < LARGE_GRID or r["order"] != 8:
            return row(what, "right", measured=r["points_per_s"] / 1e9, unit="G point-steps/s", **more)
        predicted = PREDICTED_SHARES[r["medium"]]
        return against(what, more.pop("of_copy"), r["bar_of_copy"], "of copy", predicted=predicted, **more)

    return judge


#: points per axis from which a rate is held against its bar
LARGE_GRID = 512
MEDIA = ("isotropic", "vti", "tti")
#: of a rehearsal, on the emulated device: a grid and rounds that take seconds
TINY = ("--small", "44", "--rounds", "1", "--seconds", "0.001", "--copied", "1000000")


def rates(s: Settings, medium: str, *words: str) -> list[str]:
    """Return the command that measures the steps of a medium."""
    return s.program("device_steps.py", "--medium", medium, *words, *(TINY if s.rehearse else ()))


def kernels(s: Settings) -> list[Part]:
    """Which share of its copy bandwidth do steps reach, with and without a layer, on both depth axes?"""
    n = "44" if s.rehearse else "512"
    seconds = {"isotropic": (45, 18), "vti": (55, 25), "tti": (75, 38)}
    parts = [
        Part(m, rates(s, m, "-n", n), limit, judged_rates(m), expected)
        for m, (limit, expected) in seconds.items()
    ]
    return parts[:1] if s.rehearse else parts


def sizes(s: Settings) -> list[Part]:
    """What do 16-bit models, small grids and order 4 give?"""
    questions = {
        "u16": ("isotropic vti", ["--storages", "u16", "--axes", "uniform"], "512", (35, 12)),
        "grids": ("isotropic vti tti", ["--boundaries", "pml", "--axes", "uniform"], "128 256 384", (30, 9)),
        "order 4": (
            "isotropic vti",
            ["--orders", "4", "--boundaries", "none", "--axes", "uniform"],
            "512",
            (30, 9),
        ),
    }
    parts = []
    for name, (media, words, sizes_asked, (limit, expected)) in questions.items():
        n = ["44"] if s.rehearse else sizes_asked.split()
        for m in media.split():
            words_all = rates(s, m, *words, "-n", *n, *([] if s.rehearse else ["--rounds", "3"]))
            parts.append(Part(f"{name}, {m}", words_all, limit, judged_rates(m), expected))
    return parts[:1] if s.rehearse else parts


def scaling(s: Settings) -> list[Part]:
    """How do the processor's steps scale over its cores, ours and Devito's?"""

    def judge_of(name: str) -> Judge:
        def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
            reply = done.answer()
            return broken(name, done) if reply is None else [one(r) for r in reply["rows"]]

        return judge

    def one(r: Row) -> Row:
        what = f"{r['case']}, {r['side']}, {r['threads']} threads"
        more = {k: r[k] for k in ("spread", "speed_up", "efficiency", "relative_l2")}
        return row(what, "right", measured=r["points_per_s"] / 1e9, unit="G point-steps/s", **more)

    few = ["--threads", "1", "2", "--rounds", "1", "--steps", "2", "--check-steps", "4"]
    words = ["--here", *(few if s.rehearse else ["--rounds", "3", "--steps", "10", "--check-steps", "30"])]
    divisor = ":6" if s.rehearse else ""
    return [
        Part(
            f"{case}{divisor}",
            s.program("thread_scaling.py", *words, "--cases", f"{case}{divisor}"),
            65,
            judge_of(case),
            35,
            environment={"DEVITO_LOGGING": "WARNING"},
        )
        for case in ("iso-256", "vti-256")
    ][: 1 if s.rehearse else None]


def kirchhoff(s: Settings) -> list[Part]:
    """How many contributions per second does the Kirchhoff sum make? Bytes are compared first."""

    def judge_of(kind: str) -> Judge:
        def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
            reply = done.answer()
            return broken(f"Kirchhoff, {kind}", done) if reply is None else [one(r) for r in reply["rows"]]

        return judge

    def one(r: Row) -> Row:
        name, more = f"Kirchhoff, {r['case']}", {"prepared_per_s": r["prepared_per_s"]}
        if r["case"] != DEFAULT_SUM:
            return row(name, "right", measured=r["sum_per_s"], unit="contributions/s", **more)
        return against(
            name, r["sum_per_s"], CONTRIBUTIONS, "contributions/s", predicted=PREDICTED_CONTRIBUTIONS, **more
        )

    small = ["--locations", "2x3", "--traces", "5", "--rounds", "2", "--threads", "1"] if s.rehearse else []
    sums = SUMS[1:] if s.rehearse else SUMS
    return [Part(k, s.program("kirchhoff_gpu.py", "--kinds", k, *small), 35, judge_of(k), 9) for k in sums]


#: the founding case made small, for the bytes of a whole job: the shape on a GPU and in a rehearsal
COMPARED, REHEARSED = ("125 200 200", "200"), ("40 48 48", "200")


def founding_job(s: Settings, name: str, *words: str) -> list[str]:
    """Return the command of a founding job in a folder of its own."""
    return s.program("founding_job.py", str(s.work / "jobs" / name), *words)


def job(s: Settings) -> list[Part]:
    """Does a whole job write the same image on the GPU as on the processor?"""
    shape, samples = REHEARSED if s.rehearse else COMPARED
    case = ["--shape", *shape.split(), "--samples", samples]

    def judge_of(name: str) -> Judge:
        def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
            reply = done.answer("sha256")
            if reply is None:
                return broken(f"image by the {name}", done)
            mine = row(f"image by the {name}, {shape} points", "right", sha256=reply["sha256"])
            others = {r["sha256"] for rows in before.values() for r in rows if "sha256" in r}
            if others - {mine["sha256"]}:
                mine |= {"state": "wrong", "said": ["other bytes than the processor's image"]}
            return [mine]

        return judge

    return [
        Part(
            name,
            founding_job(s, f"compared-{device}", "--device", device, "--strategy", "auto", *case),
            60,
            judge_of(name),
            expected,
        )
        for name, device, expected in (("processor", "cpu", 14), ("GPU", "cuda", 12))
    ]


def founding(s: Settings) -> list[Part]:
    """How long does the founding small case take as a whole job?"""
    return [] if s.rehearse else [whole(s, "founding")]


def whole(s: Settings, name: str) -> Part:
    """Return the part that times a founding case as a whole job."""

    def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
        reply = done.answer("sha256")
        if reply is None:
            return broken(f"{name} case", done)
        title = f"{' x '.join(map(str, reply['shape']))}, VTI, {reply['samples']} samples, image written"
        facts = s.work / "jobs" / name / "run" / "run.json"
        stored = json.loads(facts.read_text()) if facts.is_file() else {}
        phases = (stored.get("predicted") or {}).get("phases") or {}
        predicted = sum(phases.values()) if phases else None
        more = {"phases": reply["phases"], "checkpoint": reply["checkpoint"], "sha256": reply["sha256"]}
        seconds = reply["process_seconds"] or reply["seconds"]["total"]
        return [against(title, seconds, SECONDS[name], "s", least=False, predicted=predicted, **more)]

    size = ["--large"] if name == "large" else []
    words = founding_job(s, name, "--device", "cuda", *size)
    return Part(name, words, 900 if size else 75, judge, 400 if size else 35)


def large(s: Settings) -> list[Part]:
    """How long does the founding large case take?"""
    if not s.rehearse:
        return [whole(s, "large")]
    shape, samples = REHEARSED
    case = ["--device", "cuda", "--shape", *shape.split(), "--samples", samples]
    return [Part("large", founding_job(s, "large", *case), 120, whole(s, "large").judge, 30)]


#: files whose kernels run in the process of the test, for tools that watch it
WATCHED = ("steps", "tilted_steps", "device_segment", "imaging_kernels", "points", "kirchhoff_device")
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
#: tests of each file
OF_A_FILE = 2


def races(s: Settings) -> list[Part]:
    """What does compute-sanitizer find of races, in one test of every kind of kernel?"""
    return [watched(s, "racecheck", 1, 60, 30)]


def sanitizer(s: Settings) -> list[Part]:
    """What do the tools of compute-sanitizer find in a dozen tests?"""
    return [watched(s, tool, OF_A_FILE, 180, 60) for tool in TOOLS]


def watched(s: Settings, tool: str, of_a_file: int, limit: float, expected: float) -> Part:
    """Return the command that runs some tests of every file under a tool."""
    pattern = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")

    def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
        said = [m for m in map(pattern.search, done.lines) if m]
        errors = sum(int(m[1] or m[2]) for m in said)
        ran = judged_tests(done, f"tests under {tool}")
        if errors:
            ran[0] |= {"state": "wrong", "errors": errors, "said": reports(done)}
        elif not said and done.code is not None:
            state = max(ran[0]["state"], "failed", key=STATES.index)
            ran[0] |= {"state": state, "said": list(done.lines)[-KEPT_LINES:]}
        return ran

    def reports(done: Done) -> list[str]:
        return [text for text in done.lines if text.startswith("========= ")][:40]

    files = WATCHED[4:5] if s.rehearse else WATCHED
    some = ["-p", "gpu_sample", *(f"tests/cuda/test_{f}.py" for f in files)]
    tests = pytest(s, "-n", "0", *some)
    words = [
        "compute-sanitizer",
        "--error-exitcode",
        "99",
        "--target-processes",
        "application-only",
        "--tool",
        tool,
    ]
    more = {"PYTHONPATH": str(HERE), "SUBSALT_GPU_SAMPLE": str(of_a_file)} | ONE_THREAD
    return Part(tool, [*words, *tests], limit, judge, expected, "compute-sanitizer", more)


#: what binds a kernel: time, memory, L1 and L2, issue slots, warps, registers
METRICS = (
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_sector_hit_rate.pct",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "sm__inst_executed.avg.per_cycle_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "launch__registers_per_thread",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
)


def counters(s: Settings) -> list[Part]:
    """What do the hardware's counters say of the kernels?"""

    def judge_of(name: str) -> Judge:
        def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
            if any("ERR_NVGPUCTRPERM" in text for text in done.lines):
                return [
                    row(name, "skipped", said=["this account may not read the counters (ERR_NVGPUCTRPERM)"])
                ]
            table = counted(done.lines)
            return [row(f"{name}: {k}", "right", counters=v) for k, v in table.items()] or broken(name, done)

        return judge

    # time steps alone, past the first; clocks stay as they are in the runs that are timed, and an account need not be
    # allowed to set them
    which = [
        "--kernel-name",
        "regex:march",
        "--launch-skip",
        "4",
        "--launch-count",
        "2",
        "--clock-control",
        "none",
    ]
    which += ["--metrics", ",".join(METRICS), "--csv"]
    bare = ["--bare", "8", "-n", "384", "--boundaries", "none", "--axes", "uniform"]
    return [Part(m, ["ncu", *which, *rates(s, m, *bare)], 45, judge_of(m), 12, "ncu") for m in MEDIA]


def counted(lines: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the last values of every kernel from the CSV of ncu."""
    import csv

    start = next((i for i, text in enumerate(lines) if text.startswith('"ID"')), None)
    if start is None:
        return {}
    out: dict[str, dict[str, str]] = {}
    for r in csv.DictReader(text for text in lines[start:] if text.startswith('"')):
        if r.get("Metric Name"):
            name = re.sub(r"\(.*", "", r["Kernel Name"] or "")
            out.setdefault(name, {})[r["Metric Name"]] = f"{r['Metric Value']} {r['Metric Unit']}".strip()
    return out


def peers(s: Settings) -> list[Part]:
    """How many times as fast as Deepwave's is a step? Needs the network once, for Deepwave."""
    cases = ["gpu-iso-512", "gpu-vti-512"]

    def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
        reply = done.answer("ratio")
        if reply is None:
            return broken("Deepwave", done)
        return [
            against(f"{k}: rate over Deepwave's", v, TIMES_PEER, "times") for k, v in reply["ratio"].items()
        ]

    words = s.program("peers/run.py", *cases, "--device", "cuda")
    return [] if s.rehearse else [Part("peers", words, 300, judge, 200)]


#: in the order in which they run, by call: what tells most comes first, what may take longest last. The third is for a
#: machine of one's own
CALLS: dict[str, dict[str, Maker]] = {
    "1": {
        "unpack": unpack,
        "machine": machine,
        "tininess": tininess,
        "doctor": doctor,
        "memory": memory,
        "kernels": kernels,
        "job": job,
        "tests": tests,
    },
    "2": {
        "unpack again": unpack,
        "founding": founding,
        "sizes": sizes,
        "scaling": scaling,
        "kirchhoff": kirchhoff,
        "jobs": jobs,
        "counters": counters,
        "races": races,
        "arithmetic": arithmetic,
    },
    "rest": {"beyond": beyond, "large": large, "sanitizer": sanitizer, "peers": peers},
}
STEPS: dict[str, Maker] = {name: maker for steps in CALLS.values() for name, maker in steps.items()}


def missing(part: Part) -> str:
    """Return the program that a part needs and that is not there."""
    return part.needs if part.needs and shutil.which(part.needs) is None else ""
