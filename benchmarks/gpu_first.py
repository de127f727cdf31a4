"""What does this program do on its first GPU, in the quarter of an hour that one may have there?

    python3 benchmarks/gpu_first.py OUT --call 1 --kit KIT      # a bare machine: 370 s; then, there or on another one,
    python3 benchmarks/gpu_first.py OUT --call 2 --kit KIT      # 340 s
    python benchmarks/gpu_first.py OUT                          # a machine of one's own: all steps, 45 minutes
    python benchmarks/gpu_first.py OUT1 OUT2 --publish          # keep the results of both calls

Steps run one after the other, what tells most first (gpu_steps.py); each command is a process of its own with a time
limit. A step that fails, hangs or gives other bytes than the processor is marked so, and the next one runs. OUT has at
most `FILES` files, rewritten after every command, so that nothing measured is lost when the machine is:
results.json, summary.txt, log.txt, and the module that was compiled there. The same command again repeats what was cut
or failed and keeps the rest; ``--again`` keeps nothing.

Works without a network, from a folder that gpu_kit.py packed where there was one (``--kit``). ``--rehearse`` runs
everything on the emulated device (make emulated) with grids of a few points: figures mean nothing then. ``--publish``
writes docs/performance/gpu.json, from which docs/notes/gpu.md has its table.
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
from gpu_steps import CALL_SECONDS, CALLS, STEPS, Done, Part, Row, Settings, missing, row, worst  # noqa: E402

EMULATED = HERE.parent / "build" / "emulated" / "libsubsalt_cuda_emulated.so"
#: seconds that a command needs at least to be started, and that it has to end after it was asked to
LEAST, GRACE = 10.0, 5.0
#: times as long may commands of a rehearsal take: on few cores that others use too
REHEARSAL = 10.0
#: minutes of all steps on a machine of one's own
MINUTES = 45.0
#: files of a call at most, and bytes of its log: whoever brings them back may take no more
FILES, LOG_BYTES = 8, 8 << 20
RESULTS, SUMMARY, LOG = "results.json", "summary.txt", "log.txt"


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
        if log.tell() < LOG_BYTES:
            log.write(f"{part.name} | {text}\n")
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

    def __init__(self, settings: Settings, seconds: float, environment: dict[str, str]) -> None:
        self.settings, self.environment = settings, environment
        self.until = time.monotonic() + seconds
        #: what this call and earlier ones of the same folder have so far, by step
        self.steps: dict[str, dict[str, Any]] = read(settings.out).get("steps", {})

    def left(self) -> float:
        """Return the seconds of the budget that are left."""
        return self.until - time.monotonic()

    def kept(self, name: str) -> dict[str, list[Row]]:
        """Return the rows of the commands of a step that need not run again."""
        parts: dict[str, list[Row]] = self.steps.get(name, {}).get("parts", {})
        return {part: rows for part, rows in parts.items() if worst(rows) in ("right", "wrong")}

    def step(self, name: str, again: bool) -> None:
        """Run the commands of a step that have not yet ended well or wrong."""
        parts = STEPS[name](self.settings)
        rows: dict[str, list[Row]] = {} if again else self.kept(name)
        print(f"{name}: {question(name)}", flush=True)
        with (self.settings.out / LOG).open("a") as log:
            for part in parts:
                if part.name in rows:
                    print(f"  {part.name} | {worst(rows[part.name])} already", flush=True)
                    continue
                seconds = 0.0
                if program := missing(part):
                    rows[part.name] = [row(part.name, "skipped", said=[f"{program} is not on PATH"])]
                elif self.left() < LEAST:
                    print(f"  {part.name} | no time is left", flush=True)
                    break
                else:
                    limit = part.limit * (REHEARSAL if self.settings.rehearse else 1.0)
                    done = run(part, min(limit, self.left()), log, self.environment)
                    seconds = done.seconds
                    rows[part.name] = judged(part, done, dict(rows))
                self.keep(name, rows, [p.name for p in parts], {part.name: round(seconds, 1)})
        if not parts:
            why = "not part of a rehearsal" if self.settings.kit or name != "unpack" else "no kit"
            self.keep(name, {name: [row(name, "skipped", said=[why])]}, [name], {})

    def keep(
        self, name: str, rows: dict[str, list[Row]], parts: list[str], seconds: dict[str, float]
    ) -> None:
        """Write what a step has so far, and the summary of all steps."""
        every = [r for part in rows.values() for r in part]
        open_parts = [p for p in parts if p not in rows]
        before = self.steps.get(name, {}).get("seconds", {})
        self.steps[name] = {
            "step": name,
            "question": question(name),
            "state": worst([*every, *([row("", "cut")] if open_parts else [])]),
            "date": datetime.datetime.now().isoformat(timespec="seconds"),
            "rehearsal": self.settings.rehearse,
            "not_run": open_parts,
            "seconds": {part: s for part, s in (before | seconds).items() if part in rows},
            "parts": rows,
        }
        self.summary()

    def summary(self) -> dict[str, Any]:
        """Write the summary of all steps so far, and return it."""
        result = summed(self.steps, rehearsal=self.settings.rehearse)
        write(self.settings.out / RESULTS, json.dumps(result, indent=1) + "\n")
        write(self.settings.out / SUMMARY, table(result))
        return result


def question(name: str) -> str:
    """Return what a step asks."""
    return (STEPS[name].__doc__ or "").strip()


def read(folder: Path) -> dict[str, Any]:
    """Return the results in a folder, if there are any."""
    path = folder / RESULTS
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def summed(steps: dict[str, dict[str, Any]], *, rehearsal: bool) -> dict[str, Any]:
    """Return the results of steps as one object, in the order of the steps."""
    known = {name: steps[name] for name in STEPS if name in steps}
    facts = [r["facts"] for s in known.values() for p in s["parts"].values() for r in p if "facts" in r]
    return {
        "question": "gpu",
        "command": "python3 benchmarks/gpu_first.py OUT --call 1 --kit KIT",
        "gpus": facts[0] if facts else [],
        "rehearsal": rehearsal,
        "steps": known,
        "not_run": [name for name in STEPS if name not in known],
    }


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


def environment_of(options: argparse.Namespace, settings: Settings) -> dict[str, str]:
    """Return the environment in which steps find subsalt: that of a kit, or this one."""
    environment = dict(os.environ)
    if settings.kit is not None:
        environment |= gpu_kit.environment(settings.kit, settings.site)
    elif options.rehearse:
        if not EMULATED.is_file():
            raise SystemExit(f"{EMULATED} is not there: build it with make emulated")
        environment["SUBSALT_CUDA_PLUGIN"] = str(EMULATED)
    return environment


def publish(folders: Sequence[Path]) -> None:
    """Write the results of one or more calls as docs/performance/gpu.json; of a step the last that has it."""
    steps: dict[str, dict[str, Any]] = {}
    for folder in folders:
        results = read(folder)
        if not results:
            raise SystemExit(f"{folder} has no {RESULTS}")
        if results["rehearsal"]:
            raise SystemExit(f"{folder} is a rehearsal: its figures mean nothing")
        steps |= results["steps"]
    result = summed(steps, rehearsal=False)
    write(HERE.parent / "docs" / "performance" / "gpu.json", json.dumps(result, indent=1) + "\n")
    print(table(result), end="")


def main() -> int:
    """Parse, run, sum up; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, nargs="+", help="folder of the results; with --publish one or more")
    parser.add_argument(
        "--call", choices=[*CALL_SECONDS, "all"], default="all", help="steps and seconds of a call"
    )
    parser.add_argument("--only", help=f"steps, with commas: {', '.join(STEPS)}")
    parser.add_argument("--seconds", type=float, help="for all steps together")
    parser.add_argument("--kit", type=Path, help="folder that gpu_kit.py packed")
    parser.add_argument(
        "--work", type=Path, default=HERE.parent / "build" / "gpu-first",
        help="for jobs and what is unpacked: 5 GB, 60 GB with the large case",
    )  # fmt: skip
    parser.add_argument("--workers", type=int, default=12, help="processes that run the device tests")
    parser.add_argument("--again", action="store_true", help="also what ended well in an earlier call")
    parser.add_argument("--rehearse", action="store_true", help="on the emulated device")
    parser.add_argument(
        "--publish", action="store_true", help="write docs/performance/gpu.json, and run nothing"
    )
    options = parser.parse_args()
    if options.publish:
        publish(options.out)
        return 0
    if len(options.out) > 1:
        parser.error("results go into one folder")
    names = (
        options.only.split(",")
        if options.only
        else [*(STEPS if options.call == "all" else CALLS[options.call])]
    )
    if unknown := [n for n in names if n not in STEPS]:
        parser.error(f"unknown steps {', '.join(unknown)}; there are {', '.join(STEPS)}")
    out, work = options.out[0].resolve(), options.work.resolve()
    for folder in (out, work):
        folder.mkdir(parents=True, exist_ok=True)
    kit = options.kit.resolve() if options.kit else None
    settings = Settings(out, work, sys.executable, options.workers, options.rehearse, kit)
    seconds = options.seconds or CALL_SECONDS.get(options.call, 60 * MINUTES)
    seconds *= REHEARSAL if options.rehearse and not options.seconds else 1.0
    session = Session(settings, seconds, environment_of(options, settings))
    for name in STEPS:
        if name in names and session.left() >= LEAST:
            session.step(name, options.again)
    result = session.summary()
    print(table(result), end="")
    ran = [result["steps"][n]["state"] if n in result["steps"] else "cut" for n in names]
    return int(any(state not in ("right", "skipped") for state in ran))


if __name__ == "__main__":
    sys.exit(main())
