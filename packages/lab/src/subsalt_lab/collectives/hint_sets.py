"""Sets of hints for MPI-IO that are worth comparing, by the MPI, and how a program is given one.

ROMIO (MPICH, Intel MPI, and a component of Open MPI) reads hints from a file that a variable names; Open MPI's own
OMPIO takes variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: file of hints, and the variable that names it
HINTS_FILE, HINTS_VARIABLE = "mpiio.hints", "ROMIO_HINTS"
#: file systems that spread a file over servers as hints ask
STRIPED = ("lustre", "panfs", "beegfs")
MIB = 1 << 20


@dataclass(frozen=True)
class Hints:
    """One way to be compared.

    Parameters
    ----------
    name : str
        For people.
    hints : mapping of str to str
        For ROMIO, in a file.
    variables : mapping of str to str
        Of Open MPI, without the prefix.
    """

    name: str
    hints: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_default(self) -> bool:
        """Whether the library is left alone."""
        return not self.hints and not self.variables

    def files(self) -> dict[str, str]:
        """Return texts of files by name."""
        return {HINTS_FILE: "".join(f"{k} {v}\n" for k, v in self.hints.items())} if self.hints else {}

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the variables for the ranks; files lie in a folder."""
        named = {HINTS_VARIABLE: str(folder / HINTS_FILE)} if self.hints else {}
        return named | {f"OMPI_MCA_{k}": v for k, v in self.variables.items()}


DEFAULT = Hints("default")


def candidates(family: str, ranks: int, file_system: str = "", version: str = "5") -> list[Hints]:
    """Return the sets of hints that are compared, the library's own first.

    Parameters
    ----------
    family : str
        Of the MPI.
    ranks : int
        Of the program: at most so many write.
    file_system : str
        Such as ``"ext4"``; hints of striping are for those that stripe.
    version : str
        Of the MPI: the component with ROMIO in it is called after ROMIO's version.
    """
    romio = [
        Hints("collective buffering on", {"romio_cb_write": "enable", "romio_cb_read": "enable"}),
        Hints("collective buffering off", {"romio_cb_write": "disable", "romio_cb_read": "disable"}),
        Hints("data sieving off", {"romio_ds_write": "disable", "romio_ds_read": "disable"}),
        Hints(
            "both off",
            {f"romio_{k}_{w}": "disable" for k in ("cb", "ds") for w in ("write", "read")},
        ),
        # all ranks of a node may write, not one of each
        *(
            Hints(
                f"{n} of {ranks} ranks write",
                {"romio_cb_write": "enable", "cb_config_list": "*:*", "cb_nodes": str(n)},
            )
            for n in sorted({max(1, ranks // 2), ranks})
        ),
        Hints("buffers of 1 MiB", {"romio_cb_write": "enable", "cb_buffer_size": str(MIB)}),
        Hints("buffers of 64 MiB", {"romio_cb_write": "enable", "cb_buffer_size": str(64 * MIB)}),
    ]
    if file_system in STRIPED:
        romio += [
            Hints(f"{n} stripes", {"striping_factor": str(n), "striping_unit": str(4 * MIB)}) for n in (4, 16)
        ]
    if family != "openmpi":
        return [DEFAULT, *romio]
    other = {"io": "romio321" if version.startswith("4.") else "romio341"}
    return [
        DEFAULT,
        *(Hints(f"fcoll {name}", {}, {"fcoll": name}) for name in ("vulcan", "dynamic_gen2", "individual")),
        *(
            Hints(f"{n} of {ranks} ranks write", {}, {"io_ompio_num_aggregators": str(n)})
            for n in sorted({1, ranks})
        ),
        Hints("buffers of 1 MiB", {}, {"io_ompio_bytes_per_agg": str(MIB)}),
        Hints("romio", {}, other),
        *(Hints(f"romio, {r.name}", r.hints, other) for r in romio[1:4]),
    ]
