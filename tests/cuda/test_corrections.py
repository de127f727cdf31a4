"""The roots and quotients of the Kirchhoff sum on a device are right from any approximation that PTX allows."""

import subprocess

import pytest

from emulated_plugin import EMULATED_PLUGIN

PROGRAM = EMULATED_PLUGIN.parent / "corrections"

pytestmark = pytest.mark.skipif(not PROGRAM.is_file(), reason="corrections.cu is not built (make emulated)")


@pytest.fixture(scope="module")
def counts():
    """How many operands were tried, and for how many some approximation gives a wrong result, by what it is."""
    lines = subprocess.run(
        [PROGRAM], capture_output=True, text=True, timeout=600, check=True
    ).stdout.splitlines()
    return {name: (int(tried), int(wrong)) for name, tried, wrong in map(str.split, lines)}


def test_there_is_something_to_correct(counts):
    """The approximations that are tried are wrong, each operand's in one of them at least."""
    for name in ("root-approximated", "inverse-approximated"):
        tried, wrong = counts[name]
        assert wrong == tried


def test_of_all_mantissas_two_roots_and_one_inverse_may_be_wrong(counts):
    """As kirchhoff_operator.cuh says: the compiler's own correction has the same."""
    assert counts["root"] == (2 << 23, 2)
    assert counts["inverse"] == (1 << 23, 1)


def test_quotients_are_right_but_one_of_the_hardest(counts):
    """As kirchhoff_operator.cuh says."""
    assert counts["ratio"] == (1 << 21, 0)
    assert counts["ratio-hardest"] == (1 << 22, 1)


def test_the_hardest_quotients_need_the_last_step(counts):
    """They lie within 2^-48 of the middle of two numbers, the quotient without that step within two units of theirs."""
    tried, wrong = counts["ratio-uncorrected"]
    assert wrong > tried / 4
