"""Options of checkpoints: `CheckpointOptions`, with the defaults for keys that a job file leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from subsalt.errors import ConfigError
from subsalt.option_fields import CheckedOptions, documented, number, one_of, option, whole

Strategy = Literal["auto", "store", "revolve", "boundary"]
Place = Literal["auto", "device", "memory", "disk", "both"]
Compression = Literal["none", "zfp", "f16"]
Keep = Literal["none", "source", "both"]


@documented
@dataclass(frozen=True)
class CheckpointOptions(CheckedOptions):
    """How the source wavefield is recovered when the receiver wavefield needs it."""

    strategy: Strategy = option(
        "auto",
        "how to recover the source wavefield; store: keep snapshots; revolve: keep some states and recompute; "
        "boundary: run backward from the saved edge; auto: the fastest that fits",
        one_of(Strategy),
    )
    place: Place = option(
        "auto",
        "where snapshots and states are kept: device (GPU memory), memory (of the host), disk, or both "
        "(revolve: memory and disk)",
        one_of(Place),
        more="both: some states in memory, more on disk; on a processor, device is the same as memory",
    )
    slots: int | None = option(None, "revolve: number of states in memory", whole())
    disk_slots: int | None = option(None, "revolve: number of states on disk", whole())
    block: int | None = option(
        None,
        "revolve: imaged samples from one state to the next",
        whole(1),
        more="their snapshots are in memory together",
    )
    memory: int | None = option(
        None,
        'memory per rank for snapshots and states, such as "2GB"; auto: what the job leaves free',
        whole(1),
        unit="bytes",
    )
    directories: tuple[str, ...] = option(
        (), "folders of scratch files (snapshots and states on disk), used in turn; none: the run directory"
    )
    threads: int | None = option(None, "threads that read and write scratch files", whole(1))
    direct: bool = option(False, "bypass the page cache (O_DIRECT)")
    compression: Compression = option(
        "none",
        "zfp: compress scratch files; f16: snapshots in 16 bits, in memory and on disk, with exact = false; "
        "both are lossy",
        one_of(Compression),
        more="f16 is for snapshots in memory and on disk (`subsalt.kernels.scaled16`); states stay as they are",
    )
    tolerance: float = option(1e-3, "zfp: largest error, relative to the largest value of a snapshot", number)
    exact: bool | None = option(
        None,
        "true: the image has the same bytes as with strategy = store; false: auto may also choose boundary, "
        "and f16 is allowed",
        more='None: False with "boundary" and zfp, which are right to rounding, else True; f16 asks for False',
    )
    restart_every: int = option(
        0,
        "time steps between restart points inside a shot; off: a stopped shot starts again",
        whole(),
        more="0: none",
    )
    keep: Keep = option(
        "none",
        "wavefields kept after the shot, for playback and re-imaging: none, source, both",
        one_of(Keep),
    )
    device_memory: int | None = option(
        None,
        'GPU memory per rank for snapshots and states, such as "40GB"; none: what the job leaves free',
        whole(1),
        unit="bytes",
    )

    @property
    def lossless(self) -> bool:
        """Whether what is kept comes back bit for bit."""
        return self.compression == "none"

    @property
    def halved(self) -> bool:
        """Whether snapshots are kept in 16 bits."""
        return self.compression == "f16"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.tolerance < 1:
            raise ConfigError(f"tolerance = {self.tolerance:g}", "use a number between 0 and 1", code="E104")
        if isinstance(self.directories, str):
            raise ConfigError(
                f"directories = {self.directories!r} is a text", "give a list of folders", code="E104"
            )
        object.__setattr__(self, "directories", tuple(str(d) for d in self.directories))
        for problem, cure in _contradictions(self):
            raise ConfigError(problem, cure, code="E664")
        if self.exact is None:
            object.__setattr__(self, "exact", self.strategy != "boundary" and self.lossless)


def _contradictions(options: CheckpointOptions) -> Iterator[tuple[str, str]]:
    """Yield what two options say against each other, with the cure."""
    strategy, place = options.strategy, options.place
    for name in ("slots", "disk_slots", "block"):
        if getattr(options, name) is not None and strategy != "revolve":
            yield (
                f"{name} = {getattr(options, name)} counts states of revolve, and strategy = {strategy!r}",
                f'leave {name} out, or set strategy = "revolve"',
            )
    if place == "both" and strategy in ("store", "boundary"):
        yield (
            f'place = "both" spreads states of revolve, and strategy = {strategy!r}',
            'use place = "memory" or "disk", or strategy = "revolve"',
        )
    if options.slots and place == "disk":
        yield (
            f'slots = {options.slots} states lie in memory, and place = "disk"',
            'use disk_slots, or place = "both"',
        )
    if options.disk_slots and place in ("memory", "device"):
        yield (
            f'disk_slots = {options.disk_slots} states lie on disk, and place = "{place}"',
            'use slots, or place = "both"',
        )
    if strategy == "boundary" and options.exact:
        yield (
            'strategy = "boundary" rebuilds the wavefield to rounding only, and exact = true',
            "leave exact out, or choose another strategy",
        )
    if options.halved and options.exact in (None, True):
        yield (
            'compression = "f16" keeps snapshots in 16 bits, and exact = true asks for every bit of the image',
            'set both compression = "f16" and exact = false',
        )
    if options.compression == "zfp" and options.exact:
        yield (
            'compression = "zfp" loses digits, and exact = true',
            "leave exact or compression out",
        )
    if options.compression == "zfp" and place in ("memory", "device"):
        yield (
            f'compression = "zfp" is for what lies on disk, and place = "{place}"',
            'use compression = "f16", or place = "disk"',
        )
    if options.halved and place == "device":
        yield (
            'compression = "f16" is for snapshots in the memory of the host or on disk, and place = "device"',
            'leave compression out, or use place = "memory" or "disk"',
        )
    if options.compression != "none" and strategy == "boundary":
        yield (
            f"compression = {options.compression!r} is not for the shells of strategy = 'boundary'",
            "leave compression out, or choose another strategy",
        )
