"""Sums over samples from what a run has: its partial images, its kept wavefields; nothing is propagated.

Kept wavefields are summed by the same kernels in the same order as in a run: while wavefields propagate, the
illumination grows with ascending samples of the source field, the correlation with descending ones, as the receiver
field runs backward in time. The same additions in the same order give the same bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels
from subsalt.acquisition.survey import Shot
from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError, MemoryPlanError, SnapshotDamaged
from subsalt.host import available_memory
from subsalt.methods.rtm.conditions import LAGS, Lags, LagSums, UpDown, condition_of
from subsalt.methods.rtm.engine import ShotImage, window_weights
from subsalt.methods.rtm.image_sum import ILLUMINATION
from subsalt.methods.rtm.offset_classes import WEIGHTED
from subsalt.methods.rtm.partial_image import intact, names_of, open_partial, read_lags
from subsalt.methods.rtm.running_sum import KEY, Summed, serves
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.wavefields import CURE, Kept, by_shot, open_wavefield
from subsalt.parallel.comm import Comm
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import Wavefield

CORRELATION = "correlation"


class StoredField(Protocol):
    """The imaged field of one wavefield at the samples of a shot, window interior."""

    def expect(self, samples: Sequence[int]) -> None:
        """Say in which order samples will be read."""

    def read(self, sample: int) -> NDArray[np.float32]:
        """Return sample `sample` (from 1; time index ``sample`` times the image step), shape of the window."""


@dataclass(frozen=True)
class StoredFields:
    """The wavefields of a shot, and which of their samples count.

    Parameters
    ----------
    samples : sequence of int
        Numbers of the samples that count, ascending.
    source, receiver : StoredField
        u, and w at the times at which it meets u; the illumination alone needs no w.
    """

    samples: Sequence[int]
    source: StoredField
    receiver: StoredField | None


def sums_of_wavefields(
    setup: MigrationSetup,
    window: Box,
    names: Sequence[str],
    stored: StoredFields,
    progress: Callable[[float], None] | None = None,
) -> dict[str, NDArray[np.float32]]:
    """Return the accumulated fields of a shot, as `subsalt.methods.rtm.engine.migrate_shot` would.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices; its image step gives the weight of a sample.
    window : Box
        Window of the shot, on the model grid.
    names : sequence of str
        ``"correlation"``, ``"illumination"``, the name of the gathers (`Lags.name`): what is wanted.
    stored : StoredFields
        Wavefields over which they are summed.
    progress : callable, optional
        Called with the fraction done.

    Raises
    ------
    MemoryPlanError
        When the sums and two samples do not fit into memory.
    """
    samples, source, receiver = stored.samples, stored.source, stored.receiver
    device = kernels.get(setup.propagation.device)
    gathers = setup.lags if setup.lags is not None and setup.lags.name in names else None
    of_image = [name for name in names if name in MADE_OF]
    need = 4 * window.size * (len(of_image) + 2)
    if gathers is not None:
        part = gathers.inside(window)
        # the samples of the source are held, too
        need += part.bytes + part.held + 4 * window.size * part.at_once
    if need > available_memory():
        raise MemoryPlanError(
            f"the sums and two samples of a window of {window.shape} points take {need / 1e9:.2f} GB, "
            f"{available_memory() / 1e9:.2f} GB are available",
            "use fewer ranks on this machine",
            code="E612",
        )
    scale = setup.image_step * setup.axis.dt
    sums = {name: device.zeros(window.shape) for name in of_image}
    lags = None if gathers is None else LagSums(gathers, device, window)
    total, done = max(1, len(names) * len(samples)), 0

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / total)

    if ILLUMINATION in sums:
        source.expect(samples)
        for i in samples:
            u = device.to_device(source.read(i))
            device.product(sums[ILLUMINATION], u, u, scale)
            tell()
    if CORRELATION in sums:
        assert receiver is not None, "a correlation needs both wavefields"
        backwards = samples[::-1]
        source.expect(backwards)
        receiver.expect(backwards)
        for i in backwards:
            u, w = device.to_device(source.read(i)), device.to_device(receiver.read(i))
            device.product(sums[CORRELATION], u, w, scale)
            tell()
    fields_of_shot = {name: device.to_host(a) for name, a in sums.items()}
    weights = window_weights(setup, window)
    for weight in weights:
        for a in fields_of_shot.values():
            a *= weight
    if lags is not None and gathers is not None:
        assert receiver is not None, "gathers need both wavefields"
        backwards = samples[::-1]
        source.expect(backwards)
        receiver.expect(backwards)
        for piece in lags.pieces(backwards):
            of_source = []
            for number, i in enumerate(piece):
                # the next one may be read into the same memory
                of_source.append(np.array(source.read(i), np.float32))
                lags.room(number)[...] = receiver.read(i)
                tell()
            lags.add(of_source, [lags.room(number) for number in range(len(piece))], scale)
        lags.box.weigh(lags.sums, weights)
        fields_of_shot[gathers.name] = lags.sums
    return fields_of_shot


#: first and last time, s; None: no limit
Times = tuple[float | None, float | None]
#: kept wavefields that a sum is made of
MADE_OF = {ILLUMINATION: ("source",), CORRELATION: ("source", "receiver")}


#: the second wavefield of the receivers that a sum needs: it is never kept
SECOND = {WEIGHTED: "offset-weighted receiver", UpDown.product: "Hilbert-transformed receiver"}


def made_of(name: str) -> tuple[str, ...]:
    """Return the kept wavefields that a sum is made of: of gathers, and of anything else, both."""
    if name in SECOND:
        return "source", "receiver", SECOND[name]
    return MADE_OF.get(name, ("source", "receiver"))


PARTIAL, WAVEFIELDS = "partial image", "kept wavefields"
PLURAL = {PARTIAL: "partial images", WAVEFIELDS: WAVEFIELDS}


@dataclass
class Reuse:
    """Partial images and wavefields that a run directory offers for the sums of its shots.

    Parameters
    ----------
    setup : MigrationSetup
        Setup of the new image: its condition, its image step.
    run : Path
        Run directory that has the wavefields and the partial images.
    partials : mapping of int to str
        Checksum of the partial image, by shot.
    names : mapping of int to tuple of str
        The fields it holds, by shot; those in it are not summed again.
    wavefields : mapping
        Kept wavefields, by shot and name.
    times : tuple of float or None
        First and last time of the samples that count, s on the axis of the propagation; None: no limit.
    gathers : Lags, optional
        The gathers whose sums stand beside the partial images; some of their half offsets and columns serve, too.
    """

    setup: MigrationSetup
    run: Path
    partials: Mapping[int, str]
    names: Mapping[int, tuple[str, ...]]
    wavefields: Kept
    times: Times = (None, None)
    gathers: Lags | None = None
    wanted: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = condition_of(self.setup.imaging.condition).accumulators
        if self.setup.lags is not None:
            self.wanted = (*self.wanted, self.setup.lags.name)
        if self.setup.offsets is not None:
            self.wanted = (*self.wanted, WEIGHTED)

    @classmethod
    def of_run(
        cls,
        setup: MigrationSetup,
        run: Path,
        ledger: Ledger | None,
        everybody: Comm,
        summed: Collection[int] = (),
    ) -> Reuse:
        """Return what an open run offers itself; every rank looks at some partial images. Collective.

        Parameters
        ----------
        ledger : Ledger or None
            On rank 0.
        summed : collection of int
            Shots that are in a running sum: they have no partial images any more.
        """
        partials = dict(everybody.bcast(list(ledger.partials().items()) if ledger else None))
        for shot in summed:
            partials.pop(shot, None)
        stored = everybody.bcast([vars(w) for w in ledger.wavefields()] if ledger else None)
        names = intact(run / "images", partials, everybody)
        return cls(setup, run, partials, names, by_shot(Wavefield.of(w["shot"], w) for w in stored))

    def missing(self, shot: int) -> list[str]:
        """Return the sums of a shot that its partial image does not hold."""
        held = self.names.get(shot, ())
        return [name for name in self.wanted if name not in held and not self._among(name, held)]

    def _among(self, name: str, held: Collection[str]) -> bool:
        """Return whether a sum is that of gathers of which a partial image holds more."""
        lags, more = self.setup.lags, self.gathers
        if lags is None or more is None or name != lags.name or more.name not in held:
            return False
        return lags.within(more)

    def unmade(self, shot: int) -> list[str]:
        """Return the wavefields that a shot's missing sums need and that were not kept."""
        need = [w for name in self.missing(shot) for w in made_of(name)]
        return [w for w in dict.fromkeys(need) if w not in self.wavefields.get(shot, {})]

    def source_of(self, shot: int) -> str:
        """Return where the sums of a shot come from: `PARTIAL`, `WAVEFIELDS`, or nowhere (empty)."""
        if self.unmade(shot):
            return ""
        return WAVEFIELDS if self.missing(shot) else PARTIAL

    def said(self, shots: Sequence[int], done: Set[int]) -> str:
        """Return in words what is used again of the shots; empty when nothing is."""
        counts = Counter(PARTIAL if shot in done else self.source_of(shot) for shot in shots)
        parts = [f"the {PLURAL[what]} of {_shots(n)}" for what, n in counts.items() if what]
        left = f"{_shots(counts[''])} to be propagated" if counts[""] else "no propagation"
        return f"using again {' and '.join(parts)}: {left}" if parts else ""

    def sums(
        self, shot: Shot, progress: Callable[[float], None] | None = None
    ) -> dict[str, NDArray[np.float32]]:
        """Return the sums of a shot on its whole window, in the order of the condition.

        Raises
        ------
        CorruptionError
            When a partial image or a kept wavefield is damaged or gone.
        """
        window, out = self.setup.window(shot), {}
        missing = self.missing(shot.id)
        if len(missing) < len(self.wanted):
            with open_partial(self.run / "images", shot.id, self.partials[shot.id]) as file:
                if file.layout.box != window:
                    raise CorruptionError(f"{file.path} lies on another window", CURE, code="E863")
                out = file.read(window.lo[0], window.hi[0])
                lags = self.setup.lags
                if lags is not None and lags.name not in missing:
                    stored = lags if lags.name in self.names[shot.id] else self.gathers
                    assert stored is not None
                    columns = stored.inside(window).columns
                    read = read_lags(self.run / "images", shot.id, file, columns.lo[0], columns.hi[0])
                    read = read if stored is lags else lags.taken_from(stored, read, window)
                    out = out | {lags.name: read}
        if missing:
            try:
                out = out | self._of_wavefields(shot, window, missing, progress)
            except SnapshotDamaged as error:
                what = f"the kept wavefields of shot {shot.id} are damaged: {error.message}"
                raise CorruptionError(what, CURE, code="E863") from error
        return {name: np.ascontiguousarray(out[name]) for name in self.wanted}

    def _of_wavefields(
        self, shot: Shot, window: Box, names: list[str], progress: Callable[[float], None] | None
    ) -> dict[str, NDArray[np.float32]]:
        wavefields = self.wavefields.get(shot.id, {})
        with ExitStack() as stack:
            fields = {
                name: stack.enter_context(open_wavefield(self.run, wavefields[name]))
                for name in dict.fromkeys(w for n in names for w in made_of(n))
            }
            for name, wavefield in fields.items():
                if wavefield.box != window:
                    raise CorruptionError(
                        f"the kept {name} wavefield of shot {shot.id} lies on another window",
                        CURE,
                        code="E863",
                    )
            samples = self._samples(fields["source"].image_step, fields["source"].samples)
            stored = StoredFields(samples, fields["source"], fields.get("receiver"))
            return sums_of_wavefields(self.setup, window, names, stored, progress)

    def _samples(self, kept_step: int, stored: range | list[int]) -> list[int]:
        """Return the numbers of the kept samples that count."""
        axis, step = self.setup.axis, self.setup.image_step
        every, rest = divmod(step, kept_step)
        if rest:
            raise CorruptionError(
                f"the wavefields were kept every {kept_step} time steps, not every {step}", CURE, code="E863"
            )
        first = -np.inf if self.times[0] is None else self.times[0]
        last = np.inf if self.times[1] is None else self.times[1]
        return [
            i
            for i in stored
            if i > 0 and i % every == 0 and first <= axis.t0 + i * kept_step * axis.dt <= last
        ]


