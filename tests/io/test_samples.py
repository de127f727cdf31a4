"""Sample formats against Python's own arithmetic and against segyio where it is right."""

import numpy as np
import pytest
from segy_maker import encode, ibm_words

from subsalt.io.samples import FORMATS, READABLE, decode, ibm_to_float


def test_ibm_words_by_definition():
    words = np.array([0x42640000, 0xC2640000, 0x00000000, 0x80000000, 0x41100000, 0x4700374C], np.uint32)
    # the last one has leading zero digits: 0x00374C / 2^24 * 16^7
    assert ibm_to_float(words).tolist() == [100.0, -100.0, 0.0, -0.0, 1.0, 226496.0]


def test_ibm_overflow_is_infinite_and_underflow_zero():
    out = ibm_to_float(np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x00000001, 0x60FFFFFF], np.uint32))
    assert out[0] == np.inf
    assert out[1] == -np.inf
    assert out[2] == 0
    assert out[3] == np.float32(0xFFFFFF * 2.0**104)


def test_ibm_round_trip_of_random_numbers():
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(500) * 10.0 ** rng.integers(-20, 20, 500)).astype(np.float32)
    y = ibm_to_float(ibm_words(x))
    # 24 bits of fraction of which up to three are leading zeros: 21 bits, cut off rather than rounded
    assert np.all(np.abs(y - x) <= np.abs(x) * 2.0**-20)


def test_ibm_agrees_with_segyio_on_normalised_numbers(tmp_path):
    segyio = pytest.importorskip("segyio")
    from segy_maker import make_segy

    x = np.random.default_rng(2).standard_normal((5, 40))
    path = make_segy(tmp_path / "a.sgy", x, code=1)
    with segyio.open(path, ignore_geometry=True) as f:
        theirs = f.trace.raw[:]
    raw = np.frombuffer(ibm_words(x).astype(">u4").tobytes(), np.uint8).reshape(5, -1)
    assert np.array_equal(decode(raw, 1, "big"), theirs)


@pytest.mark.parametrize("endian", ["big", "little"])
@pytest.mark.parametrize("code", READABLE)
def test_every_readable_format_in_both_orders(code, endian):
    # whole numbers every format can hold
    low = 0 if code in (10, 11, 12, 15, 16) else -100
    x = (
        np.arange(low, low + 200, dtype=np.float64).reshape(4, 50)[:, :]
        if low == 0
        else np.linspace(-100, 99, 200).reshape(4, 50)
    )
    x = np.round(x)
    raw = np.frombuffer(encode(x, code, ">" if endian == "big" else "<"), np.uint8).reshape(4, -1)
    out = decode(raw, code, endian)
    assert out.dtype == np.float32
    assert out.shape == (4, 50)
    assert np.array_equal(out, x)


def test_24_bit_extremes():
    raw = np.array([[0x80, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]], np.uint8)
    assert decode(raw, 7, "big").tolist() == [[-8388608.0, 8388607.0, -1.0]]
    assert decode(raw, 15, "big").tolist() == [[8388608.0, 8388607.0, 16777215.0]]


def test_the_table_names_what_is_not_read():
    assert FORMATS[4].dtype == ""
    assert 4 not in READABLE
