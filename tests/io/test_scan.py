"""Scanning: every lie a header tells is decided by evidence or refused with the reason."""

import json
import os

import numpy as np
import pytest
from segy_maker import line_headers, make_segy

from subsalt.errors import MemoryPlanError, MissingInputError, ResourceError, SegyError
from subsalt.io import faults
from subsalt.io.scan.scan import scan
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.segy.words import PRESETS

RNG = np.random.default_rng(7)


H3 = line_headers(1, 3)


def codes(result) -> list[str]:
    return [f.code for f in result.findings]


def smooth(n: int, ns: int) -> np.ndarray:
    return np.sin(np.arange(ns) / 9.0)[None, :] * (1 + np.arange(n))[:, None]


@pytest.mark.parametrize("endian", ["big", "little"])
@pytest.mark.parametrize("code", [1, 2, 3, 5, 6, 8])
def test_formats_and_orders(tmp_path, code, endian):
    # what does not fit into a byte would be clipped, and found to be
    x = np.round((20 if code == 8 else 100) * smooth(6, 30))
    r = scan(make_segy(tmp_path / "a.sgy", x, code=code, endian=endian, headers=line_headers(2, 3)))
    f = r.files[0]
    assert (f.format, f.endian, f.ns, f.n_traces, f.dt) == (code, endian, 30, 6, 0.004)
    assert f.statistics.complete
    assert f.statistics.minimum == x.min()
    assert f.statistics.maximum == x.max()
    # two byte orders and float32 sums of 180 values
    assert f.statistics.rms == pytest.approx(np.sqrt((x**2).mean()), rel=1e-6)
    assert codes(r) == []


def test_positions_with_and_without_scalars(tmp_path):
    r = scan(make_segy(tmp_path / "a.sgy", smooth(20, 30), headers=line_headers(4, 5)))
    assert r.n_shots == 4
    assert r.channels == (5, 5)
    assert r.shot_key == "ffid"
    assert r.source_box == ((0.0, 150.0), (0.0, 0.0), (6.0, 6.0))
    assert r.receiver_box == ((0.0, 100.0), (0.0, 0.0), (10.0, 10.0))
    assert r.files[0].boxes["source_raw"][0] == (0.0, 15000.0)
    assert r.files[0].headers["coordinate_scalar"] == (-100, -100, 1)
    assert codes(r) == []
    json.dumps(r.to_dict(), allow_nan=False)
    text = r.describe()
    for part in (
        "SEG-Y rev 0",
        "IEEE float",
        "big-endian",
        "30 samples x 4 ms",
        "shots 4",
        "scalar (byte 71) -100",
    ):
        assert part in text


def test_byte_overrides_and_presets(tmp_path):
    h = line_headers(2, 3)
    h["inline"] = h.pop("source_x")
    path = make_segy(tmp_path / "a.sgy", smooth(6, 30), headers=h)
    assert not scan(path).has_sources
    assert scan(path, HeaderBytes(source_x=189)).source_box[0] == (0.0, 50.0)
    assert set(PRESETS) == {"rev1", "su", "marine2d", "obn"}


# ---- samples per trace


def test_the_length_decides_between_binary_and_trace_headers(tmp_path):
    r = scan(make_segy(tmp_path / "a.sgy", smooth(4, 30), headers={"ns": 75}))
    assert r.files[0].ns == 30
    assert "W211" in codes(r)
    assert "75" in r.findings[0].message
    r = scan(make_segy(tmp_path / "b.sgy", smooth(4, 30), binary={3221: ("H", 77)}))
    assert r.files[0].ns == 30
    assert "W211" in codes(r)


def test_the_trace_headers_decide_when_both_lengths_fit(tmp_path):
    # 4 traces of 90 samples are as long as 8 of 15: 4 (240 + 360) = 8 (240 + 60); only 90 meets the headers
    # again
    path = make_segy(tmp_path / "a.sgy", smooth(4, 90), binary={3221: ("H", 15)}, headers={"ns": 90})
    assert scan(path).files[0].ns == 90


