"""Mistakes of first breaks planted in files, and the cure of each pasted into the job: the finding goes away."""

import re
import struct

import numpy as np
import pytest
from break_surveys import altered, layers, modelled
from rules_alone import rules_on

from job_files import example_job
from subsalt.acquisition.first_breaks import first_breaks
from subsalt.check.channel_fits import reversed_order
from subsalt.io.prestack.table import open_traces
from subsalt.io.scan.scan import scan
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.segy.reading import read_survey
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.methods import method_of
from subsalt.methods.rtm.job import Job

JOB = """\
[data]
files = ["*.sgy"]
line = "2d"

[model]
vp = "vp.rsf"

[source]
f0 = "10 Hz"

[output]
pictures = false
"""
#: codes of this subject
OWN = re.compile(r"[EW]3(4[5-9]|5\d)")


def write(folder, change=None):
    """Write a streamer survey in two files, of shots 1 and 2 and of the others, and its model."""
    survey = modelled("streamer")[0]
    survey = survey if change is None else altered(survey, change)
    write_survey(folder / "a.sgy", survey.select([1, 2]))
    write_survey(folder / "b.sgy", survey.select([3, 4, 5]))
    model = layers()
    volume.write(folder / "vp.rsf", model.grid, np.asarray(model.vp))


def set_words(path, byte, value, binary=None):
    """Write a 2-byte word into all trace headers of a file, and into the file header."""
    raw = bytearray(path.read_bytes())
    ns = struct.unpack(">H", raw[3220:3222])[0]
    for at in range(3600, len(raw), 240 + 4 * ns):
        raw[at + byte - 1 : at + byte + 1] = struct.pack(">h", value)
    if binary is not None:
        raw[binary - 1 : binary + 1] = struct.pack(">h", value)
    path.write_bytes(bytes(raw))


def both(folder, byte, value, binary=None):
    for name in ("a.sgy", "b.sgy"):
        set_words(folder / name, byte, value, binary)


def late(s):
    return np.concatenate([np.zeros((len(s.data), 50), np.float32), s.data[:, :-50]], axis=1)


PLANTS = {
    "interval halved": ("E345", lambda f: (write(f), both(f, 117, 2000, 3217))),
    "interval doubled": ("E345", lambda f: (write(f), both(f, 117, 8000, 3217))),
    "delay of all": ("E346", lambda f: (write(f), both(f, 109, 200))),
    "delay of one file": ("E346", lambda f: (write(f), set_words(f / "a.sgy", 109, 200))),
    "late traces": ("E346", lambda f: write(f, lambda i, s: {"data": late(s)})),
    "late traces of a shot": ("E346", lambda f: write(f, lambda i, s: {"data": late(s)} if i == 3 else {})),
    "reversed": ("E347", lambda f: write(f, lambda i, s: {"data": s.data[::-1]})),
    "one file reversed": ("E347", lambda f: write(f, lambda i, s: {"data": s.data[::-1]} if i < 2 else {})),
    "polarity": ("W351", lambda f: write(f, lambda i, s: {"data": -s.data})),
    "polarity of one file": ("E352", lambda f: write(f, lambda i, s: {"data": -s.data} if i < 2 else {})),
}


def own(folder, text=JOB):
    """Return the findings of this subject by code."""
    path = folder / "line.toml"
    path.write_text(text)
    findings = rules_on(Job.from_toml(path)).findings
    return {f.code: f for f in findings if OWN.fullmatch(f.code)}


def pasted(cure):
    """Return the job with the first setting that a cure names."""
    table, key, value = re.search(r"\[([a-z.]+)\] (\w+) = (\"[^\"]*\"|[-\d.]+)", cure).groups()
    line = f"{key} = {value}\n"
    return JOB.replace("[data]\n", f"[data]\n{line}") if table == "data" else f"{JOB}\n[{table}]\n{line}"


def test_files_in_order(tmp_path):
    write(tmp_path)
    assert own(tmp_path) == {}


@pytest.mark.parametrize("name", PLANTS)
def test_the_cure_works_when_pasted(tmp_path, name):
    code, plant = PLANTS[name]
    plant(tmp_path)
    findings = own(tmp_path)
    assert list(findings) == [code]
    if "file" in name:
        assert "a.sgy" in findings[code].message
        assert "shots 1, 2" in findings[code].message
    assert own(tmp_path, pasted(findings[code].fix)) == {}


