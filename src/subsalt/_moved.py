"""Modules and names under the places where earlier versions had them: they import, with a `DeprecationWarning`.

Only what the documentation of version 0.7 imported. `install` makes modules findable under their old names; a file or
folder that has the name of an old module today takes its old names with `in_package`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: old modules with their names; each name by where it is now
NAMES: Mapping[str, Mapping[str, str]] = {
    "subsalt.survey": {
        "Shot": "subsalt.acquisition.survey",
        "Survey": "subsalt.acquisition.survey",
        "TimeAxis": "subsalt.acquisition.survey",
    },
    "subsalt.wavelet": {"ricker": "subsalt.acquisition.wavelet"},
    "subsalt.grid": {"Grid": "subsalt.earth.grid"},
    "subsalt.options": {"KirchhoffOptions": "subsalt.methods.kirchhoff.options"},
    "subsalt.dense": {"dense_source": "subsalt.propagation.dense"},
    "subsalt.io.volume": {
        "open_volume": "subsalt.io.volumes.volume",
        "read": "subsalt.io.volumes.volume",
        "write": "subsalt.io.volumes.volume",
    },
    "subsalt.io.time_slices": {
        "TimeSlices": "subsalt.io.prestack.time_slices",
        "write_slices": "subsalt.io.prestack.time_slices",
    },
    "subsalt.io.cdp_line": {"LineGeometry": "subsalt.io.prestack.positions"},
    "subsalt.imaging.kirchhoff.velocity": {
        "ConstantVelocity": "subsalt.methods.kirchhoff.velocity.time_velocity",
        "VelocityFunction": "subsalt.methods.kirchhoff.velocity.time_velocity",
    },
    "subsalt.imaging.kirchhoff.prepare": {
        "prepare": "subsalt.methods.kirchhoff.prepare",
        "prepared_bytes": "subsalt.methods.kirchhoff.prepare",
    },
    "subsalt.imaging.kirchhoff.image_grid": {"ImageGrid": "subsalt.acquisition.image_grid"},
    "subsalt.checkpoint.scheme": {
        "Scheme": "subsalt.checkpoint.schedule.scheme",
        "counts_of": "subsalt.checkpoint.schedule.tasks",
    },
    "subsalt.job.job": {"Job": "subsalt.methods.rtm.job"},
}
#: old modules under whose names there is another file or folder today
PACKAGES: Mapping[str, Mapping[str, str]] = {
    "subsalt.io.prestack": {"open_traces": "subsalt.io.prestack.table"},
    "subsalt.io.segy": {
        "read_survey": "subsalt.io.segy.reading",
        "write_survey": "subsalt.io.segy.writing",
    },
    "subsalt.checkpoint.storage": {"Scratch": "subsalt.checkpoint.storage.scratch"},
}


def _moved(old: str, names: Mapping[str, str], name: str) -> Any:
    """Return the object that had a name in an old module, with a warning that names its place."""
    if name not in names:
        raise AttributeError(f"module {old!r} has no attribute {name!r}")
    public = f"subsalt.{name}" if name in sys.modules["subsalt"].__all__ else f"{names[name]}.{name}"
    warnings.warn(f"{old}.{name} has moved: use {public}", DeprecationWarning, stacklevel=3)
    return getattr(import_module(names[name]), name)


def in_package(package: str) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a file or folder that has the name of an old module."""
    return lambda name: _moved(package, PACKAGES[package], name)


class _OldModules(MetaPathFinder, Loader):
    """Finds the modules of `NAMES`, and the folders above them that are no more."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how an old module is loaded; None of any other."""
        if fullname in NAMES:
            return ModuleSpec(fullname, self)
        if any(name.startswith(f"{fullname}.") for name in NAMES):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Give an old module its names, each of which is looked up when it is used."""
        name = module.__name__
        module.__getattr__ = lambda attribute: _moved(name, NAMES.get(name, {}), attribute)  # type: ignore[method-assign]


def install() -> None:
    """Make the modules of `NAMES` findable, after everything that is really there."""
    if not any(isinstance(finder, _OldModules) for finder in sys.meta_path):
        sys.meta_path.append(_OldModules())