def test_more_than_32767_samples_are_unsigned(tmp_path):
    f = scan(make_segy(tmp_path / "a.sgy", smooth(2, 40000))).files[0]
    assert f.ns == 40000
    assert f.n_traces == 2


def test_extended_number_of_samples_of_rev_2(tmp_path):
    path = make_segy(
        tmp_path / "a.sgy",
        smooth(2, 70000),
        binary={3269: ("i", 70000), 3501: ("B", 2), 3221: ("H", 0)},
        headers={"ns": 0},
    )
    assert scan(path).files[0].ns == 70000


def test_ns_by_hand(tmp_path):
    path = make_segy(tmp_path / "a.sgy", smooth(4, 30), binary={3221: ("H", 0)}, headers={"ns": 0})
    with pytest.raises(SegyError, match="how many samples") as caught:
        scan(path)
    assert caught.value.code == "E217"
    assert scan(path, fix=Fix(ns=30)).files[0].n_traces == 4


def test_truncated(tmp_path):
    path = make_segy(tmp_path / "a.sgy", smooth(4, 30))
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(SegyError, match="3 whole traces and 310 bytes more") as caught:
        scan(path)
    assert caught.value.code == "E213"
    assert "truncated" in caught.value.fix
    r = scan(path, fix=Fix(truncated="drop"))
    assert r.files[0].n_traces == 3
    assert "W213" in codes(r)


# ---- file headers


def test_extended_text_headers(tmp_path):
    blocks = [b"x".ljust(3200)] * 2
    path = make_segy(tmp_path / "a.sgy", smooth(3, 30), extended=blocks, binary={3505: ("h", 2)})
    assert scan(path).files[0].ext_text == 2
    last = "((SEG: EndText))".encode("cp037").ljust(3200, b"\x40")
    path = make_segy(tmp_path / "b.sgy", smooth(3, 30), extended=[*blocks, last], binary={3505: ("h", -1)})
    assert scan(path).files[0].n_traces == 3
    path = make_segy(tmp_path / "c.sgy", smooth(3, 30), extended=blocks, binary={3505: ("h", -1)})
    with pytest.raises(SegyError) as caught:
        scan(path)
    assert caught.value.code == "E216"


def test_trace_header_extensions_and_trailers_of_rev_2(tmp_path):
    path = make_segy(
        tmp_path / "a.sgy",
        smooth(3, 30),
        extra_headers=2,
        tail=b" " * 3200,
        binary={3501: ("B", 2), 3507: ("h", 2), 3529: ("i", 1), 3297: ("i", 16909060), 3521: ("Q", 3600)},
    )
    r = scan(path)
    assert r.files[0].n_traces == 3
    assert r.files[0].statistics.maximum == pytest.approx(smooth(3, 30).max())


@pytest.mark.parametrize("code", [0, 4, 13, 17, 255, 257, -1, -32768])
def test_unknown_formats_are_refused_not_read_as_ibm(tmp_path, code):
    path = make_segy(tmp_path / "a.sgy", smooth(3, 30), binary={3225: ("h", code)})
    with pytest.raises(SegyError, match="sample format") as caught:
        scan(path)
    assert caught.value.code == "E211"
    assert "format" in caught.value.fix
    assert scan(path, fix=Fix(format=5)).files[0].statistics.maximum == pytest.approx(smooth(3, 30).max())


def test_format_by_hand_finds_the_byte_order(tmp_path):
    path = make_segy(tmp_path / "a.sgy", smooth(3, 30), endian="little", binary={3225: ("h", 0)})
    f = scan(path, fix=Fix(format=5)).files[0]
    assert f.endian == "little"
    assert f.n_traces == 3


def test_text_is_decoded_and_cannot_steer_a_terminal(tmp_path):
    text = "C 1 H\u00e9llo \x1b[31m red".encode("latin-1").ljust(3200)
    f = scan(make_segy(tmp_path / "a.sgy", smooth(3, 30), text=text)).files[0]
    assert f.text_encoding == "ASCII"
    assert "\x1b" not in f.text[0]
    assert "red" in f.text[0]
    f = scan(
        make_segy(tmp_path / "b.sgy", smooth(3, 30), text="C 1 CLIENT".encode("cp037").ljust(3200, b"\x40"))
    )
    assert f.files[0].text_encoding == "EBCDIC"
    assert f.files[0].text[0] == "C 1 CLIENT"


