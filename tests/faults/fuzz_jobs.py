"""Question: does any damaged job file give an internal error, a traceback, a hang, or an allocation that does not fit?

Keys of the schema of job files get extreme values, values of other types, names of folders, devices and pipes; keys and
tables are left out or doubled; bytes of the text are changed. Each file goes through check, plan and explain, and what
passes is modelled or migrated for a moment.

Usage: python tests/faults/fuzz_jobs.py [--count N] [--seed S] [--first I] [--json]
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import fuzz_commands  # noqa: E402

LINE = """
title = "a line"
[data]
files = ["shots.sgy"]
line = "2d"
[model]
vp = "vp.rsf"
epsilon = "epsilon.rsf"
delta = 0.05
[source]
f0 = "10 Hz"
[propagation]
order = 4
layer = 6
grid = 20
[imaging]
aperture = 300
top_mute = 20
[checkpoint]
strategy = "auto"
[output]
pictures = false
formats = ["segy", "npz"]
[[signal]]
step = "bandpass"
corners = [1, 2, 20, 25]
[[signal]]
step = "mute"
velocity = 1500
"""
MODEL = """
[model]
vp = { z = [0, 240, 241, 400], value = [2000, 2000, 2400, 2400] }
theta = 10
epsilon = 0.1
delta = 0.05
[acquisition]
shots = { first = [100, 20], last = [500, 20], n = 2 }
receivers = { first = [0, 20], last = [600, 20], n = 13 }
record_length = 0.2
dt = 0.004
[grid]
spacing = 20
shape = [31, 21]
[source]
f0 = 10
[propagation]
layer = 6
order = 4
grid = "model"
"""
VOLUME = """
[model]
vp = { file = "vp3.npz", key = "vp" }
[acquisition]
shots = "stations.csv"
receivers = { first = [20, 40, 20], last = [180, 80, 20], n = [5, 2] }
record_length = 0.2
dt = 0.004
[source]
f0 = 12
[propagation]
layer = 4
order = 4
grid = "model"
"""
HILLS = """
[data]
files = ["shots.sgy"]
line = "2d"
[model]
vp = 2000
[grid]
spacing = [20, 20]
shape = [41, 21]
origin = [0, 0]
[propagation]
order = 4
layer = 6
topography = { radius = 100, elevations = "hills.csv", datum = 0, depth = 10 }
[source]
wavelet = "file"
file = "wavelet.txt"
dt = 0.004
f0 = 10
[output]
pictures = false
"""
TIME = """
method = "kirchhoff"
[data]
files = ["traces.sgy"]
[velocity]
v = { t = [0, 1], value = [1900, 2100] }
[kirchhoff]
aperture = 300
bands = 4
[parallel]
threads = 1
[output]
pictures = false
[[signal]]
step = "gain"
kind = "power"
power = 1
"""
AREA = """
method = "kirchhoff"
[data]
files = ["areal.sgy"]
[velocity]
v = 2000
[kirchhoff]
corners = [[11, 101, 1000.0, 2000.0], [11, 120, 1000.0, 2380.0], [16, 101, 1125.0, 2000.0]]
aperture = 300
gathers = "offset"
offset = { first = 100, last = 500, step = 200 }
time = { first = 0.4, last = 0.8, step = 0.008 }
[output]
pictures = false
"""
JOBS = {"line": LINE, "model": MODEL, "volume": VOLUME, "hills": HILLS, "time": TIME, "area": AREA}

#: what people, programs and files put in place of a number, a name, a list or a table
EXTREMES: list[Any] = [
    0, 0.0, -0.0, 1, -1, 2, 3, float("nan"), float("inf"), float("-inf"), 1e-300, -1e-300, 5e-324, 1e-30, 1e-9, 1e9,
    1e30, 1e300, -1e300, 1.7976931348623157e308, 2**31, 2**31 - 1, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, -(2**63),
    2**64, 10**30, 10**400, 10**12, 10**6, True, False, "", " ", "auto", "none", "nan", "inf", "-1", "1e400",
    "1e300 m", "0 m", "12 parsec", "5 %", "\u00e9\u2028\U0001f30d", "\x1b[31m",
     "\u202e", "\0", "x" * 300, "x" * 100_000, "é" * 200,
    "9" * 5000, [], [[]], [[], []], {}, [{}], {"": 0}, [0], [0, 0], [0, 0, 0], [1, 2], [2, 1], [1, 1, 1], [-1, -1],
    [1e300, 1e300], [1e-300, 1e-300], [0.5, 0.5, 0.5, 0.5], [10**6, 10**6], [10**9, 10**9, 10**9], [2**63, 2**63],
    [float("nan")] * 2, [float("inf")] * 3, ["a", 1], [True, False], ["", ""],
     list(range(20_000)), ["a"] * 5000, [[1, 2], [3]],
    {"file": "vp.rsf"}, {"file": ""}, {"file": []}, {"z": [], "value": []}, {"z": [0, 0], "value": [1, 2]},
    {"z": [0, 1e300], "value": [1500, 1600]}, {"value": 1e300}, {"n": 10**9}, {"first": 0, "last": 0, "step": 0},
    {"first": 0, "last": 1e300, "step": 1e-300}, {"first": [0, 0], "last": [1, 1], "n": 10**12},
    date(1979, 5, 27), datetime(1979, 5, 27, 7, 32),
]  # fmt: skip
#: what a number is multiplied with to be another one of its kind
FACTORS = [0.01, 0.1, 0.5, 0.9, 1.1, 2, 5, 10, 100, 1000, 1e6]
#: names of what is no file, no file of that kind, or not there
NAMES = [
    "", ".", "..", "/", "/dev/zero", "/dev/null", "/dev/stdin", "/dev/full",
     "/proc/self/mem", "/proc/self/environ", "pipe", "folder",
    "empty", "zeros", "text.txt", "missing", "missing.rsf", "vp.rsf", "vp.rsf@",
     "vp3.npz", "shots.sgy", "traces.sgy", "stations.csv",
    "folder.zarr", "hills.csv", "wavelet.txt", "line.toml", "*", "**", "[", "*.sgy",
     "~", "~nobody/x", "../..", "x" * 5000, "a/" * 3000, "shots.sgy/x",
    "bad.rsf", "bad.npz", "bad.csv", "bad.sgy", "loop", "\udc80x".encode("utf-8", "replace").decode(),
     "nul\0x", "s3://nowhere/x.sgy",
    "http://127.0.0.1:9/x.sgy", "file:///etc/passwd", "http://[", "s3://", "x.zarr",
     "x.mdio", "x.nc", "x.vti", "x.npy", "x.rsf",
]  # fmt: skip
#: text that goes in or replaces a line
LINES = [
    "[", "]", "[[", "=", "a =", "= 1", "[data", "[data]", "[[data]]", "[model]",
     "[signal]", "[[signal]]", "[signal.x]", '"""', "'''",
    "a.b.c = 1", "data.files = 1", "x = [" + "[" * 5000, "x = " + "{a=" * 3000,
     "x = 0x" + "f" * 5000, "x = 1" + "0" * 5000, "\x00", "\t\t\t",
    'title = "\\ud800"', "title = 1979-05-27T07:32:00Z", "# " + "c" * 100_000,
     "method = 1", 'method = "kirchhoff"', 'method = ["rtm"]', "\ufeff", "\r",
    "[[acquisition.shots]]", "[propagation.topography]", "[velocity.v]", "[model.vp]",
     "x = nan", "include = 'a'", '"$schema" = 3',
]  # fmt: skip


