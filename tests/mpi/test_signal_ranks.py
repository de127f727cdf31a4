"""Steps on traces on several ranks: shots are looked at once, shared, and every rank finds the same traces."""

import json

import numpy as np
from launch import MPI, run

from job_files import RUN, survey, write_files, write_job
from kirchhoff_jobs import areal
from kirchhoff_jobs import write_job as write_time_job
from subsalt.job.base import read_job
from subsalt.job.signal.summary import edited
from subsalt.parallel.comm import single

pytestmark = MPI

STEPS = """
[[signal]]
step = "edit"
where = "rms > 20*median"

[[signal]]
step = "bandpass"
corners = [3, 6, 40, 60]

[[signal]]
step = "edit"
do = "reverse"
where = "peak > 0.9*median"
"""

SCRIPT = """
    import hashlib, json
    import numpy as np
    from subsalt.job.base import read_job
    from subsalt.job.signal.summary import edited
    from subsalt.parallel.comm import world
    for path in {paths}:
        source = read_job(path).signal_source()
        told = edited(source, world())
        if hasattr(source, "shots"):
            assert set(source.reader._marks) == set(s.id for s in source.shots)
            traces = [source.traces(s) for s in source.shots]
        else:
            assert all((m >= 0).all() for m in source.treatment._marks.values())
            traces = [source.traces(np.arange(len(source)))]
        print(json.dumps([told, hashlib.sha256(np.concatenate(traces).tobytes()).hexdigest()]))
"""


def test_every_rank_finds_the_traces_that_one_process_finds(tmp_path):
    line = survey()
    line.shots[1].data[4] *= 100
    write_files(tmp_path, line)
    numbers = {"ffid": np.arange(360) // 12 + 1, "channel": np.arange(360) % 12 + 1}
    areal(tmp_path / "traces.sgy", edit=lambda traces: traces.__setitem__(7, 100 * traces[7]), **numbers)
    time = write_time_job(tmp_path, "time.toml")
    time.write_text(time.read_text() + STEPS)
    paths = [str(write_job(tmp_path, RUN + STEPS)), str(time)]
    done = run(3, SCRIPT.format(paths=paths))
    assert done.rc == 0, done
    assert done.out[0] == done.out[1] == done.out[2]
    for text, path in zip(done.out[0].splitlines(), paths, strict=True):
        alone = edited(read_job(path).signal_source(), single())
        assert json.loads(text)[0] == alone
        assert alone[0]["traces"] == 1
        assert alone[1]["traces"] > 1
