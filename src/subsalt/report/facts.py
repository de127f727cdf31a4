"""The facts of a run, gathered from its directory; missing or damaged files become notes, not errors.

The sections below show shots, job, provenance, the way to reproduce the run, wavefields and events. Each function
returns the input of the macro of its name in ``templates/run.html``, or None when the run has nothing on its subject.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import struct
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from subsalt.errors import MissingInputError
from subsalt.io.event_log import read_events, said_of
from subsalt.io.regular_files import read_regular
from subsalt.io.run_folder import own_run
from subsalt.methods import method_of_run
from subsalt.report import render

PNG = b"\x89PNG\r\n\x1a\n"
# a report that grows beyond this is no longer something to send by mail
MOST_PICTURE_BYTES = 12_000_000
# text of one file that the report reads
MOST_TEXT_BYTES = 64_000_000
MOST_EVENTS = 200


@dataclass
class Picture:
    """One PNG of the run, as it goes into the page."""

    name: str
    title: str
    about: str
    data: str
    size: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class MethodRows:
    """The part of the report that a method of imaging adds to the common part."""

    #: numbers with their meanings
    cards: Sequence[tuple[str, str]] = ()
    #: parameters in the words of the field, as the macro ``parameters`` lays them out
    parameters: dict[str, Any] | None = None
    #: numbers of every iteration, as the macro ``iterations`` lays them out
    iterations: dict[str, Any] | None = None
    #: titles of sections that it calls otherwise
    titles: Mapping[str, str] = field(default_factory=dict)
    #: the partial result of a unit, whose hash the table of units shows
    sums: str = "partial image"
    #: holder of the arrays that the plan counts
    holder: str = "the largest shot"


@dataclass
class RunFacts:
    """The facts of a run for its report.

    Parameters
    ----------
    folder : Path
        Run directory.
    run : dict
        Content of run.json; without that file, the facts in the ledger.
    job_text : str
        Content of job.resolved.toml.
    events : list of dict
        The last events.
    n_events : int
        Number of all events.
    pictures : list of Picture
        Pictures in reading order.
    notes : list of str
        Files that were missing or could not be read.
    finished : bool
        Whether run.json exists.
    """

    folder: Path
    run: dict[str, Any] = field(default_factory=dict)
    job_text: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    n_events: int = 0
    pictures: list[Picture] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    finished: bool = False

    @property
    def job(self) -> dict[str, Any]:
        """The job with every default."""
        return section(self.run, "job")

    @cached_property
    def of_method(self) -> MethodRows:
        """The part of the report that the method of the run has."""
        rows: MethodRows = method_of_run(self.run).report_rows(self)
        return rows

    @property
    def unit(self) -> str:
        """Name of a unit of the run: shot or block."""
        return method_of_run(self.run).unit

    @property
    def units(self) -> list[dict[str, Any]]:
        """Rows of what the run distributed."""
        return [s for s in listed(self.run, f"{self.unit}s") if isinstance(s, dict)]


def section(data: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a nested dictionary, empty when it is missing or something else."""
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def listed(data: dict[str, Any], key: str) -> list[Any]:
    """Return a list, empty when it is missing or something else."""
    value = data.get(key)
    return value if isinstance(value, list) else []


def gather(run_dir: str | Path) -> RunFacts:
    """Read the facts for the report from a run directory.

    Parameters
    ----------
    run_dir : path
        Finished or not.

    Raises
    ------
    MissingInputError
        When it is no directory, or holds nothing of a run.
    """
    folder = Path(run_dir)
    if not folder.is_dir():
        raise MissingInputError(
            f"{folder} is no run directory", "give the directory that `migrate` made", code="E110"
        )
    own_run(folder, deep=False)
    facts = RunFacts(folder)
    text = _text(folder / "run.json", facts)
    if text:
        try:
            run = json.loads(text)
            if not isinstance(run, dict):
                raise ValueError("it holds no object")
            facts.run, facts.finished = run, run.get("state") != "running"
        except (ValueError, RecursionError) as error:
            facts.notes.append(f"run.json cannot be read: {error}")
    facts.job_text = _text(folder / "job.resolved.toml", facts)
    _events(facts)
    _ledger(facts)
    if not facts.finished and not facts.run and not facts.job_text:
        raise MissingInputError(
            f"{folder} holds no run: neither run.json, ledger.sqlite nor job.resolved.toml is in it",
            "give the directory that `migrate` made",
            code="E110",
        )
    if facts.job_text and not (facts.finished and facts.job):
        try:
            # more complete than what the ledger keeps: the title, and what does not touch the image
            facts.run["job"] = tomllib.loads(facts.job_text)
        except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
            facts.notes.append(f"job.resolved.toml cannot be read: {error}")
    _pictures(facts)
    if not facts.finished:
        facts.notes.append("the run has not finished: what is known only at the end is missing here")
    return facts


