"""Draw quality.png of docs/howto/quality.md: one line migrated well, and with one thing changed at a time.

The line is that of ``subsalt example marine``; every panel is a migration of its own, about 70 s of processor time.
``python docs/make_quality.py FOLDER`` makes line, jobs and runs in FOLDER; finished runs are used again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import subsalt
from subsalt.view import palettes

PICTURE = Path(__file__).resolve().parent / "quality.png"
JOB = """\
signal = [
  { step = "edit", where = "rms > 20*median" },
  { step = "bandpass", corners = [3, 6, 22, 31] },
  { step = "mute", kind = "first-breaks" },
  { step = "to2d", velocity = 1800 },
]
data = { files = "line.sgy" }
model = { vp = "vp.sgy" }
source = { wavelet = "file", file = "line.wavelet.txt" }
propagation = { free_surface = true }
imaging = { aperture = 2000 }
"""
#: title of a panel, and what of the good job is replaced by what
PANELS: dict[str, tuple[str, str, str]] = {
    "good": ("1  all steps, all shots", "", ""),
    "slow": ("2  velocity too low", "vp.sgy", "slow.rsf"),
    "direct": ("3  direct wave not muted", '  { step = "mute", kind = "first-breaks" },\n', ""),
    "few": ("4  every eighth shot", '"line.sgy"', '"line.sgy", shots = "1-60:8"'),
    "cross": (
        "5  not divided by the illumination",
        "aperture = 2000",
        'aperture = 2000, condition = "cross-correlation"',
    ),
    "low": ("6  nothing above 16 Hz", "3, 6, 22, 31", "5, 8, 12, 16"),
}


def subsalt_command(folder: Path, *words: str) -> None:
    """Run a command of subsalt in a folder."""
    subprocess.run([sys.executable, "-m", "subsalt", *words], cwd=folder, check=True)


def slow_model(folder: Path) -> None:
    """Write the velocity with 85 % of what exceeds 1500 m/s."""
    header = (folder / "vp.rsf").read_text(encoding="utf-8")
    vp = np.fromfile(folder / "vp.rsf@", dtype="<f4")
    np.where(vp > 1500, 1500 + 0.85 * (vp - 1500), vp).astype("<f4").tofile(folder / "slow.rsf@")
    (folder / "slow.rsf").write_text(header.replace("vp.rsf@", "slow.rsf@"), encoding="utf-8")


def make(folder: Path) -> None:
    """Make the line, and migrate it by the job of every panel."""
    if not (folder / "line.wavelet.txt").exists():
        subsalt_command(folder.parent, "example", "marine", str(folder))
        (folder / "good.toml").write_text(JOB, encoding="utf-8")
        (folder / "start.toml").write_text(
            JOB.replace('wavelet = "file", file = "line.wavelet.txt"', "f0 = 15")
        )
        subsalt_command(folder, "wavelet", "start.toml", "--out", "line.wavelet.txt")
    slow_model(folder)
    for name, (_, good, other) in PANELS.items():
        (folder / f"{name}.toml").write_text(JOB.replace(good, other) if good else JOB, encoding="utf-8")
        subsalt_command(folder, "migrate", f"{name}.toml", "--quiet")


def draw(folder: Path) -> None:
    """Draw the images, each clipped by its own amplitudes below the sea floor."""
    fig, axes = plt.subplots(2, 3, figsize=(12, 6.6), sharex=True, sharey=True, layout="constrained")
    for ax, (name, (title, _, _)) in zip(axes.flat, PANELS.items(), strict=True):
        volume = subsalt.open_volume(folder / f"{name}.run" / "image.rsf")
        grid = volume.grid
        image = np.asarray(volume.planes.read(0, grid.shape[0]))
        x, z = (1e-3 * h * np.arange(n) for n, h in zip(grid.shape, grid.spacing, strict=True))
        clip = np.percentile(np.abs(image[np.ix_((x > 1.5) & (x < 4.5), z > 0.6)]), 99)
        ax.imshow(
            image.T,
            cmap=palettes.palette("grey"),
            vmin=-clip,
            vmax=clip,
            extent=(x[0], x[-1], z[-1], z[0]),
            aspect="auto",
        )
        ax.set_title(title, fontsize=10, loc="left")
        ax.set_xlim(0.4, 5.4)
        ax.set_ylim(3.7, 0)
    fig.supxlabel("x (km)", fontsize=10)
    fig.supylabel("depth (km)", fontsize=10)
    fig.savefig(PICTURE, dpi=80, metadata={"Software": None})


if __name__ == "__main__":
    work = Path(sys.argv[1]).resolve()
    make(work)
    draw(work)