# ---- sample interval


def test_intervals_that_disagree(tmp_path):
    r = scan(make_segy(tmp_path / "a.sgy", smooth(3, 30), headers={**H3, "dt": 2000}))
    assert codes(r) == ["E214"]
    assert "4000" in r.findings[0].message
    assert "2000" in r.findings[0].message
    assert codes(scan(tmp_path / "a.sgy", fix=Fix(dt=0.002))) == []
    r = scan(make_segy(tmp_path / "b.sgy", smooth(3, 30), headers={**H3, "dt": [4000, 4000, 1000]}))
    assert codes(r) == ["E214"]


def test_intervals_that_are_missing(tmp_path):
    r = scan(make_segy(tmp_path / "a.sgy", smooth(3, 30), binary={3217: ("h", -2)}, headers=H3))
    assert r.files[0].dt == 0.004
    assert codes(r) == ["W214"]
    r = scan(make_segy(tmp_path / "b.sgy", smooth(3, 30), dt=0, headers=H3))
    assert codes(r) == ["E215"]
    r = scan(make_segy(tmp_path / "c.sgy", smooth(3, 30), dt=0, binary={3273: ("d", 1234.5), 3501: ("B", 2)}))
    assert r.files[0].dt == pytest.approx(1.2345e-3, rel=1e-12)


# ---- traces


def test_dead_auxiliary_and_delayed_traces(tmp_path):
    h = line_headers(2, 5)
    h["trace_id"] = [1, 1, 2, 1, 9, 0, 1, 1, 1, 1]
    h["delay"] = [0] * 9 + [40]
    r = scan(make_segy(tmp_path / "a.sgy", smooth(10, 30), headers=h))
    assert (r.files[0].dead, r.files[0].auxiliary) == (1, 1)
    assert sorted(codes(r)) == ["W230", "W231", "W232"]
    assert r.files[0].delays == (0.0, 0.04)
    assert "W231" not in codes(scan(tmp_path / "a.sgy", fix=Fix(all_traces=True)))


def test_delay_scalar(tmp_path):
    path = make_segy(tmp_path / "a.sgy", smooth(3, 30), headers={"delay": 1005, "time_scalar": -10})
    assert scan(path).files[0].delays == (0.1005, 0.1005)


@pytest.mark.parametrize(
    ("delay", "scalar", "seconds"),
    [(2, s, 2e-3 * s) for s in (1, 10, 100, 1000, 10000)]
    + [(12000, -s, 12.0 / s) for s in (1, 10, 100, 1000, 10000)]
    # what the standard does not know is somebody else's number
    + [(12, s, 0.012) for s in (0, 7, -50, 20000)],
)
def test_every_scalar_of_times_that_the_standard_has_counts_and_no_other(tmp_path, delay, scalar, seconds):
    """SEG-Y rev 1 and 2, bytes 215-216: 1, +-10, +-100, +-1000 or +-10 000; positive multiplies, negative divides."""
    path = make_segy(tmp_path / "a.sgy", smooth(3, 30), headers={"delay": delay, "time_scalar": scalar})
    assert scan(path).files[0].delays == pytest.approx((seconds, seconds), rel=1e-12)


def test_bad_samples(tmp_path):
    x = smooth(6, 30)
    x[1, 3] = np.nan
    x[2] = 0
    x[3] = 5
    r = scan(make_segy(tmp_path / "a.sgy", x))
    by_code = {f.code: f for f in r.findings}
    assert by_code["E250"].evidence["count"] == 1
    assert {"W233", "W234"} <= set(by_code)


