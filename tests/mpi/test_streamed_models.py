"""Models of a run of ranks: read together, checked together, held by nobody."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from launch import MPI, run

from subsalt.earth.grid import Grid
from subsalt.io.volumes import volume
from thorough import ALL, some

pytestmark = MPI

TESTS = Path(__file__).parent.parent
PATHS = {"PYTHONPATH": f"{TESTS / 'methods' / 'rtm'}:{TESTS}"}


#: cases of `test_streamed_model` by dimension
NAMES = {
    2: ["smoothed below", "depth functions"],
    3: ["tti", "resampled and smoothed", "no tilt at all", "raise epsilon"],
}
if ALL:
    NAMES = {ndim: [name for names in NAMES.values() for name in names] for ndim in NAMES}


def test_models_and_facts_have_the_bits_of_one_process():
    """Passes that ranks share give what one process finds, in forms, at orders and on windows alike."""
    done = run(
        3,
        """
        import tempfile
        from pathlib import Path
        from subsalt.earth import planes
        from subsalt.parallel.comm import world
        import test_streamed_model as cases

        planes.SLAB_VALUES = 400
        w = world()
        for ndim, names in NAMES.items():
            for name in names:
                case = {k: dict(v) if isinstance(v, dict) else v for k, v in cases.CASES[name].items()}
                if "grid" in case:
                    case["grid"] = dict(case["grid"][ndim])
                # every rank has files of its own with the same values: only the facts are shared
                with tempfile.TemporaryDirectory() as folder:
                    job = cases.job_of(Path(folder), ndim, **case)
                    cases.assert_same_past_the_gate(job)
                    w.agree()
        print("same")
        """.replace("NAMES", repr(NAMES)),
        env=PATHS,
    )
    assert done.rc == 0, done
    assert done.out == ["same\n"] * 3, done


CHECK = """
    import json, sys
    from dataclasses import asdict
    from subsalt.parallel.comm import world
    from subsalt.job.checking import check_job
    from subsalt.methods.rtm.job import Job
    from subsalt.io.input_traffic import COUNTED

    for name in json.loads(sys.argv[1]) if len(sys.argv) > 1 else NAMES:
        result = check_job(Job.from_toml(name))
        told = [[f.code, f.level, f.message, f.fix] for f in result.findings]
        print(json.dumps([told, result.exit_code(), result.facts if world().is_root else None], default=str))
