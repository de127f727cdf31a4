"""How far is the model off where something was measured: results of `subsalt lab scaling`, runs with a prediction."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import DataError, MissingInputError
from subsalt.machine.machine_file import RESULT_SCHEMA as SCHEMA
from subsalt.plan.model import cut, shot
from subsalt.report.comparison import compare


@dataclass(frozen=True)
class Point:
    """One measured run beside what the model says of it.

    Parameters
    ----------
    what : str
        Which run, in words.
    ranks : int
        Of the run.
    predicted, measured : float
        Seconds.
    rescaled : float or None
        `predicted` at the rate of the run's own time steps; None where the rate was fitted already.
    """

    what: str
    ranks: int
    predicted: float
    measured: float
    rescaled: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "what": self.what,
            "ranks": self.ranks,
            "predicted_seconds": self.predicted,
            "measured_seconds": self.measured,
            "ratio": self.predicted / self.measured,
            "rescaled_ratio": None if self.rescaled is None else self.rescaled / self.measured,
        }

    def text(self) -> str:
        """Return it as a line."""
        known = self.to_dict()
        at_own = known["rescaled_ratio"]
        own = "" if at_own is None else f", {at_own:.2f} at the run's own rate"
        return (
            f"{self.what}, {self.ranks} rank{'s' * (self.ranks != 1)}: {self.predicted:.3g} s predicted, "
            f"{self.measured:.3g} s measured (ratio {known['ratio']:.2f}{own})"
        )


def points_of(path: Path) -> list[Point]:
    """Return the points that a file holds: a run directory, its run.json, or a result of `subsalt lab scaling`.

    Raises
    ------
    MissingInputError
        When it is not there.
    DataError
        When it is none of these, or holds nothing that the model could be held against (E972).
    """
    file = path / "run.json" if path.is_dir() else path
    content = _read(file)
    if content.get("schema") == SCHEMA and content.get("measurement") == "scaling":
        found = of_scaling(content)
        why = "no two layouts of time steps that differ in cores and are not oversubscribed"
    elif "phases" in content and "parallel" in content:
        found = of_run(content, file.absolute().parent.name)
        why = "its run made no prediction: the machine was not measured when it began"
    else:
        found, why = [], "neither the run.json of a finished run nor a result of subsalt lab scaling"
    if not found:
        raise DataError(
            f"{path} cannot be held against the model: {why}",
            "give a run directory made by subsalt migrate behind subsalt plan, or subsalt lab scaling --out FILE",
            code="E972",
        )
    return found


def of_run(content: Mapping[str, Any], name: str) -> list[Point]:
    """Return the wall time of a run against the prediction it began with; none when it has none."""
    said = content.get("predicted")
    said = said.get("phases") if isinstance(said, dict) else None
    spent = content.get("phases")
    if not isinstance(said, dict) or not isinstance(spent, dict) or not said or not spent.get("wall"):
        return []
    found = compare(said, spent)
    ranks = int(content["parallel"].get("ranks", 1)) if isinstance(content["parallel"], dict) else 1
    assert found.wall.predicted is not None
    assert found.wall.measured is not None
    return [Point(f"run {name}", ranks, found.wall.predicted, found.wall.measured, found.wall.rescaled)]


def of_scaling(content: Mapping[str, Any]) -> list[Point]:
    """Return the layouts of a table of time steps against the one on the fewest cores, which gives the rate.

    A slab of whole planes for every rank, the halo hidden: what threads and memory share on a node is not in it.
    """
    rows = [r for r in content.get("rows", []) if isinstance(r, dict) and _is_steps(r)]
    if content.get("settings", {}).get("what") != "kernel" or not rows:
        return []
    first = min(rows, key=lambda r: (r["cores"], r["ranks"]))
    blocks, steps = _slabs(first), first["point_steps"] / _points(first)
    rate = shot.kernel_seconds(blocks, steps, 1.0) / first["time"] / (first["cores"] / first["ranks"])
    out = []
    for r in rows:
        if r is first or r["cores"] == first["cores"]:
            continue
        blocks, steps = _slabs(r), r["point_steps"] / _points(r)
        seconds = shot.kernel_seconds(blocks, steps, rate * r["cores"] / r["ranks"])
        out.append(Point(f"time steps, {r['grid']}, {r['threads']} threads", r["ranks"], seconds, r["time"]))
    return out


def _is_steps(row: Mapping[str, Any]) -> bool:
    numbers = ("ranks", "threads", "cores", "time", "point_steps")
    return (
        all(isinstance(row.get(k), int | float) and row[k] > 0 for k in numbers)
        and re.fullmatch(r"\d+( x \d+){2}", str(row.get("grid"))) is not None
        and "oversubscribed" not in str(row.get("marks", ""))
    )


def _grid(row: Mapping[str, Any]) -> cut.Shape:
    x, y, z = (int(n) for n in str(row["grid"]).split(" x "))
    return x, y, z


def _points(row: Mapping[str, Any]) -> int:
    x, y, z = _grid(row)
    return x * y * z


def _slabs(row: Mapping[str, Any]) -> cut.Blocks:
    return cut.slabs(_grid(row), int(row["ranks"]))


def largest_error(points: Sequence[Point]) -> float | None:
    """Return the largest relative error, of those at the run's own rate where they have one; None without points."""
    ratios = [(p.rescaled if p.rescaled is not None else p.predicted) / p.measured for p in points]
    return max((abs(r - 1) for r in ratios), default=None)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingInputError(f"{path} does not exist", "check the name", code="E110") from None
    except OSError as error:
        raise MissingInputError(
            f"{path} cannot be read: {error.strerror}", "check its permissions", code="E111"
        ) from error
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DataError(f"{path} is no result: it is not a JSON object", "check the name", code="E972")
    return found
