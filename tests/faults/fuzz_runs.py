"""Question: does a damaged file of a run ever give an internal error, a traceback, a hang, or a large allocation?

Files of finished and of stopped runs get bytes flipped, fields set to extreme values, pieces cut out or doubled; they
are cut short, emptied, filled with zeros, removed, or replaced by folders, links, pipes, other files of the run, and
text that parses but says nonsense. Then commands that read a run are tried. Whether a damaged file can change an image
is asked by tests/run/test_damaged_runs.py.

Usage: python tests/faults/fuzz_runs.py [--count N] [--seed S] [--first I] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "run")]

import fuzz_commands  # noqa: E402

#: what a value of a JSON or TOML text becomes
NONSENSE = [
    "null", "0", "-1", "1e999", "NaN", "-Infinity", "1e300", "9" * 30, "9" * 5000,
     '""', '"x"', "[]", "{}", "[[]]", "true", '"\\u0000"',
    '"' + "y" * 5000 + '"', "[" * 3000 + "]" * 3000, '"../../x"', '"/dev/zero"',
     "1e-300", "2147483648", "[1, 2, 3, 4]", "nan", "inf",
]  # fmt: skip
#: what is damaged: a finished and a stopped run of each method
RUNS = ("depth finished", "depth stopped", "time finished", "time stopped")
EXTREMES = [0, 1, 255, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
TIME_LINE = """
method = "kirchhoff"
[data]
files = ["traces.sgy"]
[velocity]
v = 2000
[kirchhoff]
aperture = 300
bands = 4
gathers = "offset"
offset = { first = 100, last = 500, step = 200 }
[parallel]
threads = 1
[output]
pictures = false
"""


def make_runs(folder: Path, wanted: Collection[str]) -> dict[str, Path]:
    """Make those of `RUNS` that are wanted, with kept wavefields, pictures and reports."""
    from small_run import make

    import kirchhoff_jobs

    make(folder, '[checkpoint]\nstrategy = "store"\nplace = "disk"\nkeep = "both"\n')
    kirchhoff_jobs.line(folder / "traces.sgy", n=12)
    (folder / "time.toml").write_text(TIME_LINE)
    plain = (
        (folder / "job.toml")
        .read_text()
        .replace("pictures = false", 'pictures = true\nformats = ["segy", "rsf", "npz", "vti"]')
    )
    (folder / "job.toml").write_text(plain)
    runs = {}
    for name in filter(wanted.__contains__, RUNS):
        method, state = name.split()
        run = runs[name] = folder / f"{method}-{state}.run"
        job = folder / {"depth": "job.toml", "time": "time.toml"}[method]
        words = ["migrate", str(job), "--run", str(run)]
        if state == "stopped":
            words += ["--time-limit", "0.25s"]
        ended = fuzz_commands.run([words], enough=60.0)
        if ended.fault or ended.codes not in ([0], [75]):
            raise RuntimeError(f"{words}: {ended.codes} {ended.fault} {ended.text[-2000:]}")
        if state == "finished":
            fuzz_commands.run([["report", str(run)]])
    return runs


def commands(run: Path, method: str, out: Path, rng: random.Random) -> list[list[str]]:
    """Return what is tried on a damaged run: something that reads it, and, of every other one, going on."""
    where = str(run)
    tried = [
        ["watch", where, "--once"],
        ["watch", where, "--json"],
        ["report", where, "-o", str(out / "r.html")],
        ["view", where, "-o", str(out / "v.png")],
        ["view", where, "--json", "-o", str(out / "w.png")],
        ["export", where, str(out / "x.npz")],
        ["stop", where, "--wait", "0"],
    ]
    if method == "depth":
        tried += [
            ["reimage", where, "--run", str(out / "again.run"), "--filter", "laplacian"],
            ["reimage", where, "--run", str(out / "waves.run"), "--from-wavefields"],
            ["play", where, "-o", str(out / "p.html"), "--size", "20", "--every", "20"],
        ]
    return [*rng.sample(tried, 1), *[["resume", where]] * (rng.random() < 0.5)]


def damage(path: Path, others: list[Path], rng: random.Random) -> str:
    """Damage a file; return what was done to it."""
    what = rng.choice(
        [
            "flip",
            "flip",
            "field",
            "cut",
            "zeros",
            "empty",
            "remove",
            "folder",
            "link",
            "pipe",
            "other",
            "pieces",
            "nonsense",
            "nonsense",
            "nonsense",
            "append",
        ]
    )
    data = bytearray(path.read_bytes())
    at = rng.randrange(max(1, len(data)))
    if what in ("remove", "folder", "link", "pipe"):
        path.unlink()
    if what == "flip" and data:
        for _ in range(rng.choice([1, 1, 1, 5, 50])):
            place = rng.choice([rng.randrange(len(data)), rng.randrange(min(len(data), 4096))])
            data[place] ^= 1 << rng.randrange(8)
    elif what == "field" and len(data) > 8:
        at = rng.randrange(min(len(data) - 4, 4000)) // 2 * 2
        struct.pack_into(
            rng.choice("<>") + rng.choice("HI"), data, at, rng.choice([e & 0xFFFF for e in EXTREMES])
        )
    elif what == "cut":
        del data[at:]
    elif what == "zeros":
        data[at:] = bytes(len(data) - at)
    elif what == "empty":
        data.clear()
    elif what == "pieces":
        del data[at : at + rng.randint(1, 500)]
        data[at:at] = data[: rng.randint(1, 200)]
    elif what == "append":
        data += rng.randbytes(rng.randint(1, 5000))
    elif what == "nonsense":
        data = bytearray(_nonsense(bytes(data), rng))
    if what == "folder":
        path.mkdir()
        (path / "x").write_text("x")
    elif what == "link":
        path.symlink_to(rng.choice([path.name, "nowhere", "/dev/zero", "/", str(rng.choice(others))]))
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "other":
        shutil.copyfile(rng.choice(others), path)
    elif what != "remove":
        path.write_bytes(data)
    return what


def _nonsense(data: bytes, rng: random.Random) -> bytes:
    """Return a text in which one value is another one; the bytes themselves when they are no text."""
    import re

    try:
        text = data.decode()
    except UnicodeDecodeError:
        at = rng.randrange(max(1, len(data)))
        return data[:at] + rng.randbytes(16) + data[at + 16 :]
    places = list(
        re.finditer(
            r'(?<=[:=\[,] )(?:"[^"\n]*"|[-+.0-9a-z]+|\[[^\]\n]*\]|\{[^}\n]*\})|(?<=:)(?:"[^"\n]*"|[-+.0-9a-z]+)',
            text,
        )
    )
    if not places:
        return rng.choice(NONSENSE).encode()
    # as often a value near the top, where what decides stands, as any
    place = rng.choice(places[:40]) if rng.random() < 0.5 else rng.choice(places)
    return (text[: place.start()] + rng.choice(NONSENSE) + text[place.end() :]).encode()


def try_one(runs: dict[str, Path], folder: Path, number: int, seed: int) -> tuple[str, fuzz_commands.Ended]:
    """Try one damaged run; return what was done to it, and how the commands ended."""
    rng = random.Random(f"{seed} {number}")
    name = rng.choice(RUNS)
    run, out = folder / "tried.run", folder / "out"
    shutil.copytree(runs[name], run, symlinks=True)
    out.mkdir()
    files = sorted(p for p in run.rglob("*") if p.is_file() and not p.is_symlink())
    texts = [p for p in files if p.suffix in (".json", ".jsonl", ".toml", ".sqlite", ".rsf", "")]
    done = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        path = rng.choice(texts) if rng.random() < 0.6 else rng.choice(files)
        if path.is_file() and not path.is_symlink():
            done.append(f"{path.relative_to(run)}: {damage(path, files, rng)}")
    ended = fuzz_commands.run(commands(run, name.split()[0], out, rng), go_on=True, enough=0.5)
    for path in (run, out):
        shutil.rmtree(path)
    return f"{name}, {', '.join(done)}", ended


def run(count: int, seed: int, folder: Path, first: int = 0, say: Any = None) -> dict[str, Any]:
    """Try damaged runs; return counts, failures, the longest time and the largest growth of memory."""
    folder.mkdir(exist_ok=True)
    numbers = range(first, first + count)
    runs = make_runs(folder, {random.Random(f"{seed} {number}").choice(RUNS) for number in numbers})
    here = os.getcwd()
    failures, slowest, grown = [], 0.0, 0.0
    ends: Counter[int] = Counter()
    os.chdir(folder)
    try:
        for number in numbers:
            what, ended = try_one(runs, folder, number, seed)
            ends.update(ended.codes)
            slowest, grown = max(slowest, ended.seconds), max(grown, ended.grown_mb)
            if say is not None and number % 100 == 99:
                print(f"{number + 1} tried", flush=True)
            if ended.fault:
                failures.append({"number": number, "damage": what, "fault": ended.fault})
                if say is not None:
                    say(failures[-1])
    finally:
        os.chdir(here)
    return {
        "tried": count,
        "ends": {str(k): v for k, v in sorted(ends.items())},
        "failures": failures,
        "slowest_s": slowest,
        "peak_growth_mb": grown,
    }


def main() -> int:
    """Run the fuzz from the command line; the exit status says whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    fuzz_commands.prepare()
    with tempfile.TemporaryDirectory() as folder:
        r = run(
            args.count,
            args.seed,
            Path(folder) / "runs",
            args.first,
            lambda f: print(
                f"input {f['number']} of seed {args.seed}: {f['damage']}\n{f['fault']}\n", file=sys.stderr
            ),
        )
    print(
        f"{r['tried']} runs, {len(r['failures'])} failed, slowest {r['slowest_s']:.1f} s, "
        f"memory grew by {r['peak_growth_mb']:.0f} MB at most; exit codes {r['ends']}"
    )
    if args.json:
        print(json.dumps({"seed": args.seed, **r, "failures": len(r["failures"])}))
    return 1 if r["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
