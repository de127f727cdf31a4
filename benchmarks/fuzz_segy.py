"""Question: does any damaged SEG-Y, SU, SPS, P1, RSF, NPZ, NPY, VTI, netCDF or MDIO file crash or exhaust the reader?

Each input is a small valid file with bytes flipped, header fields set to extreme values, pieces cut out,
doubled or appended. The reader must answer, or raise one of the package's errors, within a second and within
little memory.

Usage: python benchmarks/fuzz_segy.py [--count N] [--seed S] [--kind KIND] [--json], where KIND is
one of segy, segy2, crafted, su, traces, traces2, traces-su, store, sps, p190, p111, volume, rsf, npz, npy, vti, nc.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import Survey, TimeAxis
from subsalt.earth.grid import Grid
from subsalt.errors import SubsaltError
from subsalt.io.geometry.survey import read_geometry
from subsalt.io.prestack.table import open_traces
from subsalt.io.scan.scan import scan
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.reading import read_survey
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.io.volumes.segy_image import write_image
from subsalt.methods.kirchhoff.rules.traces import prestack_facts, prestack_findings

GRID = Grid((4, 3, 8), (10.0, 10.0, 5.0))
TIMES = ImageGrid((1, 4, 1), (1, 3, 1), (0.0, 0.0), (25.0, 0.0), (0.0, 10.0), TimeAxis(20, 0.004))
EXTREMES = [0, 1, 2, 5, 255, 0x7F, 0x80, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]


def _survey() -> Survey:
    rng = np.random.default_rng(0)
    src = np.array([[0.0, 0.0, 5.0], [100.0, 0.0, 5.0]])
    rcv = np.stack([np.arange(4) * 25.0, np.arange(4) * 10.0, np.full(4, 8.0)], axis=1)
    return Survey.from_arrays(src, rcv, nt=20, dt=0.004, data=rng.standard_normal((2, 4, 20)))


def _read_shots(path: Path) -> None:
    scan(path).describe()
    survey = read_survey(path)
    for shot in survey.shots[:3]:
        survey.traces(shot)


def _read_crafted(path: Path) -> None:
    scan(path).describe()
    # most of these have no geometry, which is an answer too
    with contextlib.suppress(SubsaltError):
        survey = read_survey(path)
        for shot in survey.shots[:3]:
            survey.traces(shot)


def _read_traces(path: Path) -> None:
    table = open_traces(path, fix=Fix(nan="zero"))
    list(prestack_findings(table, Fix(nan="zero"), TIMES, 100.0))
    prestack_facts(table, TIMES)
    table.files.read(table.number[:100])


def _make_shots(path: Path) -> None:
    write_survey(path, _survey())


def _make_extended(path: Path) -> None:
    """Write records of revision 2.1: an extension behind every trace header, the records of a trailer behind all."""
    write_survey(path, _survey())
    raw = path.read_bytes()
    head, size = bytearray(raw[:3600]), 240 + 4 * 20
    head[3500:3502] = b"\2\1"
    struct.pack_into(">h", head, 3506, 1)
    struct.pack_into(">I", head, 3296, 0x01020304)
    struct.pack_into(">i", head, 3528, 1)
    out = bytes(head)
    for at in range(3600, len(raw), size):
        block = bytearray(240)
        struct.pack_into(">4d", block, 96, 1.5, 0.0, 25.25, 10.0)
        struct.pack_into(">Iid", block, 136, 20, 0, 4000.0)
        block[232:] = b"SEG00001"
        out += raw[at : at + 240] + block + raw[at + 240 : at + size]
    path.write_bytes(out + b"((SEG: End))".ljust(3200))


def _make_store(path: Path) -> None:
    """Write the survey as a store of traces, laid out as MDIO does."""
    import zarr

    made = _survey()
    head = np.dtype([("orig_field_record_num", "<i4"), ("coordinate_scalar", "<i2")])
    heads = np.zeros((2, 4), head)
    heads["orig_field_record_num"], heads["coordinate_scalar"] = [[1], [2]], -100
    group = zarr.open_group(str(path), mode="w", zarr_format=3)
    group.attrs["attributes"] = {"defaultVariableName": "amplitude"}
    dims = ("shot_point", "channel", "time")
    for name, values, along in (
        ("amplitude", np.stack([s.data for s in made.shots]).astype(np.float32), dims),
        ("time", 4.0 * np.arange(20), dims[2:]),
        ("channel", np.arange(4, dtype=np.int32) + 1, dims[1:2]),
        ("trace_mask", np.ones((2, 4), bool), dims[:2]),
        ("headers", heads, dims[:2]),
        ("source_coord_x", np.stack([np.full(4, s.src[0]) for s in made.shots]), dims[:2]),
        ("group_coord_x", np.stack([s.rcv[:, 0] for s in made.shots]), dims[:2]),
        ("group_coord_y", np.stack([s.rcv[:, 1] for s in made.shots]), dims[:2]),
    ):
        chunks = (1, *values.shape[1:])
        # not compressed: damage reaches the values
        array = group.create_array(
            name,
            shape=values.shape,
            dtype=values.dtype,
            chunks=chunks,
            dimension_names=along,
            compressors=None,
        )
        array[...] = values


def _make_volume(path: Path) -> None:
    write_image(path, np.arange(96, dtype=np.float32).reshape(GRID.shape), GRID)


def _make_any(path: Path) -> None:
    volume.write(path, GRID, np.arange(96, dtype=np.float32).reshape(GRID.shape), name="vp")


def _read_any(path: Path) -> None:
    volume.read(path, spacing=(1.0, 1.0, 1.0) if path.suffix == ".npy" else None)


#: files of positions: the records of one shot, or two, and their receivers
POSITIONS = {
    ".sps": """\
