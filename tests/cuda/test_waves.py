"""Marches are as long as they must be for the blocks of a launch to fill whole waves of the device."""

from __future__ import annotations

import os
import subprocess

import pytest

from emulated_plugin import EMULATED_PLUGIN

PROGRAM = EMULATED_PLUGIN.parent / "waves"

pytestmark = pytest.mark.skipif(not PROGRAM.is_file(), reason="waves.cu is not built (make emulated)")


def said(blocks: str = "") -> dict[str, int]:
    """Return what the program counted."""
    env = {**os.environ, "SUBSALT_EMULATED_BLOCKS": blocks, "SUBSALT_EMULATED_GPUS": "2"}
    done = subprocess.run([PROGRAM], env=env, capture_output=True, text=True, timeout=60, check=True)
    return {name: int(number) for name, number in map(str.split, done.stdout.splitlines())}


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    return said()


def test_a_launch_of_one_box_is_done_as_soon_as_any_length_allows(counts: dict[str, int]) -> None:
    assert counts["soonest"] == counts["tried"] == 2000


def test_marches_make_every_plane_once_and_none_is_too_long(counts: dict[str, int]) -> None:
    assert counts["covered"] == counts["within"] == counts["tried"]


def test_the_device_says_how_many_blocks_run_at_once(counts: dict[str, int]) -> None:
    # four multiprocessors of 227 KiB, blocks of 60 KiB; then what the tests let them say
    assert counts["at_once"] == 4 * 3
    assert counts["smaller"] == 4 * 7
    assert said("7")["at_once"] == 4 * 7


def test_the_driver_is_asked_once_per_kernel_and_device(counts: dict[str, int]) -> None:
    assert counts["asked"] == 2 * 2
