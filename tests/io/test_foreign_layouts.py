"""Layouts of other programs: headers miscounted, wrong formats and names, rev 2.1, SEG-D and SEG-2."""

import struct

import numpy as np
import pytest
from segy_maker import make_segy
from shot_records import CHANNELS, NS, cured, finding_of, pasted, problems, records, write

from subsalt.errors import SegyError
from subsalt.io.prestack.table import open_traces
from subsalt.io.scan.scan import scan
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.reading import read_survey


def ext(path, count, said, **more):
    """Write records behind `count` extended text headers, of which the binary header says `said`."""
    headers, traces = records()
    blocks = [b"x".ljust(3200)] * count
    full = {k: np.broadcast_to(np.asarray(v), (len(traces),)) for k, v in headers.items()}
    return make_segy(path, traces, headers=full, extended=blocks, binary={3505: ("h", said)}, **more)


@pytest.mark.parametrize(("count", "said"), [(1, 0), (0, 1), (2, 1), (1, 3)])
def test_extended_text_headers_miscounted(tmp_path, count, said):
    path = ext(tmp_path / "a.sgy", count, said)
    with pytest.raises(SegyError) as caught:
        scan(path)
    assert caught.value.code == "E213"
    assert caught.value.fix == f"[data.fix] text_headers = {count}"
    assert problems(path, pasted(caught.value.fix)[1]) == []


def test_a_text_header_as_long_as_traces(tmp_path):
    # 740 samples of 4 bytes and 240 of the header are 3200: the traces divide all the same
    headers, traces = records()
    long = np.concatenate([traces, traces, traces], axis=1)[:, :740]
    full = {k: np.broadcast_to(np.asarray(v), (len(traces),)) for k, v in headers.items()}
    path = make_segy(tmp_path / "a.sgy", long, headers=full, extended=[b"x".ljust(3200)])
    with pytest.raises(SegyError) as caught:
        scan(path)
    assert caught.value.fix == "[data.fix] text_headers = 1"


def test_truncated_inside_a_trace_and_bytes_lost_inside(tmp_path):
    headers, traces = records()
    (path,) = write(tmp_path, headers, traces)
    whole = path.read_bytes()
    path.write_bytes(whole[:-700])
    with pytest.raises(SegyError) as caught:
        scan(path)
    assert 'truncated = "drop"' in caught.value.fix
    assert set(problems(path, Fix(truncated="drop"))) == {"W213"}
    # 100 bytes lost in the middle: what follows is no trace, and using it makes it worse
    path.write_bytes(whole[:90_000] + whole[90_100:])
    with pytest.raises(SegyError) as caught:
        scan(path)
    assert caught.value.code == "E213"
    assert "truncated" not in caught.value.fix


@pytest.mark.parametrize("su", [False, True])
@pytest.mark.parametrize("times", [1, 2])
def test_more_samples_than_two_bytes_hold(tmp_path, su, times):
    ns = 4464 + times * 65536
    traces = np.random.default_rng(3).standard_normal((3, ns)).astype(np.float32)
    placed = {
        "ffid": 1,
        "channel": np.arange(1, 4),
        "receiver_x": 100 * np.arange(1, 4),
        "coordinate_scalar": 1,
    }
    path = make_segy(tmp_path / f"long.{'su' if su else 'sgy'}", traces, su=su, dt=500, headers=placed)
    assert str(ns) in finding_of([path], "W212").message
    assert read_survey([path]).time.nt == ns
    assert "W212" not in problems([path], Fix(ns=ns))


def test_a_count_that_two_bytes_lose_altogether(tmp_path):
    path = make_segy(tmp_path / "long.sgy", np.ones((2, 65536), np.float32))
    with pytest.raises(SegyError) as caught:
        scan(path)
    assert (caught.value.code, caught.value.fix) == ("E217", "give it: [data.fix] ns = 65536")


def test_bytes_lost_inside_are_no_larger_count(tmp_path):
    # 70000 samples would divide, but the headers of traces do not follow one another at that distance
    rng = np.random.default_rng(3)
    path = make_segy(tmp_path / "a.sgy", rng.standard_normal((4, 4464)).astype(np.float32))
    short = path.read_bytes()[:3600]
    path.write_bytes(short + path.read_bytes()[3600 : 3600 + 240] + rng.bytes(2 * (240 + 4 * 70000) - 240))
    with pytest.raises(SegyError) as caught:
        scan(path)
    assert caught.value.code == "E213"