def test_channels_reversed_gives_the_places_back(tmp_path):
    write(tmp_path, lambda i, s: {"data": s.data[::-1]})
    files = [tmp_path / "a.sgy", tmp_path / "b.sgy"]
    fix = Fix(channels="reversed")
    assert all(reversed_order(b) for b in first_breaks(read_survey(files, ndim=2)))
    mended = read_survey(files, fix=fix, ndim=2)
    assert not any(reversed_order(b) for b in first_breaks(mended))
    # the same places in a time migration, trace by trace
    table, plain = open_traces(files, fix=fix), open_traces(files)
    for i in np.unique(plain.ffid):
        own_rows = plain.ffid == i
        assert np.array_equal(table.rcv[own_rows], plain.rcv[own_rows][::-1])
        assert np.array_equal(table.src[own_rows], plain.src[own_rows])
    assert np.allclose(table.offset, np.hypot(*(table.rcv - table.src).T))


def test_polarity_changes_every_sample(tmp_path):
    write(tmp_path)
    files = [tmp_path / "a.sgy", tmp_path / "b.sgy"]
    plain, turned = (read_survey(files, fix=Fix(polarity=p), ndim=2) for p in (None, -1))
    for a, b in zip(plain.shots, turned.shots, strict=True):
        assert np.array_equal(plain.traces(a), -turned.traces(b))
    rows = np.arange(5)
    tables = [open_traces(files, fix=Fix(polarity=p)) for p in (None, -1)]
    assert np.array_equal(tables[0].files.read(rows), -tables[1].files.read(rows))


def test_scan_shows_first_breaks(tmp_path, subsalt_command):
    write(tmp_path, lambda i, s: {"data": s.data[::-1]} if i < 2 else {})
    picture = tmp_path / "breaks.png"
    code, out, _ = subsalt_command(
        "scan", tmp_path / "a.sgy", tmp_path / "b.sgy", "--first-breaks", "-o", picture
    )
    assert code == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
    lines = [line for line in out.splitlines() if re.match(r" +\d+ +\d+/48", line)]
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4", "5"]
    assert ["reversed" in line for line in lines] == [True, True, False, False, False]
    assert re.search(r"\b15[01]\d\b", lines[4])


def test_scan_gives_first_breaks_as_json(tmp_path, subsalt_command):
    import json

    write(tmp_path)
    code, out, _ = subsalt_command(
        "scan", tmp_path / "b.sgy", "--first-breaks", "-o", tmp_path / "b.png", "--json"
    )
    assert code == 0
    shots = json.loads(out)["first_breaks"]["shots"]
    assert [s["shot"] for s in shots] == [3, 4, 5]
    assert shots[0]["line"]["velocity_m_per_s"] == pytest.approx(1510, rel=0.01)
    assert len(shots[0]["time_s"]) == len(shots[0]["offset_m"]) == 48


def test_a_picture_is_of_first_breaks_only(tmp_path, subsalt_command):
    write(tmp_path)
    code, _, err = subsalt_command("scan", tmp_path / "a.sgy", "-o", tmp_path / "x.png")
    assert code == 78
    assert "--first-breaks" in err


def test_exchanged_sources_and_receivers_and_their_cure(tmp_path):
    write(tmp_path)
    path = tmp_path / "a.sgy"
    raw = bytearray(path.read_bytes())
    ns = struct.unpack(">H", raw[3220:3222])[0]
    for at in range(3600, len(raw), 240 + 4 * ns):
        raw[at + 72 : at + 80], raw[at + 80 : at + 88] = raw[at + 80 : at + 88], raw[at + 72 : at + 80]
    path.write_bytes(bytes(raw))
    (findings,) = [f for f in scan(path).findings if f.code == "W224"]
    assert "one receiver" in findings.message
    named = dict(re.findall(r"(\w+_[xy]) = (\d+)", findings.fix))
    header = HeaderBytes(**{name: int(byte) for name, byte in named.items()})
    assert not [f for f in scan(path, header).findings if f.code == "W224"]


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["viking", "viking_time", "cdp601to610"])
def test_field_data_in_order(tmp_path, name):
    job_class = method_of("rtm" if name == "viking" else "kirchhoff").job_class()
    job = job_class.from_toml(example_job(tmp_path, name))
    assert [f for f in rules_on(job).findings if OWN.fullmatch(f.code)] == []
