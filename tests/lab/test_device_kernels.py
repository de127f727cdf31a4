"""`subsalt lab kernels --device cuda`: answers compared first, shares of the copy of the same rounds, refusals."""

import json
from itertools import count

import numpy as np
import pytest

from subsalt.errors import DeviceError, SubsaltError
from subsalt.machine.machine_file import Machine
from subsalt_lab import device_kernels
from subsalt_lab.kernel_models import KernelModel


def test_rows_are_shares_of_the_copy(emulated, monkeypatch):
    """With a clock that ticks once per call the seconds are known, and so is the copy."""
    from subsalt.kernels import cuda_library

    monkeypatch.setattr(device_kernels, "STEPS", 2)
    monkeypatch.setattr(cuda_library, "copies", lambda nbytes, rounds, direction="copy": [0.5] * rounds)
    ticks = count()
    settings = device_kernels.Settings(["isotropic"], [8], ["f32", "u16"], n=48, rounds=3)
    result = device_kernels.measure(settings, clock=lambda: float(next(ticks)), seconds=0.5, copied=1 << 20)
    assert [(r["model_storage"], r["boundary"]) for r in result.rows] == [
        ("f32", "none"), ("f32", "pml"), ("u16", "none"), ("u16", "pml"),
    ]  # fmt: skip
    for row, moved in zip(result.rows, (16, 16, 14, 14), strict=True):
        rate = 48**3 * device_kernels.STEPS
        assert row["points_per_s"] == pytest.approx(rate)
        assert row["of_copy"] == pytest.approx(rate * moved / (2 * (1 << 20) / 0.5))
    assert any("emulated" in note for note in result.notes)
    machine = Machine({}).merged("device_kernels", device_kernels.for_machine(result))
    assert len(machine.find("device_kernels", medium="isotropic", boundary="pml")) == 2


def test_a_wrong_answer_is_no_figure(emulated, monkeypatch):
    from subsalt.kernels import cuda

    whole = cuda.Segment.advance

    def wrong(self, state, *rest):
        done = whole(self, state, *rest)
        values = np.asarray(state.curr[0])
        values[30, 30, 40] = np.nextafter(values[30, 30, 40], np.float32(2))
        state.curr[0][...] = values
        return done

    monkeypatch.setattr(cuda.Segment, "advance", wrong)
    with pytest.raises(SubsaltError, match="on the GPU"):
        device_kernels.verify(KernelModel(48, "isotropic", 8), "f32")


def test_a_grid_that_does_not_fit_is_refused(emulated, monkeypatch):
    monkeypatch.setenv("SUBSALT_EMULATED_MEMORY", str(100 << 20))
    with pytest.raises(DeviceError) as said:
        device_kernels.measure(device_kernels.Settings(["vti"], [8], n=256))
    assert said.value.code == "E988"
    assert "-n 256" in str(said.value)


def test_options_of_the_processor_are_refused(emulated, subsalt_command):
    assert subsalt_command("lab", "kernels", "--device", "cuda", "--threads", "1")[0] == 2
    assert subsalt_command("lab", "kernels", "--device", "abacus")[0] == 2


def test_without_a_gpu_it_says_so(subsalt_command):
    code, _, err = subsalt_command("lab", "kernels", "--device", "cuda", "--quick")
    assert code == 69
    assert "E980" in err


def test_the_command_ends_in_the_machine_file(emulated, subsalt_command, tmp_path, monkeypatch):
    file = tmp_path / "machine.json"
    words = ("--medium", "isotropic", "-n", "64", "--rounds", "3", "--quick", "--out", file, "--json")
    monkeypatch.setattr(device_kernels, "STEPS", 2)
    whole = device_kernels.measure
    monkeypatch.setattr(
        device_kernels, "measure", lambda s, say: whole(s, seconds=1e-6, copied=1 << 20, say=say)
    )
    code, out, _ = subsalt_command("lab", "kernels", "--device", "cuda", *words)
    assert code == 0
    assert json.loads(out.splitlines()[-1])["measurement"] == "device_kernels"
    assert len(json.loads(file.read_text())["device_kernels"]) == 2
