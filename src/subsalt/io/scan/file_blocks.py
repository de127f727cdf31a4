"""Small files of one layout that a scan judges together: read into one array, with one table of headers.

Some three hundred sums, medians and comparisons tell whether a file is in order; for a file of fifty traces the calls
cost more than their work. The first file of a layout is read by itself. Others are taken whose binary header is the
same, byte by byte, and whose traces have the same number and interval of samples: nothing else decides the layout of a
SEG-Y file before rev 2 that divides into traces. What is found is the same as for each file by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.scan.block_statistics import block_statistics
from subsalt.io.scan.findings import file_findings, sample_findings
from subsalt.io.scan.header_table import HeaderTable
from subsalt.io.scan.one_file import FileScan, facts_of, measured_file, names_to_read, without_others
from subsalt.io.scan.recording import TIME_BYTES, first_traces, times_of_shots
from subsalt.io.scan.silent import silent
from subsalt.io.scan.witnesses import sides_with_coordinates
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile, column
from subsalt.io.segy.headers import TRACE_HEADER, FileLayout, HeaderBytes, wanted_names
from subsalt.io.segy.kept_headers import KeptHeaders
from subsalt.io.segy.layout import FIRST_TRACE, is_plain, with_same_header
from subsalt.io.segy.samples import TEXT_HEADER

#: bytes of traces that are judged together, and of the largest file among them
AT_ONCE, LARGEST = 8 << 20, 4 << 20
#: layouts of which files wait at one time
LAYOUTS = 4


@dataclass
class _Block:
    """Files of one layout that wait: how they begin, and their traces.

    Parameters
    ----------
    head : bytes
        The first 3600 bytes of the file that was read by itself.
    layout : FileLayout
        Its layout.
    dt : int
        Interval in its trace headers, in microseconds.
    kind : numpy.dtype
        Structured, over a trace header.
    """

    head: bytes
    layout: FileLayout
    dt: int
    kind: np.dtype
    traces: NDArray[np.uint8] = field(init=False)
    headers: NDArray[np.uint8] = field(init=False)
    #: places of the files among all, their layouts, when they were changed last, and traces so far
    places: list[int] = field(default_factory=list)
    layouts: list[FileLayout] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    n: int = 0

    def __post_init__(self) -> None:
        rows = max(1, AT_ONCE // self.layout.trace_bytes)
        self.traces = np.empty((rows, self.layout.trace_bytes), np.uint8)
        self.headers = np.empty((rows, TRACE_HEADER), np.uint8)

    def values(self, begin: int, end: int) -> NDArray:
        """Return the headers of some traces as a structured array."""
        return self.headers[begin:end].view(self.kind).reshape(-1)

    def layout_of(self, file: InputFile) -> FileLayout | None:
        """Return the layout of a file as far as its header decides it; None where it may be another one."""
        head = file.read_at(0, FIRST_TRACE)
        if head == self.head:
            left = file.size - FIRST_TRACE
            if left % self.layout.trace_bytes:
                return None
            n = left // self.layout.trace_bytes
            return replace(self.layout, path=str(file.path), size=file.size, n_traces=n, findings=[])
        return with_same_header(file, head, self.layout)

    def read(self, file: InputFile, layout: FileLayout) -> bool:
        """Read the traces of a file behind those that are there; return whether they are of this layout."""
        begin, end = self.n, self.n + layout.n_traces
        part = self.traces[begin:end]
        file.read_into(layout.first_trace, raw_bytes(part))
        self.headers[begin:end] = part[:, :TRACE_HEADER]
        values = self.values(begin, end)
        same = bool((values["ns"] == layout.ns).all())
        return same and ("dt" not in (self.kind.names or ()) or bool((values["dt"] == self.dt).all()))


class FileBlocks:
    """Small files that wait to be judged together, by layout.

    Parameters
    ----------
    header : HeaderBytes
        Where header values lie.
    fix : Fix
        Values that replace those of the headers.
    budget : int
        Bytes of a file whose samples are looked at.
    headers : KeptHeaders, optional
        Gets the headers of every file.
    """

    def __init__(
        self, header: HeaderBytes, fix: Fix, budget: int, headers: KeptHeaders | None = None
    ) -> None:
        self.header, self.fix, self.budget, self.headers = header, fix, budget, headers
        self._blocks: dict[bytes, _Block] = {}
        self._judged: list[tuple[int, FileScan]] = []
        # what names traces of a file, is written per file, or may be refused by the name of its file
        self._apart = bool(fix.exclude or fix.index is not None or header.types)

    def learn(self, file: InputFile, one: ScannedFile) -> None:
        """Let files of the layout of a file that was read by itself wait from now on."""
        if self._apart or len(self._blocks) == LAYOUTS or not is_plain(one.layout):
            return
        dt = column(one.values, "dt", one.layout.n_traces)
        head = file.read_at(0, FIRST_TRACE)
        if head[TEXT_HEADER:] not in self._blocks and (dt == dt[0]).all():
            kind = self.header.dtype(one.layout.endian)
            self._blocks[head[TEXT_HEADER:]] = _Block(head, one.layout, int(dt[0]), kind)

    def take(self, place: int, file: InputFile) -> bool:
        """Keep the traces of a file, which is the `place`-th of all; False when it is to be read by itself."""
        if not self._blocks or file.is_remote or not FIRST_TRACE < file.size <= LARGEST:
            return False
        if self.fix.kind is None and file.path.suffix.lower() == ".su":
            return False
        block = self._blocks.get(file.read_at(TEXT_HEADER, FIRST_TRACE - TEXT_HEADER))
        layout = None if block is None else block.layout_of(file)
        if block is None or layout is None:
            return False
        if block.n + layout.n_traces > len(block.traces):
            self._judge(block)
        if not block.read(file, layout):
            return False
        block.places.append(place)
        block.layouts.append(layout)
        block.stamps.append(file.stamp)
        block.n += layout.n_traces
        return True

    def judged(self) -> Iterator[tuple[int, FileScan]]:
        """Yield place and scan of all files that were taken; those that wait are judged."""
        for block in self._blocks.values():
            if block.layouts:
                self._judge(block)
        yield from self._judged

    def _judge(self, block: _Block) -> None:
        """Judge the files that wait in a block, and empty it."""
        table = self._table(block)
        groups, fix = table.groups, self.fix
        looked_at = block_statistics(block.traces[: block.n], block.layout, groups, self.budget)
        statistics = [s for s, _ in looked_at]
        files = list(table.files())
        rows = [first_traces(one) for one in files]
        traces = groups.parts(block.traces[: block.n])
        words = np.concatenate([part[own, TIME_BYTES] for part, own in zip(traces, rows, strict=True)])
        times = times_of_shots(files, rows, words)
        live, quiet = groups.all(table.whole.live).tolist(), silent(table).tolist()
        facts, sides = list(table.facts(statistics)), table.sides_with_coordinates()
        for i, one in enumerate(files):
            whole = live[i]
            scan = FileScan(
                one,
                facts[i] if whole else facts_of(one, statistics[i], fix),
                list(
                    sample_findings(one.layout, statistics[i], fix)
                    if quiet[i]
                    else file_findings(one, statistics[i], fix)
                ),
                sides[i] if whole else sides_with_coordinates(one, fix),
                table.measured(i, looked_at[i][1])
                if whole and statistics[i].complete
                else measured_file(one, looked_at[i][1]),
                times[i],
            )
            self._judged.append((block.places[i], scan))
        block.places, block.layouts, block.stamps, block.n = [], [], [], 0

    def _table(self, block: _Block) -> HeaderTable:
        """Return the headers of the files that wait."""
        values = block.values(0, block.n)
        names = wanted_names(block.kind, names_to_read(self.headers))
        native = {name: values[name].astype(block.kind[name].newbyteorder("=")) for name in names}
        whole = replace(block.layout, path="", n_traces=block.n)
        table = HeaderTable(ScannedFile.of(whole, native, self.header, self.fix), block.layouts, self.fix)
        if self.headers is not None:
            for one, stamp in zip(table.files(), block.stamps, strict=True):
                self.headers.keep(one, stamp)
            without_others(table.whole, self.headers)
        return table
