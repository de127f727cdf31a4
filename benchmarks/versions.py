"""Is this source tree as fast as another one?

    python benchmarks/versions.py OTHER [CASE ...] [--rounds 7] [--out FILE]

OTHER is the root of another tree with its own environment (`make setup` there). Both run our side of the cases of
``benchmarks/peers``, each in a process of its own, each by its own code; rounds alternate forwards and backwards. The
ratio of a pair is the time here over the time there; what counts is the median of the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parents[1]
#: worker, variant, and steps of a round, by the beginning of a case's name
WORKERS = {
    "iso": ("subsalt_worker.py", "pml", 20),
    "vti": ("subsalt_worker.py", "pml", 20),
    "tti": ("subsalt_worker.py", "pml", 20),
    "rtm": ("subsalt_rtm.py", "every", 0),
    "kirchhoff": ("subsalt_kirchhoff.py", "bands", 0),
}
CASES = ("iso-256", "vti-256", "rtm3d", "kirchhoff")


class Tree:
    """A worker of one tree, and what it answers; the protocol is that of ``benchmarks/peers/protocol.py``."""

    def __init__(self, root: Path, case: str, threads: int) -> None:
        script, variant, self.steps = next(w for name, w in WORKERS.items() if case.startswith(name))
        words = [root / ".venv/bin/python", root / "benchmarks/peers" / script, case, variant]
        self.process = subprocess.Popen(
            [str(w) for w in words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root / "benchmarks/peers",
            env=os.environ | {"OMP_NUM_THREADS": str(threads)},
        )
        self.about = self._answer()["ready"]

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a worker ended; its message stands above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, what: str, **options: Any) -> Any:
        """Return the answer to a request."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": what, **options}) + "\n")
        self.process.stdin.flush()
        return self._answer()["result"]

    def round(self) -> float:
        """Return the seconds of one round."""
        if not self.steps:
            return float(self.ask("round"))
        self.ask("fill")
        return float(self.ask("round", steps=self.steps))

    def close(self) -> None:
        """End the worker."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compare(other: Path, case: str, rounds: int, threads: int) -> dict[str, Any]:
    """Return seconds of both trees, and the ratios of their pairs, for one case."""
    trees = {"here": Tree(HERE, case, threads), "other": Tree(other, case, threads)}
    try:
        if case.startswith("rtm"):
            with tempfile.TemporaryDirectory() as folder:
                path = str(Path(folder) / "traces.npy")
                trees["here"].ask("traces", out=path)
                for tree in trees.values():
                    tree.ask("data", path=path)
        for tree in trees.values():
            tree.round()
        seconds: dict[str, list[float]] = {name: [] for name in trees}
        for i in range(rounds):
            for name in list(trees) if i % 2 == 0 else list(reversed(trees)):
                seconds[name].append(trees[name].round())
        about = {name: tree.about["version"] for name, tree in trees.items()}
    finally:
        for tree in trees.values():
            tree.close()
    ratios = [a / b for a, b in zip(seconds["here"], seconds["other"], strict=True)]
    return {
        "ratio": round(median(ratios), 4),
        "min": round(min(ratios), 4),
        "max": round(max(ratios), 4),
        "seconds": {name: round(median(values), 5) for name, values in seconds.items()},
        "versions": about,
    }


def main(words: list[str]) -> int:
    """Compare two trees and print a line per case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, help="root of the other tree")
    parser.add_argument(
        "cases", nargs="*", default=CASES, help=f"cases of benchmarks/peers; {' '.join(CASES)}"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(words)
    rows = {}
    for case in options.cases:
        row = rows[case] = compare(options.other.resolve(), case, options.rounds, options.threads)
        here, other = row["seconds"]["here"], row["seconds"]["other"]
        print(
            f"{case:<12} {row['ratio']:.3f} ({row['min']:.3f} to {row['max']:.3f})  {here:.4g} s, there {other:.4g} s"
        )
    if options.out:
        options.out.write_text(
            json.dumps({"rounds": options.rounds, "threads": options.threads, "cases": rows}, indent=1)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
