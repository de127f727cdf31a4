"""What do 16-bit model arrays change in traces and image, and what do they gain?

Models a survey, migrates it with the smoothed model, both with model_storage f32 and u16, and compares; then times
steps of one wavefield of both kinds in turns, in the same minute, and reports medians of the ratios.

    python benchmarks/model_storage.py [--model MARMOUSI.npz] [--shots 4] [-n 256] [--rounds 7] [--threads 2]

Without --model: the VTI model of the demo, 3-D. With it: vp, epsilon, delta (nx, nz) every 12.5 m. Prints, last, one
JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np
from scipy.ndimage import gaussian_filter

import subsalt as ss
from subsalt.demo import true_model
from subsalt.kernels import cpu
from subsalt.physics.storage import storage_error
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator

KINDS = ("f32", "u16")


def demo_case(shots: int) -> tuple[ss.EarthModel, ss.Survey, ss.Wavelet]:
    """Return the 3-D model of the demo with a line of shots over a grid of receivers."""
    model = true_model()
    src = [[x, 525.0, 15.0] for x in np.linspace(300.0, 1200.0, shots)]
    rcv = [[x, y, 15.0] for x in np.arange(150.0, 1351.0, 60.0) for y in np.arange(150.0, 901.0, 75.0)]
    return model, ss.Survey.from_arrays(src, rcv, nt=241, dt=0.004), ss.ricker(14.0, 0.001)


def marmousi_case(path: str, shots: int) -> tuple[ss.EarthModel, ss.Survey, ss.Wavelet]:
    """Return a 2-D model from a file with vp, epsilon, delta every 12.5 m, with a line of shots."""
    with np.load(path) as file:
        vp, epsilon, delta = (file[k] for k in ("vp", "epsilon", "delta"))
    model = ss.EarthModel(ss.Grid(vp.shape, (12.5, 12.5)), vp, epsilon, delta)
    end = 12.5 * (vp.shape[0] - 1)
    src = [[x, 12.5] for x in np.linspace(0.2 * end, 0.8 * end, shots)]
    rcv = [[x, 12.5] for x in np.arange(0.0, end + 1, 25.0)]
    return model, ss.Survey.from_arrays(src, rcv, nt=751, dt=0.004), ss.ricker(9.5, 0.001)


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """Return |a - b| / |b| in L2."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def differences(model: ss.EarthModel, survey: ss.Survey, wavelet: ss.Wavelet) -> dict[str, float]:
    """Return the relative L2 differences of traces and images between the two storages."""
    data = {k: ss.forward(model, survey, wavelet, model_storage=k) for k in KINDS}
    assert model.epsilon is not None
    assert model.delta is not None
    slowness = gaussian_filter(1 / model.vp.astype(np.float64), 6.0)
    smooth = ss.EarthModel(
        model.grid, 1 / slowness, gaussian_filter(model.epsilon, 6.0), gaussian_filter(model.delta, 6.0)
    )
    image = {k: ss.migrate(smooth, data["f32"].survey, wavelet, model_storage=k).image for k in KINDS}
    return {
        "traces": relative(data["u16"].data, data["f32"].data),
        "image": relative(image["u16"], image["f32"]),
    }


def gains(n: int, rounds: int, steps: int = 8) -> dict[str, dict[str, float]]:
    """Return by medium and boundary the median ratio of step times f32 / u16 on n^3 points, layer included."""
    out: dict[str, dict[str, float]] = {}
    for medium in ("isotropic", "vti"):
        for layer, width in (("pml", 12), ("damping", 40)):
            shape = (n - 2 * width,) * 3
            vp = np.random.default_rng(0).uniform(1500, 4500, shape)
            model = ss.EarthModel(ss.Grid(shape, (10.0,) * 3), vp, *((0.1, 0.05) if medium == "vti" else ()))
            runs = {}
            for kind in KINDS:
                options = PropagationOptions(boundary=layer, model_storage=kind)  # type: ignore[arg-type]
                prop = Propagator(model, options, model.choose_dt(options.weights))
                runs[kind] = prop, prop.new_state()
                prop.advance(runs[kind][1], steps)
            seconds: dict[str, list[float]] = {k: [] for k in KINDS}
            for i in range(rounds):
                for kind in KINDS if i % 2 else KINDS[::-1]:
                    prop, state = runs[kind]
                    start = time.perf_counter()
                    prop.advance(state, steps)
                    seconds[kind].append((time.perf_counter() - start) / steps)
            ratios = [a / b for a, b in zip(*seconds.values(), strict=True)]
            out[f"{medium}, {layer} {width}"] = {
                "ratio": statistics.median(ratios),
                "lowest": min(ratios),
                "highest": max(ratios),
                **{f"{k} Gpt/s": n**3 / statistics.median(s) / 1e9 for k, s in seconds.items()},
            }
    return out


def main() -> None:
    """Parse, compare, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--model", help="NPZ with vp, epsilon, delta (nx, nz); the demo's model when left out"
    )
    parser.add_argument("--shots", type=int, default=4)
    parser.add_argument("-n", type=int, default=256, help="points per axis of the timing, 0: no timing")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=None)
    args = parser.parse_args()
    model, survey, wavelet = marmousi_case(args.model, args.shots) if args.model else demo_case(args.shots)
    model, _ = model.anisotropy_gate()
    with cpu.forced(threads=args.threads, front=False):
        report: dict[str, object] = {"version": ss.__version__, "shape": model.grid.shape} | cpu.describe()
        report["model error"] = vars(storage_error(model, "vti"))
        report["differences"] = differences(model, survey, wavelet)
        print(f"model {storage_error(model, 'vti')}")
        print("relative difference u16 - f32:", report["differences"])
        if args.n:
            report["gains"] = table = gains(args.n, args.rounds)
            print(
                f"{'seconds of f32 over u16':26s}{'median':>8s}{'range':>14s}{'f32 Gpt/s':>12s}{'u16 Gpt/s':>12s}"
            )
            for name, row in table.items():
                spread = f"{row['lowest']:.2f}-{row['highest']:.2f}"
                print(
                    f"{name:26s}{row['ratio']:8.2f}{spread:>14s}{row['f32 Gpt/s']:12.2f}{row['u16 Gpt/s']:12.2f}"
                )
    print(json.dumps(report))


if __name__ == "__main__":
    main()
