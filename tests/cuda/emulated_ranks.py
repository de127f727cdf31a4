"""Ranks on the emulated device: the marks of their tests, and what their processes are told.

from emulated_ranks import MARKS, environment
pytestmark = MARKS
run(3, program, env=environment(order="1", messages="staged"))
"""

import pytest
from launch import MPI

from emulated_plugin import EMULATED_PLUGIN

MARKS = [
    *MPI,
    pytest.mark.skipif(
        not EMULATED_PLUGIN.is_file(), reason="the emulated device is not built (make emulated)"
    ),
]


def environment(order: str = "", messages: str = "", **more: str) -> dict[str, str]:
    """Return the variables by which ranks compute on the emulated device.

    Parameters
    ----------
    order : str
        Seed of the order in which its streams run; empty: at once.
    messages : str
        How ghost planes go: ``"staged"``, ``"direct"``, or as MPI says.
    more : str
        Further variables.
    """
    return {
        "SUBSALT_CUDA_PLUGIN": str(EMULATED_PLUGIN),
        "SUBSALT_EMULATED_ORDER": order,
        "SUBSALT_GPU_MPI": messages,
        **more,
    }