"""


def check_program(names: list[str]) -> str:
    return CHECK.replace("NAMES", repr(names))


def test_checks_find_what_one_process_finds(tmp_path):
    """Clean, with a repair, with values that no medium has, and with a file that is not there."""
    import job_files

    job_files.write_files(tmp_path)
    rng = np.random.default_rng(2)
    grid = job_files.GRID
    noisy = (0.2 * rng.random(grid.shape)).astype(np.float32)
    bad = job_files.velocity()
    bad[70, 3] = np.nan
    bad[12, 4] = np.nan
    volume.write(tmp_path / "noisy.rsf", grid, noisy)
    volume.write(tmp_path / "bad.rsf", grid, bad)
    volume.write(tmp_path / "slow.rsf", grid, job_files.velocity() / 1000)
    volume.write(tmp_path / "theta.rsf", grid, (120 * rng.random(grid.shape) - 60).astype(np.float32))
    changes = {
        "clean": ("", ""),
        "upright": ('delta = "delta.rsf"', 'delta = "delta.rsf"\ntheta = 0'),
        "repair": ('delta = "delta.rsf"', 'delta = "noisy.rsf"'),
        "slow": ('vp = "vp.rsf"', 'vp = "slow.rsf"'),
        "bad": ('vp = "vp.rsf"', 'vp = "bad.rsf"'),
        "u16": ('line = "2d"', 'line = "2d"\n[propagation]\nmodel_storage = "u16"'),
        "missing": ('epsilon = "epsilon.rsf"', 'epsilon = "elsewhere.rsf"'),
        "tilted": ('delta = "delta.rsf"', 'delta = "delta.rsf"\ntheta = "theta.rsf"'),
        "reject": ('delta = "delta.rsf"', 'delta = "noisy.rsf"\n[propagation]\nanisotropy = "reject"'),
    }
    changes = {name: changes[name] for name in some(changes, 5)}
    for name, (old, new) in changes.items():
        (tmp_path / f"{name}.toml").write_text(job_files.MIGRATE.replace(old, new))
    code = check_program([f"{name}.toml" for name in changes])
    alone = run(1, code, cwd=tmp_path)
    many = run(3, code, cwd=tmp_path)
    assert alone.rc == many.rc == 0, many
    expected = [json.loads(line) for line in alone.out[0].splitlines()]
    for rank in range(3):
        result = [json.loads(line) for line in many.out[rank].splitlines()]
        for name, one, other in zip(changes, expected, result, strict=True):
            # one process tries cures, and puts causes first; what is found is the same
            assert sorted(f[:3] for f in other[0]) == sorted(f[:3] for f in one[0]), (name, rank)
            assert other[1] == one[1], (name, rank)
            assert other[0] == json.loads(many.out[0].splitlines()[list(changes).index(name)])[0], (
                name,
                rank,
            )
            if rank == 0:  # what a rank needs is planned later, when groups are formed
                assert other[2].items() <= one[2].items(), name
                assert one[2].keys() - other[2].keys() <= {"image_step", "memory_bytes", "nt"}, name
    wrong = {"bad": {"E410"}, "slow": {"E412"}, "missing": {"E110"}, "reject": {"E520"}}
    for name, one in zip(changes, expected, strict=True):
        assert {f[0] for f in one[0] if f[1] == "error"} == wrong.get(name, set()), name


def test_an_error_of_one_rank_is_that_of_all(tmp_path):
    """A file that one node cannot read: in the pass over the model, and in the check, where it is a finding."""
    import job_files

    job_files.write_files(tmp_path)
    (tmp_path / "job.toml").write_text(job_files.MIGRATE)
    done = run(
        3,
        """
        from subsalt.parallel.comm import world
        from subsalt.errors import ResourceError, SubsaltError
        from subsalt.io import input_file
        from subsalt.job.checking import check_job
        from subsalt.methods.rtm.job import Job

        read = input_file.InputFile.read_into

        def broken(self, offset, out):
            if world().rank == 1 and offset > 0 and self.path.name == "delta.rsf@":
                raise ResourceError("cannot read delta.rsf@: Input/output error", "check the disk", code="E601")
            read(self, offset, out)

        input_file.InputFile.read_into = broken
        job = Job.from_toml("job.toml")
        try:
            job.open_model()
        except SubsaltError as error:
            print(type(error).__name__, error.code, error.message.split(" (rank 1")[0])
        print(sorted({f.code for f in check_job(job).findings if f.level == "error"}))
        """,
        cwd=tmp_path,
    )
    assert done.rc == 0, done
    assert done.out == ["ResourceError E601 cannot read delta.rsf@: Input/output error\n['E601']\n"] * 3, done


def test_windows_that_one_rank_reads_for_all(tmp_path):
    """`io = "broadcast"`: windows of other sizes on every rank, the same values, everything read by rank 0 alone."""
    done = run(
        3,
        """
        from pathlib import Path
        from subsalt.parallel.comm import world
        from subsalt.earth.grid import Box
        from subsalt.io.broadcast import Broadcast
        from subsalt.methods.rtm.setup import gate
        from subsalt.io.input_traffic import COUNTED
        from subsalt.io.broadcast import SharedModel
        from subsalt.earth import planes
        import test_streamed_model as cases

        planes.SLAB_VALUES = 400
        w = world()
        folder = Path(f"files{w.rank}")
        folder.mkdir()
        for smoothing in (0.0, 25.0):
            job = cases.job_of(folder, 3, names=cases.ALL, model={"smoothing": smoothing})
            whole, streamed = cases.both(job)
            a, b = (gate(m, job.propagation_options)[0] for m in (whole, streamed))
            b = SharedModel(b, Broadcast(w))
            box = Box((5 * w.rank - 3, 0, 0), (5 * w.rank + 6 + w.rank, 9, 12))
            read = COUNTED.now()
            one, other = a.window(box), b.window(box)
            read = COUNTED.now() - read
            assert all(cases.bits(getattr(one, n)) == cases.bits(getattr(other, n)) for n in one.volumes)
            assert bool(read.read) == w.is_root, read
            assert bool(read.received) != w.is_root, read
        print("same")
        """,
        cwd=tmp_path,
        env=PATHS,
    )
    assert done.rc == 0, done
    assert done.out == ["same\n"] * 3, done


def test_one_rank_reads_the_headers_of_a_segy_model(tmp_path):
    """The others read the samples of their planes alone, also when the traces stand in another order."""
    rng = np.random.default_rng(6)
    grid = Grid((24, 10, 30), (10.0, 20.0, 10.0))
    values = (1500 + 1000 * rng.random(grid.shape)).astype(np.float32)
    volume.write(tmp_path / "sorted.sgy", grid, values)
    raw = (tmp_path / "sorted.sgy").read_bytes()
    traces = np.frombuffer(raw[3600:], np.uint8).reshape(240, 240 + 4 * 30)
    (tmp_path / "shuffled.segy").write_bytes(raw[:3600] + traces[rng.permutation(240)].tobytes())
    np.save(tmp_path / "values.npy", values)
    done = run(
        3,
        """
        import numpy as np
        from subsalt.parallel.comm import world
        from subsalt.earth.grid import Box
        from subsalt.io.input_traffic import COUNTED
        from subsalt.methods.rtm.job import Job

        w = world()
        values = np.load("values.npy")
        for name in ("shuffled.segy", "sorted.sgy"):
            begin = COUNTED.now()
            job = Job.from_dict({"model": {"vp": name}, "source": {"f0": 10}})
            model = job.open_model()
            assert model.grid.shape == (24, 10, 30), model.grid
            box = Box((8 * w.rank, 0, 0), (8 * w.rank + 8, 10, 30))
            assert np.array_equal(model.window(box).vp, values[8 * w.rank : 8 * w.rank + 8])
            read = (COUNTED.now() - begin).read
            # its share of the pass for the facts, and its window: two thirds of the file, headers with them
            samples = 2 * 80 * (240 + 4 * 30)
            assert read == samples or (w.is_root and read > samples + 240 * 240), (read, samples)
            assert [f.code for f in job.remember("parameters", dict)["vp"].findings] == []
        print("same")
        """,
        cwd=tmp_path,
    )
    assert done.rc == 0, done
    assert done.out == ["same\n"] * 3, done


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return the folder of a job whose model has three volumes of 40 MB."""
    import job_files

    folder = tmp_path_factory.mktemp("large")
    grid = Grid((250, 200, 200), (10.0, 10.0, 10.0))
    depth = np.linspace(1500.0, 3000.0, 200, dtype=np.float32)
    for name, profile in (("vp", depth), ("epsilon", 0 * depth + 0.1), ("delta", 0 * depth + 0.05)):
        volume.write(folder / f"{name}.rsf", grid, np.broadcast_to(profile, grid.shape))
    lines = [f'{name} = "{name}.rsf"' for name in ("vp", "epsilon", "delta")]
    (folder / "job.toml").write_text(
        "[model]\n" + "\n".join(lines) + "\n[source]\nf0 = 10\n" + job_files.OWN_GRID
    )
    return folder


