"""The self-test passes here, and says so when it does not."""

import pytest

from subsalt import __version__, doctor
from subsalt.cli.output import plain
from subsalt.errors import DiskError, SubsaltError
from subsalt.host import gpus_of_driver
from subsalt.kernels import cuda_library
from subsalt.kernels.cuda_library import Availability, Gpu
from subsalt.machine import machine_file as machine
from subsalt.machine import storage


def test_the_machine_and_the_self_test(tmp_path):
    diagnosis = doctor.examine(tmp_path)
    assert diagnosis.healthy, diagnosis.tests
    assert [t.name for t in diagnosis.tests] == ["dot product", "restart"]
    assert diagnosis.scratch_write_mb_s > 0
    assert diagnosis.cores >= 1
    text = "\n".join(diagnosis.lines())
    assert "self-test: dot product" in text
    assert "restart identical ok" in text
    assert plain(diagnosis)["tests"][1]["passed"] is True
    # nothing is left in the scratch folder
    assert list(tmp_path.iterdir()) == []


def test_a_failed_test_is_said(tmp_path, monkeypatch):
    def broken():
        raise SubsaltError("kernels are gone")

    monkeypatch.setattr(doctor, "dot_product", broken)
    monkeypatch.setattr(doctor, "restart_identity", lambda: (False, "differs"))
    diagnosis = doctor.examine(tmp_path)
    assert not diagnosis.healthy
    assert "dot product kernels are gone FAILED | restart differs FAILED" in diagnosis.lines()[-1]


def test_a_folder_that_cannot_be_written():
    with pytest.raises(DiskError):
        doctor.write_speed("/proc")


def test_a_scratch_folder_that_cannot_be_written_is_said():
    from pathlib import Path

    diagnosis = doctor.examine(Path("/proc"), self_test=False)
    assert diagnosis.scratch_write_mb_s is None
    assert "cannot be written, see --scratch" in "\n".join(diagnosis.lines())
    with pytest.raises(DiskError):
        doctor.examine(Path("/nowhere-at-all"), self_test=False)


def test_the_driver_lists_gpus(tmp_path):
    assert gpus_of_driver(tmp_path / "no driver") == []
    card = tmp_path / "0000:01:00.0"
    card.mkdir()
    (card / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 42\n")
    (tmp_path / "0000:02:00.0").mkdir()
    assert gpus_of_driver(tmp_path) == ["NVIDIA H200"]


@pytest.mark.parametrize(
    ("availability", "listed", "said"),
    [
        (
            Availability(why="the plug-in for GPUs is not built"),
            [],
            "none: the plug-in for GPUs is not built",
        ),
        (
            Availability(why="the plug-in for GPUs is not built", fix="build it with make cuda"),
            ["NVIDIA H200"],
            "none: NVIDIA H200, the plug-in for GPUs is not built (build it with make cuda)",
        ),
        (
            Availability((Gpu(0, "NVIDIA H200", 139 << 30, (9, 0), 132, "1"),), driver="13.0"),
            [],
            f"NVIDIA H200, 139 GiB, driver 13.0, plug-in {__version__}",
        ),
        (
            Availability(
                tuple(Gpu(i, "NVIDIA A100", 80 << 30, (8, 0), 108, str(i)) for i in (0, 1)), driver="12.8"
            ),
            [],
            f"2 x NVIDIA A100, 80 GiB, driver 12.8, plug-in {__version__}",
        ),
    ],
)
def test_gpus_are_named_or_why_there_are_none(availability, listed, said, monkeypatch):
    monkeypatch.setattr(cuda_library, "availability", lambda: availability)
    monkeypatch.setattr(doctor, "gpus_of_driver", lambda: listed)
    line, facts = doctor.gpus_here()
    assert line == said
    assert [f["name"] for f in facts] == [g.name for g in availability.devices]


def test_what_the_lab_measured_of_the_scratch_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert doctor.measured_rates(tmp_path) == (None, None)
    rows = storage.measure_directory(tmp_path, 8000, 1, record=4000)
    machine.save(machine.default_path(), "storage", rows)
    diagnosis = doctor.examine(tmp_path, self_test=False)
    rates = storage.rates_of(machine.read(machine.default_path()), tmp_path)
    assert (diagnosis.scratch_put_gb_s, diagnosis.scratch_get_gb_s) == (rates.put / 1e9, rates.get / 1e9)
    assert "(lab storage: put " in "\n".join(diagnosis.lines())


def test_half_a_gpu_is_said_once_and_warned_of_nowhere(emulated, subsalt_command, monkeypatch, recwarn):
    """A plug-in without a GPU: the self-tests of the processor do not ask for one."""
    monkeypatch.setenv("SUBSALT_EMULATED_GPUS", "0")
    code, out, err = subsalt_command("doctor")
    assert code == 0
    assert "gpu none: this machine has none" in out + err
    assert not [w for w in recwarn if "GPU" in str(w.message)]
