"""Print the table of planted mistakes, with every cure that is printed pasted.

``python tests/check/planted [-v] [--jobs N] [--json FILE] [--write-open] [number, word, "clean" or "cases" ...]``
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[1] / "io")]
os.environ.setdefault("SUBSALT_TUNE", "off")
os.environ.setdefault("SUBSALT_MEASURE", "off")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["SUBSALT_CUDA_PLUGIN"] = "off"


def main() -> int:
    """Run what is asked for; return 1 when a mistake is not caught or something is said of a clean survey."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "words", nargs="*", help='numbers and words of forms, "clean", "cases"; all when left out'
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="findings and cures of every form")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--sample", action="store_true", help="the first form of each subject")
    parser.add_argument("--json", type=Path, help="write the record to this file")
    parser.add_argument("--write-open", action="store_true", help="write open.txt and alarms.txt as found")
    given = parser.parse_args()

    from planted.clean import SURVEYS
    from planted.prove import Proof
    from planted.run import chosen, sample, write_open
    from planted.shared_cases import CASES

    names = [w for w in given.words if w not in ("clean", "cases")]
    every = not given.words and not given.sample
    # forms of one survey follow each other: a process then has it made
    picked = sample() if given.sample else chosen(names) if names or every else []
    forms = sorted(picked, key=lambda f: f.base)
    tasks = [("form", f.name) for f in forms]
    tasks += [("clean", n) for n in SURVEYS] if every or "clean" in given.words else []
    tasks += [("case", str(n)) for n in CASES] if every or "cases" in given.words else []
    proof = Proof()
    proof.run(tasks, given.jobs, given.verbose)
    proof.table()
    if given.write_open:
        write_open(proof.verdicts, proof.alarms)
    if given.json:
        proof.write(given.json)
    return int(not proof.holds)


if __name__ == "__main__":
    sys.exit(main())