H20 Description of grid units   METRES;
S   3762.00   3961.00  1A2     7.2   0    64.8 454773.4 3008241.9  -0.2177042821
R   8000.00     10.00  1G1     0.0   0    64.8 454700.0 3008200.0 -64.8177042821
R   8000.00     12.00  1G1     0.0   0    64.8 454725.0 3008200.0 -64.8177042821
X  1001   8287311   3762.00   3961.001    1    21   8000.00     10.00     12.001
""",
    ".p190": """\
H2000GRID UNIT                    INTERNATIONAL METRE
SL-7            11    801611000.00N0012000.00E 500000.0 600000.0  95.0123101500
R   1 500000.0 600100.0 8.0   2 500000.0 600112.5 8.0   3 500000.0 600125.0 8.01
R   1 500100.0 600100.0 8.0                                                    2
""",
    ".p111": """\
OGP,OGP P1,1,1.1,1,2020:01:01,00:00:00,x.p111,
HC,1,6,1,Coordinate System Axis 1,2,1,,Easting,east,E,1,m
HC,1,6,1,Coordinate System Axis 2,2,2,,Northing,north,N,1,m
S1,0,L7,7,801,801,1,1.5,5,G01,4,,2000.0,50.0,5.0
R1,0,L7,7,801,801,1,1.5,6,S1,9,1,2000.5,100.25,6.0,2,2000.5,125.25,6.0
""",
}


def _make_positions(path: Path) -> None:
    path.write_text(POSITIONS[path.suffix])


def _read_positions(path: Path) -> None:
    shot = {".sps": 82873}.get(path.suffix, 801)
    none = np.zeros(2, np.int64)
    traces = SimpleNamespace(
        ffid=none + shot,
        channel=none + np.array([1, 2]),
        source_point=none + shot,
        source_line=none,
        file=none,
        paths=["a.sgy"],
    )
    src, rcv = read_geometry([path]).placed(traces, np.zeros(2))
    assert np.isfinite(src).all()
    assert np.isfinite(rcv).all()


#: kind -> (suffix, write a valid file, read it)
TARGETS: dict[str, tuple[str, Callable[[Path], None], Callable[[Path], None]]] = {
    "segy": (".sgy", _make_shots, _read_shots),
    "crafted": (".sgy", _make_shots, _read_crafted),
    "segy2": (".sgy", _make_extended, _read_shots),
    "store": (".mdio", _make_store, _read_traces),
    "traces2": (".sgy", _make_extended, _read_traces),
    "su": (".su", _make_shots, _read_shots),
    "traces": (".sgy", _make_shots, _read_traces),
    "traces-su": (".su", _make_shots, _read_traces),
    "sps": (".sps", _make_positions, _read_positions),
    "p190": (".p190", _make_positions, _read_positions),
    "p111": (".p111", _make_positions, _read_positions),
    "volume": (".sgy", _make_volume, _read_any),
    "rsf": (".rsf", _make_any, _read_any),
    "npz": (".npz", _make_any, _read_any),
    "npy": (".npy", _make_any, _read_any),
    "vti": (".vti", _make_any, _read_any),
    "nc": (".nc", _make_any, _read_any),
}


def damage(data: bytes, rng: random.Random) -> bytes:
    """Return a damaged copy: one to four of the things that go wrong with files."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(max(1, len(out)))
        if rng.random() < 0.5:
            # headers are where the structure is
            at = rng.choice([rng.randrange(3200, 3840), rng.randrange(0, 512)]) if len(out) > 3840 else at
        what = rng.randrange(7)
        if what == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif what == 1:
            kind = rng.choice(["B", ">H", "<H", ">I", "<I"])
            size = struct.calcsize(kind)
            value = rng.choice(EXTREMES) & ((1 << (8 * size)) - 1)
            if at + size <= len(out):
                struct.pack_into(kind, out, at, value)
        elif what == 2:
            del out[at : at + rng.randint(1, 300)]
        elif what == 3:
            del out[at:]
        elif what == 4:
            out[at:at] = rng.randbytes(rng.randint(1, 300))
        elif what == 5:
            out[at:at] = out[at : at + rng.randint(1, 500)]
        else:
            out += rng.randbytes(rng.randint(1, 64))
    return bytes(out)


