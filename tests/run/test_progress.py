"""Progress: few lines in a log, whatever the number of calls."""

import io

import pytest

from subsalt.run import progress


def test_lines_are_sparse_and_end_with_the_total(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    log = io.StringIO()
    with progress.Lines("migrating", log) as bar:
        for i in range(10_001):
            now[0] = i * 0.01
            bar(i / 1000, 10, f"shot {i}")
    lines = log.getvalue().splitlines()
    # 100 s, one line per 30 s, and the last
    assert len(lines) == 4
    assert lines[-1].startswith("migrating 10/10 shots  1:40")
    assert "eta 1:1" in lines[0]


def test_durations():
    assert [progress.duration(s) for s in (0, 59.6, 61, 3661, -5)] == [
        "0:00",
        "1:00",
        "1:01",
        "1:01:01",
        "0:00",
    ]


def test_a_file_gets_lines_not_a_bar():
    assert isinstance(progress.for_stream("x", io.StringIO()), progress.Lines)


def test_the_bar_takes_the_same_calls():
    with progress.Bar("x") as bar:
        bar(0, 3)
        bar(1.5, 3, "shot 2")


def test_a_second_stage_counts_from_its_own_begin(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    log = io.StringIO()
    with progress.Lines("demo", log) as bar:
        for stage in range(2):
            for i in range(401):
                now[0] = stage * 100 + i * 0.1
                bar(i / 100, 4)
    lines = log.getvalue().splitlines()
    # each stage: one line after 30 s, one at its end; the second knows nothing of the 60 s between them
    assert len(lines) == 4
    assert lines[2].split("eta")[1] == lines[0].split("eta")[1]


def test_the_log_of_days_stays_small(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    log = io.StringIO()
    with progress.Lines("migrating", log) as bar:
        for i in range(100_001):
            now[0] = i * 8.64  # ten days
            bar(i / 100, 1000)
    # ten lines in the first five minutes, then one after every tenth of the time: ln(2880) / ln(1.1) = 84
    assert 80 <= len(log.getvalue().splitlines()) <= 100


def test_under_a_launcher_rank_0_alone_shows_anything(monkeypatch):
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PMI_SIZE", "2")
    assert isinstance(progress.for_stream("x", io.StringIO()), progress.Silent)
    monkeypatch.setenv("PMI_RANK", "0")
    assert isinstance(progress.for_stream("x", io.StringIO()), progress.Lines)


@pytest.mark.parametrize(
    ("done", "total", "words"),
    [
        (0.1401, 1, "14 % of 1 block"),
        (1.5, 2, "75 % of 2 blocks"),
        (12.5, 80, "12.5/80 blocks"),
        (0, 0, "0/0 blocks"),
    ],
)
def test_parts_of_few_units_are_told_in_percent(done: float, total: float, words: str) -> None:
    assert progress.far(done, total, "blocks") == words
