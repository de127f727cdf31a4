"""Write the tables of docs/reference/planted.md from docs/performance/prove-cures.json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PAGE = DOCS / "reference" / "planted.md"
RECORD = DOCS / "performance" / "prove-cures.json"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
#: subjects that every survey may hold; those behind were added later
FORTY = 40
#: verdicts in words, worst first
WORDS = {
    "harmful": "a printed cure makes another image, and no finding remains",
    "missed": "no finding",
    "misnamed": "a finding that does not name the mistake",
    "no cure": "a finding that names the mistake, without a cure that works",
    "bad beside": "a finding with a cure that works; another printed cure leads nowhere",
    "caught": "a finding with a cure that works",
}

#: what the numbered cases are
CASES = "Mistakes that users reported in public, by number (`tests/check/planted/shared_cases.py`)."

Record = Mapping[str, Any]


def number(value: float) -> str:
    """Return a score: halves with one digit."""
    return f"{value:g}" if value == int(value) else f"{value:.1f}"


def share(rows: list[Record]) -> float:
    """Return the sum over subjects of score by form."""
    return sum(float(r["score"]) / int(r["forms"]) for r in rows)


def scores(rows: list[Record]) -> Iterator[str]:
    """Yield the table of scores."""
    yield "| subject | forms | score | cures applied | harmful among them | that lead nowhere |"
    yield "|---|---:|---:|---:|---:|---:|"
    for r in rows:
        cures = r["cures"]
        title = r["title"].removeprefix("beyond: ")
        yield (
            f"| {r['number']}. {title} | {r['forms']} | {number(r['score'])} | {sum(cures.values())} "
            f"| {cures.get('harmful', 0)} | {cures.get('leaves', 0)} |"
        )


def still_open(rows: list[Record]) -> Iterator[str]:
    """Yield what is not caught, by how badly."""
    order = list(WORDS)
    worst = sorted(rows, key=lambda r: (order.index(r["word"]), r["form"]))
    for word, group in groupby(worst, key=lambda r: r["word"]):
        mine = list(group)
        yield f"\n**{WORDS[word][0].upper()}{WORDS[word][1:]}** ({len(mine)}):\n"
        by_form = groupby(mine, key=lambda r: re.sub(r" \[.*", "", r["form"]))
        for form, same in by_form:
            places = ", ".join(re.sub(r".*\[(.*)\]", r"\1", r["form"]).replace(", ", "/") for r in same)
            yield f"- {form.replace('beyond: ', '')} ({places})"


def tables(record: Record) -> str:
    """Return what stands between the marks."""
    forty = [r for r in record["subjects"] if r["number"] <= FORTY]
    beyond = [r for r in record["subjects"] if r["number"] > FORTY]
    forms = sum(r["forms"] for r in record["subjects"])
    cures = sum(n for r in record["subjects"] for n in r["cures"].values())
    clean, cases = record["clean"], record["cases"]
    lines = [
        f"Version {record['version']}, {record['date']}: {forms} forms, {cures} cures applied."
        + (" One form of each subject was planted." if forms == len(record["subjects"]) else ""),
        "",
        f"**Subjects that any survey may have**: {share(forty):.1f} of {len(forty)}.",
        "",
        *scores(forty),
        "",
        f"**Further subjects**: {share(beyond):.1f} of {len(beyond)}.",
        "",
        *scores(beyond),
        "",
        "## What is not found",
        *(still_open(record["open"]) or ["", "Everything that was planted is found."]),
        "",
        "## Clean surveys",
        "",
        f"{clean['surveys'] - len(clean['alarms'])} of {clean['surveys']} clean surveys are without a finding.",
    ]
    if clean["alarms"]:
        lines += ["", "| survey | wrongly found |", "|---|---|"]
        lines += [f"| {name} | {', '.join(codes)} |" for name, codes in clean["alarms"].items()]
    if cases:
        lines += ["", "## Cases of public reports", "", CASES, "", "| case | result |", "|---|---|"]
        ordered = sorted(cases.items(), key=lambda case: int(case[0]))
        lines += [
            f"| {n} | {WORDS.get(c.get('word', ''), 'not tried: ' + c.get('skipped', ''))} |"
            for n, c in ordered
        ]
    return "\n".join(lines)


def page(text: str, record: Record) -> str:
    """Return the page with the tables of a record."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{tables(record)}\n{END}{rest.split(END)[1]}"


def main() -> None:
    """Write the page."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
