"""Runs `check` on a case, and says whether a planted mistake was caught.

Caught means: a finding that names the fault, the place (file, shot, trace, byte or key), and a cure that works when
it is pasted: with it that finding is gone, nothing else is found that the clean survey has not, and positions, times,
samples and models are again those of the clean survey.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field

import numpy as np

from planted.surveys import Case
from subsalt.errors import Finding, FindingsError, SubsaltError
from subsalt.job.checking import check_job
from subsalt.job.job import Job

#: cures of one finding that are tried
MOST_CURES = 6
#: code of what is no finding, but a check that broke
BROKE = "broke"


def look(case: Case) -> tuple[list[Finding], object]:
    """Return what `check` says that is not in order, and the job where it could be read."""
    case.write_job()
    try:
        job = Job.from_toml(case.path)
        found = check_job(job).findings
    except FindingsError as e:
        return [f for f in e.findings if f.is_fault], None
    except SubsaltError as e:
        return [Finding(e.code, "error", e.message, e.fix)], None
    except Exception as e:  # a check that breaks says nothing
        return [Finding(BROKE, "error", f"{type(e).__name__}: {e}")], None
    return [f for f in found if f.is_fault], job


# -- what a job holds


def truth(job) -> dict[str, object]:
    """Return positions, time axis, traces and model of a job, as a run would take them.

    Positions are those in the model, counted from its first node: what the image depends on. Those of a time
    migration are on the map.
    """
    if type(job).__name__ == "KirchhoffJob":
        table = job.open_table()
        end = [np.zeros((len(table), 1))]
        src, rcv = (np.concatenate([p, *end], axis=1) for p in (table.src, table.rcv))
        return {"src": src, "rcv": rcv, "time": table.time, "data": None, "model": {}}
    survey = job.load_survey()
    model = job.load_model()
    first = np.array(model.grid.origin3)
    src = np.concatenate([np.broadcast_to(s.src - first, s.rcv.shape) for s in survey.shots])
    rcv = np.concatenate([s.rcv - first for s in survey.shots])
    data = np.concatenate([survey.traces(s) for s in survey.shots])
    volumes = {n: model.volume(n) for n in ("vp", "epsilon", "delta", "theta", "phi")}
    volumes = {n: np.asarray(v) for n, v in volumes.items() if v is not None}
    return {"src": src, "rcv": rcv, "time": survey.time, "data": data, "model": volumes}


def _key(t) -> dict[tuple, int]:
    """Return the row of each pair of source and receiver, to 0.2 m in the model."""
    both = np.concatenate([t["src"][:, :2], t["rcv"][:, :2]], axis=1)
    return {tuple(np.round(row / 0.5).astype(int)): i for i, row in enumerate(both)}


def differs(now, then, keeps: float) -> str:
    """Return how what a job holds differs from the clean survey; empty when it does not.

    Traces may have been left out, or set to zero, as long as the share `keeps` of them is there.
    """
    a, b = now["time"], then["time"]
    if abs(a.dt - b.dt) > 1e-9 or abs(a.t0 - b.t0) > 1e-6 or a.nt > b.nt or a.nt < 0.7 * b.nt:
        return f"the time axis is {a}, of the clean survey {b}"
    rows, known = [], _key(then)
    for key in _key(now):
        near = (key, *(tuple(k + d * (i == j) for j, k in enumerate(key)) for i in range(4) for d in (-1, 1)))
        rows.append(next((known[k] for k in near if k in known), -1))
    rows, mine = np.array(rows), np.array(list(_key(now).values()))
    if (rows < 0).any():
        i = int(mine[np.argmax(rows < 0)])
        s, r = now["src"][i], now["rcv"][i]
        return f"{int((rows < 0).sum())} traces where none is, first source {s} receiver {r}"
    if len(np.unique(rows)) < keeps * len(known):
        return f"{len(np.unique(rows))} of {len(known)} traces are left"
    for name in ("src", "rcv"):
        off = np.abs(now[name][mine] - then[name][rows]).max()
        if off > 0.5:
            return f"{name} off by {off:.4g} m"
    return _differing_samples(now, then, rows, mine, keeps) or _differing_models(now["model"], then["model"])


def _differing_samples(now, then, rows, mine, keeps) -> str:
    if now["data"] is None or then["data"] is None:
        return ""
    x, y = now["data"][mine].astype(float), then["data"][rows].astype(float)[:, : now["time"].nt]
    dead = ~x.any(axis=1)
    off = np.sqrt(((x - y) ** 2).sum(axis=1)) > 0.02 * np.sqrt((y**2).sum(axis=1))
    if (off & ~dead).any():
        return f"the samples of {int((off & ~dead).sum())} of {len(off)} traces are others"
    return "" if (~dead).sum() >= keeps * len(then["data"]) else f"{int(dead.sum())} traces are zero"


def _differing_models(now, then) -> str:
    for name in sorted({*now, *then}):
        if name not in now or name not in then:
            return f"{name} is not in both models"
        if now[name].shape != then[name].shape:
            return f"{name} has shape {now[name].shape} for {then[name].shape}"
        off = float(np.abs(now[name] - then[name]).max())
        if off > 2e-3 * float(np.abs(then[name]).max()) + 1e-9:
            return f"{name} is off by {off:.4g}"
    return ""


# -- cures that stand in a message

_ASSIGN = re.compile(r"(?:\[(?P<section>[a-z_.]+)\]\s+)?(?<![\w.])(?P<key>[a-z_][a-z_0-9.]*)\s*=\s*(?![=<>])")
_AWAY = re.compile(r"(?:leave|remove)\s+(?:\[(?P<section>[a-z_.]+)\]\s+)?(?P<key>[a-z_0-9]+)(?:\s+out)?\b")


@dataclass(frozen=True)
class Key:
    """A key of a job file to be set, or removed when `value` is None; `at` is where it stands in the message."""

    section: str
    key: str
    value: object
    at: int
    end: int


def _value(text: str) -> tuple[object, int] | None:
    """Return the TOML value that a text begins with, the longest one, and its length."""
    found = None
    depth = 0
    quoted = False
    for i, char in enumerate(text):
        quoted ^= char == '"'
        depth += (char in "[{") - (char in "]}") if not quoted else 0
        stop = i + 1 == len(text) or (not quoted and depth <= 0 and text[i + 1] in " ,;)]}")
        if stop:
            try:
                found = tomllib.loads(f"x = {text[: i + 1]}")["x"], i + 1
                break
            except tomllib.TOMLDecodeError:
                pass
        if depth < 0:
            break
    return found


def keys_in(fix: str) -> list[Key]:
    """Return the keys that a cure sets, in its order."""
    out: list[Key] = []
    section, at = "", 0
    while m := _ASSIGN.search(fix, at):
        section = m["section"] or section
        value = _value(fix[m.end() :])
        if value is None or not section:
            at = m.end()
            continue
        out.append(Key(section, m["key"], value[0], m.start(), m.end() + value[1]))
        at = m.end() + value[1]
    for m in _AWAY.finditer(fix):
        before = [k for k in out if k.at < m.start()]
        home = m["section"] or (before[-1].section if before else "")
        names = [k for k in out if k.key == m["key"]]
        if home or names:
            out.append(Key(home or names[0].section, m["key"], None, m.start(), m.end()))
    return out


def cures_in(fix: str) -> list[list[Key]]:
    """Return the cures of a message, those that belong together as one: first each clause, then each key."""
    keys = keys_in(fix)
    groups: list[list[Key]] = []
    for key in keys:
        between = fix[groups[-1][-1].end : key.at].strip() if groups else None
        if between in (",", ";", "and", ", and", "; and", "with") and key.value is not None:
            groups[-1].append(key)
        else:
            groups.append([key])
    out = groups + [[k] for g in groups if len(g) > 1 for k in g]
    return out[:MOST_CURES]


def paste(case: Case, cure: list[Key]) -> None:
    """Write the keys of a cure into the job of a case."""
    for k in cure:
        table = case.job
        for part in k.section.split("."):
            if not isinstance(table.get(part), dict):
                table[part] = {} if table.get(part) is None else {"file": table[part]}
            table = table[part]
        for part in k.key.split(".")[:-1]:
            table = table.setdefault(part, {})
        last = k.key.split(".")[-1]
        if k.value is None:
            table.pop(last, None)
        elif isinstance(k.value, dict) and isinstance(table.get(last), dict):
            table[last] = {**table[last], **k.value}
        else:
            table[last] = k.value


# -- the verdict


@dataclass
class Verdict:
    """What became of a planted mistake: caught, misnamed, missed or bad cure, and why."""

    word: str
    why: str = ""
    said: list[str] = field(default_factory=list)

    @property
    def caught(self) -> bool:
        """Whether it was caught."""
        return self.word == "caught"


def say(f: Finding) -> str:
    """Return a finding as one line."""
    return f"{f.code} {f.message} -> {f.fix}"


def judge(plant, make, folder_of) -> Verdict:
    """Plant a mistake in a survey, check it, paste the cures, and return the verdict.

    Parameters
    ----------
    plant : Form
        The mistake.
    make : callable
        ``make()`` returns (case, codes that the clean survey has, what it holds); the case may be spoiled.
    folder_of : callable
        ``folder_of()`` returns a new empty folder.
    """
    clean, known, then = make()
    case = clean.moved(folder_of())
    case.clean = clean.folder
    plant.plant(case)
    found, _ = look(case)
    said = [say(f) for f in found]
    new = [f for f in found if f.code not in known]
    if any(f.code == BROKE for f in found):
        return Verdict("missed", f"the check breaks: {found[0].message}", said)
    if not new:
        return Verdict("missed", "nothing is said", said)
    named = [f for f in new if plant.names(f, case)]
    if not named:
        return Verdict("misnamed", "; ".join(sorted({f.code for f in new})), said)
    why = ""
    for f in [*named, *_together(named)]:
        for words, cured in _cured(plant, f, case, folder_of):
            problem = _after(plant, f, cured, known, then)
            if not problem:
                return Verdict("caught", f"{f.code}, {words}", said)
            why = why or f"{f.code}, {words}: {problem}"
    return Verdict("bad cure", why or f"{named[0].code} offers nothing that can be done", said)


def _together(named: list[Finding]) -> list[Finding]:
    """Return as one finding those of one code that say of several things what is to be done with each."""
    same = [f for f in named if f.code == named[0].code]
    return [] if len(same) < 2 else [Finding(named[0].code, "error", "", "; ".join(f.fix for f in same))]


def _cured(plant, finding, case, folder_of):
    """Yield (words, case with one cure applied)."""
    for cure in cures_in(finding.fix):
        other = case.moved(folder_of())
        paste(other, cure)
        yield ", ".join(f"[{k.section}] {k.key} = {k.value}" for k in cure), other
    if plant.deed is not None and re.search(plant.deed[0], finding.fix, re.I):
        other = case.moved(folder_of())
        plant.deed[1](other)
        yield f"done as said: {plant.deed[0]}", other


def _after(plant, finding, case, known, then) -> str:
    """Return what is still wrong with a cured case."""
    found, job = look(case)
    if finding.code not in known and any(f.code == finding.code for f in found):
        return f"{finding.code} stays"
    others = sorted({f.code for f in found} - known - set(plant.allows))
    if others:
        return f"then {', '.join(others)}"
    if job is None or then is None or not plant.restores:
        return ""
    try:
        return differs(truth(job), then, plant.keeps)
    except SubsaltError as e:
        return f"then {e.code} {e.message}"
