"""What the ranks of `lab network` print, and which of them are worth a pair."""

import pytest

from subsalt.errors import SubsaltError
from subsalt_lab.network.lines import MessageBlock, Rank, name_of, read
from subsalt_lab.network.places import Pairs, choose, of_all, oversubscribed

TEXT = """\
some launcher says hello
subsalt-net mpi MPICH Version:      5.0.2
subsalt-net level multiple
subsalt-net rank 1 beta 8 4-5,7-7 1
subsalt-net rank 0 alpha 8 0-7 0,1
warning: a library has something to say
subsalt-net block 0 latency 8 100 2.500000000e-06
subsalt-net left 0 stream 4096
subsalt-net block -1 barrier 0 7 1.0e-06
subsalt-net end 7
"""


def test_lines_are_read_and_those_of_others_passed_over():
    answer = read(TEXT, 2)
    assert (answer.mpi, answer.level) == ("MPICH Version: 5.0.2", "multiple")
    assert answer.ranks == (
        Rank("alpha", 8, frozenset(range(8)), (0, 1)),
        Rank("beta", 8, frozenset({4, 5, 7}), (1,)),
    )
    assert answer.blocks == (
        MessageBlock(0, "latency", 8, 100, 2.5e-6),
        MessageBlock(-1, "barrier", 0, 7, 1e-6),
    )
    assert answer.left == ((0, "stream", 4096),)


def test_a_system_that_tells_no_processors():
    text = "subsalt-net mpi X\nsubsalt-net level single\nsubsalt-net rank 0 mac 4 - -\nsubsalt-net end 3\n"
    assert read(text, 1).ranks == (Rank("mac", 4, frozenset(), ()),)


@pytest.mark.parametrize(
    ("wrong", "ranks", "code", "said"),
    [
        ("", 2, "E951", "0 lines"),
        (TEXT.partition("subsalt-net end")[0], 2, "E951", "no end"),
        (TEXT.replace("subsalt-net left 0 stream 4096\n", ""), 2, "E951", "lines are missing"),
        (TEXT.replace("2.500000000e-06", "fast"), 2, "E951", "damaged"),
        (TEXT.replace("block 0 latency 8 100", "block 0 latency 100"), 2, "E951", "damaged"),
        (TEXT.replace("level multiple", "levels multiple"), 2, "E951", "damaged"),
        (TEXT + TEXT, 2, "E782", "2 runs of one rank"),
        (TEXT, 3, "E782", "3 ranks were to be started, 2 answered"),
    ],
)
def test_what_cannot_be_used_is_refused(wrong, ranks, code, said):
    with pytest.raises(SubsaltError, match=said) as caught:
        read(wrong, ranks)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("MPICH Version: 5.0.2", "MPICH 5.0.2"),
        ("Open MPI v5.0.11, package: Open MPI, ident: 5.0.11", "Open MPI 5.0.11"),
        ("Intel(R) MPI Library 2021.18 for Linux* OS", "Intel MPI 2021.18"),
        ("another", "another"),
    ],
)
def test_libraries_have_short_names(version, name):
    assert name_of(version) == name


def rank(host, socket=0, cpus=(0, 1, 2, 3)):
    return Rank(host, 4, frozenset(cpus), (socket,) if isinstance(socket, int) else tuple(socket))


def test_one_socket_has_one_pair_alone_and_all_at_once():
    assert choose([rank("a")] * 5) == [
        Pairs("socket", ((0, 1),)),
        Pairs("socket", ((0, 1), (2, 3))),
    ]


def test_two_sockets_have_pairs_on_each_and_between_them():
    ranks = [rank("a", 0), rank("a", 1), rank("a", 0), rank("a", 1)]
    assert choose(ranks) == [
        Pairs("socket", ((0, 2),)),
        Pairs("socket", ((0, 2), (1, 3))),
        Pairs("node", ((0, 1),)),
        Pairs("node", ((0, 1), (2, 3))),
    ]


def test_ranks_that_may_be_on_either_socket_are_on_one_node():
    assert choose([rank("a", (0, 1))] * 2) == [Pairs("node", ((0, 1),))]


@pytest.mark.parametrize("hosts", ["aabb", "abab"])
def test_two_nodes_send_one_way_all_at_once(hosts):
    ranks = [rank(h) for h in hosts]
    choice = {(p.where, p.ranks): p.pairs for p in choose(ranks)}
    a, b = ([r for r in range(4) if hosts[r] == h] for h in "ab")
    assert choice["across", 2] == ((a[0], b[0]),)
    assert choice["across", 4] == tuple(zip(a, b, strict=True))
    # both pairs of one node at a time would share nothing
    assert ("socket", 4) not in choice
    assert of_all(ranks) == "across"


def test_three_nodes_use_the_way_between_two():
    pairs = {p.ranks: p.pairs for p in choose([rank("a"), rank("b"), rank("c")])}
    assert pairs == {2: ((0, 1),)}


def test_ranks_that_share_cores_are_noticed():
    def shared(ranks):
        return oversubscribed(ranks, len)

    assert not shared([rank("a")] * 4)
    assert shared([rank("a")] * 5)
    assert not shared([rank("a")] * 4 + [rank("b")] * 4)
    # bound to one core although others are free
    assert shared([rank("a", 0, (0,)), rank("a", 0, (0,)), rank("a", 0, (1, 2, 3))])
    unknown = Rank("a", 2, frozenset(), ())
    assert not shared([unknown] * 2)
    assert shared([unknown] * 3)


def test_threads_of_one_core_are_one_place():
    def cores(cpus):
        return len({cpu // 2 for cpu in cpus})

    assert not oversubscribed([rank("a")] * 2, cores)
    assert oversubscribed([rank("a")] * 3, cores)
    assert not oversubscribed([rank("a", 0, (0, 2))] * 2, cores)
