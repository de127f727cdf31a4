"""Who takes part in a case: the sides, and the process that speaks for each."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import image_tolerance
from cases import PML_CELLS, Case
from environments import HERE, python_of

HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
PINNED = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
#: what a wave has not reached is advanced too, as a peer does
WHOLE_GRID = {"SUBSALT_FRONT": "off"}
#: options of a Devito operator that are tried one at a time, on the fastest storage, by what they are called here
DEVITO_OPTIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "linear indices": ("axes-two-levels-linearize", HUGE_PAGES),
    "inner loop blocked": ("axes-two-levels-blockinner", HUGE_PAGES),
    "one level of blocks": ("axes-two-levels-blocklevels1", HUGE_PAGES),
    "two levels of blocks": ("axes-two-levels-blocklevels2", HUGE_PAGES),
    "clang": ("axes-two-levels", HUGE_PAGES | {"DEVITO_ARCH": "clang"}),
    "threads pinned": ("axes-two-levels", HUGE_PAGES | PINNED),
}
#: relative L2 difference of the wavefields that is accepted after 60 and after 200 steps: both float32, in different
#: orders of operations; every step rounds at 1e-7 of the field, and the leapfrog sums that; 1e-6 was seen at 64^3
ROUNDING, ROUNDING_200 = 2e-5, 7e-5
#: 16-bit models: half a unit of 65535 in (vp dt)^2 shifts the phase of 60 steps by about 1e-3 of it
STORED_U16 = 1e-3
#: half-cell first derivatives at one node are of second order in the tilt: not the same numbers, the same wave
OTHER_SCHEME = 0.3
#: the same equations as first derivatives on a staggered grid: phase errors of order 8 of either scheme, on a ball of
#: 4 cells; 0.02 was seen at 64^3 after 40 steps
OTHER_GRID = 0.1
#: for snapshots and states of a migration, by dimension: with the rest of the process a quarter of the peer's memory
RTM_MEGABYTES = {2: 80, 3: 480}
#: images that sum other samples of the same product
OTHER_SAMPLES = 0.2
#: images of the same sums: times of 700 samples in float32, three roundings each, and slopes of half a unit a sample
SAME_SUM = 2e-4
#: other weights and filters
OTHER_SUM = math.inf
#: scattered data against those without a grid: layers, phase errors of order 8, and what a band leaves out; 0.0025 and
#: 0.0012 were seen at half the size, half the path
OTHER_OPERATOR = 0.01
#: near the top damping reflects waves that graze it, about as strong as the image is there: recorded, not judged
OTHER_LAYER = math.inf


@dataclass(frozen=True)
class Side:
    """One side of a case.

    Parameters
    ----------
    script, variant : str
        The worker and what it is told.
    peer : str
        Whose environment it needs; empty for ours.
    tolerance : float
        Relative L2 by which its wavefield or image may differ from that of our first side.
    same_layer : bool
        It has the layer of our damping side, so that the whole filled grid can be compared, the layer included.
    env : mapping
        Extra environment.
    timed : bool
        It takes part in the rounds; otherwise it only answers, before them.
    """

    script: str
    variant: str
    peer: str = ""
    tolerance: float = ROUNDING
    same_layer: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    timed: bool = True


def is_large(case: Case) -> bool:
    """Return whether the grid has more than 10^8 points: few sides at a time, few steps."""
    return math.prod(case.shape) > 1e8


def sides_of(case: Case, device: str = "cpu", storage: str = "") -> dict[str, Side]:
    """Return the sides of a case by name; the first is ours, and the one whose ratio counts."""
    suffix = (f"+{storage}" if storage else "") + ("" if device == "cpu" else f"@{device}")
    if case.kind == "kirchhoff":
        return _kirchhoff()
    if case.kind == "lsrtm":
        return _inversions()
    if case.kind == "gpu":
        return _on_a_gpu(case, device)
    return {**_ours(case, suffix), **_peers(case)}


def _on_a_gpu(case: Case, device: str) -> dict[str, Side]:
    """Return the sides in 3-D on a device, each with a layer of its own around the same interior."""
    on = "" if device == "cpu" else f"@{device}"
    first = {f"PML {PML_CELLS}": Side("subsalt_worker.py", f"pml-interior{on}")}
    if case.medium == "vti":
        first["PML, u16"] = Side("subsalt_worker.py", f"pml-interior+u16{on}", tolerance=STORED_U16)
    tolerance = ROUNDING if case.medium == "isotropic" else OTHER_GRID
    return first | {"Deepwave": Side("deepwave_volume_worker.py", device, "deepwave", tolerance)}


def _kirchhoff() -> dict[str, Side]:
    """Return the sides of the Kirchhoff case; each of the peer's has as many Numba threads as ours has of OpenMP."""
    ours = {"linear": Side("subsalt_kirchhoff.py", "linear")}
    ours["16 points, 10 bands"] = Side("subsalt_kirchhoff.py", "bands", tolerance=OTHER_SUM)
    words = {"float64": "its defaults", "float32": "float32", "tables32": "float32, tables too"}
    return ours | {
        f"PyLops, {text}": Side("pylops_kirchhoff.py", variant, "pylops", SAME_SUM)
        for variant, text in words.items()
    }


