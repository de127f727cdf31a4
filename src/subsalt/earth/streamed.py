"""An earth model that stays in its files: planes are read for each window, and the whole model is never in memory.

Extremes and counts of the whole model are found slab by slab, with the same bits for any cut into slabs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box, Frame, Grid
from subsalt.earth.memory import require
from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import VOLUMES, AnisotropyRule, Medium, TimeStep, nearest_nodes
from subsalt.earth.planes import CachedPlanes, ConstantPlanes, Moved, Planes
from subsalt.errors import ConfigError, ModelError
from subsalt.numerics.side_by_side import each_as_it_comes
from subsalt.numerics.stencil import Stencil
from subsalt.parallel.comm import Comm, single


@dataclass(frozen=True)
class Facts:
    """Facts about all of a model that a run needs, or of a slab of it.

    Parameters
    ----------
    limits : dict
        Smallest and largest value by parameter.
    slowest, fastest : float
        Smallest and largest phase velocity, m/s (`EarthModel.slowest`, `fastest`).
    slowest_by_depth : tuple of float
        Smallest phase velocity at each depth, m/s.
    eigenvalue : float
        Largest eigenvalue of -C L at the order that was asked for, 1/s^2.
    tilted, anisotropic : bool
        Some theta, some epsilon or delta is not zero.
    over : int
        Nodes with delta > epsilon.
    first_over : int or None
        The first of them, counted along the whole model in the order of its values.
    """

    limits: dict[str, tuple[float, float]]
    slowest: float
    slowest_by_depth: tuple[float, ...]
    fastest: float
    eigenvalue: float
    tilted: bool
    anisotropic: bool
    over: int
    first_over: int | None

    @classmethod
    def of(cls, slab: EarthModel, stencil: Stencil, start: int = 0) -> Facts:
        """Return the facts of a slab whose first value is number `start` of the whole."""
        waves = slab.extremes(stencil)
        limits = {name: slab.limits(name) for name in slab.volumes}
        nonzero = {name for name, ends in limits.items() if ends != (0.0, 0.0)}
        return cls(
            limits,
            float(waves.slowest_by_depth.min()),
            tuple(waves.slowest_by_depth.tolist()),
            waves.fastest,
            waves.eigenvalue,
            "theta" in nonzero,
            not nonzero.isdisjoint(("epsilon", "delta")),
            waves.over,
            start + waves.first_over if waves.over else None,
        )

    def __add__(self, other: Facts) -> Facts:
        """Return the facts of both slabs together."""
        firsts = [f for f in (self.first_over, other.first_over) if f is not None]
        return Facts(
            {
                name: (min(low, other.limits[name][0]), max(high, other.limits[name][1]))
                for name, (low, high) in self.limits.items()
            },
            min(self.slowest, other.slowest),
            tuple(map(min, self.slowest_by_depth, other.slowest_by_depth)),
            max(self.fastest, other.fastest),
            max(self.eigenvalue, other.eigenvalue),
            self.tilted or other.tilted,
            self.anisotropic or other.anisotropic,
            self.over + other.over,
            min(firsts, default=None),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON, which keeps every bit of a float."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Facts:
        """Return the facts in the result of `to_json`."""
        limits = {name: (low, high) for name, (low, high) in values["limits"].items()}
        by_depth = tuple(values["slowest_by_depth"])
        return cls(**(values | {"limits": limits, "slowest_by_depth": by_depth}))


def together(parts: Iterable[Facts]) -> Facts:
    """Return the facts of all slabs together; there is at least one."""
    first, *rest = parts
    for part in rest:
        first = first + part
    return first


@dataclass(frozen=True)
class Form:
    """The form in which a model is used: the parameters of a medium, after the anisotropy gate.

    Parameters
    ----------
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"`` as of `EarthModel.as_medium`; empty: as the files give it.
    rule : str
        Rule of `EarthModel.anisotropy_gate`; empty: no gate.
    """

    medium: str = ""
    rule: str = ""

    def of(self, model: EarthModel) -> EarthModel:
        """Return a window in this form."""
        used = model.as_medium(self.medium) if self.medium else model
        return used.anisotropy_gate(self.rule)[0] if self.rule else used  # type: ignore[arg-type]

    def as_medium(self, medium: str, names: tuple[str, ...]) -> Form:
        """Return the form for a medium, of a model that has these parameters; the same when that changes nothing."""
        same = {
            "isotropic": "epsilon" not in names and "theta" not in names,
            "vti": "theta" not in names,
            "tti": "theta" in names,
        }
        return (
            self if self.medium == medium or (not self.medium and same[medium]) else Form(medium, self.rule)
        )

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the parameters that this form needs, of those that there are."""
        return {"isotropic": VOLUMES[:1], "vti": VOLUMES[:3]}.get(self.medium, VOLUMES)


