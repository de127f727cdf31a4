"""Corrections that a job gives for what files say wrongly: the keys of [data] that readers take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subsalt.errors import ConfigError
from subsalt.io.segy.exclude import Exclusion

#: what values that are refused should be
_FIX_CURES = {
    "dt": 'give seconds below 10, or a unit: dt = 0.004, dt = "4 ms", dt = "4000 us"',
    "ns": "give the samples of a trace, 1 or more",
    "z_sign": "use 1 or -1",
    "endian": 'use "big" or "little"',
    "unit": 'use "m" or "ft"',
    "dead": 'use "skip" or "zero"',
    "nan": 'use "error" or "zero"',
    "truncated": 'use "error" or "drop"',
}


@dataclass(frozen=True)
class Fix:
    """Corrections of the headers by the user; every value left None is read from the file.

    Parameters
    ----------
    scalar, elevation_scalar, time_scalar : int, optional
        Replace bytes 71, 69 and 215: positive multiplies, negative divides.
    dt : float, optional
        Sample interval, s.
    ns, format : int, optional
        Samples per trace; sample format code.
    endian : {"big", "little"}, optional
        Byte order of trace headers and samples; that of the file header follows from its format code.
    delay : float, optional
        Time of the first sample, s, for all traces.
    unit : {"m", "ft"}, optional
        Unit of coordinates and depths; the file's own word (byte 3255) counts otherwise.
    z_sign : {1, -1}
        -1 when receiver and source elevations (bytes 41, 45) are stored as depths, positive down.
    source_depth, receiver_depth : float, optional
        Depths, m, for all sources or receivers.
    swap_xy : bool
        Exchange x and y.
    all_traces : bool
        Use every trace whatever its identification (byte 29); dead traces (2) are still left out.
    dead : {"skip", "zero"}
        Leave dead traces out, or keep them as zeros.
    nan : {"error", "zero"}
        Refuse traces with samples that are not finite, or set those samples to zero.
    truncated : {"error", "drop"}
        Refuse a file that ends inside a trace, or use its complete traces.
    polarity : {1, -1}, optional
        -1 changes the sign of every sample.
    channels : {"reversed"}, optional
        The traces of a shot stand in the reverse order of their places: the first has the place of the last.
    sample_endian : {"big", "little"}, optional
        Byte order of the samples, where it is not that of the headers.
    kind : {"segy", "su"}, optional
        Kind of the files, whatever their names say.
    text_headers : int, optional
        Number of extended text headers.
    trace_ids : tuple of int, optional
        Identifications (byte 29) of the traces to use; dead traces are left out anyway.
    exclude : tuple of Exclusion
        Traces to leave out.
    duplicates : {"error", "first", "keep"}
        Refuse traces that are there twice, use the first of them, or use all.
    noisy : {"error", "keep"}
        Refuse traces that are far stronger than their neighbours, or use them.
    index : str, optional
        Folder of saved header indexes, or ``beside``: made there when missing. Left out, an index beside a file is used
        where there is one.
    fields : tuple of (str, str)
        Header values and the names that a store of traces has for them.
    """

    scalar: int | None = None
    elevation_scalar: int | None = None
    time_scalar: int | None = None
    dt: float | None = None
    ns: int | None = None
    format: int | None = None
    endian: Literal["big", "little"] | None = None
    delay: float | None = None
    unit: Literal["m", "ft"] | None = None
    z_sign: int = 1
    source_depth: float | None = None
    receiver_depth: float | None = None
    swap_xy: bool = False
    all_traces: bool = False
    dead: Literal["skip", "zero"] = "skip"
    nan: Literal["error", "zero"] = "error"
    truncated: Literal["error", "drop"] = "error"
    polarity: int | None = None
    channels: Literal["reversed"] | None = None
    sample_endian: Literal["big", "little"] | None = None
    kind: Literal["segy", "su"] | None = None
    text_headers: int | None = None
    trace_ids: tuple[int, ...] | None = None
    exclude: tuple[Exclusion, ...] = ()
    duplicates: Literal["error", "first", "keep"] = "error"
    noisy: Literal["error", "keep"] = "error"
    index: str | None = None
    fields: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        checks = {
            "z_sign": self.z_sign in (1, -1),
            "endian": self.endian in (None, "big", "little"),
            "sample_endian": self.sample_endian in (None, "big", "little"),
            "kind": self.kind in (None, "segy", "su"),
            "text_headers": self.text_headers is None or self.text_headers >= 0,
            "unit": self.unit in (None, "m", "ft"),
            "polarity": self.polarity in (None, 1, -1),
            "channels": self.channels in (None, "reversed"),
            "dead": self.dead in ("skip", "zero"),
            "nan": self.nan in ("error", "zero"),
            "truncated": self.truncated in ("error", "drop"),
            "dt": self.dt is None or 0 < self.dt < 10,
            "ns": self.ns is None or self.ns > 0,
        }
        for name, good in checks.items():
            if not good:
                raise ConfigError(
                    f"fix {name} = {getattr(self, name)!r}",
                    _FIX_CURES.get(name, "see the allowed values: subsalt explain data.fix"),
                )