def _inversions() -> dict[str, Side]:
    """Return the sides of a least-squares migration: ours with the peer's time step and its own, torch's optimisers."""
    ours = {"CGLS, its own time step": "own", "CGLS, time step of the peer": "steps-of-the-peer"}
    theirs = {
        "Adam": "adam",
        "L-BFGS": "lbfgs",
        "L-BFGS, gradient at every 4th step": "lbfgs-every-4",
    }
    return {
        name: Side("subsalt_lsrtm.py", variant, tolerance=OTHER_OPERATOR) for name, variant in ours.items()
    } | {
        f"Deepwave, {name}": Side("deepwave_lsrtm.py", variant, "deepwave", OTHER_OPERATOR)
        for name, variant in theirs.items()
    }


def _ours(case: Case, suffix: str) -> dict[str, Side]:
    rounding = ROUNDING_200 if case.kind == "plane" else ROUNDING

    def step(variant: str, storage: str = "") -> Side:
        reports = variant + (f"+{storage}" if storage else suffix)
        return Side("subsalt_worker.py", reports, tolerance=STORED_U16 if "u16" in reports else rounding)

    pml = f"PML {PML_CELLS}"
    if case.kind == "rtm":
        return _our_migrations(case, suffix.replace("+u16", "").replace("+f32", ""))
    if case.kind == "steps":
        first, second = {"damping": step("damping")}, {pml: step("pml")}
    else:
        first, second = {pml: step("pml-interior")}, {f"damping {case.layer}": step("damping")}
    if case.medium == "vti" and not suffix:
        name, side = next(iter(first.items()))
        packed = {f"{name}, u16": step(side.variant, "u16")}
        # memory holds three sides of the founding grid
        return first | packed if is_large(case) else first | second | packed
    return first | second


def _our_migrations(case: Case, device: str) -> dict[str, Side]:
    script = "subsalt_rtm.py"
    limit = RTM_MEGABYTES[case.ndim]
    return {
        f"every {case.snapshot_every}th sample": Side(script, "every" + device),
        f"every {case.snapshot_every}th sample, whole grid": Side(script, "every" + device, env=WHOLE_GRID),
        f"snapshots and states in {limit} MB": Side(script, f"within-{limit}{device}"),
        "own image step": Side(script, "own" + device, tolerance=OTHER_SAMPLES),
        f"damping {case.layer}": Side(script, f"damping{device}", tolerance=OTHER_LAYER),
    }