@dataclass
class Files:
    """The volumes of a model in files, and facts about the whole model.

    Parameters
    ----------
    grid, frame : Grid, Frame
        Grid and frame of all volumes.
    volumes : dict of Planes
        By name, in SI (angles: radians, one form of each axis), smoothed; epsilon and delta both or none.
    comm : Comm
        Ranks that find the facts together while the model is opened; then each its own.
    stencil : Stencil
        Stencil whose stable time step is computed.
    note : callable
        Callback for the bytes of every window that is read.
    """

    grid: Grid
    frame: Frame
    volumes: Mapping[str, Planes]
    comm: Comm = field(default_factory=single)
    stencil: Stencil = field(default_factory=lambda: Stencil.of(8))
    facts: dict[tuple[Form, Stencil], Facts] = field(default_factory=dict)
    note: Callable[[int], None] = lambda nbytes: None

    def learn(self, *wanted: tuple[Form, Stencil]) -> None:
        """Find the facts of forms with stencils that are not known, in one pass; collective over `comm`.

        Every rank goes through its share of the planes.
        """
        new = [key for key in dict.fromkeys(wanted) if key not in self.facts]
        if not new:
            return
        nx, comm = self.grid.shape[0], self.comm

        def facts_of(part: tuple[int, dict[str, NDArray[np.float32]]]) -> list[Facts]:
            first, slab = part[0], self._slab(*part)
            # a form in which nothing of this slab changes is the slab itself
            forms = {form: form.of(slab) for form, _ in new}
            known = {
                (id(model), stencil): Facts.of(model, stencil, first * (self.grid.size // nx))
                for model, stencil in {(id(forms[f]), s): (forms[f], s) for f, s in new}.values()
            }
            return [known[id(forms[form]), stencil] for form, stencil in new]

        with comm.together():
            mine = each_as_it_comes(
                facts_of, self._read(nx * comm.rank // comm.size, nx * (comm.rank + 1) // comm.size)
            )
        shares = comm.allgather([[f.to_json() for f in slab] for slab in _merged(mine)])
        slabs = [slab for share in shares for slab in share]
        for k, key in enumerate(new):
            self.facts[key] = together(Facts.from_json(slab[k]) for slab in slabs)

    def _read(self, lo: int, hi: int) -> Iterator[tuple[int, dict[str, NDArray[np.float32]]]]:
        """Yield (first plane, values by name) of the model as the files give it, from plane `lo` to `hi`."""
        step = max(p.step for p in self.volumes.values())
        for first in range(lo, hi, step):
            last = min(hi, first + step)
            with self._naming(first, last):
                values = {name: planes.read(first, last) for name, planes in self.volumes.items()}
            yield first, values

    def _slab(self, first: int, values: dict[str, NDArray[np.float32]]) -> EarthModel:
        """Return the model of some planes, whose values it judges."""
        last, (_, ny, nz) = first + len(values["vp"]), self.grid.shape3
        with self._naming(first, last):
            grid = self.grid.window(Box((first, 0, 0), (last, ny, nz)))
            return EarthModel(grid, frame=self.frame, **values)

    @contextmanager
    def _naming(self, first: int, last: int) -> Iterator[None]:
        """Let an error of the values of some planes name them."""
        try:
            yield
        except ModelError as error:
            where = f"planes {first} to {last - 1} of {self.grid.shape[0]}: {error.message}"
            raise ModelError(where, error.fix, code=error.code) from error

    def keeping(self) -> Files:
        """Return the same volumes, each plane of which is made once and then kept in memory."""
        return replace(self, volumes={name: CachedPlanes(planes) for name, planes in self.volumes.items()})

    def whole(self) -> EarthModel:
        """Return the model in memory; every volume is read at once."""
        shape = " x ".join(map(str, self.grid.shape))
        require(
            # half as much again for what the rules make of them
            1.5 * sum(planes.nbytes for planes in self.volumes.values()),
            f"a model of {shape} points ({', '.join(self.volumes)})",
            "take a larger spacing or a smaller grid; several ranks leave the model in its files",
        )
        volumes = {name: planes.read(0, len(planes)) for name, planes in self.volumes.items()}
        return EarthModel(self.grid, frame=self.frame, **volumes)

    def window(self, box: Box, names: tuple[str, ...]) -> EarthModel:
        """Return a window with some of the parameters, edges continued."""
        held = {name: self.volumes[name] for name in names if name in self.volumes}
        parts = boxes_of(held, self.grid, box)
        return EarthModel(self.grid.window(box), frame=self.frame, **parts)


def _merged(slabs: list[list[Facts]]) -> list[list[Facts]]:
    """Return the facts of the slabs of a rank as those of one slab; nothing when it had none."""
    return [[together(column) for column in zip(*slabs, strict=True)]] if slabs else []


def boxes_of(volumes: Mapping[str, Planes], grid: Grid, box: Box) -> dict[str, NDArray[np.float32]]:
    """Return volumes in a box of their grid, in its shape; outside the grid the nearest value is continued.

    All are filled together, some planes at a time: what two of them need is read once.
    """
    keep = (0, 2) if grid.ndim == 2 else (0, 1, 2)
    take = [np.clip(np.arange(box.lo[i], box.hi[i]), 0, grid.shape3[i] - 1) for i in keep]
    x, across = take[0], take[1:]
    out = {name: np.empty(tuple(map(len, take)), np.float32) for name in volumes}
    if not (volumes and all(map(len, take))):
        return out
    whole = all(np.array_equal(t, np.arange(n)) for t, n in zip(across, grid.shape[1:], strict=True))
    begin, end = int(x[0]), int(x[-1]) + 1
    step = max(p.step for p in volumes.values())
    for first in range(begin, end, step):
        last = min(end, first + step)
        rows = slice(*np.searchsorted(x, [first, last]))
        for name, planes in volumes.items():
            part = planes.read(first, last)
            if whole and rows.stop - rows.start == last - first:
                out[name][rows] = part
            else:
                out[name][rows] = part[np.ix_(x[rows] - first, *across)]
    return out


class StreamedModel(TimeStep):
    """The `subsalt.earth.model_like.ModelLike` whose values stay in files.

    Parameters
    ----------
    files : Files
        The volumes.
    form : Form
        Form in which the model is used.

    Notes
    -----
    What is asked of the whole model (limits, speeds, time step) comes from facts that all ranks found together when
    the model was opened, see `Files.learn`; a window, values or nodes are read by the rank that asks. A form or a
    stencil that nobody thought of costs that rank a pass through all of the model.
    """

    def __init__(self, files: Files, form: Form | None = None) -> None:
        self.files, self.form = files, form or Form()

    @property
    def grid(self) -> Grid:
        """Where the values stand; local coordinates, m."""
        return self.files.grid

    @property
    def frame(self) -> Frame:
        """Where the grid lies on the map."""
        return self.files.frame

    def moved_to(self, frame: Frame) -> StreamedModel:
        """Return the model at another place of the map; files and what is known of them are shared."""
        return self if frame == self.frame else StreamedModel(replace(self.files, frame=frame), self.form)

    def _facts(self, stencil: Stencil | None = None) -> Facts:
        key = (self.form, stencil or self.files.stencil)
        self.files.learn(key)
        return self.files.facts[key]

    @property
    def volumes(self) -> tuple[str, ...]:
        """Names of the parameters that the model has: vp, epsilon, delta, theta, phi."""
        return tuple(self._facts().limits)

    def limits(self, name: str) -> tuple[float, float]:
        """Return the smallest and the largest value of a parameter."""
        return self._facts().limits[name]

    @property
    def medium(self) -> Medium:
        """``"isotropic"`` without Thomsen parameters, ``"tti"`` with a tilt that is not all zero, else ``"vti"``."""
        if "epsilon" not in self.volumes:
            return "isotropic"
        return "tti" if self._facts().tilted else "vti"

    @property
    def tilt_is_idle(self) -> bool:
        """There is a tilt, but no anisotropy that it could turn."""
        return self._facts().tilted and not self._facts().anisotropic

    @property
    def vp_min(self) -> float:
        """Smallest vp, m/s."""
        return self.limits("vp")[0]

    @property
    def slowest(self) -> float:
        """Smallest phase velocity of P waves, m/s."""
        return self._facts().slowest

    @property
    def slowest_by_depth(self) -> NDArray[np.float64]:
        """Smallest phase velocity of P waves at each depth of the grid, (nz,), m/s."""
        return np.array(self._facts().slowest_by_depth)

    @property
    def fastest(self) -> float:
        """Largest P velocity in any direction, m/s."""
        return self._facts().fastest

    def max_eigenvalue(self, stencil: Stencil | int) -> float:
        """Return the largest eigenvalue of -C L over all nodes, 1/s^2."""
        return self._facts(Stencil.of(stencil)).eigenvalue

    def as_medium(self, medium: str) -> StreamedModel:
        """Return the model with what `medium` uses, as `EarthModel.as_medium`."""
        form = self.form.as_medium(medium, tuple(self.files.volumes))
        return self if form == self.form else StreamedModel(self.files, form)

    def anisotropy_gate(self, rule: AnisotropyRule = "lower-delta") -> tuple[StreamedModel, int]:
        """Return the model with delta <= epsilon everywhere, and the number of nodes that were changed.

        Raises
        ------
        ModelError
            When there are such nodes and the rule is ``"reject"``.
        """
        facts = self._facts()
        if not facts.over:
            return self, 0
        if rule == "reject":
            assert facts.first_over is not None
            first = tuple(int(i) for i in np.unravel_index(facts.first_over, self.grid.shape))
            raise ModelError(
                f"delta: {facts.over} of {self.grid.size} values above epsilon, the first at index {first}",
                "correct the model or choose a repair",
                code="E520",
            )
        if rule not in ("lower-delta", "raise-epsilon"):
            raise ConfigError(f"anisotropy = {rule!r}", "use lower-delta, raise-epsilon or reject")
        return StreamedModel(self.files, Form(self.form.medium, rule)), facts.over

    def window(self, box: Box) -> EarthModel:
        """Return the model in `box` of its grid, in memory; outside the grid the nearest value is continued."""
        raw = self.files.window(box, self.form.reads)
        nx = self.grid.shape[0]
        inside = min(max(box.hi[0], 1), nx) - max(min(box.lo[0], nx - 1), 0)
        self.files.note(
            sum(
                p.nbytes // nx * inside
                for n, p in self.files.volumes.items()
                if n in raw.volumes and p.sources()
            )
        )
        return self.form.of(raw)

    def volume(self, name: str) -> Planes | None:
        """Return one parameter of the model as planes; None when the model does not have it."""
        return _Part(self, name) if name in self.volumes else None

    def values(self, name: str, box: Box) -> NDArray[np.float32]:
        """Return one parameter in a box inside the grid, (nx, ny, nz) of the box."""
        part = self.volume(name)
        if part is None:
            raise ModelError(f"the model has no {name}", f"it has {', '.join(self.volumes)}")
        return boxes_of({name: part}, self.grid, box)[name].reshape(box.shape)

    def at(self, positions: NDArray[np.float64], name: str = "vp") -> NDArray[np.float32]:
        """Return a parameter at the nodes nearest to local positions (n, 3), m; outside the grid that of its edge."""
        index = nearest_nodes(self.grid, positions)
        part = self.volume(name)
        if part is None:
            raise ModelError(f"the model has no {name}", f"it has {', '.join(self.volumes)}")
        return part.take(index[:, [0, 2]] if self.grid.ndim == 2 else index)

    @property
    def cached_bytes(self) -> int:
        """Bytes of volumes that stay in memory between windows."""
        return sum(planes.cached_bytes for planes in self.files.volumes.values())

    @property
    def traffic(self) -> Moved:
        """Bytes of samples wanted of the files, and moved for them, on this rank so far."""
        sources = {id(s): s for p in self.files.volumes.values() for s in p.sources()}.values()
        return Moved(sum(s.traffic.wanted for s in sources), sum(s.traffic.moved for s in sources))


class _Part(Planes):
    """One parameter of a streamed model, in its form."""

    def __init__(self, model: StreamedModel, name: str) -> None:
        super().__init__(model.grid.shape)
        self._model, self._name = model, name
        files, form = model.files, model.form
        # the gate makes epsilon and delta out of both
        both = form.rule and name in ("epsilon", "delta")
        self._reads = ("epsilon", "delta") if both else (name,)
        self._held = [files.volumes.get(n, ConstantPlanes(self.shape, 0.0)) for n in self._reads]

    @property
    def step(self) -> int:
        """As the files ask for."""
        return max(p.step for p in self._held)

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``."""
        return self._gated([p.read(lo, hi) for p in self._held])

    def take(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the values at the nodes `index` (n, ndim)."""
        return self._gated([p.take(index) for p in self._held])

    def limits(self) -> tuple[float, float]:
        """Return the smallest and the largest value, which are known."""
        return self._model.limits(self._name)

    def _gated(self, parts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
        rule = self._model.form.rule
        if len(parts) == 1:
            return parts[0]
        epsilon, delta = parts
        if self._name == "delta":
            return np.minimum(delta, epsilon) if rule == "lower-delta" else delta
        return np.maximum(delta, epsilon) if rule == "raise-epsilon" else epsilon

    def sources(self) -> list[Planes]:
        """Return the volumes that are read."""
        return [s for p in self._held for s in p.sources()]
