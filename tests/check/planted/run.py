"""Runs forms and clean surveys, one after the other or in several processes, and keeps lists of what is open."""

from __future__ import annotations

import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from planted import (
    mistakes_beyond,
    mistakes_coordinates,
    mistakes_evidence,
    mistakes_files,
    mistakes_jobs,
    mistakes_models,
    mistakes_places,
    mistakes_times,
    mistakes_traces,
)
from planted.clean import EXPECTED, SURVEYS
from planted.form import FORMS, TITLES, Form
from planted.images import Images
from planted.judge import Judge, Verdict, look, planted_in, say
from planted.surveys import Case
from planted.truth import truth

#: what registers the forms
SUBJECTS = (
    mistakes_coordinates,
    mistakes_places,
    mistakes_times,
    mistakes_traces,
    mistakes_models,
    mistakes_files,
    mistakes_jobs,
    mistakes_evidence,
    mistakes_beyond,
)
#: forms that are not caught yet, and what is said of clean surveys; lines that begin with # say why
OPEN, ALARMS = (Path(__file__).with_name(name) for name in ("open.txt", "alarms.txt"))


@dataclass
class Bench:
    """A folder in which clean surveys are made once, and spoiled copies come and go."""

    root: Path
    cases: dict[str, Case] = field(default_factory=dict)
    made: dict[str, tuple[Case, set[str], dict | None, list]] = field(default_factory=dict)
    images: Images = field(default_factory=Images)

    def case(self, name: str) -> Case:
        """Return a clean survey with its files, of which nothing is checked."""
        if name not in self.cases:
            folder = self.root / re.sub(r"\W+", "_", f"clean {name}")
            folder.mkdir()
            self.cases[name] = SURVEYS[name](folder)
        return self.cases[name]

    def clean(self, name: str) -> tuple[Case, set[str], dict | None, list]:
        """Return a clean survey, the codes said of it, what it holds, and the findings."""
        if name not in self.made:
            case = self.case(name)
            findings, job = look(case)
            held = truth(job) if job is not None and job.data is not None else None
            self.made[name] = case, {f.code for f in findings}, held, findings
        return self.made[name]

    @contextmanager
    def folders(self) -> Iterator[Callable[[], Path]]:
        """Yield a maker of folders that are gone afterwards."""
        with tempfile.TemporaryDirectory(dir=self.root) as top:
            # names without digits: a number in a message is that of a shot or trace
            names = map("".join, itertools.product("abcdefgh", repeat=3))
            yield lambda: Path(top) / next(names)

    def false_alarms(self, name: str) -> list[str]:
        """Return what is said of a clean survey that should not be."""
        return [say(f) for f in self.clean(name)[3] if f.code not in EXPECTED.get(name, set())]

    @contextmanager
    def planted(self, form: Form) -> Iterator[Judge]:
        """Plant a mistake, for as long as it is looked at."""
        with self.folders() as folder_of:
            yield planted_in(form, self.clean(form.base)[:3], folder_of, self.images)

    def verdict(self, form: Form) -> Verdict:
        """Plant a mistake, and judge what is said of it and every cure."""
        with self.planted(form) as judge:
            return judge.verdict()

    def is_named(self, form: Form) -> bool:
        """Plant a mistake, and return whether a check names it."""
        with self.planted(form) as judge:
            return judge.is_named()


def open_forms() -> set[str]:
    """Return the names of the forms that are not caught yet."""
    return {
        line for line in OPEN.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")
    }


def known_alarms() -> dict[str, set[str]]:
    """Return the codes that are known to be said of clean surveys though they should not be: ``code name``."""
    out: dict[str, set[str]] = {}
    for line in ALARMS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            code, _, name = line.partition(" ")
            out.setdefault(name, set()).add(code)
    return out


def sample() -> list[Form]:
    """Return the first form of every mistake, of which every run of the tests plants a fifth."""
    first = {form.number: form for form in reversed(chosen())}
    return [first[number] for number in sorted(first)]


