"""Five flat reflectors of equal contrast below a lens: amplitudes by migration, by point spread and by least squares.

    python examples/lsrtm.py [--small] [--iterations N] [--picture FILE] [FOLDER]

Makes the line of `subsalt example lens` in FOLDER (build/lens), migrates it by the adjoint, deconvolves that image by
point-spread functions, and migrates by least squares. With --small waves of 6 Hz on a coarse grid do: under half a
minute. The last line is a JSON with misfits, correlations with the reflectors in the band of the wavelet, and spreads
of amplitude. What is in the folder already is kept.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import subsalt
from subsalt.examples.lens import SPEED, LensLine
from subsalt.io.volumes import volume

#: the line on twice the spacing, with longer waves
SMALL = LensLine(25.0, 6.0, shots=8, receivers=39, tops=(450.0, 650.0, 850.0))
#: part of the line whose amplitudes are judged: the ends see each reflector from one side
JUDGED = 0.4


@dataclass(frozen=True)
class Judge:
    """Measures images of a line in the band of its wavelet.

    Parameters
    ----------
    line : LensLine
        Whose reflectors are known.
    """

    line: LensLine

    def in_band(self, image: np.ndarray) -> np.ndarray:
        """Return an image convolved along z with a Ricker wavelet of the vertical two-way time at 2000 m/s."""
        n = image.shape[1]
        padded = np.concatenate([image, np.zeros_like(image)], axis=1)
        k = np.fft.rfftfreq(2 * n, self.line.spacing) * 0.5 * SPEED / self.line.f0
        return np.fft.irfft(np.fft.rfft(padded, axis=1) * k**2 * np.exp(1.0 - k**2), axis=1)[:, :n]

    @property
    def columns(self) -> slice:
        """Columns that are judged, in the middle of the line."""
        n = self.line.grid.shape[0]
        return slice(round(n * (0.5 - JUDGED / 2)), round(n * (0.5 + JUDGED / 2)))

    def amplitudes(self, image: np.ndarray) -> np.ndarray:
        """Return the largest value within a point of each reflector, by reflector and column."""
        of = self.in_band(image)
        return np.stack([of[:, row - 1 : row + 2].max(axis=1) for row in self.line.rows])

    def spread(self, image: np.ndarray) -> float:
        """Return the standard deviation of the amplitudes of all reflectors over their mean."""
        values = self.amplitudes(image)[:, self.columns]
        return float(values.std() / values.mean())

    def correlation(self, image: np.ndarray) -> float:
        """Return the correlation with the reflectors, below the mute and in the judged columns."""
        first = round(self.line.mute / self.line.spacing)
        a, b = (self.in_band(of)[self.columns, first:] for of in (image, self.line.dm().astype(np.float64)))
        return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def draw(path: Path, judge: Judge, images: dict[str, np.ndarray]) -> None:
    """Draw each image, and below it the amplitudes of its reflectors over their mean."""
    import matplotlib.pyplot as plt

    line, x = judge.line, judge.line.grid.axis(0)
    figure, axes = plt.subplots(2, len(images), figsize=(3.6 * len(images), 5.2), sharex=True, sharey="row")
    for (name, image), (above, below) in zip(images.items(), axes.T, strict=True):
        values = judge.amplitudes(image)
        size = values[:, judge.columns].mean()
        ends = (x[0], x[-1], line.grid.last[1], 0.0)
        above.imshow(judge.in_band(image).T / size, extent=ends, cmap="gray", vmin=-1, vmax=1, aspect="auto")
        above.set_title(name)
        for top, row in zip(line.tops, values, strict=True):
            below.plot(x, row / size, lw=1, label=f"{top:g} m")
        below.axhline(1.0, color="0.6", lw=0.6)
        below.axvspan(*x[[judge.columns.start, judge.columns.stop - 1]], color="0.93", zorder=0)
        below.set(ylim=(0.0, 2.0), xlabel="x (m)")
    axes[0, 0].set_ylabel("depth (m)")
    axes[1, 0].set_ylabel("amplitude / mean")
    axes[1, 0].legend(fontsize=7, ncols=2, loc="lower left")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Make the line, make the images, judge them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="waves of 6 Hz on a coarse grid")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--picture", type=Path, help="draw images and amplitudes (PNG)")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/lens"))
    options = parser.parse_args()
    folder, line = options.folder, SMALL if options.small else LensLine()
    if not (folder / "truth.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        line.write(folder)
    vp = volume.read(folder / "vp.rsf")
    model = subsalt.EarthModel(vp.grid, vp.values)
    survey = subsalt.read_survey(sorted((folder / "shots").glob("*.sgy")))
    wavelet = subsalt.ricker(line.f0, 0.001)
    mask = line.mask()

    operator = subsalt.born_operator(model, survey, wavelet)
    data = np.stack([survey.traces(shot) for shot in survey.shots]).astype(np.float64)
    migrated = operator.adjoint(data)
    spread = subsalt.point_spread(operator, (500.0, 4000.0 / line.f0))
    deconvolved = spread.deconvolve(migrated, mask=mask)
    solved = subsalt.lsrtm(model, survey, wavelet, iterations=options.iterations, mask=mask)

    def remaining(dm: np.ndarray) -> float:
        """Return the misfit with the best factor on an image: what of the data it does not explain."""
        made = operator.forward(dm)
        return 1.0 - float((made * data).sum()) ** 2 / float((made**2).sum() * (data**2).sum())

    judge = Judge(line)
    images = {
        "migration": migrated * mask,
        "point spread": deconvolved.image,
        f"least squares, {options.iterations}": solved.dm,
    }
    if options.picture:
        draw(options.picture, judge, images)
    names = ("migration", "point_spread", "lsrtm")
    result = {
        "misfits": [round(m, 5) for m in solved.misfit],
        "overlap": round(spread.typical_overlap, 4),
        **{
            name: {
                "misfit": round(remaining(image), 4),
                "correlation": round(judge.correlation(image), 4),
                "amplitude_spread": round(judge.spread(image), 4),
            }
            for name, image in zip(names, images.values(), strict=True)
        },
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