def craft(rng: random.Random) -> bytes:
    """Return a SEG-Y file made from scratch: any revision, order and format, lengths that may or may not
    agree.
    """
    order = rng.choice("><")
    ns = rng.choice([0, 1, 2, 10, 50, 1000, 65535])
    code = rng.choice([0, *range(1, 17), 255, -1, -32768])
    n_ext = rng.choice([0, 0, 0, 1, 2, -1, -2, 32767])
    rev = rng.choice([0, 1, 2])
    head = bytearray(400)
    for byte, kind, value in (
        (3217, "H", rng.choice([0, 1, 4000, 65535])),
        (3221, "H", rng.choice([ns, 0, 65535])),
        (3225, "h", code),
        (3255, "h", rng.choice([0, 1, 2, 9])),
        (3269, "i", rng.choice([0, ns, -1, 2**31 - 1])),
        (3273, "Q", rng.getrandbits(64)),
        (3505, "h", n_ext),
        (3507, "h", rng.choice([0, 0, 1, 100, 32767, -1])),
        (3521, "Q", rng.choice([0, 0, 3600, 2**40, 2**63, 3601])),
        (3529, "i", rng.choice([0, 0, 1, -1, 2**31 - 1])),
    ):
        struct.pack_into(order + kind, head, byte - 3201, value)
    head[300] = rev
    out = bytearray(rng.randbytes(3200) if rng.random() < 0.5 else b" " * 3200) + head
    out += b"((SEG: EndText))".ljust(3200) * max(0, min(n_ext, 3) if n_ext != -1 else rng.randrange(2))
    width = {1: 4, 2: 4, 3: 2, 4: 4, 5: 4, 6: 8, 7: 3, 8: 1, 9: 8, 10: 4, 11: 2, 12: 8, 15: 3, 16: 1}.get(
        code, 4
    )
    for _ in range(rng.choice([0, 1, 2, 7])):
        trace = bytearray(rng.randbytes(240) if rng.random() < 0.3 else bytes(240))
        struct.pack_into(order + "H", trace, 114, rng.choice([ns, 0, 65535]))
        struct.pack_into(order + "h", trace, 70, rng.choice([0, 1, -100, -32768, 32767]))
        out += trace + rng.randbytes(min(ns, 2000) * width)
    return bytes(out[: rng.choice([len(out), len(out), rng.randrange(len(out) + 1)])])


def run(kind: str, count: int, seed: int, folder: Path) -> dict[str, object]:
    """Try `count` damaged files of a kind; return counts, failures and the growth of peak memory."""
    suffix, make, read = TARGETS[kind]
    valid = folder / f"valid{suffix}"
    make(valid)
    target = folder / f"damaged{suffix}"
    if valid.is_dir():
        shutil.copytree(valid, target)
    parts = {p: p.read_bytes() for p in sorted(target.rglob("*")) if p.is_file()}
    data = b"" if parts else valid.read_bytes()
    if suffix == ".rsf":
        # the damage is to the header; its data file stays
        (folder / "valid.rsf@").rename(folder / "valid.rsf.data")
        data = data.replace(b"valid.rsf@", b"valid.rsf.data")
    rng = random.Random(f"{kind} {seed}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    opened, failures, slowest = 0, [], 0.0
    for i in range(count):
        one = rng.choice(list(parts)) if parts else target
        bad = craft(rng) if kind == "crafted" else damage(parts.get(one, data), rng)
        one.write_bytes(bad)
        if parts:  # a store is another one when its root was written again
            os.utime(target / "zarr.json")
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                read(target)
            opened += 1
        except SubsaltError as e:
            if not str(e) or len(str(e)) > 2000:
                failures.append(
                    {"number": i, "error": f"message of {len(str(e))} characters", "hex": bad.hex()}
                )
        except Exception:
            failures.append({"number": i, "error": traceback.format_exc(limit=-4), "hex": bad.hex()})
        slowest = max(slowest, time.perf_counter() - begin)
        if parts:
            one.write_bytes(parts[one])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {
        "kind": kind,
        "tried": count,
        "opened": opened,
        "failures": failures,
        "slowest_s": slowest,
        "peak_growth_mb": grown / 1024,
    }


def main() -> int:
    """Run the fuzz from the command line; the exit status says whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="damaged files per kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=sorted(TARGETS), action="append")
    parser.add_argument("--json", action="store_true", help="print one JSON object last")
    args = parser.parse_args()
    results = []
    print(
        f"{'kind':8} {'tried':>8} {'opened':>8} {'failed':>7} {'slowest s':>10} {'memory MB':>10} "
        f"{'files/s':>9}",
    )
    for kind in args.kind or sorted(TARGETS):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            r = run(kind, args.count, args.seed, Path(folder))
            rate = args.count / (time.perf_counter() - begin)
        failures = r["failures"]
        assert isinstance(failures, list)
        print(
            f"{kind:8} {r['tried']:10d} {r['opened']:10d} {len(failures):10d} {r['slowest_s']:10.3f} "
            f"{r['peak_growth_mb']:10.1f} {rate:10.0f}"
        )
        for f in failures[:3]:
            print(f"  input {f['number']} of seed {args.seed}:\n{f['error']}", file=sys.stderr)
        results.append({**r, "failures": len(failures), "files_per_s": rate})
    if args.json:
        print(json.dumps({"seed": args.seed, "results": results}))
    return 1 if any(r["failures"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
