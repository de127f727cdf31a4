"""Runs `check` on a case, pastes every cure that it prints, and says whether a planted mistake was caught.

Caught means: a finding that names the fault, the place (file, shot, trace, byte or key), and a cure that works when it
is pasted: with it nothing is found that the clean survey has not, and positions, times, samples and models are again
those of the clean survey, or the image is. And none of the other cures that are printed does harm: makes another image
without a word, or leaves findings of which none leads on.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from planted.images import SAME, Images
from planted.surveys import Case
from planted.truth import differs, same, truth
from subsalt.errors import Finding, FindingsError, SubsaltError
from subsalt.job.checking import check_job
from subsalt.job.cures import Key, cures_in, put
from subsalt.methods import method_of
from subsalt.methods.rtm.job import Job

#: cures that are pasted of one finding, and after another cure
MOST_CURES, MOST_NEXT = 8, 5
#: findings of one code whose cures are pasted: a mistake of all files may be named for each
ALIKE_FINDINGS = 3
#: code of what is no finding, but a check that broke
BROKE = "broke"


def look(case: Case, judged: bool = True) -> tuple[list[Finding], object]:
    """Return what `check` says that is not in order, and the job where it could be read.

    Without `judged` the cures in the texts are those that the rules offer, which costs a check for each less.
    """
    case.write_job()
    try:
        job = Job.from_toml(case.path)
        findings = (check_job(job) if judged else method_of(job.method).check(job)).findings
    except FindingsError as e:
        return [f for f in e.findings if f.is_fault], None
    except SubsaltError as e:
        return [Finding(e.code, "error", e.message, e.fix)], None
    except Exception as e:  # a check that breaks says nothing
        return [Finding(BROKE, "error", f"{type(e).__name__}: {e}")], None
    for f in findings:
        # a cure with which the check breaks is not offered, but the check is to be mended
        for cure in f.evidence.get("cures", []):
            if "E001" in cure["then"]:
                return [Finding(BROKE, "error", f"with {', '.join(cure['keys'])} of {f.code}")], None
    return [f for f in findings if f.is_fault], job


def say(f: Finding) -> str:
    """Return a finding as one line."""
    return f"{f.code} {f.message} -> {f.fix}"


@dataclass
class Trial:
    """What became of one cure that was pasted.

    Parameters
    ----------
    code, cure : str
        Of which finding, and its keys as text.
    became : str
        works: as the clean survey; leads: findings are left, and with a cure of theirs all is as in the clean survey;
        harmless: nothing wrong, but fewer traces than could be kept, or more is to be done outside the job; leaves:
        findings are left, and no cure of theirs leads on; confirms: nothing is found, because the cure says that what
        is there is right; harmful: nothing is found, and what the cure has made of it is another image.
    why : str
        What is left or what differs.
    named : bool
        The finding names the fault.
    """

    code: str
    cure: str
    became: str
    why: str = ""
    named: bool = False

    def __str__(self) -> str:
        return f"{self.code}, {self.cure}: {self.became}{f', {self.why}' if self.why else ''}"


@dataclass
class Verdict:
    """What became of a planted mistake.

    Parameters
    ----------
    word : str
        caught; bad beside (caught, but another cure that is printed leads nowhere); no cure (named, without one that
        works); misnamed; missed; harmful (a cure makes another image, and nothing is said).
    why : str
        In a line.
    said : list of str
        The findings.
    trials : list of Trial
        Every cure that was pasted.
    """

    word: str
    why: str = ""
    said: list[str] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)

    @property
    def caught(self) -> bool:
        """Whether it was caught, and no cure beside is bad."""
        return self.word == "caught"

    @property
    def score(self) -> float:
        """1: right cause and a working cure; 1/2: noticed; 0: silent, or a cure that misleads."""
        return {"caught": 1.0, "missed": 0.0, "harmful": 0.0}.get(self.word, 0.5)


#: what a user says who knows better: no cure, and not to be pasted by one who does not know
CONFIRMS = r"says? (that|so)\b|known to be right|if the (headers|numbers|files) are( right)?:"


def offered(fix: str, case: Case) -> list[list[Key]]:
    """Return the cures of a text that a person would paste into the job of a case, at most `MOST_CURES`."""
    out: list[list[Key]] = []
    for group in cures_in(fix):
        # two values for one key are two cures
        parts: list[list[Key]] = [[]]
        for key in group:
            if any((k.section, k.key) == (key.section, key.key) for k in parts[-1]):
                parts.append([])
            parts[-1].append(key)
        for keys in parts:
            around = fix[fix.rfind(";", 0, keys[0].at) + 1 :].partition(";")[0]
            if re.search(CONFIRMS, around) or any(
                "..." in repr(k.value) or k.value == "ignore" for k in keys
            ):
                continue  # to be filled in, or said by one who knows
            keys = [k for k in keys if k.value is not None or _has(case.job, k)]
            if keys and pasted(case, keys, "tried").written() != case.written():
                out.append(keys)
    return out[:MOST_CURES]


def _has(job: dict, key: Key) -> bool:
    """Return whether a job has a key: words such as "leave it out" are no cure."""
    table: object = job
    for part in [*key.section.split("."), *key.key.split(".")]:
        if not isinstance(table, dict) or part not in table:
            return False
        table = table[part]
    return True


def words_of(cure: list[Key]) -> str:
    """Return a cure as it is pasted."""
    return ", ".join(
        f"leave [{k.section}] {k.key} out" if k.value is None else f"[{k.section}] {k.key} = {k.value}"
        for k in cure
    )


def pasted(case: Case, cure: list[Key], name: str) -> Case:
    """Return the case with a cure in a job file of another name beside it."""
    job = copy.deepcopy(case.job)
    there = job.get("data", {}).get("exclude")
    put(job, cure)
    now = job.get("data", {}).get("exclude")
    if isinstance(there, list) and isinstance(now, list):
        # one adds to a list of what is left out
        job["data"]["exclude"] = [*there, *(e for e in now if e not in there)]
    return replace(case, job=job, name=f"{name}.toml")


@dataclass
class Judge:
    """Pastes the cures of one mistake.

    Parameters
    ----------
    plant : Form
        The mistake.
    clean : Case
        The survey without it.
    known : set of str
        Codes that are said of the clean survey.
    then : dict or None
        What it holds.
    case : Case
        The survey with the mistake.
    folder_of : callable
        ``folder_of()`` returns a new empty folder.
    images : Images
        Of clean surveys.
    """

    plant: object
    clean: Case
    known: set[str]
    then: dict | None
    case: Case
    folder_of: Callable
    images: Images
    _looked: dict[str, tuple] = field(default_factory=dict)
    _before: list = field(default_factory=list)
    working: list = field(default_factory=list)

    def verdict(self) -> Verdict:
        """Check, paste every cure, and say what became of the mistake."""
        findings, _ = look(self.case)
        said = [say(f) for f in findings]
        new = [f for f in findings if f.code not in self.known]
        if any(f.code == BROKE for f in findings):
            return Verdict("missed", f"the check breaks: {findings[0].message}", said)
        if not new:
            return self.not_checked() or Verdict("missed", "nothing is said", said)
        named = [f for f in new if self.plant.names(f, self.case)]
        self.find_working(named)
        trials = [t for f in first_of_a_code(new) for t in self.trials_of(f, f in named)]
        trials += [t for f in _together(named) for t in self.trials_of(f, True)]
        if named and not any(t.named and t.became == "works" for t in trials):
            trials += [t for f in named for t in self.halves_of(f) if t.became == "works"]
        word, why = self.word_of(named, trials, new)
        return Verdict(word, why, said, trials)

    def is_named(self) -> bool:
        """Return whether one check names the fault, or says that it was not checked; no cure is pasted."""
        findings, _ = look(self.case, judged=False)
        if any(f.code == BROKE for f in findings):
            return False
        new = [f for f in findings if f.code not in self.known]
        return any(self.plant.names(f, self.case) for f in new) or (
            not new and self.not_checked() is not None
        )

    def not_checked(self) -> Verdict | None:
        """Return that a mistake in a word that no run reads is named among what was not checked."""
        job = Job.from_toml(self.case.path) if self.plant.unused else None
        named = [f for f in check_job(job).findings if f.level == "unchecked"] if job else []
        named = [f for f in named if self.plant.names(f, self.case)]
        return (
            Verdict("caught", "not checked, and no run reads it", [say(f) for f in named]) if named else None
        )

    def find_working(self, named: list[Finding]) -> None:
        """Note the first cure of the fault itself that works alone: cures that leave findings are tried with it."""
        for finding in named:
            cures = [(cure, False) for cure in offered(finding.fix, self.case)]
            if self.plant.deed is not None and re.search(self.plant.deed[0], finding.fix, re.I):
                cures.append(([], True))
            for cure, deed in cures:
                if self.with_cure(cure, deed)[1] == "works":
                    self.working.append((cure, deed))
                    return

    def word_of(self, named, trials, new) -> tuple[str, str]:
        """Return the word of the verdict and why."""
        harmful = [t for t in trials if t.became == "harmful"]
        working = [t for t in trials if t.named and t.became in ("works", "leads")]
        bad = [t for t in trials if t.became == "leaves"]
        if harmful:
            return "harmful", str(harmful[0])
        if not named:
            return "misnamed", "; ".join(sorted({f.code for f in new}))
        if not working:
            others = [t for t in trials if t.named]
            return "no cure", str(others[0]) if others else f"{named[0].code} offers nothing that can be done"
        if bad:
            return "bad beside", str(bad[0])
        return "caught", f"{working[0].code}, {working[0].cure}"

    def trials_of(self, finding: Finding, named: bool) -> Iterator[Trial]:
        """Paste the cures of a finding one by one, and do what it says can be done outside the job."""
        for cure in offered(finding.fix, self.case):
            became, why = self.became(cure)
            yield Trial(finding.code, words_of(cure), became, why, named)
        if named and self.plant.deed is not None and re.search(self.plant.deed[0], finding.fix, re.I):
            became, why = self.became([], deed=True)
            yield Trial(finding.code, f"done as said: {self.plant.deed[0]}", became, why, named)

    def halves_of(self, finding: Finding) -> Iterator[Trial]:
        """Paste each key alone of cures that set several."""
        for cure in offered(finding.fix, self.case):
            for key in cure if len(cure) > 1 else []:
                became, why = self.became([key])
                yield Trial(finding.code, words_of([key]), became, why, True)

    def before(self) -> dict | None:
        """Return what the job holds without any cure; None where it holds nothing."""
        if not self._before:
            try:
                self.case.write_job()
                self._before.append(truth(Job.from_toml(self.case.path)))
            except SubsaltError:
                self._before.append(None)
        return self._before[0]

    def became(self, cure: list[Key], deed: bool = False) -> tuple[str, str]:
        """Return what becomes of the survey with a cure, and why."""
        left, became, why = self.with_cure(cure, deed)
        if became != "leaves":
            return became, why
        right = self.right_though_warned(cure, deed, left)
        if right:
            return "harmless", f"{why}, and {right}"
        for more, also in self.working:
            if not (also and deed) and self.with_cure([*cure, *more], deed or also)[1] in (
                "works",
                "harmless",
            ):
                return "harmless", f"{why}; on by {words_of(more) or 'what is done outside the job'}"
        harm = on = ""
        for more, also in self.next_cures(left, cure, deed):
            _, then, what = self.with_cure([*cure, *more], deed or also)
            words = words_of(more) or "what is done outside the job"
            if then == "harmful":
                harm = harm or f"{why}; with {words} {what}"
            elif then in ("works", "harmless") and not on:
                became = "leads" if more and then == "works" else "harmless"
                on = f"{why}; on by {words}"
        return ("harmful", harm) if harm else (became, on or why)

    def right_though_warned(self, cure, deed, left) -> str:
        """Return that a cure brings back the clean survey although warnings are left; empty where it does not."""
        case = self._case_with(cure, deed)
        if self.then is None or any(f.level == "error" for f in left):
            return ""
        try:
            became, _ = self.rightness(Job.from_toml(case.path), cure)
        except SubsaltError:
            return ""
        return "all is right" if became in ("works", "harmless") else ""

    def next_cures(self, left, cure, deed) -> Iterator[tuple[list[Key], bool]]:
        """Yield what the findings that are left after a cure tell to do: (keys, whether something outside the job).

        They are those that were there before and those that come with the cure: `left` has their texts.
        """
        if left:
            # now as a person reads them
            left = self.new_in(look(self._case_with(cure, deed))[0])
        seen = {words_of([k]) for k in cure}
        count = 0
        for f in first_of_a_code(sorted(left, key=lambda f: f.level != "error")):
            for more in offered(f.fix, self.case):
                if words_of(more) in seen or count == MOST_NEXT:
                    continue
                seen.add(words_of(more))
                count += 1
                yield more, False
        if self.plant.deed is not None and not deed:
            yield [], True

    def with_cure(self, cure, deed) -> tuple[list[Finding], str, str]:
        """Return what is found with a cure, what it makes of the survey, and why."""
        case = self._case_with(cure, deed)
        key = f"{deed} {case.written()}"
        if key not in self._looked:
            self._looked[key] = self._with_cure(case, cure)
        return self._looked[key]

    def _case_with(self, cure, deed) -> Case:
        """Return the case with a cure, its job written."""
        case = self.case
        if deed:
            case = self.case.moved(self.folder_of())
            self.plant.deed[1](case)
        case = pasted(case, cure, "tried")
        case.write_job()
        return case

    def new_in(self, findings: list[Finding]) -> list[Finding]:
        """Return the findings that the clean survey has not, and that may not be left."""
        return [f for f in findings if f.code not in self.known and f.code not in self.plant.allows]

    def _with_cure(self, case, cure):
        findings, job = look(case, judged=False)
        left = self.new_in(findings)
        if left:
            return left, "leaves", f"then {', '.join(sorted({f.code for f in left}))}"
        if job is None or self.then is None:
            return left, "works", ""
        try:
            return left, *self.rightness(job, cure)
        except SubsaltError as e:
            return left, "leaves", f"then {e.code} {e.message}"

    def rightness(self, job, cure) -> tuple[str, str]:
        """Return whether a job in which nothing is found holds the clean survey, or makes its image, and why not."""
        plant, now = self.plant, truth(job)
        off = differs(now, self.then, plant.keeps)
        if not off:
            return "works", ""
        if not plant.image:
            return "works", "no clean survey to compare with"
        less = len(now["src"]) < plant.keeps * len(self.then["src"])
        if less and not differs(now, self.then, 0.0):
            return "harmless", off
        if cure and same(now, self.before()):
            return "confirms", "it says that what is there is right"
        r = self.images.likeness(job, now, self.clean, self.then, cure, job_is_wrong=plant.where == "job")
        if r < SAME:
            return "harmful", f"{off}, the image correlates by {r:.2f}"
        return ("harmless" if less else "works"), f"{off}, the image correlates by {r:.3f}"


def first_of_a_code(findings: list[Finding]) -> list[Finding]:
    """Return findings without those that repeat a code more than `ALIKE_FINDINGS` times: of file after file."""
    count: dict[str, int] = {}
    out = []
    for f in findings:
        count[f.code] = count.get(f.code, 0) + 1
        out += [f] * (count[f.code] <= ALIKE_FINDINGS)
    return out


def _together(named: list[Finding]) -> list[Finding]:
    """Return as one finding those of one code that say of several things what is to be done with each."""
    same = [f for f in named if f.code == named[0].code]
    if len(same) < 2:
        return []
    # a key for each: a person pastes all of them as one cure
    return [Finding(named[0].code, "error", "", ", ".join(f.fix for f in same))]


def planted_in(plant, made, folder_of, images: Images) -> Judge:
    """Plant a mistake in a survey, and return who judges what is said of it.

    Parameters
    ----------
    plant : Form
        The mistake.
    made : tuple
        The clean case, the codes that are said of it, and what it holds.
    folder_of : callable
        ``folder_of()`` returns a new empty folder.
    images : Images
        Of clean surveys.
    """
    clean, known, then = made
    case = clean.moved(folder_of())
    case.clean = clean.folder
    plant.plant(case)
    return Judge(plant, clean, known, then, case, folder_of, images)
