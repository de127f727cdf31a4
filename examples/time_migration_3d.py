"""Make a small 3-D survey over a flat reflector, a dipping one and a point, and migrate it in time.

    python examples/time_migration_3d.py [FOLDER]

leaves in FOLDER (build/time3d) the shots, a job, its run with pictures and report, and prints where the image has the
two reflectors and the point, and with which amplitude, beside what is exact.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from subsalt.examples import make_example
from subsalt.examples.time3d import BIN, DIPPING, FLAT, POINT, SPEED, TIME
from subsalt.io.volumes.image_traces import open_image_traces


def picked(traces, inline: int, crossline: int, near: float) -> tuple[float, float]:
    """Return time and value of the largest sample within 40 ms, through a parabola."""
    a = traces.gather(inline, crossline)[1][0]
    k0 = round(near / TIME.dt)
    k = k0 - 10 + int(np.argmax(a[k0 - 10 : k0 + 11]))
    left, top, right = (float(v) for v in a[k - 1 : k + 2])
    shift = 0.5 * (left - right) / (left - 2 * top + right)
    return TIME.dt * (k + shift), top - 0.25 * (left - right) * shift


def main(folder: Path) -> None:
    """Make the survey, migrate it with the command, and compare with what is exact."""
    make_example("time3d", folder)
    for words in (["check"], ["migrate"]):
        subprocess.run([sys.executable, "-m", "subsalt", *words, "time3d.toml"], cwd=folder, check=True)
    image = open_image_traces(folder / "time3d.run" / "image.sgy")
    print(f"{'':<34} {'time':>8} {'exact':>8}   {'value':>7} {'exact':>7}")
    for inline, crossline in ((21, 21), (13, 29)):
        x, y = BIN * (crossline - 1), BIN * (inline - 1)
        # at constant velocity the image lies at the two-way time to the reflector straight below
        depth = float(DIPPING.depth_at([(x, y)])[0])
        for name, t0, r in (("flat", 2 * FLAT.depth / SPEED, 0.1), ("dipping", 2 * depth / SPEED, 0.1)):
            t, a = picked(image, inline, crossline, t0)
            print(
                f"{name:<8} at inline {inline}, crossline {crossline}  {t:8.4f} {t0:8.4f}   {a:7.4f} {r:7.4f}"
            )
    t, _ = picked(image, 21, 21, 2 * POINT.position[2] / SPEED)
    print(f"{'point':<8} at inline 21, crossline 21  {t:8.4f} {2 * POINT.position[2] / SPEED:8.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/time3d"))