def write_files(folder: Path) -> None:
    """Write what the jobs name, and what is none of it."""
    import numpy as np

    import kirchhoff_jobs
    from job_files import write_files as write_line
    from subsalt.earth.grid import Grid
    from subsalt.io.volumes import volume

    write_line(folder)
    kirchhoff_jobs.line(folder / "traces.sgy")
    kirchhoff_jobs.areal(folder / "areal.sgy")
    volume.write(
        folder / "vp3.npz",
        Grid((11, 6, 9), (20.0, 20.0, 20.0)),
        np.full((11, 6, 9), 2000, np.float32),
        name="vp",
    )
    (folder / "stations.csv").write_text("shot,sx,sy,sz\n1,40,60,20\n2,160,60,20\n")
    hills = "".join(f"{x},0,{-5 + abs(x - 400) / 80}\n" for x in range(0, 801, 50))
    (folder / "hills.csv").write_text(f"x,y,elevation\n{hills}")
    (folder / "wavelet.txt").write_text(
        "".join(f"{np.exp(-(((i - 25) / 6.0) ** 2)):.6f}\n" for i in range(50))
    )
    (folder / "text.txt").write_text("no numbers\n" * 100)
    (folder / "bad.rsf").write_text('n1=21 d1=1e300 o1=1e300 n2=31 d2=nan in="vp.rsf@"\n')
    (folder / "bad.npz").write_bytes((folder / "vp3.npz").read_bytes()[:200])
    (folder / "bad.csv").write_text("x,y,z\n1e400,nan\n\0,,,\n")
    (folder / "bad.sgy").write_bytes((folder / "shots.sgy").read_bytes()[:3700])
    (folder / "zeros").write_bytes(bytes(1 << 16))
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    (folder / "folder.zarr").mkdir()
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of job files."""
    from subsalt.job.schema import schema_text

    result: dict[str, Any] = json.loads(schema_text())
    return result


def keys(node: dict[str, Any], depth: int = 0) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the path of every key below a node of the schema, and what the schema says of it."""
    for kind in (node, *node.get("anyOf", ()), *node.get("oneOf", ())):
        target = schema()["$defs"][kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind
        if target is not node and target.get("type") == "array":
            target = target.get("items", {})
            yield from keys(target, depth)
        for name, value in target.get("properties", {}).items():
            yield (name,), value
            if depth < 4:
                for path, inner in keys(value, depth + 1):
                    yield (name, *path), inner
        if target is not node and depth < 4 and "properties" not in target:
            yield from keys(target, depth + 1)


@cache
def known(method: str) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Return every key of the jobs of a method once."""
    rules = {r["then"]["properties"]["method"]["const"]: r["then"] for r in schema()["allOf"]}
    seen: dict[tuple[str, ...], dict[str, Any]] = {}
    for path, value in keys(rules[method]):
        seen.setdefault(path, value)
    return sorted((item for item in seen.items() if item[0][0] != "signal"), key=lambda item: item[0])


def some_step(rng: random.Random) -> dict[str, Any]:
    """Return a step on traces, with what it needs and some of its other keys."""
    said = rng.choice([d for d in schema()["$defs"].values() if "step" in d.get("properties", {})])
    required = [*said.get("required", ()), "step"]
    return {
        k: plausible(v, rng) if "const" not in v else v["const"]
        for k, v in said["properties"].items()
        if k in required or rng.random() < 0.3
    }


def plausible(value: dict[str, Any], rng: random.Random) -> Any:
    """Return a value that the schema allows, more or less."""
    choices = [value, *value.get("anyOf", ()), *value.get("oneOf", ())]
    said = [c for k in choices for c in (k.get("enum") or ([k["const"]] if "const" in k else []))]
    kinds = {k.get("type") for k in choices}
    if said and rng.random() < 0.7:
        return rng.choice(said)
    if "boolean" in kinds:
        return rng.random() < 0.5
    if "array" in kinds and rng.random() < 0.6:
        return [rng.choice([0, 1, 5, 20, 100.0, 0.1]) for _ in range(rng.randint(1, 4))]
    if kinds & {"number", "integer"}:
        return rng.choice([0, 1, 2, 3, 5, 8, 12, 20, 50, 100, 1000, 0.01, 0.1, 0.5, 0.99])
    return rng.choice(NAMES) if rng.random() < 0.5 else rng.choice(["auto", "a", "5 ms", "10 m", "1 km/s"])


def value_for(path: tuple[str, ...], said: dict[str, Any], old: Any, rng: random.Random) -> Any:
    """Return what a key becomes."""
    named = path[-1] in ("file", "files", "shots", "receivers", "elevations", "folder", "index", "scratch")
    draw = rng.random()
    if named and draw < 0.6:
        name = rng.choice(NAMES)
        return [name] if path[-1] == "files" and rng.random() < 0.7 else name
    if draw < 0.6 and said:
        return plausible(said, rng)
    if isinstance(old, int | float) and not isinstance(old, bool) and draw < 0.9:
        return rng.choice(
            [v for v in EXTREMES if isinstance(v, int | float)] + 4 * [old * f for f in FACTORS]
        )
    if isinstance(old, list) and old and draw < 0.9:
        new = copy.deepcopy(old)
        new[rng.randrange(len(new))] = value_for(path, said, new[rng.randrange(len(new))], rng)
        return new
    return copy.deepcopy(rng.choice(EXTREMES))


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all tables, lists and values of a job."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [p for k, v in inner for p in ((*path, k), *leaves(v, (*path, k)))]


def change(raw: dict[str, Any], rng: random.Random) -> None:
    """Change one key of a job in place."""
    draw = rng.random()
    if draw < 0.05:
        steps = raw.setdefault("signal", [])
        if isinstance(steps, list):
            steps.insert(rng.randrange(len(steps) + 1), some_step(rng))
        return
    if draw < 0.45:
        method = raw.get("method", "rtm")
        near = known(method if method in ("rtm", "kirchhoff") else "rtm")
        # mostly of tables that the job has
        near = [item for item in near if item[0][0] in raw] if rng.random() < 0.8 else near
        path, said = rng.choice(near)
        here: Any = raw
        for part in path[:-1]:
            inner = here.get(part)
            if isinstance(inner, list) and inner and isinstance(inner[-1], dict):
                inner = inner[-1]
            if not isinstance(inner, dict):
                inner = here[part] = {}
            here = inner
        here[path[-1]] = value_for(path, said, here.get(path[-1]), rng)
        return
    where = rng.choice(leaves(raw) or [("x",)])
    here = raw
    for part in where[:-1]:
        here = here[part]
    last = where[-1]
    if draw < 0.55:
        here.pop(last, None) if isinstance(here, dict) else here.pop(last)
    elif draw < 0.6:
        here[last] = [here.get(last) if isinstance(here, dict) else here[last]] * rng.choice(
            [0, 1, 2, 3, 1000]
        )
    elif draw < 0.64 and isinstance(here, dict):
        here[rng.choice(["", "x", "vpp", "\u00e9", "a b", "file", "n", "step", "key", "__class__"])] = here[
            last
        ]
    else:
        names = tuple(str(p) for p in where if not isinstance(p, int))
        here[last] = value_for(
            names or ("x",), {}, here.get(last) if isinstance(here, dict) else here[last], rng
        )


def as_toml(raw: dict[str, Any]) -> str:
    """Return a job as TOML, whatever its values are."""

    def one(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, dict):
            return "{" + ", ".join(f"{json.dumps(k)} = {one(v)}" for k, v in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(one, value)) + "]"
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "")
        return value.isoformat() if isinstance(value, date) else str(value)

    plain = [f"{json.dumps(k)} = {one(v)}" for k, v in raw.items() if not isinstance(v, dict)]
    tables = [
        f"[{json.dumps(k)}]\n" + "\n".join(f"{json.dumps(a)} = {one(b)}" for a, b in v.items())
        for k, v in raw.items()
        if isinstance(v, dict)
    ]
    return "\n".join([*plain, *tables]) + "\n"


def damaged(text: str, rng: random.Random) -> bytes:
    """Return the text of a job with its bytes changed."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    lines = text.splitlines()
    what = rng.randrange(8)
    at = rng.randrange(max(1, len(data)))
    if what == 0:
        del data[at:]
    elif what == 1:
        for _ in range(rng.randint(1, 5)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif what == 2:
        data[:0] = rng.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0", b"\x1f\x8b"])
    elif what == 3:
        data = bytearray(text.encode(rng.choice(["utf-16", "utf-32", "utf-8-sig"]), "replace"))
    elif what == 4:
        data[at:at] = rng.randbytes(rng.randint(1, 40))
    elif what == 5:
        return "\n".join(rng.choice(["", "\n"]).join((text, text)).splitlines()).encode()
    elif what == 6:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(LINES))
        return "\n".join(lines).encode()
    else:
        lines[rng.randrange(len(lines))] = rng.choice(LINES)
        return rng.choice(["\n", "\r\n", "\r"]).join(lines).encode()
    return bytes(data)


def mutated(number: int, seed: int) -> tuple[str, bytes]:
    """Return the name of the job that the input `number` of a seed comes from, and its text."""
    rng = random.Random(f"{seed} {number}")
    kind = rng.choice(list(JOBS))
    if rng.random() < 0.12:
        return kind, damaged(JOBS[kind], rng)
    raw = tomllib.loads(JOBS[kind])
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change(raw, rng)
    return kind, as_toml(raw).encode("utf-8", "surrogatepass")


def try_one(folder: Path, number: int, seed: int) -> fuzz_commands.Ended:
    """Try one mutated job in a folder with the files of the jobs."""
    kind, text = mutated(number, seed)
    rng = random.Random(f"commands {seed} {number}")
    job = folder / "job.toml"
    job.write_bytes(text)
    name = str(job)
    if rng.random() < 0.02:
        name = str(folder / rng.choice([n for n in NAMES if "\0" not in n]))
    out = folder / "out"
    path = ".".join(rng.choice(known(rng.choice(["rtm", "kirchhoff"])))[0])
    images = (
        ["model", name, "-o", str(out)]
        if kind in ("model", "volume")
        else ["migrate", name, "--run", str(out)]
    )
    commands = [
        ["explain", path],
        ["check", name, *rng.choice([["--no-map"], ["--no-map", "--json"], ["-o", str(out / "map")]])],
        ["plan", name, *rng.choice([[], ["--json"], ["--ranks", "3"]])],
        images,
    ]
    return fuzz_commands.run(commands)


def run(count: int, seed: int, folder: Path, first: int = 0, say: Any = None) -> dict[str, Any]:
    """Try mutated jobs; return counts, failures, the longest time and the largest growth of memory."""
    import shutil

    folder.mkdir(exist_ok=True)
    write_files(folder)
    before = set(folder.iterdir())
    here = os.getcwd()
    os.chdir(folder)
    failures, slowest, grown = [], 0.0, 0.0
    ends: Counter[str] = Counter()
    try:
        for number in range(first, first + count):
            ended = try_one(folder, number, seed)
            passed = ("explain", "check", "plan", "image")[len(ended.codes) - 1] if ended.codes else "none"
            ends[f"{passed} {ended.codes[-1] if ended.codes else ''}"] += 1
            if say is not None and number % 100 == 99:
                print(f"{number + 1} tried", flush=True)
            slowest, grown = max(slowest, ended.seconds), max(grown, ended.grown_mb)
            if ended.fault:
                failures.append(
                    {
                        "number": number,
                        "fault": ended.fault,
                        "job": mutated(number, seed)[1][:3000].decode("utf-8", "replace"),
                    }
                )
                if say is not None:
                    say(failures[-1])
            for path in set(folder.iterdir()) - before:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    finally:
        os.chdir(here)
    return {
        "tried": count,
        "ends": dict(sorted(ends.items())),
        "failures": failures,
        "slowest_s": slowest,
        "peak_growth_mb": grown,
    }


def main() -> int:
    """Run the fuzz from the command line; the exit status says whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    fuzz_commands.prepare()
    with tempfile.TemporaryDirectory() as folder:
        r = run(
            args.count,
            args.seed,
            Path(folder) / "jobs",
            args.first,
            lambda f: print(f"input {f['number']} of seed {args.seed}: {f['fault']}\n", file=sys.stderr),
        )
    print(
        f"{r['tried']} jobs, {len(r['failures'])} failed, slowest {r['slowest_s']:.1f} s, "
        f"memory grew by {r['peak_growth_mb']:.0f} MB at most; {r['ends']}"
    )
    if args.json:
        print(json.dumps({"seed": args.seed, **r, "failures": len(r["failures"])}))
    return 1 if r["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
