"""Result of a measurement: one format for all of them, version 1."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subsalt import __version__
from subsalt.host import cache_bytes, machine_facts
from subsalt.machine.machine_file import RESULT_SCHEMA as SCHEMA

#: takes a line about what is being measured
Say = Callable[[str], None]


def environment() -> dict[str, Any]:
    """Return what of the surroundings changes the speed: variables, large pages, and the clock's governor."""
    names = ("SUBSALT_ISA", "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY")
    values: dict[str, Any] = {n: os.environ[n] for n in names if n in os.environ}
    for name, file in (
        ("huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled"),
        ("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ):
        try:
            text = Path(file).read_text().strip()
        except OSError:
            continue
        # "always [madvise] never": the choice is in brackets
        values[name] = text[text.index("[") + 1 : text.index("]")] if "[" in text else text
    return values


@dataclass
class Result:
    """One measurement: where, when and under which load it was made, its rows, and what they mean.

    Parameters
    ----------
    measurement : str
        Name of the measurement, such as ``"memory"``.
    settings : mapping
        Settings of the measurement.
    rows : sequence of mapping
        One per case; values are plain, samples are lists.
    units : mapping of str to str
        Unit of each column that has one.
    load : mapping
        `load.Watch.facts` of the time of the measurement.
    notes : sequence of str
        Lines that a reader of the numbers must know.
    more : mapping
        Other content of this measurement that is not a table, by key; a key of the format wins.
    """

    measurement: str
    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    units: Mapping[str, str]
    load: Mapping[str, Any]
    notes: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    schema: str = SCHEMA
    version: str = __version__
    date: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    machine: Mapping[str, Any] = field(default_factory=lambda: machine_facts() | {"caches": cache_bytes()})
    environment: Mapping[str, Any] = field(default_factory=environment)

    @property
    def noisy(self) -> bool:
        """Whether something else used the processor meanwhile."""
        return bool(self.load.get("noisy"))

    def for_machine(
        self, *without: str, where: Callable[[Mapping[str, Any]], object] = lambda row: True
    ) -> list[dict[str, Any]]:
        """Return the rows that machine.json takes, and when they were measured.

        Parameters
        ----------
        *without : str
            Columns that are left out, such as samples.
        where : callable
            Says of a row whether it is taken.
        """
        common = {"date": self.date, "version": self.version, "noisy": self.noisy}
        return [
            {k: v for k, v in row.items() if k not in without} | common for row in self.rows if where(row)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            **self.more,
            "schema": self.schema,
            "measurement": self.measurement,
            "version": self.version,
            "date": self.date,
            "machine": dict(self.machine),
            "environment": dict(self.environment),
            "load": dict(self.load),
            "settings": dict(self.settings),
            "units": dict(self.units),
            "rows": [dict(r) for r in self.rows],
            "notes": list(self.notes),
        }

    def heading(self) -> str:
        """Return the line above a table: machine, version, date."""
        m = self.machine
        cores = f"{m['cores']} core{'s' * (m['cores'] != 1)}"
        return f"{m['cpu']}, {cores}, {m['ram_bytes'] / 1e9:.0f} GB  subsalt {self.version}  {self.date}"
