"""One file of a survey whose stations lie otherwise: the single mistake that explains it is named."""

import numpy as np
import pytest
from shot_records import finding_of, problems, records, write

from subsalt.io.prestack.table import open_traces
from subsalt.methods.kirchhoff.rules.traces import traces_apart

XY = ("source_x", "source_y", "receiver_x", "receiver_y")


def planted(folder, change, which=(4,)):
    """Return the files of a line, one per shot, with the coordinates of some of them changed."""
    headers, traces = records()
    full = {k: np.broadcast_to(np.asarray(v), (len(traces),)).copy() for k, v in headers.items()}
    rows = np.isin(full["ffid"], [101 + i for i in which])
    for name, value in zip(XY, change(*(full[n][rows] for n in XY)), strict=True):
        full[name][rows] = np.round(value)
    return write(folder, full, traces, per_shot=True)


MISTAKES = {
    "x and y were exchanged": lambda sx, sy, gx, gy: (sy, sx, gy, gx),
    "x and y of the receivers": lambda sx, sy, gx, gy: (sx, sy, gy, gx),
    "source and receiver were": lambda sx, sy, gx, gy: (gx, gy, sx, sy),
    "in feet, which its header calls metres": lambda *xy: [v / 0.3048 for v in xy],
}


@pytest.mark.parametrize("words", MISTAKES)
def test_the_mistake_of_one_file_is_named(tmp_path, words):
    paths = planted(tmp_path, MISTAKES[words])
    f = finding_of(paths, "W360")
    assert words in f.message
    assert f.evidence["file"] == str(paths[4])
    assert f'[data] exclude = [{{file = "{paths[4].name}"}}]' in f.fix
    assert problems([p for p in paths if p != paths[4]]) == []


@pytest.mark.parametrize("words", ["x and y were exchanged", "source and receiver were"])
def test_it_is_named_in_traces_of_a_time_migration(tmp_path, words):
    (f,) = [f for f in traces_apart(open_traces(planted(tmp_path, MISTAKES[words]))) if f.code == "W360"]
    assert words in f.message


def test_a_file_that_lies_elsewhere_for_another_reason_is_not_explained(tmp_path):
    paths = planted(tmp_path, lambda sx, sy, gx, gy: (sx, sy, 2 * sx - gx, gy))
    assert "W360" not in problems(paths)


def test_a_mistake_of_all_files_is_no_odd_file(tmp_path):
    for change in MISTAKES.values():
        assert "W360" not in problems(planted(tmp_path, change, range(8)))


def test_ends_exchanged_in_all_traces_of_a_time_migration(tmp_path):
    table = open_traces(planted(tmp_path, MISTAKES["source and receiver were"], range(8)))
    assert "W224" in [f.code for f in traces_apart(table)]
    assert "W224" not in [f.code for f in traces_apart(open_traces(planted(tmp_path, lambda *xy: xy)))]
