"""The hash of the partial image of single shots of a job, batches of steps drawn from seeds.

``shot_bits.py JOB --shots 8 --seeds 200`` says for every shot how many hashes its seeds gave; ends with 1 where a shot
has two.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.job_setup import migration_setup, survey_of
from subsalt.methods.rtm.migrate import ShotRunner
from subsalt.parallel.comm import world
from subsalt.run import scheduler
from subsalt.timing import Phases


@contextmanager
def drawn(seed: int | None) -> Iterator[None]:
    """Draw batches from a seed inside the ``with`` block; None: take those that suit the machine."""
    before = os.environ.pop("SUBSALT_BATCH", None)
    if seed is not None:
        os.environ["SUBSALT_BATCH"] = str(seed)
    try:
        yield
    finally:
        os.environ.pop("SUBSALT_BATCH", None)
        if before is not None:
            os.environ["SUBSALT_BATCH"] = before


class Shots:
    """The shots of a job, each migrated as often as asked, from its files to its partial image."""

    def __init__(self, job_file: Path, folder: Path) -> None:
        job = Job.from_toml(job_file)
        model = job.open_model()
        survey = survey_of(job, model)
        setup = migration_setup(job, model, survey)
        self.shots = {shot.id: shot for shot in survey.shots}
        self.runner = ShotRunner(setup, survey, folder, scheduler.form(world(), 1, 1, 1), Phases())

    def digest(self, shot: int, seed: int | None) -> str:
        """Return the hash of the partial image of a shot, which is that of the ledger."""
        with drawn(seed):
            partial = self.runner.process(self.shots[shot], None, lambda *_: None)
        if "sha256" not in partial:
            raise SystemExit(f"shot {shot} failed: {partial}")
        return str(partial["sha256"])


def main() -> None:
    """Compare the hashes of shots over seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", type=Path)
    parser.add_argument("--shots", type=int, nargs="*", help="ids; all when left out")
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds per shot")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    args = parser.parse_args()
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        shots = Shots(args.job, Path(folder))
        for shot in args.shots or list(shots.shots):
            digests: dict[str, list[int | None]] = {}
            begin = time.monotonic()
            for seed in (None, *range(args.first, args.first + args.seeds)):
                digests.setdefault(shots.digest(shot, seed), []).append(seed)
                print(
                    f"{time.strftime('%H:%M:%S')} shot {shot} seed {seed}: {len(digests)} hashes", flush=True
                )
            bad |= len(digests) > 1
            said = "; ".join(f"{sha[:16]} of {len(seeds)}" for sha, seeds in digests.items())
            print(f"shot {shot}: {said}   {time.monotonic() - begin:.0f} s", flush=True)
            for sha, seeds in list(digests.items())[1:]:
                print(f"  {sha[:16]}: seeds {seeds}", flush=True)
    sys.exit(bad)


if __name__ == "__main__":
    assert world().size == 1
    main()
