"""Hardware threads and layouts on them."""

import subprocess
import sys

import pytest

from subsalt_lab.layouts import RankLayout, layouts, usual
from subsalt_lab.rounds import interleaved
from subsalt_lab.topology import Topology, format_list, parse_list

#: two cores with two hardware threads each, numbered as Linux does: 0 and 2 share a core
HYPER = Topology(((0, 2), (1, 3)))
PLAIN = Topology(((0,), (1,), (2,), (3,)))


def test_siblings_are_read_as_linux_writes_them(tmp_path):
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(siblings + "\n")
    topology = Topology.here(tmp_path, {0, 1, 2, 3})
    assert topology == HYPER
    assert (topology.threads, topology.per_core) == (4, 2)
    # a job that may use one thread of each core has no hyperthreads
    assert Topology.here(tmp_path, {0, 1}) == Topology(((0,), (1,)))
    assert Topology.here(tmp_path / "nowhere", {0, 5}) == Topology(((0,), (5,)))


def test_sockets_are_counted_where_the_system_names_them(tmp_path):
    assert PLAIN.per_socket == 4
    for cpu, socket in enumerate([0, 0, 1, 1, 1]):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu}\n")
        (folder / "physical_package_id").write_text(f"{socket}\n")
    topology = Topology.here(tmp_path, {0, 1, 2, 3, 4})
    assert topology.sockets == (0, 0, 1, 1, 1)
    # sockets are filled one after the other: as many as the smaller one has
    assert topology.per_socket == 2


@pytest.mark.parametrize("text", ["0", "0-3", "0-1,4,6-7"])
def test_lists_of_processors_both_ways(text):
    assert format_list(parse_list(text)) == text


def test_ranks_get_neighbouring_cores_and_never_share_one():
    assert PLAIN.place(2, 2) == [[0, 1], [2, 3]]
    assert HYPER.place(2, 1) == [[0], [1]]
    assert HYPER.place(2, 2) is None
    # both threads of a core go to one rank
    assert HYPER.place(2, 2, 2) == [[0, 2], [1, 3]]
    assert HYPER.place(1, 4, 2) == [[0, 1, 2, 3]]


def test_every_combination_smallest_first():
    combinations = layouts([1, 2, 4], [1, 2], PLAIN, pin=False, hyperthreads=True)
    assert [x.name for x in combinations] == ["1 x 1", "1 x 2", "2 x 1", "2 x 2", "4 x 1", "4 x 2"]
    assert not any(x.pins for x in combinations)
    pinned = layouts([1, 4], [1, 2], PLAIN, pin=True, hyperthreads=True)
    assert [x.pin_lists for x in pinned] == ["0", "0-1", "0;1;2;3", "-"]


def test_hyperthreads_stand_beside_the_same_cores_and_are_pinned():
    combinations = layouts([1, 2], [1], HYPER, pin=False, hyperthreads=True)
    assert [(x.name, x.pin_lists) for x in combinations] == [
        ("1 x 1", "0"),
        ("1 x 2 HT", "0,2"),
        ("2 x 1", "0;1"),
        ("2 x 2 HT", "0,2;1,3"),
    ]
    assert [x.name for x in layouts([1, 2], [1], HYPER, pin=False, hyperthreads=False)] == ["1 x 1", "2 x 1"]


def seen(ranks, cpus, per_core=1, host="a"):
    """Return what ranks on one host tell."""
    return [{"host": host, "cpus": cpus, "per_core": per_core}] * ranks


def test_cores_and_nodes_as_the_ranks_found_them():
    two = [0, 1]
    assert [(x.cores, x.oversubscribed) for x in (RankLayout(1, 2).where(seen(1, two)),)] == [(2, False)]
    crowded = RankLayout(4, 1).where(seen(4, two))
    assert (crowded.cores, crowded.nodes, crowded.oversubscribed) == (2, 1, True)
    both = RankLayout(4, 2).where(seen(2, [0, 1, 2, 3]) + seen(2, [0, 1, 2, 3], host="b"))
    assert (both.cores, both.nodes, both.oversubscribed) == (8, 2, False)
    # pinned ranks see their own threads only
    apart = RankLayout(2, 1).where([*seen(1, [0]), *seen(1, [1])])
    assert (apart.cores, apart.oversubscribed) == (2, False)


def test_hyperthreads_count_as_the_cores_they_share():
    layout = RankLayout(2, 2, per_core=2).where(seen(2, [0, 1, 2, 3], per_core=2))
    assert (layout.cores, layout.oversubscribed) == (2, False)
    # more threads than cores without asking for hyperthreads: they share all the same
    assert RankLayout(4, 1).where(seen(4, [0, 1, 2, 3], per_core=2)).cores == 2


def test_usual_counts_are_powers_of_two_and_all_cores():
    assert [usual(n) for n in (1, 2, 6, 8)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]


def test_rounds_go_forth_and_back():
    done = []

    def run(case, number):
        done.append((case, number))
        return f"{case}{number}"

    assert interleaved("abc", 2, run) == [["a0", "a1"], ["b0", "b1"], ["c0", "c1"]]
    assert done == [("a", 0), ("b", 0), ("c", 0), ("c", 1), ("b", 1), ("a", 1)]


def test_a_pinned_module_runs_on_its_threads_only(tmp_path):
    import os

    mine = sorted(os.sched_getaffinity(0))
    lists = f"{mine[0]};{mine[-1]}"
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    program = [sys.executable, "-c", f"from subsalt_lab.pinned import pin; pin({lists!r}); {code}"]
    for rank, cpu in ((0, mine[0]), (1, mine[-1])):
        done = subprocess.run(
            program,
            env={**os.environ, "MPI_LOCALRANKID": str(rank)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == f"[{cpu}]\n"
    words = [sys.executable, "-m", "subsalt_lab.pinned", "-", "antigravity"]
    assert (
        subprocess.run(words, capture_output=True, text=True).stderr
        == "antigravity is no module of subsalt\n"
    )
