"""Is the error of one layer found by one command, and does the update put the reflector below it in its place?

    python benchmarks/prove_gathers.py [--small] [--parts line,box,cost,marmousi] [--json FILE] [--keep FOLDER]

line : `examples/gathers.py`, a section. box : `benchmarks/layer_box.py`, a volume. In both a layer of 300 m at 800 m is
4 % too fast, with offsets to 2 km and 10 % white noise: the error must be found to 0.5 %, and after the update the
reflector at the base of the layer lie within 0.3 % of its depth with the true velocity.
cost : `benchmarks/gathers_cost.py`, 41 half offsets in 2-D: at most 1.3 times a plain migration at every eighth column,
2.5 times at all. marmousi : `benchmarks/gathers_marmousi.py`, semblance at three places at least 0.3 higher with the
right velocity than with one that is 5 % slow.

With --keep surveys and runs of line and box stay in FOLDER, and what is finished there is not run again: after a stop
the same command goes on; `kept` in the result names the runs that were there.

--small takes waves of 10 Hz for the line alone and is judged by nothing: it shows that the program runs. With --json
the results are written into a file; parts that are not run stay in it as they are. Ends with an error if something does
not hold.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from facts import machine

ROOT = Path(__file__).resolve().parents[1]
#: limits of the error of the scale, and of that of the depth
FOUND, DEPTH = 0.005, 0.003


def _layer(result: dict[str, Any]) -> bool:
    return abs(result["off_by"]) <= FOUND and abs(result["depth_off_by"]) <= DEPTH


def _cost(result: dict[str, Any]) -> bool:
    return all(row["ratio"] <= row["limit"] for row in result["variants"].values())


def _marmousi(result: dict[str, Any]) -> bool:
    return all(p["right"] - p["slow"] >= result["apart_wanted"] for p in result["places"])


#: program of every part, whether it takes a folder, and what judges its result
PARTS: dict[str, tuple[str, bool, Callable[[dict[str, Any]], bool]]] = {
    "line": ("examples/gathers.py", True, _layer),
    "box": ("benchmarks/layer_box.py", True, _layer),
    "cost": ("benchmarks/gathers_cost.py", False, _cost),
    "marmousi": ("benchmarks/gathers_marmousi.py", False, _marmousi),
}


def run(part: str, small: bool, keep: Path | None = None) -> dict[str, Any]:
    """Run a part, in a folder of its own below `keep`, and return its result with what it was made on."""
    program, takes_folder, judge = PARTS[part]
    on = machine(1)
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(passing) if keep is None else keep / part
        runs_there = sorted(p.parent.name for p in folder.rglob("image.sgy"))
        words = [sys.executable, str(ROOT / program), *(["--small"] * small), *([str(folder)] * takes_folder)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    return {"machine": on, "holds": judge(result), **({"kept": runs_there} if runs_there else {}), **result}


def publish(path: Path, part: str, result: dict[str, Any]) -> None:
    """Write the result of a part into the file; those of other parts, which may have run meanwhile, stay."""
    out: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    out |= {
        "question": "is the error of one layer found by one command",
        "command": "make prove-gathers",
        "limits": {"off_by": FOUND, "depth_off_by": DEPTH},
        part: result,
    }
    path.write_text(json.dumps(out, indent=1) + "\n")


def main() -> None:
    """Run parts, write their results, judge them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="waves of 10 Hz, the line alone; not judged")
    parser.add_argument("--parts", default="line,box", help=f"some of {','.join(PARTS)}")
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("--keep", type=Path, help="folder in which surveys and runs stay")
    options = parser.parse_args()
    parts = ["line"] if options.small else options.parts.split(",")
    if unknown := [p for p in parts if p not in PARTS]:
        parser.error(f"--parts {','.join(unknown)}: they are {', '.join(PARTS)}")
    fails = []
    for part in parts:
        result = run(part, options.small, options.keep)
        print(json.dumps({part: result}, indent=1), flush=True)
        if options.json is not None:
            publish(options.json, part, result)
        if not result["holds"]:
            fails.append(part)
    if fails and not options.small:
        sys.exit(f"does not hold: {', '.join(fails)}")


if __name__ == "__main__":
    main()
