"""Do snapshots move as fast as fio moves the same blocks, with the same threads and flags?

Records are put and got through the store of the migrations, checksums included. In the same rounds fio moves as many
bytes in blocks of the same size (one file, a part of it per thread), and so does a plain loop of threads from and to as
much memory as the store's, without checksums. Where fio is not installed (Debian: apt-get install fio) that loop is
the yardstick, and the last line says so.

fio's psync engine fills and empties one block per thread over and over, which stays in the cache of its core; records
lie in memory. At the speed of a device that is the same, from the page cache it is an advantage of fio's. "fio far" is
therefore measured as well where the page cache is used: libaio with as many blocks in turn as a record has.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import numpy as np
from facts import machine, spread

from subsalt.checkpoint.storage.record import BLOCK, PAGE
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.machine import records as page_cache

BUFFERS = 4


class Pool:
    """Our store."""

    def __init__(self, folder: Path, records: int, nbytes: int, threads: int, direct: bool) -> None:
        self.records = records
        self.scratch = Scratch("benchmark", [folder], threads, direct)
        self.store = self.scratch.open("states", 0, nbytes // 4, BUFFERS, records=records)
        self.direct = self.store.files.direct
        rooms = [self.store.room() for _ in range(BUFFERS)]
        for room in rooms:
            room[:] = np.random.default_rng(1).standard_normal(len(room), dtype=np.float32)
            self.store.give_back(room)
        self.put()
        self.files = self.store.files.paths

    def put(self) -> None:
        for key in range(self.records):
            self.store.put(key, self.store.room())
        self.store.flush()

    def get(self) -> None:
        keys = range(self.records - 1, -1, -1)
        self.store.expect(keys)
        for key in keys:
            self.store.give_back(self.store.get(key))

    def close(self) -> None:
        self.store.close()
        self.scratch.close()


class Plain:
    """Threads that each move their share of all blocks, without checksums, with memory as large as the store's."""

    def __init__(self, path: Path, records: int, nbytes: int, threads: int, direct: bool) -> None:
        flags = os.O_RDWR | os.O_CREAT | (os.O_DIRECT if direct else 0)
        self.fd, self.files = os.open(path, flags, 0o600), [path]
        self.records, self.nbytes, self.threads = records, nbytes, threads
        raw = np.random.default_rng(2).integers(0, 256, BUFFERS * nbytes + PAGE, dtype=np.uint8)
        first = -raw.ctypes.data % PAGE
        self.memory = raw[first : first + BUFFERS * nbytes]
        self.put()

    def _all(self, call) -> None:
        def share(thread: int) -> None:
            for at in range(thread * BLOCK, self.records * self.nbytes, self.threads * BLOCK):
                where = at % (BUFFERS * self.nbytes)
                part, done = self.memory[where : where + BLOCK], 0
                while done < len(part):
                    done += call(part[done:], at + done)

        threads = [threading.Thread(target=share, args=(i,)) for i in range(self.threads)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def put(self) -> None:
        self._all(lambda part, at: os.pwrite(self.fd, part, at))

    def get(self) -> None:
        self._all(lambda part, at: os.preadv(self.fd, [part], at))

    def close(self) -> None:
        os.close(self.fd)
        self.files[0].unlink()


class Fio:
    """The flexible I/O tester; it takes its own times.

    Far: with as many blocks of memory in turn as a record has.
    """

    def __init__(
        self, path: Path, records: int, nbytes: int, threads: int, direct: bool, far: bool = False
    ) -> None:
        self.files = [path]
        share = records * nbytes // threads
        engine = ["--ioengine=libaio", f"--iodepth={nbytes // BLOCK}"] if far else ["--ioengine=psync"]
        self.words = [
            "fio",
            "--name=snapshots",
            f"--filename={path}",
            f"--bs={BLOCK}",
            f"--size={share}",
            f"--offset_increment={share}",
            f"--numjobs={threads}",
            "--thread",
            *engine,
            f"--direct={int(direct)}",
            "--group_reporting",
            "--invalidate=0",
            "--output-format=json",
        ]
        self.put()

    def _run(self, kind: str) -> float:
        done = subprocess.run([*self.words, f"--rw={kind}"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["jobs"][0][kind]["bw_bytes"] / 1e9

    def put(self) -> float:
        return self._run("write")

    def get(self) -> float:
        return self._run("read")

    def close(self) -> None:
        self.files[0].unlink()


def rate(side: Pool | Plain | Fio, kind: str, nbytes: int) -> float:
    """Return GB/s of one pass."""
    begin = time.perf_counter()
    own = getattr(side, kind)()
    return own if own is not None else nbytes / 1e9 / (time.perf_counter() - begin)


def measure(folder: Path, options: argparse.Namespace, threads: int, direct: bool) -> list[dict[str, object]]:
    """Return the rows of one number of threads and one way of opening files."""
    nbytes = options.record_mib << 20
    total = options.records * nbytes
    arguments = (options.records, nbytes, threads, direct)
    sides: dict[str, Pool | Plain | Fio] = {"pool": Pool(folder / "pool", *arguments)}
    if direct and not sides["pool"].direct:
        sides["pool"].close()
        return []
    sides["plain"] = Plain(folder / "plain.dat", *arguments)
    if shutil.which("fio"):
        sides["fio"] = Fio(folder / "fio.dat", *arguments)
        if not direct:
            sides["fio far"] = Fio(folder / "fio_far.dat", *arguments, far=True)
    rows = []
    kinds = [("put", False), ("get", False)] + ([] if direct else [("get", True)])
    for kind, cold in kinds:
        by_name: dict[str, list[float]] = {name: [] for name in sides}
        for round_ in range(options.repeats):
            names = list(sides)[round_ % len(sides) :] + list(sides)[: round_ % len(sides)]
            for name in names:
                os.sync()  # nobody pays for what another wrote
                if cold:
                    page_cache.drop_from_cache(sides[name].files)
                by_name[name].append(rate(sides[name], kind, total))
        row = {"kind": kind + (" cold" if cold else ""), "direct": direct, "threads": threads}
        row |= {name: round(median(v), 3) for name, v in by_name.items()}
        row |= {f"spread_{name}": round(spread(v), 3) for name, v in by_name.items()}
        row |= {
            f"pool/{name}": round(median([a / b for a, b in zip(by_name["pool"], v, strict=True)]), 3)
            for name, v in by_name.items()
            if name != "pool"
        }
        rows.append(row)
    for side in sides.values():
        side.close()
    return rows


def main() -> int:
    """Print the table and a JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "directory", nargs="?", default=tempfile.gettempdir(), type=Path, help="on the disk asked about"
    )
    parser.add_argument("--records", type=int, default=16)
    parser.add_argument("--record-mib", type=int, default=64)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write the JSON object to this file, too")
    options = parser.parse_args()
    need = 4 * options.records * options.record_mib << 20
    if need > shutil.disk_usage(options.directory).free:
        sys.exit(
            f"need {need / 1e9:.1f} GB at {options.directory}; use fewer --records or a smaller --record-mib"
        )
    rows = []
    with tempfile.TemporaryDirectory(prefix="snapshot-io-", dir=options.directory) as folder:
        for direct in (False, True):
            for threads in options.threads:
                rows += measure(Path(folder), options, threads, direct)
    yard = "fio" if "fio" in rows[0] else "plain"
    print(
        f"GB/s of {options.records} records of {options.record_mib} MiB, blocks of {BLOCK >> 10} KiB; "
        f"medians of {options.repeats}"
    )
    columns = ["pool", "plain", "fio", "fio far", "pool/plain", "pool/fio", "pool/fio far"]
    print(f"{'':10} {'':9} {'threads':>7} " + " ".join(f"{c:>12}" for c in columns))
    for r in rows:
        values = " ".join(f"{r[c]:12.2f}" if c in r else f"{'':12}" for c in columns)
        print(f"{r['kind']:10} {'direct' if r['direct'] else 'buffered':9} {r['threads']:7} {values}")
    if not any(r["direct"] for r in rows):
        print("this file system refuses O_DIRECT")
    if yard == "plain":
        print("fio is not installed: compared with plain threads only")
    result = {"machine": machine(max(options.threads)), "yardstick": yard, "block": BLOCK, "rows": rows}
    text = json.dumps(result)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
