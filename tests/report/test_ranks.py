"""The report of a run on several ranks."""

import re

from subsalt.report.facts import RunFacts
from subsalt.report.render import part
from subsalt.report.time_spent import ranks


def shown(run):
    return part("run.html", "ranks", ranks(facts_of(run)))


def facts_of(run):
    facts = RunFacts.__new__(RunFacts)
    facts.run = run
    return facts


RUN = {
    "parallel": {"ranks": 7, "nodes": 2, "groups": [3, 2], "idle_ranks": 2, "threads": 4, "io": "per-rank"},
    "over_ranks": {
        "phases": {
            "source": {"mean": 2.0, "max": 2.5},
            "trace input": {"mean": 0.25, "max": 0.5},
            "unexplained": {"mean": 0.05, "max": 0.1},
            "wall": {"mean": 2.3, "max": 2.31},
        },
        "input": {
            "all": {"wanted": 2_000_000, "read": 3_000_000, "received": 0},
            "traces": {"wanted": 1_000_000, "read": 0, "received": 1_500_000},
        },
    },
}


def test_groups_phases_and_input_are_told():
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown(RUN)))
    assert (
        "7 ranks on 2 nodes, 4 threads each, in 2 groups of 2 or 3, one shot each, 2 of them without" in text
    )
    assert "source 2.000 2.500" in text
    assert "wall 2.300 2.310" in text
    assert "traces 1 MB 0 B 1.5 MB 1.50" in text
    assert "all input, checks included 2 MB 3 MB 0 B 1.50" in text


def test_gpus_are_named_once():
    seats = [
        {"host": h, "bus": b, "name": "NVIDIA H200"}
        for h, b in (("a", "p"), ("a", "q"), ("b", "p"), ("b", "p"))
    ]
    said = shown({"parallel": {"ranks": 4, "nodes": 2, "groups": [4], "gpus": [*seats, "x"]}})
    assert "4 ranks on 2 nodes, on 3 GPUs (NVIDIA H200), all on one shot at a time." in said


def test_a_process_alone_has_no_such_section():
    assert ranks(facts_of({})) is None
    assert ranks(facts_of({"parallel": {"ranks": 1, "groups": [1]}})) is None


def test_what_is_missing_or_strange_is_left_out():
    # run.json is data: nothing in it may break the report
    strange = {
        "parallel": {"ranks": 2, "groups": ["x", None]},
        "over_ranks": {"phases": [], "input": {"all": 3}},
    }
    assert "2 ranks on 1 node" in shown(strange)
    broken = {"parallel": {"ranks": 2}, "over_ranks": {"phases": {"source": {"mean": None, "max": "y"}}}}
    assert "<script" not in shown(broken)
