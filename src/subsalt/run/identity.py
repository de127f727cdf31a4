"""The identity of a run directory: one job, its inputs and a class of numerics; any other is refused."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from subsalt.earth.grid import Frame
from subsalt.errors import ConfigError
from subsalt.io.event_log import log_event
from subsalt.job.base import BEFORE_FRAMES
from subsalt.methods import method_of
from subsalt.run.ledger import Ledger
from subsalt.run.settings import JOB, settings_of, with_resolved

if TYPE_CHECKING:
    from subsalt.checkpoint.options import CheckpointOptions
    from subsalt.job.base import BaseJob
    from subsalt.parallel.comm import Comm
    from subsalt.propagation.options import PropagationOptions

Job_ = TypeVar("Job_", bound="BaseJob")
#: keys of the job that act after the sum over shots: a change of them uses the partial images again
AFTER_THE_SUM = ("filter", "top_mute", "normalise")
#: keys that need other sums of the same wavefields: a change of them uses the kept wavefields again
AFTER_THE_FIELDS = ("condition", "illumination", "gathers")
#: key of the files of traces among the inputs
TRACES = "data.files"
#: setting of the ledger: the frame of the local coordinates, x0, y0, azimuth, flip
PLACE = "frame"


#: numerics classes whose bytes differ from those of 0.8.0: a run that 0.8.0 began cannot be resumed with them
CHOSEN_GRID, BELOW_TOPOGRAPHY = "sharp model mean", "symmetric topography"


def numerics_of(
    device: dict[str, object], options: PropagationOptions, strategy: str = "store"
) -> dict[str, object]:
    """Return the facts of a device with its numerics class, which names everything that bits depend on.

    Parameters
    ----------
    device : dict
        Facts of the kernels about themselves, with their kind of arithmetic.
    options : PropagationOptions
        Options of the propagation; the storage of the model matters.
    strategy : str
        Strategy of the source wavefield; ``"boundary"`` is exact to rounding only.
    """
    more = ["u16 models"] * (options.model_storage == "u16") + ["boundary"] * (strategy == "boundary")
    # traces keep the band of the wavelet where the grid is not the model's: its mean has changed
    more += [CHOSEN_GRID] * (options.trace_error is not None)
    more += [BELOW_TOPOGRAPHY] * (options.topography is not None)
    return device | {"class": ", ".join([str(device["class"]), *more])} if more else device


def of_the_run(options: CheckpointOptions, folder: Path) -> CheckpointOptions:
    """Return options that keep a run in its class of numerics: what was chosen freely at first is so no longer."""
    if options.strategy != "auto" or options.exact or not options.lossless:
        return options
    try:
        numerics = json.loads(settings_of(folder)["key"])["numerics"]
    except (ValueError, KeyError, TypeError):
        return options
    if "boundary" in str(numerics).split(", "):
        return replace(options, strategy="boundary", exact=False)
    return replace(options, exact=True)


def pin_to_started_job(
    job: Job_,
    folder: Path,
    everybody: Comm,
    say: Callable[[str], None] = lambda text: None,
    recompute: bool = False,
) -> Job_:
    """Return a job with the choices that its run directory began with. Collective.

    The choices are the frame of the local coordinates, in which the partial images lie, and, in directories of older
    versions, the only method that existed then, unless the job itself names another. With other choices the remaining
    shots would not fit the sums of the finished ones. With `recompute` the old result will be moved away, and only the
    frame matters.
    """
    place, former = None, None
    if everybody.is_root:
        settings = settings_of(folder)
        former = {} if recompute else job.former_choices(_job_of(settings))
        place = place_of(settings, _chosen(job, former))
    former = everybody.bcast(former)
    answer = everybody.bcast(list(astuple(place)) if isinstance(place, Frame) else place)
    if former:
        words = ", ".join(f"[{table}] {k} = {v!r}" for table, keys in former.items() for k, v in keys.items())
        say(f"{folder} was begun with {words}; the job does not name it, and the run continues with it")
    job = _chosen(job, former)
    job.goes_on_at(Frame(*answer) if isinstance(answer, list) else answer)
    return job


def _chosen(job: Job_, choices: Mapping[str, Mapping[str, Any]] | None) -> Job_:
    for table, keys in (choices or {}).items():
        job = job.changed(table, **keys)
    return job


def _job_of(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the job in the key of a run; empty where there is none."""
    try:
        job: dict[str, Any] = json.loads(settings["key"])["job"]
        return job
    except (KeyError, TypeError, ValueError):
        return {}


