"""SPS, P1/90 and P1/11: columns, joins with traces, and everything that may be wrong, by line and number."""

from __future__ import annotations

import re

import numpy as np
import pytest
from position_files import Numbers, p190_groups, p190_shot, sps_line, sps_point, sps_relation

from job_files import MIGRATE, shared_data, survey, write_files, write_job
from subsalt.errors import DataError, GeometryFindings
from subsalt.io.geometry import columns
from subsalt.io.geometry.join import described
from subsalt.io.geometry.survey import read_geometry
from subsalt.io.segy.reading import read_survey
from subsalt.job.checking import check_job
from subsalt.job.csv_tables import read_table
from subsalt.methods.rtm.job import Job

#: sources at 7/501 and 7/502 (index 2: shot again, moved), receivers 8/100 to 8/110 by 2 and 9/100 to 9/104 by 2
SOURCES = [(501, 1, 1000.0), (502, 1, 1050.0), (502, 2, 1055.0)]
POINTS = [(8, 100 + 2 * k, 500.0 + 25 * k, 2000.0) for k in range(6)]
POINTS += [(9, 100 + 2 * k, 500.0 + 25 * k, 2300.0) for k in range(3)]
#: record, source (line, point), index, channels, receivers (line, from, to), channel increment
RELATIONS = [
    (11, (7, 501), 1, (1, 6), (8, 110, 100), 1),  # laid backward
    (11, (7, 501), 1, (7, 9), (9, 100, 104), 1),
    (12, (7, 502), 1, (1, 6), (8, 100, 110), 1),
    (13, (7, 502), 2, (1, 18), (8, 100, 110), 3),  # three components at each receiver
    (14, (7, 501), 1, (1, 16), (8, 100, 110), 3),  # the same, a relation for each component
    (14, (7, 501), 1, (2, 17), (8, 100, 110), 3),
    (14, (7, 501), 1, (3, 18), (8, 100, 110), 3),
]


def sps(folder, rev=21, change=lambda lines: lines, head=()):
    """Write S, R and X records into one file, after `change`, and return its path."""
    lines = ["H00 SPS format version num.", *head]
    lines += [
        sps_point("S", 7, p, x, 2100.0, 12.5, index=i, depth=3.0, static=-4, rev=rev) for p, i, x in SOURCES
    ]
    lines += [sps_point("R", a, p, x, y, -60.0, static=5 * (p - 100), rev=rev) for a, p, x, y in POINTS]
    lines += [
        sps_relation(n, source, channels, receivers, step=step, index=i, rev=rev)
        for n, source, i, channels, receivers, step in RELATIONS
    ]
    path = folder / "line.sps"
    path.write_text("\r\n".join(change(lines)))
    return path


@pytest.mark.parametrize("rev", [21, 0])
@pytest.mark.parametrize("shifted", [slice(None), slice(1, None, 2), slice(5, 6)])
def test_records_behind_a_blank_are_named(tmp_path, rev, shifted):
    def change(lines):
        rows = range(len(lines))[shifted]
        return [" " * (k in rows) + line for k, line in enumerate(lines)]

    with pytest.raises(GeometryFindings) as caught:
        read_geometry([sps(tmp_path, rev, change)])
    first = next(f for f in caught.value.findings if f.code == "E362")
    assert f"line {range(99)[shifted][0] + 1}: 1 blank before the" in first.message
    assert first.fix.startswith("take the first 1 column")


@pytest.mark.parametrize("rev", [21, 0])
def test_sps_finds_the_receiver_of_every_channel(tmp_path, rev, monkeypatch):
    monkeypatch.setattr(columns, "PIECE", 700)  # lines lie across the pieces in which a file is read
    geometry = read_geometry([sps(tmp_path, rev)])
    ffid = np.repeat([11, 12, 13, 14], [9, 6, 18, 18])
    channel = np.concatenate([np.arange(1, n + 1) for n in (9, 6, 18, 18)])
    src, rcv = geometry.placed(Numbers(ffid, channel), np.zeros(len(ffid)))
    # depth below the surface of the point, minus its elevation
    np.testing.assert_array_equal(src[:, 2], 3.0 - 12.5)
    np.testing.assert_array_equal(src[:, 0], np.repeat([1000.0, 1050.0, 1055.0, 1000.0], [9, 6, 18, 18]))
    line8 = 500.0 + 25.0 * np.arange(6)
    expected = [line8[::-1], line8[:3], line8, np.repeat(line8, 3), np.repeat(line8, 3)]
    np.testing.assert_array_equal(rcv[:, 0], np.concatenate(expected))
    np.testing.assert_array_equal(rcv[:9, 1], np.repeat([2000.0, 2300.0], [6, 3]))
    assert (rcv[:, 2] == 60.0).all()
    np.testing.assert_allclose(geometry.facts["source_statics_s"], -0.004)
    statics = geometry.statics(Numbers(ffid, channel))
    # milliseconds in single precision; those of receivers grow with the point
    expected = np.concatenate([[0.01 * x for x in e] for e in (range(5, -1, -1), range(3), range(6))])
    np.testing.assert_allclose(statics[:15], expected - 0.004, rtol=0, atol=1e-8)
    assert "51 traces, 4 of 4 shots" in described(geometry.facts)


