"""Do gathers of Marmousi tell a velocity that is 5 % slow: semblance at three places, for the right one and that.

    python benchmarks/gathers_marmousi.py [--models FOLDER] [--smoothing METRES] [--keep FOLDER | --ideal]

Models shots every 300 m over the P velocity of Marmousi, receivers every 25 m within 3 km, waves of 9.5 Hz on 12.5 m,
mutes direct waves, and migrates with the smoothed velocity (Gaussian of 150 m on slowness, or of --smoothing), as it is
and times 0.95. Columns: x (m), semblance over all depths below 500 m with each: in windows of two and a half
wavelengths, over the angles with at least 0.4 of the largest amplitude of their window, strong windows most. --keep
writes the space-lag gathers of both, from which other measures can be taken without waves. --ideal computes no waves:
it measures gathers in which every contrast below a place is a Ricker wavelet at all angles, flat, or bent by 5 % of its
depth times the square of the tangent: what the measure says of gathers without any flaw. The last line is a JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import subsalt
from subsalt.earth.volumes import smoothing_weights
from subsalt.methods.rtm.filters import angle_gathers
from subsalt.methods.rtm.flatness import Semblance, windows_for

H, F0, NT, DT, OFFSET = 12.5, 9.5, 1001, 0.004, 3000.0
SHOTS = np.arange(1500.0, 7600.0, 300.0)
#: places, m; depth from which semblance counts, m; columns from one gather to the next: the places, and few others
PLACES, SHALLOW, EVERY = (3000.0, 4500.0, 6000.0), 500.0, 120
#: half opening angles, degrees
ANGLES = np.arange(-40.0, 40.5, 1.0)
#: error of the second velocity, and by how much more its gathers must lack in semblance
SLOW, APART = 0.95, 0.3
DATA = Path(os.environ.get("SUBSALT_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def smoothed(vp: np.ndarray, radius: float) -> np.ndarray:
    """Return a velocity whose slowness is smoothed by a Gaussian of a standard deviation, m."""
    out, weights = 1.0 / vp.astype(np.float64), smoothing_weights(radius / H)
    reach = len(weights) // 2
    for axis in (0, 1):
        pad = [(0, 0), (0, 0)]
        pad[axis] = (reach, reach)
        wide = np.pad(out, pad, mode="edge")
        out = np.apply_along_axis(lambda a: np.convolve(a, weights, "valid"), axis, wide)
    return (1.0 / out).astype(np.float32)


def survey_of(model: subsalt.EarthModel) -> subsalt.Survey:
    """Return modelled traces without direct waves: muted to 0.3 s after them, with a ramp of 0.2 s."""
    x = np.arange(25.0, model.grid.last[0] - 20, 25.0)
    shots = []
    for number, at in enumerate(SHOTS, start=1):
        near = x[np.abs(x - at) <= OFFSET]
        rcv = np.stack([near, np.zeros(len(near)), np.full(len(near), H)], axis=1)
        shots.append(subsalt.Shot(number, np.array([at, 0.0, H]), rcv))
    empty = subsalt.Survey(shots, subsalt.TimeAxis(NT, DT), 2)
    wavelet = subsalt.ricker(F0, DT)
    made = subsalt.forward(model, empty, wavelet, grid="model", aperture=OFFSET).survey
    t, muted = DT * np.arange(NT), []
    for shot in made.shots:
        offset = np.abs(shot.rcv[:, 0] - shot.src[0])
        late = (t[None] - offset[:, None] / 1500.0 - wavelet.peak_time - 0.1) / 0.2
        muted.append(replace(shot, data=(shot.data * np.clip(late, 0.0, 1.0)).astype(np.float32)))
    return replace(made, shots=muted)


def migrated(vp: np.ndarray, survey: subsalt.Survey) -> subsalt.MigrationResult:
    """Return the image with space-lag gathers."""
    grid = subsalt.Grid(vp.shape, (H, H))
    return subsalt.migrate(
        subsalt.EarthModel(grid, vp=vp),
        survey,
        subsalt.ricker(F0, DT),
        condition="cross-correlation",
        filter="laplacian",
        aperture=1000.0,
        gathers=subsalt.GatherOptions(kind="lag", max=400.0, every=EVERY),
    )


def ideal(vp: np.ndarray, smooth: np.ndarray, place: float, error: float) -> float:
    """Return the semblance of a gather that has every contrast of a column, bent as a slow velocity bends it."""
    column, v = round(place / H), smooth[round(place / H)].astype(np.float64)
    z = H * np.arange(len(v))
    size = np.diff(np.log(vp[column].astype(np.float64)), append=np.log(vp[column, -1]))
    tangent = np.tan(np.radians(ANGLES))
    # (angles, depths, contrasts)
    at = z - error * z * tangent[:, None, None] ** 2
    a = (2 * np.pi * F0 * np.cos(np.radians(ANGLES))[:, None, None] * (z[:, None] - at) / v) ** 2
    gather, first = (size * (1 - 2 * a) * np.exp(-a)).sum(axis=2), round(SHALLOW / H)
    windows = windows_for(gather[len(ANGLES) // 2, first:], H)
    return float(Semblance.of(gather[:, first:], windows).over_depth())


def semblances(made: subsalt.MigrationResult) -> list[float]:
    """Return the semblance over depth of the angle gathers at the places."""
    (gathers,), first = made.gathers, round(SHALLOW / H)
    windows = windows_for(made.image[:, first:], H)
    out = []
    for place in PLACES:
        number = int(np.argmin(np.abs(H * np.array(gathers.columns[0]) - place)))
        angles = angle_gathers(gathers.values[number, 0], gathers.traces, H, np.radians(ANGLES))
        out.append(float(Semblance.of(angles[:, first:].astype(np.float64), windows).over_depth()))
    return out


def main() -> None:
    """Model, migrate twice, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models", type=Path, default=DATA / "models", help="folder of marmousi_vti_12p5m.npz"
    )
    parser.add_argument("--smoothing", type=float, default=150.0, help="of the velocity, m")
    parser.add_argument("--keep", type=Path, help="folder for images and gathers, which is there")
    parser.add_argument("--ideal", action="store_true", help="gathers without waves and without flaws")
    options, begun = parser.parse_args(), time.monotonic()
    vp = np.load(options.models / "marmousi_vti_12p5m.npz")["vp"]
    if options.ideal:
        smooth = smoothed(vp, options.smoothing)
        print_rows(
            [[ideal(vp, smooth, x, error) for x in PLACES] for error in (0.0, 1.0 - SLOW)], options, begun
        )
        return
    survey = survey_of(subsalt.EarthModel(subsalt.Grid(vp.shape, (H, H)), vp=vp))
    smooth, by_scale = smoothed(vp, options.smoothing), []
    for scale in (1.0, SLOW):
        made = migrated((scale * smooth).astype(np.float32), survey)
        by_scale.append(semblances(made))
        if options.keep is not None:
            (gathers,) = made.gathers
            x = H * np.array(gathers.columns[0])
            path = options.keep / f"marmousi_{options.smoothing:g}_{scale:g}.npz"
            np.savez(path, image=made.image, gathers=gathers.values[:, 0], half_offsets=gathers.traces, x=x)
    print_rows(by_scale, options, begun)


def print_rows(by_scale: list[list[float]], options: argparse.Namespace, begun: float) -> None:
    """Print the semblances of both velocities, and a JSON."""
    right, slow = by_scale
    rows = []
    for place, a, b in zip(PLACES, right, slow, strict=True):
        print(f"{place:8.0f} {a:8.3f} {b:8.3f}")
        rows.append({"x_m": place, "right": a, "slow": b})
    result = {
        "places": rows,
        "smoothing_m": options.smoothing,
        "apart_wanted": APART,
        "seconds": round(time.monotonic() - begun),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