def place_of(settings: Mapping[str, str], job: BaseJob) -> Frame | str | None:
    """Return the frame in the ledger of a run; `BEFORE_FRAMES` if it has none, None if it belongs to another job."""
    try:
        known = json.loads(settings["key"])
        mine = json.loads(json.dumps({**known, "job": job.of_the_image()}))
        if differences(_of_the_fields(known), _of_the_fields(mine)):
            return None
        place = settings.get(PLACE)
        return BEFORE_FRAMES if place is None else Frame(*json.loads(place))
    except (KeyError, TypeError, ValueError):
        return None


def begin_run(
    ledger: Ledger,
    job: BaseJob,
    run_id: str,
    inputs: list[dict[str, object]],
    numerics: dict[str, object],
    *,
    more: Mapping[str, Any] | None = None,
    also: Mapping[str, str] | None = None,
    option: str = "--run",
    unserved: Callable[[], str] = lambda: "",
    accept_changed_inputs: bool = False,
    place: Frame | None = None,
) -> None:
    """Tie the directory to job, inputs and numerics; refuse it when they differ from what it holds.

    Parameters
    ----------
    more : mapping, optional
        Further facts that the sums over shots depend on.
    also : mapping, optional
        Settings that are kept with the job, in the same transaction.
    option : str
        Option of the command line that names another directory.
    unserved : callable
        Returns the sums of finished shots that a change of `AFTER_THE_FIELDS` lacks because neither partial images nor
        kept wavefields provide them; empty when nothing is lacking.
    accept_changed_inputs : bool
        Whether finished shots are kept although files of traces have changed since. A changed model is refused in any
        case: each model would contribute a part of the image.
    place : Frame, optional
        Frame of the local coordinates in which the sums over shots lie; kept with the run.

    Raises
    ------
    ConfigError
        When the directory holds partial images of another job, other inputs, or another numerics class.
    """
    partial = job.of_the_image()
    imaging = partial.get("imaging", {})
    key = {"job": partial, "numerics": numerics["class"], **(more or {})}
    files = [{k: i[k] for k in ("key", "path", "sha256")} for i in inputs]
    known, known_files = ledger.get("key"), ledger.get("inputs")
    way_out = f"restore job and inputs, or choose another directory with {option}"
    if known is not None:
        before = json.loads(known)
        if ("reimage" in before) != ("reimage" in key):
            maker = "reimage" if "reimage" in before else "migrate"
            raise ConfigError(
                f"{ledger.folder} holds an image that `subsalt {maker}` has made",
                f"choose another directory with {option}; subsalt resume {ledger.folder} continues what is there",
                code="E810",
            )
        then, now = (
            _of_the_fields({**k, "job": job.upgrade_resolved(k["job"])})
            for k in (before, json.loads(json.dumps(key)))
        )
        changes = differences(then, now)
        again = needed_again([c.split(":")[0] for c in changes])
        old_files = json.loads(known_files or "[]")
        contents = input_changes(old_files, files)
        if contents and not changes and _only_traces(old_files, files):
            if accept_changed_inputs:
                log_event(ledger.folder, event="accepted changed inputs", changes=contents[:20])
                contents = []
            way_out += ", or keep the finished shots as they are with --accept-changed-inputs"
        again += [n for n in inputs_needed_again(old_files, files) if n not in again]
        if changes or contents:
            changes += contents
            rest = f"; and {len(changes) - 5} more" if len(changes) > 5 else ""
            needs = method_of(job.method).identity_text(again or [_BOTH])
            raise ConfigError(
                f"{ledger.folder} holds a run of another job: {'; '.join(changes[:5])}{rest}. What is there stays "
                f"as it is; the new image takes {needs} again",
                f"{way_out}{', or move the old result away with --recompute' if option == '--run' else ''}",
                code="E810",
            )
        stored_place = ledger.get(PLACE)
        if place is not None and stored_place is not None and Frame(*json.loads(stored_place)) != place:
            raise ConfigError(
                f"{ledger.folder}: its partial images lie in the frame {Frame(*json.loads(stored_place))}, "
                f"the survey now in {place}",
                way_out,
                code="E810",
            )
        last = json.loads(ledger.get("imaging") or json.dumps(before["job"].get("imaging", {})))
        then, new = ({k: d.get(k) for k in AFTER_THE_FIELDS} for d in (last, imaging))
        changed = differences(then, new, "imaging")
        if changed and (lacking := unserved()):
            raise ConfigError(
                f"{ledger.folder}: {'; '.join(changed)}: {lacking}. What is there stays as it is",
                f'{way_out}; with [checkpoint] keep = "both" a run can be imaged again by any condition',
                code="E860",
            )
    ledger.set_all(
        {
            "inputs": json.dumps(files),
            "key": json.dumps(_of_the_fields(key), sort_keys=True),
            "imaging": json.dumps(imaging, sort_keys=True),
            **with_resolved({JOB: ledger.get(JOB) or ""}, job.resolved_toml()),
            "run_id": run_id,
            **(also or {}),
            # folder and name of the job: a run that is resumed without its file looks there for the inputs
            "base": str(job.base.resolve()),
            "name": job.name,
            # the same for a run that was moved together with its job
            "from_run": os.path.relpath(job.base.resolve(), ledger.folder.resolve()),
            **(
                {} if place is None or job.run_place == BEFORE_FRAMES else {PLACE: json.dumps(astuple(place))}
            ),
        }
    )


