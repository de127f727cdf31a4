"""Ranks that stop, die or are asked to stop: the run ends, says who it was, and leaves nothing behind."""

import os
import signal
import time

import pytest
from launch import Launched, alive, needs_mpi, run

from patience import wait_for
from subsalt.parallel.comm import single
from subsalt.parallel.notes import note
from subsalt.parallel.watchdog import _AwakeClock, watch
from thorough import sample, some, thorough

#: seconds of silence that the programs allow
T = 2.0
#: ranks 0 and 1 on one host, 2 and 3 on another, when asked for: as if they shared no memory
PROGRAM = """
    import signal, sys, time
    from subsalt.parallel import notes, watchdog
    from subsalt.parallel.comm import Comm, world
    from subsalt.errors import SubsaltError
    from subsalt.timing import Phases

    watchdog.GRACE = 4.0
    w = world()
    if HOSTS:
        Comm.on_host = lambda self: self.split(self.rank // 2)

    class Stop(BaseException):
        pass

    def stop(number, frame):
        raise Stop(number)

    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, stop)
    try:
        with watchdog.watch(w, PATIENCE):
            notes.note(f"shot {w.rank}")
            w.allgather(1)
            if w.is_root:
                print("ready", flush=True)
            # rank 0 works in Python, the others sit in a message; or rank 0 waits for the others
            end = time.monotonic() + SECONDS
            with Phases()("receivers"):
                while w.is_root != STUCK and time.monotonic() < end:
                    time.sleep(0.05)
                w.allgather(1)
    except (Stop, KeyboardInterrupt) as signalled:
        time.sleep(0.5)
        print("cleared up", flush=True)
        error = SubsaltError("stopped", code="E801")
        error.exit_code = watchdog.STOPPING[signalled.args[0] if signalled.args else signal.SIGINT]
        w.abort(error)
"""


def started(n, hosts=False, seconds=40, stuck=False, own_start=False):
    """Return a program that runs, its ranks, and all processes below it."""
    program = PROGRAM
    for name, value in {"HOSTS": hosts, "PATIENCE": T, "SECONDS": seconds, "STUCK": stuck}.items():
        program = program.replace(name, repr(value))
    job = Launched(n, program, own_start=own_start)
    wait_until_ready(job)
    return job, job.ranks(), job.processes()


def wait_until_ready(job):
    """Wait until rank 0 has said that all ranks are at work."""
    wait_for(lambda: "ready" in job.said("out.0") or job.process.poll() is not None, "the ranks")
    assert job.process.poll() is None, job.wait(1)


def ended(job, below):
    """Return what a struck program said, after nothing of it is left."""
    done = job.wait()
    assert done.rc is not None, f"no end\n{done}"
    wait_for(lambda: not any(map(alive, below)), "the end of all processes")
    return done


@needs_mpi
@pytest.mark.parametrize(
    ("victim", "hosts"), some([(0, False), (3, False), (1, False), (0, True), (3, True), (1, True)], 2)
)
def test_a_stopped_rank_is_named_and_the_run_ends(victim, hosts):
    job, ranks, below = started(4, hosts)
    os.kill(ranks[victim], signal.SIGSTOP)
    done = ended(job, below)
    assert done.rc == 69, done
    said = "".join(done.err)
    assert said.count("error E713") == 1, done
    assert f"no sign of life from rank {victim} (host {os.uname().nodename}, pid {ranks[victim]})" in said, (
        done
    )
    assert f"stopped by a signal, last at: shot {victim}, receivers)" in said, done
    # who noticed, and what it was doing itself
    assert "noticed by rank" in said
    assert said.count("at: shot") == 2, done


@needs_mpi
def test_a_rank_that_was_given_up_and_woken_says_nothing_more():
    # as launchers do that end a job by SIGCONT and SIGTERM; the one that gives up is held between its words and the end
    job = Launched(
        2,
        f"""
        import time
        from subsalt.parallel import watchdog
        from subsalt.parallel.comm import world
        watchdog.end_all = lambda code: time.sleep(3)
        w = world()
        with watchdog.watch(w, {T}):
            w.allgather(1)
            if w.is_root:
                print("ready", flush=True)
            time.sleep(40)
        """,
        own_start=False,
    )
    wait_until_ready(job)
    ranks, below = job.ranks(), job.processes()
    os.kill(ranks[0], signal.SIGSTOP)
    while "E713" not in job.said("err.1"):
        assert job.process.poll() is None, job.wait(1)
        time.sleep(0.05)
    os.kill(ranks[0], signal.SIGTERM)
    os.kill(ranks[0], signal.SIGCONT)
    done = ended(job, below)
    assert done.rc not in (0, None), done
    assert done.err[0] == "", done


@needs_mpi
def test_a_host_that_is_silent_is_named():
    job, ranks, below = started(4, hosts=True)
    for rank in (2, 3):
        os.kill(ranks[rank], signal.SIGSTOP)
    done = ended(job, below)
    assert done.rc == 69, done
    said = "".join(done.err)
    assert f"no sign of life from host {os.uname().nodename} with ranks 2, 3" in said, done
    assert said.count("error E713") == 1, done


