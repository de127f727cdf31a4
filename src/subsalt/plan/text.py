"""Numbers of a plan as people read them, whatever its method."""

from __future__ import annotations

from collections.abc import Mapping

from subsalt.plan.gpu import Gpu


def table_of_bytes(arrays: Mapping[str, int], width: int) -> list[str]:
    """Return bytes by what they are for, the most first, and their sum; names take `width` columns."""
    total = sum(arrays.values())
    rows = sorted(arrays.items(), key=lambda kv: -kv[1])
    out = [f"  {name:<{width}}{size(count):>10}{count / total:>7.0%}" for name, count in rows]
    return [*out, f"  {'in all':<{width}}{size(total):>10}"]


def gpu_line(gpu: Gpu) -> str:
    """Return what is known of the GPU, and from where."""
    known = f"measured on {gpu.measured[:10]}" if gpu.measured else "assumed"
    where = "here" if gpu.there else "not in this machine"
    share = f", {gpu.sharing} ranks share it" if gpu.sharing > 1 else ""
    return (
        f"{gpu.name} ({where}): {size(gpu.limit)} for a rank{share}; copies {gpu.copy / 1e12:.2f} TB/s, "
        f"to the host {gpu.down / 1e9:.0f} GB/s, from it {gpu.up / 1e9:.0f} GB/s ({known})"
    )


def size(count: int) -> str:
    """Return bytes in a unit that suits them."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= scale:
            return f"{count / scale:.2f} {unit}" if count < 10 * scale else f"{count / scale:.1f} {unit}"
    return f"{count / 1e3:.1f} kB"


def duration(seconds: float) -> str:
    """Return seconds in a unit that suits them."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def counted(n: int, what: str) -> str:
    """Return a number with its noun, in the plural where there are several."""
    return f"{n} {what}{'s' * (n != 1)}"
