"""What `subsalt lab collectives` does: measure, decide, draw, write what this MPI loads, prove it, verify it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from subsalt.cli.lab_commands import nothing_kept, possible, progress, show
from subsalt.cli.output import Out, plain, printable
from subsalt.errors import DiskError
from subsalt.host import usable_cores
from subsalt.io.publish import publish_text
from subsalt.lab.asked import choices, wrong
from subsalt.lab.collectives import request as asked
from subsalt.lab.collectives import tuning
from subsalt.lab.collectives.from_profile import LEAST_SHARE, Heavy, heavy, wanted
from subsalt.lab.collectives.knobs import Threads
from subsalt.lab.collectives.request import Request
from subsalt.lab.collectives.tuning import Tuning
from subsalt.lab.pmpi.mpi_in_use import MpiInUse
from subsalt.lab.pmpi.records import load
from subsalt.lab.table import Column, render

HEAVY = (
    Column("collective", "collective"),
    Column("ranks", "ranks", "d"),
    Column("bytes", "mean bytes", ",d"),
    Column("share", "% of wall", ".1f", 100),
)


@dataclass(frozen=True)
class Asked:
    """What the command line asks for; the names are those of the options."""

    np: list[str] | None = None
    sizes: list[str] | None = None
    collectives: list[str] | None = None
    from_profile: Path | None = None
    quick: bool = False
    rounds: int = asked.LEAST_ROUNDS
    starts: int | None = None
    thread_level: str = "multiple"
    oversubscribe_ok: bool = False
    folder: Path = Path("collectives")
    launcher: str | None = None
    timeout: float = 600.0

    def request(self) -> tuple[Request, list[Heavy] | None]:
        """Return what is measured, and with a profile what of it takes time.

        Raises
        ------
        ConfigError
            When options ask for what cannot be, or do not belong together (E128).
        """
        names = asked.collectives_of(self.collectives)
        threads = cast(Threads, choices("--thread-level", [self.thread_level], ("multiple", "single"), ())[0])
        places: list[Heavy] | None = None
        if self.from_profile is not None:
            for option, value in (("--np", self.np), ("--sizes", self.sizes)):
                if value is not None:
                    raise wrong(
                        f"{option} and --from-profile: the profile says which ranks and sizes",
                        f"leave out {option}, or the profile",
                    )
            places = [h for h in heavy(load(self.from_profile)) if h.collective in names]
            what = wanted(places)
        else:
            sizes = self.sizes or [asked.QUICK_SIZES if self.quick else asked.SIZES]
            ranks = asked.ranks_of(self.np, usable_cores())
            what = asked.everything(ranks, names, asked.sizes_of(sizes))
        request = Request(
            what,
            self.rounds,
            self.starts or (asked.LEAST_STARTS if self.quick else 5),
            threads,
            self.oversubscribe_ok,
            self.timeout,
        )
        return request, places


def collectives(given: Asked, how: str, file: Path | None, as_json: bool) -> None:
    """Measure, decide, draw, and write what carries a switch."""
    possible(file, how)
    request, places = given.request()
    _folder(given.folder)
    out = Out(as_json)
    if places is not None:
        _say_places(out, places, how)
        if not places:
            out.json({"measurement": "collectives", "rows": [], "choices": [], "notes": [NOTHING]})
            return
    mpi = MpiInUse.find(given.launcher)
    with nothing_kept():
        result = tuning.tune(mpi, request, say=progress)
    show(out, result, [render(result.rows, tuning.COLUMNS, how)], how)
    for path in _pictures(result, given.folder):
        progress(f"picture   {printable(str(path))}")
    if file is not None:
        publish_text(file, json.dumps(plain(result.to_dict()), allow_nan=False) + "\n")
    out.json(plain(result.short()))


NOTHING = f"no collective takes more than {LEAST_SHARE:.0%} of the time of that program: nothing to tune"


def _say_places(out: Out, places: list[Heavy], how: str) -> None:
    """Print what of the profile is tuned."""
    if how == "csv":
        return
    if not places:
        out.say(NOTHING)
        return
    out.say("collectives of the profile; waiting for late ranks is in their share, which no algorithm saves")
    rows = [
        {"collective": h.collective, "ranks": h.ranks, "bytes": h.nbytes, "share": h.share} for h in places
    ]
    out.say(render(rows, HEAVY, how))
    out.say()


def _folder(folder: Path) -> None:
    """Refuse a folder that cannot be written, before anything is measured."""
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise DiskError(f"{folder} cannot be made", "give another folder with --folder", code="E620")


def _pictures(result: Tuning, folder: Path) -> list[Path]:
    """Draw the result; returns the files."""
    from subsalt.view.collective_pictures import collective_pictures

    if not result.rows:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    s = result.settings
    marked = "" if result.applicable else " · measured under load: never applied"
    about = f"{s['mpi']} · {result.machine['cpu']} · {s['starts']} starts of {s['rounds']} rounds{marked}"
    return collective_pictures(result.rows, folder, about)
