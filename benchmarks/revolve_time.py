"""Does a shot with few slots take as long as its steps say?

Revolve with 20 slots for 800 steps: the schedule says how many time steps that is; the kernel's rate is that of the
same shot, migrated in the same run with every snapshot in memory. Their product is what the shot should take.

    python benchmarks/revolve_time.py [--slots 20] [--samples 800] [--image-step 1] [--grid 96 96 96] [--rounds 3]

The rates are those of the source and of the receiver wavefield, imaging included, from the shot that keeps
everything: what both do alike. Prints a table and, last, one JSON object; ends with 1 when the median of the ratios is
off by more than 15 %.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import numpy as np  # noqa: E402
from facts import machine  # noqa: E402
from storing import shot  # noqa: E402

from subsalt import __version__  # noqa: E402
from subsalt.checkpoint.schedule.scheme import Scheme  # noqa: E402
from subsalt.checkpoint.schedule.tasks import counts_of  # noqa: E402
from subsalt.methods.rtm.samples import SnapshotPool  # noqa: E402
from subsalt_lab.checkpoint_case import CheckpointCase  # noqa: E402

BAR = 0.15


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return measured and predicted seconds of every round."""
    case = CheckpointCase(tuple(options.grid), options.samples, "revolve", options.threads)
    everything = Scheme("store", options.samples, options.image_step)
    few = Scheme(
        "revolve", options.samples, options.image_step, block=options.block, memory_slots=options.slots
    )
    counts, pool, rows = counts_of(few), SnapshotPool(), []
    shot(case, everything, pool, None)  # memory is touched, tiles are chosen
    same, counted = True, True
    for _ in range(options.rounds):
        _, whole, images = shot(case, everything, pool, None)
        _, parts, image = shot(case, few, pool, None)
        same &= all(np.array_equal(image.sums[n], a) for n, a in images.sums.items())
        counted &= image.counts == counts
        source = whole["source"] / counts_of(everything).source_steps
        receiver = whole["receivers"] / counts_of(everything).receiver_steps
        predicted = counts.source_steps * source + counts.receiver_steps * receiver
        rows.append(
            {
                "source_step": source,
                "receiver_step": receiver,
                "predicted": predicted,
                "measured": sum(s for name, s in parts.items() if name not in ("traces", "setup")),
                "phases": parts,
                "store": whole,
            }
        )
    return {
        "source_steps": counts.source_steps,
        "receiver_steps": counts.receiver_steps,
        "forward_over_store": counts.source_steps / counts_of(everything).source_steps,
        "rounds": rows,
        "ratio": median(r["measured"] / r["predicted"] for r in rows),
        "same_image": same,
        "counted_as_planned": counted,
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--slots", type=int, default=20)
    parser.add_argument("--samples", type=int, default=800, help="time steps")
    parser.add_argument("--image-step", type=int, default=1)
    parser.add_argument("--block", type=int, default=1, help="samples between two states of the schedule")
    parser.add_argument("--grid", type=int, nargs=3, default=[96, 96, 96], help="points, layer included")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--publish", action="store_true", help="write docs/performance/revolve-time*.json")
    options = parser.parse_args()
    measured = measure(options)
    print(
        f"{options.samples} steps, {options.slots} slots, image step {options.image_step}, blocks of {options.block}: "
        f"{measured['source_steps']} steps of the source wavefield ({measured['forward_over_store']:.2f} x), "
        f"{measured['receiver_steps']} of the receivers'"
    )
    print(f"{'source step ms':>15}{'receiver ms':>13}{'predicted s':>13}{'measured s':>12}{'ratio':>8}")
    for r in measured["rounds"]:
        print(
            f"{1e3 * r['source_step']:>15.3f}{1e3 * r['receiver_step']:>13.3f}{r['predicted']:>13.3f}"
            f"{r['measured']:>12.3f}{r['measured'] / r['predicted']:>8.3f}"
        )
    print(f"median ratio {measured['ratio']:.3f}; bar 1 ± {BAR}")
    print(f"the image has {'the same bits' if measured['same_image'] else 'OTHER BITS'}")
    result = {
        "question": "revolve time",
        "command": f"python benchmarks/revolve_time.py --slots {options.slots} --image-step {options.image_step}",
        "version": __version__,
        "machine": machine(options.threads),
        "grid": options.grid,
        "samples": options.samples,
        "slots": options.slots,
        "image_step": options.image_step,
        "block": options.block,
    } | measured
    if options.publish:
        name = f"revolve-time-{options.image_step}.json"
        (HERE.parent / "docs" / "performance" / name).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))
    good = measured["same_image"] and measured["counted_as_planned"] and abs(measured["ratio"] - 1) <= BAR
    raise SystemExit(not good)


if __name__ == "__main__":
    main()
