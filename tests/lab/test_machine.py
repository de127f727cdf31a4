"""machine.json: round trip, sections that grow, files that are damaged or of another machine."""

import json

import pytest

from subsalt.errors import ConfigError, DataError, MissingInputError, SubsaltError
from subsalt.machine import machine_file as machine


def row(**more):
    return {"what": "update", "isa": "v4", "threads": 1, "rate": 40.0, "date": "2026-01-01T00:00:00Z"} | more


def test_what_is_saved_is_read(tmp_path):
    path = tmp_path / "new" / "machine.json"
    machine.save(path, "memory", [row(), row(threads=2, rate=60.0)])
    read_back = machine.read(path)
    assert read_back.sections == {"memory": [row(), row(threads=2, rate=60.0)]}
    assert read_back.is_same(machine.Machine.here())
    assert json.loads(path.read_text())["schema"] == machine.SCHEMA


def test_sections_and_rows_of_others_stay(tmp_path):
    path = tmp_path / "machine.json"
    machine.save(path, "memory", [row(), row(threads=2)])
    kernel = {"medium": "vti", "order": 8, "points_per_s": 1e9}
    machine.save(path, "kernels", [kernel])
    machine.save(path, "memory", [row(threads=2, rate=70.0)])
    read_back = machine.read(path)
    assert read_back.sections["kernels"] == [kernel]
    assert read_back.sections["memory"] == [row(), row(threads=2, rate=70.0)]


def test_a_noisy_row_does_not_replace_a_quiet_one_of_the_same_version():
    def rate_after(old, new):
        return (
            machine.Machine.here()
            .merged("memory", [old])
            .merged("memory", [new])
            .sections["memory"][0]["rate"]
        )

    quiet, noisy = row(version="1", noisy=False, rate=1.0), row(version="1", noisy=True, rate=2.0)
    assert rate_after(quiet, noisy) == 1.0
    assert rate_after(noisy, quiet) == 1.0
    assert rate_after(noisy, noisy | {"rate": 3.0}) == 3.0
    assert rate_after(quiet, noisy | {"version": "2"}) == 2.0


def test_saving_says_how_many_rows_were_left_out(tmp_path):
    path = tmp_path / "machine.json"
    assert machine.save(path, "memory", [row(noisy=False), row(threads=2, noisy=True)]) == 0
    assert (
        machine.save(path, "memory", [row(noisy=True, rate=1.0), row(threads=2, noisy=True, rate=2.0)]) == 1
    )
    assert [r["rate"] for r in machine.read(path).sections["memory"]] == [40.0, 2.0]


def test_every_key_of_a_kernel_row_tells_rows_apart():
    base = dict.fromkeys(machine.KEYS["kernels"], 0)
    rows = [base, *(base | {k: 1} for k in base)]
    merged = machine.Machine.here().merged("kernels", rows).merged("kernels", rows)
    assert merged.sections["kernels"] == rows


def test_quiet_rows_are_found_first_then_the_newest(tmp_path):
    rows = [
        row(isa="v2", noisy=False, date="2026-01-01"),
        row(isa="v3", noisy=False, date="2026-02-01"),
        row(isa="v4", noisy=True, date="2026-03-01"),
    ]
    chosen_row = machine.Machine.here().merged("memory", rows).find("memory", what="update")
    assert [r["isa"] for r in chosen_row] == ["v3", "v2", "v4"]
    assert machine.Machine.here().find("kernels", medium="tti") == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "not JSON"),
        ("[]", "no format"),
        ("{}", "no format"),
        ('{"schema": "subsalt-machine-9", "machine": {}}', "subsalt-machine-9"),
        ('{"schema": "subsalt-machine-1"}', "no machine"),
        ('{"schema": "subsalt-machine-1", "machine": {}, "memory": {"a": 1}}', "'memory'"),
        ('{"schema": "subsalt-machine-1", "machine": {}, "memory": [1]}', "'memory'"),
        ("[" * 100_000, "not JSON"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_damaged_file_is_refused_and_kept(tmp_path, content, why):
    path = tmp_path / "machine.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    for use in (machine.read, machine.prepare, lambda p: machine.save(p, "memory", [row()])):
        with pytest.raises(DataError, match="cannot be used") as error:
            use(path)
        assert error.value.code == "E643"
        assert why in error.value.message
    assert path.read_bytes() == before


def test_a_file_of_another_machine_is_refused(tmp_path):
    path = tmp_path / "machine.json"
    other = {"schema": machine.SCHEMA, "machine": {"cpu": "Z80", "system": "CP/M"}}
    path.write_text(json.dumps(other))
    with pytest.raises(ConfigError, match="Z80, CP/M") as error:
        machine.prepare(path)
    assert error.value.code == "E644"
    assert machine.read(path).machine["cpu"] == "Z80"


def test_the_cache_is_of_the_machine_that_was_measured_last(tmp_path, monkeypatch):
    """A home folder that machines share, or a processor that is told more exactly than before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = machine.default_path()
    path.parent.mkdir()
    path.write_text(json.dumps({"schema": machine.SCHEMA, "machine": {"cpu": "Z80", "system": "CP/M"}}))
    assert not machine.prepare(path).sections
    machine.save(path, "memory", [row()])
    assert machine.read(path).is_same(machine.Machine.here())
    assert machine.read(path).sections["memory"]
    assert machine.read(path.with_name("machine.other.json")).machine["cpu"] == "Z80"


def test_reading_what_is_not_there_says_how_to_make_it(tmp_path):
    with pytest.raises(MissingInputError, match="subsalt lab kernels"):
        machine.read(tmp_path / "machine.json")


def test_a_name_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path):
    with pytest.raises(SubsaltError, match="cannot be written"):
        machine.prepare(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SubsaltError):
        machine.prepare(tmp_path / "file" / "machine.json")


def test_the_default_place_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert machine.default_path() == tmp_path / "subsalt" / "machine.json"
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        monkeypatch.setenv("HOME", "/home/someone")
        assert str(machine.default_path()) == "/home/someone/.cache/subsalt/machine.json"