def test_bad_samples_that_are_set_to_zero_are_a_warning(tmp_path):
    x = smooth(6, 30)
    x[1, 3] = np.nan
    r = scan(make_segy(tmp_path / "a.sgy", x), fix=Fix(nan="zero"))
    assert {f.code: f.level for f in r.findings if f.code[1:] == "250"} == {"W250": "warning"}


def test_what_holds_for_many_files_is_said_once(tmp_path):
    x = smooth(3, 30)
    paths = [
        make_segy(tmp_path / f"{n}.sgy", x, headers={**H3, "delay": 4 if n < 3 else 0}) for n in range(4)
    ]
    r = scan([*paths, tmp_path / "missing1.sgy", tmp_path / "missing2.sgy"])
    (late,) = (f for f in r.findings if f.code == "W232")
    assert late.message.startswith(f"{paths[0]}: ")
    assert late.message.endswith("(and 2 more files alike)")
    assert late.evidence["more_files"] == [str(p) for p in paths[1:3]]
    (missing,) = (f for f in r.findings if f.code == "E110")
    assert "missing1.sgy" in missing.message
    assert missing.message.endswith("(and 1 more file alike)")


def test_ibm_called_ieee_and_the_reverse(tmp_path):
    t = np.arange(400)
    x = np.exp(-(((t - 150) / 30.0) ** 2)) * np.sin(t / 4.0) * 300 * RNG.uniform(0.5, 2, (20, 1))
    h = line_headers(4, 5)
    for real, said in ((1, 5), (5, 1)):
        r = scan(make_segy(tmp_path / "a.sgy", x, code=real, binary={3225: ("h", said)}, headers=h))
        (finding,) = (f for f in r.findings if f.code == "E257")
        assert finding.fix.startswith(f"[data.fix] format = {real};")
        right = scan(make_segy(tmp_path / "b.sgy", x, code=real, headers=h))
        assert codes(right) == []


# ---- geometry


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"coordinate_scalar": 7}, "W220"),
        ({"coordinate_scalar": [-100] * 19 + [-10]}, "W221"),
        ({"coordinate_scalar": 0, "offset": 0}, "W222"),
        ({"offset": 1000}, None),
        ({"coordinate_scalar": 1}, "W226"),
        ({"coordinate_units": 2, "offset": 0}, "E240"),
        ({"coordinate_units": 2}, "W240"),
        ({"source_depth": -60}, "W242"),
        ({"receiver_elevation": 100}, "W243"),
        ({"coordinate_scalar": 1000, "offset": 0}, "W227"),
        ({"ffid": 1}, "W224"),
    ],
)
def test_geometry_findings(tmp_path, change, code):
    path = make_segy(tmp_path / "a.sgy", smooth(20, 30), headers={**line_headers(4, 5), **change})
    r = scan(path)
    assert (code in codes(r)) if code else codes(r) == []
    assert all(f.message and f.level in ("error", "warning") for f in r.findings)


def test_feet(tmp_path):
    path = make_segy(tmp_path / "a.sgy", smooth(20, 30), headers=line_headers(4, 5), binary={3255: ("h", 2)})
    r = scan(path)
    assert "W241" in codes(r)
    assert r.source_box[0] == (0.0, pytest.approx(150 * 0.3048))
    assert "W241" not in codes(scan(path, fix=Fix(unit="m")))


def test_one_file_with_another_scalar(tmp_path):
    paths = []
    for i in range(3):
        h = {**line_headers(1, 5), "ffid": i + 1, "source_x": 5000, "offset": 0}
        if i == 2:
            h["coordinate_scalar"] = 1
        paths.append(make_segy(tmp_path / f"{i}.sgy", smooth(5, 30), headers=h))
    findings = [f for f in scan(paths).findings if f.code == "W223"]
    assert len(findings) == 1
    assert "2.sgy" in findings[0].message
    assert "-100" in findings[0].fix


def test_files_with_other_time_axes(tmp_path):
    a = make_segy(tmp_path / "a.sgy", smooth(4, 30))
    b = make_segy(tmp_path / "b.sgy", smooth(4, 31))
    c = make_segy(tmp_path / "c.sgy", smooth(4, 30), dt=2000)
    assert {"E260", "E261"} <= set(codes(scan([a, b, c])))


