"""The two nodes of `benchmarks/two_nodes.py`: messages cross the link and are counted; what is found makes a page."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from launch import needs_mpi

from patience import PATIENCE

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import nodes  # noqa: E402
import two_nodes  # noqa: E402

#: makes two nodes in namespaces of its own and sends two messages, held to TCP or not
PROGRAM = """
import json, subprocess, sys, tempfile
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import nodes
nodes.enter_private_namespace(sys.argv)
with tempfile.TemporaryDirectory() as made, nodes.Nodes(Path(made), "400mbit") as two:
    words = two.mpiexec(sys.argv[2])
    if sys.argv[3] == "any":
        words = [w if w != "tcp,self" else "all" for w in words]
    before = two.carried()
    program = [sys.executable, str(Path(sys.argv[1], "two_nodes_rank.py")), "wire", "2000000"]
    done = subprocess.run(two.at("alpha", [*words, "-n", "2", *program]), capture_output=True, text=True)
    print(json.dumps({"rc": done.returncode, "carried": two.carried() - before, "said": done.stdout + done.stderr}))
"""


def hindrance():
    """Return why nodes cannot be made here; empty when they can."""
    missing = [p for p in nodes.PROGRAMS if shutil.which(p) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    done = subprocess.run(["unshare", "--mount", "--net", "--uts", "true"], capture_output=True)
    return "" if done.returncode == 0 else "network namespaces cannot be made here"


@needs_mpi
@pytest.mark.skipif(bool(hindrance()), reason=hindrance())
def test_messages_cross_the_link_when_mpi_is_held_to_it(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    seconds = {}
    for transport in ("tcp", "any"):
        words = [sys.executable, str(script), str(BENCHMARKS), two_nodes.MPIEXEC, transport]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=True)
        seconds[transport] = json.loads(done.stdout.splitlines()[-1])
        assert seconds[transport]["rc"] == 0, seconds
    assert 4_000_000 <= seconds["tcp"]["carried"] <= two_nodes.HEADERS * 4_000_000 + two_nodes.START
    # the trap: nothing but the start crosses, although both ranks are on nodes of their own
    assert seconds["any"]["carried"] < two_nodes.START


def test_what_the_link_must_have_carried():
    two_nodes._crossed("messages", 10_000_000, 10_100_000)
    for carried in (9_999_999, 12_000_000):
        with pytest.raises(two_nodes.Failed, match="the link carried"):
            two_nodes._crossed("messages", 10_000_000, carried)


def test_how_fast_the_link_is():
    rows = [
        {"what": what, "where": "across", "bytes": 65536, "ranks": 2, "value": value}
        for what, value in (("stream", 0.024), ("bidirectional", 0.047))
    ]
    # what fits into the bucket at once goes faster than the link
    rows.append({"what": "stream", "where": "across", "bytes": 1024, "ranks": 2, "value": 0.5})
    two_nodes._as_fast_as_the_link(rows, 0.025)
    for wrong in (0.015, 0.03):
        with pytest.raises(two_nodes.Failed, match="the link has"):
            two_nodes._as_fast_as_the_link([rows[0] | {"value": wrong}, *rows[1:]], 0.025)
    with pytest.raises(two_nodes.Failed, match="no row of bidirectional"):
        two_nodes._as_fast_as_the_link(rows[:1], 0.025)


def test_the_page_holds_what_was_found():
    row = {
        "where": "two nodes",
        "ranks": 2,
        "seconds": 3.0,
        "sent": 5_000_000,
        "carried": 5_100_000,
        "image": "ab" * 32,
    }
    halo = {"ranks": 4, "bytes": 7_000_000, "carried": 7_200_000}
    facts = {
        "machine": {
            "cpu": "a processor",
            "cores": 2,
            "subsalt": "1.2.3",
            "load_before": 0.1,
            "date": "2026-01-02",
        },
        "rate": "200mbit",
        "wire": {"bytes": 1_000_000, "carried": 1_010_000},
        "halo": {"steps": 9, "grid": [8, 9, 10], "rows": [halo]},
        "migration": {"rows": [row, row | {"sent": 0}]},
        "input": {"sent": 2_000_000, "alone": {"carried": 2_020_000}, "full": {"rows": []}},
        "network": {
            "rows": [
                {"what": "stream", "where": "across", "ranks": 2, "bytes": 8, "value": 0.0234, "spread": 0}
            ]
        },
    }
    text = two_nodes.page(facts)
    for words in (
        "limited to 200mbit",
        "| 7.00 | 7.20 |",
        "| 5.0 | 5.1 |",
        "|  | 5.1 |",
        "`abababababababab`",
        "2.02",
        "| across | 1 | 8 | 0.0234 |",
    ):
        assert words in text
