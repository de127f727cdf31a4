"""Hints of MPI-IO: what is compared, what is decided, what is written, and that a real library takes it from there."""

import random
from pathlib import Path

import numpy as np
import pytest
from launch import MPI
from openmpi_environment import openmpi as openmpi  # a fixture

from subsalt.errors import DeviceError, MissingInputError, SubsaltError
from subsalt.machine.launcher import Launcher
from subsalt_lab.cli import collectives as command
from subsalt_lab.collectives import hint_programs, io_hints
from subsalt_lab.collectives.hint_programs import DEFAULT, HintRequest, Hints
from subsalt_lab.collectives.io_hints import HintTimes, decide
from subsalt_lab.collectives.io_hints_worker import part_of, values
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

NOWHERE = MpiInUse("mpich", "5.0.2", Path("/nowhere/libmpi.so.12"), None, None, Launcher(("mpiexec",)))
FAST = Hints("fast", {"cb_nodes": "2"})
SLOW = Hints("slow", {"romio_cb_write": "enable"})
DEAF = Hints("deaf", {"striping_factor": "4"})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(bytes(2 << 20))
    return path


def request(file, **more):
    return HintRequest(file, 2, file.parent / "hints", rounds=more.pop("rounds", 8), **more)


class Fake:
    """Stands for the programs: seconds by name of the hints, with noise that is the same for a whole round."""

    def __init__(self, seconds, seed=0, failing=(), wrong=()):
        self.seconds, self.noise, self.failing, self.wrong = seconds, random.Random(seed), failing, wrong
        self.ran = []

    def __call__(self, runner, hints, *, ours=False):
        self.ran.append(hints.name)
        assert (runner.scratch.parent, runner.scratch.is_dir()) == (runner.request.file.parent, True)
        if hints.name in self.failing:
            raise SubsaltError("MPI-IO ended with exit code 1: a component is missing", "", code="E781")
        back = {} if hints.name == "deaf" else dict(hints.hints)
        part = self.seconds[hints.name] * (1.0 + 0.05 * self.noise.random())
        return {
            "seconds": {"write_slabs": part, "read_slabs": part / 2} | ({"ours_write": 1e6} if ours else {}),
            "came_back": back,
            "variables": {},
            "wrong": ["a byte"] if hints.name in self.wrong else [],
        }


@pytest.fixture
def fake(monkeypatch):
    def put(fake, candidates=(DEFAULT, FAST, SLOW, DEAF)):
        monkeypatch.setattr(io_hints.Programs, "run", lambda self, h, ours=False: fake(self, h, ours=ours))
        monkeypatch.setattr(io_hints, "candidates", lambda *about: list(candidates))
        return fake

    return put


def test_faster_hints_are_found_and_deaf_ones_left_out(fake, file):
    ran = fake(Fake({"default": 2.0, "fast": 1.0, "slow": 3.0, "deaf": 0.1})).ran
    measured_hints, _, _ = io_hints.measure(NOWHERE, request(file))
    assert [(c.hints.name, c.why) for c in measured_hints] == [
        ("default", "the library's own"),
        ("fast", "switch"),
        ("slow", "slower"),
        ("deaf", "left out: striping_factor 4 was asked, nothing came back"),
    ]
    assert [c.switch for c in measured_hints] == [False, True, False, False]
    # one run that is not timed; the deaf ones never again
    assert {n: ran.count(n) for n in set(ran)} == {"default": 9, "fast": 9, "slow": 9, "deaf": 1}
    # what subsalt's own writer takes is no part of the comparison
    assert max(measured_hints[0].totals) < 4.0
    assert measured_hints[1].paired.ratio_low > 1.05


def test_noise_chooses_nothing_in_95_of_100_seeds(fake, file):
    chosen = 0
    for seed in range(100):
        noise = np.random.default_rng(seed)
        rounds = [{"write_slabs": float(t)} for t in np.exp(0.2 * noise.standard_t(3, 40))]
        some = [HintTimes(h, tuple(rounds[i::4]), {}) for i, h in enumerate((DEFAULT, FAST, SLOW, DEAF))]
        chosen += any(c.switch for c in decide(some))
    assert chosen <= 5


def test_hints_that_do_not_run_are_left_out(fake, file):
    fake(Fake({"default": 1.0, "fast": 1.0, "slow": 1.0, "deaf": 1.0}, failing=("slow",)))
    measured_hints, _, _ = io_hints.measure(NOWHERE, request(file))
    assert measured_hints[-2].why.startswith("left out: ") or measured_hints[-1].why.startswith("left out: ")
    assert {c.hints.name for c in measured_hints if c.why.startswith("left out")} == {"slow", "deaf"}


def test_wrong_data_stop_everything_and_leave_nothing(fake, file):
    fake(Fake({"default": 1.0, "fast": 1.0, "slow": 1.0, "deaf": 1.0}, wrong=("fast",)))
    with pytest.raises(SubsaltError, match="with fast is wrong: a byte") as wrong:
        io_hints.measure(NOWHERE, request(file))
    assert wrong.value.code == "E946"
    assert [p.name for p in file.parent.iterdir()] == ["model.bin"]


