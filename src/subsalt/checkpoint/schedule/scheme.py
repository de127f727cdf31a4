"""Schemes: how one rank recovers the source wavefield of one shot, and the cost in steps, states and snapshots.

Integers and names only: plan and run ask the same functions and agree exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from subsalt.checkpoint.schedule.two_level import Action, Moves, Slots, moves_of, two_level
from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from subsalt.checkpoint.options import Keep

Strategy = Literal["store", "revolve", "boundary"]
SamplesPlace = Literal["device", "memory", "disk"]

#: buffers of a store of states: one is written while the next is filled
STATE_BUFFERS = 2


@dataclass(frozen=True)
class Scheme:
    """How the samples of the source wavefield come to meet those of the receiver wavefield, last sample first.

    Sample i is the imaged field at time index ``i image_step``, i = 0 .. `samples`; sample 0 is rest. Blocks of `block`
    samples are visited from the last to the first. The state at the start of a block is made by stepping from the
    nearest state that a slot keeps; then the samples of the block become snapshots in one go.

    Raises
    ------
    ConfigError
        When the numbers make no schedule.
    """

    #: ``store``: one block, all its snapshots kept. ``revolve``: states kept in slots. ``boundary``: one block, made
    #: again backwards from what was saved at the edges
    strategy: Strategy
    #: time steps N of the receiver wavefield; the source wavefield stops at the last sample
    steps: int
    #: time steps from sample to sample
    image_step: int
    #: samples of a block; 0: all of them, for ``revolve`` one. ``store`` has one block
    block: int = 0
    #: states kept at a time besides x_0, which is rest
    memory_slots: int = 0
    disk_slots: int = 0
    #: the cost of writing and reading a state that computing does not hide, in hundredths of a time step; it
    #: decides between schedules, never the image
    disk_costs: tuple[int, int] = (0, 0)
    #: place of the snapshots of ``store``, of the shells of ``boundary``, of the snapshots of a ``revolve`` block.
    #: ``device`` is the memory of a GPU, ``memory`` that of the host
    snapshots_on: SamplesPlace = "memory"
    #: samples that go to disk, or come from it, in one piece; 0: all
    chunk: int = 0
    #: steps between restart points, 0: none
    restart_every: int = 0
    #: wavefields whose samples stay on disk after the shot
    keep: Keep = "none"
    #: those of `memory_slots` that lie in the memory of a GPU (`slot_on_device` says which); the others are in that
    #: of the host. It decides what goes over the link, never the schedule
    device_slots: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.image_step <= self.steps:
            raise _wrong(f"image_step = {self.image_step} of {self.steps} steps", "image at least one sample")
        if self.strategy not in ("store", "revolve", "boundary"):
            raise _wrong(f"strategy = {self.strategy!r}", "use store, revolve or boundary")
        everything = self.samples + 1
        if self.block == 0:
            object.__setattr__(self, "block", everything if self.strategy != "revolve" else 1)
        if not 1 <= self.block <= everything:
            raise _wrong(f"block = {self.block}", f"a block has 1 to {everything} samples")
        if self.strategy == "store" and self.block != everything:
            raise _wrong(
                f"block = {self.block} with {self.strategy}", f"its one block has {everything} samples"
            )
        small = min(
            self.memory_slots,
            self.disk_slots,
            self.chunk,
            self.restart_every,
            self.disk_costs[0],
            self.disk_costs[1],
        )
        if small < 0:
            raise _wrong(f"a negative number ({small}) of slots, samples, steps or costs", "use 0 or more")
        if not 0 <= self.device_slots <= self.memory_slots:
            raise _wrong(
                f"{self.device_slots} of {self.memory_slots} slots in memory are on the device",
                "use 0 to all of them",
            )
        if self.strategy != "revolve" and (self.memory_slots or self.disk_slots):
            slots = self.memory_slots + self.disk_slots
            raise _wrong(f"{slots} slots for states with {self.strategy}", "only revolve keeps states")
        if self.strategy == "revolve" and self.snapshots_on == "disk":
            raise _wrong(
                "snapshots on disk with revolve", "its snapshots live for one block; its states may go there"
            )
        if self.strategy == "boundary" and (self.restart_every or self.keep != "none"):
            raise _wrong("boundary with restart points or kept wavefields", "use store or revolve for them")

    @property
    def samples(self) -> int:
        """S: imaged samples; sample 0 comes besides."""
        return self.steps // self.image_step

    @property
    def blocks(self) -> int:
        """L: blocks that are visited."""
        return -(-(self.samples + 1) // self.block)

    def span(self, block: int) -> tuple[int, int]:
        """Return the first and the last sample of a block."""
        return block * self.block, min((block + 1) * self.block - 1, self.samples)

    def slot_on_device(self, slot: int) -> bool:
        """Return whether a memory slot lies on the device: the last ones do, which are stored and loaded most often."""
        used = self.moves.memory
        return used - self.device_slots <= slot < used

    @property
    def slots(self) -> Slots:
        """Slots and costs from which the schedule chooses; costs in hundredths of a time step."""
        return Slots(self.memory_slots, self.disk_slots, *self.disk_costs, 100 * self.block * self.image_step)

    @property
    def moves(self) -> Moves:
        """Moves of the schedule of ``revolve``, and the slots that it really uses; none for other strategies."""
        return moves_of(self.blocks, self.slots) if self.strategy == "revolve" else Moves()

    @property
    def piece(self) -> int:
        """Samples done in one go where they pass to or from files, or where restart points come between."""
        most = self.chunk or self.samples
        if self.restart_every:
            most = min(most, self.restart_every // self.image_step)
        return max(1, min(most, self.samples))

    @property
    def in_pieces(self) -> bool:
        """Whether sweeps are cut into pieces at all."""
        return bool(self.snapshots_on == "disk" or self.restart_every or self.keep != "none")

    @property
    def buffers(self) -> int:
        """Buffers of a store of samples: a piece is filled or imaged while another is on its way."""
        return 2 * self.piece

    @property
    def writes_source(self) -> bool:
        """Whether the samples of the source wavefield go to a file: to be read back, kept, or resumed from."""
        on_file = self.snapshots_on == "disk" or self.keep != "none"
        return on_file or (self.strategy == "store" and self.restart_every > 0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}


def _wrong(what: str, fix: str) -> ConfigError:
    return ConfigError(f"no schedule for a shot: {what}", fix, code="E870")


def schedule_of(scheme: Scheme) -> Iterator[Action]:
    """Yield what the source wavefield does, from rest to the visit of block 0."""
    if scheme.strategy == "revolve":
        return two_level(scheme.blocks, scheme.slots)
    return iter((Action("image", 0),))
