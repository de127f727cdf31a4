"""Groups of ranks on GPUs against one process on a CPU: the same bits in every field, sample and image.

The cases are those of the groups on CPUs (tests/mpi/slab_cases.py). The device is the emulated one, whose streams run
late and in any order that events allow: what is sent before it is computed, or computed before it has come, is
noticed.
"""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from emulated_ranks import MARKS, environment
from launch import run
from slab_cases import CASES, advance

from thorough import ALL

pytestmark = MARKS

HERE = Path(__file__).parent

#: boundary by boundary, medium by medium, and slabs as thin as their halo
NAMES = ("iso 3-D pml", "tti 2-D pml", "tti 3-D none free surface", "vti 3-D damping u16", "iso 3-D thin")

#: of what the emulated device takes seconds for, fewer planes in ``make test``
SIZES = {} if ALL else {"tti 3-D none free surface": {"shape": (28, 12, 13), "window": (2, 27)}}

#: what every rank runs
PROGRAM = """
    import pickle, sys
    sys.path.insert(0, {mpi!r})
    from dataclasses import replace
    from slab_cases import CASES, compare
    from subsalt.parallel.comm import world
    from subsalt.propagation import devices
    group = world()
    devices.prepare(group, "cuda", 1)
    with open({answers!r}, "rb") as file:
        answers = pickle.load(file)
    for name, loop in {cases!r}:
        case = replace(CASES[name], options=CASES[name].options | {{"device": "cuda"}}, **{sizes!r}.get(name, {{}}))
        wrong = compare(case, group, 1, loop, answers[name])
        print(f"{{name}}, {{loop}}: {{len(wrong)}} wrong {{wrong[:5]}}")
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return the file with the answers of one process on its CPU."""
    path = tmp_path_factory.mktemp("slabs") / "answers.pickle"
    made = {name: replace(CASES[name], **SIZES.get(name, {})) for name in NAMES}
    # thousands of rows of planes: an archive of them takes longer to read than they take to compute
    path.write_bytes(pickle.dumps({name: advance(case, None) for name, case in made.items()}))
    return path


def on_ranks(answers, ranks, way, seed, cases):
    """Return what ranks say of the cases, by name and loop, each on a GPU of its own."""
    env = environment(seed, way, SUBSALT_EMULATED_GPUS=str(ranks))
    mpi = str(HERE.parent / "mpi")
    program = PROGRAM.format(mpi=mpi, answers=str(answers), cases=cases, sizes=SIZES)
    done = run(ranks, program, env=env)
    assert done.rc == 0, done
    assert all(out.count("\n") == len(cases) for out in done.out), done
    return [line for out in done.out for line in out.splitlines() if ": 0 wrong []" not in line]


@pytest.mark.parametrize(("ranks", "way", "seed"), [(2, "staged", "1"), (3, "direct", "2")])
def test_fields_samples_and_images_of_gpus_are_those_of_one_cpu(answers, ranks, way, seed):
    # each case on two ranks or on three, two of them by both loops; slabs as thin as their halo are those of three
    both = NAMES if ALL else NAMES[:2]
    names = NAMES if ALL else {2: NAMES[:3], 3: NAMES[3:]}[ranks]
    cases = [(name, loop) for name in names for loop in (None, "python") if loop is None or name in both]
    wrong = on_ranks(answers, ranks, way, seed, cases)
    assert not wrong, "\n".join(wrong)


def test_a_wavefield_that_blows_up_stops_all_gpus_together_and_soon():
    program = f"""
        import sys
        sys.path.insert(0, {str(HERE.parent / "mpi")!r})
        from dataclasses import replace
        import numpy as np
        from slab_cases import CASES
        from subsalt.parallel.comm import world
        from subsalt.errors import NumericalFailure
        group, case = world(), CASES["iso 3-D thin"]
        for device, loop in (("cpu", "python"), ("cuda", "python"), ("cuda", None)):
            there = replace(case, options=case.options | {{"device": device}})
            with there.propagator(group) as prop:
                samples = np.zeros((1, 30))
                samples[0, 20] = np.nan
                source = prop.source(np.array([[6.3, 7.0, 6.2]]) * 10, samples)
                state = prop.new_state()
                try:
                    prop.advance(state, 1000, sources=[source], loop=loop)
                except NumericalFailure as error:
                    print(state.it, error)
    """
    done = run(3, program, env=environment("3", "direct"))
    assert done.rc == 0, done
    lines = {line for out in done.out for line in out.splitlines()}
    # on GPUs after as many steps, and in the same words, as on processors
    assert len(lines) == 1, done
    assert [out.count("\n") for out in done.out] == [3, 3, 3]
    assert "the wavefield is not finite at step 50" in lines.pop()
