"""Does storing snapshots on disk hide behind the time steps?

One shot in a VTI medium, migrated in turn with its snapshots in memory and on disk, through the same code that `subsalt
migrate` runs. The device can follow when it takes and gives bytes faster than the shot makes and wants them; its rate,
measured in the same run and flushed to the device, stands beside the rate that was needed.

    python benchmarks/storing.py [DIR] [--grid 160 160 160] [--samples 300] [--checkpoints 60] [--rounds 7] [--direct]

Prints a table and, last, one JSON object; ends with 1 when the run with storing takes more than 1.05 times as long
although the device could follow.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import numpy as np  # noqa: E402
from facts import machine, spread  # noqa: E402

from subsalt import __version__  # noqa: E402
from subsalt.checkpoint.schedule.scheme import Scheme  # noqa: E402
from subsalt.checkpoint.storage.scratch import Scratch  # noqa: E402
from subsalt.machine.records import folder_in  # noqa: E402
from subsalt.machine.storage import measure_directory  # noqa: E402
from subsalt.methods.rtm.engine import ShotImage, migrate_shot  # noqa: E402
from subsalt.methods.rtm.samples import SnapshotPool  # noqa: E402
from subsalt.timing import Phases  # noqa: E402
from subsalt_lab.checkpoint_case import CheckpointCase  # noqa: E402

BAR = 1.05


def shot(
    case: CheckpointCase, scheme: Scheme, pool: SnapshotPool, scratch: Scratch | None
) -> tuple[float, dict[str, float], ShotImage]:
    """Migrate the shot once; return seconds, seconds by phase, and the image."""
    setup, traces, clock = case.setup(scheme.image_step), case.traces(), Phases()
    begin = time.perf_counter()
    image = migrate_shot(setup, case.shot, traces, pool=pool, phases=clock, scheme=scheme, scratch=scratch)
    return time.perf_counter() - begin, dict(clock.seconds), image


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures; the two ways take turns, every other round the other way round."""
    case = CheckpointCase(tuple(options.grid), options.samples, "store", options.threads)
    schemes = {d: case.scheme(options.checkpoints, on_disk=d) for d in (False, True)}
    pools = {d: SnapshotPool() for d in (False, True)}
    seconds, images, counts = {False: [], True: []}, {}, None
    with folder_in(options.directory) as folder:
        scratch = Scratch("benchmark", [folder], options.io_threads, options.direct)
        for on_disk in (False, True):  # memory is touched, tiles are chosen
            shot(case, schemes[on_disk], pools[on_disk], scratch if on_disk else None)
        for k in range(options.rounds):
            for on_disk in (False, True) if k % 2 == 0 else (True, False):
                took, phases, image = shot(
                    case, schemes[on_disk], pools[on_disk], scratch if on_disk else None
                )
                seconds[on_disk].append(took)
                images.setdefault(on_disk, image)
                if on_disk:
                    counts, on_disk_phases = image.storage, phases
        scratch.close()
    same = all(np.array_equal(images[True].sums[n], a) for n, a in images[False].sums.items())
    assert counts is not None
    device = {
        row["what"]: row["rate"] * 1e9
        for row in measure_directory(
            options.directory, options.device_bytes, options.io_threads, options.direct
        )
        if row["reaches"] in ("durable", "storage", "memory")
    }
    needed = {
        "put": counts.bytes_written / on_disk_phases["source"],
        "get": counts.bytes_read / on_disk_phases["receivers"],
    }
    return {
        "memory_seconds": seconds[False],
        "disk_seconds": seconds[True],
        "ratio": median(b / a for a, b in zip(seconds[False], seconds[True], strict=True)),
        "spread": spread(seconds[False]),
        "same_image": same,
        "counts": counts.as_dict(),
        "needed_bytes_per_second": needed,
        "device_bytes_per_second": device,
        "follows": all(device.get(what, 0.0) > rate for what, rate in needed.items()),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, nargs="?", default=Path("."))
    parser.add_argument("--grid", type=int, nargs=3, default=[160, 160, 160], help="points, layer included")
    parser.add_argument("--samples", type=int, default=300, help="time steps of either wavefield")
    parser.add_argument("--checkpoints", type=int, default=60, help="snapshots that are kept")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="that compute")
    parser.add_argument("--io-threads", type=int, default=2, help="that write and read")
    parser.add_argument("--direct", action="store_true", help="past the page cache")
    parser.add_argument(
        "--device-bytes", type=int, default=512 << 20, help="that the device is measured with"
    )
    parser.add_argument("--publish", action="store_true", help="write docs/performance/storing.json")
    options = parser.parse_args()
    measured = measure(options)
    counts = measured["counts"]
    print(
        f"snapshots in memory {median(measured['memory_seconds']):8.3f} s  ± {100 * measured['spread']:.1f} %"
    )
    print(f"snapshots on disk   {median(measured['disk_seconds']):8.3f} s")
    print(f"ratio of each round, median {measured['ratio']:.3f}; bar {BAR}")
    print(
        f"{counts['puts']} puts, {counts['bytes_written'] / 1e9:.2f} GB; {counts['gets']} gets, "
        f"{counts['bytes_read'] / 1e9:.2f} GB; waited {counts['stall_seconds']:.3f} s; "
        f"{'past' if options.direct else 'through'} the page cache"
    )
    for what, rate in measured["needed_bytes_per_second"].items():
        device = measured["device_bytes_per_second"].get(what, float("nan"))
        print(f"{what}: {rate / 1e9:.2f} GB/s needed to keep up, the device does {device / 1e9:.2f} GB/s")
    print(f"the image has {'the same bits' if measured['same_image'] else 'OTHER BITS'}")
    result = {
        "question": "storing",
        "command": "python benchmarks/storing.py DIR" + " --direct" * options.direct,
        "version": __version__,
        "machine": machine(options.threads),
        "grid": options.grid,
        "samples": options.samples,
        "checkpoints": options.checkpoints,
        "direct": options.direct,
    } | measured
    if options.publish:
        name = f"storing{'-direct' * options.direct}.json"
        (HERE.parent / "docs" / "performance" / name).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))
    raise SystemExit(not measured["same_image"] or (measured["follows"] and measured["ratio"] > BAR))


if __name__ == "__main__":
    main()
