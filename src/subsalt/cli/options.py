"""Options of a command declared once: the fields of a dataclass, which the command takes as one parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

Command = Callable[..., None]


def spread(command: Command) -> Command:
    """Return a command as typer is to call it: each parameter that is a dataclass becomes the options of its fields.

    A field is written as a parameter of a command is: ``name: Annotated[type, typer.Option(help=...)] = default``.

    Parameters
    ----------
    command : callable
        Annotated with types that its module knows at run time.
    """
    hints = get_type_hints(command, include_extras=True)
    made: dict[str, Any] = {}
    flat: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if is_dataclass(hints[name]):
            made[name] = hints[name]
            flat += _parameters(hints[name])
        else:
            flat.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def call(**given: Any) -> None:
        taken = {
            name: options(**{f.name: given.pop(f.name) for f in fields(options)})
            for name, options in made.items()
        }
        command(**given, **taken)

    call.__signature__ = Signature(flat)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in flat}
    return call


def _parameters(options: Any) -> list[Parameter]:
    """Return the fields of a dataclass as parameters of a command."""
    hints = get_type_hints(options, include_extras=True)
    return [
        Parameter(
            f.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if f.default is MISSING else f.default,
            annotation=hints[f.name],
        )
        for f in fields(options)
    ]