def test_an_interrupt_leaves_nothing(fake, file):
    def strike(*about, **more):
        raise KeyboardInterrupt

    fake(strike)
    with pytest.raises(SubsaltError, match="interrupted"):
        command.hints(NOWHERE, request(file), "text", None, False)
    assert [p.name for p in file.parent.iterdir()] == ["model.bin"]


def test_what_was_measured_with_ranks_that_take_turns_is_never_written(fake, file, monkeypatch, capsys):
    fake(Fake({"default": 2.0, "fast": 1.0, "slow": 3.0, "deaf": 1.0}))
    for module in (io_hints, hint_programs):
        monkeypatch.setattr(module, "usable_cores", lambda: 1)
    with pytest.raises(DeviceError, match="take turns") as turned:
        hint_programs.check(request(file))
    assert turned.value.code == "E921"
    assert command.hints(NOWHERE, request(file, oversubscribe=True), "text", None, False) is None
    printed = capsys.readouterr().out
    assert "nothing is written" in printed
    assert "positioned writes" in printed
    assert not list((file.parent / "hints").iterdir())


def test_what_cannot_be_measured_is_refused(file, tmp_path):
    with pytest.raises(MissingInputError, match="no such file"):
        hint_programs.check(request(tmp_path / "none"))
    small = tmp_path / "small"
    small.write_bytes(b"x")
    with pytest.raises(SubsaltError, match="too small"):
        hint_programs.check(request(small))
    with pytest.raises(SubsaltError, match="--rounds 3"):
        hint_programs.check(request(file, rounds=3))


def test_a_folder_that_cannot_be_written_is_told(file, monkeypatch):
    def refuse(**about):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(hint_programs.tempfile, "mkdtemp", refuse)
    with pytest.raises(SubsaltError, match=f"{file.parent}"):
        io_hints.measure(NOWHERE, request(file))


def test_patterns_cut_the_whole_volume_once():
    shape = (4, 6, 5)
    whole = values(shape, (slice(0, 4), slice(0, 6)))
    np.testing.assert_array_equal(whole.ravel(), np.arange(120))
    for pattern in hint_programs.PATTERNS:
        parts = [part_of(pattern, shape, r, 2) for r in range(2)]
        covered = np.zeros(shape, int)
        for part in parts:
            covered[part] += 1
            np.testing.assert_array_equal(whole[part], values(shape, part))
        assert (covered == 1).all()


def test_a_volume_is_about_as_large_as_the_file():
    for nbytes in (1 << 20, 10_000_000, 123_456_789):
        nx, ny, nz = hint_programs.shape_of(nbytes, 2)
        assert nx % 2 == ny % 2 == 0
        assert nbytes - 2 * ny * nz * 4 < nx * ny * nz * 4 <= nbytes


def test_stripes_are_asked_for_where_there_are_some():
    names = [h.name for h in hint_programs.candidates("mpich", 4, "lustre")]
    assert "16 stripes" in names
    assert "16 stripes" not in [h.name for h in hint_programs.candidates("mpich", 4, "ext4")]
    for family in ("mpich", "openmpi", "intel"):
        sets = hint_programs.candidates(family, 2)
        assert sets[0].is_default
        assert len({h.name for h in sets}) == len(sets)
        assert len({str((h.hints, h.variables)) for h in sets}) == len(sets)


class TestLibraryInUse:
    pytestmark = MPI

    def test_hints_that_were_chosen_are_written_and_come_back(self, file):
        mpi = MpiInUse.find()
        if mpi.family == "openmpi":
            pytest.skip("its own MPI-IO takes no file of hints")
        wanted = request(file)
        chosen = HintTimes(Hints("two", {"romio_cb_write": "enable", "cb_buffer_size": "1048576"}), (), {})
        environment, files = io_hints.write(mpi, wanted, chosen)
        assert files == [wanted.folder / "mpiio.hints"]
        assert files[0].read_text() == "romio_cb_write enable\ncb_buffer_size 1048576\n"
        assert environment == {"ROMIO_HINTS": str(files[0])}
        # none chosen: those of before go
        assert io_hints.write(mpi, wanted, None) == ({}, [])
        assert not files[0].exists()
        deaf = HintTimes(Hints("deaf", {"no_such_hint": "1"}), (), {})
        with pytest.raises(DeviceError, match="no_such_hint 1 was asked, nothing came back") as wrong:
            io_hints.write(mpi, wanted, deaf)
        assert wrong.value.code == "E945"
        assert not list(wanted.folder.iterdir())
        assert not [p for p in file.parent.iterdir() if p.name.startswith(".")]

    def test_open_mpi_tells_its_variables(self, openmpi, monkeypatch, file):
        for name, value in openmpi.environment.items():
            monkeypatch.setenv(name, value)
        chosen = HintTimes(Hints("one", {}, {"io_ompio_num_aggregators": "1"}), (), {})
        environment, files = io_hints.write(openmpi.mpi, request(file), chosen)
        assert (environment, files) == ({"OMPI_MCA_io_ompio_num_aggregators": "1"}, [])