def test_lines_may_have_names_in_either_revision(tmp_path):
    """And points few digits: where these stand tells the revisions apart."""
    for rev in (21, 0):
        lines = [
            sps_point("S", 1, 5, 10.0, 20.0, 0.0, rev=rev),
            sps_point("R", 1, 7, 30.0, 20.0, 0.0, rev=rev),
            sps_relation(4, (1, 5), (1, 1), (1, 7, 7), rev=rev),
        ]
        at = {21: (1, 17, 49), 0: (1, 13, 47)}[rev]
        named = [
            x[:c] + "N-7".ljust(10) + x[c + 10 :] for x, c in zip(lines, (at[0], at[0], at[1]), strict=True)
        ]
        named[2] = named[2][: at[2]] + "N-7".ljust(10) + named[2][at[2] + 10 :]
        (tmp_path / "n.sps").write_text("\n".join(named))
        geometry = read_geometry([tmp_path / "n.sps"])
        assert list(geometry.names) == ["N-7"]
        _, rcv = geometry.placed(Numbers(4, [1]), np.zeros(1))
        np.testing.assert_array_equal(rcv, [[30.0, 20.0, 0.0]])


def test_what_is_no_text_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "LONGEST", 1000)
    monkeypatch.setattr(columns, "PIECE", 700)
    (tmp_path / "x.sps").write_bytes(bytes(4000))
    with pytest.raises(DataError, match="no text of records"):
        read_geometry([tmp_path / "x.sps"])


