"""Devito's side: the same self-adjoint scheme in Devito's own API, run by its generated OpenMP code.

``devito_worker.py CASE VARIANT``; variants differ only in storage, so that the fastest can be chosen.
Damping: ``axes`` keeps three 1-D profiles (least memory traffic), ``volume`` one 3-D array, as Devito's own
examples do. Time levels: three by default, two with ``-two-levels`` (the new level overwrites the oldest, as
ours does).
"""

from __future__ import annotations

import cases
import numpy as np
from devito import Buffer, Eq, Function, Grid, Operator, TimeFunction, configuration
from devito import __version__ as version
from protocol import serve

configuration["log-level"] = "WARNING"
configuration["language"] = "openmp"
configuration["profiling"] = "advanced"


class DevitoSolver:
    """A Devito operator of one time step and its state."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = case = cases.parse(name)
        h = case.spacing
        extent = tuple((n - 1) * h for n in case.shape)
        self.grid = Grid(case.shape, extent=extent, dtype=np.float32)
        self.fields = self._fields(2 if variant.endswith("two-levels") else 3)
        self.params = {k: self._volume(k, v) for k, v in cases.model_arrays(case).items()}
        self.op = Operator(self._equations(variant), opt="advanced", name="Step")
        self.blocks: dict[str, int] = {}
        self.it = 1
        self._tune()
        self.about = {"peer": "Devito", "version": version, "variant": variant, "blocks": self.blocks}

    def _fields(self, levels: int) -> list[TimeFunction]:
        """Return p, or p and q, of second order in time."""
        names = ["p"] if self.case.medium == "isotropic" else ["p", "q"]
        keep = {"save": Buffer(2)} if levels == 2 else {}
        return [
            TimeFunction(name=n, grid=self.grid, time_order=2, space_order=self.case.order, **keep)
            for n in names
        ]

    def _volume(self, name: str, values: np.ndarray) -> Function:
        """Return a 3-D model array; space order 0 keeps its halo empty."""
        f = Function(name=name, grid=self.grid, space_order=0)
        f.data[:] = values
        return f

    def _damping(self, variant: str) -> object:
        """Return t = dt (sigma(x) + sigma(y) + sigma(z)) as an expression."""
        t = (cases.damping_profile(self.case) * cases.time_step(self.case)).astype(np.float32)
        if variant.startswith("volume"):
            total = t[:, None, None] + t[None, :, None] + t[None, None, :]
            return self._volume("damp", total)
        parts = []
        for d in self.grid.dimensions:
            f = Function(
                name=f"t{d.name}", grid=self.grid, dimensions=(d,), shape=(self.case.n,), space_order=0
            )
            f.data[:] = t
            parts.append(f)
        return sum(parts)

    def _equations(self, variant: str) -> list[Eq]:
        """Write (1 + t) next = 2 now - (1 - t) before + m (...) for every field."""
        t, k = self._damping(variant), self.params
        if self.case.medium == "isotropic":
            (p,) = self.fields
            right = {p: k["m"] * p.laplace}
        else:
            p, q = self.fields
            a, b = p.dx2 + p.dy2, q.dz2
            right = {p: k["m"] * (k["e"] * a + k["s"] * b), q: k["m"] * (k["s"] * a + b)}
        return [Eq(w.forward, (2 * w - (1 - t) * w.backward + r) / (1 + t)) for w, r in right.items()]

    def _tune(self) -> None:
        """Let Devito search block shapes aggressively once, and keep what it found."""
        self.fill()
        self.op.apply(time_m=1, time_M=3, autotune=("aggressive", "destructive"))
        for entry in self.op._state.get("autotuning", []):
            self.blocks.update({k: v for k, v in entry.get("tuned", {}).items() if k != "nthreads"})
        self.fill()

    def _apply(self, steps: int) -> float:
        """Advance `steps` steps and return the seconds Devito's own timers count in its sections."""
        summary = self.op.apply(time_m=self.it, time_M=self.it + steps - 1, autotune=False, **self.blocks)
        self.it += steps
        return float(sum(entry.time for entry in summary.values()))

    def fill(self) -> None:
        """Load the start field into all time levels."""
        start = cases.start_field(self.case)
        for f in self.fields:
            f.data[:] = start
        self.it = 1

    def check(self, steps: int, out: str) -> float:
        """Run a point source from rest, one step at a time, and save the fields.

        The source acts through C like everything else: p gets m (e + s)/2 f, q gets m (s + 1)/2 f (isotropic:
        m f).
        """
        for f in self.fields:
            f.data[:] = 0
        self.it, at = 1, self.case.source
        k = {n: float(v.data[at]) for n, v in self.params.items()}
        gains = (
            [k["m"]] if len(self.fields) == 1 else [k["m"] * (k["e"] + k["s"]) / 2, k["m"] * (k["s"] + 1) / 2]
        )
        # the source is added after the division by 1 + t, which is 1 there: the source lies outside the layer
        for f_n in cases.wavelet(self.case, steps):
            self._apply(1)
            for f, gain in zip(self.fields, gains, strict=True):
                f.data[(self.it % f.data.shape[0], *at)] += np.float32(gain * f_n)
        return self.save(out)

    def round(self, steps: int) -> float:
        """Return the seconds of `steps` steps."""
        return self._apply(steps)

    def save(self, out: str) -> float:
        """Save the present time level of every field; return the largest absolute value."""
        now = [np.asarray(f.data[self.it % f.data.shape[0]]) for f in self.fields]
        np.save(out, np.stack(now))
        return float(max(np.abs(w).max() for w in now))


if __name__ == "__main__":
    serve(DevitoSolver)
