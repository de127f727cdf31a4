"""What a user asks for of checkpoints: `CheckpointOptions`, with the defaults that a job file may leave out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from subsalt.errors import ConfigError
from subsalt.options import number, one_of, whole

Strategy = Literal["auto", "store", "revolve", "boundary"]
Place = Literal["auto", "device", "memory", "disk", "both"]
Compression = Literal["none", "zfp", "f16"]
Keep = Literal["none", "source", "both"]


@dataclass(frozen=True)
class CheckpointOptions:
    """How the source wavefield is recovered when the receiver wavefield needs it.

    Parameters
    ----------
    strategy : {"auto", "store", "revolve", "boundary"}
        ``"store"`` keeps every imaged snapshot; ``"revolve"`` keeps some states and computes the rest again;
        ``"boundary"`` keeps the edge of the field at every step and runs it backwards. ``"auto"`` takes the one that is
        predicted to be fastest of those that fit.
    place : {"auto", "device", "memory", "disk", "both"}
        Where snapshots or states lie; ``"both"``: some states in memory, more on disk. ``"device"`` is the memory of
        the GPU that computes, on a processor the same as ``"memory"``, which is that of the host.
    slots, disk_slots : int, optional
        States that revolve keeps in memory and on disk; chosen when None.
    block : int, optional
        Imaged samples between two states; their snapshots are in memory together. Chosen when None.
    memory : int, optional
        Bytes per rank for snapshots and states; what the job leaves free when None.
    device_memory : int, optional
        Bytes of the memory of a GPU per rank for snapshots and states; what the job leaves free when None.
    directories : tuple of str
        Folders for snapshots and states on disk, one record after the other; the run directory when empty.
    threads : int, optional
        Threads that read and write them.
    direct : bool
        Past the page cache (O_DIRECT).
    compression : {"none", "zfp", "f16"}
        ``"zfp"``: snapshots and states on disk are compressed within `tolerance`. ``"f16"``: snapshots take 16 bits per
        number, in memory and on disk (`subsalt.kernels.scaled16`); states stay as they are. Both lose digits.
    tolerance : float
        zfp: largest error of a compressed snapshot, relative to its largest value.
    exact : bool, optional
        The image has the bytes of a run that keeps everything. False lets ``"auto"`` take ``"boundary"``, right
        to rounding. None: False for ``strategy = "boundary"`` and with zfp, else True. ``"f16"`` asks for False.
    restart_every : int
        Time steps between two restart points inside a shot; 0: none, a stopped shot starts anew.
    keep : {"none", "source", "both"}
        Wavefields that stay in the run directory after their shot, to be played or imaged again.
    """

    strategy: Strategy = "auto"
    place: Place = "auto"
    slots: int | None = None
    disk_slots: int | None = None
    block: int | None = None
    memory: int | None = None
    directories: tuple[str, ...] = ()
    threads: int | None = None
    direct: bool = False
    compression: Compression = "none"
    tolerance: float = 1e-3
    exact: bool | None = None
    restart_every: int = 0
    keep: Keep = "none"
    device_memory: int | None = None

    @property
    def lossless(self) -> bool:
        """Whether what is kept comes back bit for bit."""
        return self.compression == "none"

    @property
    def halved(self) -> bool:
        """Whether snapshots are kept in 16 bits."""
        return self.compression == "f16"

    def __post_init__(self) -> None:
        one_of("strategy", self.strategy, get_args(Strategy))
        one_of("place", self.place, get_args(Place))
        one_of("compression", self.compression, get_args(Compression))
        one_of("keep", self.keep, get_args(Keep))
        for name, least in (
            ("slots", 0),
            ("disk_slots", 0),
            ("block", 1),
            ("memory", 1),
            ("device_memory", 1),
            ("threads", 1),
        ):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least)
        whole("restart_every", self.restart_every)
        number("tolerance", self.tolerance)
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