#: numbers of ranks
COUNTS = (1, 2, 4) if ALL else (1, 2)


def test_memory_of_a_rank_falls_as_ranks_grow(large):
    """A rank holds its window, and no more of the model than a few slabs, in the check as in the run."""
    code = """
        import json, resource
        from subsalt.parallel.comm import world
        from subsalt.earth.grid import Box
        from subsalt.methods.rtm.setup import gate
        from subsalt.job import checking
        from subsalt.methods.rtm.job import Job
        import numpy, scipy.ndimage
        import subsalt.check.tilt, subsalt.check.geometry, subsalt.io.volumes.volume, subsalt.methods.rtm.earth_model
        import subsalt.methods.rtm.check

        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

        w = world()
        job = Job.from_toml("job.toml")
        job.propagation_options
        before = peak()
        checking.check_job(job)
        checked = peak() - before
        model, _ = gate(job.open_model(), job.propagation_options)
        nx, ny, nz = model.grid.shape3
        scanned = model.traffic.moved if w.size > 1 else 0
        lo, hi = nx * w.rank // w.size, nx * (w.rank + 1) // w.size
        box = Box((max(0, lo - 4), 0, 0), (min(nx, hi + 4), ny, nz))
        window = model.window(box)
        held = sum(getattr(window, name).nbytes for name in window.volumes)
        moved = model.traffic.moved - scanned if w.size > 1 else 0
        print(json.dumps({"checked": checked, "peak": peak() - before, "held": held, "moved": moved}))
    """
    peaks = {}
    for n in COUNTS:
        done = run(n, code, cwd=large, own_start=True)
        assert done.rc == 0, done
        peaks[n] = [json.loads(text) for text in done.out]
    whole = 3 * 4 * 250 * 200 * 200
    # one process has the model and a window that is all of it
    assert peaks[1][0]["peak"] > 2 * whole
    for n in COUNTS[1:]:
        for rank, seen in enumerate(peaks[n]):
            # straight into its arrays: what was moved is what is held, planes of neighbours included
            assert seen["moved"] == seen["held"]
            # slabs of a quarter of a million values with doubles and masks of them take 20 MB. Rank 0 has the sample
            # of a median too: 2 million values gathered, joined, the finite ones, and sorted. Neither grows
            assert seen["checked"] < 20e6 + (5 * 8e6 if rank == 0 else 5e6)
            # the window, and masks and copies of parts of it while it is looked at
            assert seen["peak"] < 1.25 * seen["held"] + 20e6
    most = {n: max(rank["peak"] for rank in ranks) for n, ranks in peaks.items()}
    for (a, b), share in zip(pairwise(COUNTS), (5 / 7, 0.7)[: len(COUNTS) - 1], strict=True):
        assert most[b] < share * most[a], most
