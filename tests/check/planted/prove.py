"""The proof of cures: all forms, all clean surveys and the cases of public reports, as a table and a record."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import subsalt
from planted.form import FORMS, TITLES, Form
from planted.judge import Verdict
from planted.run import results, totals, without_places
from subsalt.io.publish import publish_text

#: subjects that stand in `planted.md`; the others are beyond
FORTY = 40


@dataclass
class Proof:
    """What became of forms, clean surveys and cases.

    Attributes
    ----------
    verdicts : dict of str to (Form, Verdict)
        By name of the form.
    alarms : dict of str to list of str
        What is wrongly said, by clean survey.
    cases : dict of str to Verdict or str
        By number of the case; the reason where it was not tried.
    """

    verdicts: dict[str, tuple[Form, Verdict]] = field(default_factory=dict)
    alarms: dict[str, list[str]] = field(default_factory=dict)
    cases: dict[str, Verdict | str] = field(default_factory=dict)

    def run(self, tasks: list[tuple[str, str]], jobs: int, verbose: bool) -> None:
        """Run tasks and print a line of each as it is done."""
        forms = {f.name: f for f in FORMS}
        width = len(str(len(tasks)))
        for i, (kind, name, task, seconds) in enumerate(results(tasks, jobs), 1):
            if kind == "form":
                self.verdicts[name] = forms[name], task
            elif kind == "clean":
                self.alarms[name] = task
            else:
                self.cases[name] = task
            head = f"{i:{width}d}/{len(tasks)}"
            for line in _lines(kind, name, task, verbose):
                print(f"{head} {without_places(line)}", flush=True)
                head = " " * len(head)
            if verbose:
                print(f"{head} ({seconds:.2f} s)", flush=True)

    @property
    def holds(self) -> bool:
        """Whether all is caught and nothing is said of a clean survey."""
        judged = [v for _, v in self.verdicts.values()] + [
            v for v in self.cases.values() if isinstance(v, Verdict)
        ]
        return all(v.caught for v in judged) and not any(self.alarms.values())

    def table(self) -> None:
        """Print scores by subject, alarms and cases."""
        print()
        counted = totals(self.verdicts)
        for number, (score, of) in counted.items():
            print(f"{number:2d} {TITLES[number]:45s} {score:5.1f} of {of:3d}")
        for what, rows in _parts(counted):
            print(
                f"{what}: {sum(s == n for s, n in rows)} of {len(rows)} in every form, "
                f"{sum(s / n for s, n in rows):.1f} by share of forms"
            )
        trials = [t for _, v in self.verdicts.values() for t in v.trials]
        became = {
            w: sum(t.became == w for t in trials)
            for w in ("works", "leads", "harmless", "confirms", "leaves", "harmful")
        }
        print(f"{len(trials)} cures pasted: {', '.join(f'{n} {w}' for w, n in became.items())}")
        for name, lines in self.alarms.items():
            for line in lines:
                print(f"false alarm in {name}: {without_places(line)}")
        if self.alarms:
            quiet = sum(not v for v in self.alarms.values())
            print(f"{quiet} of {len(self.alarms)} clean surveys without a false alarm")

    def record(self) -> dict:
        """Return the record that the page of the documentation is made from."""
        subjects = []
        for number, (score, of) in totals(self.verdicts).items():
            mine = [v for f, v in self.verdicts.values() if f.number == number]
            trials = [t for v in mine for t in v.trials]
            subjects.append(
                {
                    "number": number,
                    "title": TITLES[number],
                    "forms": of,
                    "score": score,
                    "words": {w: sum(v.word == w for v in mine) for w in sorted({v.word for v in mine})},
                    "cures": {
                        w: sum(t.became == w for t in trials) for w in sorted({t.became for t in trials})
                    },
                }
            )
        return {
            "version": subsalt.__version__,
            "date": time.strftime("%Y-%m-%d"),
            "subjects": subjects,
            "open": [
                {"form": name.strip(), "word": v.word, "why": without_places(v.why)}
                for name, (_, v) in sorted(self.verdicts.items())
                if not v.caught
            ],
            "clean": {
                "surveys": len(self.alarms),
                "alarms": {n: _codes(v) for n, v in self.alarms.items() if v},
            },
            "cases": {
                n: {"skipped": v} if isinstance(v, str) else {"word": v.word, "why": without_places(v.why)}
                for n, v in self.cases.items()
            },
        }

    def write(self, path: Path) -> None:
        """Write the record."""
        path.parent.mkdir(parents=True, exist_ok=True)
        publish_text(path, json.dumps(self.record(), indent=1) + "\n")
        print(path)


def _codes(lines: list[str]) -> list[str]:
    return sorted({line.split()[0] for line in lines})


def _parts(counted):
    """Yield the title and the rows of the forty subjects, and of those beyond."""
    for what, rows in (
        ("forty subjects", [c for n, c in counted.items() if n <= FORTY]),
        ("beyond the forty", [c for n, c in counted.items() if n > FORTY]),
    ):
        if rows:
            yield what, rows


def _lines(kind, name, task, verbose):
    """Yield the lines that tell what became of a task."""
    if kind == "clean":
        yield f"{'alarm' if task else 'quiet':10s} {name}"
        yield from (f"{'':10s} {line}" for line in task)
        return
    title = f"case {name}" if kind == "case" else name
    if isinstance(task, str):
        yield f"{'skipped':10s} {title}: {task}"
        return
    yield f"{task.word:10s} {title}"
    if verbose or not task.caught:
        yield f"{'':10s} {task.why}"
    if verbose:
        yield from (f"{'':10s} | {s}" for s in task.said)
        yield from (f"{'':10s} > {t}" for t in task.trials)
