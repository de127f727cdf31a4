"""What is held must fit into memory: said before it is allocated."""

from __future__ import annotations

from subsalt.errors import MemoryPlanError
from subsalt.host import available_memory


def require(nbytes: float, what: str, cure: str, code: str = "E610") -> None:
    """Raise when so many bytes are more than this process may still use.

    Parameters
    ----------
    nbytes : float
        What is about to be allocated.
    what : str
        What it is for, the subject of the message.
    cure : str
        What to do about it.
    code : str
        Of the error.

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
