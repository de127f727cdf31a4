"""Devito's side: the same self-adjoint scheme in Devito's own API, run by its generated OpenMP code.

``devito_worker.py CASE VARIANT``; variants differ in storage and in options, so that the fastest of them can be
chosen. Damping: ``axes`` keeps three 1-D profiles (least memory traffic), ``volume`` one 3-D array, as Devito's own
examples do. Time levels: three by default, two with ``-two-levels`` (the new level overwrites the oldest, as ours
does). Options of Devito's compiler: ``-linearize``, ``-blockinner``, ``-blocklevels1``, ``-blocklevels2``; its defaults
otherwise. Tilted media have the scheme of ours, or with ``-example`` the one of Devito's own examples (half-cell first
derivatives of half the order, angles instead of the axis): not the same discretisation, so its field is only compared
loosely.
"""

from __future__ import annotations

from typing import Any

import earth
import numpy as np
from cases import parse
from devito import Buffer, Eq, Function, Grid, Operator, TimeFunction, configuration, cos, sin
from devito import __version__ as version
from protocol import save_fields, serve

configuration["log-level"] = "WARNING"
configuration["language"] = "openmp"
configuration["profiling"] = "advanced"

#: weight of the term that keeps the tilted operator from vanishing at the Nyquist wavenumber (docs/theory/rtm.md)
NYQUIST_WEIGHT = 0.2


def compiler_options(variant: str) -> Any:
    """Return the `opt` of an operator."""
    options: dict[str, Any] = {}
    if "-linearize" in variant:
        options["linearize"] = True
    if "-blockinner" in variant:
        options["blockinner"] = True
    for levels in (1, 2):
        if f"-blocklevels{levels}" in variant:
            options["blocklevels"] = levels
    return ("advanced", options) if options else "advanced"


def along_axis(w: TimeFunction, n: tuple[Function, ...], order: int) -> object:
    """Return V w, the second derivative along the axis of symmetry n, of our scheme."""
    wr = NYQUIST_WEIGHT
    names = [f"d{d.name}" for d in w.grid.dimensions]
    first = [getattr(w, name)(fd_order=order) for name in names]
    g = sum(a * b for a, b in zip(n, first, strict=True))
    flux = [a * g - wr * b for a, b in zip(n, first, strict=True)]
    return sum(getattr(f, d)(fd_order=order) for f, d in zip(flux, names, strict=True)) + wr * w.laplace


