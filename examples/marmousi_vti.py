"""Marmousi with VTI anisotropy from model to picture: model the shots to SEG-Y, migrate them, compare.

    python examples/marmousi_vti.py

Runs the three commands one would type, one after the other; the results go to build/marmousi, and what is
there already is kept, so that a stopped run goes on.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "build" / "marmousi"


def commands(out: Path) -> list[list[str]]:
    """Return what to run, in order."""
    subsalt = str(Path(sys.executable).with_name("subsalt"))
    migrate, compare = HERE / "marmousi_migrate.toml", HERE / "compare_marmousi.py"
    return [
        [subsalt, "model", str(HERE / "marmousi_model.toml"), "-o", str(out / "shots")],
        [subsalt, "migrate", str(migrate), "--run", str(out / "run")],
        [sys.executable, str(compare), str(out / "run"), "--out", str(out / "comparison.png")],
    ]


def main() -> None:
    """Run the commands; the first that fails ends the script with its exit code."""
    OUT.mkdir(parents=True, exist_ok=True)
    for command in commands(OUT):
        print("$", " ".join(command), flush=True)
        code = subprocess.run(command).returncode
        if code:
            sys.exit(code)


if __name__ == "__main__":
    main()
