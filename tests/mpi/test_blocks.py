"""Blocks in x and y against one process: the same bits in every field, sample and image, whatever the shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from launch import MPI, run
from slab_cases import PML, Case, advance

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
        "tti", shape=(26, 27, 17), options={"boundary": "none", "free_surface": True}
    ),
    "reference vti pml": Case("vti", shape=(18, 19, 14), options={"device": "reference", "order": 4}),
}
SHAPES = {2: [(1, 2)], 3: [(1, 3)], 4: [(2, 2), (1, 4)], 6: [(3, 2), (2, 3)]}

#: what every rank runs; `before` may change the program first
PROGRAM = """
    import sys
    sys.path.insert(0, {here!r})
    import numpy as np
    from subsalt.errors import ConfigError
    from test_blocks import CASES
    from slab_cases import compare
    from subsalt.parallel.comm import world
    {before}
    group = world()
    file = np.load({answers!r})
    for name in {names!r}:
        wanted = {{k.split("|")[1]: file[k] for k in file.files if k.startswith(name + "|")}}
        for shape in {shapes!r}:
            try:
                wrong = compare(CASES[name], group, 1, None, wanted, shape)
                print(f"{{name}} {{shape}}: {{len(wrong)}} wrong {{wrong[:5]}}")
            except ConfigError as error:
                print(f"{{name}} {{shape}}: too thin, {{error.code}}")
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with the answers of one process to all cases."""
    path = tmp_path_factory.mktemp("blocks") / "answers.npz"
    arrays = {f"{name}|{key}": a for name, case in CASES.items() for key, a in advance(case, None).items()}
    np.savez(path, **arrays)
    return path


def told(
    answers: Path, ranks: int, names: list[str], shapes: list[tuple[int, int]], before: str = ""
) -> list[str]:
    """Return what the ranks say of cases, line by line."""
    program = PROGRAM.format(
        here=str(HERE),
        answers=str(answers),
        names=names,
        shapes=shapes,
        before=before.replace("\n", "\n    "),
    )
    done = run(ranks, program)
    assert done.rc == 0, done
    return [line for out in done.out for line in out.splitlines()]


@pytest.mark.parametrize("ranks", SHAPES)
def test_blocks_of_any_shape_have_the_bits_of_one_process(answers: Path, ranks: int) -> None:
    lines = told(answers, ranks, list(CASES), SHAPES[ranks])
    assert len(lines) == ranks * len(CASES) * len(SHAPES[ranks])
    wrong = [line for line in lines if ": 0 wrong []" not in line and ": too thin, E720" not in line]
    assert not wrong, "\n".join(wrong)
    # most of them can be cut so
    assert sum("too thin" in line for line in lines) < len(lines) / 3
