"""`subsalt lab memory --device cuda`: copies looked at first, a section that plans read, refusals."""

import json

import pytest

from subsalt.kernels import cuda_library as timed
from subsalt.machine.machine_file import Machine
from subsalt.plan import gpu as gpus
from subsalt_lab import device_memory, machine_tables


def test_rates_are_bytes_over_seconds(emulated, monkeypatch):
    monkeypatch.setattr(timed, "copies", lambda nbytes, rounds, direction: [0.5] * rounds)
    monkeypatch.setattr(timed, "launches", lambda count, rounds: [3e-6] * rounds)
    rows = device_memory.measure(device_memory.Settings(3, 1 << 20)).rows
    rate = {r["what"]: (r["rate"], r["unit"]) for r in rows}
    assert rate["copy"] == (2 * rate["down"][0], "GB/s")
    assert rate["down"] == rate["up"] == ((1 << 20) / 0.5 / 1e9, "GB/s")
    assert rate["launch"] == (pytest.approx(3.0), "us")


def test_figures_become_a_section_that_a_plan_reads(gpu_device):
    result = device_memory.measure(device_memory.Settings(3, 1 << 16))
    rate = {r["what"]: r["rate"] for r in result.rows}
    assert [*rate] == ["copy", "kernel copy", "runtime copy", "down", "up", "launch"]
    assert rate["copy"] == max(rate["kernel copy"], rate["runtime copy"])
    assert all(r["rate"] > 0 and len(r["seconds"]) == 3 for r in result.rows)
    assert ("mean nothing" in " ".join(result.notes)) == gpu_device.availability().emulated
    rows = device_memory.for_machine(result)
    known = Machine({}, {}).merged("device", rows)
    here = gpus.here(known)
    rate = {r["what"]: r["rate"] for r in rows}
    assert (here.copy, here.down, here.up) == tuple(1e9 * rate[w] for w in ("copy", "down", "up"))
    assert (here.launch, here.measured) == (1e-6 * rate["launch"], result.date)
    assert len(known.merged("device", rows).sections["device"]) == len(rows)
    lines = "\n".join(machine_tables.lines(known, ["device"], "text", "machine.json"))
    assert "launch" in lines


def test_the_command_ends_in_the_machine_file(emulated, subsalt_command, tmp_path, monkeypatch):
    monkeypatch.setattr(device_memory, "EMULATED", 1 << 14)
    path = tmp_path / "machine.json"
    code, out, _ = subsalt_command(
        "lab", "memory", "--device", "cuda", "--rounds", "3", "--out", path, "--json"
    )
    assert code == 0
    assert json.loads(out.splitlines()[-1])["measurement"] == "device"
    assert all(r["emulated"] for r in json.loads(path.read_text())["device"])
    code, out, _ = subsalt_command("lab", "machine", "--machine", path, "--section", "device")
    assert code == 0
    assert "launch" in out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--device", "abacus"), "E128"),
        (("--device", "cuda", "--threads", "1"), "E128"),
        (("--device", "cuda"), "E980"),
    ],
)
def test_what_cannot_be_measured_is_refused(subsalt_command, tmp_path, words, code):
    got, out, err = subsalt_command("lab", "memory", *words, "--out", tmp_path / "m.json")
    assert got not in (0, None)
    assert code in out + err
    assert not (tmp_path / "m.json").exists()
