"""Time every algorithm of the MPI in use: several starts, in each all algorithms in random order, round by round.

What the ranks do is in `worker`; here they are started. A first start without timing finds the algorithms that end the
program, hang, or give wrong answers.

Are there idle cores for all ranks: ranks that take turns measure the scheduler, not an algorithm.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import SubsaltError
from subsalt.machine import programs
from subsalt.machine.launcher import Launcher
from subsalt.machine.load import TOLERATED_CORES, Watch
from subsalt_lab.collectives import knobs
from subsalt_lab.collectives.choice import DEFAULT, Algorithm
from subsalt_lab.collectives.mpit import Variable
from subsalt_lab.collectives.plan import ANSWER, WHY, Cell, StartAnswer, SweepStart
from subsalt_lab.collectives.request import TuningRequest
from subsalt_lab.result import Say

if TYPE_CHECKING:
    from subsalt_lab.pmpi.mpi_in_use import MpiInUse

#: seconds for which others are watched
WATCHED = 0.5


def cores_of_others() -> float:
    """Return how many cores of this host others use, watched for half a second."""
    with Watch(0) as watch:
        time.sleep(WATCHED)
    return watch.others if watch.others is not None else watch.average


def crowded(answer: StartAnswer, others: float) -> str:
    """Return what is wrong with the room of these ranks, in words; empty when each has an idle core.

    Parameters
    ----------
    answer : StartAnswer
        Where the ranks were found.
    others : float
        Cores that others use, if all ranks are on this host; of other hosts nothing is known.
    """
    here = others if len(set(answer.hosts)) == 1 else 0.0
    for host, ranks in Counter(answer.hosts).items():
        cores = answer.cores[host]
        if ranks > cores - here + 2 * TOLERATED_CORES:
            busy = f", of which others use {here:.1f}" if ranks <= cores else ""
            return f"{ranks} ranks on {cores} core{'s' * (cores != 1)}{busy}"
    return ""


def refused(what: str) -> SubsaltError:
    """Return the error of ranks without room."""
    error = SubsaltError(
        f"{what}: ranks that take turns measure nothing",
        "use a smaller --np, or wait; --oversubscribe-ok measures anyway, and nothing of it is applied",
        code="E930",
    )
    error.exit_code = 69
    return error


#: gives what a start said: ranks, what they do, variables of the environment
Starter = Callable[[int, SweepStart, Mapping[str, str]], StartAnswer]

#: seconds that a start without timing may take, and what each thing it tries adds
TRY_SECONDS, TRY_EACH = 60.0, 0.1


@dataclass(frozen=True)
class AlgorithmSamples:
    """Times of one algorithm at one place.

    Parameters
    ----------
    collective : str
        One of `choice.COLLECTIVES`.
    comm_size : int
        Ranks.
    nbytes : int
        Size, as `choice.COLLECTIVES` counts it.
    algorithm : Algorithm
        Algorithm of these calls.
    seconds : tuple of tuple of float
        Seconds of a call, of the slowest rank: one line per start, one number per round.
    """

    collective: str
    comm_size: int
    nbytes: int
    algorithm: Algorithm
    seconds: tuple[tuple[float, ...], ...]

    @property
    def place(self) -> tuple[str, int, int]:
        """Collective, ranks, size."""
        return self.collective, self.comm_size, self.nbytes

    @cached_property
    def us(self) -> float:
        """Median time of a call over everything, microseconds."""
        return 1e6 * statistics.median(t for line in self.seconds for t in line)


@dataclass(frozen=True)
class LeftOut:
    """An algorithm that was not timed, and why.

    Parameters
    ----------
    algorithm : Algorithm
        Which.
    comm_size : int
        On how many ranks.
    up_to : int or None
        Largest size for which; None: for all.
    why : str
        In words.
    """

    algorithm: Algorithm
    comm_size: int
    up_to: int | None
    why: str

    def text(self) -> str:
        """Return a line for people."""
        sizes = "" if self.up_to is None else f", up to {self.up_to} bytes"
        a = self.algorithm
        return f"left out: {a.collective} {a.name} on {self.comm_size} ranks{sizes}: {self.why}"


@dataclass
class Sweep:
    """Results of a sweep.

    Parameters
    ----------
    samples : list of AlgorithmSamples
        The library's own choice first at every place.
    left_out : list of LeftOut
        Algorithms that were not timed.
    floor : float
        Time that reading the clock adds to a block, s.
    hosts : dict
        Ranks -> how many hosts they were on.
    crowded : str
        Reason why ranks had too little room; such times are never applied. Empty when they had enough.
    """

    samples: list[AlgorithmSamples] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    floor: float = 0.0
    hosts: dict[int, int] = field(default_factory=dict)
    crowded: str = ""


def starter(mpi: MpiInUse, request: TuningRequest) -> Starter:
    """Return what starts the worker under the launcher of an MPI."""

    def start(ranks: int, what: SweepStart, variables: Mapping[str, str]) -> StartAnswer:
        program = [request.python, "-m", "subsalt_lab.collectives.worker", what.text()]
        limit = request.timeout
        if what.what != "measure":
            limit = min(limit, TRY_SECONDS + TRY_EACH * len(what.work()))
        # the ranks compute nothing that threads would help
        fixed = {"MPI4PY_LIBMPI": str(mpi.library), "OMP_NUM_THREADS": "1"}
        ran = programs.run(
            mpi.start(ranks, program, fixed | knobs.environment(mpi.family, variables)),
            what=f"the start of {ranks} ranks",
            timeout=limit,
        )
        lines = [line for line in ran.stdout.splitlines() if line.startswith(ANSWER)]
        if not lines:
            raise programs.failed(f"the start of {ranks} ranks printed no answer", ran.stderr)
        answer = StartAnswer.read(lines[-1])
        if answer.ranks != ranks:
            raise _not_together(ranks, len(lines), mpi.launcher)
        return answer

    return start


def _not_together(ranks: int, worlds: int, by: Launcher) -> SubsaltError:
    error = SubsaltError(
        f"{by.name} started {worlds} separate runs in place of one with {ranks} ranks",
        "launcher and MPI library do not belong together: set MPI4PY_LIBMPI to the library of the launcher's MPI",
        code="E782",
    )
    error.exit_code = 69
    return error


def algorithms(
    mpi: MpiInUse, request: TuningRequest, start: Starter
) -> tuple[dict[str, list[Algorithm]], StartAnswer]:
    """Return the algorithms by collective, the library's own choice first, and what the largest start told.

    Raises
    ------
    SubsaltError
        E931: this MPI offers no choice for any of the requested collectives.
    """
    wanted = tuple(knobs.patterns(mpi.family, request.collectives))
    answer = start(request.ranks[-1], SweepStart("list", threads=request.threads, wanted=wanted), {})
    variables = [Variable(**v) for v in answer.variables]
    known = {
        c: knobs.algorithms(mpi.family, variables, c, threads=request.threads, nodes=len(set(answer.hosts)))
        for c in request.collectives
    }
    if not any(known.values()):
        has = ", ".join(v.name for v in variables[:6]) or "none of the variables that are known"
        raise SubsaltError(
            f"{mpi.name} does not allow choosing an algorithm of {', '.join(request.collectives)}: it has {has}",
            "use MPICH 4 or newer, Open MPI 4.1 or newer, or Intel MPI; or leave collectives to the library",
            code="E931",
        )
    return {c: [Algorithm(c, DEFAULT, 0), *some] for c, some in known.items() if some}, answer


def sweep(
    mpi: MpiInUse,
    request: TuningRequest,
    *,
    start: Starter | None = None,
    others: Callable[[], float] = cores_of_others,
    say: Say = lambda text: None,
) -> Sweep:
    """Measure what is asked for.

    Parameters
    ----------
    mpi : MpiInUse
        The MPI.
    request : TuningRequest
        The measurement to run.
    start : callable, optional
        Starts ranks; the worker when left out.
    others : callable
        Gives the cores of this host that others use.
    say : callable
        Callback for progress text.

    Raises
    ------
    SubsaltError
        E930: no idle core for every rank. E931: nothing can be chosen. E932: the library's own choice fails. E781: a
        start failed.
    """
    start = start or starter(mpi, request)
    say(f"collectives: what {mpi.name} has")
    known, answer = algorithms(mpi, request, start)
    out = Sweep(crowded=crowded(answer, others()))
    if out.crowded and not request.oversubscribe:
        raise refused(out.crowded)
    for ranks in request.ranks:
        missing = [w.collective for w in request.wanted if w.ranks == ranks and w.collective not in known]
        out.left_out += [
            LeftOut(Algorithm(c, "every algorithm", 0), ranks, None, f"{mpi.name} has no variable for it")
            for c in missing
        ]
    every = [a for some in known.values() for a in some]
    switches = knobs.switches_while_running(mpi.family, [Variable(**v) for v in answer.variables], every)
    plans: dict[int, list[Cell]] = {}
    for ranks in request.ranks:
        # the largest sizes first: what fails there is left out at once
        cells = [
            Cell(w.collective, size, tuple(known[w.collective]))
            for w in request.wanted
            if w.ranks == ranks and w.collective in known
            for size in sorted(w.sizes, reverse=True)
        ]
        say(f"collectives: which algorithms work on {ranks} ranks")
        plans[ranks] = tried(ranks, cells, request, start, out, switches)
    times: dict[tuple[int, str, int, str], list[tuple[float, ...]]] = {}
    for number in range(request.starts):
        for ranks in request.ranks:
            say(f"collectives: {ranks} ranks, start {number + 1} of {request.starts}")
            for what, variables in orders(plans[ranks], request, number, switches):
                answer = start(ranks, what, variables)
                out.hosts[ranks] = len(set(answer.hosts))
                out.floor = max(out.floor, answer.floor)
                _add(out, times, ranks, what, answer)
    for ranks in request.ranks:
        for cell in sorted(plans[ranks], key=lambda c: (request.collectives.index(c.collective), c.nbytes)):
            for a in cell.algorithms:
                got = times.get((ranks, cell.collective, cell.nbytes, a.name), [])
                # one wrong answer is one too many
                if len(got) == request.starts:
                    out.samples.append(AlgorithmSamples(cell.collective, ranks, cell.nbytes, a, tuple(got)))
    return out


def _add(
    out: Sweep,
    times: dict[tuple[int, str, int, str], list[tuple[float, ...]]],
    ranks: int,
    what: SweepStart,
    answer: StartAnswer,
) -> None:
    """Take the times of one start; an algorithm with a wrong answer gets none."""
    wrong = set(answer.wrong)
    for i, k in what.work():
        cell = what.cells[i]
        a = cell.algorithms[k]
        if (i, k) in wrong and a.is_default:
            raise _no_default(ranks, cell, None)
        if (i, k) in wrong:
            _leave_out(out, a, ranks, cell.nbytes, "a wrong answer")
        else:
            place = (ranks, cell.collective, cell.nbytes, a.name)
            times.setdefault(place, []).append(tuple(answer.seconds[f"{i},{k}"]))


def orders(
    cells: Sequence[Cell], request: TuningRequest, number: int, switches: bool
) -> list[tuple[SweepStart, Mapping[str, str]]]:
    """Return what is started for one sample of everything, with the variables of its environment.

    One start does when algorithms change while the program runs. Otherwise each start has one algorithm of every
    collective, and their order is random.
    """
    whole = SweepStart(
        "measure",
        tuple(cells),
        request.rounds,
        seed=request.seed + number,
        threads=request.threads,
        switches=switches,
    )
    if switches:
        return [(whole, {})]
    return _one_each(whole, random.Random(request.seed + number))


def _one_each(whole: SweepStart, order: random.Random) -> list[tuple[SweepStart, Mapping[str, str]]]:
    """Return a start for the first algorithm of every cell, one for the second, ..."""
    out: list[tuple[SweepStart, Mapping[str, str]]] = []
    for n in range(max(len(c.algorithms) for c in whole.cells)):
        cells = tuple(replace(c, algorithms=(c.algorithms[n],)) for c in whole.cells if n < len(c.algorithms))
        variables = {k: v for c in cells for a in c.algorithms for k, v in a.settings.items()}
        out.append((replace(whole, cells=cells), variables))
    order.shuffle(out)
    return out


def tried(
    ranks: int,
    cells: Sequence[Cell],
    request: TuningRequest,
    start: Starter,
    out: Sweep,
    switches: bool,
) -> list[Cell]:
    """Return the cells with the algorithms that work; the others are noted in `out`.

    An algorithm that ends or hangs the program at one size is left out there and at all smaller sizes: what algorithms
    ask for is a least number of elements.

    Raises
    ------
    SubsaltError
        E932, when the library's own choice does not work.
    """
    good = {(c.collective, c.nbytes): list(c.algorithms) for c in cells}
    with tempfile.TemporaryDirectory(prefix="subsalt-collectives-") as folder:
        log = Path(folder, "begun")
        whole = SweepStart("probe", tuple(cells), threads=request.threads, switches=switches, log=str(log))
        waiting = [(whole, {})] if switches else _one_each(whole, random.Random(request.seed))
        while waiting:
            what, variables = waiting.pop(0)
            for old in (log, Path(f"{log}{WHY}")):
                old.unlink(missing_ok=True)
            try:
                answer = start(ranks, what, variables)
            except SubsaltError as error:
                if not log.exists():
                    raise
                number = int(log.read_text())
                i, k = what.work()[number]
                cell, bad = what.cells[i], what.cells[i].algorithms[k]
                if bad.is_default:
                    raise _no_default(ranks, cell, error) from None
                _leave_out(out, bad, ranks, cell.nbytes, _reason(error, Path(f"{log}{WHY}")))
                for (collective, nbytes), some in good.items():
                    if collective == bad.collective and nbytes <= cell.nbytes and bad in some:
                        some.remove(bad)
                rest = _rest(what, number, good)
                if rest.cells:
                    waiting.insert(0, (rest, variables))
                continue
            for i, k in answer.wrong:
                cell, bad = what.cells[i], what.cells[i].algorithms[k]
                if bad.is_default:
                    raise _no_default(ranks, cell, None)
                _leave_out(out, bad, ranks, cell.nbytes, "a wrong answer")
                some = good[cell.collective, cell.nbytes]
                if bad in some:
                    some.remove(bad)
    return [Cell(c, n, tuple(some)) for (c, n), some in good.items()]


def _rest(what: SweepStart, number: int, good: Mapping[tuple[str, int], list[Algorithm]]) -> SweepStart:
    """Return what a start that ended had not come to, without what is left out by now."""
    after: dict[int, list[Algorithm]] = {}
    for i, k in what.work()[number + 1 :]:
        cell = what.cells[i]
        if cell.algorithms[k] in good[cell.collective, cell.nbytes]:
            after.setdefault(i, []).append(cell.algorithms[k])
    return replace(
        what, cells=tuple(replace(what.cells[i], algorithms=tuple(some)) for i, some in after.items())
    )


def _leave_out(out: Sweep, bad: Algorithm, ranks: int, nbytes: int, why: str) -> None:
    """Note an algorithm once for each reason, with the largest size."""
    up_to = nbytes or None
    for n, old in enumerate(out.left_out):
        if (old.algorithm, old.comm_size, old.why) == (bad, ranks, why):
            larger = None if old.up_to is None or up_to is None else max(old.up_to, up_to)
            out.left_out[n] = replace(old, up_to=larger)
            return
    out.left_out.append(LeftOut(bad, ranks, up_to, why))


def _reason(error: SubsaltError, said: Path) -> str:
    """Return in a few words how a start ended; `said` may hold what the library told the program."""
    if "did not end within" in error.message:
        return "it does not end"
    lines = said.read_text().splitlines() if said.exists() else error.message.split(" | ")
    for line in lines:
        if any(word in line for word in ("ERR_", "Assertion", "Fatal", "Out of memory", "SIG")):
            return f"it ends the program ({line.strip()[:120]})"
    return "it ends the program"


def _no_default(ranks: int, cell: Cell, cause: SubsaltError | None) -> SubsaltError:
    how = "gives a wrong answer" if cause is None else f"does not work: {cause}"
    return SubsaltError(
        f"the library's own {cell.collective} of {cell.nbytes} bytes on {ranks} ranks {how}",
        "nothing is measured with an MPI that does not work: try subsalt doctor, or another launcher",
        code="E932",
    )


def plain(samples: Sequence[AlgorithmSamples]) -> list[dict[str, Any]]:
    """Return all samples, for JSON."""
    return [
        {
            "collective": s.collective,
            "ranks": s.comm_size,
            "bytes": s.nbytes,
            "algorithm": s.algorithm.to_dict(),
            "seconds": [list(line) for line in s.seconds],
        }
        for s in samples
    ]
