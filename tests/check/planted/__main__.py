"""Print the table of planted mistakes: ``python tests/check/planted [-v] [number, word or "clean" ...]``."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[1] / "io")]
os.environ.setdefault("SUBSALT_TUNE", "off")
os.environ.setdefault("SUBSALT_MEASURE", "off")
os.environ["SUBSALT_CUDA_PLUGIN"] = "off"


def main(words: list[str]) -> int:
    """Run what is asked for; return 1 when a mistake is not caught or something is said of a clean survey."""
    from planted.clean import SURVEYS
    from planted.form import TITLES
    from planted.run import Bench, chosen, totals

    said = "-v" in words
    names = [w for w in words if not w.startswith("-")]
    with tempfile.TemporaryDirectory() as root:
        bench = Bench(Path(root))
        verdicts = {}
        for form in chosen(names):
            began = time.process_time()
            v = bench.verdict(form)
            verdicts[form.name] = form, v
            print(
                f"{v.word:10s} {form.name}" + ("" if v.caught and not said else f"\n{'':11s}{v.why}"),
                flush=True,
            )
            if said:
                print(
                    *(f"{'':11s}| {s}" for s in v.said),
                    f"{'':11s}({time.process_time() - began:.2f} s)",
                    sep="\n",
                )
        alarms = {n: bench.false_alarms(n) for n in SURVEYS} if not names or "clean" in names else {}
    counted = totals(verdicts)
    print()
    for number, (caught, of) in counted.items():
        print(f"{number:2d} {TITLES[number]:45s} {caught:3d} of {of:3d}")
    forty = [(c, n) for number, (c, n) in counted.items() if number <= 40]
    print(
        f"\n{sum(c == n for c, n in forty)} of {len(forty)} mistakes in every form; "
        f"{sum(c / n for c, n in forty):.1f} by share of forms; "
        f"{sum(c for c, _ in counted.values())} of {len(verdicts)} forms"
    )
    for name, lines in alarms.items():
        for line in lines:
            print(f"false alarm in {name}: {line}")
    if alarms:
        print(f"{sum(not v for v in alarms.values())} of {len(alarms)} clean surveys without a false alarm")
    return int(any(not v.caught for _, v in verdicts.values()) or any(alarms.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
