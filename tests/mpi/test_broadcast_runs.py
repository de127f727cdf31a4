"""`[parallel] io = "broadcast"`: the same image and the same shots, every byte sent to every rank of a group."""

import hashlib
import json

import pytest
from launch import MPI, run

from job_files import GRID, OWN_GRID, RUN, write_files

pytestmark = MPI

MODEL = """
[model]
vp = "vp.rsf"

[source]
f0 = "10 Hz"

[acquisition]
shots = {first = [200, 15], last = [600, 15], n = 2}
receivers = {first = [50, 10], last = [750, 10], n = 15}
record_length = 0.4
dt = "4 ms"
files = "per-shot"
"""


def sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("broadcast")
    write_files(path)
    for name, text in (("migrate", RUN + OWN_GRID), ("model", MODEL)):
        (path / f"{name}.toml").write_text(text)
        for io in ("per-rank", "broadcast"):
            parallel = f'\n[parallel]\nio = "{io}"\nranks_per_shot = 2\n'
            (path / f"{name}-{io}.toml").write_text(text + parallel)
    return path


def test_the_image_is_that_of_one_process_and_the_bytes_are_counted(folder):
    done = run(1, ["subsalt", "migrate", "migrate.toml", "--run", "one"], cwd=folder)
    assert done.rc == 0, done
    hashes = {}
    for io, ranks in (("per-rank", 2), ("broadcast", 4)):
        name = f"{io}{ranks}"
        done = run(ranks, ["subsalt", "migrate", f"migrate-{io}.toml", "--run", name], cwd=folder)
        assert done.rc == 0, done
        assert sha(folder / name / "image.rsf@") == sha(folder / "one" / "image.rsf@"), name
        hashes[name] = json.loads((folder / name / "run.json").read_text())
        assert hashes[name]["parallel"]["io"] == io
        assert hashes[name]["run_id"] == hashes["per-rank2"]["run_id"]
    # groups of the same size send the same ghost planes, however many there are
    halo = hashes["per-rank2"]["over_ranks"]["halo"]
    assert halo["bytes"] > 0
    assert halo["exchanges"] > 0
    assert 0 <= halo["waited"]["mean"] <= halo["waited"]["max"]
    assert hashes["broadcast4"]["over_ranks"]["halo"]["bytes"] == halo["bytes"]
    traces = {name: facts["over_ranks"]["input"]["traces"] for name, facts in hashes.items()}
    assert traces["per-rank2"]["received"] == 0
    # 3 shots of 15 traces with 151 samples, each once to the one other rank of its group
    assert traces["broadcast4"]["received"] == 3 * 15 * 151 * 4
    assert traces["broadcast4"]["wanted"] == traces["per-rank2"]["wanted"]
    # three volumes of every window (here the whole model), the same way
    everything = {name: facts["over_ranks"]["input"]["all"]["received"] for name, facts in hashes.items()}
    nodes = GRID.size
    assert everything["per-rank2"] == 0
    assert everything["broadcast4"] - traces["broadcast4"]["received"] == 3 * 3 * nodes * 4


def test_modelled_shots_are_the_same_files(folder):
    for name, ranks in (("model", 1), ("model-broadcast", 2)):
        done = run(ranks, ["subsalt", "model", f"{name}.toml", "--out", name], cwd=folder)
        assert done.rc == 0, done
    shots = sorted(p.name for p in (folder / "model").glob("*.sgy"))
    assert len(shots) == 2
    assert [sha(folder / "model" / s) for s in shots] == [sha(folder / "model-broadcast" / s) for s in shots]


def test_traces_that_rank_0_cannot_read_are_an_error_of_all():
    done = run(
        3,
        """
        import numpy as np
        from subsalt.parallel.comm import world
        from subsalt.errors import DataError
        from subsalt.methods.rtm.shot_input import BroadcastTraceReader, reading_of
        from subsalt.acquisition.survey import Survey

        w = world()
        assert reading_of("per-rank", w) is None and reading_of("broadcast", w.split(w.rank)) is None
        asked = []

        def reader(shot, rows):
            asked.append(len(rows))
            if shot.id == 2:
                raise DataError("trace 7 is not finite", "correct it", code="E250")
            return np.arange(15, dtype=np.float32)[rows, None] + np.zeros(4, np.float32)

        receivers = [[float(x), 10.0] for x in range(15)]
        survey = Survey.from_arrays([[0.0, 0.0], [5.0, 0.0]], receivers, nt=4, dt=0.004)
        survey.reader = reader
        mine = np.arange(5) * 3 % 15 if w.rank == 2 else np.arange(w.rank, 15, 4)
        mine = np.sort(mine)
        with BroadcastTraceReader(survey, lambda shot: mine, reading_of("broadcast", w)) as feed:
            feed.prepare(survey.shots[0])
            got = feed.take(survey.shots[0])
            assert (got.data == mine[:, None]).all() and got.data.shape == (len(mine), 4)
            try:
                feed.take(survey.shots[1])
                raise SystemExit("nobody noticed")
            except DataError as e:
                assert e.code == "E250" and "trace 7" in e.message
        assert bool(asked) == w.is_root
        print("fine")
        """,
    )
    assert done.rc == 0, done
    assert done.out == ["fine\n"] * 3
