"""Ranks that share a shot: J and its adjoint, and demigration, have the bits of one process."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from born_cases import born_answer
from launch import MPI, run

from subsalt.propagation.blocks import Decomp
from thorough import ALL

pytestmark = MPI

HERE = str(Path(__file__).parent)
#: ranks, how they share the grid, and the case: a taper beside cuts, ranks without any of the window, rows that are cut
SHARED: list[tuple[int, Decomp, str]] = [
    (3, "slabs", "2-D iso, aperture"),
    (4, (2, 2), "3-D vti, receivers at one end"),
    # slabs of 28 planes, and layers of 30
    (3, "slabs", "2-D tti, wide layer"),
    (2, "slabs", "2-D vti, one receiver"),
    (2, "slabs", "3-D iso, aperture"),
    # a window that is cut, and ranks without any of it
    (5, "slabs", "2-D tti, wide layer"),
]


@pytest.mark.parametrize(
    ("ranks", "decomp", "name"),
    SHARED if ALL else [row for row in SHARED if row[0] < 4 and "one receiver" not in row[2]],
)
def test_j_and_its_adjoint_on_a_group_are_those_of_one_process(
    tmp_path: Path, ranks: int, decomp: Decomp, name: str
) -> None:
    answers = born_answer(name, None)
    (tmp_path / "answers.pickle").write_bytes(pickle.dumps(answers))
    done = run(
        ranks,
        f"""
        import sys
        sys.path.insert(0, {HERE!r})
        import pickle
        import numpy as np
        from born_cases import born_answer
        from subsalt.parallel.comm import world
        answers = pickle.load(open({str(tmp_path / "answers.pickle")!r}, "rb"))
        got = born_answer({name!r}, world(), {decomp!r})
        differ = [k for k, a in got.items() if a.dtype != answers[k].dtype or not np.array_equal(a, answers[k])]
        print(f"{{differ}} {{sorted(got)}}")
        """,
    )
    assert done.rc == 0, done
    assert all(out.startswith("[] ") for out in done.out), done
    together = "".join(done.out)
    assert [key for key in answers if repr(key) not in together] == []
    assert any(np.any(a) for key, a in answers.items() if key.startswith("J dm"))
