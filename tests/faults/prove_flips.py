"""Many flipped bits in every file of a stopped run: what came of each, as JSON. `make prove-flips`."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "run"), str(HERE.parent)]

from test_bit_flips import begun, files_of, flipped, go_on, trial  # noqa: E402

import subsalt  # noqa: E402
from subsalt.host import machine_facts  # noqa: E402
from subsalt.io.publish import publish_text  # noqa: E402


def main() -> int:
    """Flip the bits, print a line per file, write the JSON; return 1 when an image was another one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="bits of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/prove-flips.json"))
    given = parser.parse_args()
    dice, rows, wrong = random.Random(given.seed), {}, []
    with tempfile.TemporaryDirectory(prefix="subsalt-flips-") as base:
        stopped = begun(Path(base))
        for name in files_of(stopped[0]):
            ended: Counter[str] = Counter()
            for _ in range(given.count):
                run = trial(stopped)
                bit = dice.randrange(8 * (run / name).stat().st_size)
                flipped(run / name, bit)
                outcomes = go_on(run)
                ended[
                    "same image"
                    if outcomes == stopped[1]
                    else outcomes
                    if outcomes[0] == "E"
                    else "another image"
                ] += 1
                if outcomes == "E001" or (outcomes != stopped[1] and outcomes[0] != "E"):
                    wrong.append([name, bit, outcomes])
            rows[name] = dict(ended)
            print(f"{name:<32}{dict(ended)}", flush=True)
    by_name = {
        "version": subsalt.__version__,
        "machine": machine_facts(),
        "count": given.count,
        "seed": given.seed,
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    publish_text(given.out, json.dumps({**by_name, "files": rows, "wrong": wrong}, indent=1) + "\n")
    print(f"{sum(sum(r.values()) for r in rows.values())} flips, {len(wrong)} wrong   {given.out}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
