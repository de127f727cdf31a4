"""Does a run over two machines work, and what crosses the network between them?

    python benchmarks/two_nodes.py [--rate 200mbit] [--publish]

Two network namespaces joined by a slow link stand for the machines (`nodes.py`; root, or a system that lets users make
namespaces). What is looked at, in this order:

1. messages of known size, against the counters of the interface: MPI must not have found a way past the link;
2. the ghost planes of time steps: counted by the halo, computed from the sizes, and seen on the link;
3. a whole migration, per-rank and broadcast input: the image has the bytes of one process;
4. `subsalt lab io`: the bytes that broadcast sends are seen on the link, and its three tables;
5. `subsalt lab network`: what it says of pairs across nodes is what the link carries.

Ends with 1 when one of them is not so. --publish writes docs/notes/two-nodes.md and
docs/performance/two-nodes.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from facts import machine  # noqa: E402
from nodes import Nodes, enter_private_namespace  # noqa: E402

BIN = Path(sys.executable).parent
MPIEXEC = str(BIN / "mpiexec")
#: what a start of MPI on both nodes sends besides, and the most that headers of packets add
START, HEADERS = 200_000, 1.12
WIRE = 20_000_000
HALO, HALO_STEPS = (96, 96, 96), 100
SURVEY = {"grid": (101, 48, 48), "medium": "vti", "samples": 150, "shots": 2, "spread": 40}


class Failed(Exception):
    """Something was not as promised."""


def main() -> None:
    """Run everything and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rate", default="200mbit", help="of the link in each direction, for tc; none: no limit"
    )
    parser.add_argument("--ranks", default="2,4", help="of lab io")
    parser.add_argument("--grid", default="192,128,96", help="of lab io")
    parser.add_argument("--steps", type=int, default=50, help="of lab io")
    parser.add_argument("--repeats", type=int, default=3, help="of lab io")
    parser.add_argument(
        "--directory", type=Path, help="where the files of lab io are made; a temporary folder"
    )
    parser.add_argument("--publish", action="store_true")
    args = parser.parse_args()
    enter_private_namespace(sys.argv)
    with tempfile.TemporaryDirectory(prefix="subsalt-nodes-") as made:
        folder = Path(made)
        with Nodes(folder, args.rate) as nodes:
            bench = Bench(nodes, folder, args)
            try:
                by_name = {
                    "machine": machine(1),
                    "rate": args.rate,
                    "wire": bench.wire(),
                    "halo": bench.halo(),
                    "migration": bench.migration(),
                    "input": bench.input(),
                    "network": bench.network(),
                }
            except Failed as e:
                sys.exit(f"FAILED: {e}")
    text = page(by_name)
    print(text)
    if args.publish:
        docs = HERE.parent / "docs"
        (docs / "performance" / "two-nodes.json").write_text(json.dumps(by_name, indent=1) + "\n")
        (docs / "notes" / "two-nodes.md").write_text(text)


