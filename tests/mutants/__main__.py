"""Plant the faults of `mutant_rows` one by one into a copy of the working tree, and run the tests that must notice.

    python tests/mutants [ONLY ...]      names or parts, as they stand in the table; all without

Needs `make build emulated`. Ends with 1 when a fault lived, or could not be planted.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutant_copy import Copy
from mutant_rows import MUTANTS, Mutant

#: a fault that hangs the tests is noticed
MOST_SECONDS = 900.0


def tried(copy: Copy, mutant: Mutant) -> tuple[str, str]:
    """Return what became of a fault, and the test that noticed it."""
    try:
        with copy.planted(mutant):
            return copy.run_tests(mutant.tests, MOST_SECONDS)
    except ValueError as error:
        return "could not be applied", str(error)
    except subprocess.CalledProcessError as error:
        return "does not compile", str(error.stderr or error).strip().splitlines()[-1][:160]


def main(only: list[str]) -> int:
    """Return the exit status."""
    chosen = [m for m in MUTANTS if not only or any(o.lower() in f"{m.part}: {m.name}".lower() for o in only)]
    if not chosen:
        print(f"no fault is called {', '.join(only)}", file=sys.stderr)
        return 2
    bad = 0
    with tempfile.TemporaryDirectory(prefix="subsalt-mutants-") as folder:
        copy = Copy(Path(folder) / "copy")
        for mutant in chosen:
            begin = time.monotonic()
            outcome, which = tried(copy, mutant)
            bad += outcome != "caught"
            seconds = time.monotonic() - begin
            print(f"{outcome:9} {mutant.part + ': ' + mutant.name:52} {seconds:5.0f} s  {which}", flush=True)
    print(f"{len(chosen)} faults, {bad} of them not as it should be")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
