"""Follow a schedule without any physics, and refuse what no executor could do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from subsalt.checkpoint.schedule.two_level import Action


@dataclass
class Walk:
    """What a schedule did.

    Parameters
    ----------
    advances : int
        Blocks advanced.
    visits : list of int
        Blocks in the order of their visits.
    stores, loads : dict
        By level.
    most : dict
        Slots in use at a time, at most, by level.
    """

    advances: int = 0
    visits: list[int] = field(default_factory=list)
    stores: dict[str, int] = field(default_factory=lambda: {"memory": 0, "disk": 0})
    loads: dict[str, int] = field(default_factory=lambda: {"memory": 0, "disk": 0})
    most: dict[str, int] = field(default_factory=lambda: {"memory": 0, "disk": 0})


def walk(actions: Iterable[Action]) -> Walk:
    """Return what a schedule does; a state that is not there, or a slot that is taken, fails."""
    done, here = Walk(), 0
    slots: dict[str, dict[int, int]] = {"memory": {}, "disk": {}}
    for action in actions:
        kind, block = action.kind, action.block
        if kind == "rest":
            here = 0
        elif kind == "advance":
            assert block > here >= 0, action
            done.advances += block - here
            here = block
        elif kind == "store":
            assert here == block, action
            assert action.slot not in slots[action.level], action
            slots[action.level][action.slot] = block
            done.stores[action.level] += 1
            done.most[action.level] = max(done.most[action.level], len(slots[action.level]), action.slot + 1)
        elif kind == "load":
            assert slots[action.level][action.slot] == block, action
            here = block
            done.loads[action.level] += 1
        elif kind == "drop":
            assert slots[action.level].pop(action.slot) == block, action
        else:
            assert here == block, action
            done.visits.append(block)
            here = -1  # it went on to the end of the block
    assert slots == {"memory": {}, "disk": {}}, "states were left in slots"
    return done
