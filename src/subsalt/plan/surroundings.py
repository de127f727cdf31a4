"""What a run has beside its cores: the network between its ranks, and its files."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from subsalt.machine.machine_file import Machine
from subsalt.machine.storage import publishing_known
from subsalt.plan import network
from subsalt.plan.model import Files
from subsalt.plan.network import Link


@dataclass(frozen=True)
class Network:
    """The links between the ranks of a run, by place.

    Parameters
    ----------
    links : mapping of str to Link
        ``"node"`` and ``"across"``; what is missing is not known.
    """

    links: dict[str, Link] = field(default_factory=dict)

    @classmethod
    def of(cls, machine: Machine | None, given: Link | None = None) -> Network:
        """Return what the lab measured; `given` stands for what lies between nodes."""
        found = {where: network.link_of(machine, where) for where in ("node", "across")}
        if given is not None:
            found["across"] = given
        return cls({where: link for where, link in found.items() if link is not None})

    def between(self, ranks: int, per_node: int) -> Link | None:
        """Return the slowest link of a group of ranks that follow each other, `per_node` of them on a node."""
        return self.links.get("node" if ranks <= per_node else "across")


#: bytes per second of files that are read, checked and mapped; written and published; summed
READ, WRITE, SUM = 4e8, 3e8, 1e9


#: seconds of a published file, and of a sample of a trace brought to the time step
PUBLISH, TRACE_SAMPLE = 0.02, 5e-8


#: files that ledger, logs and summaries publish, or take as long as, whatever the survey
LEDGER_FILES = 8


#: of pictures, and of the report
PICTURES, REPORT = 2.0, 0.1


#: phases in which wavefields are advanced
KERNELS = ("source", "receivers")


@dataclass(frozen=True)
class Surroundings:
    """What a run has beside its cores.

    Parameters
    ----------
    network : Network
        Links between ranks; exchanges over links that are not known count as hidden under the time steps.
    files : Files
        Bytes per second of a rank, and of all ranks together.
    publish : float
        Seconds of a published file, whatever is in it.
    """

    network: Network = field(default_factory=Network)
    files: Files = field(default_factory=lambda: Files(READ, WRITE))
    publish: float = PUBLISH

    @classmethod
    def of(
        cls, machine: Machine | None, folder: Path, link: Link | None = None, limit: float = math.inf
    ) -> Self:
        """Return what was measured, and what is assumed of the rest.

        Parameters
        ----------
        machine : Machine, optional
            With what was measured.
        folder : Path
            Where the run writes; need not exist.
        link : Link, optional
            Between nodes, where somebody says it.
        limit : float
            Bytes per second that files take and give to all ranks together.
        """
        publish, write = publishing_known(machine, folder) or (PUBLISH, WRITE)
        return cls(Network.of(machine, link), Files(READ, write, limit), publish)


HERE = Surroundings()
