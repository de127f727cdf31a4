"""Does one GPU reach the numbers of this project?

    python benchmarks/gpu.py FOLDER [--only kernels,founding,large,kirchhoff,peers] [--publish]

Runs, one after the other, each a command of its own: the steps as shares of the copy bandwidth of the same rounds
(`subsalt lab kernels --device cuda`), the founding small case and the large one as whole jobs with the image written,
the antialiased Kirchhoff sum, and the steps side by side with Deepwave. Every one of them compares its answer before
it reports a time. FOLDER takes the volumes and runs: 30 GB, 60 GB for the large case.

Prints what was to be reached, what was predicted and what was measured, and last one JSON object; ends with 1 when a
number is missed. ``--publish`` keeps it as docs/performance/gpu.json, from which docs/howto/gpu.md has its table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
sys.path[:0] = [str(HERE)]

from facts import machine  # noqa: E402

#: shares of the copy bandwidth, seconds, contributions per second, and times as fast as the peer
SHARES = {"isotropic": 0.70, "vti": 0.70, "tti": 0.45}
SECONDS = {"founding": 10.0, "large": 180.0}
CONTRIBUTIONS, TIMES_PEER = 100e9, 1.0
#: the default of a migration, and the middle of what the head of native/cuda/kirchhoff_sum.cu predicts of an H200
DEFAULT_SUM, PREDICTED_CONTRIBUTIONS = "sinc, 10 bands, interpolated", 175e9
#: shares of the copy bandwidth that the heads of the steps predict
PREDICTED_SHARES = {"isotropic": 0.80, "vti": 0.80, "tti": 0.45}
#: points per axis: the arrays are many times the caches
POINTS = 512

Row = dict[str, Any]


def run(*words: str) -> dict[str, Any]:
    """Run a command, show what it prints, and return the JSON object of its last line."""
    print(f"$ {' '.join(words)}", flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    print("\n".join(lines[:-1]), flush=True)
    # a command that misses a bar of its own ends with 1, and has said its figures
    if done.returncode not in (0, 1) or not lines or not lines[-1].startswith("{"):
        raise SystemExit(f"{words[0]} ended with code {done.returncode}")
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def row(
    what: str, bar: float, predicted: float | None, measured: float, unit: str, *, least: bool, command: str
) -> Row:
    """Return a row of the table; `least`: the bar is reached from above."""
    met = measured >= bar if least else measured <= bar
    return {
        "what": what,
        "bar": bar,
        "predicted": predicted,
        "measured": measured,
        "unit": unit,
        "met": met,
        "command": command,
    }


def kernel_rows(folder: Path) -> list[Row]:
    """Return the shares of the copy bandwidth; what is predicted is in the heads of native/cuda."""
    words = [
        str(BIN / "subsalt"),
        "lab",
        "kernels",
        "--device",
        "cuda",
        "--order",
        "8",
        "-n",
        str(POINTS),
        "--json",
    ]
    result = run(*words, "--out", str(folder / "machine.json"))
    rows = []
    for r in result["rows"]:
        if r["boundary"] == "none":
            name = f"{r['medium']}, order 8, {r['n']}^3, models {r['model_storage']}"
            more = f"{r['points_per_s'] / 1e9:.1f} G point-steps/s, copy {r['copy_gb_s']:.0f} GB/s"
            command = "subsalt lab kernels --device cuda --order 8 -n 512"
            rows.append(
                row(
                    name,
                    SHARES[r["medium"]],
                    PREDICTED_SHARES[r["medium"]],
                    r["of_copy"],
                    "of copy",
                    least=True,
                    command=command,
                )
                | {"more": more, "spread": r["spread"]}
            )
    return rows


def job_rows(folder: Path, name: str) -> list[Row]:
    """Return the seconds of a founding case as a whole job."""
    words = [sys.executable, str(HERE / "founding_job.py"), str(folder / name), "--device", "cuda"]
    words += ["--large"] if name == "large" else []
    result = run(*words)
    facts = json.loads((folder / name / "run" / "run.json").read_text())
    phases = (facts.get("predicted") or {}).get("phases") or {}
    predicted = sum(phases.values()) if phases else None
    title = f"{' x '.join(map(str, result['shape']))}, VTI, {result['samples']} samples, image written"
    command = f"python benchmarks/founding_job.py FOLDER --device cuda{' --large' * (name == 'large')}"
    total = result["process_seconds"]
    return [
        row(title, SECONDS[name], predicted, total, "s", least=False, command=command)
        | {"phases": result["phases"], "checkpoint": result["checkpoint"]}
    ]


def kirchhoff_rows(folder: Path) -> list[Row]:
    """Return the contributions per second of the antialiased sum; what is predicted is in its head."""
    command = "kirchhoff_gpu.py", "--kinds", DEFAULT_SUM
    result = run(sys.executable, str(HERE / command[0]), *command[1:])
    return [
        row(
            f"Kirchhoff, {DEFAULT_SUM}",
            CONTRIBUTIONS,
            PREDICTED_CONTRIBUTIONS,
            r["sum_per_s"],
            "contributions/s",
            least=True,
            command="python benchmarks/kirchhoff_gpu.py",
        )
        | {"prepared_per_s": r["prepared_per_s"]}
        for r in result["rows"]
    ]


def peer_rows(folder: Path) -> list[Row]:
    """Return how many times as fast as Deepwave a step is."""
    cases = [f"gpu-iso-{POINTS}", f"gpu-vti-{POINTS}"]
    result = run(sys.executable, str(HERE / "peers" / "run.py"), *cases, "--device", "cuda")
    command = f'make bench-peers CASES="{" ".join(cases)}" DEVICE=cuda'
    return [
        row(f"{name}: rate over Deepwave's", TIMES_PEER, None, ratio, "times", least=True, command=command)
        | {"row": result["cases"][name]}
        for name, ratio in result["ratio"].items()
    ]


PARTS: dict[str, Callable[[Path], list[Row]]] = {
    "kernels": kernel_rows,
    "founding": lambda folder: job_rows(folder, "founding"),
    "large": lambda folder: job_rows(folder, "large"),
    "kirchhoff": kirchhoff_rows,
    "peers": peer_rows,
}


def line(r: Row) -> str:
    """Return a row as text."""
    predicted = "" if r["predicted"] is None else f"{r['predicted']:.4g}"
    return (
        f"{r['what']:<60}{r['bar']:>10.4g}{predicted:>12}{r['measured']:>12.4g} {r['unit']:<18}"
        f"{'reached' if r['met'] else 'MISSED'}"
    )


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    parser.add_argument("--publish", action="store_true", help="write docs/performance/gpu.json")
    asked = parser.parse_args()
    unknown = set(asked.only.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"unknown parts {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")

    from subsalt import __version__
    from subsalt.errors import SubsaltError
    from subsalt.kernels.cuda import library

    try:
        gpu = library.chosen()
    except SubsaltError as err:
        raise SystemExit(str(err)) from err
    if library.availability().emulated:
        raise SystemExit("the emulated device measures nothing; build the plug-in (make cuda)")
    asked.folder.mkdir(parents=True, exist_ok=True)
    facts = machine(1) | {"gpu": gpu.name, "driver": library.availability().driver, "version": __version__}
    print(", ".join(f"{k} {v}" for k, v in facts.items()), flush=True)
    rows = [r for name in asked.only.split(",") for r in PARTS[name](asked.folder)]
    print(f"{'':<60}{'bar':>10}{'predicted':>12}{'measured':>12}")
    print("\n".join(map(line, rows)))
    result = {
        "question": "gpu",
        "command": f"python benchmarks/gpu.py FOLDER --only {asked.only}",
        "machine": facts,
        "rows": rows,
    }
    if asked.publish:
        (HERE.parent / "docs" / "performance" / "gpu.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))
    raise SystemExit(not all(r["met"] for r in rows))


if __name__ == "__main__":
    main()
