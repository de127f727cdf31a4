"""A survey whose headers one rank reads for all: what the others hear is what they would have read."""

import pytest
from launch import needs_mpi, run

from subsalt.acquisition.survey import Survey
from subsalt.errors import SegyError
from subsalt.io.segy.reading import read_survey

SURVEY = """
    import sys
    import numpy as np
    from subsalt.parallel.comm import world
    from subsalt.errors import SubsaltError
    from subsalt.io.segy.reading import read_survey
    from subsalt.io.segy.reading import read_once
    from subsalt.io.input_traffic import COUNTED
    from pathlib import Path
    w, folder = world(), Path("FOLDER")
    files = sorted(folder.glob("*.sgy"))
    before = COUNTED.now()
    heard = read_once(lambda: read_survey(files, ndim=2), w)
    moved = (COUNTED.now() - before).read
    assert (moved > 0) == w.is_root, moved
    own = read_survey(files, ndim=2)
    assert heard.time == own.time and heard.ndim == own.ndim == 2 and heard.frame == own.frame
    assert heard.source_files == own.source_files and heard.notes.keys() == own.notes.keys()
    assert [s.id for s in heard] == [s.id for s in own]
    for a, b in zip(heard, own, strict=True):
        assert (a.src == b.src).all() and (a.rcv == b.rcv).all() and (a.trace_index == b.trace_index).all()
        assert (heard.traces(a) == own.traces(b)).all()
        rows = np.array([0, 2])
        assert (heard.traces(a, rows) == own.traces(b)[rows]).all()
    # what is wrong with a file is said on all ranks
    (folder / "bad.sgy").write_bytes(b"no seismic traces" * 300) if w.is_root else None
    try:
        read_once(lambda: read_survey([folder / "bad.sgy"]), w)
        raise SystemExit("read what is no SEG-Y")
    except SubsaltError as error:
        print(type(error).__name__, error.code)
"""


@needs_mpi
@pytest.mark.parametrize("late", [False, True])
def test_all_ranks_have_the_survey_of_the_first(tmp_path, late):
    import numpy as np

    from subsalt.io.segy.writing import write_survey

    rng = np.random.default_rng(4)
    for k, t0 in enumerate((0.0, 0.02 if late else 0.0)):
        src = [(100.0 * k + 50.0, 5.0), (100.0 * k + 90.0, 5.0)]
        rcv = [(12.5 * i, 0.0) for i in range(5)]
        data = rng.normal(size=(2, 5, 40)).astype(np.float32)
        survey = Survey.from_arrays(src, rcv, nt=40, dt=0.004, t0=t0, data=data)
        for shot in survey.shots:
            shot.id += 10 * k
        write_survey(tmp_path / f"line{k}.sgy", survey)
    done = run(3, SURVEY.replace("FOLDER", str(tmp_path)))
    assert done.rc == 0, done
    with pytest.raises(SegyError) as caught:
        read_survey([tmp_path / "bad.sgy"])
    assert done.out == [f"SegyError {caught.value.code}\n"] * 3
