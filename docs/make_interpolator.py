"""Design the interpolation between trace samples: print the numbers of `subsalt/methods/kirchhoff/prepare.py`.

The trace at i + 1/2 + u, -1/2 <= u <= 1/2, is sum_k u^k sum_m c_k[m] x[m] over the 16 samples around the interval
(a Farrow structure). Its response at the angular frequency w (radians per sample) should be exp(i w u) for |w| below
0.7 Nyquist. By symmetry c_k is even about the interval for even k and odd for odd k, so that the 5 x 16 numbers are 40.
They are the minimum of the largest weighted error over frequency and phase, found by least squares with weights that
grow where the error is large (Lawson 1961); constants pass exactly. The error allowed falls with the square of the
frequency: a polynomial of order 4 in u cannot do better than 2 J5(0.35 pi) = 7.9e-4 at the upper end, but much better
below.
"""

from __future__ import annotations

import numpy as np

TAPS, ORDER, BAND = 16, 4, 0.7
ROUNDS = 400


def design() -> tuple[np.ndarray, np.ndarray]:
    """Return the even (3, 8) and odd (2, 8) coefficients of the samples behind the middle of the interval."""
    half = TAPS // 2
    at = np.arange(half) + 0.5
    w = np.pi * BAND * (np.arange(280) + 0.5) / 280
    u = np.linspace(-0.5, 0.5, 41)
    allowed = np.maximum(0.03, (w / (np.pi * BAND)) ** 2)[:, None]

    def columns(powers: range, wave: np.ndarray) -> np.ndarray:
        table = (u[None, :, None, None] ** np.array(powers)[:, None]) * 2 * wave[:, None, None, :]
        return table.reshape(len(w) * len(u), len(powers), half)

    even, odd = (
        columns(range(0, ORDER + 1, 2), np.cos(np.outer(w, at))),
        columns(range(1, ORDER + 1, 2), np.sin(np.outer(w, at))),
    )
    # constants pass: the first tap is what the others leave of 1/2 (order 0) or 0
    first = even[:, :, :1]
    free = (even[:, :, 1:] - first).reshape(len(even), -1)
    cosine = np.cos(np.outer(w, u)).ravel() - 0.5 * first[:, 0, 0]
    sine = np.sin(np.outer(w, u)).ravel()
    odd = odd.reshape(len(odd), -1)

    weight, least, best = np.ones((len(w), len(u))), np.inf, None
    for _ in range(ROUNDS):
        scale = (np.sqrt(weight) / allowed).ravel()
        a = np.linalg.lstsq(free * scale[:, None], cosine * scale, rcond=None)[0]
        b = np.linalg.lstsq(odd * scale[:, None], sine * scale, rcond=None)[0]
        error = np.hypot(free @ a - cosine, odd @ b - sine).reshape(weight.shape) / allowed
        if error.max() < least:
            least, best = error.max(), (a, b)
        weight *= error / error.max() + 3e-3
        weight /= weight.mean()
    a, b = best
    a = a.reshape(-1, half - 1)
    lead = np.array([0.5, 0.0, 0.0]) - a.sum(axis=1)
    return np.column_stack([lead, a]), b.reshape(-1, half)


def main() -> None:
    """Print the coefficients as Python."""
    for name, rows in zip(("EVEN", "ODD"), design(), strict=True):
        print(f"{name} = (")
        for row in rows:
            print("    (" + ", ".join(f"{v:.9e}" for v in row) + "),")
        print(")")


if __name__ == "__main__":
    main()