def _peers(case: Case) -> dict[str, Side]:
    if case.kind == "rtm":
        return _their_migrations(case)
    if case.kind == "plane":
        return {
            f"Deepwave, {variant}": Side("deepwave_worker.py", variant, "deepwave", ROUNDING_200)
            for variant in ("as-is", "flushed")
        }
    variants: dict[str, tuple[str, Mapping[str, str]]] = {
        "example style": ("volume", {}),
        "1-D profiles": ("axes", {}),
        "1-D profiles, 2 levels": ("axes-two-levels", {}),
        "1-D profiles, 2 levels, huge pages": ("axes-two-levels", HUGE_PAGES),
    }
    best = "1-D profiles, 2 levels, huge pages"
    tried = {f"{best}, {name}": reports for name, reports in DEVITO_OPTIONS.items()}
    if case.medium == "tti":
        # what Devito makes of blocks in the inner loop of that scheme does not compile. On the large grid of a solution
        # its search for block shapes takes minutes: there one more option, and not our scheme, which takes it twice as
        # long and more
        solution = case.kind == "solution"
        some = ("clang",) if solution else tuple(DEVITO_OPTIONS)
        others = {name: DEVITO_OPTIONS[name] for name in some if name != "inner loop blocked"}
        example = {"": variants[best], **{f", {name}": reports for name, reports in others.items()}}
        ours = {"our scheme": Side("devito_worker.py", variants[best][0], "devito", env=HUGE_PAGES)}
        return ({} if solution else ours) | {
            f"its examples' scheme{name}": Side(
                "devito_worker.py", f"{variant}-example", "devito", OTHER_SCHEME, env=env
            )
            for name, (variant, env) in example.items()
        }
    if is_large(case):
        variants = {best: variants[best]}
    elif case.kind == "solution":
        variants = {best: variants[best]} | {
            f"{best}, {k}": DEVITO_OPTIONS[k] for k in ("threads pinned", "linear indices")
        }
    else:
        variants |= tried
    chosen = list(variants)
    same = case.kind == "steps"
    return {
        name: Side("devito_worker.py", variants[name][0], "devito", same_layer=same, env=variants[name][1])
        for name in chosen
    }


def _their_migrations(case: Case) -> dict[str, Side]:
    """Return Devito's migrations: in double precision too where that fits, to tell whose rounding a difference is."""
    script, equal, wide = "devito_rtm.py", case.layer, 2 * case.layer
    migrations: dict[str, tuple[str, Mapping[str, str]]] = {
        f"damping {equal}": (str(equal), {}),
        f"damping {equal}, huge pages": (str(equal), HUGE_PAGES),
        f"damping {equal}, 2 levels, huge pages": (f"{equal}-two-levels", HUGE_PAGES),
        f"damping {equal}, 2 levels, huge pages, threads pinned": (
            f"{equal}-two-levels",
            HUGE_PAGES | PINNED,
        ),
    }
    float32, double = image_tolerance.of_float32(case), image_tolerance.of_double(case)
    sides = {
        f"Devito, {name}": Side(script, variant, "devito", float32, same_layer=True, env=env)
        for name, (variant, env) in migrations.items()
    }
    if case.ndim == 2:
        exact = Side(script, f"{equal}-double", "devito", double, same_layer=True, timed=False)
        sides |= {f"Devito, damping {equal}, double precision": exact}
    return sides | {f"Devito, damping {wide}": Side(script, str(wide), "devito", OTHER_LAYER)}


class Worker:
    """The process of a side: it waits for requests."""

    def __init__(self, side: Side, case: Case, threads: int) -> None:
        python = python_of(side.peer) if side.peer else Path(sys.executable)
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1", **side.env}
        env |= {"NUMBA_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            [str(python), str(HERE / side.script), case.name, side.variant],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        self.about: dict[str, Any] = self._answer()["ready"]

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(
                f"worker {self.process.args} ended with code {self.process.wait()}; its message is above"
            )
        return json.loads(line)

    def ask(self, action: str, **values: object) -> Any:
        """Send a request and wait for its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": action, **values}) + "\n")
        self.process.stdin.flush()
        return self._answer()["result"]

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()
