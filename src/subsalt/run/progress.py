"""The progress of a computation: the callback of runners, shown as lines or as a bar.

A runner calls ``progress(done, total, message)`` as often as it likes: `done` of `total` shots or blocks, fractions
included. On a terminal that moves a bar; elsewhere it prints a line after 30 seconds and then ever more rarely, so
that the log of a batch job of days has about a hundred. Under mpiexec rank 0 alone shows anything.

`subsalt watch` shows the progress in a run directory: shots done, running, failed, rate, time left. It takes no lock
and writes nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TextIO

from subsalt.host import human
from subsalt.io.publish import free_bytes
from subsalt.io.regular_files import read_json
from subsalt.methods import method_of_run
from subsalt.parallel.comm import speaks
from subsalt.run.ledger_file import peek
from subsalt.run.live import NAME as PROGRESS
from subsalt.run.live import read_progress
from subsalt.run.lock import is_alive, read_lease
from subsalt.run.stop_request import require_run

#: seconds between the first lines where no terminal is
LINE_INTERVAL = 30.0
#: later a line comes when this part of the time so far has passed since the last: ten days make 85 lines more
LINE_SHARE = 0.1


class Progress(Protocol):
    """Callback by which a run reports its progress."""

    def __call__(self, done: float, total: float, message: str = "") -> None:
        """Report that `done` of `total` shots are finished."""


def silent(done: float, total: float, message: str = "") -> None:
    """Show nothing."""


def duration(seconds: float) -> str:
    """Return h:mm:ss, or m:ss below an hour."""
    s = round(max(0.0, seconds))
    h, m = divmod(s // 60, 60)
    return f"{h}:{m:02d}:{s % 60:02d}" if h else f"{m}:{s % 60:02d}"


#: with fewer units than these, each takes long: the progress within units is shown in percent of all
FEW = 10


def far(done: float, total: float, units: str) -> str:
    """Return how far `done` of `total` is: ``37 % of 2 blocks``, or ``12.5/80 blocks``."""
    if not 0 < total < FEW:
        return f"{done:.4g}/{total:g} {units}"
    return f"{100 * done / total:.0f} % of {total:g} {units.removesuffix('s') if total == 1 else units}"


class Lines:
    """One line per `interval` seconds at first, later more rarely, and one at the end."""

    def __init__(
        self,
        label: str,
        stream: TextIO | None = None,
        interval: float = LINE_INTERVAL,
        units: str = "shots",
    ) -> None:
        self.label, self.stream, self.interval, self.units = label, stream or sys.stderr, interval, units
        self.begin = self.last = time.monotonic()
        self.first_done: float | None = None
        self.before = 0.0
        self.finished = False

    def __call__(self, done: float, total: float, message: str = "") -> None:
        """Show that `done` of `total` shots are finished."""
        now = time.monotonic()
        if (
            self.first_done is None or done < self.before
        ):  # the first call, or a new stage of the same command
            self.first_done, self.begin, self.last, self.finished = done, now, now, False
        self.before = done
        at_end = done >= total and not self.finished
        if now - self.last < max(self.interval, LINE_SHARE * (now - self.begin)) and not at_end:
            return
        self.last, self.finished = now, done >= total
        made = done - self.first_done
        eta = (
            f"  eta {duration((now - self.begin) * (total - done) / made)}"
            if made > 0 and done < total
            else ""
        )
        text = f"{self.label} {far(done, total, self.units)}  {duration(now - self.begin)}{eta}  {message}".rstrip()
        print(text, file=self.stream, flush=True)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Silent:
    """Nothing, on all ranks but the first."""

    def __call__(self, done: float, total: float, message: str = "") -> None:
        """Show nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Bar:
    """A moving bar on a terminal."""

    def __init__(self, label: str, units: str = "shots") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self.bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[shown]}"),
            TextColumn("elapsed"),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.label, self.units = label, units
        self.task: Any = None

    def __call__(self, done: float, total: float, message: str = "") -> None:
        """Show that `done` of `total` shots are finished."""
        if self.task is None:
            self.task = self.bar.add_task(self.label, total=total, shown="")
        shown = f"{far(done, total, self.units)} {message}"
        self.bar.update(self.task, completed=done, total=total, shown=shown)

    def __enter__(self) -> Bar:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()


