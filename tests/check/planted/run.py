"""Runs all forms and all clean surveys, and tells what became of each."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from planted import (
    mistakes_coordinates,
    mistakes_files,
    mistakes_jobs,
    mistakes_models,
    mistakes_places,
    mistakes_times,
    mistakes_traces,
)
from planted.clean import EXPECTED, SURVEYS
from planted.form import FORMS, TITLES, Form
from planted.judge import Verdict, judge, look, say, truth
from planted.surveys import Case

#: what registers the forms
SUBJECTS = (
    mistakes_coordinates,
    mistakes_places,
    mistakes_times,
    mistakes_traces,
    mistakes_models,
    mistakes_files,
    mistakes_jobs,
)


@dataclass
class Bench:
    """A folder in which clean surveys are made once, and spoiled copies come and go."""

    root: Path
    made: dict[str, tuple[Case, set[str], dict | None, list]] = field(default_factory=dict)

    def clean(self, name: str) -> tuple[Case, set[str], dict | None, list]:
        """Return a clean survey, the codes said of it, what it holds, and the findings."""
        if name not in self.made:
            folder = self.root / f"clean {name}".replace(" ", "_").replace(",", "")
            folder.mkdir()
            case = SURVEYS[name](folder)
            found, job = look(case)
            held = truth(job) if job is not None and job.data is not None else None
            self.made[name] = case, {f.code for f in found}, held, found
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

    def verdict(self, form: Form) -> Verdict:
        """Plant a mistake, and judge what is said of it."""
        with self.folders() as folder_of:
            return judge(form, lambda: self.clean(form.base)[:3], folder_of)


def open_forms() -> set[str]:
    """Return the names of the forms that are not caught yet; lines that begin with # say why."""
    lines = Path(__file__).with_name("open.txt").read_text(encoding="utf-8").splitlines()
    return {line for line in lines if not line.startswith("#")}


def sample() -> list[Form]:
    """Return the first form of every mistake: what every run of the tests plants."""
    first = {form.number: form for form in reversed(chosen())}
    return [first[number] for number in sorted(first)]


def chosen(words: Iterable[str] = ()) -> list[Form]:
    """Return the forms in order: all, or those whose number or name a word gives."""
    words = list(words)
    found = sorted(FORMS, key=lambda f: f.number)
    return [
        f
        for f in found
        if not words or any(w == str(f.number) or (not w.isdigit() and w in f.name) for w in words)
    ]


def totals(verdicts: dict[str, tuple[Form, Verdict]]) -> dict[int, tuple[int, int]]:
    """Return (caught, forms) by number."""
    out = {}
    for number in TITLES:
        of = [v for f, v in verdicts.values() if f.number == number]
        if of:
            out[number] = sum(v.caught for v in of), len(of)
    return out