def test_a_format_of_another_width(tmp_path):
    headers, traces = records()
    (path,) = write(tmp_path, headers, traces, binary={3225: ("h", 3)})
    with pytest.raises(SegyError) as caught:
        scan(path)
    assert caught.value.fix == "[data.fix] format = 5"
    assert problems(path, pasted(caught.value.fix)[1]) == []


def test_traces_of_different_lengths(tmp_path):
    _, traces = records()
    first, second = (
        make_segy(tmp_path / f"{n}.sgy", traces[:20, :n], headers={"trace_id": 1}) for n in (200, 300)
    )
    path = tmp_path / "both.sgy"
    path.write_bytes(first.read_bytes() + second.read_bytes()[3600:])
    with pytest.raises(SegyError, match="200 samples in 20 traces, 300 samples in 20") as caught:
        scan(path)
    assert caught.value.code == "E239"


def test_samples_in_the_other_byte_order(tmp_path):
    headers, traces = records()
    (path,) = write(tmp_path, headers, traces)
    raw = np.frombuffer(path.read_bytes()[3600:], np.uint8).reshape(len(traces), -1).copy()
    raw[:, 240:] = raw[:, 240:].reshape(len(traces), -1, 4)[:, :, ::-1].reshape(len(traces), -1)
    path.write_bytes(path.read_bytes()[:3600] + raw.tobytes())
    f = finding_of([path], "E257")
    assert f.fix.startswith('[data.fix] sample_endian = "little"')
    assert cured([path], f) == []
    survey = read_survey(path, fix=pasted(f.fix)[1])
    np.testing.assert_array_equal(survey.traces(survey.shots[0]), traces[:CHANNELS])
    table = open_traces(path, fix=pasted(f.fix)[1])
    np.testing.assert_array_equal(table.files.read(np.arange(3)), traces[:3])


@pytest.mark.parametrize(("code", "scale"), [(3, 1e4), (1, 1.0)])
def test_samples_of_other_formats_in_the_other_byte_order(tmp_path, code, scale):
    headers, traces = records()
    (path,) = write(tmp_path, headers, scale * traces, code=code)
    assert problems(path) == []
    width = {1: 4, 3: 2}[code]
    raw = np.frombuffer(path.read_bytes()[3600:], np.uint8).reshape(len(traces), -1).copy()
    raw[:, 240:] = raw[:, 240:].reshape(len(traces), -1, width)[:, :, ::-1].reshape(len(traces), -1)
    path.write_bytes(path.read_bytes()[:3600] + raw.tobytes())
    f = finding_of([path], "E257")
    assert f.fix.startswith('[data.fix] sample_endian = "little"')
    assert cured([path], f) == []


def test_a_file_header_in_another_byte_order_than_the_traces(tmp_path):
    headers, traces = records()
    (path,) = write(tmp_path, headers, traces, endian="little")
    little = path.read_bytes()
    (path,) = write(tmp_path, headers, traces)
    path.write_bytes(path.read_bytes()[:3600] + little[3600:])
    f = finding_of([path], "W380")
    assert "file header is big-endian, the trace headers are little-endian" in f.message
    assert problems(path) == ["W380"]
    assert cured([path], f) == []
    for fix in (Fix(), pasted(f.fix)[1]):
        survey = read_survey(path, fix=fix)
        np.testing.assert_array_equal(survey.traces(survey.shots[0]), traces[:CHANNELS])
        table = open_traces([path], fix=fix)
        np.testing.assert_array_equal(table.files.read(np.arange(3)), traces[:3])


@pytest.mark.parametrize("said", [0, 4])
@pytest.mark.parametrize(("real", "scale"), [(5, 1.0), (1, 1.0), (2, 1e6), (3, 1e4)])
def test_no_format_that_is_read(tmp_path, said, real, scale):
    headers, traces = records()
    (path,) = write(tmp_path, headers, scale * traces, code=real, binary={3225: ("h", said)})
    with pytest.raises(SegyError) as caught:
        scan(path)
    assert caught.value.code == "E211"
    assert caught.value.fix == f"[data.fix] format = {real}"
    assert problems(path, pasted(caught.value.fix)[1]) == []