def along_axis_of_the_examples(w: TimeFunction, angles: tuple[Function, Function], order: int) -> object:
    """Return `Gzz_centered` of Devito's examples/seismic/tti/operators.py, whose import needs pytest."""
    theta, phi = angles
    axis = (sin(theta) * cos(phi), sin(theta) * sin(phi), cos(theta))
    half = [(d, d + d.spacing / 2, d - d.spacing / 2) for d in w.grid.dimensions]

    def first(expr: object, i: int, x0: object) -> object:
        return getattr(expr, f"d{half[i][0].name}")(fd_order=order // 2, x0=x0)

    g = sum(axis[i] * first(w, i, half[i][1]) for i in range(3))
    return sum(first(g * axis[i], i, half[i][2]) for i in range(3))


class DevitoSolver:
    """A Devito operator of one time step and its state."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = case = parse(name)
        self.example = variant.endswith("-example")
        extent = tuple((n - 1) * case.spacing for n in case.shape)
        self.grid = Grid(case.shape, extent=extent, dtype=np.float32)
        self.fields = self._fields(2 if "two-levels" in variant else 3)
        self.params = self._params()
        self.op = Operator(
            self._equations(variant), opt=compiler_options(variant), name="Step", subs=self.grid.spacing_map
        )
        self.blocks: dict[str, int] = {}
        self.it, self.count = 1, {}
        self._tune()
        compiler = str(configuration["compiler"])
        self.about = {"peer": "Devito", "version": version, "variant": variant, "blocks": self.blocks}
        self.about |= {"compiler": compiler}
        self.about["points"] = int(np.prod(case.shape))

    def _fields(self, levels: int) -> list[TimeFunction]:
        """Return p, or p and q, of second order in time."""
        names = ["p"] if self.case.medium == "isotropic" else ["p", "q"]
        keep = {"save": Buffer(2)} if levels == 2 else {}
        return [
            TimeFunction(name=n, grid=self.grid, time_order=2, space_order=self.case.order, **keep)
            for n in names
        ]

    def _volume(self, name: str, values: np.ndarray, space_order: int = 0) -> Function:
        """Return a 3-D model array; space order 0 keeps its halo empty."""
        f = Function(name=name, grid=self.grid, space_order=space_order)
        f.data[:] = values
        return f

    def _params(self) -> dict[str, Function]:
        """Return m = (vp dt)^2, e = 1 + 2 epsilon, s = sqrt(1 + 2 delta) and the axis, or its angles."""
        case, dt = self.case, earth.time_step(self.case)
        v = earth.velocity(case, case.layer)
        for plane in v:  # plane by plane: no copy of the grid in double precision
            plane[...] = (plane.astype(np.float64) * dt) ** 2
        out = {"m": self._volume("m", v)}
        del v
        if case.medium == "isotropic":
            return out
        eps, delta = earth.thomsen(case, case.layer)
        for plane in eps:
            plane[...] = 1 + 2 * plane.astype(np.float64)
        for plane in delta:
            plane[...] = np.sqrt(1 + 2 * plane.astype(np.float64))
        out |= {"e": self._volume("e", eps), "s": self._volume("s", delta)}
        if case.medium == "tti":
            theta, phi = (a.astype(np.float64) for a in earth.tilt(case, case.layer))
            axis = {"theta": theta, "phi": phi}
            if not self.example:
                axis = {
                    "nx": np.sin(theta) * np.cos(phi),
                    "ny": np.sin(theta) * np.sin(phi),
                    "nz": np.cos(theta),
                }
            out |= {k: self._volume(k, a, case.order) for k, a in axis.items()}
        return out

    def _damping(self, variant: str) -> object:
        """Return t = dt (sigma(x) + sigma(y) + sigma(z)) as an expression."""
        dt = earth.time_step(self.case)
        t = [(s * dt).astype(np.float32) for s in earth.damping_axes(self.case, earth.fastest(self.case))]
        if variant.startswith("volume"):
            return self._volume("damp", t[0][:, None, None] + t[1][None, :, None] + t[2][None, None, :])
        parts = []
        for d, profile in zip(self.grid.dimensions, t, strict=True):
            f = Function(
                name=f"t{d.name}", grid=self.grid, dimensions=(d,), shape=profile.shape, space_order=0
            )
            f.data[:] = profile
            parts.append(f)
        return sum(parts)

    def _along_axis(self, w: TimeFunction) -> object:
        """Return V w, of our scheme or of Devito's examples."""
        k = self.params
        if self.example:
            return along_axis_of_the_examples(w, (k["theta"], k["phi"]), self.case.order)
        return along_axis(w, (k["nx"], k["ny"], k["nz"]), self.case.order)

    def _equations(self, variant: str) -> list[Eq]:
        """Write (1 + t) next = 2 now - (1 - t) before + m (...) for every field."""
        t, k = self._damping(variant), self.params
        if self.case.medium == "isotropic":
            (p,) = self.fields
            right = {p: k["m"] * p.laplace}
        else:
            p, q = self.fields
            if self.case.medium == "vti":
                a, b = p.dx2 + p.dy2, q.dz2
            else:
                a, b = p.laplace - self._along_axis(p), self._along_axis(q)
            right = {p: k["m"] * (k["e"] * a + k["s"] * b), q: k["m"] * (k["s"] * a + b)}
        return [Eq(w.forward, (2 * w - (1 - t) * w.backward + r) / (1 + t)) for w, r in right.items()]

    def _tune(self) -> None:
        """Let Devito search block shapes aggressively once, and keep what it found."""
        self.fill()
        self.op.apply(time_m=1, time_M=3, autotune=("aggressive", "destructive"), **self.count)
        for entry in self.op._state.get("autotuning", []):
            # of small grids they are SymPy's integers
            self.blocks.update({k: int(v) for k, v in entry.get("tuned", {}).items() if k != "nthreads"})
        self.fill()

    def threads(self, count: int) -> dict[str, int]:
        """Compute with so many threads from here on, and search their block shapes; return these."""
        self.count = {"nthreads": count}
        self._tune()
        return self.blocks

    def _apply(self, steps: int) -> float:
        """Advance `steps` steps and return the seconds Devito's own timers count in its sections."""
        summary = self.op.apply(
            time_m=self.it, time_M=self.it + steps - 1, autotune=False, **self.blocks, **self.count
        )
        self.it += steps
        return float(sum(entry.time for entry in summary.values()))

    def fill(self) -> None:
        """Load the start field into all time levels."""
        start = earth.start_field(self.case, self.case.layer)
        for f in self.fields:
            f.data[:] = start
        self.it = 1

    def check(self, steps: int, out: str) -> float:
        """Run a point source from rest, one step at a time, and save the fields.

        The source acts through C like everything else: p gets m (e + s)/2 f, q gets m (s + 1)/2 f (isotropic: m f).
        """
        for f in self.fields:
            f.data[:] = 0
        self.it, at = 1, self.case.source
        k = {n: float(self.params[n].data[at]) for n in ("m", "e", "s") if n in self.params}
        one = len(self.fields) == 1
        gains = [k["m"]] if one else [k["m"] * (k["e"] + k["s"]) / 2, k["m"] * (k["s"] + 1) / 2]
        # the source is added after the division by 1 + t, which is 1 there: the source lies outside the layer
        for f_n in earth.wavelet(self.case, steps):
            self._apply(1)
            for f, gain in zip(self.fields, gains, strict=True):
                f.data[(self.it % f.data.shape[0], *at)] += np.float32(gain * f_n)
        return self.save(out)

    def round(self, steps: int) -> float:
        """Return the seconds of `steps` steps."""
        return self._apply(steps)

    def save(self, out: str) -> float:
        """Save the present time level of every field; return the largest absolute value."""
        return save_fields(out, [np.asarray(f.data[self.it % f.data.shape[0]]) for f in self.fields])


if __name__ == "__main__":
    serve(DevitoSolver)
