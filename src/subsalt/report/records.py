"""What the report records: shots, job, provenance, the way to reproduce it, wavefields, events.

Each function returns what the macro of its name in ``templates/run.html`` lays out, or None when the run says nothing
about its subject.
"""

from __future__ import annotations

from typing import Any

from subsalt.report import words
from subsalt.report.facts import RunFacts, listed, section

# longer tables of shots are folded up
LONG = 40


def shots(facts: RunFacts) -> dict[str, Any] | None:
    """State, time and hash of every shot, or of every block of a time image."""
    if not facts.units:
        return None
    longest = max([s["seconds"] for s in facts.units if words.is_number(s.get("seconds"))] + [1e-9])
    rows = []
    for s in facts.units:
        took: Any = s.get("seconds")
        known = words.is_number(took)
        last = s.get("sha256") or s.get("reason") or ""
        seconds = (f"{took:.3f}", took / longest) if known else ("", "")
        rows.append((str(s.get("id", "")), str(s.get("state", "unknown")), *seconds, last))
    holes = [s for s in facts.units if s.get("state") in ("failed", "quarantined")]
    ids = ", ".join(str(s.get("id")) for s in holes[:30]) + (" ..." if len(holes) > 30 else "")
    missing = f"Not in the image: {len(holes)} of {len(facts.units)} {facts.unit}s ({ids})."
    return {
        "rows": rows,
        "unit": facts.unit,
        "sums": "sums" if facts.is_time else "partial image",
        "holes": missing if holes else "",
        "folded": len(rows) > LONG,
    }


def job(facts: RunFacts) -> dict[str, Any] | None:
    """Every key of the job with its value; those that the job file set come first, where that is known."""
    if not facts.job:
        return None
    given = flat_keys(facts.run.get("job_given"))
    rows: dict[bool, list[tuple[str, ...]]] = {True: [], False: []}
    for key, value in flatten(facts.job):
        is_given = key in given or any(g.startswith(key + ".") for g in given)
        mark = ("given" if is_given else "default",) if given else ()
        rows[is_given].append((key, words.plain(value), *mark))
    return {"given": rows[True], "rest": rows[False], "marked": bool(given), "text": facts.job_text}


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


def provenance(facts: RunFacts) -> dict[str, Any] | None:
    """Hashes of data, models, code and job; what computed it."""
    image = section(facts.run, "image")
    files = [{"key": "image", **image}] if image else []
    files += [i for i in listed(facts.run, "inputs") if isinstance(i, dict)]
    rows = [
        (
            f.get("key") or "",
            f.get("path") or "",
            words.size(f["bytes"]) if words.is_number(f.get("bytes")) else "",
            f.get("sha256") or "",
        )
        for f in files
    ]
    about = [(name, section(facts.run, name)) for name in ("code", "numerics", "machine")]
    tables = [(name, [_fact(*kv) for kv in known.items()]) for name, known in about if known]
    return {"files": rows, "facts": tables} if rows or tables else None


def _fact(key: str, value: Any) -> tuple[str, str]:
    """Return a fact as text; one in bytes in words."""
    if key.endswith("_bytes") and words.is_number(value):
        return key.removesuffix("_bytes").replace("_", " "), words.size(value)
    text = "unknown" if value is None else value if isinstance(value, str) else words.plain(value)
    return key.replace("_", " "), text


def reproduce(facts: RunFacts) -> dict[str, Any] | None:
    """How to get the same bytes again."""
    if not facts.job and not facts.job_text:
        return None
    image = section(facts.run, "image")
    return {
        "version": facts.run.get("version"),
        "reimaged": bool(section(facts.run, "reimage")),
        "image": image.get("path") or "image.sgy",
        "sha256": image.get("sha256"),
        "numerics": section(facts.run, "numerics").get("class"),
    }


def events(facts: RunFacts) -> dict[str, Any] | None:
    """The last events of the run."""
    if not facts.events:
        return None
    rows = []
    for e in facts.events:
        rest = {k: v for k, v in e.items() if k not in ("event", "time")}
        rows.append((str(e.get("time", "")), str(e.get("event", "")), words.plain(rest)))
    return {"rows": rows, "total": facts.n_events}


def wavefields(facts: RunFacts) -> dict[str, Any] | None:
    """Wavefields that were stored for later, and the run whose wavefields made this image; None without either."""
    made, stored = _origin(section(facts.run, "reimage")), _stored(section(facts.run, "wavefields"))
    return {"made": made, "stored": stored} if made or stored else None


def _origin(made: dict[str, Any]) -> dict[str, str]:
    """Return where an image that was made without propagating comes from."""
    if not made:
        return {}
    wish = section(made, "wish")
    changed = ", ".join(f"{k} = {words.plain(v)}" for k, v in wish.items() if k != "wavefields")
    origins = ", ".join(
        f"{words.count(n)} from {'partial images' if what == 'partial image' else what}"
        for what, n in section(made, "shots_from").items()
        if what and words.is_number(n)
    )
    same = not {"region", "times"} & set(wish) and "lossy" not in made
    return {
        "run": str(made.get("run", "")),
        "run_id": str(made.get("run_id", ""))[:24],
        "wish": f": {changed}" if changed else "",
        "sums": (f"Sums of shots: {origins}." if origins else "")
        + (" The bytes are those of a fresh run with this job." if same else ""),
    }


def _stored(known: dict[str, Any]) -> dict[str, Any]:
    """Return what is stored, and how much of the disk it takes."""
    ids, both = listed(known, "shots"), listed(known, "both")
    if not ids:
        return {}
    whole = "both wavefields"
    return {
        "shots": words.count(len(ids)),
        "which": whole if len(both) == len(ids) else f"{whole} of {len(both)}, the source of the rest",
        "size": words.size(known.get("bytes")),
        "folders": [str(f) for f in listed(known, "folders")],
    }
