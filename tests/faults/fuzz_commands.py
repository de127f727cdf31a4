"""Commands in a child process of their own, of bounded memory and time, and what was wrong with how they ended.

A command may refuse what it is given, in any words; it may not say E001 ("internal error"), show a traceback or a
warning of Python, be killed, use up its memory, or go on for ever.

As a program it is a process that forks the children of others, and has no threads that would be lost in them: it reads
requests from standard input, a JSON object a line, and answers each with one.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

#: bytes of address space that a command may take beyond those of the process that it begins as
MEMORY = 1 << 30
#: seconds of computing after which a command hangs, and of waiting, which a busy machine makes longer
COMPUTING, WAITING = 20.0, 200.0
#: seconds after which a run that works is told to stop: it then ends with 75
ENOUGH = 2.0
#: commands that end with 75 when they are told to stop
STOPPABLE = ("migrate", "model", "resume")


@dataclass
class Ended:
    """How commands ended, one after the other, in one child.

    Parameters
    ----------
    codes : list of int
        Exit codes of those that ended.
    fault : str
        What was wrong, with the command; empty when nothing was.
    text : str
        What they printed, its end.
    seconds, grown_mb : float
        Time, and peak memory beyond that of the process it began as.
    """

    codes: list[int]
    fault: str
    text: str
    seconds: float
    grown_mb: float


def prepare() -> None:
    """Import what commands import, once for all children; threads would not survive the fork."""
    os.environ |= {"SUBSALT_TUNE": "off", "SUBSALT_MEASURE": "off", "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    os.environ["SUBSALT_CUDA_PLUGIN"] = "off"
    import importlib
    import pkgutil

    import subsalt

    for module in pkgutil.walk_packages(subsalt.__path__, "subsalt."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    import matplotlib.figure  # noqa: F401
    import scipy.io  # noqa: F401
    import zarr  # noqa: F401


def run(
    commands: Sequence[Sequence[str]], *, go_on: bool = False, memory: int = MEMORY, enough: float = ENOUGH
) -> Ended:
    """Run commands one after the other in a child of this process; all but the last must end with 0, or `go_on`."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        log, report = Path(folder, "log"), Path(folder, "told")
        begin = time.perf_counter()
        child = os.fork()
        if child == 0:
            try:
                _child([list(c) for c in commands], go_on, memory, enough, log, report)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(99)
        status = _wait(child, WAITING)
        text = log.read_bytes().decode("utf-8", "backslashreplace")
        lines = [json.loads(line) for line in report.read_text().splitlines()]
    codes = [line["code"] for line in lines if "code" in line]
    fault = next((line["fault"] for line in lines if line.get("fault")), "")
    if not fault and (death := _death(status, lines)):
        fault = f"{death}\n{text[-3000:]}"
    grown = max((line["grown_mb"] for line in lines if "grown_mb" in line), default=0.0)
    return Ended(codes, fault, text[-6000:], time.perf_counter() - begin, grown)


def _death(status: int | None, lines: list[dict[str, Any]]) -> str:
    at = next((line["begin"] for line in reversed(lines) if "begin" in line), "")
    if status is None:
        return f"{at}: waits for ever"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"{at}: " + (
            "computes for ever" if number == signal.SIGPROF else f"killed by {signal.Signals(number).name}"
        )
    return "" if os.WEXITSTATUS(status) == 0 else f"{at}: the child left with {os.WEXITSTATUS(status)}"


def _wait(child: int, seconds: float) -> int | None:
    """Return the status of a child, None when it had to be killed."""
    end, pause = time.monotonic() + seconds, 0.001
    while time.monotonic() < end:
        waited, status = os.waitpid(child, os.WNOHANG)
        if waited:
            return status
        time.sleep(pause)
        pause = min(0.02, 1.5 * pause)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _status(key: str) -> int:
    """Return a number of bytes that the system says of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


def _child(
    commands: list[list[str]], go_on: bool, memory: int, enough: float, log: Path, report: Path
) -> None:
    from subsalt.cli import app, guard

    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for old, new in ((0, nothing), (1, out), (2, out)):
        os.dup2(new, old)
    sys.stdin = os.fdopen(os.dup(0))
    sys.stdout, sys.stderr = (
        os.fdopen(os.dup(n), "w", buffering=1, errors="backslashreplace") for n in (1, 2)
    )
    size, resident = _status("VmSize"), _status("VmRSS")
    resource.setrlimit(resource.RLIMIT_AS, (size + memory, size + memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(file=out)
    faulthandler.register(signal.SIGPROF, file=out, chain=True)
    seen: list[str] = []
    warnings.simplefilter("always")
    warnings.showwarning = lambda message, category, name, line, *_: seen.append(  # type: ignore[assignment]
        f"{category.__name__} at {name}:{line}: {message}"
    )
    raised: list[str] = []
    other = guard._other

    def noted(error: Exception, *rest: Any) -> int:
        raised.append("".join(traceback.format_exception(error))[-1500:])
        return other(error, *rest)

    guard._other = noted
    with report.open("a", buffering=1) as tell:
        for words in commands:
            print(json.dumps({"begin": words[0]}), file=tell)
            begin = log.stat().st_size
            faulthandler.dump_traceback_later(WAITING - 3, file=out)
            signal.setitimer(signal.ITIMER_PROF, COMPUTING)
            if words[0] in STOPPABLE:
                signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
                signal.setitimer(signal.ITIMER_REAL, enough)
            try:
                code = guard.run(app.app, words)
            except SystemExit as leave:
                code = leave.code if isinstance(leave.code, int) else 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)
            said = log.read_bytes()[begin:].decode("utf-8", "backslashreplace")
            # Python hides both from users; a stop that arrives while a file is opened leaves it to be closed later
            shown = [w for w in seen if not any(k in w for k in ("DeprecationWarning", "ResourceWarning"))]
            fault = _fault(code, said, shown, raised)
            grown = (_status("VmHWM") - resident) / 1e6
            said = f"{words[0]}: {fault}" if fault else ""
            print(json.dumps({"code": code, "fault": said, "grown_mb": grown}), file=tell)
            seen.clear()
            if fault or (code and not go_on and words[0] != "explain"):
                break
    os._exit(0)


def _fault(code: int, said: str, warned: list[str], raised: list[str]) -> str:
    """Return what is wrong with how a command ended; empty when nothing is."""
    where = "\n" + raised[-1] if raised else ""
    if code == 70 or "E001" in said:
        for report in re.findall(r"please report it with (\S+)", said):
            Path(report).unlink(missing_ok=True)
        return f"internal error{where or said[-500:]}"
    at = said.find("Traceback (most recent call last)")
    if at >= 0:
        return f"shows a traceback: {said[max(0, at - 200) : at + 1800]}"
    if re.search(r"E612  out of memory", said):
        return f"out of memory: the allocation was tried{where}"
    if warned:
        return f"warns: {warned[0]}"
    return ""


def main() -> None:
    """Answer requests: commands in a folder, or so many jobs or runs of a seed."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    prepare()
    sys.path[:0] = [str(Path(__file__).resolve().parent)]
    import fuzz_jobs
    import fuzz_runs

    for line in sys.stdin:
        result = json.loads(line)
        if "commands" in result:
            os.chdir(result["folder"])
            outcome = asdict(run(result["commands"]))
        else:
            fuzz = {"jobs": fuzz_jobs.run, "runs": fuzz_runs.run}[result["kind"]]
            outcome = fuzz(result["count"], result["seed"], Path(result["folder"]))
        print(json.dumps(outcome), file=answers)


if __name__ == "__main__":
    main()