def _text(path: Path, facts: RunFacts) -> str:
    """Return the text of a file of the run, empty when there is none."""
    try:
        if path.stat().st_size > MOST_TEXT_BYTES:
            facts.notes.append(f"{path.name} is left out: {path.stat().st_size / 1e6:.0f} MB")
            return ""
        return read_regular(path, MOST_TEXT_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        facts.notes.append(f"{path.name} cannot be read: {getattr(error, 'strerror', None) or error}")
        return ""


def _events(facts: RunFacts) -> None:
    """Read the last events; damaged lines are skipped, with a note."""
    said = read_events(facts.folder)
    facts.n_events, facts.events = len(said.known), said.known[-MOST_EVENTS:]
    if said.damaged:
        facts.notes.append(said_of(said.damaged))


def _ledger(facts: RunFacts) -> None:
    """Fill from the ledger what run.json does not say: the state of the shots, run id, job, inputs."""
    path = facts.folder / "ledger.sqlite"
    if facts.finished or not path.is_file():
        return
    try:
        # read-only: the run may be in progress, and a report changes nothing
        # without a log beside it nobody writes: then not even the helper files of a reader are left behind
        mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
        db = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=5.0)
        try:
            rows = db.execute("SELECT id, state, seconds, sha256, reason FROM shot ORDER BY place").fetchall()
            meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
        finally:
            db.close()
        key = json.loads(meta.get("key", "{}"))
    except (sqlite3.Error, ValueError) as error:
        facts.notes.append(f"ledger.sqlite cannot be read: {error}")
        return
    names = ("id", "state", "seconds", "sha256", "reason")
    facts.run["run_id"] = meta.get("run_id", "")
    if isinstance(key, dict):
        facts.run |= {k: key[k] for k in ("job", "inputs") if k in key and k not in facts.run}
    # the ledger is newer than what run.json said when the run began
    facts.run[f"{facts.unit}s"] = [dict(zip(names, row, strict=True)) for row in rows]
    if isinstance(key, dict) and "numerics" in key and "numerics" not in facts.run:
        facts.run["numerics"] = {"class": key["numerics"]}


_FIRST = (
    "image", "overview", "section", "inline", "crossline", "depth", "slice",
    "misfit", "difference", "iterations", "amplitude", "survey", "model", "vp", "gather", "gathers", "fold", "hits",
)  # fmt: skip


def _reading_order(path: Path) -> tuple[int, int, str]:
    """Order pictures: image and its planes, survey map, model, gathers, the rest by name."""
    words = path.stem.lower().split("_")
    place = [
        _FIRST.index(w) if w in _FIRST else len(_FIRST)
        for w in (words[0], words[1] if words[1:] else "image")
    ]
    return place[0], place[1], path.name


def _pictures(facts: RunFacts) -> None:
    """Read the PNG files of the run as base64."""
    folder = facts.folder / "pictures"
    total = 0
    for path in sorted(folder.glob("*.png") if folder.is_dir() else [], key=_reading_order):
        try:
            # a link could bring any file of the machine into a page that is sent around
            if path.is_symlink() or not path.is_file():
                facts.notes.append(f"pictures/{path.name} is left out: no regular file")
                continue
            size = path.stat().st_size
            if total + size > MOST_PICTURE_BYTES:
                facts.notes.append(
                    f"pictures/{path.name} is left out: the page would grow by {size / 1e6:.1f} MB"
                )
                continue
            data = path.read_bytes()
        except OSError as error:
            facts.notes.append(f"pictures/{path.name} cannot be read: {error.strerror}")
            continue
        known = png_facts(data)
        if known is None:
            facts.notes.append(f"pictures/{path.name} is left out: no complete PNG")
            continue
        total += size
        texts, shape = known
        facts.pictures.append(
            Picture(
                path.stem,
                texts.get("Title", path.stem),
                texts.get("Description", ""),
                base64.b64encode(data).decode("ascii"),
                shape,
            )
        )


