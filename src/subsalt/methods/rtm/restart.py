"""Restart points inside a shot: an interrupted shot resumes from them, with the same bits as without a stop.

A point holds the current wavefield, the accumulators, the states of memory slots, and where in the schedule it was;
samples and states on disk are there already. The last two points are kept, in records of their own, so that a newer one
that was not finished, or is damaged, leaves the older one. A point counts when its description, published last, and all
its records say so on every rank of the group.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from subsalt.checkpoint.schedule.scheme import STATE_BUFFERS, Scheme
from subsalt.checkpoint.schedule.tasks import Counts
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.states import STAMP, Copy, Pieces, StatePlace, StateSlots, cut, state_floats
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.errors import ConfigError, SnapshotDamaged
from subsalt.io import own
from subsalt.io.publish import publish_text, remove
from subsalt.kernels.problem import State
from subsalt.methods.rtm.samples import SampleFile
from subsalt.parallel.comm import Comm

FORMAT = 1

#: keys of the records of memory slots begin here; below are the wavefields and accumulators of two points
SLOT_KEYS = 1 << 24


@dataclass(frozen=True)
class ShotRestartPoint:
    """Where a shot stands.

    Parameters
    ----------
    task : int
        The last task that is done.
    receiving : bool
        Whether the receiver wavefield is being propagated.
    it : int
        Time index of the current wavefield.
    places : list of StatePlace
        Slots that hold states.
    counts : Counts
        Counts of the work so far.
    """

    task: int
    receiving: bool
    it: int
    places: list[StatePlace]
    counts: Counts


class ShotRestartPoints:
    """The restart points of a shot on one rank.

    Parameters
    ----------
    scratch : Scratch
        Where they go.
    shot : int
        Its id.
    scheme : Scheme
        Scheme of the shot; a point of another one is not used.
    group : Comm, optional
        Ranks that share the shot: all use the same point.
    sums : mapping of str to ndarray
        The accumulators.
    states : tuple of State
        Source and receiver wavefield; and a second one of the receivers, which is kept as accumulators are.
    copy : callable
        Copies arrays.
    """

    def __init__(
        self,
        scratch: Scratch,
        shot: int,
        scheme: Scheme,
        group: Comm | None,
        sums: Mapping[str, NDArray],
        states: tuple[State, ...],
        copy: Copy,
        parts: tuple[int, int] | None = None,
    ) -> None:
        self.scheme, self.group, self.sums, self.states, self._copy = scheme, group, sums, states, copy
        self.floats = state_floats(states[0])
        self.slots: StateSlots | None = None
        self.files: list[SampleFile] = []
        self.written = self.states_written = 0
        self._scratch, self._shot = scratch, shot
        self._generation = 0
        #: keys of states in the store, and of those that the point before the newest one needs
        self._slot_keys: set[int] = set()
        self._live_before: set[int] = set()
        self._pieces = self._open(resume=True)
        self._who = {
            "format": FORMAT,
            "run_id": scratch.run_id,
            "shot": shot,
            "rank": scratch.rank,
            "ranks": scratch.ranks,
            "decomp": list(parts or self._slabs),
            "floats": self.floats,
            "sums": sorted(sums),
            "scheme": json.loads(json.dumps(asdict(scheme))),
        }

    @property
    def _slabs(self) -> list[int]:
        """Parts along x and y of slabs."""
        return [self._scratch.ranks, 1]

    @property
    def storage(self) -> StoreCounts:
        """Transfers of its store."""
        return self._pieces.store.counts

    def find(self, slots: StateSlots | None) -> ShotRestartPoint | None:
        """Return the newest point that is whole on all ranks, its arrays filled, or None; collective."""
        self.slots = slots
        described = self._described()
        by_rank = [sorted(described)] if self.group is None else self.group.allgather(sorted(described))
        for generation in sorted(set.intersection(*map(set, by_rank)), reverse=True):
            whole = self._fill(generation, described[generation])
            if whole if self.group is None else self.group.min(int(whole)):
                self._generation = generation
                return described[generation]
        self._start_anew()
        return None

    def write(self, point: ShotRestartPoint) -> None:
        """Write a point; what was put to other stores before is on the device then, too. Collective."""
        if self.group is not None:
            # nobody spoils an old point before all have the one after it
            self.group.agree()
        self._generation += 1
        pieces, base = self._pieces, self._base(self._generation)
        live = {self._key(place): place for place in point.places if place.level == "memory"}
        pieces.put(base, self.states[1 if point.receiving else 0].arrays(), self._generation)
        pieces.put(base + pieces.count, self._sums(), self._generation)
        fresh = sorted(set(live) - self._slot_keys)
        for key in fresh:
            assert self.slots is not None
            pieces.put(key, self.slots.room(live[key].slot).arrays(), key)
        self._flush()
        self.written += 1
        self.states_written += 1 + len(fresh)
        counts = point.counts + Counts(restart_points=1, restart_states=1 + len(fresh))
        facts = {
            "generation": self._generation,
            "task": point.task,
            "receiving": point.receiving,
            "it": point.it,
            "places": [list(place) for place in point.places],
            "counts": asdict(counts),
        }
        content = self._who | facts
        publish_text(self._path(self._generation), json.dumps(content | {"check": _check_of(content)}))
        self._let_go(set(live))

    def close(self) -> None:
        """End its store; the files stay."""
        self._pieces.store.abandon()

    # what is written

    def _flush(self) -> None:
        for file in self.files:
            if file.store is not None:
                file.store.flush(durable=True)
        if self.slots is not None and self.slots.disk is not None:
            self.slots.disk.store.flush(durable=True)
        self._pieces.store.flush(durable=True)

    def _let_go(self, live: set[int]) -> None:
        """Forget states that neither this point nor the one before needs."""
        for first in self._slot_keys - live - self._live_before:
            for key in self._pieces.keys(first):
                self._pieces.store.drop(key)
        self._slot_keys = live | self._live_before
        self._live_before = live
        if self.slots is not None:
            self.slots.let_go()

    def _base(self, generation: int) -> int:
        """Return the key of the first record of a point: two points have records of their own."""
        each = self._pieces.count + self._pieces.records_of(self._sums())
        return 1 + generation % 2 * each

    def _sums(self) -> list[NDArray]:
        beside = [a for state in self.states[2:] for a in state.arrays()]
        return [self.sums[name] for name in sorted(self.sums)] + beside

    def _key(self, place: StatePlace) -> int:
        """Return the first key of the state of a memory slot: its time index tells all of it."""
        it = place.block * self.scheme.block * self.scheme.image_step
        return SLOT_KEYS + it * self._pieces.count

    def _path(self, generation: int) -> Path:
        name = f"restart.g{generation % 2}.r{self._scratch.rank:02d}.json"
        return self._scratch.folders(self._shot)[0] / name

    # what is found

    def _described(self) -> dict[int, ShotRestartPoint]:
        """Return the points of this shot and scheme that are described, by number."""
        points = {}
        for parity in (0, 1):
            try:
                description = _read(self._path(parity))
                if all(description[name] == value for name, value in self._who.items()):
                    points[int(description["generation"])] = _point(description)
            except (OSError, ValueError, KeyError, TypeError):
                continue  # none, or none that counts
        return {number: point for number, point in points.items() if number > 0}

    def _fill(self, generation: int, point: ShotRestartPoint) -> bool:
        """Make wavefield, accumulators and memory slots what a point says; return whether all of it could be read."""
        pieces, base = self._pieces, self._base(generation)
        state = self.states[1 if point.receiving else 0]
        live = {self._key(place): place for place in point.places if place.level == "memory"}
        try:
            pieces.get(base, state.arrays(), generation)
            pieces.get(base + pieces.count, self._sums(), generation)
            for key, place in live.items():
                assert self.slots is not None
                pieces.get(key, self.slots.room(place.slot).arrays(), key)
        except SnapshotDamaged:
            return False
        self._slot_keys = self._live_before = set(live)
        return True

    def _start_anew(self) -> None:
        """Remove what lies there, and make the arrays what they are at the start."""
        for parity in (0, 1):
            remove(self._path(parity))
        self._pieces.store.close(remove=True)
        self._pieces = self._open(resume=False)
        for state in self.states:
            state.clear()
        for a in self.sums.values():
            a.fill(0)

    def _open(self, *, resume: bool) -> Pieces:
        record = cut(self.floats)[1] + STAMP
        meta = {"shape": [record]}
        store = self._scratch.open("restart", self._shot, record, STATE_BUFFERS, meta=meta, resume=resume)
        return Pieces(store, self.floats, self._copy, stamped=True)


def scheme_left(scratch: Scratch, shot: int) -> Scheme | None:
    """Return the scheme of the newest restart point that an interrupted shot left on this rank; None: there is none.

    Only its description is read; whether it counts is seen when it is used (`ShotRestartPoints.find`).
    """
    newest: tuple[int, Scheme] | None = None
    for parity in (0, 1):
        try:
            description = _read(scratch.folders(shot)[0] / f"restart.g{parity}.r{scratch.rank:02d}.json")
            if (description["format"], description["run_id"], description["shot"]) != (
                FORMAT,
                scratch.run_id,
                shot,
            ):
                continue
            if (description["rank"], description["ranks"]) != (scratch.rank, scratch.ranks):
                continue
            plain: dict[str, Any] = {
                k: tuple(v) if isinstance(v, list) else v for k, v in description["scheme"].items()
            }
            candidate = int(description["generation"]), Scheme(**plain)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ConfigError):
            continue  # none that counts
        newest = max(newest or candidate, candidate, key=lambda f: f[0])
    return None if newest is None else newest[1]


def _read(path: Path) -> dict[str, Any]:
    """Return the description of a point; ValueError when it does not have its checksum.

    Those of before 0.9 have none: nothing says that a point is where they put it, and the shot begins again.
    """
    description = dict(json.loads(own.read_text(path)))
    if description.pop("check", None) != _check_of(description):
        raise ValueError(f"{path} does not have its checksum")
    return description


def _check_of(description: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


def _point(description: dict[str, Any]) -> ShotRestartPoint:
    """Return a point from its description."""
    places = [StatePlace(str(level), int(slot), int(block)) for level, slot, block in description["places"]]  # type: ignore[arg-type]
    counts = Counts(**{name: int(n) for name, n in description["counts"].items()})
    return ShotRestartPoint(
        int(description["task"]), bool(description["receiving"]), int(description["it"]), places, counts
    )
