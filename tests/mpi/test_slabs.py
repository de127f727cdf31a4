"""Groups of ranks against one process: the same bits in every field, sample and image, whatever the cut.

Each launch goes through all cases, in passes and in the loop in Python; the answers of one process are made once. That
these comparisons can fail is proved by changing an order of addition on purpose.
"""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import numpy as np
import pytest
from launch import MPI, run
from slab_cases import CASES, advance

from thorough import ALL, some

pytestmark = MPI

HERE = Path(__file__).parent

#: what every rank runs; `before` may change the program first
PROGRAM = """
    import sys
    sys.path.insert(0, {here!r})
    import numpy as np
    from slab_cases import CASES, compare
    from subsalt.parallel.comm import world
    {before}
    group = world()
    file = np.load({answers!r})
    for name in {names!r}:
        wanted = {{k.split("|")[1]: file[k] for k in file.files if k.startswith(name + "|")}}
        for threads, loop in {variants!r}:
            wrong = compare(CASES[name], group, threads, loop, wanted)
            print(f"{{name}}: {{len(wrong)}} wrong {{wrong[:5]}}")
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
    """Return the file with the answers of one process to all cases."""
    path = tmp_path_factory.mktemp("slabs") / "answers.npz"
    arrays = {f"{name}|{key}": a for name, case in CASES.items() for key, a in advance(case, None).items()}
    np.savez(path, **arrays)
    return path


def program(
    answers: Path, names: list[str], variants: tuple[tuple[int, str | None], ...] = WAYS, before: str = ""
) -> str:
    lines = textwrap.indent(textwrap.dedent(before), "    ").strip()
    return PROGRAM.format(here=str(HERE), answers=str(answers), names=names, variants=variants, before=lines)


@pytest.mark.parametrize("ranks", BY_RANKS)
def test_fields_samples_and_images_of_a_group_are_those_of_one_process(answers: Path, ranks: int) -> None:
    # the core in many pieces, which cases of this size would not be cut into
    pieces = "from subsalt.kernels import steps; steps.PIECE, steps.TILTED_ROWS = 300, 3"
    names = list(CASES)[:: EVERY.get(ranks, 1)]
    done = run(ranks, program(answers, names, BY_RANKS[ranks], pieces if ranks == 3 else ""))
    assert done.rc == 0, done
    wrong = [line for out in done.out for line in out.splitlines() if ": 0 wrong []" not in line]
    assert not wrong, "\n".join(wrong)
    assert all(out.count("\n") == len(BY_RANKS[ranks]) * len(names) for out in done.out), done


#: changes of the program that must be noticed: the case that notices, what is wrong then, and the change
CHANGES = {
    "every rank adds up its own planes first": (
        "iso 3-D thin",
        {"trace"},
        """
        from subsalt.propagation import slab_recorder as recording
        original = recording.SlabRecorder.complete
        def complete(self, group, slabs):
            data, before = self.single.data, {}
            for i, row in enumerate(self.further.row):
                if row in before:
                    data[i] += data[before[row]]
                    data[before[row]] = 0
                before[row] = i
            return original(self, group, slabs)
        recording.SlabRecorder.complete = complete
        """,
    ),
    "planes are added from high to low x": (
        "vti 2-D thin",
        {"trace"},
        """
        import numpy as np
        from subsalt.propagation import slab_recorder as recording
        original = recording.SlabRecorder.complete
        def complete(self, group, slabs):
            for row in np.unique(self.further.row):
                planes = np.nonzero(self.further.row == row)[0]
                self.single.data[planes] = self.single.data[planes[::-1]]
            return original(self, group, slabs)
        recording.SlabRecorder.complete = complete
        """,
    ),
    "sums over planes of several ranks are not flushed": (
        "iso 3-D thin and weak",
        {"trace"},
        """
        from subsalt.propagation import slab_recorder as recording
        recording.flushed = lambda values: values
        """,
    ),
    "sources are injected in another order": (
        "vti 3-D pml",
        {"curr", "prev", "trace", "snapshot", "image", "energy"},
        """
        from subsalt.kernels.steps import PythonSteps
        original = PythonSteps.__init__
        def changed(self, kernels, problem, work, sharing=None):
            work.sources = work.sources[::-1]
            original(self, kernels, problem, work, sharing)
        PythonSteps.__init__ = changed
        """,
    ),
    "sources are injected in another order in passes": (
        "vti 3-D pml",
        {"curr", "prev", "trace", "snapshot", "image", "energy"},
        """
        from subsalt.kernels.slab import SlabPasses
        original = SlabPasses.__init__
        def changed(self, problem, work, sharing):
            work.sources = work.sources[::-1]
            original(self, problem, work, sharing)
        SlabPasses.__init__ = changed
        """,
    ),
    "Psi is not advanced beyond the cuts": (
        "iso 3-D thick layer",
        {"curr", "prev", "trace", "snapshot", "image", "energy"},
        """
        from subsalt.kernels import steps
        steps._psi_planes = lambda problem, cuts: (cuts.lo, cuts.hi)
        """,
    ),
}


def test_a_change_of_order_is_noticed(answers: Path) -> None:
    for what in some(CHANGES, 4):
        name, kinds, change = CHANGES[what]
        loop = None if "pass" in what else "python"
        done = run(3, program(answers, [name], ((1, loop),), change))
        assert done.rc == 0, done
        wrong = [line for out in done.out for line in out.splitlines() if ": 0 wrong []" not in line]
        assert wrong, what
        lines = {item.split()[0] for line in wrong for item in ast.literal_eval(line.split(" wrong ")[1])}
        assert lines <= kinds, (what, wrong)
