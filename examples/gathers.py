"""A layer whose velocity is 4 % too high: gathers show it, a depth scan finds it, and the update takes it back.

    python examples/gathers.py [--small] [FOLDER]

Makes the line of `subsalt example layer` in FOLDER (build/layer), scans the velocity of the layer by one command, and
migrates with the updated velocity. With --small waves of 10 Hz on a coarse grid do: less than a minute, but less sharp.
The last line is a JSON with the planted and the found error. What is in the folder already is kept.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from subsalt.examples.layer import ERROR, LayerLine, depth_of_base
from subsalt.io.volumes import volume

#: the line on twice the spacing, with longer waves
SMALL = LayerLine(20.0, 10.0, 3200.0, 1360.0, 7, 250.0, 40.0, every=40, nt=751, widest=240.0)


def call(*words: str | Path) -> str:
    """Run a subsalt command, and return what it prints; its exit code ends this one where it fails."""
    command = [str(Path(sys.executable).with_name("subsalt")), *map(str, words)]
    print("$", " ".join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def base_in(run: Path) -> float:
    """Return the depth, m, of the image of the base of the layer in the middle of the line."""
    image = volume.read(run / "image.sgy")
    return depth_of_base(image.values[image.grid.shape[0] // 2], image.grid.spacing[1])


def main() -> None:
    """Make the line, scan, update, migrate again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="waves of 10 Hz on a coarse grid")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/layer"))
    options = parser.parse_args()
    folder, line = options.folder, SMALL if options.small else LayerLine()
    if not (folder / "truth.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        line.write(folder)
    job, mask = folder / "line.toml", folder / "layer.rsf"
    said = json.loads(
        call("vscan", job, "0.92:1:0.02", "--mask", mask, "--update", "--json").splitlines()[-1]
    )
    x, middle = np.array(said["x_m"]), 0.5 * line.length
    # where the widest angles come from both sides
    inner = [
        s[0] for s, at in zip(said["best_scale"], x, strict=True) if abs(at - middle) <= line.length / 10
    ]
    found = 1 / float(np.median([s for s in inner if s is not None]))
    for name, vp in (("updated", "line_layer.vscan/vp_updated.rsf"), ("true", "vp_true.rsf")):
        text = job.read_text().replace('vp = "vp.rsf"', f'vp = "{vp}"')
        (folder / f"{name}.toml").write_text(text)
        call("migrate", folder / f"{name}.toml")
    depths = {n: base_in(folder / f"{n}.run") for n in ("updated", "true")}
    depths["given"] = base_in(folder / "line_layer.vscan" / "scale_1.run")
    result = {
        "planted_error": ERROR - 1,
        "found_error": found - 1,
        "off_by": found / ERROR - 1,
        "depth_of_base_m": depths,
        "depth_off_by": depths["updated"] / depths["true"] - 1,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