def test_noise_has_no_likely_format(tmp_path):
    headers, traces = records()
    noise = np.random.default_rng(2).standard_normal(traces.shape).astype("f4")
    (path,) = write(tmp_path, headers, noise, binary={3225: ("h", 0)})
    with pytest.raises(SegyError, match="is not one that can be read;") as caught:
        scan(path)
    assert "look like" not in caught.value.message
    assert "format = 1 (IBM) or 5 (IEEE)" in caught.value.fix


def test_integers_called_floats(tmp_path):
    headers, traces = records()
    (path,) = write(tmp_path, headers, 1e6 * traces, code=2, binary={3225: ("h", 5)})
    f = finding_of([path], "E257")
    assert f.fix.startswith("[data.fix] format = 2;")
    assert cured([path], f) == []


@pytest.mark.parametrize(("real", "said"), [(1, 5), (5, 1), (5, 2), (1, 2)])
def test_a_wrong_format_is_an_error_until_it_is_declared(tmp_path, real, said):
    headers, traces = records()
    paths = write(tmp_path, headers, traces, code=real, binary={3225: ("h", said)})
    f = finding_of(paths, "E257")
    assert f.fix.startswith(f"[data.fix] format = {real};")
    assert "E257" not in problems(paths, Fix(format=said))
    assert cured(paths, f) == []


def test_su_named_segy_and_the_reverse(tmp_path):
    headers, traces = records()
    full = {k: np.broadcast_to(np.asarray(v), (len(traces),)) for k, v in headers.items()}
    su = make_segy(tmp_path / "a.sgy", traces, headers=full, su=True, endian="little")
    segy = make_segy(tmp_path / "b.su", traces, headers=full)
    for path, kind in ((su, "su"), (segy, "segy")):
        with pytest.raises(SegyError) as caught:
            scan(path)
        assert caught.value.code == "E247"
        header, fix = pasted(caught.value.fix)
        assert fix.kind == kind
        assert problems(path, fix, header) == []


def test_seg_d_and_seg_2_are_refused_by_name(tmp_path):
    segd = bytes.fromhex("0042805800000000000000022108" + "115959" + "00") + bytes(5000)
    label = b"   1SD2.1" + bytes(5000)
    seg2 = struct.pack("<HHHH", 0x3A55, 1, 96, 24) + bytes(5000)
    for name, raw in (("SEG-D", segd), ("SEG-D", label), ("SEG-2", seg2)):
        path = tmp_path / "a.sgy"
        path.write_bytes(raw)
        with pytest.raises(SegyError, match=name) as caught:
            scan(path)
        assert caught.value.code == "E248"


def extended(path, change=None):
    """Write rev 2 records with one trace header extension of the standard."""
    headers, traces = records()
    full = {k: np.broadcast_to(np.asarray(v), (len(traces),)) for k, v in headers.items()}
    make_segy(path, traces, headers=full, extra_headers=1, binary={3501: ("B", 2), 3507: ("h", 1)})
    raw = bytearray(path.read_bytes())
    size = 480 + 4 * NS
    for i in range(len(traces)):
        at = 3600 + i * size + 240
        names = ("source_x", "source_y", "receiver_x", "receiver_y")
        struct.pack_into(">4d", raw, at + 96, *(full[n][i] / 100 for n in names))
        struct.pack_into(">I", raw, at + 136, NS)
        raw[at + 232 : at + 240] = b"SEG00001"
        if change:
            change(raw, at)
    path.write_bytes(bytes(raw))
    return path


def test_trace_header_extensions(tmp_path):
    assert problems(extended(tmp_path / "a.sgy")) == []
    path = extended(tmp_path / "c.sgy", lambda raw, at: struct.pack_into(">H", raw, at + 156, 5))
    with pytest.raises(SegyError, match="counts 5 extensions") as caught:
        scan(path)
    assert caught.value.code == "E258"


def test_a_layout_in_the_text_moves_header_values(tmp_path):
    def layout(byte):
        text = f'((SEG:Layout:text/xml))<?xml version="1.0"?><entry name="iline" byte="{byte}" type="int4"/>'
        return text.encode().ljust(3200)

    headers, traces = records()
    for byte, expected in ((189, []), (5, ["E259"])):
        (path,) = write(tmp_path, headers, traces, extended=[layout(byte)], binary={3505: ("h", 1)})
        assert problems(path) == expected
    f = finding_of([path], "E259")
    assert "inline = 5" in f.fix
    assert cured([path], f) == []
