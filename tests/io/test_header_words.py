"""Header words of other types and places than the standard's: read when a job says so, recognised when it does not."""

from __future__ import annotations

import numpy as np
import pytest
from segy_maker import ibm_words
from shot_records import CHANNELS, SHOTS, cured, finding_of, pasted, problems, records, write

from subsalt.errors import ConfigError, SegyError
from subsalt.io.input_file import InputFile
from subsalt.io.prestack.table import open_traces
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import read_headers, save_index
from subsalt.io.segy.index import BESIDE
from subsalt.io.segy.layout import find_layout
from subsalt.io.segy.reading import read_survey
from subsalt.io.segy.words import HeaderBytes
from subsalt.job.data import header_options
from subsalt.methods.rtm.data_sections import DataSection

#: of one trace of `shot_records`
TRACE = 240 + 4 * 300
WORDS = {"source_x": 73, "source_y": 77, "receiver_x": 81, "receiver_y": 85}


def put(path, byte, values, kind):
    """Write one value per trace at a byte of its header, in big-endian order."""
    raw = bytearray(path.read_bytes())
    words = np.asarray(values)
    words = ibm_words(words) if kind == "ibm" else words
    coded = words.astype({"ibm": ">u4"}.get(kind, f">{kind}"))
    n, text = coded.dtype.itemsize, coded.tobytes()
    for k in range(len(coded)):
        at = 3600 + k * TRACE + byte - 1
        raw[at : at + n] = text[n * k : n * (k + 1)]
    path.write_bytes(raw)


def of_job(**words):
    """Return header bytes and fix of a job with these words."""
    return header_options(DataSection(files=["a.sgy"], bytes=words))


@pytest.mark.parametrize("kind", ["i2", "u2", "i4", "u4", "f4", "f8", "ibm"])
@pytest.mark.parametrize("index", [None, BESIDE])
def test_a_number_of_every_type(tmp_path, kind, index):
    headers, traces = records()
    (path,) = write(tmp_path, headers, traces)
    channel = headers["channel"] + (40_000 if kind == "u2" else 0)
    put(path, 217, channel, kind)
    header, fix = of_job(channel={"byte": 217, "type": kind})
    fix = Fix(index=index)
    with InputFile(path) as file:
        layout = find_layout(file, header, fix)
        if index:
            save_index(file, layout, header, index)
        values = read_headers(file, layout, header, ["channel"], index=index)["channel"]
    assert values.dtype == np.int32
    np.testing.assert_array_equal(values, channel)


@pytest.mark.parametrize("kind", ["f4", "ibm", "f8"])
def test_coordinates_as_floats_place_the_survey(tmp_path, kind):
    headers, traces = records()
    (path,) = write(tmp_path, headers | {"coordinate_scalar": 1}, traces)
    # eight bytes do not fit between the words of the standard
    places = (
        WORDS if kind != "f8" else {"source_x": 181, "source_y": 189, "receiver_x": 197, "receiver_y": 205}
    )
    for name, byte in places.items():
        put(path, byte, np.broadcast_to(headers[name], len(traces)) / 100.0, kind)
    header, fix = of_job(**{n: {"byte": b, "type": kind} for n, b in places.items()}, offset=0)
    survey, table = read_survey([path], header, fix), open_traces([path], header, fix)
    assert len(survey.shots) == SHOTS
    # single precision keeps 7 digits, hexadecimal digits of IBM at least 6
    right = np.unique(headers["receiver_x"] / 100.0)
    tolerance = {"f4": 2.0**-24, "ibm": 2.0**-20, "f8": 2.0**-53}[kind] * right.max()
    np.testing.assert_allclose(np.unique(table.rcv[:, 0]), right, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", ["f4", "ibm"])
@pytest.mark.parametrize("shift", [0.0, 431_200.5])
def test_float_coordinates_are_recognised_and_the_cure_reads_them(tmp_path, kind, shift):
    headers, traces = records()
    (path,) = write(tmp_path, headers | {"coordinate_scalar": 1}, traces)
    for name, byte in WORDS.items():
        put(path, byte, np.broadcast_to(headers[name], len(traces)) / 100.0 + shift, kind)
    finding = finding_of([path], "E267")
    assert finding.evidence["type"] == kind
    assert cured([path], finding) == []
    with pytest.raises(SegyError) as caught:
        read_survey([path])
    assert caught.value.code == "E267"
    header, fix = pasted(finding.fix)
    assert len(read_survey([path], header, fix).shots) == SHOTS


def test_integers_on_a_map_are_no_floats(tmp_path):
    headers, traces = records()
    # the largest coordinates of UTM in centimetres: 10,000 km
    far = {n: np.asarray(headers[n]) + 999_000_000 for n in ("source_y", "receiver_y")}
    (path,) = write(tmp_path, headers | far, traces)
    assert "E267" not in problems([path])


def test_a_number_of_two_bytes_read_as_four(tmp_path):
    headers, traces = records()
    (path,) = write(tmp_path, headers, traces)
    put(path, 125, headers["channel"], "i2")
    put(path, 127, np.full(len(traces), 40), "i2")
    header, fix = of_job(channel=125)
    finding = finding_of([path], "W267", header=header, fix=fix)
    assert cured([path], finding) == []
    header, fix = pasted(finding.fix)
    np.testing.assert_array_equal(
        np.unique(open_traces([path], header, fix).channel), np.arange(1, CHANNELS + 1)
    )


@pytest.mark.parametrize(
    "word",
    [{"byte": 125, "type": "i8"}, {"byte": 239, "type": "i4"}, {"byte": -1, "type": "i2"}, {"type": "i2"}],
)
def test_words_that_are_none(word):
    with pytest.raises((ConfigError, ValueError)):
        of_job(channel=word)


def test_bytes_that_hold_no_such_number(tmp_path):
    headers, traces = records()
    (path,) = write(tmp_path, headers, traces)
    put(path, 73, np.where(np.arange(len(traces)) == 5, np.nan, 1e5), "f4")
    with pytest.raises(SegyError) as caught:
        read_survey([path], *of_job(source_x={"byte": 73, "type": "f4"}))
    assert caught.value.code == "E266"
    assert "trace 6" in caught.value.message
    with pytest.raises(ConfigError) as refused:
        HeaderBytes(types=(("ns", "f4"),))
    assert "data.fix" in refused.value.fix
