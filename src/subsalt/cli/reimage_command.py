"""What `subsalt reimage` does: read the wish, make the image, say where it is."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.cli.commands import end_with_holes, show_result
from subsalt.cli.output import Out
from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from subsalt.methods.rtm.reimage import Wish
    from subsalt.methods.rtm.reuse import Times


def reimage(run: Path, target: Path | None, as_json: bool, time_range: str | None, **asked: Any) -> None:
    """Make a new image from what a run has kept."""
    from subsalt.methods.rtm.reimage import Wish

    wish = Wish(times=None if time_range is None else times_of(time_range), **asked)
    make(run, target or default_name(run, wish), wish, as_json)


def go_on(folder: Path, as_json: bool) -> bool:
    """Go on in the directory of a new image, from what its run.json says; return whether it is one."""
    from subsalt.methods.rtm.reimage import Wish
    from subsalt.view.run_image import run_facts

    made = run_facts(folder).get("reimage")
    if not isinstance(made, dict) or not isinstance(made.get("run"), str):
        return False
    asked = {f.name: made["wish"][f.name] for f in fields(Wish) if f.name in made.get("wish", {})}
    if "times" in asked:
        asked["times"] = tuple(asked["times"])
    make(Path(made["run"]), folder, Wish(**asked), as_json)
    return True


def make(run: Path, folder: Path, wish: Wish, as_json: bool) -> None:
    """Make the image, and say where it is and what is missing in it."""
    from subsalt.methods.rtm.reimage import reimage_run
    from subsalt.run import progress

    out = Out(as_json)
    with progress.for_stream("imaging") as bar:
        result = reimage_run(run, folder, wish, bar, out.say)
    show_result(out, result)
    end_with_holes(out, result, f"the reasons are in {result.report}")


def default_name(run: Path, wish: Wish) -> Path:
    """Return the run directory of a new image beside its run: the same for the same wish, so that it goes on there."""
    run = run.resolve()
    mark = hashlib.sha256(json.dumps(wish.said(), sort_keys=True).encode()).hexdigest()[:6]
    return run.with_name(f"{run.name.removesuffix('.run')}.reimage-{mark}.run")


def times_of(text: str) -> Times:
    """Return the two times, s, of a text such as ``0.5:2``; one left out is no limit."""
    parts = text.split(":")
    try:
        first, last = (float(p) if p.strip() else None for p in parts)
        if any(t is not None and not math.isfinite(t) for t in (first, last)):
            raise ValueError
    except ValueError:
        raise ConfigError(
            f"--time-range {text!r} is not two times", "give seconds, for example 0.5:2 or 0.5:", code="E864"
        ) from None
    return first, last
