"""The sum over the first shots of a survey, in one file, in place of their partial images.

A large survey that workers compute would leave as many files to add at the end as it has shots. With ``--running-sum``
the owner of the run adds each partial image as soon as it is the next in survey order, publishes the sum after every
`BATCH` shots, enters it in the ledger, and then removes the partial images that it holds. Sums are float64, added one
shot after the other in survey order, as `sum_image` adds them at the end: where the sum is cut in two, its bits are the
same. A tree of partial sums would leave as few files, but adds in another order, and so gives another image.

The sum holds the first shots of the survey without a gap. A shot that is not done, or is quarantined, holds it up:
those behind keep their files until that one is done, so that nothing that was computed has to be computed again.

Any of these operations may be the last of a process that is killed: what the ledger names is always there, and
everything else that lies in the folder is removed at the next start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError
from subsalt.io import own
from subsalt.io.event_log import log_event
from subsalt.io.publish import remove
from subsalt.io.volumes.plane_file import PlaneFile, PlaneLayout, write_planes
from subsalt.methods.rtm.image_sum import ImageSum
from subsalt.methods.rtm.partial_image import SUFFIXES, partial_path, read_partial
from subsalt.methods.rtm.setup import MigrationSetup

if TYPE_CHECKING:
    from subsalt.propagation.options import ImagingOptions
    from subsalt.run.ledger import Ledger
    from subsalt.run.method_run import RunState

#: setting of the ledger; a run that has it makes running sums
KEY = "running_sum"
#: shots between two files, and the most that are added at a time
BATCH, AT_A_TIME = 256, 8
#: float32 words of a float64 number
WORDS = 2
_FILE = re.compile(r"sum_\d+\.planes")


@dataclass(frozen=True)
class Summed:
    """The shots whose partial images are in a running sum, and its file.

    Parameters
    ----------
    shots : tuple of int
        The first shots of the survey, in its order.
    sha256 : str
        Hash of the file; empty where there is none yet.
    names : tuple of str
        The sums in it.
    """

    shots: tuple[int, ...] = ()
    sha256: str = ""
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str | None) -> Summed:
        """Return what the setting of a ledger says; nothing is summed where there is none."""
        known = json.loads(text or "{}")
        return cls(
            tuple(map(int, known.get("shots", ()))),
            str(known.get("sha256", "")),
            tuple(known.get("names", ())),
        )

    @property
    def setting(self) -> str:
        """The setting of the ledger."""
        return json.dumps(vars(self))

    @property
    def file(self) -> str:
        """Name of the file in the folder of the partial images."""
        return f"sum_{len(self.shots):06d}.planes"

    def read(self, images: Path, lo: int, hi: int) -> dict[str, NDArray[np.float64]]:
        """Return the planes `lo` to `hi` of the sums, by name.

        Raises
        ------
        CorruptionError
            When the file is missing or damaged.
        """
        with PlaneFile(images / self.file, self.sha256) as file:
            return {name: np.ascontiguousarray(a).view("<f8") for name, a in file.read(lo, hi).items()}

    def write(self, images: Path, fields: dict[str, NDArray[np.float64]], state: RunState) -> Summed:
        """Publish the sums of `shots`; return the same with hash and names. For a process alone."""
        nx, ny, nz = next(iter(fields.values())).shape
        box = Box((0, 0, 0), (nx, ny, WORDS * nz))
        layout = PlaneLayout(box, tuple(fields), {"kind": "running sum", "shots": len(self.shots)})
        # a file of planes has float32: the two halves of each number
        words = {name: np.ascontiguousarray(a, "<f8").view("<f4") for name, a in fields.items()}
        sha = write_planes(images / self.file, layout, box, words, state.world)
        return Summed(self.shots, sha, tuple(fields))


def without_running_sum(imaging: ImagingOptions) -> str:
    """Return why the images of shots cannot be added while others are computed, in words; empty when they can."""
    if imaging.illumination == "shot":
        return 'with [imaging] illumination = "shot" every shot is divided by its own illumination'
    return "" if imaging.gathers is None else "[imaging.gathers] sums gathers of every shot as well"


def serves(setup: MigrationSetup, summed: Summed) -> bool:
    """Return whether the image of a setup can be made of a running sum."""
    wanted = set(ImageSum(setup, (0, 0)).condition.accumulators)
    return not without_running_sum(setup.imaging) and wanted <= set(summed.names)


def out_of_order(summed: Summed, order: Sequence[int]) -> str:
    """Return how the shots of a survey differ from those that are summed, in words; empty when they begin with them."""
    for place, shot in enumerate(summed.shots):
        if place >= len(order) or order[place] != shot:
            there = f"shot {order[place]}" if place < len(order) else "no shot"
            return f"the sum of its first {len(summed.shots)} shots has shot {shot} where the job now has {there}"
    return ""


class RunningSum:
    """Adds partial images in survey order while others are computed, for the process that owns the ledger alone.

    Parameters
    ----------
    setup : MigrationSetup
        Setup that all shots share.
    state : RunState
        State of the run.
    order : sequence of int
        Shots of the survey, in its order.
    """

    def __init__(self, setup: MigrationSetup, state: RunState, order: Sequence[int]) -> None:
        assert state.ledger is not None
        self.setup, self.state, self.order = setup, state, list(order)
        self.ledger: Ledger = state.ledger
        self.kept = Summed.of(self.ledger.get(KEY))
        self._total: ImageSum | None = None
        self._added = len(self.kept.shots)
        self._stuck = False

    def advance(self) -> bool:
        """Add the next partial images that are there, a few at a time; return whether more are."""
        for _ in range(AT_A_TIME):
            if self._stuck or self._added == len(self.order):
                return False
            shot = self.order[self._added]
            sha = self.ledger.hash_of(shot)
            if sha is None:
                return False
            try:
                self._add(shot, sha)
            except CorruptionError:
                # the sum at the end finds it as well, and says what to do
                self._stuck = True
                return False
            if self._added - len(self.kept.shots) >= BATCH:
                self._keep()
        return True

    def _add(self, shot: int, sha: str) -> None:
        images = self.state.images
        if self._total is None:
            total = ImageSum(self.setup)
            total.take_up(self.kept.read(images, *total.summed) if self.kept.shots else {})
            self._total = total
        self._total.add(read_partial(images, shot, sha, *self._total.summed))
        self._added += 1

    def _keep(self) -> None:
        """Publish the sum, enter it in the ledger, and remove what it holds."""
        assert self._total is not None
        images, before = self.state.images, self.kept
        new = Summed(tuple(self.order[: self._added])).write(images, self._total.fields, self.state)
        self.ledger.set(KEY, new.setting)
        self.kept = new
        if before.shots:
            remove(images / before.file)
        for shot in new.shots[len(before.shots) :]:
            remove(partial_path(images, shot))


def take_up(state: RunState) -> Summed:
    """Return the running sum of a run that begins or goes on, after a look at its file. For the owner of the ledger.

    What an earlier start has left beside it is removed. Where the file is damaged, its shots are planned again.
    """
    ledger, images = state.ledger, state.images
    assert ledger is not None
    summed = Summed.of(ledger.get(KEY))
    if summed.shots:
        try:
            with PlaneFile(images / summed.file, summed.sha256) as file:
                file.verify()
        except CorruptionError as error:
            state.request.say(f"{error.message}: the {len(summed.shots)} shots in it are computed again")
            log_event(state.folder, event="damaged", running_sum=summed.file, reason=error.message[:300])
            ledger.set(KEY, Summed().setting)
            for shot in summed.shots:
                ledger.release(shot)
            summed = Summed()
    held = {f"shot_{shot:06d}{suffix}" for shot in summed.shots for suffix in SUFFIXES}
    names: list[str] = []
    with suppress(FileNotFoundError):
        names = own.names_in(images)
    for name in names:
        if name in held or (_FILE.fullmatch(name) and (name != summed.file or not summed.shots)):
            remove(images / name)
    done = ledger.hashes()
    for shot in summed.shots:
        if shot not in done:
            # the ledger was rebuilt: the sum itself says that it has this shot
            ledger.finish(shot, summed.sha256, 0.0)
    return summed