@needs_mpi
def test_a_pause_and_a_crowd_are_no_false_alarm():
    # more ranks than two cores, each of which computes all the time
    job = Launched(
        sample(4, 8),
        f"""
        import time
        from subsalt.parallel.comm import world
        from subsalt.parallel.watchdog import watch
        w = world()
        with watch(w, {T}):
            w.allgather(1)
            if w.is_root:
                print("ready", flush=True)
            end = time.monotonic() + {2.25 * T}
            while time.monotonic() < end:
                sum(range(10000))
            w.allgather(1)
        """,
        own_start=False,
    )
    wait_until_ready(job)
    ranks, below = job.ranks(), job.processes()
    os.kill(ranks[1], signal.SIGSTOP)
    time.sleep(T / 4)
    os.kill(ranks[1], signal.SIGCONT)
    # all at once, as a batch system does that suspends a job: longer than the patience
    for pid in ranks.values():
        os.kill(pid, signal.SIGSTOP)
    time.sleep(1.5 * T)
    for pid in ranks.values():
        os.kill(pid, signal.SIGCONT)
    done = ended(job, below)
    assert done.rc == 0, done
    assert not any(done.err), done


@needs_mpi
@pytest.mark.parametrize("error", [False, True])
def test_ranks_that_are_ready_early_are_not_missed(error):
    # rank 0 draws or writes while the others have nothing more to do; or all raise what they agreed on, but not at once
    done = run(
        3,
        f"""
        import time
        from subsalt.parallel import comm, watchdog
        from subsalt.errors import ConfigError
        w = comm.world()
        comm.Comm.on_host = lambda self: self.split(self.rank // 2)
        try:
            with watchdog.watch(w, {T}):
                try:
                    w.agree(ConfigError("agreed") if {error} else None)
                finally:
                    if w.is_root:
                        time.sleep({2.5 * T})
        except ConfigError:
            pass
        print("over")
        """,
    )
    assert done.rc == 0, done
    assert done.out == ["over\n"] * 3, done
    assert not any(done.err), done


@needs_mpi
@pytest.mark.parametrize("victim", some([0, 1], 1))
def test_a_killed_rank_ends_the_run(victim):
    job, ranks, below = started(2)
    os.kill(ranks[victim], signal.SIGKILL)
    assert ended(job, below).rc not in (0, None)


@needs_mpi
def test_ranks_end_when_their_launcher_is_gone():
    # one that is forked is no child of the launcher
    job, ranks, below = started(2, own_start=True)
    proxies = [p for p in below if p not in ranks.values()]
    os.kill(proxies[0], signal.SIGKILL)
    done = ended(job, below)
    assert done.rc != 0, done
    assert "E715" in "".join(done.err), done


@needs_mpi
@pytest.mark.parametrize(
    ("number", "code", "struck", "hosts"),
    [
        pytest.param(signal.SIGTERM, 75, 3, False, marks=thorough),
        (signal.SIGTERM, 75, 3, True),  # the word goes around the ring of hosts
        (signal.SIGINT, 130, None, False),
        pytest.param(signal.SIGUSR1, 75, 0, False, marks=thorough),
    ],
)
def test_a_signal_stops_rank_0_and_with_it_all(number, code, struck, hosts):
    job, ranks, below = started(4, hosts)
    os.kill(job.process.pid if struck is None else ranks[struck], number)
    done = ended(job, below)
    assert done.rc == code, done
    # rank 0 came to its end by itself, once, though the launcher passes a signal on that it may have got already
    assert done.out == ["ready\ncleared up\n", "", "", ""], done
    assert "".join(done.err).count("error E801") == 1, done


@needs_mpi
def test_a_rank_0_that_cannot_stop_is_ended():
    # it sits in a message, and a handler of Python never runs
    job, ranks, below = started(2, stuck=True)
    os.kill(ranks[0], signal.SIGTERM)
    done = ended(job, below)
    assert done.rc == 75, done
    assert "".join(done.err).count("error E801") == 1, done


def test_a_world_of_one_is_not_watched():
    before = signal.getsignal(signal.SIGTERM)
    with watch(single(), 0.1):
        note("nothing listens")
        assert signal.getsignal(signal.SIGTERM) is before


def test_time_asleep_does_not_count(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("subsalt.parallel.watchdog.time.monotonic", lambda: now[0])
    clock = _AwakeClock(1.0)
    for step in (1.0, 1.0, 3600.0, 1.0):
        now[0] += step
        clock.tick()
    assert clock.now == pytest.approx(5.0)  # an hour asleep counts as two periods


@needs_mpi
def test_hosts_without_threads_in_mpi_are_told():
    done = run(
        2,
        """
        from subsalt.parallel import comm, watchdog
        w = comm.world()
        comm.Comm.on_host = lambda self: self.split(self.rank)
        watchdog.thread_multiple = lambda: False
        with watchdog.watch(w, 5, warn=lambda finding: print(finding.code, finding.message)):
            w.allgather(1)
        """,
    )
    assert done.rc == 0, done
    assert done.out[0].startswith("W711"), done
    assert not done.out[1]
