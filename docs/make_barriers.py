"""Write the outputs in docs/reference/lab-barriers.md: run its two examples on this machine, which should be idle."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("reference") / "lab-barriers.md"
BIN = Path(sys.executable).parent
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("", "lab", "mpi")]

from test_barriers_of_migrate import JOB  # noqa: E402

from job_files import write_files  # noqa: E402


def said(words: list[str], folder: Path) -> str:
    """Return a command as a user types it, and what it prints on standard output."""
    options = {"mpiexec": str(BIN / "mpiexec"), "subsalt": str(BIN / "subsalt")}
    done = subprocess.run(
        [options.get(w, w) for w in words], cwd=folder, check=True, capture_output=True, text=True
    )
    typed = " ".join(w if re.fullmatch(r"[\w./=,{}-]+", w) else f"'{w}'" for w in words)
    text = done.stdout.replace(str(BIN) + "/", "")
    # the migration says what it does first
    return f"$ {typed}\n{text[text.index('barriers:') :].rstrip()}"


def main() -> None:
    """Run both, and put what they print into the page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = ROOT / "benchmarks" / "barrier_trial.c"
        compiler = [str(BIN / "mpicc"), "-O2", "-g", str(source), "-o", str(folder / "steps")]
        subprocess.run(compiler, check=True)
        write_files(folder)
        (folder / "job.toml").write_text(JOB)
        lab = ["subsalt", "lab", "barriers"]
        trial = ["--try", "1", "--time-from", "elapsed ([0-9.]+)", "--ignore", "elapsed .*"]
        migrate = ["subsalt", "migrate", "job.toml", "--run", "{folder}/run"]
        blocks = {
            "trial": said([*lab, *trial, "--", "mpiexec", "-n", "2", "./steps", "uneven", "2000"], folder),
            "migration": said([*lab, "--", "mpiexec", "-n", "2", *migrate], folder),
        }
    text = PAGE.read_text(encoding="utf-8")
    for key, block in blocks.items():
        marked = rf"(<!-- {key} -->\n```\n).*?(\n```)"
        text = re.sub(marked, lambda m, block=block: m[1] + block + m[2], text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
