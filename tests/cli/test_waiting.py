"""The sign of life of commands that take long: nothing at first, a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from segy_maker import line_headers, make_segy

from patience import PATIENCE, wait_for
from subsalt.cli import waiting
from subsalt.io.reading_progress import each, listening, tell
from subsalt.io.scan.scan import scan


def write_shots(path: Path) -> Path:
    """Write two shots of eight traces."""
    samples = np.random.default_rng(3).standard_normal((16, 100))
    return make_segy(path, samples, headers=line_headers(2, 8))


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_scan_tells_files_and_parts_of_them(tmp_path: Path) -> None:
    paths = [write_shots(tmp_path / f"{k}.sgy") for k in range(3)]
    progress: list[tuple[float, float, str, str]] = []
    scan(paths, progress=lambda *words: progress.append(words))
    done = [d for d, *_ in progress]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[-1] == 3
    assert {t[1:] for t in progress} == {(3, "files", "scanned")}
    assert any(d % 1 == 0.0 for d in done)


def test_nothing_is_told_where_nobody_listens(tmp_path: Path) -> None:
    heard: list[float] = []
    with listening(lambda done, *_: heard.append(done)):
        assert list(each("ab", "files", "read")) == ["a", "b"]
    tell(1, 2, "files", "read")
    assert heard == [0, 1, 2]


def test_a_short_command_shows_nothing() -> None:
    stream = Terminal()
    with waiting.Waiting("scanning", stream, soon=PATIENCE) as shown:
        shown(1, 4, "files", "scanned")
    assert stream.getvalue() == ""


def test_a_bar_begins_while_one_long_step_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer begins it, not the next step; and it is gone at the end."""
    moved: list[tuple[float, float, str, str]] = []

    class Bar:
        def __init__(self, label: str, units: str = "shots") -> None:
            self.units = units
            moved.clear()

        def __call__(self, done: float, total: float, message: str = "") -> None:
            moved.append((done, total, self.units, message))

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *error: object) -> None:
            moved.append((-1, 0, "", "gone"))

    monkeypatch.setattr("subsalt.run.progress.Bar", Bar)
    with waiting.Waiting("checking", Terminal(), soon=0.0) as shown:
        shown(1, 4, "files", "headers")
        wait_for(lambda: (1, 4, "files", "headers") in moved)
        shown(2, 24, "rules", "applied")
        assert moved[-1] == (2, 24, "rules", "applied")
    assert moved[-1][-1] == "gone"


def test_lines_come_seldom_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("subsalt.cli.waiting.time.monotonic", lambda: clock[0])
    stream = io.StringIO()
    with waiting.Waiting("scanning", stream) as shown:
        for k in range(400):
            clock[0] = 100.0 + k
            shown(k, 400, "files", "scanned")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "scanning 30/400 files scanned  0:30"
    # every 30 s to 300 s, then at tenths of the time so far
    assert 10 < len(lines) < 14


def test_a_short_command_reads_no_module_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "subsalt.run.progress", None)
    stream = io.StringIO()
    with waiting.Waiting("scanning", stream, soon=PATIENCE) as shown:
        shown(1, 2, "files", "scanned")
    assert not stream.getvalue()


@pytest.mark.skipif(not hasattr(pty, "openpty"), reason="no terminals here")
def test_progress_stays_out_of_json_and_ctrl_c_is_clean(tmp_path: Path) -> None:
    path = write_shots(tmp_path / "a.sgy")
    slow = (
        "import sys, time\n"
        "import subsalt.cli.waiting as w, subsalt.io.scan.one_file as s\n"
        "w.SOON = 0.0\nw.Waiting.__init__.__defaults__ = (None, 0.0)\n"
        "inner = s.open_headers\n"
        "def wait(*a, **k):\n"
        "    print('READY', flush=True)\n    time.sleep(%s)\n    return inner(*a, **k)\n"
        "s.open_headers = wait\n"
        "from subsalt.cli.app import main\n"
        "sys.argv = ['subsalt', 'scan', %r, *sys.argv[1:]]\n"
        "sys.exit(main())\n"
    )
    for args, nap in ((["--json"], 0.3), ([], 10 * PATIENCE)):
        leader, follower = pty.openpty()
        run = subprocess.Popen(
            [sys.executable, "-c", slow % (nap, str(path)), *args],
            stdout=subprocess.PIPE,
            stderr=follower,
            text=True,
        )
        os.close(follower)
        seen = b""
        assert run.stdout is not None
        assert run.stdout.readline() == "READY\n"
        if not args:
            while b"scanning" not in seen:
                seen += os.read(leader, 4096)
            run.send_signal(signal.SIGINT)
        out = run.stdout.read()
        code = run.wait(PATIENCE)
        while True:
            try:
                part = os.read(leader, 4096)
            except OSError:
                break
            if not part:
                break
            seen += part
        os.close(leader)
        if args:
            assert code == 0
            assert out.startswith("{")
            assert b"scanning" not in seen
        else:
            assert code == 130
            assert b"Traceback" not in seen
            assert b"interrupted" in seen
            # the cursor is shown again
            assert seen.rfind(b"\x1b[?25h") > seen.rfind(b"\x1b[?25l")
