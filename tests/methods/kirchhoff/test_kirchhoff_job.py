"""The job of a time migration: its tables, what they refuse, what is explained, and the number that stands for it."""

import json
import tomllib

import pytest

from subsalt.errors import ConfigError, FindingsError, MissingInputError
from subsalt.job.base import read_job
from subsalt.job.schema import schema_text
from subsalt.job.text import explain_key
from subsalt.methods.kirchhoff.job import KirchhoffJob
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.rtm.job import Job

BASE = {"method": "kirchhoff", "data": {"files": ["line.sgy"]}, "velocity": {"v": 2000}}


def job(**tables):
    """Return the small base job with tables replaced or added."""
    return Job.from_dict({**BASE, **tables})


def problems(raw=None, **tables):
    """Return the findings of a job that is wrong, by key."""
    with pytest.raises(FindingsError) as caught:
        Job.from_dict(raw) if raw else job(**tables)
    assert caught.value.exit_code == 78
    return {f.evidence["key"]: f for f in caught.value.findings}


def test_the_method_decides_the_class():
    assert isinstance(job(), KirchhoffJob)
    assert job().method == "kirchhoff"
    rtm = {"model": {"vp": 2000}, "grid": {"spacing": 10, "shape": [101, 51]}, "source": {"f0": 15}}
    assert type(KirchhoffJob.from_dict(rtm)) is Job
    assert Job.from_dict({"method": "rtm", **rtm}).method == "rtm"


def test_units_and_words_reach_the_options():
    built = job(
        kirchhoff={
            "aperture": "3 km",
            "dip": "60 deg",
            "stretch_mute": "15 %",
            "antialias_spacing": "15 m",
            "amplitude": "2.5d",
            "dip_taper": "20 %",
            "memory": "1 GB",
            "save_every": "2 min",
        }
    )
    options = built.options
    assert (options.aperture, options.dip, options.stretch_mute) == (3000.0, 60.0, 0.15)
    assert (options.antialias_spacing, options.amplitude, options.dip_taper) == ((15.0, 15.0), "2.5d", 0.2)
    assert (built.kirchhoff.memory, built.kirchhoff.save_every) == (1_000_000_000, 120.0)
    off = job(kirchhoff={"aperture": "all", "dip": "all", "stretch_mute": "off", "antialias_spacing": "bins"})
    assert off.kirchhoff.options(line=True) == KirchhoffOptions(amplitude="2.5d", stretch_mute=None)


def test_defaults_of_job_and_options_are_the_same():
    assert job().kirchhoff.options(line=False) == KirchhoffOptions()


def test_the_resolved_job_shows_every_default_and_reads_back():
    made = job(
        kirchhoff={"corners": [[1, 1, 0, 0], [1, 9, 0, 80], [5, 1, 40, 0]], "antialias_spacing": [15, 20]}
    )
    text = made.resolved_toml()
    for name in KirchhoffOptions.__dataclass_fields__:
        assert f"\n{name} = " in text
    again = Job.from_dict(tomllib.loads(text))
    assert again == made
    assert again.run_id([]) == made.run_id([])


def test_the_run_id_holds_what_changes_the_image():
    start = job().run_id([])
    same = {"trace_block": 7, "memory": "2 GB", "save_every": 1}
    assert (
        job(kirchhoff=same, parallel={"threads": 3}, output={"formats": ["rsf"]}, title="x").run_id([])
        == start
    )
    assert job(kirchhoff={"bands": 9}).run_id([]) != start
    assert job().changed("velocity", scale=1.05).run_id([]) != start


@pytest.mark.parametrize(
    ("table", "code", "said", "cure"),
    [
        ({"bands": 0}, "E762", "bands = 0", "bands = 10"),
        ({"aperture": 0}, "E763", "aperture = 0.0 m", "all"),
        ({"dip": 95}, "E763", "dip = 95.0", "below 90"),
        ({"stretch_mute": "-5 %"}, "E764", "stretch_mute = -0.05", "30 %"),
        ({"antialias_spacing": [15, 0]}, "E767", "antialias_spacing", "two distances"),
        ({"corners": [[1, 1, 0], [1, 9, 0, 80]]}, "E760", "[1, 1, 0]", "corners = [["),
        ({"inline": {"first": 1, "last": 9, "step": 0}}, "E761", "a step of 0", "step of 1"),
        ({"crossline": {"first": 9, "last": 1}}, "E761", "never reached", "step of -1"),
        ({"bandz": 10}, "E101", "unknown key", "did you mean 'bands'?"),
        ({"cdp": {"first": 1, "last": 9}}, "E101", "unknown key", "did you mean 'crossline'?"),
        ({"inline": {"first": 1, "last": 9, "increment": 2}}, "E101", "unknown key", "did you mean 'step'?"),
        ({"maximum_stretch": 15}, "E101", "unknown key", "did you mean 'stretch_mute'?"),
        ({"aperture": "3 s"}, "E103", "measures a time", "12.5 m"),
        ({"stretch_mute": "some"}, "E103", "'some'", 'or "off"'),
        ({"interpolation": "spline"}, "E104", "not one of sinc, linear", "did you mean 'linear'"),
        ({"block_moveout": "on"}, "E104", "'on'", ""),
        ({"save_every": -1}, "E104", "-1 s", "0 for no restart points"),
        ({"sectors": 0}, "E104", "0", "sectors"),
    ],
)
def test_wrong_values_name_key_value_and_cure(table, code, said, cure):
    findings = problems(kirchhoff=table)
    (finding,) = findings.values()
    assert next(iter(findings)).startswith(f"kirchhoff.{next(iter(table))}")
    assert finding.code == code
    assert said in finding.message
    assert cure in finding.fix