def _shots(n: int) -> str:
    return f"{n} shot{'s' * (n != 1)}"


def unserved(setup: MigrationSetup, run: Path, ledger: Ledger) -> str:
    """Return what a changed condition lacks for finished shots, in words; empty when what is kept serves them all."""
    summed = Summed.of(ledger.get(KEY))
    if summed.shots and not serves(setup, summed):
        return (
            f"of its first {len(summed.shots)} shots the run keeps the sum of {' and '.join(summed.names)} alone "
            "(--running-sum): they would have to be propagated again"
        )
    names = {}
    for shot, sha in ledger.partials().items():
        with suppress(CorruptionError), open_partial(run / "images", shot, sha) as file:
            names[shot] = names_of(file)
    reuse = Reuse(setup, run, ledger.partials(), names, by_shot(ledger.wavefields()))
    lacking = [shot for shot in ledger.hashes() if shot in names and not reuse.source_of(shot)]
    if not lacking:
        return ""
    sums = " and ".join(in_words(name) for name in reuse.missing(lacking[0]))
    fields = reuse.unmade(lacking[0])
    return (
        f"the partial images of {len(lacking)} of {len(ledger.hashes())} finished shots do not hold the {sums}, and "
        f"their {' and '.join(fields)} wavefield{'s were' if len(fields) > 1 else ' was'} not kept: it would have to "
        "be propagated again"
    )


