"""F10 and F4 on real file systems: the power of an ext4 is cut, a small disk fills up. Skipped without root."""

from __future__ import annotations

from pathlib import Path

import disks
import pytest

from thorough import sample

pytestmark = pytest.mark.skipif(bool(disks.able()), reason=disks.able() or "-")


def test_power_cuts(tmp_path: Path) -> None:
    """What the ledger called done when the power went is there; the run goes on to the same bytes."""
    cuts = disks.trials("power", tmp_path, sample(8, 20))
    assert not [c for c in cuts if c["fault"]]
    assert all(c["redone"] <= 1 for c in cuts)
    assert sum(c["running"] for c in cuts) > len(cuts) / 2, "the cuts came too late"
    assert len({len(c["done"]) for c in cuts}) > 2, "all cuts fell into the same shot"


def test_small_disks_fill_up(tmp_path: Path) -> None:
    outcomes = disks.trials("full", tmp_path, 6)
    assert not [f for f in outcomes if f["fault"]]
    assert sum(f["code"] != 0 for f in outcomes) > 2
    assert outcomes[-1]["code"] == 0
