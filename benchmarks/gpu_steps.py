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

#: shares of the copy bandwidth, seconds, contributions per second, and times as fast as the peer
SHARES = {"isotropic": 0.70, "vti": 0.70, "tti": 0.45}
SECONDS = {"founding": 10.0, "large": 180.0}
CONTRIBUTIONS, TIMES_PEER = 100e9, 1.0
#: what the heads of the kernels in native/cuda predict of an H200
PREDICTED_SHARES = {"isotropic": 0.80, "vti": 0.80, "tti": 0.45}
DEFAULT_SUM, PREDICTED_CONTRIBUTIONS = "sinc, 10 bands, interpolated", 175e9
SUMS = (DEFAULT_SUM, "sinc, 10 bands, nearest", "sinc, no antialias", "sinc, triangle")

Row = dict[str, Any]
#: of rows and steps, from best to worst: as expected, left out for a reason, cut short, broken, other bytes
STATES = ("right", "skipped", "cut", "failed", "wrong")
#: what commands say when an answer differs
DIFFERS = re.compile(r"\bE710\b|do not agree|other bytes|is not what was sent")
#: lines of a command that broke that its row keeps
KEPT_LINES = 5


@dataclass(frozen=True)
class Settings:
    """Where and how steps run: `out` their folder, `python` the interpreter that has subsalt."""

    out: Path
    python: str
    workers: int = 8
    rehearse: bool = False

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

    `environment` is added to that of the process; its PYTHONPATH comes before what is there.
    """

    name: str
    words: Sequence[str]
    limit: float
    judge: Judge
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

    return [Part("doctor", s.subsalt("doctor", "--json", "--scratch", str(s.out)), 120, judge)]


def arithmetic(s: Settings) -> list[Part]:
    """Are roots, inverses and quotients rounded correctly, and denormals flushed as on x86?"""

    def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
        reply = done.answer()
        if reply is None:
            return broken("arithmetic", done)
        return [
            row(
                r["what"],
                "wrong" if r["wrong"] else "right",
                measured=r["wrong"],
                unit=f"of {r['tried']}",
                **kept(r),
            )
            for r in reply["rows"]
        ]

    def kept(r: Row) -> Row:
        return {key: r[key] for key in ("operands", "tininess") if r.get(key)}

    few = ["--quotients", "10000", "--most", "10000"] if s.rehearse else []
    return [Part("arithmetic", s.program("device_arithmetic.py", *few), 300, judge)]


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
    """Do all device tests pass on the GPU? They have small grids."""
    files = ["tests/cuda/test_cuda_library.py"] if s.rehearse else test_files()
    words = pytest(s, "-n", "0" if s.rehearse else str(s.workers), *files)
    return [Part("tests", words, 600, lambda done, before: judged_tests(done), environment=ONE_THREAD)]


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
        Part(m, s.program("device_beyond.py", "--media", m, *small), 180, judge_of(m))
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

    words = s.subsalt("lab", "memory", "--device", "cuda", "--json", "--out", str(s.out / "machine.json"))
    return [Part("memory", words, 120, judge)]


def kernels(s: Settings) -> list[Part]:
    """Which share of its copy bandwidth do time steps reach? Bytes are compared first."""

    def judge_of(name: str) -> Judge:
        def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
            reply = done.answer()
            return broken(name, done) if reply is None else [one(r) for r in reply["rows"]]

        return judge

    def one(r: Row) -> Row:
        name = f"{r['medium']}, order {r['order']}, {r['n']}^3, models {r['model_storage']}, layer {r['boundary']}"
        more = {k: r[k] for k in ("points_per_s", "spread", "copy_gb_s", "layer_extra")}
        if r["boundary"] != "none":
            return row(name, "right", measured=r["points_per_s"] / 1e9, unit="G point-steps/s", **more)
        bar, predicted = SHARES[r["medium"]], PREDICTED_SHARES[r["medium"]]
        return against(name, r["of_copy"], bar, "of copy", predicted=predicted, **more)

    parts = []
    for medium, storage in (
        ("isotropic", "f32"),
        ("vti", "f32"),
        ("tti", "f32"),
        ("isotropic", "u16"),
        ("vti", "u16"),
    ):
        words = [
            "--medium",
            medium,
            "--storage",
            storage,
            "--order",
            "8",
            "-n",
            "64" if s.rehearse else "512",
        ]
        words += ["--rounds", "3" if s.rehearse else "7", "--json", "--out", str(s.out / "machine.json")]
        name = f"{medium} {storage}"
        parts.append(Part(name, s.subsalt("lab", "kernels", "--device", "cuda", *words), 150, judge_of(name)))
    return parts[:1] if s.rehearse else parts


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
    sums = SUMS[2:3] if s.rehearse else SUMS
    return [Part(k, s.program("kirchhoff_gpu.py", "--kinds", k, *small), 90, judge_of(k)) for k in sums]


#: the founding case made small, for the bytes of a whole job: the shape on a GPU and in a rehearsal
COMPARED, REHEARSED = ("125 200 200", "200"), ("40 48 48", "200")


def job(s: Settings, name: str, *words: str) -> list[str]:
    """Return the command of a founding job in a folder of its own."""
    return s.program("founding_job.py", str(s.out / "jobs" / name), *words)


def founding(s: Settings) -> list[Part]:
    """How long does the founding small case take as a whole job? A smaller one is compared with the processor."""
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

    compared = [
        Part(
            name,
            job(s, f"compared-{device}", "--device", device, "--strategy", "auto", *case),
            120,
            judge_of(name),
        )
        for name, device in (("processor", "cpu"), ("GPU", "cuda"))
    ]
    return compared + ([] if s.rehearse else [whole(s, "founding")])


def whole(s: Settings, name: str) -> Part:
    """Return the part that times a founding case as a whole job."""

    def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
        reply = done.answer("sha256")
        if reply is None:
            return broken(f"{name} case", done)
        title = f"{' x '.join(map(str, reply['shape']))}, VTI, {reply['samples']} samples, image written"
        facts = s.out / "jobs" / name / "run" / "run.json"
        stored = json.loads(facts.read_text()) if facts.is_file() else {}
        phases = (stored.get("predicted") or {}).get("phases") or {}
        predicted = sum(phases.values()) if phases else None
        more = {"phases": reply["phases"], "checkpoint": reply["checkpoint"], "sha256": reply["sha256"]}
        seconds = reply["process_seconds"] or reply["seconds"]["total"]
        return [against(title, seconds, SECONDS[name], "s", least=False, predicted=predicted, **more)]

    size = ["--large"] if name == "large" else []
    return Part(name, job(s, name, "--device", "cuda", *size), 900 if size else 180, judge)


def large(s: Settings) -> list[Part]:
    """How long does the founding large case take?"""
    if not s.rehearse:
        return [whole(s, "large")]
    shape, samples = REHEARSED
    case = ["--device", "cuda", "--shape", *shape.split(), "--samples", samples]
    return [Part("large", job(s, "large", *case), 120, whole(s, "large").judge)]


#: files whose kernels run in the process of the test, for tools that watch it
WATCHED = ("steps", "tilted_steps", "device_segment", "imaging_kernels", "points", "kirchhoff_device")
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
#: tests of each file
OF_A_FILE = 2


def sanitizer(s: Settings) -> list[Part]:
    """What does compute-sanitizer find in a dozen tests?"""
    pattern = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")

    def judge_of(tool: str) -> Judge:
        def judge(done: Done, before: Mapping[str, Sequence[Row]]) -> list[Row]:
            said = [m for m in map(pattern.search, done.lines) if m]
            errors = sum(int(m[1] or m[2]) for m in said)
            ran = judged_tests(done, f"tests under {tool}")
            if errors:
                ran[0] |= {"state": "wrong", "errors": errors, "said": reports(done)}
            elif not said and done.code is not None:
                ran[0] |= {
                    "state": max(ran[0]["state"], "failed", key=STATES.index),
                    "said": list(done.lines)[-5:],
                }
            return ran

        return judge

    def reports(done: Done) -> list[str]:
        return [text for text in done.lines if text.startswith("========= ")][:40]

    files = WATCHED[4:5] if s.rehearse else WATCHED
    some = ["-p", "gpu_sample", *(f"tests/cuda/test_{f}.py" for f in files)]
    tests = pytest(s, "-n", "0", *some)
    watched = ["compute-sanitizer", "--error-exitcode", "99", "--target-processes", "application-only"]
    environment = {"PYTHONPATH": str(HERE), "SUBSALT_GPU_SAMPLE": str(OF_A_FILE)} | ONE_THREAD
    return [
        Part(tool, [*watched, "--tool", tool, *tests], 180, judge_of(tool), "compute-sanitizer", environment)
        for tool in TOOLS
    ]


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

    kernels_of = {medium: s.subsalt("lab", "kernels", "--device", "cuda", "--medium", medium, "--storage", "f32",
                                    "--order", "8", "-n", "384", "--rounds", "3", "--out", str(s.out / "counted.json"))
                  for medium in ("isotropic", "vti", "tti")}  # fmt: skip
    commands = kernels_of | {
        "kirchhoff": s.program("kirchhoff_gpu.py", "--kinds", DEFAULT_SUM, "--rounds", "2")
    }
    # the answers that are compared first have launched some hundred kernels on small grids; clocks stay as they are in
    # the runs that are timed, and an account need not be allowed to set them
    which = ["--launch-skip", "400", "--launch-count", "12", "--clock-control", "none"]
    which += ["--metrics", ",".join(METRICS), "--csv"]
    return [
        Part(name, ["ncu", *which, *words], 120, judge_of(name), "ncu") for name, words in commands.items()
    ]


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
    return [] if s.rehearse else [Part("peers", words, 300, judge)]


#: in the order in which they run: what tells most about the code comes first
STEPS: dict[str, Maker] = {
    "doctor": doctor,
    "arithmetic": arithmetic,
    "tests": tests,
    "beyond": beyond,
    "memory": memory,
    "kernels": kernels,
    "kirchhoff": kirchhoff,
    "founding": founding,
    "large": large,
    "sanitizer": sanitizer,
    "counters": counters,
    "peers": peers,
}


def missing(part: Part) -> str:
    """Return the program that a part needs and that is not there."""
    return part.needs if part.needs and shutil.which(part.needs) is None else ""
