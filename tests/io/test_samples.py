"""Sample formats against Python's own arithmetic and against segyio where it is right."""

import numpy as np
import pytest
from segy_maker import encode, ibm_words

from subsalt.io.segy.samples import FORMATS, READABLE, decode, decode_traces, ibm_to_float


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


@pytest.mark.parametrize("endian", ["big", "little"])
@pytest.mark.parametrize("code", READABLE)
def test_the_compiled_pass_gives_the_same_bits(code, endian):
    rng = np.random.default_rng(code)
    n, ns, width = 5, 700, FORMATS[code].size
    # any bytes: not finite, not normalised, beyond float32
    raw = rng.integers(0, 256, size=(n, 11 + ns * width), dtype=np.uint8)
    expected = decode(np.ascontiguousarray(raw[:, 11:]), code, endian)
    at = 11 + raw.shape[1] * np.arange(n)
    late = np.array([0, 3, 1, 2, 0], np.int32)
    out = np.full((n, ns + 3), np.float32(7))
    bad = decode_traces(raw.reshape(-1), at, ns, code, endian, out, late=late)
    finite = np.isfinite(expected)
    assert (bad == (~finite).sum(axis=1)).all()
    if code in (1, 5, 6):
        assert bad.all()
    for row, trace, good, start in zip(out, expected, finite, late, strict=True):
        samples = row[start : start + ns]
        assert (samples[good].view(np.uint32) == trace[good].view(np.uint32)).all()
        assert np.array_equal(samples, trace, equal_nan=True)
        assert not row[:start].any()
        assert not row[start + ns :].any()
    decode_traces(raw.reshape(-1), at, ns, code, endian, out, late=late, zero_bad=True)
    assert np.array_equal(out[1, 3:], np.where(finite[1], expected[1], 0))


def test_traces_beyond_their_bytes_or_rows_are_refused():
    raw, out = np.zeros(100, np.uint8), np.zeros((2, 12), np.float32)
    two = np.array([0, 60])
    decode_traces(raw, two, 10, 5, "big", out)
    none, far = np.array([0, -1]), np.array([0, 61])
    late, early = np.array([0, 3], np.int32), np.array([0, -1], np.int32)
    for at, ns, code, shift in (
        (none, 10, 5, None),
        (far, 10, 5, None),
        (two, 26, 5, None),
        (two, -1, 5, None),
        (two, 10, 4, None),
        (two, 10, 5, late),
        (two, 10, 5, early),
        (two[:1], 10, 5, None),
        (two, 13, 8, None),
    ):
        with pytest.raises(ValueError, match="decode_traces"):
            decode_traces(raw, at, ns, code, "big", out, late=shift)