class Bench:
    """The parts, on two nodes."""

    def __init__(self, nodes: Nodes, folder: Path, args: argparse.Namespace) -> None:
        self.nodes, self.folder, self.args = nodes, folder, args
        self.launcher = nodes.mpiexec(MPIEXEC)

    def run(self, words: list[str], what: str) -> tuple[str, int, float]:
        """Run a command on the first node; return what it printed, the bytes on the link, and seconds."""
        print(f"two nodes: {what}", file=sys.stderr, flush=True)
        before, begin = self.nodes.carried(), time.perf_counter()
        done = subprocess.run(self.nodes.at("alpha", words), capture_output=True, text=True, timeout=1800)
        if done.returncode:
            raise Failed(f"{what}: exit code {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
        return done.stdout, self.nodes.carried() - before, time.perf_counter() - begin

    def rank_program(self, ranks: int, *words: object) -> tuple[dict[str, Any], int]:
        """Run `two_nodes_rank.py` on so many ranks, on both nodes in turn."""
        program = [sys.executable, str(HERE / "two_nodes_rank.py"), *map(str, words)]
        out, carried, _ = self.run([*self.launcher, "-n", str(ranks), *program], f"{words[0]}, {ranks} ranks")
        return json.loads(out.splitlines()[-1]), carried

    def wire(self) -> dict[str, Any]:
        """Send known bytes."""
        seconds, carried = self.rank_program(2, "wire", WIRE)
        _crossed("messages", seconds["bytes"], carried)
        return seconds | {"carried": carried}

    def halo(self) -> dict[str, Any]:
        """Step a field on two and on four ranks: of four slabs, alternating nodes, every cut crosses the link."""
        out = []
        for ranks in (2, 4):
            seconds, carried = self.rank_program(ranks, "halo", *HALO, HALO_STEPS)
            _crossed(f"ghost planes of {ranks} ranks", seconds["bytes"], carried)
            out.append(seconds | {"ranks": ranks, "carried": carried})
        if len({o["field"] for o in out}) != 1:
            raise Failed("the field of four ranks differs from that of two")
        return {"grid": HALO, "steps": HALO_STEPS, "rows": out}

    def migration(self) -> dict[str, Any]:
        """Migrate on one process and on both nodes."""
        from subsalt_lab.whole import MadeSurvey

        made = MadeSurvey(**SURVEY)  # type: ignore[arg-type]
        work = self.folder / "survey"
        work.mkdir()
        made.write(work)
        job = made.write_job(work / "job.toml", 1, 2)
        broadcast = work / "broadcast.toml"
        broadcast.write_text(job.read_text().replace("[parallel]\n", '[parallel]\nio = "broadcast"\n'))
        rows = []
        for name, ranks, path in (
            ("one process", 1, job),
            ("two nodes", 2, job),
            ("two nodes", 4, job),
            ("two nodes, broadcast", 2, broadcast),
        ):
            run = work / f"run{len(rows)}"
            command = [sys.executable, "-m", "subsalt", "migrate", str(path), "--run", str(run)]
            start = [] if ranks == 1 else [*self.launcher, "-n", str(ranks)]
            _, carried, seconds = self.run([*start, *command], f"migrate, {name}, {ranks} ranks")
            image = hashlib.sha256((run / "image.rsf@").read_bytes()).hexdigest()
            spent = json.loads((run / "run.json").read_text())["over_ranks"]
            sent = spent["halo"]["bytes"] + spent["input"]["all"]["received"] if ranks == 2 else 0
            if sent:
                # the deal of shots and the sum of the image come on top
                _crossed(f"migrate, {name}", sent, carried, 5 * START)
            rows.append(
                {
                    "where": name,
                    "ranks": ranks,
                    "seconds": seconds,
                    "sent": sent,
                    "carried": carried,
                    "image": image,
                }
            )
        if len({r["image"] for r in rows}) != 1:
            raise Failed(f"the images differ: {[(r['where'], r['ranks'], r['image'][:12]) for r in rows]}")
        return {"survey": SURVEY, "rows": rows}

    def input(self) -> dict[str, Any]:
        """Run `lab io`, first input alone on two ranks, to compare the link with what the ranks received."""
        alone = self.lab("2", 0.0)
        total = [r for r in alone["rows"] if r["table"] == "total"]
        sent = sum((r["broadcast_moved"] - r["broadcast_read"]) * len(r["broadcast_seconds"]) for r in total)
        _crossed("broadcast input", sent, alone["carried"])
        full = self.lab(self.args.ranks, 1.0)
        return {"alone": alone, "full": full, "sent": sent}

    def network(self) -> dict[str, Any]:
        """Run `lab network` over both nodes; the rates of long messages must be those of the link."""
        out = self.folder / "network.json"
        options = {"--np": "2,4", "--sizes": "0:256K", "--launcher": shlex.join(self.launcher), "--out": out}
        words = [str(w) for pair in options.items() for w in pair]
        command = [sys.executable, "-m", "subsalt", "lab", "network", "--quick", *words]
        _, carried, _ = self.run([*command, "--machine", str(self.folder / "machine.json")], "lab network")
        result = json.loads(out.read_text())
        result["settings"]["launcher"] = "of both nodes"  # it names files of this machine
        if self.args.rate.endswith("mbit"):
            _as_fast_as_the_link(result["rows"], float(self.args.rate.removesuffix("mbit")) / 8e3)
        return result | {"carried": carried}

    def lab(self, ranks: str, compute: float) -> dict[str, Any]:
        """Run `subsalt lab io` over both nodes; return its result."""
        out = self.folder / "io.json"
        where = self.args.directory or self.folder
        options = {
            "--grid": self.args.grid,
            "--steps": self.args.steps,
            "--repeats": self.args.repeats,
            "--ranks": ranks,
            "--compute": compute,
            "--cache": "warm",
            "--directory": where,
            "--launcher": shlex.join(self.launcher),
            "--out": out,
        }
        words = [str(w) for pair in options.items() for w in pair]
        _, carried, _ = self.run(
            [sys.executable, "-m", "subsalt", "lab", "io", *words],
            f"lab io, {ranks} ranks, compute {compute:g}",
        )
        result = json.loads(out.read_text())
        result["settings"].pop("launcher")  # it names files of this machine
        return result | {"carried": carried}


def _crossed(what: str, sent: int, carried: int, more: int = START) -> None:
    """Raise unless the link carried what was sent, and little more."""
    print(f"two nodes: {what}: {sent} bytes sent, {carried} on the link", file=sys.stderr, flush=True)
    if not sent <= carried <= HEADERS * sent + more:
        raise Failed(f"{what}: {sent} bytes were sent between the nodes, the link carried {carried}")


def _as_fast_as_the_link(rows: list[dict[str, Any]], rate: float) -> None:
    """Raise unless windows of at least 4 MB across nodes took as long as the link must take for them.

    The bucket of the link lets 256 kB pass at once: 6 % of such a window. Headers take up to 12 %, and waiting for
    each other another 30 % on a machine whose processors both nodes share.
    """
    windows = [
        r for r in rows if r.get("where") == "across" and r.get("bytes", 0) * 64 >= 4 << 20 and "value" in r
    ]
    for what, variants in (("stream", 1), ("bidirectional", 2)):
        some = [r for r in windows if r["what"] == what]
        if not some:
            raise Failed(f"lab network: no row of {what} across nodes")
        for r in some:
            if not variants * rate / HEADERS * 0.7 <= r["value"] <= variants * rate * 1.07:
                raise Failed(
                    f"lab network: {what} of {r['bytes']} bytes at {r['value']} GB/s, the link has {rate}"
                )


def _mb(nbytes: int) -> str:
    return f"{nbytes / 1e6:.1f}" if nbytes else ""


def page(facts: dict[str, Any]) -> str:
    """Return the page of docs."""
    from subsalt_lab.cli import network as network_tables
    from subsalt_lab.cli.io import tables

    m, wire, halo, migration = facts["machine"], facts["wire"], facts["halo"], facts["migration"]
    rows = "\n".join(
        f"| ghost planes of {halo['steps']} steps, {' x '.join(map(str, halo['grid']))}, {r['ranks']} ranks | "
        f"{r['bytes'] / 1e6:.2f} | {r['carried'] / 1e6:.2f} |"
        for r in halo["rows"]
    )
    migrated = "\n".join(
        f"| {r['where']} | {r['ranks']} | {r['seconds']:.1f} | {_mb(r['sent'])} | {_mb(r['carried'])} | "
        f"`{r['image'][:16]}` |"
        for r in migration["rows"]
    )
    sent, alone = facts["input"]["sent"], facts["input"]["alone"]
    network = "\n\n".join(network_tables.tables(facts["network"]["rows"], "markdown"))
    io = "\n\n".join(tables(facts["input"]["full"]["rows"], "markdown"))
    return f"""# The lab: two emulated nodes

Two network namespaces of one machine emulate two nodes. They are joined by a virtual link of the kernel, with its
rate limited to {facts["rate"]} in each direction: no cable, no switch, and hardly any latency.
Both have the same files and processor, so times show the effect of the network, not the speed of two machines. MPI is
restricted to TCP: otherwise it would find that both nodes share memory, and only its start would cross the link.

```
python benchmarks/two_nodes.py --rate {facts["rate"]} --publish
```

{m["cpu"]}, {m["cores"]} cores, load {m["load_before"]:.1f} before, version {m["subsalt"]}, {m["date"]}

## What crosses the link

| what | MB sent, counted by the ranks | MB on the link, counted by the interface |
|---|---:|---:|
| messages from rank 0 to rank 1 and back | {wire["bytes"] / 1e6:.2f} | {wire["carried"] / 1e6:.2f} |
{rows}
| input by broadcast, 2 ranks, all samples | {sent / 1e6:.2f} | {alone["carried"] / 1e6:.2f} |

## One image

| where | ranks | s | MB sent | MB on the link | image (SHA-256) |
|---|---:|---:|---:|---:|---|
{migrated}

Two ranks share each shot. MB sent are the ghost planes and the input that they report to have sent to each other. With
four ranks each group is on one node: its ghost planes do not cross the link.

## Input: original against per-rank

`subsalt lab io` on both nodes, ranks alternating between them. The original sends everything over the link; with
per-rank input each rank reads its part of the files, which both nodes have, and sends nothing.

{io}

## Messages

`subsalt lab network --quick --np 2,4` on both nodes: one pair across them, and two at once. Two ranks of a node
do not use shared memory either, because MPI is restricted to TCP.

{network}
"""


if __name__ == "__main__":
    main()
