"""Blocks in x and y against one process: the same bits in every field, sample and image, whatever the shape."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from launch import MPI, run
from slab_cases import PML, Case, advance

from subsalt.kernels import steps
from subsalt.propagation import halo

pytestmark = MPI

HERE = Path(__file__).parent

#: volumes wide enough along y for three parts; sources and receivers lie on both sides of all cuts
CASES = {
    "iso pml": Case(shape=(24, 27, 17), options=PML),
    "iso order 4 u16, free surface": Case(
        shape=(24, 27, 15), options={"order": 4, "model_storage": "u16", "free_surface": True}
    ),
    "iso none": Case(shape=(22, 26, 17), options={"boundary": "none"}, cut=11),
    "iso thick layer": Case(shape=(14, 15, 17), options={"layer": 14}),
    "vti pml": Case("vti", shape=(24, 27, 17), options=PML, cut=12),
    "vti damping": Case("vti", shape=(24, 27, 17), options={"boundary": "damping"}, window=(2, 22)),
    "vti weak": Case("vti", shape=(24, 27, 17), options={"boundary": "none"}, strength=3e-33),
    "tti pml": Case("tti", shape=(24, 27, 17), options=PML),
    "tti none, free surface": Case(
        "tti", shape=(26, 35, 15), options={"boundary": "none", "free_surface": True}
    ),
    "reference vti pml": Case("vti", shape=(18, 19, 14), options={"device": "reference", "order": 4}),
}
#: shapes by number of ranks, and the cases that are cut so; the record has 1 x 3. Six ranks are more than two cores
#: have patience for: they are tried in ``make test-all``
MEDIA = ("iso pml", "vti pml", "tti pml")
SHAPES = {4: {(2, 2): tuple(CASES), (1, 4): MEDIA}, 6: {(3, 2): MEDIA[1:], (2, 3): MEDIA[:1]}}

#: what every rank runs: cases by shape, under a change of the program
PROGRAM = """
    import sys
    sys.path.insert(0, {here!r})
    import pickle
    import pytest
    from test_blocks import CASES, CHANGES
    from slab_cases import compare
    from subsalt.parallel.comm import world
    group = world()
    answers = pickle.load(open({answers!r}, "rb"))
    for what, name, shape in {tasks!r}:
        with pytest.MonkeyPatch.context() as patch:
            if what:
                CHANGES[what][2](patch)
            wrong = compare(CASES[name], group, 1, None, answers[name], shape)
        print(f"{{what}} {{name}} {{shape}}: {{len(wrong)}} wrong {{wrong[:5]}}")
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with the answers of one process to all cases."""
    path = tmp_path_factory.mktemp("blocks") / "answers.pickle"
    path.write_bytes(pickle.dumps({name: advance(case, None) for name, case in CASES.items()}))
    return path


def printed_lines(answers: Path, ranks: int, tasks: list[tuple[str, str, tuple[int, int]]]) -> list[str]:
    """Return what the ranks say of changes, cases and shapes, line by line."""
    done = run(ranks, PROGRAM.format(here=str(HERE), answers=str(answers), tasks=tasks))
    assert done.rc == 0, done
    lines = [line for out in done.out for line in out.splitlines()]
    assert len(lines) == ranks * len(tasks), done
    return lines


@pytest.mark.parametrize("ranks", [4, pytest.param(6, marks=pytest.mark.thorough)])
def test_blocks_of_any_shape_have_the_bits_of_one_process(answers: Path, ranks: int) -> None:
    cases = [("", name, shape) for shape, names in SHAPES[ranks].items() for name in names]
    wrong = [line for line in printed_lines(answers, ranks, cases) if ": 0 wrong []" not in line]
    assert not wrong, "\n".join(wrong)


def no_corners(patch: pytest.MonkeyPatch) -> None:
    original = halo.Halo.__init__

    def changed(self, *args, **named):
        original(self, *args, **(named | {"corners": False}))

    patch.setattr(halo.Halo, "__init__", changed)


def no_psi_beyond(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(steps, "_psi_planes", lambda problem, cuts: (cuts.lo, cuts.hi))


def early_records(patch: pytest.MonkeyPatch) -> None:
    original = steps.PythonSteps.__init__

    def changed(self, *args, **named):
        original(self, *args, **named)
        self.records_ghosts = False

    patch.setattr(steps.PythonSteps, "__init__", changed)


def no_rows_of_q(patch: pytest.MonkeyPatch) -> None:
    original = halo._Share.rows
    patch.setattr(halo._Share, "rows", lambda self, arrays: original(self, arrays[:1]))


#: changes of the program that must be noticed: the case and the shape that notice, and the change
CHANGES = {
    "corners do not travel": ("tti pml", (2, 2), no_corners),
    "Psi is not advanced beyond the cuts": ("iso thick layer", (1, 4), no_psi_beyond),
    "receivers are recorded before ghost rows have come": ("vti damping", (2, 2), early_records),
    "q stays where it is": ("vti damping", (2, 2), no_rows_of_q),
}


def test_what_blocks_leave_out_is_noticed(answers: Path) -> None:
    lines = printed_lines(answers, 4, [(what, name, shape) for what, (name, shape, _) in CHANGES.items()])
    for what in CHANGES:
        assert [line for line in lines if line.startswith(what) and ": 0 wrong []" not in line], what


def test_a_group_of_blocks_whose_wavefield_blows_up_stops_together() -> None:
    done = run(
        4,
        f"""
        import sys
        sys.path.insert(0, {str(HERE)!r})
        import numpy as np
        from test_blocks import CASES
        from subsalt.parallel.comm import world
        from subsalt.errors import NumericalFailure
        group = world()
        for name in ("iso pml", "tti pml"):
            with CASES[name].propagator(group, (2, 2)) as prop:
                samples = np.zeros((1, 30))
                samples[0, 20] = np.nan
                source = prop.source(np.array([[6.3, 7.0, 6.2]]) * 10, samples)
                state = prop.new_state()
                try:
                    prop.advance(state, 1000, sources=[source])
                except NumericalFailure as error:
                    print(state.it, error)
        """,
    )
    assert done.rc == 0, done
    assert done.out == [done.out[0]] * 4, done
    lines = done.out[0].splitlines()
    assert len(lines) == 2, done
    for line in lines:
        step = int(line.split("at step ")[1].split(",")[0])
        # the word goes through 2 blocks along x and 2 along y, and 8 steps are looked ahead
        assert int(line.split()[0]) == step + 3 + 8, line
