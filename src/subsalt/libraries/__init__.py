"""Conversions to and from libraries that users already know: xarray, ObsPy, PyLops, Jupyter.

Each is an optional extra. No module here is imported by `import subsalt`; the methods that convert import theirs when
they are called (`subsalt.extensions.library`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from subsalt.errors import MissingInputError, install


def package(name: str, extra: str, does: str) -> Any:
    """Return an optional package.

    Parameters
    ----------
    name : str
        Module to import.
    extra : str
        Extra of this distribution that installs it.
    does : str
        Purpose of the package, for the message.

    Raises
    ------
    MissingInputError
        E118, when it is not installed; the cure is the command that installs it.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as e:
        if e.name is None or e.name.partition(".")[0] != name.partition(".")[0]:
            raise
        raise MissingInputError(
            f"{does} needs the package {name}, which is not installed", install(extra), code="E118"
        ) from e
