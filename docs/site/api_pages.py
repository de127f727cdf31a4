"""Pages of the Python interface: one for each group of public names, filled from their docstrings by autodoc."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from inspect import isclass, ismodule

#: names of the package that a page lists
PACKAGE = "subsalt"


@dataclass(frozen=True)
class Group:
    """A page: its file, title, first sentence, and the public names on it, by module."""

    file: str
    title: str
    text: str
    names: dict[str, tuple[str, ...]]


GROUPS = (
    Group(
        "models",
        "Surveys and models",
        "Grids, earth models, wavelets and the positions of sources and receivers.",
        {
            PACKAGE: (
                *("Grid", "Frame", "Box", "EarthModel", "Topography"),
                *("Survey", "Shot", "TimeAxis", "Wavelet", "ricker", "ormsby"),
            )
        },
    ),
    Group(
        "migration",
        "Modelling and reverse time migration",
        "Arrays in, arrays out: model shots and migrate them in depth.",
        {
            PACKAGE: (
                *("forward", "migrate", "lsrtm", "reimage", "saved_wavefields", "dense_source"),
                *("PropagationOptions", "ImagingOptions", "GatherOptions", "CheckpointOptions"),
                "LeastSquaresOptions",
            )
        },
    ),
    Group(
        "time-migration",
        "Time migration",
        "Kirchhoff prestack time migration of traces to images and gathers.",
        {
            PACKAGE: (
                *("migrate_time", "ImageGrid", "KirchhoffOptions", "ConstantVelocity"),
                *("VelocityFunction", "LineGeometry"),
            )
        },
    ),
    Group(
        "operators",
        "Operators",
        "Born modelling and its adjoint, as linear operators with a dot-product test.",
        {PACKAGE: ("born", "born_adjoint", "rtm_operator", "born_operator", "point_spread", "dot_test")},
    ),
    Group(
        "tensors",
        "PyTorch",
        "Modelling and Born modelling as functions of tensors, with their gradients.",
        {"subsalt.torch": ()},
    ),
    Group(
        "notebooks",
        "Notebooks",
        "A progress bar and the player of a shot in Jupyter.",
        {"subsalt.notebook": ()},
    ),
    Group(
        "files",
        "Jobs and files",
        "Read and write surveys, traces and volumes; check, plan and run job files.",
        {
            PACKAGE: (
                *("read_survey", "write_survey", "open_traces", "open_volume", "TimeSlices"),
                *("write_slices", "Job", "check_job", "plan_job", "migrate_job", "make_example"),
            )
        },
    ),
    Group(
        "pictures",
        "Pictures",
        "Draw images, models, gathers and surveys.",
        {PACKAGE: ("plot",), "subsalt.view": ()},
    ),
    Group(
        "analytic",
        "Exact solutions",
        "Waveforms and traveltimes in closed form, to measure a setup against.",
        {"subsalt.analytic": ()},
    ),
    Group(
        "exceptions",
        "Exceptions",
        "Every error that is raised on purpose carries a message, a cure and a code.",
        {"subsalt.errors": ()},
    ),
)


def names_of(group: Group) -> list[str]:
    """Return the names of a group with their modules; a module without a list stands for all its public names."""
    return [f"{m}.{n}" for m, names in group.names.items() for n in names or public(m)]


def public(module: str) -> list[str]:
    """Return the public names of a module: its `__all__`, or the exceptions and classes that it defines."""
    it = import_module(module)
    if hasattr(it, "__all__"):
        return [name for name in it.__all__ if not ismodule(getattr(it, name))]
    return [n for n, v in vars(it).items() if isclass(v) and v.__module__ == module and n[0] != "_"]


def object_of(name: str) -> object:
    """Return the object of a dotted name."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def directive(name: str) -> str:
    """Return the directive that documents an object."""
    value = object_of(name)
    if not isclass(value):
        return f".. autofunction:: {name}\n" if callable(value) else f".. autodata:: {name}\n"
    if issubclass(value, BaseException):
        return f".. autoexception:: {name}\n   :show-inheritance:\n"
    return f".. autoclass:: {name}\n   :members:\n"


def page(group: Group) -> str:
    """Return the page of a group: a table of its names, then each of them."""
    names = names_of(group)
    table = ".. autosummary::\n   :nosignatures:\n\n" + "".join(f"   {name}\n" for name in names)
    body = "\n".join(directive(name) for name in names)
    return f"# {group.title}\n\n{group.text}\n\n```{{eval-rst}}\n{table}\n{body}```\n"


def pages() -> dict[str, str]:
    """Return the pages by their names below docs/."""
    listed = "\n".join(group.file for group in GROUPS)
    index = f"""# Python interface

Everything here is public: it keeps its name, or an alias with a warning, from one version to the next. Other modules of
the package may change at any time.

```{{toctree}}
:maxdepth: 2

{listed}
```
"""
    made = {f"reference/python/{group.file}.md": page(group) for group in GROUPS}
    return made | {"reference/python/index.md": index}
