"""Options as named arguments: functions that take fields of options by name list them in signature and docstring.

Editors read the names and types of ``**options: Unpack[...]`` in the source (`subsalt.option_keywords`);
`takes_options` gives the same to `inspect.signature`, `help` and the pages of the API, from the declarations of the
options themselves.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar, get_type_hints

from subsalt.errors import ConfigError, UnknownOptionError
from subsalt.option_fields import NONE, parameters_text

Function = TypeVar("Function", bound=Callable[..., Any])
Kind = TypeVar("Kind")


def takes_options(
    *kinds: type, only: Mapping[type, Iterable[str]] | None = None, none: str = NONE
) -> Callable[[Function], Function]:
    """Return a decorator: ``**options`` of a function become the fields of some classes of options.

    Parameters
    ----------
    *kinds : type
        Dataclasses whose fields are made by `subsalt.option_fields.option`.
    only : mapping of type to names, optional
        Fields of a class that the function takes; all of a class that is not named here.
    none : str
        Sentence of the docstring that says the meaning of None.
    """
    names = {kind: tuple((only or {}).get(kind, (f.name for f in fields(kind)))) for kind in kinds}

    def decorate(function: Function) -> Function:
        own = inspect.signature(function)
        (words,) = (p.name for p in own.parameters.values() if p.kind is p.VAR_KEYWORD)
        parameters = [p for p in own.parameters.values() if p.name != words]
        annotations = {k: v for k, v in function.__annotations__.items() if k != words}
        for kind in kinds:
            types = get_type_hints(kind)
            for each in (f for f in fields(kind) if f.name in names[kind]):
                annotations[each.name] = types[each.name]
                parameters.append(
                    inspect.Parameter(
                        each.name,
                        inspect.Parameter.KEYWORD_ONLY,
                        default=each.default,
                        annotation=types[each.name],
                    )
                )
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.__annotations__ = annotations
        entries = "\n".join(parameters_text(k, names[k]) for k in kinds)
        function.__doc__ = _with_entries(inspect.cleandoc(function.__doc__ or ""), words, none, entries)
        return function

    return decorate


def _with_entries(text: str, words: str, none: str, entries: str) -> str:
    """Return a docstring with entries of options for its entry ``**words``, and what None means before them."""
    before, _, after = text.partition(f"**{words}\n")
    # the line below that entry says which options these are: for readers of the source
    rest = after.splitlines(keepends=True)
    while rest and rest[0].startswith(" "):
        rest.pop(0)
    head, section, parameters = before.partition("Parameters\n----------\n")
    return f"{head}{none}\n\n{section}{parameters}{entries}\n{''.join(rest)}"


def refuse_unknown(
    given: Iterable[str], known: Iterable[str], function: str, code: str | None = None
) -> None:
    """Refuse names of arguments that a function does not have; name the nearest one.

    Raises
    ------
    UnknownOptionError
        A `TypeError`, as for any argument that a function does not have.
    """
    known = list(known)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise UnknownOptionError(
                f"{function}() has no argument {name!r}",
                f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}",
                code,
            )


#: how an argument of a kind is made, for cures
_MADE_BY = {
    "Grid": "subsalt.Grid(SHAPE, SPACING)",
    "EarthModel": "subsalt.EarthModel(grid, vp)",
    "Survey": "subsalt.Survey.from_arrays(src, rcv, nt=NT, dt=DT)",
    "Wavelet": "subsalt.ricker(F0, DT)",
    "CheckpointOptions": 'subsalt.CheckpointOptions(strategy="revolve")',
    "str": "write it in quotes",
}


def of_kind(name: str, value: Any, kind: type[Kind]) -> Kind:
    """Return the argument `name` when it is of a class of `_MADE_BY`.

    Raises
    ------
    ConfigError
        When it is of another type (E777): a velocity is no model, a shape no grid.
    """
    if not isinstance(value, kind):
        wanted = kind.__name__ if kind.__module__ == "builtins" else f"subsalt.{kind.__name__}"
        raise ConfigError(
            f"{name} is a {type(value).__name__}, not a {wanted}", _MADE_BY[kind.__name__], code="E777"
        )
    return value
