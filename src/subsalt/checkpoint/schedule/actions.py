"""What a schedule tells the executor to do with the source wavefield, one action after the other.

Blocks of imaged samples are visited from the last to the first. A working state goes forward from the start of one
block to the start of another; slots keep copies of it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["rest", "advance", "store", "load", "drop", "image"]
Level = Literal["memory", "disk"]


class Action(NamedTuple):
    """One action of a schedule.

    Parameters
    ----------
    kind : str
        ``rest``: the working state becomes x_0, a field at rest. ``advance``: it goes forward to the start of `block`.
        ``store``: it is copied into a slot. ``load``: it becomes a copy of a slot. ``drop``: a slot becomes free.
        ``image``: it stands at the start of `block`, whose samples are now wanted; it does not stay there.
    block : int
        Which block's start the state is, or becomes.
    level : str
        Where the slot is; "" where none takes part.
    slot : int
        Which one of its level; -1 where none takes part.
    """

    kind: Kind
    block: int
    level: Level | Literal[""] = ""
    slot: int = -1