@pytest.mark.parametrize(
    ("table", "code", "said"),
    [
        ({"corners": [[1, 1, 0, 0]], "azimuth": 30}, "E760", "both place the grid"),
        ({"azimuth": 30}, "E760", "azimuth without origin and spacing"),
        ({"azimuth": 30, "origin": [0, 0], "spacing": [25, 25]}, "E760", "ranges are not given"),
        ({"gathers": "offset"}, "E768", "without offset classes"),
        (
            {"gathers": "full-offset", "offset": {"first": 0, "last": 100, "step": 50}},
            "E768",
            "trace per offset",
        ),
        ({"sectors": 4}, "E768", "divide gathers"),
        ({"gathers": "offset", "offset": {"first": 0, "last": 110, "step": 50}}, "E768", "never reached"),
    ],
)
def test_keys_that_contradict_each_other(table, code, said):
    (finding,) = problems(kirchhoff=table).values()
    assert finding.code == code
    assert said in finding.message
    assert finding.fix


def test_everything_wrong_comes_at_once():
    findings = problems(
        kirchhoff={"bands": 0, "aperture": -1, "stretch_mute": 0}, output={"formats": ["png"]}
    )
    assert set(findings) == {
        "kirchhoff.bands",
        "kirchhoff.aperture",
        "kirchhoff.stretch_mute",
        "output.formats[0]",
    }


def test_tables_and_keys_of_the_other_method_say_so():
    findings = problems(imaging={}, data={"files": ["a.sgy"], "shots": "1-10"}, parallel={"io": "broadcast"})
    assert {f.code for f in findings.values()} == {"E769"}
    assert "[imaging] belongs to method rtm" in findings["imaging"].message
    assert 'method = "rtm"' in findings["imaging"].fix
    assert "[data] shots belongs to method rtm" in findings["data.shots"].message


def test_a_file_without_method_is_told_the_line_that_is_missing():
    findings = problems({k: v for k, v in BASE.items() if k != "method"})
    assert list(findings) == ["velocity"]
    assert 'put method = "kirchhoff" at the top' in findings["velocity"].fix


def test_unknown_methods_get_a_suggestion():
    findings = problems({**BASE, "method": "kirchoff"})
    assert "did you mean 'kirchhoff'?" in findings["method"].fix
    assert problems({**BASE, "method": 3})["method"].fix == "use one of rtm, kirchhoff, lsrtm"


def test_lines_of_the_file_are_named(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(
        'method = "kirchhoff"\n[data]\nfiles = "a.sgy"\n[velocity]\nv = 2000\n[kirchhoff]\nbands = 0\n'
    )
    with pytest.raises(FindingsError) as caught:
        read_job(path)
    assert "kirchhoff.bands (line 7)" in caught.value.findings[0].message
    path.write_text('method = "kirchof"\n')
    with pytest.raises(FindingsError) as caught:
        read_job(path)
    assert "method (line 1)" in caught.value.findings[0].message
    with pytest.raises(MissingInputError):
        read_job(tmp_path / "b.toml")


def test_shots_cannot_be_selected():
    with pytest.raises(ConfigError, match="takes all traces") as caught:
        job().with_shots("1-10")
    assert caught.value.code == "E769"


def test_explanations_name_the_method_where_it_matters():
    mute = explain_key("kirchhoff.stretch_mute")
    assert "default: 0.3" in mute["text"]
    assert "(method kirchhoff)" in mute["text"]
    assert explain_key("stretch_mute")["key"] == "kirchhoff.stretch_mute"
    assert "antialias_spacing" in explain_key("[kirchhoff]")["text"]
    both = explain_key("aperture")
    assert both["methods"] == "rtm, kirchhoff, lsrtm"
    assert "imaging.aperture" in both["text"]
    assert "kirchhoff.aperture" in both["text"]
    assert "method" not in explain_key("data.preset")["text"]


def test_the_schema_serves_all_methods():
    schema = json.loads(schema_text())
    assert {"model", "source", "kirchhoff", "velocity", "method"} <= set(schema["properties"])
    rtm, kirchhoff, lsrtm = (rule["then"] for rule in schema["allOf"])
    assert set(rtm["required"]) == {"model", "source"}
    assert "inversion" not in rtm["properties"]
    assert {"inversion", "imaging"} <= set(lsrtm["properties"])
    assert set(kirchhoff["required"]) == {"data", "method", "velocity"}
    assert "imaging" not in kirchhoff["properties"]
    described = schema["$defs"]["KirchhoffSection"]["properties"]
    assert all(p.get("description") for p in described.values())
