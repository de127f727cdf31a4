"""The tables of founding document 004, a flash array of up to 80 modules, with this machine's directories beside them.

Its figures are the best of one minute, by vdbench with 32 transfers under way for each module; service times are
those of one transfer at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from subsalt.report.table import Column, render
from subsalt_lab.storage_rows import line_through

#: modules of the array in the columns of the document
MODULES = (80, 40, 20, 1)


@dataclass(frozen=True)
class Test:
    """One row of the document's first table.

    Parameters
    ----------
    name : str
        As the document calls it.
    unit : str
        ``"K IOPS"`` (thousands of transfers per second) or ``"GB/s"``.
    figures : tuple of float
        By `MODULES`.
    pattern, what : str
        Of our rows.
    value : str
        Key of the figure in them.
    """

    name: str
    unit: str
    figures: tuple[float, ...]
    pattern: str
    what: str
    value: str


TESTS = (
    Test("random read 4K", "K IOPS", (1591, 796, 397, 21), "random", "read", "requests_per_s"),
    Test("random write 4K", "K IOPS", (1217, 610, 304, 15), "random", "write", "requests_per_s"),
    Test("50-50 read and write 4K", "K IOPS", (850, 426, 213, 11), "random", "mix", "requests_per_s"),
    Test("sequential read 1M", "GB/s", (12.8, 6.4, 3.2, 0.265), "sequential", "read", "rate"),
    Test("sequential write 1M", "GB/s", (9.7, 4.8, 2.4, 0.118), "sequential", "write", "rate"),
    Test("random write 4K sustained", "K IOPS", (311, 169, 86, 4.4), "sustained", "write", "sustained_per_s"),
)

#: KiB of a transfer -> ms of a read and of a write
SERVICE_MS: Mapping[int, tuple[float, float]] = {
    4: (0.41, 0.28),
    8: (0.42, 0.35),
    16: (0.45, 0.72),
    32: (0.51, 0.77),
    64: (0.63, 1.52),
    128: (0.87, 2.99),
    256: (1.34, 6.03),
    512: (2.29, 12.14),
    1024: (4.19, 23.79),
}


def best(rows: Sequence[Mapping[str, Any]], directory: str, test: Test) -> float | None:
    """Return the best figure of a directory for a test that reached its storage; None when it was not made.

    A speed of the page cache is none of a disk, and is left out; that of a file system in memory is labelled there.
    """
    found = [
        float(r[test.value]) * (1e-3 if test.unit == "K IOPS" else 1.0)
        for r in rows
        if (r["directory"], r["pattern"], r["what"]) == (directory, test.pattern, test.what)
        and (r["reaches"] not in ("cached", "memory") or r["file_system"] in ("tmpfs", "ramfs"))
    ]
    return max(found, default=None)


def tables(rows: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    """Yield the tables of the document with a column for each directory.

    Parameters
    ----------
    rows : sequence of mapping
        Of `storage.measure`.
    how : str
        As of `table.render`.
    """
    gap = "" if how == "text" else "\n"
    places = list(dict.fromkeys(r["directory"] for r in rows))
    in_memory = {r["directory"] for r in rows if r["file_system"] in ("tmpfs", "ramfs")}
    here = [Column(f"at {p}", f"{p} (memory)" if p in in_memory else p, ".4g") for p in places]
    modules = [Column(f"modules {m}", f"F5100, {m}", ".4g") for m in MODULES]
    first: list[dict[str, Any]] = [
        dict[str, Any](test=f"{t.name}, {t.unit}")
        | {f"modules {m}": f for m, f in zip(MODULES, t.figures, strict=True)}
        | {f"at {p}": best(rows, p, t) for p in places}
        for t in TESTS
    ]
    yield (
        f"Founding document 004: flash modules, the best of a minute, beside this machine\n{gap}"
        + render(first, [Column("test", "test"), *modules, *here], how)
    )
    yield f"Service time, one transfer at a time, ms\n{gap}" + render(*_service(rows, places), how)
    fits = [
        _fit("F5100", what, [(k, SERVICE_MS[k][i]) for k in SERVICE_MS])
        for i, what in enumerate(("read", "write"))
    ]
    for p in places:
        for what in ("read", "write"):
            times = _times(rows, p, what)
            if len(times) > 2:
                fits.append(_fit(p, what, sorted(times.items())))
    columns = [
        Column("where", "where"),
        Column("what", "what"),
        Column("a", "a ms", ".3f"),
        Column("b", "b MB/s", ".0f"),
        Column("worst", "worst %", ".0f", 100),
    ]
    yield f"Service time of s bytes as a + s / b\n{gap}" + render(fits, columns, how)


def _service(
    rows: Sequence[Mapping[str, Any]], places: Sequence[str]
) -> tuple[list[dict[str, Any]], list[Column]]:
    out: list[dict[str, Any]] = []
    for kib, (read, write) in SERVICE_MS.items():
        row: dict[str, Any] = {"KiB": kib, "read": read, "write": write}
        for p in places:
            row |= {f"{what} {p}": _times(rows, p, what).get(kib) for what in ("read", "write")}
        out.append(row)
    columns = [
        Column("KiB", "KiB", "d"),
        Column("read", "F5100 read", ".2f"),
        Column("write", "write", ".2f"),
    ]
    for p in places:
        columns += [Column(f"read {p}", f"{p} read", ".3f"), Column(f"write {p}", "write", ".3f")]
    return out, columns


def _times(rows: Sequence[Mapping[str, Any]], directory: str, what: str) -> dict[int, float]:
    """Return milliseconds by KiB; those of fio where both were measured, for they come first."""
    found: dict[int, float] = {}
    for r in rows:
        if (r["directory"], r["pattern"], r["what"]) == (directory, "service", what):
            found.setdefault(r["bytes"] // 1024, 1e3 * r["service_median"])
    return found


def _fit(where: str, what: str, times: Sequence[tuple[int, float]]) -> dict[str, Any]:
    a, b, worst = line_through([1024 * k for k, _ in times], [1e-3 * t for _, t in times])
    return {"where": where, "what": what, "a": 1e3 * a, "b": b / 1e6, "worst": worst}
