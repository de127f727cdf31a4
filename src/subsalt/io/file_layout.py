"""The facts needed to find every header and sample of a SEG-Y or SU file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from subsalt.errors import Finding
from subsalt.io.headers import TRACE_HEADER
from subsalt.io.samples import FORMATS

Endian = Literal["big", "little"]


@dataclass
class FileLayout:
    """The facts needed to find every header and sample of a file.

    Parameters
    ----------
    kind : {"segy", "su"}
        SU is traces alone, always 32-bit IEEE floats.
    first_trace, trace_bytes, n_traces : int
        Byte where traces begin, bytes per trace with headers, number of traces.
    header_bytes : int
        Bytes of trace header(s) in front of the samples: 240, more with rev 2 extensions.
    dt : float
        Sample interval, s; 0 when no header has one.
    dt_source : str
        Which header `dt` is from.
    """

    path: str
    kind: Literal["segy", "su"]
    size: int
    endian: Endian
    format: int
    ns: int
    dt: float
    first_trace: int
    trace_bytes: int
    n_traces: int
    header_bytes: int = TRACE_HEADER
    dt_source: str = ""
    ns_binary: int = 0
    ns_trace: int = 0
    dt_binary_us: int = 0
    dt_trace_us: int = 0
    revision: tuple[int, int] = (0, 0)
    ext_text: int = 0
    sorting: int = 0
    measurement: int = 0
    text: list[str] = field(default_factory=list)
    text_encoding: str = ""
    findings: list[Finding] = field(default_factory=list)
    sample_endian: Endian | None = None

    @property
    def sample_order(self) -> Endian:
        """Byte order of the samples: that of the headers, unless the user knows better."""
        return self.sample_endian or self.endian

    @property
    def format_name(self) -> str:
        """Name of the sample format."""
        return FORMATS[self.format].name

    @property
    def sample_offset(self) -> int:
        """Bytes from the start of a trace to its first sample."""
        return self.header_bytes
