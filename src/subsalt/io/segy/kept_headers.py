"""Headers that one reader of files leaves for the next: a scan of all files for the survey that is made of them.

Whoever runs both owns them, such as the check of a job, and they go with it: a run of days does not hold the headers of
ten million traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from subsalt.io.input_file import InputFile
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile
from subsalt.io.segy.headers import HeaderBytes


@dataclass
class KeptHeaders:
    """Headers of files, until they are taken.

    Parameters
    ----------
    header, fix : HeaderBytes, Fix
        How they are read; who reads in another way is given nothing.
    names : sequence of str
        Header values that are kept (`subsalt.io.segy.geometry.needed_for`).

    Notes
    -----
    Memory: 4 bytes per trace and value beside what the scan itself holds, about 84 bytes per trace.
    """

    header: HeaderBytes
    fix: Fix
    names: Sequence[str]
    #: by path: when the file was changed last, and its headers
    _files: dict[str, tuple[int, ScannedFile]] = field(default_factory=dict)

    def keep(self, one: ScannedFile, stamp: int) -> None:
        """Keep the headers of a file that was read as it was changed last at `stamp` (`InputFile.stamp`), ns."""
        values = {name: one.values[name] for name in self.names if name in one.values}
        self._files[one.layout.path] = stamp, replace(one, values=values)

    def take(
        self, file: InputFile, header: HeaderBytes, fix: Fix, names: Sequence[str]
    ) -> ScannedFile | None:
        """Return the headers of an open file, once; None where they were not kept or the file has changed since."""
        if header != self.header or fix != self.fix or not set(names) <= set(self.names):
            return None
        stamp, one = self._files.pop(str(file.path), (None, None))
        return one if one is not None and (stamp, one.layout.size) == (file.stamp, file.size) else None
