"""Damaged job files and damaged runs end in a message with a code: never E001, a traceback, a warning or a hang.

A small form of `make fuzz`, and the inputs that it found wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fuzz_jobs
import pytest

from thorough import sample

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Return what asks a process that has no threads, and can be forked."""
    words = [sys.executable, str(Path(__file__).with_name("fuzz_commands.py"))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:

        def answer(**request: object) -> dict[str, Any]:
            print(json.dumps(request), file=server.stdin, flush=True)
            result: dict[str, Any] = json.loads(server.stdout.readline())
            return result

        yield answer
        server.stdin.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the jobs name."""
    made = tmp_path_factory.mktemp("jobs")
    fuzz_jobs.write_files(made)
    return made


def test_mutated_jobs(ask: Ask, tmp_path: Path) -> None:
    report = ask(kind="jobs", count=sample(12, 40), seed=sample(1, 11), folder=str(tmp_path / "jobs"))
    assert not report["failures"], report["failures"][:3]
    # jobs that are refused and jobs that run must both occur, or the test tests nothing
    assert {k.split()[0] for k in report["ends"]} >= {"check", "image"}


def test_damaged_runs(ask: Ask, tmp_path: Path) -> None:
    report = ask(kind="runs", count=sample(4, 10), seed=sample(5, 11), folder=str(tmp_path / "runs"))
    assert not report["failures"], report["failures"][:3]
    assert len(report["ends"]) > 1


#: what once was an internal error, a hang, or an allocation that was tried: a job, a key, its value, and the code
FOUND = {
    "no shots": ("model", "acquisition.shots", [], "E104"),
    "a spacing of 1e-300 m": ("line", "propagation.grid", 1e-300, "E103"),
    "a spacing of 1e-300 m in a text": ("line", "propagation.grid", "1e-300 m", "E103"),
    "a spacing of a picometre": ("line", "propagation.grid", 1e-9, "E129"),
    "more points than memory holds": ("model", "grid.shape", [1_000_000, 1_000_000], "E610"),
    "more points than anything holds": ("model", "grid.shape", [10_000_000, 10_000_000], "E129"),
    "a number of 400 digits": ("model", "grid.spacing", 10**400, "E103"),
    "a number of 400 digits in a text": ("model", "grid.spacing", "9" * 400, "E103"),
    "more shots than memory holds": ("model", "acquisition.shots.n", 9_000_000, "E610"),
    "more positions than any": ("model", "acquisition.receivers.n", 10**12, "E104"),
    "a layer of a billion cells": ("line", "propagation.layer", 10**9, "E151"),
    "samples of a nanosecond": ("line", "signal", [{"step": "resample", "dt": 1e-9}], "E794"),
    "an image of nanoseconds": ("area", "kirchhoff.time", {"first": 0, "last": 1, "step": 1e-9}, "E761"),
    "a trillion classes": ("area", "kirchhoff.offset", {"first": 0, "last": 1e9, "step": 1e-3}, "E768"),
    "an image of 10^12 locations": (
        "area",
        "kirchhoff.corners",
        [[11, 101, 1000.0, 2000.0], [11, 10**6, 1000.0, 2380.0], [10**6, 101, 1125.0, 2000.0]],
        "E610",
    ),
    "a pipe of traces": ("line", "data.files", ["pipe"], "E111"),
    "a device of velocities": ("line", "model.vp", "/dev/zero", "E111"),
    "a pipe of elevations": ("hills", "propagation.topography.elevations", "pipe", "E111"),
    "a device of shots": ("volume", "acquisition.shots", "/dev/zero", "E111"),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(name: str, folder: Path, ask: Ask) -> None:
    kind, key, value, code = FOUND[name]
    raw = tomllib.loads(fuzz_jobs.JOBS[kind])
    here = raw
    *tables, last = key.split(".")
    for table in tables:
        here = here[table]
    here[last] = value
    (folder / "job.toml").write_text(fuzz_jobs.as_toml(raw))
    ended = ask(commands=[["check", "job.toml", "--no-map"], ["plan", "job.toml"]], folder=str(folder))
    assert not ended["fault"], ended["fault"]
    assert f"{code}  " in ended["text"]
    # arrays of a small job, and text
    assert ended["grown_mb"] < 600


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("/dev/zero", None, "E106"),
        ("pipe", None, "E106"),
        ("job.toml", "x = " + "[" * 5000, "E106"),
        ("job.toml", "x = 1" + "0" * 5000, "E106"),
        ("job.toml", "method = 0x" + "f" * 5000, "E104"),
        # a byte order mark is read over
        ("job.toml", "\ufeff[data]", "E102"),
    ],
)
def test_what_is_no_job(name: str, text: str | None, code: str, folder: Path, ask: Ask) -> None:
    if text is not None:
        (folder / name).write_text(text)
    ended = ask(commands=[["check", name, "--no-map"]], folder=str(folder))
    assert not ended["fault"], ended["fault"]
    assert f"{code}  " in ended["text"]


@pytest.mark.parametrize(
    "keys", ["o1=1e300", "d1=1e-300", "d1=1e300", "o2=1e15", "n1=99999999999", "d1=nan", "d2=0"]
)
def test_a_picture_of_a_volume_that_lies_nowhere_is_refused(keys: str, folder: Path, ask: Ask) -> None:
    text = (folder / "vp.rsf").read_text()
    (folder / "odd.rsf").write_text(f"{text}\n{keys}\n")
    ended = ask(commands=[["view", "odd.rsf", "-o", "odd.png"]], folder=str(folder))
    assert not ended["fault"], ended["fault"]
    assert ended["codes"] == [65]


def test_a_stop_is_told_wherever_it_arrives() -> None:
    """In the schema of a job that compiled code builds, and while an object is destroyed, Python hides it."""
    import signal
    import time

    from subsalt.cli import guard

    class Lost:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            for _ in range(1000):
                pass

    class App:
        """In place of the commands: what `guard` calls."""

    def inside(how: str) -> int:
        def work(*_: object, **__: object) -> int:
            if how == "destroyed":
                Lost()
            else:
                try:
                    os.kill(os.getpid(), signal.SIGTERM)
                    time.sleep(5)
                except BaseException as stop:
                    raise ValueError(
                        f"Error building a validator:\n  {type(stop).__name__}: {stop}"
                    ) from None
            time.sleep(20)
            return 0

        before = {n: signal.getsignal(n) for n in guard.STOPPING}
        originals = guard.named_command_only, guard.typer.main.get_command
        guard.named_command_only, guard.typer.main.get_command = (
            lambda app, argv: app,
            lambda app: type("C", (), {"main": work})(),
        )
        try:
            return guard.run(App(), ["migrate"])
        finally:
            guard.named_command_only, guard.typer.main.get_command = originals
            for n, handler in before.items():
                signal.signal(n, handler)

    assert inside("destroyed") == 75
    assert inside("an error of compiled code") == 75
