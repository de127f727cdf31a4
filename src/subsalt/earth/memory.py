"""Refuse an allocation that does not fit into memory, before it is made."""

from __future__ import annotations

from subsalt.errors import MemoryPlanError
from subsalt.host import available_memory


def require(nbytes: float, what: str, cure: str, code: str = "E610") -> None:
    """Raise when so many bytes are more than this process may still use.

    Parameters
    ----------
    nbytes : float
        Bytes about to be allocated.
    what : str
        Purpose of the arrays, the subject of the message.
    cure : str
        Remedy for the user.
    code : str
        Code of the error.

    Raises
    ------
    MemoryPlanError
        When they are more.
    """
    free = available_memory()
    if nbytes > free:
        raise MemoryPlanError(
            f"{what}: {nbytes / 1e9:.3g} GB of memory are needed, {free / 1e9:.3g} GB are free", cure, code
        )
