"""Groups of ranks against one process: the same bits in every field, sample and image, whatever the cut.

Each launch goes through all cases, in passes and in the loop in Python; the answers of one process are made once. That
these comparisons can fail is proved by changing an order of addition on purpose.
"""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest
from launch import MPI, run
from slab_cases import CASES, advance

from subsalt.kernels import slab, steps
from subsalt.propagation import slab_recorder
from thorough import ALL, some

pytestmark = MPI

PATHS = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

#: what every rank runs: cases with threads and loop, each under a change of the program or none
PROGRAM = """
    import sys
    sys.path[:0] = {paths!r}
    import pickle
    import pytest
    from slab_cases import CASES, compare
    from test_slabs import CHANGES
    from subsalt.kernels import steps
    from subsalt.parallel.comm import world
    if {pieces}:
        steps.PIECE, steps.TILTED_ROWS = 300, 3
    group = world()
    answers = pickle.load(open({answers!r}, "rb"))
    for what, name, threads, loop in {tasks!r}:
        with pytest.MonkeyPatch.context() as patch:
            if what:
                CHANGES[what][2](patch)
            wrong = compare(CASES[name], group, threads, loop, answers[name])
        print(f"{{what}}: {{name}}: {{len(wrong)}} wrong {{wrong[:5]}}")
"""


#: threads, and the loop if one is forced
WAYS = ((1, None), (2, None), (2, "python"))
#: ways by number of ranks, and of how many cases one is tried: more ranks than two cores wait by looking, which takes
#: most of the time of these tests. Passes have every case, and the loop in Python, whose exchanges are the same for
#: all, every other one; `test_slab_passes` has threads of three ranks in passes, `test_blocks` four ranks; and all of
#: it is tried by ``SUBSALT_TESTS=all``
BY_RANKS = {2: WAYS[1:2], 3: WAYS[2:]} if not ALL else dict.fromkeys((2, 3, 4, 5), WAYS)
EVERY = {2: 1, 3: 1 if ALL else 2}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with the answers of one process to all cases; NumPy reads so many arrays a tenth as fast."""
    path = tmp_path_factory.mktemp("slabs") / "answers.pickle"
    path.write_bytes(pickle.dumps({name: advance(case, None) for name, case in CASES.items()}))
    return path


#: of a change or none and of a case, with so many threads, and by the loop if one is forced
Task = tuple[str, str, int, str | None]


def printed_lines(answers: Path, ranks: int, tasks: list[Task], pieces: bool = False) -> list[str]:
    """Return what the ranks say of changes and cases, line by line; `pieces`: the core is cut into many."""
    done = run(ranks, PROGRAM.format(paths=PATHS, answers=str(answers), tasks=tasks, pieces=pieces))
    assert done.rc == 0, done
    lines = [line for out in done.out for line in out.splitlines()]
    assert len(lines) == ranks * len(tasks), done
    return lines


@pytest.mark.parametrize("ranks", BY_RANKS)
def test_fields_samples_and_images_of_a_group_are_those_of_one_process(answers: Path, ranks: int) -> None:
    names = list(CASES)[:: EVERY.get(ranks, 1)]
    tasks: list[Task] = [("", name, threads, loop) for name in names for threads, loop in BY_RANKS[ranks]]
    # the core in many pieces, which cases of this size would not be cut into
    lines = printed_lines(answers, ranks, tasks, pieces=ranks == 3)
    wrong = [line for line in lines if ": 0 wrong []" not in line]
    assert not wrong, "\n".join(wrong)


def own_planes_first(patch: pytest.MonkeyPatch) -> None:
    original = slab_recorder.SlabRecorder.complete

    def complete(self, group, slabs):
        data, before = self.single.data, {}
        for i, row in enumerate(self.further.row):
            if row in before:
                data[i] += data[before[row]]
                data[before[row]] = 0
            before[row] = i
        return original(self, group, slabs)

    patch.setattr(slab_recorder.SlabRecorder, "complete", complete)


def from_high_to_low(patch: pytest.MonkeyPatch) -> None:
    original = slab_recorder.SlabRecorder.complete

    def complete(self, group, slabs):
        for row in np.unique(self.further.row):
            planes = np.nonzero(self.further.row == row)[0]
            self.single.data[planes] = self.single.data[planes[::-1]]
        return original(self, group, slabs)

    patch.setattr(slab_recorder.SlabRecorder, "complete", complete)


def not_flushed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(slab_recorder, "flushed", lambda values: values)


def reversed_sources(patch: pytest.MonkeyPatch) -> None:
    original = steps.PythonSteps.__init__

    def changed(self, kernels, problem, work, sharing=None):
        work.sources = work.sources[::-1]
        original(self, kernels, problem, work, sharing)

    patch.setattr(steps.PythonSteps, "__init__", changed)


def reversed_sources_of_passes(patch: pytest.MonkeyPatch) -> None:
    original = slab.SlabPasses.__init__

    def changed(self, problem, work, sharing):
        work.sources = work.sources[::-1]
        original(self, problem, work, sharing)

    patch.setattr(slab.SlabPasses, "__init__", changed)


def no_psi_beyond(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(steps, "_psi_planes", lambda problem, cuts: (cuts.lo, cuts.hi))


FIELDS = {"curr", "prev", "trace", "snapshot", "image", "energy"}
#: changes of the program that must be noticed: the case that notices, what is wrong then, and the change
CHANGES = {
    "every rank adds up its own planes first": ("iso 3-D thin", {"trace"}, own_planes_first),
    "planes are added from high to low x": ("vti 2-D thin", {"trace"}, from_high_to_low),
    "sums over planes of several ranks are not flushed": ("iso 3-D thin and weak", {"trace"}, not_flushed),
    "sources are injected in another order": ("vti 3-D pml", FIELDS, reversed_sources),
    "sources are injected in another order in passes": ("vti 3-D pml", FIELDS, reversed_sources_of_passes),
    "Psi is not advanced beyond the cuts": ("iso 3-D thick layer", FIELDS, no_psi_beyond),
}


def test_a_change_of_order_is_noticed(answers: Path) -> None:
    tried = some(CHANGES, 4)
    tasks: list[Task] = [(what, CHANGES[what][0], 1, None if "pass" in what else "python") for what in tried]
    lines = printed_lines(answers, 3, tasks)
    for what in tried:
        wrong = [line for line in lines if line.startswith(f"{what}: ") and ": 0 wrong []" not in line]
        assert wrong, what
        kinds = {item.split()[0] for line in wrong for item in ast.literal_eval(line.split(" wrong ")[1])}
        assert kinds <= CHANGES[what][1], (what, wrong)