# ---- SU


@pytest.mark.parametrize("endian", ["big", "little"])
def test_su_in_both_orders(tmp_path, endian):
    path = make_segy(tmp_path / "a.su", smooth(10, 30), endian=endian, headers=line_headers(2, 5), su=True)
    f = scan(path).files[0]
    assert (f.kind, f.endian, f.ns, f.n_traces, f.dt) == ("su", endian, 30, 10, 0.004)


# ---- what is no SEG-Y


def test_what_is_no_seismic_file(tmp_path):
    (tmp_path / "dir.sgy").mkdir()
    (tmp_path / "empty.sgy").write_bytes(b"")
    (tmp_path / "two.sgy").write_bytes(b"ab")
    (tmp_path / "text.sgy").write_text("this is a job file\n" * 1000)
    (tmp_path / "zeros.sgy").write_bytes(bytes(10_000))
    (tmp_path / "short.su").write_bytes(bytes(100))
    os.mkfifo(tmp_path / "pipe.sgy")
    for name in ("dir", "empty", "two", "text", "zeros", "pipe"):
        with pytest.raises(SegyError) as caught:
            scan(tmp_path / f"{name}.sgy")
        assert caught.value.fix
        assert name in caught.value.message
    with pytest.raises(SegyError):
        scan(tmp_path / "short.su")
    with pytest.raises(MissingInputError):
        scan(tmp_path / "absent.sgy")
    with pytest.raises(MissingInputError):
        scan([])
    for odd in ("/dev/null", "nul\0byte"):
        with pytest.raises((SegyError, MissingInputError)):
            scan(odd)


def test_compressed_files_are_named_as_such(tmp_path):
    import gzip

    path = tmp_path / "a.sgy"
    path.write_bytes(gzip.compress(RNG.bytes(10_000)))
    with pytest.raises(SegyError, match="gunzip") as caught:
        scan(path)
    assert caught.value.code == "E219"


def test_more_headers_than_memory(tmp_path):
    path = make_segy(tmp_path / "a.sgy", np.ones((1, 1)), code=8)
    try:
        os.truncate(path, 3600 + (1 << 33) * 241)
    except OSError:
        pytest.skip("this file system has no such large sparse files")
    with pytest.raises(MemoryPlanError) as caught:
        scan(path)
    assert caught.value.code == "E611"


def test_short_reads_are_invisible(tmp_path):
    path = make_segy(tmp_path / "a.sgy", smooth(20, 30), headers=line_headers(4, 5))
    want = scan(path).to_dict()
    faults.set_fault(lambda operation, name, n: 1 + n // 3)
    try:
        assert scan(path).to_dict() == want
    finally:
        faults.set_fault(None)


@pytest.mark.parametrize(("small", "read"), [(0, 3), (1 << 22, 1)])
def test_a_failing_disk_is_named(tmp_path, monkeypatch, small, read):
    """The third of many reads, and the only one of a small file."""
    monkeypatch.setattr("subsalt.io.scan.scan._SMALL", small)
    path = make_segy(tmp_path / "a.sgy", smooth(20, 30), headers=line_headers(4, 5))
    faults.set_fault(faults.FaultCounter(read))
    try:
        with pytest.raises(ResourceError, match="at byte") as caught:
            scan(path)
    finally:
        faults.set_fault(None)
    assert caught.value.code == "E601"


def test_one_bad_file_among_good_ones_is_a_finding(tmp_path):
    good = make_segy(tmp_path / "a.sgy", smooth(4, 30))
    (tmp_path / "b.sgy").write_bytes(b"ab")
    r = scan([good, tmp_path / "b.sgy"])
    assert len(r.files) == 1
    assert "E212" in codes(r)
    assert "E212" in r.describe()


def test_many_findings_of_a_kind_are_summed_up(tmp_path):
    paths = [make_segy(tmp_path / f"{i}.sgy", smooth(2, 30 + i), headers={"ns": 7}) for i in range(6)]
    assert "and 3 more like it" in scan(paths).describe()