def test_the_lines_of_the_published_table_are_read(tmp_path):
    """The sample records that go with the column table of rev 2.1."""
    path = tmp_path / "sample.sps"
    path.write_text(
        "H00 SPS format version num.     SPS 2.1, JAN2006\n"
        "S   3762.00   3961.00  1A2     7.2   0    64.8 454773.4 3008241.9  -0.2177042821\n"
        "X  1001   8287311   3762.00   3961.001    1  4351  27023.00  18875.00  19743.001\n"
        + "".join(sps_point("R", 27023, p, 450000.0 + p, 3.0e6, -65.0) + "\n" for p in range(18875, 19744, 2))
    )
    geometry = read_geometry([path])
    src, rcv = geometry.placed(Numbers(82873, [1, 435]), np.zeros(2))
    np.testing.assert_allclose(src[0], [454773.4, 3008241.9, 7.2 + 0.2], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(rcv[:, 0], [468875.0, 469743.0])


def test_shots_join_by_point_and_line(tmp_path):
    """Two lines count shot points alike; the job, the headers or one line alone say which is meant."""
    rows = [p190_shot(line, 901, x, 10.0) for line, x in (("A-1", 100.0), ("B", 900.0))]
    rows[1:1], tail = p190_groups([(1, 90.0, 10.0, 8.0)]), p190_groups([(1, 890.0, 10.0, 8.0)])
    (tmp_path / "nav.p190").write_text("\n".join([*rows, *tail]))
    traces = Numbers(0, [1, 1], 901, paths=("a.sgy", "b.sgy"), file=[0, 1])
    with pytest.raises(GeometryFindings, match=r"E369.*A-1, B"):
        read_geometry([tmp_path / "nav.p190"]).placed(traces, np.zeros(2))
    named = read_geometry([tmp_path / "nav.p190"], lines={"a*": "A-1", "b.sgy": "B"})
    src, rcv = named.placed(traces, np.array([5.0, 6.0]))
    np.testing.assert_array_equal(src, [[100, 10, 5], [900, 10, 6]])  # the format has no source depth
    np.testing.assert_array_equal(rcv, [[90, 10, 8], [890, 10, 8]])
    with pytest.raises(GeometryFindings, match=r"E369.*b.sgy: line 'C'"):
        read_geometry([tmp_path / "nav.p190"], lines={"a*": "A-1", "b*": "C"}).placed(traces, np.zeros(2))


def test_streamers_count_their_channels_on(tmp_path):
    groups = [[(g, 100.0 * s + g, 7.0, 6.0 + s) for g in range(1, 5)] for s in (1, 2)]
    lines = [p190_shot("L", 5, 0.0, 0.0), *p190_groups(groups[0], "1"), *p190_groups(groups[1], "2"), "EOF"]
    (tmp_path / "n.p190").write_text(
        "\n".join(["H2000GRID UNIT                    INTERNATIONAL METRE", *lines])
    )
    geometry = read_geometry([tmp_path / "n.p190"])
    _, rcv = geometry.placed(Numbers(0, np.arange(1, 9), 5), np.zeros(8))
    np.testing.assert_array_equal(rcv[:, 0], [101, 102, 103, 104, 201, 202, 203, 204])
    np.testing.assert_array_equal(rcv[:, 2], np.repeat([7.0, 8.0], 4))
    assert geometry.facts["streamers"] == {"1": "1-4", "2": "5-8"}


P111 = [
    "OGP,OGP P1,1,1.1,1,2020:01:01,00:00:00,x.p111,",
    "S1,0,L7,7,801,801,1,1.5,5,G01,4,,50.0,2000.0,5.0",
    "R1,0,L7,7,801,801,1,1.5,6,S1,9,1,100.5,2000.5,6.0,2,125.5,2000.5,6.0",
]
P190 = [p190_shot("L7", 801, 50.0, 2000.0), *p190_groups([(1, 100.5, 2000.5, 6.0), (2, 125.5, 2000.5, 6.0)])]


def written(folder, kind, change=lambda lines: lines, coding="ascii"):
    """Write a file of positions of a kind and return its path."""
    if kind == "sps":
        path = sps(folder, change=change)
        text = path.read_text()
    else:
        path, text = folder / f"x.{kind}", "\n".join(change({"p111": P111, "p190": P190}[kind]))
    path.write_bytes(text.encode(coding))
    return path


@pytest.mark.parametrize("kind", ["sps", "p190", "p111"])
def test_a_byte_order_mark_is_read_over(tmp_path, kind):
    plain, marked = (read_geometry([written(tmp_path, kind, coding=c)]) for c in ("utf-8", "utf-8-sig"))
    assert marked.facts == plain.facts
    assert len(marked.sources) == len(plain.sources) > 0


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("kind", ["sps", "p190", "p111"])
def test_characters_of_16_bits_have_a_text_of_their_own(tmp_path, kind, coding):
    with pytest.raises(DataError, match="16-bit characters") as caught:
        read_geometry([written(tmp_path, kind, coding=coding)])
    assert "UTF-8" in caught.value.fix


@pytest.mark.parametrize("kind", ["sps", "p190", "p111"])
def test_lines_that_are_no_record_are_counted_and_named(tmp_path, kind):
    """After the header, and as the last line; blank lines are none."""

    def change(lines):
        return [lines[0], "", "total of 3 shots", *lines[1:], "   ", *["== end of file =="] * 7]

    with pytest.raises(GeometryFindings) as caught:
        read_geometry([written(tmp_path, kind, change)])
    (fault,) = [f for f in caught.value.findings if f.code == "E362"]
    assert "line 3: " in fault.message
    assert "; and 3 more lines" in fault.message
    assert len(fault.evidence["lines"]) == 8


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_tables_with_a_byte_order_mark(tmp_path, coding):
    text = "\ufeff" * (coding == "utf-16-le") + "shot,sx,sy,sz\n1,10,0,5\n2,20,0,5\n"
    (tmp_path / "s.csv").write_bytes(text.encode(coding))
    np.testing.assert_array_equal(
        read_table(tmp_path / "s.csv", ("shot", "sx", "sy", "sz"))[:, 1], [10.0, 20.0]
    )


@pytest.mark.parametrize("third", [False, True])
def test_p111_takes_axes_in_their_order(tmp_path, third):
    """Northings first and heights up, as the header says; receivers of three or of four fields."""
    position = [f"2000.5,{x}.25" + (",-6.0" if third else "") for x in (100, 125)]
    head = ["OGP,OGP P1,1,1.1,1,2020:01:01,00:00:00,x.p111,"]
    for k, (name, direction) in enumerate((("Northing", "north"), ("Easting", "east"), ("Height", "up")), 1):
        head.append(f"HC,1,6,1,Coordinate System Axis {k},2,{k},,{name},{direction},{name[0]},1,m")
    body = [
        "S1,0,L7,7,801,801,1,1.5,5,G01,4,,2000.0,50.0,-5.0",
        f"R1,0,L7,7,801,801,1,1.5,6,S1,9,1,{position[0]},2,{position[1]}",
        "P1,0,L7,7,801,801,1,1.5,1,V,2,,1.0,2.0,,10.9,-57.9",
    ]
    (tmp_path / "x.p111").write_text("\n".join(head + body))
    src, rcv = read_geometry([tmp_path / "x.p111"]).placed(Numbers(0, [1, 2], 801), np.zeros(2))
    np.testing.assert_array_equal(src[0], [50.0, 2000.0, 5.0])
    np.testing.assert_array_equal(rcv, [[100.25, 2000.5, 6.0 * third], [125.25, 2000.5, 6.0 * third]])


#: what is changed in the lines of `sps`, the code, and what the message names
WRONG = {
    "overlap": (
        lambda r: [*r, sps_relation(12, (7, 502), (5, 7), (8, 100, 104))],
        "E363",
        "12.*1-6.*5-7.*channel 5",
    ),
    "no point": (
        lambda r: [x for x in r if not x.startswith("R      8.00    104.00")],
        "E366",
        "line 8 .*: 104$",
    ),
    "no source": (
        lambda r: [*r, sps_relation(15, (7, 503), (1, 6), (8, 100, 110))],
        "E366",
        "15.*line 7 point 503",
    ),
    "uneven": (lambda r: [*r, sps_relation(15, (7, 501), (1, 4), (8, 100, 110))], "E365", "line 21.*evenly"),
    "twice": (
        lambda r: [*r, sps_point("R", 8, 104, 560.0, 2000.0, -60.0)],
        "E367",
        "point 104.*line 21, 10.0 m",
    ),
    "two shots": (
        lambda r: [*r, sps_relation(11, (7, 502), (10, 15), (8, 100, 110))],
        "E367",
        "11.*501.*502",
    ),
    "letters": (lambda r: [*r[:3], r[3][:50] + "x" + r[3][51:], *r[4:]], "E362", "line 4: easting.*x"),
    "feet": (lambda r: ["H20 Description of grid units   FEET;", *r], "E368", "line 1.*FEET"),
    "degrees": (
        lambda r: [re.sub(r"^([SR].{45}).{19}", rf"\1{1.25:9.5f}{60.5:10.5f}", x) for x in r],
        "E368",
        "degrees",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused_by_line_and_number(tmp_path, name):
    change, code, says = WRONG[name]
    with pytest.raises(GeometryFindings) as caught:
        read_geometry([sps(tmp_path, change=change)])
    by_code = {f.code: f.message for f in caught.value.findings}
    assert re.search(says, by_code[code]), by_code


def test_the_unit_of_the_job_goes_before_that_of_the_file(tmp_path):
    path = sps(tmp_path, head=["H20 Description of grid units   FEET;"])
    assert read_geometry([path], unit="us-ft").sources.xyz[0, 0] == round(1000.0 * 1200 / 3937, 4)
    path = sps(
        tmp_path, head=["H20 Grid units                  FEET;", "H201Factor to metre             0.5;"]
    )
    assert read_geometry([path]).sources.xyz[0, 0] == 500.0


def test_files_on_two_maps_are_refused(tmp_path):
    zone = "H19 Projection zone             {};"
    (tmp_path / "b").mkdir()
    paths = [sps(tmp_path, head=[zone.format(31)]), sps(tmp_path / "b", head=[zone.format(32)])]
    with pytest.raises(GeometryFindings, match=r"E368.*zones.*'31'.*'32'"):
        read_geometry(paths)


def test_everything_is_said_at_once(tmp_path):
    geometry = read_geometry([sps(tmp_path)])
    with pytest.raises(GeometryFindings) as caught:
        geometry.placed(Numbers([11, 99, 12, 12], [1, 1, 6, 7], 501), np.zeros(4))
    said = {f.code: f.message + f.fix for f in caught.value.findings}
    assert re.search(r"no shot 99 .*byte 9.*there are 11 to 14.*join = \"point\"", said["E364"])
    assert re.search(r"shot 12: channels 7, there are 1-6", said["E365"])
    with pytest.raises(GeometryFindings, match=r"E365.*counted from 0 in the headers"):
        geometry.placed(Numbers(12, np.arange(6)), np.zeros(6))


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """Return a folder with shots whose headers and SPS files say the same, and its survey."""
    folder = tmp_path_factory.mktemp("sps")
    write_files(folder)
    sps_line(folder, survey())
    return folder


def test_a_job_takes_positions_from_sps(line):
    text = MIGRATE.replace('line = "2d"', 'line = "2d"\ngeometry = {files = "line.[srx]"}')
    job = Job.from_toml(write_job(line, text))
    for a, b in zip(job.load_survey().shots, survey().shots, strict=True):
        assert a.id == b.id
        np.testing.assert_array_equal(a.src, b.src)
        np.testing.assert_array_equal(a.rcv, b.rcv)
    result = check_job(job)
    assert not result.has_errors, result.findings
    assert any(
        f.message.startswith("positions of 45 traces, 3 of 3 shots, from SPS rev 2.1")
        for f in result.findings
    )
    assert [p.name for p in job.input_files()["data.geometry.files"]] == ["line.r", "line.s", "line.x"]


def test_a_time_migration_takes_positions_from_sps(line):
    job = Job.from_dict(
        {
            "method": "kirchhoff",
            "data": {"files": ["shots.sgy"], "geometry": {"files": ["line.s", "line.r", "line.x"]}},
            "velocity": {"v": 2000},
        },
        line,
    )
    table = job.open_table()
    assert len(table) == 45
    right = survey()
    np.testing.assert_array_equal(table.src[:, 0], np.repeat([s.src[0] for s in right.shots], 15))
    np.testing.assert_array_equal(table.rcv[:, 0], np.concatenate([s.rcv[:, 0] for s in right.shots]))


@pytest.mark.parametrize("method", ["rtm", "kirchhoff"])
def test_init_begins_a_job_with_files_of_positions(line, method, subsalt_command):
    data, size = bytearray((line / "shots.sgy").read_bytes()), 240 + 4 * 151
    for at in range(3600, len(data), size):  # neither coordinates nor offsets
        data[at + 72 : at + 88], data[at + 36 : at + 40] = bytes(16), bytes(4)
    (line / "bare.sgy").write_bytes(data)
    words = ["--method", method, "--geometry", line / "line.[srx]", "--force"]
    code, out, _ = subsalt_command("init", line / "new.toml", "--from", line / "bare.sgy", *words)
    assert code == 0, out
    job = Job.from_toml(line / "new.toml")
    assert len(job.input_files()["data.geometry.files"]) == 3
    right = survey().shots[0].rcv[:, 0]
    loaded = job.load_survey().shots[0].rcv if method == "rtm" else job.open_table().rcv[:15]
    np.testing.assert_array_equal(loaded[:, 0], right)


def test_a_real_line_is_where_its_headers_say(tmp_path):
    """The headers of four marine shots, written as SPS and joined again by their field records and channels."""
    path = shared_data() / "segy" / "viking_small.segy"
    right = read_survey(path, ndim=3)
    lines = []
    for s in right.shots:
        lines.append(sps_point("S", 12, s.id, *s.src[:2], -s.src[2]))
        lines += [sps_point("R", s.id, k, *p[:2], -p[2]) for k, p in enumerate(s.rcv, 1)]
        lines.append(sps_relation(s.id, (12, s.id), (1, len(s.rcv)), (s.id, 1, len(s.rcv))))
    (tmp_path / "v.sps").write_text("\n".join(lines))
    loaded = read_survey(path, ndim=3, geometry=read_geometry([tmp_path / "v.sps"]))
    for a, b in zip(loaded.shots, right.shots, strict=True):
        # a decimetre is what the columns hold
        np.testing.assert_allclose(a.src, b.src, rtol=0, atol=0.0501)
        np.testing.assert_allclose(a.rcv, b.rcv, rtol=0, atol=0.0501)
