"""Options as named arguments: signature, docstring and the types for editors agree with the declarations."""

import inspect
import typing
from dataclasses import fields

import pytest

import subsalt
from subsalt import option_keywords
from subsalt.errors import ConfigError, UnknownOptionError
from subsalt.methods.rtm.reimage import Wish
from subsalt.methods.rtm.sections import PropagationSection
from subsalt.option_fields import type_text

PROPAGATION, IMAGING = subsalt.PropagationOptions, subsalt.ImagingOptions
#: functions with the classes of their options, the names that they leave out, and their types for editors
TAKEN = {
    "forward": ((PROPAGATION, IMAGING), {f.name for f in fields(IMAGING)} - {"aperture"}, "ForwardKeywords"),
    "migrate": ((PROPAGATION, IMAGING), set(), "MigrateKeywords"),
    "born": ((PROPAGATION,), set(), "PropagationKeywords"),
    "born_adjoint": ((PROPAGATION,), set(), "PropagationKeywords"),
    "rtm_operator": ((PROPAGATION,), set(), "PropagationKeywords"),
    "born_operator": (
        (PROPAGATION, IMAGING),
        {f.name for f in fields(IMAGING)} - {"aperture"},
        "LinearKeywords",
    ),
    "lsrtm": (
        (subsalt.LeastSquaresOptions, PROPAGATION, IMAGING),
        {f.name for f in fields(IMAGING)} - {"aperture"},
        "LeastSquaresKeywords",
    ),
    "reimage": ((Wish,), set(), "ReimageKeywords"),
}


def declared(function):
    """Return the type and default of every option of a function, by name."""
    kinds, without, _ = TAKEN[function]
    return {
        f.name: (typing.get_type_hints(kind)[f.name], f.default)
        for kind in kinds
        for f in fields(kind)
        if f.name not in without
    }


@pytest.mark.parametrize("function", TAKEN)
def test_the_signature_has_every_option_with_its_default(function):
    parameters = inspect.signature(getattr(subsalt, function)).parameters
    options = declared(function)
    assert not [p for p in parameters.values() if p.kind is p.VAR_KEYWORD]
    for name, (annotation, default) in options.items():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert (parameters[name].annotation, parameters[name].default) == (annotation, default)


@pytest.mark.parametrize("function", TAKEN)
def test_editors_read_the_same_names_and_types(function):
    """What `**options` is annotated with in the source has the names and types of the declarations."""
    keywords = getattr(option_keywords, TAKEN[function][2])
    assert typing.get_type_hints(keywords) == {name: kind for name, (kind, _) in declared(function).items()}
    assert not keywords.__required_keys__
    source = inspect.getsource(inspect.unwrap(getattr(subsalt, function)))
    assert f": Unpack[{TAKEN[function][2]}]" in source


@pytest.mark.parametrize("function", TAKEN)
def test_help_describes_every_option(function):
    said = inspect.getdoc(getattr(subsalt, function))
    for name, (annotation, default) in declared(function).items():
        entry = said.split(f"\n{name} : ")[1].splitlines()
        assert entry[1].startswith("    ")
        assert entry[0] == f"{type_text(annotation)}, default {default!r}"
    # in the section of the parameters, and what follows it is still there
    assert said.index("\nParameters\n---") < said.index(f"\n{name} : ") < said.index("\nReturns\n---")


def test_numbers_in_metres_and_seconds_say_so():
    said = inspect.getdoc(subsalt.migrate)
    for name, unit in (("dt", "s"), ("aperture", "m"), ("top_mute", "m")):
        assert f"Unit: {unit}." in said.split(f"\n{name} : ")[1].split(" : ")[0]


@pytest.mark.parametrize("function", TAKEN)
def test_a_wrong_name_is_a_type_error_that_names_the_nearest(function):
    name = next(iter(declared(function)))
    wrong = f"{name[:-1]}{name[-1]}s"
    call = getattr(subsalt, function)
    needed = [
        p for p in inspect.signature(call).parameters.values() if p.default is p.empty
    ]  # never looked at: names come first
    with pytest.raises(
        TypeError, match=rf"{function}\(\) has no argument '{wrong}'; did you mean '{name}'"
    ) as e:
        call(*[None] * len(needed), **{wrong: 1})
    assert isinstance(e.value, UnknownOptionError)
    assert isinstance(e.value, ConfigError)


def test_jobs_choose_another_grid_than_functions_and_the_help_says_so():
    assert PropagationSection().grid == "auto"
    for function in (subsalt.forward, subsalt.migrate):
        assert inspect.signature(function).parameters["grid"].default == "model"
        assert 'A job file has ``"auto"`` by default' in " ".join(inspect.getdoc(function).split())
