"""F10 and F4 on real file systems: the power of an ext4 is cut, a small disk fills up. Skipped without root."""

from __future__ import annotations

from typing import Any

import disks
import pytest

from thorough import sample

pytestmark = pytest.mark.skipif(bool(disks.able()), reason=disks.able() or "-")


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Return how the trials of each kind ended: one process makes them all."""
    return disks.trials(tmp_path_factory.mktemp("disks"), power=sample(6, 20), full=6)


def test_power_cuts(trials: dict[str, list[dict[str, Any]]]) -> None:
    """What the ledger called done when the power went is there; the run goes on to the same bytes."""
    cuts = trials["power"]
    assert not [c for c in cuts if c["fault"]]
    assert all(c["redone"] <= 1 for c in cuts)
    assert sum(c["running"] for c in cuts) > len(cuts) / 2, "the cuts came too late"
    assert len({len(c["done"]) for c in cuts}) > 2, "all cuts fell into the same shot"


def test_small_disks_fill_up(trials: dict[str, list[dict[str, Any]]]) -> None:
    outcomes = trials["full"]
    assert not [f for f in outcomes if f["fault"]]
    assert sum(f["code"] != 0 for f in outcomes) > 2
    assert outcomes[-1]["code"] == 0
