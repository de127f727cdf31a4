"""Is the error of one layer found by one command, and does the update put the reflector below it in its place?

    python benchmarks/prove_gathers.py [--small] [--json FILE]

Runs `examples/gathers.py`: a layer of 300 m at 800 m that is 4 % too fast, offsets to 2 km, 10 % white noise. The error
must be found to 0.5 %, and after the update the reflector at the base of the layer lie within 0.3 % of its depth with
the true velocity. --small takes waves of 10 Hz and is judged by nothing: it shows that the program runs.
Ends with an error if one of the two does not hold.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from facts import machine

ROOT = Path(__file__).resolve().parents[1]
#: limits of the error of the scale, and of that of the depth
FOUND, DEPTH = 0.005, 0.003


def main() -> None:
    """Run the example, write the result, judge it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="waves of 10 Hz on a coarse grid; not judged")
    parser.add_argument("--json", type=Path, help="file for the result")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        words = [
            sys.executable,
            str(ROOT / "examples" / "gathers.py"),
            *(["--small"] * options.small),
            folder,
        ]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    holds = abs(result["off_by"]) <= FOUND and abs(result["depth_off_by"]) <= DEPTH
    out = {
        "question": "is the error of one layer found by one command",
        "command": "make prove-gathers",
        "machine": machine(1),
        "limits": {"off_by": FOUND, "depth_off_by": DEPTH},
        "holds": holds,
        **result,
    }
    text = json.dumps(out, indent=1) + "\n"
    print(text, end="")
    if options.json is not None:
        options.json.write_text(text)
    if not holds and not options.small:
        sys.exit("the error was not found as sharply as it must be")


if __name__ == "__main__":
    main()
