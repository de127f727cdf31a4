"""A source wavefield that runs backwards on the slabs of a group: the bits of one process, whatever the cut."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from launch import MPI, run

from thorough import pairs

pytestmark = MPI

HERE = str(Path(__file__).parent)
BESIDE = str(Path(__file__).parents[1] / "methods" / "rtm")

PROGRAM = """
    import sys
    sys.path[:0] = [{here!r}, {beside!r}]
    import pickle
    from pathlib import Path
    from reversal_shots import by_reversal, differences
    from subsalt.checkpoint.storage.scratch import Scratch
    from subsalt.parallel.comm import world
    group = world() if world().size > 1 else None
    answers = pickle.load(open({answers!r}, "rb"))
    for name, on_disk in {tried!r}:
        scratch = None
        if on_disk:
            rank, ranks = (group.rank, group.size) if group else (0, 1)
            scratch = Scratch("run", [Path({scratch!r})], rank=rank, ranks=ranks)
        planes = by_reversal(name, group, scratch)
        print(f"{{name}}: {{differences(planes, answers[name])}} {{len(planes)}}")
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with the images of one process."""
    from reversal_shots import CASES, by_reversal

    path = tmp_path_factory.mktemp("reversal") / "answers.pickle"
    path.write_bytes(pickle.dumps({name: by_reversal(name, None) for name in CASES}))
    return path


@pytest.mark.parametrize("ranks", [2, 3])
def test_images_of_a_group_are_those_of_one_process(answers: Path, ranks: int, tmp_path: Path) -> None:
    from reversal_shots import CASES

    tried = [row[1:] for row in pairs((2, 3), CASES, (False, True)) if row[0] == ranks]
    program = PROGRAM.format(
        here=HERE, beside=BESIDE, answers=str(answers), scratch=str(tmp_path), tried=tried
    )
    done = run(ranks, program)
    assert done.rc == 0, done
    lines = [line for out in done.out for line in out.splitlines()]
    assert len(lines) == ranks * len(tried)
    assert not [line for line in lines if ": [] " not in line], done