def in_words(name: str) -> str:
    """Return the name of a sum in words: the name of gathers says which, to programs."""
    return "sums of the gathers" if name.startswith(LAGS) else name


def image_of(
    setup: MigrationSetup, shot: int, window: Box, sums: dict[str, NDArray[np.float32]]
) -> ShotImage:
    """Return the sums of a shot as those of an image, and those of its gathers."""
    name = None if setup.lags is None else setup.lags.name
    fields = {n: a for n, a in sums.items() if n != name}
    return ShotImage(shot, window, fields, 0, 0.0, lags=None if name is None else sums[name])


def reused(
    reuse: Reuse, shot: Shot, group: Comm, progress: Callable[[float], None] | None = None
) -> ShotImage | CorruptionError:
    """Return the sums of a shot, the whole window on the first rank of a group; or what is damaged. Collective."""
    window = reuse.setup.window(shot)
    part: ShotImage | CorruptionError
    damaged = None
    try:
        if group.is_root:
            part = image_of(reuse.setup, shot.id, window, reuse.sums(shot, progress))
    except CorruptionError as error:
        damaged = [error.message, error.fix, error.code]
    damaged = group.bcast(damaged)
    if damaged is not None:
        return CorruptionError(*damaged)
    if not group.is_root:
        nothing = Box((window.hi[0], *window.lo[1:]), window.hi)
        part = ShotImage(
            shot.id, nothing, {n: np.zeros(nothing.shape, np.float32) for n in reuse.wanted}, 0, 0.0
        )
    return part
