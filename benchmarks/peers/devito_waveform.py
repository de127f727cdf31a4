"""Devito's side of a waveform: the fastest form of `devito_worker.py`, from the model's files to that of the traces.

Source and receivers stand on nodes, where points of Devito need no interpolation. Fields have two time levels; no
layer, no damping. Its wavelet comes through the time-dispersion transform and its traces go through the inverse one in
`accuracy.py`, which counts their time.
"""

from __future__ import annotations

import json
import math
import time
from typing import Any

import numpy as np
from devito import Buffer, Eq, Function, Grid, Operator, SparseTimeFunction, TimeFunction, configuration
from devito import __version__ as version
from devito_worker import along_axis, compiler_options
from protocol import serve
from waveform_case import Setting

configuration["log-level"] = "WARNING"
configuration["language"] = "openmp"


def second_derivatives(w: TimeFunction, n: tuple[Function, ...], order: int) -> object:
    """Return V w with all second derivatives written out, as in a medium whose axis does not turn."""
    axes = ("dx", "dy", "dz")
    total = sum(n[i] * n[i] * getattr(w, f"{axes[i]}2") for i in range(3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        mixed = getattr(getattr(w, axes[i])(fd_order=order), axes[j])(fd_order=order)
        total += 2 * n[i] * n[j] * mixed
    return total


class DevitoShot:
    """An operator of all time steps of a shot, and its arrays."""

    def __init__(self, name: str, variant: str) -> None:
        self.setting = setting = Setting(**json.loads(name))
        self.files = setting.write_model()
        extent = tuple((n - 1) * setting.spacing for n in setting.shape)
        self.grid = Grid(setting.shape, extent=extent, dtype=np.float32)
        names = ["p"] if setting.medium == "iso" else ["p", "q"]
        self.fields = [
            TimeFunction(name=n, grid=self.grid, time_order=2, space_order=setting.order, save=Buffer(2))
            for n in names
        ]
        self.params = self._params()
        source, receivers = setting.on_nodes()
        self.offsets = (receivers - source) * setting.spacing
        self.src, self.rec = self._points("src", source[None]), self._points("rec", receivers)
        self.op = Operator(
            self._equations(), opt=compiler_options(variant), name="Shot", subs=self.grid.spacing_map
        )
        _ = self.op.cfunction  # compiles
        self.blocks: dict[str, int] = {}
        self.about: dict[str, Any] = {"peer": "Devito", "version": version, "blocks": self.blocks}
        self.about |= {"points": int(np.prod(setting.shape)), "compiler": str(configuration["compiler"])}

    def tune(self) -> float:
        """Let Devito search block shapes aggressively, keep what it found, and return the seconds."""
        begin = time.perf_counter()
        self._load()
        self.op.apply(time_m=1, time_M=3, autotune=("aggressive", "destructive"))
        for entry in self.op._state.get("autotuning", []):
            self.blocks.update({k: int(v) for k, v in entry.get("tuned", {}).items() if k != "nthreads"})
        return time.perf_counter() - begin

    def _params(self) -> dict[str, Function]:
        """Return empty volumes of the model: halos for points, which interpolate, and for derivatives of the axis."""
        names = {"iso": ("m",), "vti": ("m", "e", "s"), "tti": ("m", "e", "s", "nx", "ny", "nz")}
        order = {n: self.setting.order if n.startswith("n") else 2 for n in names[self.setting.medium]}
        return {n: Function(name=n, grid=self.grid, space_order=k) for n, k in order.items()}

    def _points(self, name: str, nodes: np.ndarray) -> SparseTimeFunction:
        f = SparseTimeFunction(name=name, grid=self.grid, npoint=len(nodes), nt=self.setting.nt)
        f.coordinates.data[:] = nodes * self.setting.spacing
        return f

    def _equations(self) -> list[Any]:
        """Write next = 2 now - before + m (...) for every field, with the source and the receivers.

        The source acts half on p and half on q, through the medium like everything else; recorded is their mean.
        """
        k, setting, src = self.params, self.setting, self.src
        volume = setting.spacing**3
        if setting.medium == "iso":
            (p,) = self.fields
            right, gain = {p: k["m"] * p.laplace}, {p: k["m"]}
        else:
            p, q = self.fields
            if setting.medium == "vti":
                a, b = p.dx2 + p.dy2, q.dz2
            else:
                n = (k["nx"], k["ny"], k["nz"])
                along = along_axis if setting.scheme == "fluxes" else second_derivatives
                a, b = p.laplace - along(p, n, setting.order), along(q, n, setting.order)
            right = {p: k["m"] * (k["e"] * a + k["s"] * b), q: k["m"] * (k["s"] * a + b)}
            gain = {p: k["m"] * (k["e"] + k["s"]) / 2, q: k["m"] * (k["s"] + 1) / 2}
        steps: list[Any] = [Eq(w.forward, 2 * w - w.backward + r) for w, r in right.items()]
        for w, g in gain.items():
            steps += src.inject(field=w.forward, expr=src * g / volume)
        return steps + self.rec.interpolate(expr=sum(self.fields) / len(self.fields))

    def _load(self) -> None:
        """Read the model, plane by plane, into what the operator takes."""
        k = {name: np.asarray(f.data) for name, f in self.params.items()}
        plane = self.setting.shape[1:]
        count = plane[0] * plane[1]
        for i in range(self.setting.shape[0]):
            read = {
                name: np.fromfile(file, np.float32, count, offset=4 * i * count).reshape(plane)
                for name, file in self.files.items()
            }
            k["m"][i] = (read["vp"].astype(np.float64) * self.setting.dt) ** 2
            if "e" in k:
                k["e"][i] = 1 + 2 * read["epsilon"]
                k["s"][i] = np.sqrt(1 + 2 * read["delta"])
            if "nx" in k:
                theta, phi = read["theta"], read["phi"]
                k["nx"][i] = np.sin(theta) * np.cos(phi)
                k["ny"][i] = np.sin(theta) * np.sin(phi)
                k["nz"][i] = np.cos(theta)

    def round(self, wavelet: str, out: str) -> float:
        """Model the shot; return the seconds from opening the model's files to having written the traces."""
        begin = time.perf_counter()
        self._load()
        for f in self.fields:
            f.data[:] = 0
        self.src.data[:, 0] = np.load(wavelet)
        self.op.apply(time_m=0, time_M=self.setting.nt - 2, autotune=False, **self.blocks)
        np.save(out, np.ascontiguousarray(np.asarray(self.rec.data).T))
        seconds = time.perf_counter() - begin
        if not math.isfinite(float(np.abs(self.rec.data).max())):
            raise SystemExit("Devito: the wavefield is not finite")
        return seconds

    def facts(self) -> dict[str, object]:
        """Return what there is to say of a round."""
        steps = (self.setting.nt - 1) * self.about["points"]
        return self.about | {"dt": self.setting.dt, "point_steps": steps, "offsets": self.offsets.tolist()}


if __name__ == "__main__":
    serve(DevitoShot)
