"""What does this program do on its first GPU, in the 45 minutes that one may have there?

    python benchmarks/gpu_first.py OUT [--only doctor,tests,...] [--minutes 45] [--kit KIT] [--publish]

Steps run one after the other, what tells most first (gpu_steps.py); each command is a process of its own with a time
limit, and its output is streamed and kept in OUT/STEP.log. A step that fails, hangs or gives other bytes than the
processor is marked so, and the next one runs. OUT/STEP.json is written after every command, and OUT/summary.json and
summary.txt after every step, so that nothing measured is lost when the machine is. The same command again repeats what
was cut or failed and keeps the rest; ``--again`` keeps nothing. Ends with 1 unless all that ran is right.

Works without a network from a folder that gpu_kit.py packed where there was one: wheels and the built plug-in
(``--kit``). ``--rehearse`` runs everything on the emulated device (make emulated) with grids of a few points: figures
mean nothing then. ``--publish`` writes docs/performance/gpu.json, from which docs/notes/gpu.md has its table.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import gpu_kit  # noqa: E402
from gpu_steps import STEPS, Done, Part, Row, Settings, missing, row, worst  # noqa: E402

EMULATED = HERE.parent / "build" / "emulated" / "libsubsalt_cuda_emulated.so"
#: seconds that a command needs at least to be started, and that it has to end after it was asked to
LEAST, GRACE = 10.0, 5.0


def stopped(process: subprocess.Popen[str]) -> None:
    """Ask a command and all that it started to end, then end them."""
    for which, seconds in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, which)
        except ProcessLookupError:
            return
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue


def run(part: Part, limit: float, log: TextIO, environment: dict[str, str]) -> Done:
    """Run a command for so many seconds at most; stream its output."""
    env = environment | part.environment
    paths = [e["PYTHONPATH"] for e in (part.environment, environment) if e.get("PYTHONPATH")]
    env |= {"PYTHONPATH": os.pathsep.join(paths)} if paths else {}
    lines: list[str] = []

    def show(text: str) -> None:
        log.write(text + "\n")
        log.flush()
        print(f"  {part.name} | {text}", flush=True)

    show(f"$ {' '.join(part.words)}   ({limit:.0f} s)")
    begin = time.monotonic()
    try:
        process = subprocess.Popen(
            part.words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            cwd=HERE.parent,
            env=env,
        )
    except OSError as err:
        show(str(err))
        return Done(127, 0.0, [str(err)])

    def follow() -> None:
        assert process.stdout is not None
        for text in process.stdout:
            lines.append(text.rstrip("\n"))
            show(lines[-1])

    reader = threading.Thread(target=follow, daemon=True)
    reader.start()
    try:
        code: int | None = process.wait(limit)
    except subprocess.TimeoutExpired:
        code = None
        show(f"stopped after {limit:.0f} s")
    finally:
        stopped(process)  # also what it left behind, which holds the pipe
    reader.join(GRACE)
    return Done(code, time.monotonic() - begin, list(lines))


def judged(part: Part, done: Done, before: dict[str, Sequence[Row]]) -> list[Row]:
    """Return the rows of a command; output that nobody expected is a failure of its own."""
    try:
        rows = part.judge(done, before)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, OSError) as err:
        return [row(part.name, "failed", code=done.code, said=[f"{type(err).__name__}: {err}"])]
    # a row is right only when its command ended; its code says no more where a bar or a byte was missed
    if done.code is None:
        rows = [r | {"state": "cut"} if r["state"] == "right" else r for r in rows] or [row(part.name, "cut")]
    return rows or [row(part.name, "failed", code=done.code, said=["no rows"])]


def write(path: Path, content: str) -> None:
    """Write a file whole or not at all."""
    new = path.with_suffix(".new")
    new.write_text(content)
    new.replace(path)


class Session:
    """What runs, until when, and where it is kept."""

    def __init__(self, settings: Settings, minutes: float, environment: dict[str, str]) -> None:
        self.settings, self.environment = settings, environment
        self.until = time.monotonic() + 60 * minutes
        #: steps of this call and earlier ones that left something
        self.steps: dict[str, dict[str, Any]] = {}

    def left(self) -> float:
        """Return the seconds of the budget that are left."""
        return self.until - time.monotonic()

    def file(self, name: str) -> Path:
        """Return the JSON file of a step."""
        return self.settings.out / f"{name}.json"

    def kept(self, name: str) -> dict[str, list[Row]]:
        """Return the rows of the commands of a step that need not run again."""
        path = self.file(name)
        known = json.loads(path.read_text()) if path.is_file() else {}
        self.steps[name] = known
        parts: dict[str, list[Row]] = known.get("parts", {})
        return {part: rows for part, rows in parts.items() if worst(rows) in ("right", "wrong")}

    def step(self, name: str, again: bool) -> None:
        """Run the commands of a step that have not yet ended well or wrong."""
        parts = STEPS[name](self.settings)
        rows: dict[str, list[Row]] = {} if again else self.kept(name)
        print(f"{name}: {(STEPS[name].__doc__ or '').strip()}", flush=True)
        with (self.settings.out / f"{name}.log").open("a") as log:
            for part in parts:
                if part.name in rows:
                    print(f"  {part.name} | {worst(rows[part.name])} already", flush=True)
                    continue
                if program := missing(part):
                    rows[part.name] = [row(part.name, "skipped", said=[f"{program} is not on PATH"])]
                elif self.left() < LEAST:
                    print(f"  {part.name} | no time is left", flush=True)
                    break
                else:
                    done = run(part, min(part.limit, self.left()), log, self.environment)
                    rows[part.name] = judged(part, done, dict(rows))
                self.keep(name, rows, [p.name for p in parts])
        if not parts:
            self.keep(name, {name: [row(name, "skipped", said=["not part of a rehearsal"])]}, [name])

    def keep(self, name: str, rows: dict[str, list[Row]], parts: list[str]) -> None:
        """Write what a step has so far."""
        every = [r for part in rows.values() for r in part]
        open_parts = [p for p in parts if p not in rows]
        known = {
            "step": name,
            "question": (STEPS[name].__doc__ or "").strip(),
            "state": worst([*every, *([row("", "cut")] if open_parts else [])]),
            "date": datetime.datetime.now().isoformat(timespec="seconds"),
            "rehearsal": self.settings.rehearse,
            "not_run": open_parts,
            "parts": rows,
        }
        self.steps[name] = known
        write(self.file(name), json.dumps(known, indent=1) + "\n")

    def summary(self) -> dict[str, Any]:
        """Write the summary of all steps so far, and return it."""
        for name in STEPS:
            if name not in self.steps and self.file(name).is_file():
                self.steps[name] = json.loads(self.file(name).read_text())
        known = {name: self.steps[name] for name in STEPS if self.steps.get(name)}
        facts = [r["facts"] for s in known.values() for p in s["parts"].values() for r in p if "facts" in r]
        result = {
            "question": "gpu",
            "command": "python benchmarks/gpu_first.py OUT",
            "gpus": facts[0] if facts else [],
            "rehearsal": self.settings.rehearse,
            "steps": known,
            "not_run": [name for name in STEPS if name not in known],
        }
        write(self.settings.out / "summary.json", json.dumps(result, indent=1) + "\n")
        write(self.settings.out / "summary.txt", table(result))
        return result


def number(value: Any) -> str:
    """Return a figure as text, nothing where there is none."""
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def line(name: str, r: Row) -> str:
    """Return a row as text."""
    bar = {True: "reached", False: "MISSED"}.get(r.get("met"), "")
    figures = "".join(f"{number(r.get(k)):>12}" for k in ("bar", "predicted", "measured"))
    state = r["state"] if r["state"] == "right" else r["state"].upper()
    said = f"  {'; '.join(map(str, r['said']))[:160]}" if r.get("said") and r["state"] != "right" else ""
    return f"{name:<12}{r['what'][:62]:<64}{state:<8}{figures} {r.get('unit', ''):<22}{bar}{said}".rstrip()


def table(result: dict[str, Any]) -> str:
    """Return the summary as text."""
    head = f"{'step':<12}{'':<64}{'state':<8}{'bar':>12}{'predicted':>12}{'measured':>12}"
    lines = (
        ["REHEARSAL on the emulated device: figures mean nothing", head] if result["rehearsal"] else [head]
    )
    for name, step in result["steps"].items():
        lines += [line(name, r) for part in step["parts"].values() for r in part]
        lines += [line(name, row(part, "not run")) for part in step["not_run"]]
    lines += [f"{name:<12}not run" for name in result["not_run"]]
    return "\n".join(lines) + "\n"


def interpreter(options: argparse.Namespace) -> tuple[str, dict[str, str]]:
    """Return the Python that has subsalt and the environment it needs: that of a kit, or this one."""
    environment = dict(os.environ)
    if options.kit is not None:
        environment |= gpu_kit.unpack(options.kit, options.out / "kit")
    if options.rehearse:
        if not EMULATED.is_file():
            raise SystemExit(f"{EMULATED} is not there: build it with make emulated")
        environment["SUBSALT_CUDA_PLUGIN"] = str(EMULATED)
    return sys.executable, environment


def main() -> int:
    """Parse, run, sum up; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="for logs, results and jobs: 30 GB, 60 GB with the large case")
    parser.add_argument("--only", default=",".join(STEPS), help=f"steps, with commas: {', '.join(STEPS)}")
    parser.add_argument("--minutes", type=float, default=45.0, help="for all steps together")
    parser.add_argument("--kit", type=Path, help="folder that gpu_kit.py packed")
    parser.add_argument("--workers", type=int, default=8, help="processes that run the device tests")
    parser.add_argument("--again", action="store_true", help="also what ended well in an earlier call")
    parser.add_argument("--rehearse", action="store_true", help="on the emulated device")
    parser.add_argument("--publish", action="store_true", help="write docs/performance/gpu.json")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := [n for n in names if n not in STEPS]:
        parser.error(f"unknown steps {', '.join(unknown)}; there are {', '.join(STEPS)}")
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    python, environment = interpreter(options)
    settings = Settings(options.out, python, options.workers, options.rehearse)
    session = Session(settings, options.minutes, environment)
    for name in STEPS:
        if name in names and session.left() >= LEAST:
            session.step(name, options.again)
            session.summary()
    result = session.summary()
    print(table(result), end="")
    if options.publish and not options.rehearse:
        write(HERE.parent / "docs" / "performance" / "gpu.json", json.dumps(result, indent=1) + "\n")
    ran = [result["steps"][n]["state"] if n in result["steps"] else "cut" for n in names]
    return int(any(state not in ("right", "skipped") for state in ran))


if __name__ == "__main__":
    sys.exit(main())