def _only_traces(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> bool:
    """Return whether two lists of input files differ only in files of traces."""
    return not input_changes(*([f for f in some if f["key"] != TRACES] for some in (old, new)))


def _of_the_fields(key: dict[str, Any]) -> dict[str, Any]:
    """Return a key of a run without keys that act after its wavefields."""
    later = AFTER_THE_SUM + AFTER_THE_FIELDS
    imaging = {k: v for k, v in key["job"].get("imaging", {}).items() if k not in later}
    return {**key, "job": {**key["job"], "imaging": imaging}}


#: recomputation that a change of the job makes necessary, by the beginning of its key; the first that fits counts
_BOTH, _RECEIVER, _IMAGING = "both wavefields", "the receiver wavefield", "the imaging at other samples"
_AGAIN = {
    "job.data": _RECEIVER,
    "job.imaging.mode": _RECEIVER,
    "job.imaging.image_step": _IMAGING,
    "reimage": _IMAGING,
    "": _BOTH,
}


def needed_again(places: Sequence[str]) -> list[str]:
    """Return the parts to recompute when these keys of a run change, each once, the largest first."""
    names = {next(what for start, what in _AGAIN.items() if place.startswith(start)) for place in places}
    return [_BOTH] if _BOTH in names else [what for what in (_RECEIVER, _IMAGING) if what in names]


def inputs_needed_again(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[str]:
    """Return the parts to recompute when input files change; traces affect only the receiver wavefield."""
    contents = [{(str(f["key"]), str(f["sha256"])) for f in files} for files in (old, new)]
    return needed_again([f"job.{key}" for key, _ in contents[0] ^ contents[1]])


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Return the places where two nested structures differ, as ``key: old -> new``."""
    if isinstance(old, dict) and isinstance(new, dict):
        out = []
        for k in sorted({*old, *new}):
            name = f"{where}.{k}" if where else str(k)
            if k not in old:
                out.append(f"{name}: (none) -> {new[k]}")
            elif k not in new:
                out.append(f"{name}: {old[k]} -> (none)")
            else:
                out += differences(old[k], new[k], name)
        return out
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            d
            for i, (a, b) in enumerate(zip(old, new, strict=True))
            for d in differences(a, b, f"{where}[{i}]")
        ]
    return [] if old == new else [f"{where}: {old} -> {new}"]


def input_changes(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[str]:
    """Return how two lists of input files differ in content, file by file; places do not count."""

    def contents(files: list[dict[str, Any]]) -> list[tuple[str, str]]:
        return [(str(f["key"]), str(f["sha256"])) for f in files]

    if contents(old) == contents(new):
        return []
    before = {(f["key"], str(f["path"])): str(f["sha256"]) for f in old}
    after = {(f["key"], str(f["path"])): str(f["sha256"]) for f in new}
    out = []
    for place in sorted({*before, *after}):
        a, b, path = before.get(place), after.get(place), place[1]
        if a is None:
            out.append(f"{path} is new")
        elif b is None:
            out.append(f"{path} is gone")
        elif a != b:
            out.append(f"{path} has changed: sha256 {a[:12]}... -> {b[:12]}...")
    return out or ["the order of the input files has changed"]


def wavefield_id(job: BaseJob, inputs: Sequence[Mapping[str, Any]], numerics: Mapping[str, object]) -> str:
    """Return the hash of all that wavefields depend on: another condition or filter images the same ones.

    Parameters
    ----------
    inputs : sequence of mapping
        ``key`` and ``sha256`` of every input file, in order; places do not count.
    numerics : mapping
        Facts of the device, with ``class``.
    """
    key = _of_the_fields({"job": job.of_the_image(), "numerics": numerics["class"]})
    files = [[str(f["key"]), str(f["sha256"])] for f in inputs]
    return hashlib.sha256(json.dumps([key, files], sort_keys=True).encode()).hexdigest()
