"""The barriers a program calls, what they cost, and which of them it can do without.

A trial runs the program with and without some of them: what that saves, and where the time goes instead.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from subsalt.errors import ConfigError, DataError, SubsaltError
from subsalt.machine import programs
from subsalt.machine.load import Watch
from subsalt_lab.barriers.classes import Judgement, bound, judge
from subsalt_lab.barriers.records import BarrierRecord
from subsalt_lab.pmpi import run as pmpi
from subsalt_lab.pmpi.places import shown
from subsalt_lab.pmpi.records import MpiProfile
from subsalt_lab.result import Result, Say
from subsalt_lab.trials import Settings, TrialCommand, Trials, trials

#: phases of our own runs in which time steps are made
TIME_STEPS = ("source", "receivers", "propagation")

UNITS = {
    "seconds": "s, summed over ranks",
    "percent_of_wall": "%",
    "late_share": "part of seconds",
    "own_cost": "s",
    "bound": "s",
}


@dataclass(frozen=True)
class Site:
    """One place that calls barriers.

    Parameters
    ----------
    number : int
        In the table, from 1.
    name : str
        Name of the place, as the interposer gives it.
    place : str
        Name of the place in tables: the line of source where it is known.
    records : tuple of BarrierRecord
        One for each communicator and phase.
    """

    number: int
    name: str
    place: str
    records: tuple[BarrierRecord, ...]

    @property
    def judgement(self) -> Judgement:
        """Its class, why, and what leaving it out saves at most."""
        return judge(self.records)

    @property
    def kind(self) -> str:
        """Its class."""
        return self.judgement.kind

    def row(self, wall: float) -> dict[str, Any]:
        """Return its row of the table.

        Parameters
        ----------
        wall : float
            Seconds of the run, summed over ranks.
        """
        judgement = self.judgement
        seconds = sum(sum(r.seconds) for r in self.records)
        known = [r for r in self.records if r.late_share is not None]
        stored = sum(sum(r.stored_seconds) for r in known)
        own = sum(r.comm_size * r.own for r in known)
        follows: dict[str, int] = {}
        for f in (f for r in self.records for f in r.follows):
            follows[f.call] = follows.get(f.call, 0) + f.calls
        return {
            "number": self.number,
            "site": self.name,
            "place": self.place,
            "call": self.records[0].call,
            "comm": _list(r.comm for r in self.records),
            "comm_size": ",".join(map(str, sorted({r.comm_size for r in self.records}))),
            "phase": _list(r.phase for r in self.records),
            "count": sum(r.count for r in self.records),
            "calls": sum(sum(r.calls) for r in self.records),
            "seconds": seconds,
            "percent_of_wall": 100.0 * seconds / wall if wall > 0 else None,
            "late_share": max(0.0, 1.0 - own / stored) if stored > 0 else None,
            "own_cost": sum(r.own_cost or 0.0 for r in known) if known else None,
            "next": ", ".join(sorted(follows, key=lambda c: (-follows[c], c))),
            "class": judgement.kind,
            "reason": judgement.reason,
            "bound": judgement.bound,
            "verdict": judgement.text,
            "records": [r.to_dict() for r in self.records],
        }


def sites_of(records: Sequence[BarrierRecord], places: Mapping[str, str] | None = None) -> list[Site]:
    """Return the places in the order of the program text: another run gives them the same numbers.

    Parameters
    ----------
    records : sequence of BarrierRecord
        Records of all places.
    places : mapping of str to str, optional
        Names of the places in tables.
    """
    by_site: dict[str, list[BarrierRecord]] = {}
    for r in records:
        by_site.setdefault(r.site, []).append(r)
    return [
        Site(i + 1, name, (places or {}).get(name, name), tuple(by_site[name]))
        for i, name in enumerate(sorted(by_site, key=_in_text))
    ]


def _in_text(site: str) -> tuple[str, int]:
    """Return what sorts places: the file, then the line or the offset as a number."""
    if m := re.fullmatch(r"(.*)(?:\+0x([0-9a-f]+)|:(\d+))", site):
        return m[1], int(m[2], 16) if m[2] else int(m[3])
    return site, 0


def result_of(profile: MpiProfile, watch: Watch, command: str) -> tuple[Result, list[Site]]:
    """Return the audit of a profile, and its sites.

    Parameters
    ----------
    profile : MpiProfile
        Profile that the interposer recorded.
    watch : Watch
        Who else used the processor meanwhile.
    command : str
        Command that was run.
    """
    records = profile.barriers
    names = {r.site: shown(r.site, profile.places, Path.cwd()) for r in records}
    sites = sites_of(records, names)
    wall = sum(profile.wall)
    notes = list(profile.notes)
    if not sites:
        notes.append("the program calls no barrier")
    if any(s.kind != "keep" for s in sites):
        notes.append("an upper bound is the most that could be saved, no promise")
    if any(r.wildcard for r in records):
        notes.append("a receive or probe from any source is in the run")
    if any(r.ready for r in records):
        notes.append(
            "a ready send is in the run: its receive must be posted before, and a barrier may see to that"
        )
    result = Result(
        "barriers",
        {"command": command, "mpi": profile.mpi, "ranks": profile.ranks, "wall": profile.mean_wall},
        [s.row(wall) for s in sites],
        UNITS,
        watch.facts(),
        [*notes, *filter(None, [watch.text()])],
        more={"phases": phases_of(profile), "trial": None},
    )
    return result, sites


def phases_of(profile: MpiProfile) -> list[dict[str, Any]]:
    """Return seconds, those of it waiting between looks at MPI, those in MPI, and barriers of every phase.

    Nothing of a program that tells no phases.
    """
    if not any(p.phase for p in profile.phases):
        return []
    by_phase: dict[str, dict[str, Any]] = {}
    for p in profile.phases:
        name = p.phase.removesuffix(", waiting") or "outside of phases"
        row = by_phase.setdefault(
            name, {"phase": name, "seconds": 0.0, "waiting": 0.0, "mpi_seconds": 0.0, "barrier_calls": 0}
        )
        mean = sum(p.per_rank) / len(p.per_rank)
        row["seconds"] += mean
        row["waiting"] += mean if p.waiting else 0.0
        calls = [c for c in profile.calls if c.phase == p.phase]
        row["mpi_seconds"] += sum(c.seconds for c in calls) / profile.ranks
        # of all ranks: on parts of them a barrier is met by these alone
        row["barrier_calls"] += sum(c.calls for c in calls if c.call in ("MPI_Barrier", "MPI_Ibarrier"))
    return list(by_phase.values())


def time_steps(phases: Sequence[Mapping[str, Any]]) -> str:
    """Return the line on barriers between time steps, empty for a program that makes none."""
    ours = [p for p in phases if p["phase"] in TIME_STEPS]
    if not ours:
        return ""
    n = sum(p["barrier_calls"] for p in ours)
    return f"time steps ({', '.join(p['phase'] for p in ours)}): {n} barrier{'s' * (n != 1)}"


def _list(names: Any, most: int = 3) -> str:
    """Return distinct names as a list that stays short."""
    distinct = sorted({n for n in names if n})
    if len(distinct) > most:
        return ", ".join(distinct[: most - 1]) + f" and {len(distinct) - most + 1} more"
    return ", ".join(distinct)


#: the variable that the interposer reads
VARIABLE = "SUBSALT_PMPI_SKIP"
ALL = "all-candidates"


def variable(sites: Sequence[Site]) -> dict[str, str]:
    """Return the variable that leaves out the barriers of these sites."""
    return {VARIABLE: ";".join(_quoted(s.name) for s in sites)}


def _quoted(name: str) -> str:
    """Return a name without a sign that a launcher, or a list, could take for something else: those are %XX."""
    return "".join(
        chr(b) if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "/.+:_-") else f"%{b:02X}"
        for b in name.encode(errors="surrogateescape")
    )


def chosen(wanted: str, sites: Sequence[Site]) -> list[Site]:
    """Return the sites that `wanted` names.

    Parameters
    ----------
    wanted : str
        Numbers of the table or names, between commas, or ``all-candidates``.
    sites : sequence of Site
        Those of the audit.

    Raises
    ------
    ConfigError
        When there is no barrier, or none of that number or name (E924).
    """
    if not sites:
        raise _none("the program calls no barrier: there is nothing to try", "leave --try out")
    if wanted.strip() == ALL:
        return [s for s in sites if s.kind == "candidate"]
    named: list[Site] = []
    for word in filter(None, (w.strip() for w in wanted.split(","))):
        some = [s for s in sites if word in (str(s.number), s.name, s.place)]
        if not some:
            have = ", ".join(f"{s.number} ({s.place})" for s in sites[:6]) + (
                ", ..." if len(sites) > 6 else ""
            )
            raise _none(f"--try {word}: there is no such site", f"choose from {have}, or {ALL}")
        named += [s for s in some if s not in named]
    if not named:
        raise _none(
            f"--try {wanted!r} names no site", f"give numbers of the table such as --try 1,3, or {ALL}"
        )
    return named


def _none(message: str, fix: str) -> ConfigError:
    error = ConfigError(message, fix, code="E924")
    error.exit_code = 2
    return error


def read_sites(file: Path) -> list[Site]:
    """Return the sites of an audit that was written with --out.

    Raises
    ------
    DataError
        When the file is none (E925).
    """
    try:
        content = json.loads(file.read_text())
        if content["measurement"] != "barriers":
            raise ValueError(f"it is a measurement of {content['measurement']}")
        records = [BarrierRecord.from_dict(r) for row in content["rows"] for r in row["records"]]
        places = {row["site"]: row["place"] for row in content["rows"]}
    except OSError as error:
        raise _no_audit(file, error.strerror or "it cannot be read") from None
    except (ValueError, KeyError, TypeError) as error:
        raise _no_audit(file, str(error) or type(error).__name__) from None
    return sites_of(records, places)


def _no_audit(file: Path, why: str) -> DataError:
    return DataError(
        f"{file} is no audit of barriers: {why}",
        "make one with subsalt lab barriers --out FILE -- mpiexec -n 4 PROGRAM",
        code="E925",
    )


#: rows of the table beside those of barriers and of the calls that follow them
OTHERS = 3


@dataclass(frozen=True)
class Attempt:
    """Result of a trial that leaves barriers out.

    Parameters
    ----------
    sites : tuple of str
        Whose barriers were left out, as tables call them.
    bound : float, optional
        Seconds that could be saved at most, by the times of the runs with all barriers: median over rounds.
    trials : Trials
        Times and outputs.
    rows : tuple of mapping
        Calls before and after, as table T3 of document 002; medians over rounds.
    """

    sites: tuple[str, ...]
    bound: float | None
    trials: Trials
    rows: tuple[Mapping[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "sites": list(self.sites),
            "bound": self.bound,
            **self.trials.to_dict(),
            "text": verdict(self),
            "rows": [dict(r) for r in self.rows],
        }


def attempt(
    words: Sequence[str],
    sites: Sequence[Site],
    settings: Settings,
    *,
    library: Path | None = None,
    say: Say = lambda text: None,
) -> Attempt:
    """Run a launch line with and without the barriers of some sites.

    Parameters
    ----------
    words : sequence of str
        The launch line.
    sites : sequence of Site
        Whose barriers are left out.
    settings : Settings
        Rounds, outputs, limits.
    library : path, optional
        The libmpi of the program where it cannot be found out.
    say : callable
        Callback for progress text.

    Raises
    ------
    SubsaltError
        When a site is not reached in the trial (E924), or the program fails or hangs without the barriers (E923).
    """
    named = "site " + ", ".join(str(s.number) for s in sites)
    with (
        pmpi.arranged(words, library=library) as with_all,
        pmpi.arranged(words, library=library, extra=variable(sites)) as without,
    ):
        profiles = {"a": Profiles(with_all.read), "b": Profiles(without.read)}

        def run(given: Sequence[str], **options: Any) -> programs.Ran:
            return programs.run(given, **options)

        def after(key: str, ran: programs.Ran) -> None:
            profiles[key].take()
            if key == "b":
                _reached(profiles["b"].taken[-1], sites)

        compared = trials(
            TrialCommand("with all barriers", with_all.words, with_all.environment),
            TrialCommand(f"without the barriers of {named}", without.words, without.environment),
            replace(settings, oversubscribed_ok=True),
            after=after,
            run=run,
            say=say,
        )
    return Attempt(
        tuple(s.place for s in sites),
        bound_of(profiles["a"].taken, sites),
        compared,
        tuple(moved(profiles["a"].taken, profiles["b"].taken, sites)),
    )


class Profiles:
    """The profiles of the runs of one way, in their order."""

    def __init__(self, read: Callable[[], MpiProfile]) -> None:
        self.read = read
        self.taken: list[MpiProfile] = []

    def take(self) -> None:
        """Read the profile of the run that has just ended."""
        self.taken.append(self.read())


def _reached(profile: MpiProfile, sites: Sequence[Site]) -> None:
    """Refuse a trial that left nothing out: it would say that barriers cost nothing."""
    skipped = {r.site for r in profile.barriers if any(r.skipped)}
    for s in sites:
        if s.name not in skipped:
            raise SubsaltError(
                f"no barrier of {s.place} was left out: the program does not come there",
                "make the audit again: the program, its arguments or its input are others than then",
                code="E924",
            )


def bound_of(profiles: Sequence[MpiProfile], sites: Sequence[Site]) -> float | None:
    """Return the seconds that leaving out these sites together saves at most, median over runs; None without a run."""
    names = {s.name for s in sites}
    bounds = [bound([r for r in p.barriers if r.site in names], names) for p in profiles]
    return statistics.median(bounds) if bounds else None


def moved(
    before: Sequence[MpiProfile], after: Sequence[MpiProfile], sites: Sequence[Site]
) -> list[dict[str, Any]]:
    """Return the rows of the table before and after: barriers, what follows them, and what changed most beside.

    Parameters
    ----------
    before, after : sequence of MpiProfile
        Profiles of every round with all barriers, and without some.
    sites : sequence of Site
        Whose barriers were left out.
    """
    if not before or not after:
        return []
    names = {c.call for p in (*before, *after) for c in p.calls}
    rows = {name: _row(name, before, after) for name in names}
    first = ["MPI_Barrier"]
    follows = [f.call for s in sites for r in s.records for f in r.follows if f.call != "MPI_Barrier"]
    first += [name for name in dict.fromkeys(follows) if name in rows]
    others = sorted(names - set(first), key=lambda n: (-abs(rows[n]["moved"]), n))
    # below one percent of what changed there is nothing to see
    least = 0.01 * max((abs(r["moved"]) for r in rows.values()), default=0.0)
    chosen = [n for n in first if n in rows] + [n for n in others[:OTHERS] if abs(rows[n]["moved"]) > least]
    total = _total(before, after)
    return [*(rows[n] for n in chosen), total]


def _row(name: str, before: Sequence[MpiProfile], after: Sequence[MpiProfile]) -> dict[str, Any]:
    def middle(profiles: Sequence[MpiProfile]) -> tuple[float, float, int]:
        each = [[c for c in p.calls if c.call == name] for p in profiles]
        seconds = [sum(c.seconds for c in some) for some in each]
        shares = [
            100.0 * s / sum(p.mpi_seconds) if sum(p.mpi_seconds) > 0 else 0.0
            for s, p in zip(seconds, profiles, strict=True)
        ]
        calls = [sum(c.calls for c in some) for some in each]
        return statistics.median(seconds), statistics.median(shares), int(statistics.median(calls))

    return _pair(name, middle(before), middle(after))


def _total(before: Sequence[MpiProfile], after: Sequence[MpiProfile]) -> dict[str, Any]:
    def middle(profiles: Sequence[MpiProfile]) -> tuple[float, float, int]:
        seconds = [sum(p.mpi_seconds) for p in profiles]
        calls = [sum(c.calls for c in p.calls) for p in profiles]
        return statistics.median(seconds), 100.0, int(statistics.median(calls))

    return _pair("all of MPI", middle(before), middle(after))


def _pair(name: str, a: tuple[float, float, int], b: tuple[float, float, int]) -> dict[str, Any]:
    return {
        "call": name,
        "before": a[0],
        "before_percent": a[1],
        "before_calls": a[2],
        "after": b[0],
        "after_percent": b[1],
        "after_calls": b[2],
        "moved": b[0] - a[0],
    }


def verdict(tried: Attempt) -> str:
    """Return the sentence on what was saved."""
    t = tried.trials
    if t.paired is None:
        return "no time was taken: the outputs differ"
    n, names = len(t.seconds_a), ", ".join(t.compared[:3]) + (" and others" if len(t.compared) > 3 else "")
    same = f"the same outputs in all runs ({names})" if t.identical else "different outputs"
    if not t.compared:
        same = "it prints nothing, so that nothing was compared: name files with --outputs"
    middle = statistics.median(t.seconds_a)
    p = t.paired
    numbers = (
        f"{p.median_saving:+.3g} s ({p.low:+.3g} to {p.high:+.3g} s, 95 %) of {middle:.3g} s, "
        f"that is {100 * p.median_saving / middle:+.2g} %, {n} rounds; {same}"
    )
    if t.load.get("noisy"):
        numbers += "; measured while others used the processor"
    if t.oversubscribed:
        return f"not judged, for there are more ranks than cores: {numbers}"
    if t.verdict == "saving":
        return f"saving {numbers}"
    if t.verdict == "loss":
        return f"slower without these barriers: saving {numbers}"
    return f"no significant change: saving {numbers}"
