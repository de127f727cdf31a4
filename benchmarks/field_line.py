"""How long does a field line take from its file to its image, and is the wavelet found that was put in?

    python benchmarks/field_line.py FOLDER [--shots 1001] [--no-rtm]

The line of `examples/field_line` (1001 shots, 749,552,400 bytes) is made in FOLDER unless it is there. Then the
commands of its README follow, each a process of its own: scan with a picture of the first breaks, init, the lines that
a user edits, check, wavelet, migrate. A run that was stopped goes on.

Prints one line per step and, last, one JSON object:

scan_s, wavelet_s, rtm_s
    Wall time of these commands, s.
wavelet_correlation
    Of the estimated wavelet with the one put in, both through the filters of the job.
shots_used, residual, correlation
    What `subsalt wavelet` says of its fit.
peak_gb
    Largest resident size of any of these processes, GB.
edited_lines
    Lines of the final job file that `init` did not write.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parent / "examples" / "field_line"
SUBSALT = [sys.executable, "-m", "subsalt"]
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
from facts import machine  # noqa: E402

from subsalt.acquisition import wavelet as wavelets  # noqa: E402
from subsalt.examples import make_example  # noqa: E402
from subsalt.examples.marine import SHOTS  # noqa: E402
from subsalt.methods.rtm.job import Job  # noqa: E402
from subsalt.methods.rtm.wavelet_job import through_steps  # noqa: E402

#: what a user writes into the job of `init` (README, steps 3 and 4): patterns of lines, and what stands there then
EDITS = json.loads((EXAMPLE / "edits.json").read_text())


def edited(text: str, when: str) -> str:
    """Return a job with the lines that the README edits then."""
    for pattern, new in EDITS[when]:
        text, count = re.subn(pattern, new, text, count=1, flags=re.MULTILINE)
        if not count:
            raise SystemExit(f"the job has no line {pattern!r}: the README is not up to date")
    return text


def changed_lines(before: str, after: str) -> int:
    """Return the number of lines of `after` that `before` does not have."""
    return sum(line.startswith("+ ") for line in difflib.ndiff(before.splitlines(), after.splitlines()))


class Steps:
    """Commands in a folder, their times, and the largest resident size.

    Parameters
    ----------
    folder : Path
        Where they work.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.peak = 0

    def run(self, *words: str, done: tuple[int, ...] = (0,)) -> tuple[float, dict[str, Any]]:
        """Run a command of subsalt that ends with one of these codes; return wall time, s, and its JSON."""
        begin = time.perf_counter()
        process = subprocess.Popen(
            [*SUBSALT, *words, "--json"], cwd=self.folder, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        code = os.waitstatus_to_exitcode(status)
        self.peak = max(self.peak, usage.ru_maxrss * 1024)
        if code not in done:
            raise SystemExit(f"subsalt {' '.join(words)} ended with {code}")
        print(f"{seconds:8.1f} s  subsalt {' '.join(words)}", flush=True)
        return seconds, json.loads(out.splitlines()[-1])


def likeness(folder: Path) -> float:
    """Return the correlation of the estimated wavelet with the one put in, taken through the filters of the job."""
    put_in = through_steps(wavelets.from_file(folder / "wavelet.txt"), Job.from_toml(folder / "line.toml"))
    wavelet = wavelets.from_file(folder / "line.wavelet.txt")
    a = np.interp(wavelet.times(), put_in.times(), put_in.samples, left=0.0, right=0.0)
    # what lies outside the samples of the estimate counts as missed
    energy = float((put_in.samples**2).sum()) * put_in.dt / wavelet.dt
    return float(a @ wavelet.samples / np.sqrt(energy * (wavelet.samples**2).sum()))


def main() -> None:
    """Make, scan, edit, estimate, migrate, and print what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shots", type=int, default=SHOTS)
    parser.add_argument("--no-rtm", action="store_true", help="stop before the migration")
    options = parser.parse_args()
    folder = options.folder
    begin = time.perf_counter()
    if not (folder / "truth.json").exists():
        make_example("marine", folder, options.shots)
        print(f"{time.perf_counter() - begin:8.1f} s  the line is made", flush=True)
    steps = Steps(folder)
    # wild traces are an error of the data (65) until the job says what becomes of them
    scan_s, scanned = steps.run("scan", "line.sgy", "--first-breaks", "-o", "first-breaks.png", done=(0, 65))
    if scanned["n_shots"] != options.shots:
        raise SystemExit(f"{folder} holds a line of {scanned['shots']} shots: name another folder")
    steps.run("init", "line.toml", "--from", "line.sgy", "--vp", "vp.rsf", "--force", done=(0, 65))
    before = (folder / "line.toml").read_text()
    (folder / "line.toml").write_text(edited(before, "before the wavelet"))
    wavelet_s, fit = steps.run("wavelet", "line.toml")
    after = edited((folder / "line.toml").read_text(), "after it")
    (folder / "line.toml").write_text(after)
    steps.run("check", "line.toml")
    rtm_s = None
    if not options.no_rtm:
        rtm_s, _ = steps.run("migrate", "line.toml")
    result = {
        "shots": options.shots,
        "bytes": (folder / "line.sgy").stat().st_size,
        "scan_s": round(scan_s, 2),
        "wavelet_s": round(wavelet_s, 2),
        "wavelet_correlation": round(likeness(folder), 5),
        "shots_used": fit["shots_used"],
        "residual": round(fit["residual"], 4),
        "correlation": round(fit["correlation"], 5),
        "rtm_s": None if rtm_s is None else round(rtm_s, 1),
        "peak_gb": round(steps.peak / 1e9, 3),
        "edited_lines": changed_lines(before, after),
        "machine": machine(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
