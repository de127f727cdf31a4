"""Whatever is written as TOML reads back as the same value."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subsalt.job import text as toml_out

SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=("Cs",))),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), VALUES, max_size=5))
def test_round_trip(items):
    assert tomllib.loads(toml_out.table("section", items))["section"] == items


def test_none_is_a_comment_and_comments_stay_comments():
    text = toml_out.table("a", {"x": None, "y": 1}, {"x": "not given", "y": "a\nb"})
    assert tomllib.loads(text) == {"a": {"y": 1}}
    assert "# x =" in text
    assert "# a b" in text


def test_what_has_no_form_is_refused():
    with pytest.raises(TypeError):
        toml_out.toml_value(object())
