"""Write the record anew: ``python tests/record --write``, after a change of bytes that the CHANGELOG names.

``--images PART --kept FILE`` prints a part of its hashes, and keeps each in a file as soon as it is known, so that a
slow machine, or one that is emulated, can be stopped and go on.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.update(SUBSALT_TUNE="off", SUBSALT_MEASURE="off", SUBSALT_CUDA_PLUGIN="off", NO_COLOR="1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

from jobs import BACKWARDS, LEAST_SQUARES, MIGRATIONS, SURVEYS, TIME_MIGRATIONS, Jobs
from words import exit_codes, json_keys, options

from subsalt.cli import app as cli
from subsalt.cli import guard
from subsalt.kernels import cpu

RECORD = Path(__file__).parent / "record.json"


def call(*words: object) -> tuple[int, str, str]:
    """Run the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = guard.run(cli.app, [str(w) for w in words])
        except SystemExit as leave:
            code = leave.code
    return int(code or 0), out.getvalue(), err.getvalue()


def makers(jobs: Jobs) -> dict[str, Callable[[], str]]:
    """Return what computes each hash, by the name that it has in the record."""
    by_name = {name: partial(jobs.image, name) for name in MIGRATIONS | BACKWARDS}
    by_name |= {name: partial(jobs.time_image, name) for name in TIME_MIGRATIONS}
    by_name |= {name: partial(jobs.least_squares_image, name) for name in LEAST_SQUARES}
    return by_name | {f"traces of the {name}": partial(jobs.traces, name) for name in SURVEYS}


def images(folder: Path, part: str = "", results: Path | None = None) -> dict[str, dict[str, str]]:
    """Return the hashes of images and traces, by numerics class: of the jobs whose name has this part.

    Those that the file `results` has are not computed again; it gets a line of JSON for each that is.
    """
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")  # no rates of this machine
    rows = (
        [json.loads(line) for line in results.read_text().splitlines()]
        if results and results.exists()
        else []
    )
    known = {row["name"]: row["sha256"] for row in rows}
    hashes = {}
    for name, make in makers(Jobs(folder)).items():
        if part not in name:
            continue
        if name not in known:
            begin = time.monotonic()
            known[name] = make()
            if results:
                row = {"name": name, "sha256": known[name], "seconds": round(time.monotonic() - begin, 1)}
                with results.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        hashes[name] = known[name]
    return {str(cpu.describe()["class"]): hashes}


def made(folder: Path) -> dict[str, Any]:
    """Return the record of this code."""
    hashes = images(folder)
    other = folder / "words"
    other.mkdir()
    return {
        "images": hashes,
        "options": options(),
        "json": json_keys(call, Jobs(other)),
        "exits": exit_codes(call, other),
    }


def main() -> None:
    """Print the record, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true", help="over record.json")
    what.add_argument(
        "--images",
        metavar="PART",
        help='print the hashes of the images and traces with this in their name; "": all',
    )
    parser.add_argument("--kept", metavar="FILE", type=Path, help="with --images: where hashes are kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record = (
            made(Path(folder)) if given.images is None else images(Path(folder), given.images, given.kept)
        )
    text = json.dumps(record, indent=1, sort_keys=True) + "\n"
    if given.write:
        RECORD.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
