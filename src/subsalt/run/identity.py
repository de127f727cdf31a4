"""What a run directory belongs to: one job, its inputs and a class of numerics; anything else is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from subsalt.errors import ConfigError
from subsalt.run.ledger import Ledger

if TYPE_CHECKING:
    from subsalt.job.job import Job
    from subsalt.options import PropagationOptions

#: keys of the job that act after the sum over shots: a change of them uses the partial images again
AFTER_THE_SUM = ("filter", "top_mute", "normalise")


def numerics_of(device: dict[str, object], options: PropagationOptions) -> dict[str, object]:
    """Return what computes, with a class that names all that bits depend on: kind of arithmetic, model storage."""
    packed = options.model_storage == "u16"
    return device | {"class": f"{device['class']}, u16 models"} if packed else device


def begin_run(
    ledger: Ledger, job: Job, run_id: str, inputs: list[dict[str, object]], numerics: dict[str, object]
) -> None:
    """Tie the directory to job, inputs and numerics, or refuse what differs.

    Raises
    ------
    ConfigError
        When the directory holds partial images of another job, other inputs, or another numerics class.
    """
    partial = job.of_the_image()
    imaging = {k: v for k, v in partial.get("imaging", {}).items() if k not in AFTER_THE_SUM}
    key = {
        "job": {
            **partial,
            "imaging": imaging,
        },
        "numerics": numerics["class"],
    }
    files = [{k: i[k] for k in ("key", "path", "sha256")} for i in inputs]
    known, known_files = ledger.get("key"), ledger.get("inputs")
    if known is not None:
        changes = differences(json.loads(known), json.loads(json.dumps(key)))
        changes += input_changes(json.loads(known_files or "[]"), files)
        if changes:
            more = f"; and {len(changes) - 5} more" if len(changes) > 5 else ""
            raise ConfigError(
                f"{ledger.folder} holds a run of another job: {'; '.join(changes[:5])}{more}",
                "restore job and inputs, or choose another directory with --run",
                code="E810",
            )
    ledger.set_all(
        {
            "inputs": json.dumps(files),
            "key": json.dumps(key, sort_keys=True),
            "run_id": run_id,
            # where and as what the job was started: what goes on without its file looks there for the inputs
            "base": str(job.base.resolve()),
            "name": job.name,
        }
    )


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
