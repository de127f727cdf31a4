"""Weak scaling of a command: how much of its work each layout does, and what sockets gain."""

import pytest

from subsalt_lab import external
from subsalt_lab.layouts import RankLayout, WorkRule, sockets_of
from subsalt_lab.topology import Topology

TWO_SOCKETS = Topology(((0,), (1,), (2,), (3,)), (0, 0, 1, 1))


def test_cores_sockets_and_what_a_socket_gains():
    layouts = [RankLayout(1, 1), RankLayout(2, 1), RankLayout(3, 1), RankLayout(4, 1)]
    seconds = {1: 12.0, 2: 8.0, 3: 4.0, 4: 3.0}
    result = external.measure(
        external.Settings(["p", "{ranks}"], layouts, repeats=3),
        run=lambda settings, start: (seconds[start.layout.ranks], 0.0),
        topology=TWO_SOCKETS,
    )
    rows = {r["ranks"]: r for r in result.rows}
    assert [rows[n]["sockets"] for n in (1, 2, 3, 4)] == [1, 1, 2, 2]
    assert rows[4]["rating_per_core"] == 86400 / 3.0 / 4
    assert rows[4]["rating_per_socket"] == 86400 / 3.0 / 2
    # the second core of a socket, and the fourth of two
    assert rows[2]["socket_gain"] == 1.5
    assert rows[4]["socket_gain"] == pytest.approx(4 / 3)
    assert "socket_gain" not in rows[1]


@pytest.mark.parametrize(
    ("rule", "work", "efficiency"),
    [
        ("ranks", [1.0, 4.0], 1.0),
        ("linear", [1.0, 4.0], 1.0),
        ("cores", [2.0, 8.0], 1.0),
        ("sockets", [1.0, 4.0], 1.0),
        ("fixed", [1.0, 1.0], 0.25),
        ("1:1000,4:2000", [1000.0, 2000.0], 0.5),
    ],
)
def test_rules_of_weak_scaling(rule, work, efficiency):
    layouts = [RankLayout(1, 2), RankLayout(4, 2)]
    seen = []

    def run(settings, start):
        seen.append(external.words_of(settings, start, 2)[1])
        return 10.0, 0.0

    measured = external.measure(
        external.Settings(["p", "{work}", "{ranks}"], layouts, repeats=1, work=WorkRule.read(rule)),
        run=run,
        topology=TWO_SOCKETS,
    )
    assert seen == [f"{w:g}" for w in work]
    assert [r["work"] for r in measured.rows] == work
    assert measured.rows[1]["efficiency"] == efficiency
    assert measured.settings["scaling"] == ("strong" if rule == "fixed" else "weak")


def test_sockets_are_filled_one_after_the_other():
    assert [sockets_of(n, 4) for n in (1, 4, 5, 8, 9)] == [1, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--work", "much", "--", "p", "{ranks}"), "--work much: no rule"),
        (("--work", "1:0", "--", "p", "{ranks}"), "no rule"),
        (("--work", "1:5,1:6", "--", "p", "{ranks}"), "no rule"),
        (("--ranks", "1,2", "--work", "1:5", "--", "p", "{ranks}"), "nothing about 2 ranks"),
        (("--work", "ranks"), "--work belongs to a command"),
    ],
)
def test_wrong_options(subsalt_command, args, said):
    code, _, err = subsalt_command("lab", "scaling", *args)
    assert code == 2
    assert said in err