def png_facts(data: bytes) -> tuple[dict[str, str], tuple[int, int]] | None:
    """Return the texts and the size of a PNG; None when it is not a complete one with good checksums."""
    if not data.startswith(PNG):
        return None
    texts: dict[str, str] = {}
    shape = (0, 0)
    at = len(PNG)
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if end > len(data):
            return None
        body = data[at + 8 : end - 4]
        if zlib.crc32(data[at + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
            return None
        if kind == b"IHDR" and length == 13:
            shape = struct.unpack_from(">II", body)
        elif kind == b"tEXt" and b"\0" in body:
            key, _, value = body.partition(b"\0")
            texts[key.decode("latin-1")] = value.decode("latin-1")
        elif kind == b"iTXt":
            parts = body.split(b"\0", 1)
            # after the key: compressed (0 here), method, language, translated key, text
            if len(parts) == 2 and parts[1][:2] == b"\0\0" and parts[1].count(b"\0", 2) >= 2:
                texts[parts[0].decode("latin-1")] = parts[1][2:].split(b"\0", 2)[2].decode("utf-8", "replace")
        elif kind == b"IEND":
            return (texts, shape) if min(shape) > 0 else None
        at = end
    return None


# longer tables of shots are folded up
LONG = 40


def units(facts: RunFacts) -> dict[str, Any] | None:
    """State, time and hash of every unit of the run: of every shot, or of every block of a time image."""
    if not facts.units:
        return None
    longest = max([s["seconds"] for s in facts.units if render.is_number(s.get("seconds"))] + [1e-9])
    rows = []
    for s in facts.units:
        took: Any = s.get("seconds")
        known = render.is_number(took)
        last = s.get("sha256") or s.get("reason") or ""
        seconds = (f"{took:.3f}", took / longest) if known else ("", "")
        rows.append((str(s.get("id", "")), str(s.get("state", "unknown")), *seconds, last))
    holes = [s for s in facts.units if s.get("state") in ("failed", "quarantined")]
    ids = ", ".join(str(s.get("id")) for s in holes[:30]) + (" ..." if len(holes) > 30 else "")
    missing = f"Not in the image: {len(holes)} of {len(facts.units)} {facts.unit}s ({ids})."
    return {
        "rows": rows,
        "unit": facts.unit,
        "sums": facts.of_method.sums,
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
        rows[is_given].append((key, render.plain(value), *mark))
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
            render.size(f["bytes"]) if render.is_number(f.get("bytes")) else "",
            f.get("sha256") or "",
        )
        for f in files
    ]
    about = [(name, section(facts.run, name)) for name in ("code", "numerics", "machine")]
    tables = [(name, [_fact(*kv) for kv in known.items()]) for name, known in about if known]
    return {"files": rows, "facts": tables} if rows or tables else None


def _fact(key: str, value: Any) -> tuple[str, str]:
    """Return a fact as text; one in bytes in words."""
    if key.endswith("_bytes") and render.is_number(value):
        return key.removesuffix("_bytes").replace("_", " "), render.size(value)
    text = "unknown" if value is None else value if isinstance(value, str) else render.plain(value)
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
        rows.append((str(e.get("time", "")), str(e.get("event", "")), render.plain(rest)))
    return {"rows": rows, "total": facts.n_events}


def signal(facts: RunFacts) -> dict[str, Any] | None:
    """Return the steps on the traces, what they took, and the traces that were edited, each with its reason."""
    known = section(facts.run, "signal")
    steps = [s for s in listed(known, "steps") if isinstance(s, dict)]
    if not steps:
        return None
    seconds, taken = listed(facts.run, "signal_seconds"), listed(facts.run, "signal_taken")
    rows = []
    for place, step in enumerate(steps):
        took = f"{seconds[place]:.3g}" if place < len(seconds) and render.is_number(seconds[place]) else ""
        said = str(step.get("said", ""))
        if place < len(taken) and render.is_number(taken[place]):
            said += f"{', ' * bool(said)}took {100 * taken[place]:.3g} % of the energy of the traces"
        rows.append((str(place + 1), str(step.get("label", "")), said, took))
    edits = [e for e in listed(known, "edited") if isinstance(e, dict)]
    edit_rows = [_edit(e) for e in edits]
    traces = [
        (
            str(t.get("shot", "")),
            str(t.get("file", "")),
            str(t.get("trace", "")),
            f"{e.get('do')}: {e.get('reason')}",
        )
        for e in edits
        for t in listed(e, "listed")
        if isinstance(t, dict)
    ]
    return {"rows": rows, "edits": edit_rows, "traces": traces}


def _edit(e: dict[str, Any]) -> str:
    """Return a sentence on an edit of the traces."""
    did = {"kill": "zeroed", "reverse": "changed in sign", "attenuate": "attenuated"}.get(
        str(e.get("do")), "edited"
    )
    n, named = e.get("traces", 0), len(listed(e, "listed"))
    rest = "" if named == n else f"; the first {named} are listed"
    return f"Step {e.get('step')}: {n} trace{'s' * (n != 1)} {did}, where {e.get('reason')}{rest}."


def wavefields(facts: RunFacts) -> dict[str, Any] | None:
    """Wavefields that were stored for later, and the run whose wavefields made this image; None without either."""
    made, stored = _origin(section(facts.run, "reimage")), _stored(section(facts.run, "wavefields"))
    return {"made": made, "stored": stored} if made or stored else None


def _origin(made: dict[str, Any]) -> dict[str, str]:
    """Return where an image that was made without propagating comes from."""
    if not made:
        return {}
    wish = section(made, "wish")
    changed = ", ".join(f"{k} = {render.plain(v)}" for k, v in wish.items() if k != "wavefields")
    origins = ", ".join(
        f"{render.count(n)} from {'partial images' if what == 'partial image' else what}"
        for what, n in section(made, "shots_from").items()
        if what and render.is_number(n)
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
    """Return which wavefields are stored, and their size."""
    ids, both = listed(known, "shots"), listed(known, "both")
    if not ids:
        return {}
    whole = "both wavefields"
    return {
        "shots": render.count(len(ids)),
        "which": whole if len(both) == len(ids) else f"{whole} of {len(both)}, the source of the rest",
        "size": render.size(known.get("bytes")),
        "folders": [str(f) for f in listed(known, "folders")],
    }
