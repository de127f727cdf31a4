"""Is a barrier needed: candidate for removal, weak candidate, or to be kept, with the reason in words.

A barrier directly followed by a call that waits for all ranks of its communicator orders nothing that this call does
not order too. Followed by messages between two ranks it can only matter where a receive takes messages from any source
(Sharma, Vakkalanka, Gopalakrishnan, Kirby, Thakur, Gropp, "A formal approach to detect functionally irrelevant
barriers in MPI programs", EuroPVM/MPI 2008), or where a message is sent in ready mode: that is allowed only once its
receive has been posted (MPI 4.1, section 3.4), and a barrier is how programs make sure of it; outputs that are the same
without the barrier prove nothing then. What a barrier orders outside of MPI, such as files that one rank writes
and another one reads, or signals, is invisible here: no class says "removable".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from subsalt_lab.barriers.records import BarrierRecord, Follow

Class = Literal["candidate", "weak", "keep"]

#: from the one that asks for most caution
ORDER: tuple[Class, ...] = ("keep", "weak", "candidate")

INVISIBLE = "file-system and signal side effects are invisible to us"

#: no rank leaves one of these before all have come
WAITS_FOR_ALL = {"MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall", "MPI_Barrier"}
#: some rank may leave these before all have come
WAITS_FOR_SOME = {
    *(
        "MPI_Bcast",
        "MPI_Reduce",
        "MPI_Gather",
        "MPI_Gatherv",
        "MPI_Scatter",
        "MPI_Scatterv",
        "MPI_Scan",
        "MPI_Exscan",
    ),
    *("MPI_Allgatherv", "MPI_Alltoallv", "MPI_Alltoallw", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"),
}
#: messages between two ranks, and the end of such
BETWEEN_TWO = {
    *(
        "MPI_Send",
        "MPI_Bsend",
        "MPI_Ssend",
        "MPI_Rsend",
        "MPI_Isend",
        "MPI_Ibsend",
        "MPI_Issend",
        "MPI_Irsend",
    ),
    *(
        "MPI_Recv",
        "MPI_Irecv",
        "MPI_Mrecv",
        "MPI_Imrecv",
        "MPI_Sendrecv",
        "MPI_Sendrecv_replace",
        "MPI_Isendrecv",
    ),
    *(
        "MPI_Isendrecv_replace",
        "MPI_Probe",
        "MPI_Iprobe",
        "MPI_Mprobe",
        "MPI_Improbe",
        "MPI_Start",
        "MPI_Startall",
    ),
    *("MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome"),
    *("MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome"),
    *("MPI_Send_init", "MPI_Recv_init", "MPI_Bsend_init", "MPI_Ssend_init", "MPI_Rsend_init"),
    *(
        "MPI_Psend_init",
        "MPI_Precv_init",
        "MPI_Pready",
        "MPI_Pready_range",
        "MPI_Pready_list",
        "MPI_Parrived",
    ),
}
#: messages that may be sent only once their receive has been posted
READY = {"MPI_Rsend", "MPI_Irsend", "MPI_Rsend_init"}
#: what the interposer saw around a barrier, in words
REASONS = {
    "file before": "access to a file through MPI comes right before",
    "file after": "access to a file through MPI comes right after",
    "one-sided": "one-sided communication comes right before or after",
    "window": "a window for one-sided communication is open",
    "shared memory": "ranks share memory",
    "wildcard": "a receive or probe from any source comes right before or after",
    "finalize": "MPI_Finalize comes right after",
    "fresh": "it is the first call after the communicator was made",
}


@dataclass(frozen=True)
class Judgement:
    """Judgement of a barrier: its class, the reason, and the largest saving.

    Parameters
    ----------
    kind : str
        ``"candidate"``, ``"weak"`` or ``"keep"``.
    reason : str
        Why, in words.
    bound : float, optional
        Seconds that leaving it out saves at most; None when it is to be kept.
    """

    kind: Class
    reason: str
    bound: float | None = None

    @property
    def text(self) -> str:
        """The sentence that a report gives."""
        if self.bound is None:
            return f"keep: {self.reason}"
        name = "weak candidate" if self.kind == "weak" else self.kind
        return f"{name}: {self.reason}; upper bound of saving {self.bound:.3g} s; {INVISIBLE}"


def judge(records: Sequence[BarrierRecord]) -> Judgement:
    """Return the class of one place: that of its most needed barrier.

    Parameters
    ----------
    records : sequence of BarrierRecord
        Records of the place, on all communicators and in all phases: they are left out together.
    """
    judged = [_of_record(r) for r in records]
    kind, reason = min(judged, key=lambda f: ORDER.index(f[0]))
    return Judgement(kind, reason, None if kind == "keep" else bound(records, {r.site for r in records}))


def _of_record(r: BarrierRecord) -> tuple[Class, str]:
    if r.call != "MPI_Barrier":
        return "keep", "it does not block: its cost is in the wait for it"
    if r.comm_size == 1:
        return "candidate", "its communicator has one rank"
    if not r.aligned:
        return "keep", "not all ranks come through this place together"
    if r.reasons:
        seen = [(text, r.reasons[why]) for why, text in REASONS.items() if why in r.reasons]
        return "keep", "; ".join(text + _share(times, r.count) for text, times in seen)
    if not r.follows:
        return "keep", "no call comes after it"
    judged = [(*_of_follow(f, r), f) for f in r.follows]
    kind, text, follow = min(judged, key=lambda f: (ORDER.index(f[0]), -f[2].calls))
    return kind, text + _share(follow.calls, sum(f.calls for f in r.follows))


def _share(times: int, of: int) -> str:
    return f" ({times} of {of})" if times < of else ""


def _of_follow(f: Follow, r: BarrierRecord) -> tuple[Class, str]:
    """Return what a call that follows says, and how that reads."""
    if f.call in READY:
        return "keep", f"{f.call} follows, whose receive must have been posted"
    waits = f.call in WAITS_FOR_ALL and f.relation in ("same", "larger")
    if r.ready and not waits:
        return (
            "keep",
            f"{f.call} follows, and a ready send is in the run, whose receive must have been posted",
        )
    if f.call in WAITS_FOR_ALL:
        if waits:
            of = "the same" if f.relation == "same" else "a larger"
            return "candidate", f"{f.call} on {of} communicator follows, which waits for all ranks"
        which = "that moves no byte" if f.relation == "empty" else "on another communicator"
        return "weak", f"{f.call} {which} follows"
    if f.call in WAITS_FOR_SOME:
        seen = "; a receive from any source is in the run" if r.wildcard else ""
        return "weak", f"{f.call} follows, which does not make every rank wait for all{seen}"
    if f.call in BETWEEN_TWO:
        if r.wildcard:
            return "keep", f"{f.call} follows, and a receive from any source is in the run"
        return "candidate", f"{f.call} follows, and no receive from any source is in the run"
    return "weak", f"{f.call} follows"


def bound(records: Sequence[BarrierRecord], removed: Collection[str]) -> float:
    """Return the seconds that leaving barriers out saves at most.

    Parameters
    ----------
    records : sequence of BarrierRecord
        Those left out.
    removed : collection of str
        The sites that are left out together.

    Notes
    -----
    When a barrier is gone, no rank is ahead at its next call by more than max t[r], its time in the barrier; and the
    end of a program is not earlier than by the sum of what ranks are ahead after each ("loose"). Where a call follows
    that waits for all ranks and stays, it ends earlier by max g[r] + min (t[r] - g[r]) at most ("tight"). Barriers
    beyond those kept one by one count with all their time.
    """
    total = 0.0
    for r in records:
        beyond = max((s - k for s, k in zip(r.seconds, r.stored_seconds, strict=True)), default=0.0)
        total += (r.tight if _is_tight(r, removed) else r.loose) + max(0.0, beyond)
    return total


def _is_tight(r: BarrierRecord, removed: Collection[str]) -> bool:
    return all(
        f.call in WAITS_FOR_ALL
        and f.relation in ("same", "larger")
        and not (f.call == "MPI_Barrier" and f.site in removed)
        for f in r.follows
    )
