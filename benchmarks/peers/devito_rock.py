"""Devito's side of a shot in rock: `devito_waveform.py` with damping beyond the box and a model that varies.

Source and receivers are nodes, where points of Devito need no interpolation. The layer continues the edges of the model
and damps as in `devito_worker.py`, with a quadratic profile; options of the setting say how many cells it has and what
a wave at normal incidence keeps of its amplitude on the way through it and back. The profiles are three arrays along
the axes, and fields have two time levels. Tilted media have the scheme of `devito_worker.along_axis`.
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
from rock_case import BOTTOM, LENS_STRENGTH, MEDIA, REFLECTOR_STRENGTH, Setting

configuration["log-level"] = "WARNING"
configuration["language"] = "openmp"


class DevitoShot:
    """An operator of all time steps of a shot, and its arrays."""

    def __init__(self, name: str, variant: str) -> None:
        self.setting = setting = Setting(**json.loads(name))
        options = setting.options or {}
        self.layer, self.echo = int(str(options["layer"])), float(str(options["echo"]))
        self.files = setting.write_model()
        shape = tuple(n + 2 * self.layer for n in setting.shape)
        extent = tuple((n - 1) * setting.spacing for n in shape)
        self.grid = Grid(shape, extent=extent, dtype=np.float32)
        names = ["p"] if setting.medium == "iso" else ["p", "q"]
        self.fields = [
            TimeFunction(name=n, grid=self.grid, time_order=2, space_order=setting.order, save=Buffer(2))
            for n in names
        ]
        volumes = ["m"] if setting.medium == "iso" else ["m", "e", "s"]
        self.params = {n: Function(name=n, grid=self.grid, space_order=2) for n in volumes}
        if setting.medium == "tti":
            axis = ["nx", "ny", "nz"] if setting.ndim == 3 else ["nx", "nz"]
            self.params |= {n: Function(name=n, grid=self.grid, space_order=setting.order) for n in axis}
        self.src = self._points("src", setting.source[None])
        self.rec = self._points("rec", setting.receivers)
        self.op = Operator(
            self._equations(), opt=compiler_options(variant), name="Shot", subs=self.grid.spacing_map
        )
        _ = self.op.cfunction  # compiles
        self.blocks: dict[str, int] = {}
        self.about: dict[str, Any] = {"peer": "Devito", "version": version, "blocks": self.blocks}
        self.about |= {"points": int(np.prod(shape)), "compiler": str(configuration["compiler"])}

    def tune(self) -> float:
        """Let Devito search block shapes aggressively, keep what it found, and return the seconds."""
        begin = time.perf_counter()
        self._load()
        self.op.apply(time_m=1, time_M=3, autotune=("aggressive", "destructive"))
        for entry in self.op._state.get("autotuning", []):
            self.blocks.update({k: int(v) for k, v in entry.get("tuned", {}).items() if k != "nthreads"})
        return time.perf_counter() - begin

    def _points(self, name: str, positions: np.ndarray) -> SparseTimeFunction:
        """Return points at positions that are nodes, m."""
        h = self.setting.spacing
        nodes = (positions - self.setting.box[:, 0]) / h + self.layer
        if np.abs(nodes - np.rint(nodes)).max() > 1e-6:
            raise SystemExit(f"{self.setting.points:g} points per wavelength: {name} is not a node")
        f = SparseTimeFunction(name=name, grid=self.grid, npoint=len(nodes), nt=self.setting.nt)
        f.coordinates.data[:] = np.rint(nodes) * h
        return f

    def _damping(self) -> object:
        """Return t = dt (sigma(x) + sigma(y) + sigma(z)) as an expression."""
        setting, parts = self.setting, []
        epsilon = MEDIA[setting.medium][0]
        fastest = BOTTOM * (1 + LENS_STRENGTH) * (1 + REFLECTOR_STRENGTH) * math.sqrt(1 + 2 * epsilon)
        depth = (np.arange(self.layer) + 1) / self.layer
        sigma = 1.5 * fastest / (self.layer * setting.spacing) * math.log(1 / self.echo) * depth**2
        for d, n in zip(self.grid.dimensions, self.grid.shape, strict=True):
            profile = np.zeros(n)
            profile[: self.layer], profile[n - self.layer :] = sigma[::-1], sigma
            f = Function(name=f"t{d.name}", grid=self.grid, dimensions=(d,), shape=(n,), space_order=0)
            f.data[:] = profile * setting.dt
            parts.append(f)
        return sum(parts)

    def _equations(self) -> list[Any]:
        """Write (1 + t) next = 2 now - (1 - t) before + m (...) for every field, with source and receivers.

        The source acts half on p and half on q, through the medium like everything else; recorded is their mean.
        """
        k, setting, src, t = self.params, self.setting, self.src, self._damping()
        volume = setting.spacing**setting.ndim
        if setting.medium == "iso":
            (p,) = self.fields
            right, gain = {p: k["m"] * p.laplace}, {p: k["m"]}
        else:
            p, q = self.fields
            if setting.medium == "tti":
                n = tuple(f for name, f in k.items() if name.startswith("n"))
                a, b = (along_axis(w, n, setting.order) for w in self.fields)
                a = p.laplace - a
            else:
                a = p.dx2 + p.dy2 if setting.ndim == 3 else p.dx2
                b = getattr(q, f"d{self.grid.dimensions[-1].name}2")
            right = {p: k["m"] * (k["e"] * a + k["s"] * b), q: k["m"] * (k["s"] * a + b)}
            gain = {p: k["m"] * (k["e"] + k["s"]) / 2, q: k["m"] * (k["s"] + 1) / 2}
        steps: list[Any] = [
            Eq(w.forward, (2 * w - (1 - t) * w.backward + r) / (1 + t)) for w, r in right.items()
        ]
        # the source lies outside the layer, where 1 + t is 1
        for w, g in gain.items():
            steps += src.inject(field=w.forward, expr=src * g / volume)
        return steps + self.rec.interpolate(expr=sum(self.fields) / len(self.fields))

    def _load(self) -> None:
        """Read the model, plane by plane, into what the operator takes; its edges go on in the layer."""
        k, layer = {name: np.asarray(f.data) for name, f in self.params.items()}, self.layer
        shape = self.setting.shape
        count = math.prod(shape[1:])
        for i in range(self.grid.shape[0]):
            at = min(max(i - layer, 0), shape[0] - 1)
            read = {
                name: np.pad(
                    np.fromfile(file, np.float32, count, offset=4 * at * count).reshape(shape[1:]),
                    layer,
                    "edge",
                )
                for name, file in self.files.items()
            }
            k["m"][i] = (read["vp"].astype(np.float64) * self.setting.dt) ** 2
            if "e" in k:
                k["e"][i] = 1 + 2 * read["epsilon"]
                k["s"][i] = np.sqrt(1 + 2 * read["delta"])
            if "nx" in k:
                theta, phi = read["theta"], read.get("phi", np.float32(0))
                k["nx"][i], k["nz"][i] = np.sin(theta) * np.cos(phi), np.cos(theta)
                if "ny" in k:
                    k["ny"][i] = np.sin(theta) * np.sin(phi)

    def round(self, wavelet: str, out: str, steps: int = 0) -> float:
        """Model the shot; return the seconds from opening the model's files to having written the traces.

        With `steps` only so many are made, from rest, and their seconds are scaled to all: every step does the same.
        """
        whole = self.setting.nt - 1
        made = min(steps or whole, whole)
        begin = time.perf_counter()
        self._load()
        for f in self.fields:
            f.data[:] = 0
        self.src.data[:, 0] = np.load(wavelet)
        before = time.perf_counter()
        self.op.apply(time_m=0, time_M=made - 1, autotune=False, **self.blocks)
        stepping = time.perf_counter() - before
        np.save(out, np.ascontiguousarray(np.asarray(self.rec.data).T))
        seconds = time.perf_counter() - begin + stepping * (whole / made - 1)
        if not math.isfinite(float(np.abs(self.rec.data).max())):
            raise SystemExit("Devito: the wavefield is not finite")
        return seconds

    def facts(self) -> dict[str, object]:
        """Return what there is to say of a round."""
        steps = (self.setting.nt - 1) * self.about["points"]
        return self.about | {"dt": self.setting.dt, "point_steps": steps}


if __name__ == "__main__":
    serve(DevitoShot)
