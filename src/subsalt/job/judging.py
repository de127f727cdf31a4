"""Judging of cures: each is applied in memory before it is shown, and the job is checked again.

A cure that removes its own finding may still be wrong: a sign that sinks the stations into the model removes errors,
but the image is that of another earth. New findings after a cure (stations off the model, first breaks, echoes,
offsets, midpoints) show that the cure is wrong, unless they have a cure of their own: two mistakes may hide each other.
A wrong cure is taken out of the text.

Only cures that change how data and models are read are judged. Grids, steps and options of a run are a matter of
choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from subsalt.errors import Finding, SubsaltError
from subsalt.io.objects import is_url
from subsalt.job.cures import Key, cured, cures_in, without

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob

#: tables of a job that say how data and models are read
TABLES = ("data", "model", "source", "velocity")
#: limits: checks in all, cures of one finding, cures of a finding that remains or appears after a cure, and their depth
MOST, OF_ONE, BRANCHES, DEPTH = 24, 5, 3, 2
#: largest size of the files that a trial reads again, bytes; no cure is tried above it
READ = 2 << 30
#: findings that a value shows by itself (a velocity of 2, a time of 4000 s), whatever else is wrong: findings that
#: appear once they are corrected are other mistakes
CERTAIN = {
    *("E280", "E316", "E317", "E412", "E413", "E414", "E415", "E416", "E418", "E440", "E727"),
    *("W419", "W420", "W441", "W442", "W532"),
    # angles that follow the layers in radians, and axes that the survey lies on: one odd angle, or traces of another
    # survey, say nothing against it
    *("E421", "W422", "E426"),
}
#: warnings that are no witness: how noisy traces are, what was left out or applied, how large grid, record and aperture
#: are, and what options cost
NO_WITNESS = {
    # traces that are dead, noisy, of another kind, late or missing
    *("W230", "W231", "W232", "W233", "W234", "W241", "W246", "W247"),
    *("W250", "W252", "W253", "W254", "W255", "W256"),
    # exclusions that name several files, swell, and samples that are none
    *("W268", "W270", "W282", "W286", "W287"),
    # mutes, bins, crooked lines, short records, and what could be done with fewer runs
    *("W314", "W315", "W319", "W339", "W340", "W341", "W344", "W370", "W398"),
    # grids, steps and options of propagation
    *("W502", "W503", "W504", "W521", "W522", "W530", "W534", "W544", "W547"),
    # machines, and bins and options of a time migration
    *("W705", "W707", "W711", "W728", "W750", "W753", "W755", "W761", "W762", "W763", "W764"),
    *("W767", "W768", "W769", "W792"),
}
#: keys that remove a witness and correct nothing, with the value that does so
SILENCING = {
    ("data.bytes", "offset"): 0,
    ("data.bytes", "cdp_x"): 0,
    ("data.bytes", "cdp_y"): 0,
    ("data", "first_breaks"): "ignore",
}

#: keys that leave traces out: findings about these traces do not support another cure
LEAVING = {("data", "exclude"), ("data", "shots")}

#: returns the findings of a job
Look = Callable[["BaseJob"], list[Finding]]
#: cures of a finding, with the codes of findings that contradict each; None for one that was not tried
Verdicts = list[tuple[list[Key], list[str] | None]]


def judged(job: BaseJob, findings: list[Finding], look: Look) -> list[Finding]:
    """Return findings without the cures that other evidence contradicts.

    Parameters
    ----------
    job : BaseJob
        The job that was checked.
    findings : list of Finding
        Findings of the check.
    look : callable
        Returns the findings of a job.

    Returns
    -------
    list of Finding
        The same findings, causes before their consequences. ``evidence["cures"]`` of a finding with cures says of each
        cure which keys it sets, whether it was tried, whether it holds, the codes of findings that contradict it, and
        the codes of other findings that it resolves.
    """
    if not any(_tried_of(f) for f in findings) or not _small(job):
        return findings
    trial = _Trial(job, findings, look)
    verdicts = [[(cure, trial.contradicts(f, cure)) for cure in _tried_of(f)] for f in findings]
    one = any(_mends_all(verdict, f, trial) for f, verdict in zip(findings, verdicts, strict=True))
    best = [_best(verdict, f, trial, one) for f, verdict in zip(findings, verdicts, strict=True)]
    return causes_first(
        [_without_wrong(f, verdict, trial) for f, verdict in zip(findings, best, strict=True)]
    )


def untried(job: BaseJob, findings: Iterable[Finding]) -> bool:
    """Return whether findings show cures that a check of the job would try, and that were not."""
    return any(_tried_of(f) and "cures" not in f.evidence for f in findings) and _small(job)


def _tried_of(f: Finding) -> list[list[Key]]:
    """Return the cures of a finding that can be judged."""
    if not f.is_fault:
        return []
    ours = [c for c in cures_in(f.fix) if all(k.section.split(".")[0] in TABLES for k in c)]
    return ours[:OF_ONE]


def _small(job: BaseJob) -> bool:
    """Return whether the files of a job are small enough to be read again for each cure."""
    try:
        paths = [p for some in job.input_files().values() for p in some]
        return not any(is_url(p) for p in paths) and sum(p.stat().st_size for p in paths) <= READ
    except (SubsaltError, OSError):
        return False


class _Trial:
    """Checks a job with cures, each once.

    Parameters
    ----------
    job, findings, look
        See `judged`.
    """

    def __init__(self, job: BaseJob, findings: Iterable[Finding], look: Look) -> None:
        self.job, self.look = job, look
        self.before = Counter(f.code for f in findings if f.is_fault)
        self.left = MOST
        self.known: dict[str, list[Finding] | None] = {}

    def after(self, *cures: list[Key]) -> list[Finding] | None:
        """Return the faults of the job with cures; None when it is no job with them, or enough have been tried."""
        name = repr([[(k.section, k.key, k.value) for k in cure] for cure in cures])
        if name not in self.known:
            self.left -= 1
            self.known[name] = self._checked(cures) if self.left >= 0 else None
        return self.known[name]

    def _checked(self, cures: tuple[list[Key], ...]) -> list[Finding] | None:
        job = self.job
        try:
            for cure in cures:
                job = cured(job, cure)
            return [
                f
                for f in self.look(job)
                if f.is_fault and (f.code not in NO_WITNESS or f.code in self.before)
            ]
        except SubsaltError as error:
            return [Finding(error.code, "error", error.message, error.fix)]
        except (ArithmeticError, LookupError, ValueError) as error:
            # values that nobody would give, and no reason to keep the findings of the job from being read
            return [Finding("E001", "error", f"{type(error).__name__}: {error}")]

    def contradicts(self, finding: Finding, cure: list[Key]) -> list[str] | None:
        """Return the codes of findings that contradict a cure of a finding; None where it was not tried."""
        then = self.after(cure)
        if then is None:
            return None
        count = Counter(f.code for f in then)
        if count[finding.code] >= self.before[finding.code] and not _fewer(finding, then):
            return [finding.code]
        if _silences(cure) and (errors := sorted({f.code for f in then if f.level == "error"})):
            # the witness may point to another mistake
            return errors
        return [] if finding.code in CERTAIN else self._left(DEPTH, cure)

    def mended(self, finding: Finding, cure: list[Key]) -> list[str]:
        """Return the codes of the other findings that a cure removes; none where it adds a new one."""
        then = self.after(cure)
        left = {f.code for f in then or []}
        if then is None or left - self.before.keys() or _silences(cure):
            return []
        return sorted(self.before.keys() - left - {finding.code})

    def _left(self, depth: int, *cures: list[Key]) -> list[str]:
        """Return the codes of findings that contradict cures, whatever cures of the rest are added to them.

        Remaining errors prevent first breaks and echoes from being compared, so they are corrected, too, before a cure
        counts as right; and a new finding may be a second mistake, with its own cure.
        """
        then = self.after(*cures)
        if then is None:
            return []
        new = [f for f in then if f.code not in self.before]
        codes = sorted({f.code for f in new})
        rest = [*new, *(f for f in then if f.level == "error" and f.code in self.before)]
        taken = {(k.section, k.key) for cure in cures for k in cure}
        more = [
            c
            for f in rest[:1]
            for c in _tried_of(f)
            if not taken & {(k.section, k.key) for k in c}
            and not any((k.section, k.key) in LEAVING for k in c)
            and not self._wrong_alone(c)
        ]
        if not depth or not more:
            return codes
        # a second scalar after a first one would go round in a circle: `taken` keeps from it
        left = [self._left(depth - 1, *cures, other) for other in more[:BRANCHES]]
        if not all(left):
            return []
        return codes or min(left, key=len)

    def _wrong_alone(self, cure: list[Key]) -> bool:
        """Return whether one cure alone causes new findings: then it does not support others."""
        return any(f.code not in self.before for f in self.after(cure) or [])


def _silences(cure: list[Key]) -> bool:
    """Return whether a cure removes a witness."""
    pairs = [
        (f"{k.section}.{k.key}", name, value) if name else (k.section, k.key, value)
        for k in cure
        for name, value in (k.value.items() if isinstance(k.value, dict) else [("", k.value)])
    ]
    return any((where, name) in SILENCING and SILENCING[where, name] == value for where, name, value in pairs)


def _fewer(finding: Finding, then: list[Finding]) -> bool:
    """Return whether a finding is gone though others of its code are not: it names another file or shot."""
    same = [f for f in then if f.code == finding.code]
    if all(f.message != finding.message for f in same):
        number = finding.evidence.get("count")
        counts = [f.evidence.get("count") for f in same]
        return isinstance(number, int) and all(isinstance(c, int) and c < number for c in counts)
    return False


def _without_wrong(f: Finding, verdicts: Verdicts, trial: _Trial) -> Finding:
    """Return a finding without the cures that do not hold."""
    if not verdicts:
        return f
    cures = [
        {
            "keys": [f"[{k.section}] {k.key}" for k in cure],
            "tried": codes is not None,
            "holds": not codes if codes is not None else None,
            "then": codes or [],
            "mends": [] if codes or codes is None else trial.mended(f, cure),
        }
        for cure, codes in verdicts
    ]
    wrong = [(cure, codes) for cure, codes in verdicts if codes]
    fix = without(f.fix, [cure for cure, _ in wrong]) if wrong else f.fix
    return replace(f, fix=fix or _none_left(wrong), evidence={**f.evidence, "cures": cures})


def _best(verdicts: Verdicts, f: Finding, trial: _Trial, one_mends_all: bool) -> Verdicts:
    """Return verdicts on the cures of a finding; where one cure resolves all findings, those that leave some fail."""
    others = trial.before.keys() - {f.code}
    if not one_mends_all:
        # a cure that resolves other findings, too, is better than one that removes a witness
        if any(codes == [] and trial.mended(f, cure) for cure, codes in verdicts):
            return [
                (cure, sorted(others) if codes == [] and _silences(cure) else codes)
                for cure, codes in verdicts
            ]
        return verdicts
    return [
        (cure, sorted(others - set(trial.mended(f, cure))) if codes == [] else codes)
        for cure, codes in verdicts
    ]


def _mends_all(verdicts: Verdicts, f: Finding, trial: _Trial) -> bool:
    """Return whether a cure of a finding resolves all other findings without leaving traces out."""
    others = trial.before.keys() - {f.code}
    return bool(others) and any(
        codes == []
        and len(trial.mended(f, cure)) == len(others)
        and not any((k.section, k.key) in LEAVING for k in cure)
        for cure, codes in verdicts
    )


def _none_left(wrong: list[tuple[list[Key], list[str]]]) -> str:
    """Return the text for a finding that has no cure left."""
    tried = "; ".join(
        f"[{c[0].section}] {' and '.join(dict.fromkeys(k.key for k in c))} (then {', '.join(codes)})"
        for c, codes in wrong
    )
    return (
        f"the likely corrections were tried, and other findings contradict each: {tried}. Compare header values and "
        "model with the acquisition report; the cause is another value, or another mistake"
    )


def causes_first(findings: list[Finding]) -> list[Finding]:
    """Return findings in an order that puts causes before their consequences, whose cure refers to the cause.

    A finding explains another when its cure resolves both, and the cure of the other resolves fewer; or when it is
    certain.
    """
    mends = {f.code: _mends(f) for f in findings}
    cause: dict[str, str] = {}
    for code, others in mends.items():
        for other in others:
            better = code not in mends.get(other, set()) or len(mends[other]) < len(others)
            same = len(mends[other]) == len(others) and not _one_cure(findings, code, other)
            better |= same and code in CERTAIN and other not in CERTAIN
            if better and len(others) > len(mends.get(cause.get(other, ""), set())):
                cause[other] = code
    # the cause of a cause explains all of it
    for code in cause:
        seen = {code}
        while cause[code] in cause and cause[code] not in seen:
            seen.add(cause[code])
            cause[code] = cause[cause[code]]
    out: list[Finding] = []
    for f in findings:
        if f.code in cause and f.is_fault:
            continue
        out.append(f)
        own = [g for g in findings if g.is_fault and cause.get(g.code) == f.code]
        last = f is [g for g in findings if g.code == f.code][-1]
        out += (
            [replace(g, fix=f"{f.code} above explains this: correct that first") for g in own] if last else []
        )
    return out


def _one_cure(findings: list[Finding], code: str, other: str) -> bool:
    """Return whether findings of two codes offer the same cure."""
    first = [
        {(k.section, k.key, repr(k.value)) for cure in _tried_of(f) for k in cure}
        for c in (code, other)
        for f in findings
        if f.code == c
    ]
    return bool(set.intersection(*first)) if first else False


def _mends(f: Finding) -> set[str]:
    """Return the codes of the other findings that a cure of a finding resolves."""
    cures = f.evidence.get("cures")
    return {code for c in cures for code in c["mends"]} if isinstance(cures, list) else set()
