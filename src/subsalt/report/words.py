"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import Any


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number (and no truth value)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def seconds(value: Any) -> str:
    """Return a duration: ``0.123 s``, ``12.3 s``, ``2 min 05 s``, ``1 h 02 min``."""
    if not is_number(value):
        return "unknown"
    if value < 60:
        return f"{value:.3g} s" if value >= 0.001 else "0 s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def size(value: Any) -> str:
    """Return bytes as B, kB, MB, GB or TB (powers of ten)."""
    if not is_number(value):
        return "unknown"
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"


def count(value: Any) -> str:
    """Return an integer with its thousands apart."""
    return f"{value:,.0f}".replace(",", " ") if is_number(value) else "unknown"


def rate(value: Any) -> str:
    """Return a large number with a prefix: ``1.23 G``."""
    if not is_number(value):
        return "unknown"
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g}"


def plain(value: Any) -> str:
    """Return a value of the job as it would stand in TOML, near enough to be read."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, list | tuple):
        shown = [plain(v) for v in value[:24]]
        if len(value) > 24:
            shown.append(f"... {len(value) - 24} more")
        return "[" + ", ".join(shown) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {plain(v)}" for k, v in value.items()) + "}"
    return str(value)


def phase_rows(phases: dict[str, Any]) -> tuple[list[tuple[str, float]], float]:
    """Return phases (longest first, `unexplained` last) to the millisecond, and the wall time they sum to.

    What rounding takes away goes to `unexplained`, so that the rows sum to the last line exactly.

    Parameters
    ----------
    phases : dict
        Seconds by phase, with `wall` and maybe `unexplained`.
    """
    known = {str(k): round(float(v) * 1000) for k, v in phases.items() if is_number(v)}
    rest = known.pop("unexplained", 0)
    wall = known.pop("wall", sum(known.values()) + rest)
    rows = sorted(known.items(), key=lambda kv: (-kv[1], kv[0]))
    rows.append(("unexplained", wall - sum(v for _, v in rows)))
    return [(name, v / 1000) for name, v in rows], wall / 1000
