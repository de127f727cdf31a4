"""A job whose traces are time slices: the image of the same traces in SEG-Y, on any number of ranks."""

import hashlib

import numpy as np
from launch import needs_mpi, run

from job_files import RUN, survey, write_files
from subsalt.io.prestack.time_slices import write_slices


@needs_mpi
def test_a_job_of_slices_makes_the_image_of_its_traces(tmp_path):
    made = survey(n_shots=2)
    write_files(tmp_path, made)
    (tmp_path / "segy.toml").write_text(RUN)
    slices = "[data.slices]\nsources = [[200, 15], [600, 15]]\ndepth = 10\n"
    text = RUN.replace('"shots.sgy"]\nline = "2d"\n', '"shot1.rsf", "shot2.rsf"]\n').replace(
        "[model]", f"{slices}\n[model]"
    )
    (tmp_path / "slices.toml").write_text(text)
    (tmp_path / "broadcast.toml").write_text(text + '\n[parallel]\nio = "broadcast"\nranks_per_shot = 3\n')
    for k, shot in enumerate(made.shots, 1):
        assert np.allclose(np.diff(shot.rcv[:, 0]), 50.0)
        write_slices(tmp_path / f"shot{k}.rsf", shot.data.T, made.time, (len(shot.rcv),), (50.0,), (50.0,))
    images = set()
    for name, ranks in (("segy", 1), ("slices", 1), ("slices", 2), ("broadcast", 3)):
        folder = f"{name}{ranks}"
        done = run(ranks, ["subsalt", "migrate", f"{name}.toml", "--run", folder], cwd=tmp_path)
        assert done.rc == 0, done
        images.add(hashlib.sha256((tmp_path / folder / "image.rsf@").read_bytes()).hexdigest())
    assert len(images) == 1
    # what the slices hold belongs to the run: a changed sample makes it another one
    data = bytearray((tmp_path / "shot2.rsf@").read_bytes())
    data[5] ^= 1
    (tmp_path / "shot2.rsf@").write_bytes(data)
    done = run(1, ["subsalt", "migrate", "slices.toml", "--run", "slices1"], cwd=tmp_path)
    assert done.rc == 78, done
    assert "E810" in done.err[0], done
