"""What the report keeps: shots, job, provenance, the way to reproduce it, events.

Each function returns markup, or None when the run says nothing about its subject.
"""

from __future__ import annotations

from typing import Any

from subsalt.report import words
from subsalt.report.facts import RunFacts, listed, section
from subsalt.report.html import Markup, bar, code, join, number, table, tag

# longer tables of shots are folded up
LONG = 40


def units(facts: RunFacts) -> Markup | None:
    """State, time and hash of every shot, or of every block of a time image."""
    if not facts.units:
        return None
    rows = []
    longest = max([s["seconds"] for s in facts.units if words.is_number(s.get("seconds"))] + [1e-9])
    for s in facts.units:
        state = str(s.get("state", "unknown"))
        colour = {"done": "good", "failed": "bad", "quarantined": "bad"}.get(state, "warn")
        took = s.get("seconds")
        strip = bar(took / longest) if words.is_number(took) else ""
        last = code(s["sha256"]) if s.get("sha256") else (s.get("reason") or "")
        rows.append(
            (
                str(s.get("id", "")),
                tag("td", state, class_=colour),
                number(f"{took:.3f}" if words.is_number(took) else ""),
                tag("td", strip),
                last,
            )
        )
    head = (
        facts.unit,
        "state",
        tag("th", "seconds", class_="number"),
        "",
        "SHA-256 of its sums, or why not" if facts.is_time else "SHA-256 of its partial image, or why not",
    )
    body = table(head, rows)
    holes = [s for s in facts.units if s.get("state") in ("failed", "quarantined")]
    note = None
    if holes:
        ids = ", ".join(str(s.get("id")) for s in holes[:30]) + (" ..." if len(holes) > 30 else "")
        note = tag(
            "p", f"Not in the image: {len(holes)} of {len(facts.units)} {facts.unit}s ({ids}).", class_="bad"
        )
    if len(rows) > LONG:
        body = tag("details", tag("summary", f"all {len(rows)} {facts.unit}s"), body)
    return join([note, body])


def job(facts: RunFacts) -> Markup | None:
    """Every key of the job with its value; those that the job file set are marked where that is known."""
    if not facts.job:
        return None
    given = flat_keys(facts.run.get("job_given"))
    rows = []
    for key, value in flatten(facts.job):
        mark = "given" if key in given or any(g.startswith(key + ".") for g in given) else "default"
        rows.append(
            tag(
                "tr",
                [
                    tag("td", code(key)),
                    tag("td", code(words.plain(value))),
                    tag("td", mark) if given else None,
                ],
                class_="changed" if given and mark == "given" else None,
            )
        )
    head = tag("tr", tag("th", "key"), tag("th", "value (SI)"), tag("th", "from") if given else None)
    body = tag("div", tag("table", tag("thead", head), tag("tbody", rows)), class_="scroll")
    text = facts.job_text
    raw = tag("details", tag("summary", "job.resolved.toml"), tag("pre", text)) if text else None
    return join([body, raw])


def flatten(data: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return (dotted key, value) of nested tables, in order."""
    out: list[tuple[str, Any]] = []
    for k, v in data.items():
        key = f"{prefix}{k}"
        if isinstance(v, dict) and v:
            out += flatten(v, key + ".")
        else:
            out.append((key, v))
    return out


def flat_keys(given: Any) -> set[str]:
    """Return the dotted keys of what a job file set: from a list of keys, or from nested tables."""
    if isinstance(given, dict):
        return {k for k, _ in flatten(given)}
    return {str(k) for k in given} if isinstance(given, list) else set()


def provenance(facts: RunFacts) -> Markup | None:
    """Hashes of data, models, code and job; what computed it."""
    run = facts.run
    blocks: list[Markup] = []
    image = section(run, "image")
    results = [("image", image.get("path"), None, image.get("sha256"))] if image else []
    inputs = [(i.get("key"), i.get("path"), i.get("bytes"), i.get("sha256")) for i in listed(run, "inputs")
              if isinstance(i, dict)]  # fmt: skip
    if results or inputs:
        rows = [
            (
                kind or "",
                code(path or ""),
                number(words.size(n) if words.is_number(n) else ""),
                code(sha or ""),
            )
            for kind, path, n, sha in results + inputs
        ]
        head = ("what", "file", tag("th", "bytes", class_="number"), "SHA-256")
        blocks.append(table(head, rows))
    for name in ("code", "numerics", "machine"):
        known = section(run, name)
        if known:
            lines = [
                (k.replace("_", " "), code(v if v is not None else "unknown")) for k, v in _machine(known)
            ]
            blocks += [tag("h3", name), table(("", ""), lines)]
    return join(blocks) if blocks else None


def _machine(known: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return facts as text; keys in bytes in words."""
    out: list[tuple[str, str | None]] = []
    for k, v in known.items():
        if k.endswith("_bytes") and words.is_number(v):
            out.append((k.removesuffix("_bytes"), words.size(v)))
        else:
            out.append((k, None if v is None else (v if isinstance(v, str) else words.plain(v))))
    return out


def reproduce(facts: RunFacts) -> Markup | None:
    """How to get the same bytes again."""
    if not facts.job and not facts.job_text:
        return None
    version = facts.run.get("version")
    image = section(facts.run, "image")
    name, sha = image.get("path") or "image.sgy", image.get("sha256")
    lines = []
    if version:
        lines.append(f"# with subsalt {version}; the hashes of its code stand above")
    if section(facts.run, "reimage"):
        lines.append(
            "# a fresh run propagates what this one took from another: the same image, unless only a part of it"
        )
    lines += [
        "# with the inputs above at the places the job names, beside a copy of job.resolved.toml",
        "subsalt migrate job.resolved.toml --run again.run",
        f"sha256sum again.run/{name}",
    ]
    if sha:
        lines.append(f"# expect {sha}")
    same = "The image depends on job and inputs alone: not on time, host, path, threads or interruptions."
    numerics = section(facts.run, "numerics")
    if numerics.get("class"):
        same += (
            f" It was computed in the numerics class {numerics['class']}; another class differs by rounding."
        )
    return join([tag("pre", "\n".join(lines)), tag("p", same, class_="soft")])


def events(facts: RunFacts) -> Markup | None:
    """The last events of the run."""
    if not facts.events:
        return None
    rows = []
    for e in facts.events:
        rest = {k: v for k, v in e.items() if k not in ("event", "time")}
        rows.append((str(e.get("time", "")), str(e.get("event", "")), code(words.plain(rest))))
    more = f"last {len(facts.events)} of {facts.n_events} events"
    return tag("details", tag("summary", more), table(("time", "event", "facts"), rows))
