"""Units of work, shots or blocks of an image, dealt among groups of ranks: each takes the next one that is not done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

from subsalt.parallel.comm import Comm
from subsalt.parallel.watchdog import note
from subsalt.run import quarantine
from subsalt.run.deal import Deal, Dealer, Player, Told
from subsalt.run.facts import log_event
from subsalt.run.groups import Groups
from subsalt.run.ledger import Ledger, Wavefield
from subsalt.run.live import Live
from subsalt.timing import Phases


class HasId(Protocol):
    """A unit of work."""

    @property
    def id(self) -> int:
        """Number of the unit in the ledger."""


Unit = TypeVar("Unit", bound=HasId)

#: ``progress(done, total, message)``: `done` of `total` units, fractions included
Progress = Callable[..., None]
#: ``report(unit, fraction)``: how much of a unit is done; a third number may count what was computed for it
Report = Callable[..., None]


def deal_units(
    groups: Groups,
    one: Callable[[Unit, Unit | None, Report], Told],
    left: Sequence[Unit],
    total: int,
    clock: Phases,
    ledger: Ledger | None,
    progress: Progress | None,
    live: Live | None = None,
    unit: str = "shot",
) -> None:
    """Let every group take the next of the units that are left, until there are none; collective over all ranks.

    Parameters
    ----------
    groups : Groups
        This rank's group.
    one : callable
        ``one(unit, ahead, report)`` does a unit and says what became of it; `ahead`: the next one, where known.
    left : sequence of units
        To be done, in this order.
    total : int
        Units of the run, those done before included.
    clock : Phases
        Takes the seconds of waiting.
    ledger : Ledger, optional
        On rank 0, where what becomes of shots is kept.
    progress : callable, optional
        Called on rank 0.
    live : Live, optional
        On rank 0.
    unit : str
        What a unit is called where people see it.
    """
    deal = Deal([s.id for s in left], len(groups.sizes))
    if ledger is not None:
        deal.on_start, deal.on_told = partial(_start, ledger, live), partial(_record, ledger, live)
    if live is not None:
        deal.on_heard = live.at
        live.shots(deal, len(left), total)
    dealer: Dealer | Player
    if groups.world.is_root:
        dealer = Dealer(deal, groups.channel, len(groups.sizes) - 1)
    else:
        dealer, progress = Player(groups.channel), None

    def report(work: HasId | None, fraction: float, count: int = 0) -> None:
        dealer.poll()
        if work is not None:
            note(f"{unit} {work.id}, {fraction:.0%}")
            if groups.group.is_root:
                dealer.tell(work.id, fraction, clock.current, count)
        if progress is not None:
            message = "waiting for other groups" if work is None else f"{unit} {work.id}"
            progress(total - len(left) + deal.finished + fraction, total, message)

    with dealer:
        if not groups.idle:
            _take(groups.group, dealer, {s.id: s for s in left}, one, clock, report, unit)
            note("")
        with clock("waiting for other groups"):
            dealer.wait(lambda: report(None, 0.0))
            groups.rest()
    if progress is not None and left and deal.finished == len(left):
        progress(total, total, "")


def _take(
    group: Comm,
    dealer: Dealer | Player,
    units: Mapping[int, Unit],
    one: Callable[[Unit, Unit | None, Report], Told],
    clock: Phases,
    report: Report,
    unit: str,
) -> None:
    """Take units from the dealer until there are none; collective over the group."""
    told: Told | None = None
    ready: int | None = None
    while True:
        with clock(f"waiting for a {unit}"):
            task = group.bcast(dealer.next(told, ready) if group.is_root else None)
        if task["shot"] is None:
            return
        ready = task["ahead"]
        told = one(units[task["shot"]], None if ready is None else units[ready], report)


def _start(ledger: Ledger, live: Live | None, shot: int, rank: int) -> None:
    """Write into the ledger that a group has begun with a shot."""
    ledger.start(shot)
    if live is not None:
        live.started(shot, rank)


def _record(ledger: Ledger, live: Live | None, told: Told) -> bool:
    """Write into the ledger and the log of events what became of a shot; return whether it is tried again."""
    shot = told["shot"]
    aside = "reason" in told and quarantine.fail(ledger, shot, told["reason"])
    if live is not None:
        live.over(shot, told.get("counted"))
    if "reason" in told:
        what = "quarantined" if aside else "failed"
        log_event(ledger.folder, event=what, **{ledger.unit: shot}, reason=told["reason"])
        return not aside
    quarantine.forget(ledger.folder, shot)
    if "damaged" in told:
        log_event(ledger.folder, event="damaged", **{ledger.unit: shot}, reason=told["damaged"])
    if "wavefields" in told:
        kept = [Wavefield.of(shot, w | {"folders": ledger.scratch}) for w in told["wavefields"]]
        ledger.keep_wavefields(shot, kept)
        log_event(ledger.folder, event="kept", shot=shot, wavefields=[vars(w) for w in kept])
    ledger.finish(shot, told["sha256"], told["seconds"])
    done = {"seconds": round(told["seconds"], 3), "sha256": told["sha256"]}
    done |= {k: told[k] for k in ("checkpoint", "facts", "by") if told.get(k)}
    log_event(ledger.folder, event="done", **{ledger.unit: shot}, **done)
    return False