def for_stream(label: str, stream: TextIO | None = None, units: str = "shots") -> Bar | Lines | Silent:
    """Return a bar when standard error is a terminal, else lines; nothing on all ranks but the first."""
    if not speaks():
        return Silent()
    stream = stream or sys.stderr
    return Bar(label, units) if stream.isatty() else Lines(label, stream, units=units)


#: seconds after which a run on another machine, which cannot be asked, counts as silent
SILENT = 30.0
#: shots in hand that are listed
MOST = 32


@dataclass(frozen=True)
class Running:
    """A shot that is being computed."""

    shot: int
    fraction: float
    phase: str
    rank: int
    host: str
    seconds: float


@dataclass(frozen=True)
class View:
    """A run at one moment.

    Parameters
    ----------
    state : str
        ``running``, ``stopping``, ``finished``, ``finished with holes``, ``stopped``, ``failed``, ``killed``,
        ``not started``; ``silent`` when the owner on another machine has not said anything for a while.
    why : str
        Reason of the end, where it is known.
    owner : str
        Process that runs or ran there, and its host.
    phase : str
        Current phase of rank 0.
    shots : dict
        Numbers by state: total, done, running, planned, failed (tried again), quarantined.
    running : list of Running
        Shots that are being computed.
    unit : str
        Kind of the units that `shots` and `running` count: shot, or block of a time migration.
    rate : float or None
        Shots per hour of this start.
    count_rate : float or None
        Contributions per second of this start, of a time migration.
    elapsed, left : float or None
        Seconds since this start, and still needed for the shots.
    scratch, free : int
        Bytes of snapshots, and free on the disk of the run.
    quarantined : list of dict
        Quarantined shots, and why.
    said : str
        When the run spoke last, UTC.
    by : str
        The device: a GPU by its name, or the instruction set of the processor.
    round : int or None
        The current or last round of a method that has several; all other numbers count all rounds.
    misfit : sequence of float
        Misfit over that of the start by iteration, of a method that iterates.
    """

    run: str
    state: str
    why: str
    owner: str
    phase: str
    shots: dict[str, int]
    running: list[Running] = field(default_factory=list)
    unit: str = "shot"
    rate: float | None = None
    count_rate: float | None = None
    elapsed: float | None = None
    left: float | None = None
    scratch: int = 0
    free: int = 0
    quarantined: list[dict[str, Any]] = field(default_factory=list)
    said: str = ""
    by: str = ""
    round: int | None = None
    misfit: Sequence[float] = ()
    misfit_of: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing changes any more."""
        return self.state not in ("running", "stopping", "silent")

    def to_dict(self) -> dict[str, Any]:
        """Return it for ``--json``; with round and misfit where there are any."""
        known = {
            "round": self.round is not None,
            "misfit": bool(self.misfit),
            "misfit_of": bool(self.misfit_of),
        }
        return {k: v for k, v in asdict(self).items() if known.get(k, True)}


def view_of(folder: Path) -> View:
    """Look at a run directory.

    Raises
    ------
    MissingInputError, ConfigError
        When it is no run directory.
    """
    require_run(folder)
    progress, lease = read_progress(folder), read_lease(folder)
    rows = peek(folder)
    state, why = _state(folder, progress, lease)
    at_work = state in ("running", "stopping", "silent")
    shots = dict.fromkeys(("total", "done", "running", "planned", "failed", "quarantined"), 0)
    ahead = int(_number(progress.get("ahead")) or 0) if at_work else 0
    shots["total"] = shots["planned"] = ahead
    shots["total"] += len(rows)
    for row in rows:
        name = str(row["state"])
        if name == "running" and not at_work:
            name = "planned"  # nobody works on it any more
        shots[name] = shots.get(name, 0) + 1
        shots["failed"] += name != "quarantined" and bool(row.get("failures")) and name != "done"
    running = [_in_hand(x) for x in _list(progress, "in_hand")[:MOST]] if at_work else []
    rate, left = _rate(progress, shots, running) if at_work else (None, None)
    counted, seconds = _number(progress.get("counted")), _number(progress.get("shots_seconds"))
    method = method_of_run(_run_facts(folder))
    lease_facts = progress.get("lease") if isinstance(progress.get("lease"), dict) else {}
    who = lease or lease_facts
    return View(
        str(folder),
        state,
        why,
        f"process {who.get('pid')} on {who.get('host', '?')}" if who and "pid" in who else "",
        str(progress.get("phase", "")) if at_work else "",
        shots,
        running,
        _unit_of(folder, progress),
        rate,
        counted / seconds if at_work and counted and seconds else None,
        _number(progress.get("elapsed")),
        left,
        _scratch(folder, progress),
        free_bytes(folder),
        [
            {"shot": r["id"], **({"round": r["round"]} if "round" in r else {}), "reason": r["reason"]}
            for r in rows
            if r["state"] == "quarantined"
        ],
        str(progress.get("now", "")),
        str(progress.get("by", "")),
        max((r["round"] for r in rows if "round" in r), default=None),
        list(method.misfits(folder)),
        method.misfit_is_of(folder),
    )


def _unit_of(folder: Path, progress: Mapping[str, Any]) -> str:
    """Return the name of the units of a run."""
    facts = _run_facts(folder)
    return str(progress.get("unit") or method_of_run(facts).unit)


def _state(folder: Path, progress: Mapping[str, Any], lease: Mapping[str, object]) -> tuple[str, str]:
    said, why = str(progress.get("state", "")), str(progress.get("why", ""))
    if lease:
        alive = is_alive(lease)
        if alive:
            return ("stopping" if said == "stopping" else "running"), ""
        if alive is None:
            quiet = _quiet(folder / PROGRESS)
            if quiet is None or quiet < SILENT:
                return ("stopping" if said == "stopping" else "running"), ""
            return "silent", f"nothing was heard of it for {duration(quiet)}"
        return "killed", "the process is gone, and did not say why"
    facts = _run_facts(folder)
    state = str(facts.get("state", ""))
    if said in ("stopped", "failed"):
        return said, why
    if state.startswith("finished"):
        return state, ""
    return ("stopped", why) if progress or state else ("not started", "")


def _quiet(path: Path) -> float | None:
    """Return the seconds since a file was replaced; by the clocks of two machines, hence not below zero."""
    try:
        return max(0.0, time.time() - path.stat().st_mtime)
    except OSError:
        return None


def _run_facts(folder: Path) -> dict[str, Any]:
    try:
        facts = read_json(folder / "run.json")
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _rate(
    progress: Mapping[str, Any], shots: Mapping[str, int], running: list[Running]
) -> tuple[float | None, float | None]:
    """Return shots per hour of this start and seconds left, None where it is too early to say."""
    seconds = _number(progress.get("shots_seconds"))
    made = (_number(progress.get("finished")) or 0.0) + sum(r.fraction for r in running)
    if not seconds or made <= 0:
        return None, None
    to_do = max(0.0, shots["planned"] + shots["running"] - sum(r.fraction for r in running))
    return 3600 * made / seconds, seconds * to_do / made


def _in_hand(x: Any) -> Running:
    x = x if isinstance(x, dict) else {}
    return Running(
        int(_number(x.get("shot")) or 0),
        _number(x.get("fraction")) or 0.0,
        str(x.get("phase", "")),
        int(_number(x.get("rank")) or 0),
        str(x.get("host", "")),
        _number(x.get("seconds")) or 0.0,
    )


def _scratch(folder: Path, progress: Mapping[str, Any]) -> int:
    """Return the bytes that snapshots and restart points occupy now."""
    places = [folder / "snapshots", *(Path(str(p)) for p in _list(progress, "scratch"))]
    used = 0
    for place in dict.fromkeys(places):
        for path in place.rglob("*") if place.is_dir() else []:
            try:
                used += 512 * path.lstat().st_blocks
            except OSError:
                continue  # just removed by its owner
    return used


def _list(progress: Mapping[str, Any], key: str) -> list[Any]:
    value = progress.get(key)
    return value if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# -- for people ------------------------------------------------------------------------------------------------------


def lines(view: View) -> list[str]:
    """Return a view as lines of text."""
    n = view.shots
    out = [f"run       {view.run}", f"state     {view.state}{f': {view.why}' if view.why else ''}"]
    if view.owner and (not view.over or view.state == "killed"):
        out.append(f"owner     {view.owner}")
    if view.by and not view.over:
        out.append(f"computes  {view.by}")
    if view.phase and not view.running:
        out.append(f"phase     {view.phase}")
    share = f"  ({100 * n['done'] / n['total']:.1f} %)" if n["total"] else ""
    aside = f", {n['quarantined']} quarantined" if n["quarantined"] else ""
    again = f", {n['failed']} to be retried" if n["failed"] else ""
    if view.round is not None:
        out.append(f"round     {view.round}")
    out += misfit_lines(view.misfit, view.misfit_of)
    units = f"{view.unit}s"
    out.append(f"{units:<9} {n['done']} of {n['total']} done{share}, {n['running']} running{again}{aside}")
    for r in view.running:
        where = f"rank {r.rank}{f' on {r.host}' if r.host else ''}"
        out.append(
            f"  {view.unit} {r.shot:<8} {r.fraction:6.1%}  {r.phase or '-':<16} for {duration(r.seconds):>8}  {where}"
        )
    if view.rate is not None and view.left is not None:
        rate = f"{view.rate:.3g} {units}/h" if view.rate < 3600 else f"{view.rate / 3600:.3g} {units}/s"
        if view.count_rate is not None:
            rate += f", {view.count_rate / 1e9:.3g} Gcontributions/s"
        out.append(f"rate      {rate}, about {duration(view.left)} left for the {units}")
    if view.elapsed is not None:
        out.append(
            f"elapsed   {duration(view.elapsed)} in this start{f', last word at {view.said}' if view.said else ''}"
        )
    out.append(f"disk      {human(view.scratch)} of scratch, {human(view.free)} free")
    for hole in view.quarantined[:10]:
        of_round = f" of round {hole['round']}" if "round" in hole else ""
        out.append(f"failed    shot {hole['shot']}{of_round}: {hole['reason']}")
    return out + _cure(view)


#: characters of the longest bar of a misfit, and the iterations that are listed at most
BAR, LISTED = 40, 12


def misfit_lines(misfits: Sequence[float], of: str = "") -> list[str]:
    """Return a misfit by iteration as lines with bars, the first and the last ones; `of` says whose it is."""
    if len(misfits) < 2:
        return []
    n = len(misfits) - 1
    whose = f": of {of}, over that of the same at the start" if of else ""
    out = [f"misfit    {misfits[-1]:.3g} of the start after {n} iteration{'s' * (n != 1)}{whose}"]
    numbers = list(range(len(misfits)))
    if len(numbers) > LISTED:
        numbers = [0, *numbers[1 - LISTED :]]
    longest = max(misfits)
    for k in numbers:
        bar = "#" * round(BAR * misfits[k] / longest) if longest > 0 else ""
        out.append(f"  {k:>6}  {misfits[k]:<8.3g} {bar}".rstrip())
    return out


def _cure(view: View) -> list[str]:
    if view.state in ("killed", "stopped", "failed"):
        return [f"next      subsalt resume {view.run}"]
    if view.quarantined and view.over:
        return [f"next      subsalt resume {view.run} --retry-quarantined"]
    return []
