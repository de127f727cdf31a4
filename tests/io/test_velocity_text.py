"""Velocity texts: columns of any order, headers, comments, HANDVEL cards, Seismic Un*x parameters; what is refused."""

import numpy as np
import pytest

from subsalt.errors import ModelError
from subsalt.io.volumes.velocity_text import read_velocity_text


def write(tmp_path, text, name="v.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(tmp_path, text, *args):
    return read_velocity_text(write(tmp_path, text), *args)


def as_lists(functions, column="v"):
    return [
        (*place, t.tolist(), v.tolist())
        for place, t, v in zip(
            functions.places.tolist(), functions.times, functions.columns[column], strict=True
        )
    ]


CDP = [(101.0, [0.0, 1.5], [1500.0, 2000.0]), (201.0, [0.5], [1600.0])]


@pytest.mark.parametrize(
    "text",
    [
        "101 0 1500\n101 1.5 2000\n201 0.5 1600\n",
        "# picked by hand\n  101, 0, 1500\n101,1.5,2000\n\n! end\n201;0.5;1600\n",
        "CDP\tTime\tVrms\n101\t0.0\t1500\r\n101\t1.5\t2e3\r\n201\t0.5\t1600\r\n",
        "\ufeffvnmo twt cmp\n1500 0 101\n2000 1.5 101\n1600 .5 201\n",
        "cdp ident t v\n101 7 0 1500\n101 7 1.5 2000\n201 9 0.5 1600\n",
    ],
)
def test_columns(tmp_path, text):
    functions = read(tmp_path, text)
    assert functions.keys == ("cdp",)
    assert as_lists(functions) == CDP
    assert functions.in_ms is None


def test_units_that_a_header_names(tmp_path):
    functions = read(tmp_path, "CDP Time(ms) Vrms[ft/s]\n101 0 5000\n101 1500 6500\n")
    assert (functions.in_ms, functions.unit) == (True, "ft/s")
    plain = read(tmp_path, "cdp t v\n101 0 1500\n")
    assert (plain.in_ms, plain.unit) == (None, "")


def test_words_in_columns_that_do_not_count(tmp_path):
    named = ["cdp", "skip", "t", "v"]
    assert as_lists(read(tmp_path, "101 ann 0 1500\n101 bob 1.5 2000\n201 ann 0.5 1600\n", named)) == CDP
    assert as_lists(read(tmp_path, "a b c d\n101 x 0 1500\n101 x 1.5 2000\n201 nan 0.5 1600\n", named)) == CDP


def test_lines_of_each_function_are_kept(tmp_path):
    functions = read(tmp_path, "# a\n101 0 1500\n101 1.5 2000\n201 0.5 1600\n")
    assert functions.lines == [2, 4]
    assert functions.name(1) == "cdp 201"


def test_columns_by_their_number(tmp_path):
    assert read(tmp_path, "0 1500\n1 2000\n").keys == ()
    four = read(tmp_path, "7 101 0 1500\n7 101 1 2000\n8 101 0 1400\n")
    assert four.keys == ("inline", "crossline")
    assert four.places.tolist() == [[7, 101], [8, 101]]


def test_columns_by_name(tmp_path):
    functions = read(tmp_path, "434000.5 6478000.25 0 1500\n", ["x", "y", "t", "v"])
    assert functions.keys == ("x", "y")
    assert functions.places.tolist() == [[434000.5, 6478000.25]]
    skipped = read(
        tmp_path, "7 101 434000 6478000 0 1500\n", ["inline", "crossline", "skip", "skip", "t", "v"]
    )
    assert skipped.keys == ("inline", "crossline")


def test_line_numbers_go_before_coordinates(tmp_path):
    functions = read(tmp_path, "IL XL X Y T V\n7 101 434000 6478000 0 1500\n")
    assert functions.keys == ("inline", "crossline")


def test_eta_beside_velocity_and_alone(tmp_path):
    both = read(tmp_path, "cdp t v eta\n101 0 1500 0\n101 1 2000 0.1\n")
    assert both.columns["eta"][0].tolist() == [0, 0.1]
    alone = read(tmp_path, "101 0 0.02\n101 1 0.1\n", None, "eta")
    assert as_lists(alone, "eta") == [(101.0, [0, 1], [0.02, 0.1])]


def test_handvel_cards(tmp_path):
    functions = read(
        tmp_path,
        "VFUNC rms\nHANDVEL  181\n       0    1500     500    1600    1000    1850\n    1500    2100\n"
        "HANDVEL  229\n       0    1510\n",
    )
    assert functions.in_ms
    assert as_lists(functions) == [
        (181.0, [0, 500, 1000, 1500], [1500, 1600, 1850, 2100]),
        (229.0, [0], [1510]),
    ]


def test_parameters_of_seismic_unix(tmp_path):
    functions = read(
        tmp_path,
        "cdp=181,229 \\\ntnmo=0,0.4,1.0 \\\nvnmo=7800,8100,8900 \\\ntnmo=0.1,2 \\\nvnmo=7700,9900 \\\n",
    )
    assert as_lists(functions) == [
        (181.0, [0, 0.4, 1.0], [7800, 8100, 8900]),
        (229.0, [0.1, 2], [7700, 9900]),
    ]
    one = read(tmp_path, "tnmo=0,1 vnmo=1500,2000\n")
    assert one.keys == ()


def test_latin_letters_in_comments_do_no_harm(tmp_path):
    assert len(read(tmp_path, b"# Geschwindigkeit f\xfcr CDP\n101 0 1500\n")) == 1


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("# nothing\n", "E741", ["holds no velocities"]),
        ("cdp t v\n", "E741", ["header and no velocities"]),
        ("101 0 1500\n101 1 15x0\n", "E741", ["line 2", "15x0"]),
        ("101 0 1500\n101 1\n", "E741", ["line 2", "3 numbers"]),
        ("1 2 3 4 5\n", "E741", ["5 columns", "skip"]),
        ("cdp t depth\n1 2 3\n", "E741", ["no column v"]),
        ("cdp cmp t v\n1 1 2 3\n", "E741", ["twice"]),
        ("inline t v\n1 2 3\n", "E741", ["inline alone"]),
        ("434000.5 6478000.5 0 1500\n", "E741", ['columns = "x y t v"']),
        ("101 0 1500\n101 1 nan\n", "E740", ["line 2", "not finite"]),
        ("101 7 inf 1500\n", "E740", ["line 1"]),
        ("inf 7 0 1500\n", "E740", ["line 1"]),
        ("101 1 1500\n101 0.5 1600\n", "E742", ["line 2", "cdp 101", "0.5 follows 1"]),
        ("101 0 1500\n101 1 1600\n101 0 1700\n", "E742", ["line 3"]),
        ("101 0 1500\n201 0 1600\n101 0 1700\n", "E748", ["cdp 101", "lines 1 and 3"]),
        ("101 -0.1 1500\n", "E742", ["negative"]),
        ("HANDVEL\n0 1500\n", "E741", ["names no CDP"]),
        ("HANDVEL 1\n0 1500 500\n", "E741", ["3 numbers", "no pairs"]),
        ("HANDVEL 1\n0 fast\n", "E741", ["line 2"]),
        ("cdp=1,2 tnmo=0 vnmo=1500\n", "E741", ["2 CDPs, 1 tnmo"]),
        ("cdp=1 tnmo=0,1 vnmo=1500\n", "E741", ["2 times and 1 velocities"]),
        ("cdp=1 tnmo=0,a vnmo=1500,1600\n", "E741", ["tnmo="]),
        (b"\0\0\1\2", "E741", ["binary zeros", ".sgy"]),
    ],
)
def test_what_cannot_be_read(tmp_path, text, code, words):
    with pytest.raises(ModelError) as caught:
        read(tmp_path, text)
    assert caught.value.code == code
    for word in words:
        assert word in str(caught.value)


def test_a_file_of_the_real_kind_that_is_too_large_is_no_text(tmp_path, monkeypatch):
    monkeypatch.setattr("subsalt.io.volumes.velocity_text.LARGEST", 10)
    with pytest.raises(ModelError, match="too large"):
        read(tmp_path, "101 0 1500\n101 1 1600\n")


def test_numbers_are_read_as_they_are_written(tmp_path):
    functions = read(tmp_path, "101 0.1 1500.1\n")
    assert functions.times[0][0] == np.float64(0.1)
    assert functions.columns["v"][0][0] == np.float64(1500.1)