def chosen(words: Iterable[str] = ()) -> list[Form]:
    """Return the forms in order: all, or those whose number or name a word gives."""
    words = list(words)
    forms = sorted(FORMS, key=lambda f: f.number)
    return [
        f
        for f in forms
        if not words or any(w == str(f.number) or (not w.isdigit() and w in f.name) for w in words)
    ]


def totals(verdicts: dict[str, tuple[Form, Verdict]]) -> dict[int, tuple[float, int]]:
    """Return (score, forms) by number."""
    out = {}
    for number in TITLES:
        of = [v for f, v in verdicts.values() if f.number == number]
        if of:
            out[number] = sum(v.score for v in of), len(of)
    return out


# -- in several processes

#: the bench of a process
_BENCH: dict[int, Bench] = {}


def _bench(root: str) -> Bench:
    if os.getpid() not in _BENCH:
        _BENCH[os.getpid()] = Bench(Path(tempfile.mkdtemp(dir=root)))
    return _BENCH[os.getpid()]


def _one(root: str, kind: str, name: str) -> tuple[str, str, object, float]:
    """Return kind, name, the verdict of a form or the alarms of a clean survey, and processor seconds."""
    began, bench = time.process_time(), _bench(root)
    lines: object
    if kind == "clean":
        lines = bench.false_alarms(name)
    elif kind == "case":
        from planted.shared_cases import case_verdict

        with bench.folders() as folder_of:
            lines = case_verdict(int(name), bench.root, folder_of)
    else:
        lines = bench.verdict(next(f for f in FORMS if f.name == name))
    return kind, name, lines, time.process_time() - began


def results(
    tasks: list[tuple[str, str]], jobs: int, shared: str = "SUBSALT_TESTS_SHARED"
) -> Iterator[tuple[str, str, object, float]]:
    """Yield what becomes of tasks, (form or clean, name), as they are done; `jobs` processes share what is modelled."""
    with tempfile.TemporaryDirectory(prefix="planted-") as root:
        if jobs == 1:
            for kind, name in tasks:
                yield _one(root, kind, name)
            _BENCH.clear()
            return
        inherited, os.environ[shared] = os.environ.get(shared), root
        try:
            with ProcessPoolExecutor(jobs) as pool:
                for done in as_completed([pool.submit(_one, root, *task) for task in tasks]):
                    yield done.result()
        finally:
            if inherited is None:
                del os.environ[shared]
            else:
                os.environ[shared] = inherited


def without_places(text: str) -> str:
    """Return a text with names of files and without their folders, which are others in every run."""
    return re.sub(r"/(?:[\w.-]+/)+(?=[\w.-]+)", "", text)


def write_open(verdicts: dict[str, tuple[Form, Verdict]], alarms: dict[str, list[str]]) -> None:
    """Write the lists of what is open again, as far as it was looked at."""
    names = [form.name for form in chosen() if form.name in open_forms() - set(verdicts)]
    lines = ["# forms that are not caught yet, one a line, with the reason above it"]
    old = OPEN.read_text(encoding="utf-8").splitlines()
    for form in chosen():
        if form.name in names:
            at = old.index(form.name)
            lines += [*([old[at - 1]] if old[at - 1].startswith("#") else []), form.name]
        elif form.name in verdicts and not verdicts[form.name][1].caught:
            v = verdicts[form.name][1]
            lines += [f"# {v.word}: {without_places(v.why)[:160]}", form.name]
    OPEN.write_text("\n".join(lines) + "\n", encoding="utf-8")
    known = known_alarms()
    alarms_by_form = {
        n: {line.split()[0] for line in alarms[n]} if n in alarms else known.get(n, set()) for n in SURVEYS
    }
    rows = [f"{code} {name}" for name, codes in alarms_by_form.items() for code in sorted(codes)]
    head = "# what is said of clean surveys though it should not be: a code and the survey a line"
    ALARMS.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
