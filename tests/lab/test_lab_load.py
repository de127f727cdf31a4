"""Who else used the processor: from the counters of the system, or from the load average."""

import subprocess
import sys

import pytest

from subsalt.machine.load import Usage, Watch


def usage(wall, own, busy, stolen=0.0):
    return Usage(wall, own, busy, stolen)


def watch(threads, begin, end, cores=4):
    w = Watch(threads, cores)
    w.compare(begin, end)
    return w


def test_counters_are_read_from_the_first_line(tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 10 30 9000 50 5 5 20 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    read = Usage.now(stat)
    assert read.busy / read.stolen == pytest.approx((100 + 10 + 30 + 5 + 5) / 20)


def test_without_counters_nothing_is_known(tmp_path):
    read = Usage.now(tmp_path / "none")
    assert read.busy is None
    assert read.stolen is None


def test_others_on_idle_cores_do_not_disturb():
    w = watch(2, usage(0, 0, 0), usage(10, 20, 40))
    assert w.others == pytest.approx(2.0)
    assert not w.noisy
    assert w.text() == ""


def test_others_on_our_cores_disturb():
    w = watch(4, usage(0, 0, 0), usage(10, 30, 35))
    assert w.others == pytest.approx(0.5)
    assert w.noisy
    assert w.text() == "noisy: others used 0.5 of 4 cores meanwhile"


def test_time_given_to_other_guests_disturbs():
    w = watch(1, usage(0, 0, 0), usage(10, 10, 10, stolen=2.0))
    assert w.stolen == pytest.approx(0.05)
    assert w.noisy
    assert "5 % of the time went to other guests" in w.text()


@pytest.mark.parametrize(("average", "noisy"), [(0.0, False), (1.0, False), (3.5, True)])
def test_without_counters_the_load_average_decides(average, noisy):
    w = watch(2, usage(0, 0, None, None), usage(10, 20, None, None))
    w.average = average
    assert w.noisy is noisy


def test_own_work_is_not_somebody_else():
    with Watch(1) as w:
        total = sum(i * i for i in range(300_000))
    assert total > 0
    assert set(w.facts()) >= {"load_average_before", "cores", "threads", "cores_used_by_others", "noisy"}


def test_a_program_that_was_started_is_not_somebody_else():
    code = "sum(i * i for i in range(3_000_000))"
    begin = Usage.now()
    subprocess.run([sys.executable, "-c", code], check=True)
    assert Usage.now().own - begin.own > 0.02
