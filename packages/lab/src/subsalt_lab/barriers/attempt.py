"""Runs of a program with and without some of its barriers: what that saves, and where the time goes instead."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from subsalt.errors import SubsaltError
from subsalt.machine import launcher
from subsalt_lab.barriers.audit import Site, variable
from subsalt_lab.barriers.classes import bound
from subsalt_lab.pmpi import run as pmpi
from subsalt_lab.pmpi.records import Profile
from subsalt_lab.result import Say
from subsalt_lab.trials import Settings, Trials, Way, trials

#: rows of the table beside those of barriers and of the calls that follow them
OTHERS = 3


@dataclass(frozen=True)
class Attempt:
    """What leaving barriers out did.

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
        Told what is being run.

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
        kept = {"a": Profiles(with_all.read), "b": Profiles(without.read)}

        def run(given: Sequence[str], **options: Any) -> launcher.Ran:
            return launcher.run(given, **options)

        def after(key: str, ran: launcher.Ran) -> None:
            kept[key].take()
            if key == "b":
                _reached(kept["b"].found[-1], sites)

        found = trials(
            Way("with all barriers", with_all.words, with_all.environment),
            Way(f"without the barriers of {named}", without.words, without.environment),
            replace(settings, oversubscribed_ok=True),
            after=after,
            run=run,
            say=say,
        )
    return Attempt(
        tuple(s.place for s in sites),
        bound_of(kept["a"].found, sites),
        found,
        tuple(moved(kept["a"].found, kept["b"].found, sites)),
    )


class Profiles:
    """The profiles of the runs of one way, in their order."""

    def __init__(self, read: Callable[[], Profile]) -> None:
        self.read = read
        self.found: list[Profile] = []

    def take(self) -> None:
        """Read the profile of the run that has just ended."""
        self.found.append(self.read())


def _reached(profile: Profile, sites: Sequence[Site]) -> None:
    """Refuse a trial that left nothing out: it would say that barriers cost nothing."""
    skipped = {r.site for r in profile.barriers if any(r.skipped)}
    for s in sites:
        if s.name not in skipped:
            raise SubsaltError(
                f"no barrier of {s.place} was left out: the program does not come there",
                "make the audit again: the program, its arguments or its input are others than then",
                code="E924",
            )


def bound_of(profiles: Sequence[Profile], sites: Sequence[Site]) -> float | None:
    """Return the seconds that leaving out these sites together saves at most, median over runs; None without a run."""
    names = {s.name for s in sites}
    found = [bound([r for r in p.barriers if r.site in names], names) for p in profiles]
    return statistics.median(found) if found else None


def moved(before: Sequence[Profile], after: Sequence[Profile], sites: Sequence[Site]) -> list[dict[str, Any]]:
    """Return the rows of the table before and after: barriers, what follows them, and what changed most beside.

    Parameters
    ----------
    before, after : sequence of Profile
        Of every round with all barriers, and without some.
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


def _row(name: str, before: Sequence[Profile], after: Sequence[Profile]) -> dict[str, Any]:
    def middle(profiles: Sequence[Profile]) -> tuple[float, float, int]:
        each = [[c for c in p.calls if c.call == name] for p in profiles]
        seconds = [sum(c.seconds for c in some) for some in each]
        shares = [
            100.0 * s / sum(p.mpi_seconds) if sum(p.mpi_seconds) > 0 else 0.0
            for s, p in zip(seconds, profiles, strict=True)
        ]
        calls = [sum(c.calls for c in some) for some in each]
        return statistics.median(seconds), statistics.median(shares), int(statistics.median(calls))

    return _pair(name, middle(before), middle(after))


def _total(before: Sequence[Profile], after: Sequence[Profile]) -> dict[str, Any]:
    def middle(profiles: Sequence[Profile]) -> tuple[float, float, int]:
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


def verdict(found: Attempt) -> str:
    """Return the sentence on what was saved."""
    t = found.trials
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
