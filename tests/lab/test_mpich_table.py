"""MPICH's table of algorithms with choices in it: a walk through it, as MPICH walks, ends where it should."""

import json
import re
from pathlib import Path

import pytest
from collective_choices import mpich
from launch import MPI

from subsalt.errors import DeviceError
from subsalt_lab.collectives import mpich_files as files
from subsalt_lab.collectives import mpich_table as table
from subsalt_lab.collectives.mpich_files import MpichLibrary
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

#: parts of the general table of MPICH 5, with the conditions that matter
GENERAL = {
    "collective=bcast": {
        "comm_type=intra": {
            "comm_size<8": {"avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_binomial": {}}},
            "comm_size=pow2": {
                "avg_msg_size<=12288": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}},
            },
            "comm_size=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}},
        },
        "comm_type=inter": {"algorithm=MPIR_Bcast_inter_remote_send_local_bcast": {}},
    },
    "collective=allreduce": {
        "comm_type=intra": {
            "avg_msg_size<=8": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
            "avg_msg_size=any": {"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {}},
        }
    },
    "collective=allgather": {
        "comm_type=intra": {
            "comm_size=pow2": {
                "total_msg_size<524288": {"algorithm=MPIR_Allgather_intra_recursive_doubling": {}},
                "total_msg_size=any": {"algorithm=MPIR_Allgather_intra_ring": {}},
            },
            "comm_size=any": {"algorithm=MPIR_Allgather_intra_brucks": {}},
        }
    },
    "collective=alltoall": {"comm_type=intra": {"algorithm=MPIR_Alltoall_intra_pairwise": {}}},
    "collective=barrier": {"comm_type=intra": {"algorithm=MPIR_Barrier_intra_k_dissemination": {"k=2": {}}}},
}
NODE = {
    "collective=bcast": {
        "comm_type=intra": {"is_multi_threaded=no": {"algorithm=MPIDI_POSIX_mpi_bcast_release_gather": {}}}
    }
}
COMPOSITION = {
    "collective=allreduce": {
        "comm_type=intra": {
            "comm_size=node_comm_size": {"composition=MPIDI_Allreduce_intra_composition_gamma": {}},
            "comm_size=any": {
                "comm_hierarchy=parent": {
                    "is_commutative=yes": {"composition=MPIDI_Allreduce_intra_composition_alpha": {}},
                    "is_commutative=no": {"composition=MPIDI_Allreduce_intra_composition_beta": {}},
                },
                "comm_hierarchy=any": {"composition=MPIDI_Allreduce_intra_composition_beta": {}},
            },
        }
    }
}
NAMES = [
    "Bcast_intra_pipelined_tree",
    "Bcast_intra_binomial",
    "Bcast_intra_scatter_ring_allgather",
    "Allreduce_intra_ring",
    "Allreduce_intra_smp",
    "Allreduce_intra_recexch",
    "Allgather_intra_ring",
    "Alltoall_intra_brucks",
    "Barrier_intra_recexch",
]
VALUES = {v: "2" for parameters in table.PARAMETERS.values() for v in parameters.values()}
LIBRARY = b"\0".join(
    [
        b"\x7fELF",
        json.dumps(NODE).encode(),
        json.dumps(COMPOSITION).encode(),
        json.dumps(GENERAL).encode(),
        *(f"algorithm=MPIR_{n}".encode() for n in NAMES),
        *(f"composition=MPIDI_Allreduce_intra_composition_{g}".encode() for g in ("alpha", "beta", "gamma")),
        b"end",
    ]
)


@pytest.fixture
def source(tmp_path):
    library = tmp_path / "libmpi.so.12"
    library.write_bytes(LIBRARY)
    return MpichLibrary.of(library, VALUES)


def walk(tree, collective, ranks, nbytes, *, threads="multiple", **call):
    """Return the leaf that MPICH comes to: the first condition that holds is entered for good; None: nothing found."""
    count = call.get("count", nbytes // 8)
    power = 1 << (ranks.bit_length() - 1)
    facts = {"is_op_built_in": "yes", "is_commutative": "yes", "is_sendbuf_inplace": "no"} | call
    facts |= {"is_multi_threaded": "yes" if threads == "multiple" else "no", "comm_hierarchy": "parent"}
    node, below_message = tree[f"collective={collective}"]["comm_type=intra"], False
    while True:
        for key, below in node.items():
            name, sign, value = (
                re.fullmatch(r"(\w+?)(<=|<|=)(.*)|any()", key).groups()[:3]
                if key != "any"
                else (
                    "any",
                    "=",
                    "any",
                )
            )
            if name in ("algorithm", "composition"):
                return key
            if name == "comm_size":
                number = int(value) if value.isdecimal() else None
                # what MPICH does below a condition that it cannot answer once for a communicator
                sign = "<=" if below_message and sign == "<" else sign
                holds = {
                    "any": True,
                    "pow2": ranks & (ranks - 1) == 0,
                    "node_comm_size": call.get("one_node", True),
                }.get(
                    value, number is not None and (ranks <= number if sign == "<=" else ranks < (number or 0))
                )
            elif name in ("avg_msg_size", "total_msg_size"):
                assert (name == "total_msg_size") == (collective == "allgather"), "MPICH ends the program"
                size = nbytes * (ranks if name == "total_msg_size" else 1)
                holds = value == "any" or (size <= int(value) if sign == "<=" else size < int(value))
            elif name == "count":
                holds = value == "any" or count < power
            elif name == "any":
                holds = True
            else:
                if name.startswith(("is_op", "is_comm")):
                    assert collective in ("allreduce", "reduce"), "MPICH ends the program"
                if name == "is_sendbuf_inplace":
                    assert collective == "alltoall", "MPICH ends the program"
                holds = value in ("any", facts[name])
            if holds:
                below_message = below_message or name != "comm_size"
                node = below
                break
        else:
            return None


CHOICES = [
    mpich("bcast", "pipelined_tree", 2, 1000, 2001),
    mpich("bcast", "pipelined_tree", 8, 0, 64),
    mpich("bcast", "scatter_ring_allgather", 9, 64, None),
    mpich("allreduce", "ring", 4, 1024, 4097),
    mpich("allreduce", "recexch", 4, 4097, 9000),
    mpich("allgather", "ring", 4, 100, 1000),
    mpich("alltoall", "brucks", 2, 100, 1000),
    mpich("barrier", "recexch", 4),
]


def meant(collective, ranks, nbytes):
    for c in CHOICES:
        inside = c.bytes_from <= nbytes and (c.bytes_below is None or nbytes < c.bytes_below)
        if (c.collective, c.comm_size) == (collective, ranks) and inside:
            return f"algorithm=MPIR_{collective.capitalize()}_intra_{c.algorithm.name}"
    return walk(GENERAL, collective, ranks, nbytes)


@pytest.mark.parametrize("collective", ["bcast", "allreduce", "allgather", "alltoall", "barrier"])
def test_every_call_comes_to_what_was_chosen_and_all_others_to_the_default(source, collective):
    tree = files.trees(source, CHOICES, "multiple")["general"]
    ends = {e for c in CHOICES for e in (c.bytes_from, c.bytes_below or 1 << 30)} | {12288, 524288 // 4}
    for ranks in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17):
        for nbytes in sorted({e + d for e in ends for d in (-1, 0, 1) if e + d >= 0}):
            reached = walk(tree, collective, ranks, nbytes)
            assert reached == meant(collective, ranks, nbytes), (ranks, nbytes)


def test_what_was_measured_with_threads_holds_with_threads_only(source):
    tree = files.trees(source, CHOICES, "multiple")["general"]
    assert walk(tree, "bcast", 2, 1500).endswith("pipelined_tree")
    assert walk(tree, "bcast", 2, 1500, threads="single") == walk(GENERAL, "bcast", 2, 1500)


def test_the_level_of_a_node_lets_tuned_sizes_of_a_program_without_threads_through(source):
    out = files.trees(source, CHOICES[:1], "single")
    release = "algorithm=MPIDI_POSIX_mpi_bcast_release_gather"
    for nbytes, release_found in ((999, release), (1000, None), (2000, None), (2001, release)):
        assert walk(out["node"], "bcast", 2, nbytes, threads="single") == release_found
        assert walk(out["node"], "bcast", 3, nbytes, threads="single") == release
    assert walk(out["general"], "bcast", 2, 1500, threads="single").endswith("pipelined_tree")
    assert "node" not in files.trees(source, CHOICES[:1], "multiple")


@pytest.mark.parametrize("call", [{"is_op_built_in": "no"}, {"count": 3}])
def test_operations_of_the_user_and_short_vectors_go_the_way_of_the_library(source, call):
    tree = files.trees(source, CHOICES, "multiple")["general"]
    assert walk(tree, "allreduce", 4, 2048).endswith("ring")
    assert walk(tree, "allreduce", 4, 2048, **call) == walk(GENERAL, "allreduce", 4, 2048)


def test_an_alltoall_in_place_goes_the_way_of_the_library(source):
    tree = files.trees(source, CHOICES, "multiple")["general"]
    assert walk(tree, "alltoall", 2, 500).endswith("brucks")
    assert walk(tree, "alltoall", 2, 500, is_sendbuf_inplace="yes").endswith("pairwise")


def test_a_composition_is_taken_where_the_library_may_take_it(source):
    one = mpich("allreduce", "x", 4, 0, 1025)
    settings = {"MPIR_CVAR_ALLREDUCE_COMPOSITION": "1"}
    one = type(one)(
        **{**one.__dict__, "algorithm": type(one.algorithm)("allreduce", "composition 1", 1, settings)}
    )
    tree = files.trees(source, [one], "multiple")["composition"]
    key = "composition=MPIDI_Allreduce_intra_composition_"
    assert walk(tree, "allreduce", 4, 1024) == key + "alpha"
    assert walk(tree, "allreduce", 4, 1025) == key + "gamma"
    assert walk(tree, "allreduce", 4, 1024, is_commutative="no") == key + "gamma"
    # what has several ways in the table is taken by the one that asks least
    assert table.conditions(COMPOSITION["collective=allreduce"]["comm_type=intra"], key + "beta") == []


def test_parameters_of_an_algorithm_are_those_of_its_variables(source):
    more = {"MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE": "65536"}
    leaf = files.leaf_of(source, mpich("bcast", "pipelined_tree", **more).algorithm)
    assert leaf == {
        "algorithm=MPIR_Bcast_intra_pipelined_tree": {
            "tree_type=2": {},
            "k=2": {},
            "is_non_blocking=2": {},
            "chunk_size=65536": {},
            "recv_pre_posted=2": {},
        }
    }


def test_what_cannot_be_written_is_refused(source):
    with pytest.raises(DeviceError, match="know no such algorithm") as unknown:
        files.leaf_of(source, mpich("bcast", "by_pigeon").algorithm)
    with pytest.raises(DeviceError, match="TREE_TYPE") as parameter:
        files.leaf_of(
            MpichLibrary(source.tables, source.text, {}), mpich("bcast", "pipelined_tree").algorithm
        )
    with pytest.raises(DeviceError, match="has no table") as empty:
        files.leaf_of(MpichLibrary({}, source.text, VALUES), mpich("bcast", "binomial").algorithm)
    assert {e.value.code for e in (unknown, parameter, empty)} == {"E940"}


def test_what_has_a_hierarchy_of_nodes_is_asked_for(source):
    node = table.guarded("bcast", {"algorithm=MPIR_Bcast_intra_smp": {}}, {"any": {}})
    assert list(node) == ["comm_hierarchy=parent", "comm_hierarchy=any"]


def test_a_file_never_fills_its_last_page():
    # MPICH maps the file and reads up to a zero byte
    for length in range(table.PAGE - 30, table.PAGE + 5):
        assert len(table.text_of({"a" * length: {}})) % table.PAGE


def test_a_table_with_a_key_twice_is_not_taken():
    twice = b'{"collective=bcast":{},"collective=bcast":{}}'
    assert list(table._texts(b"\0" + twice + b"\0")) == []


def test_a_library_without_tables_has_none(tmp_path):
    path = tmp_path / "libmpi.so"
    path.write_bytes(b"nothing here")
    assert table.tables(path) == {}


class TestLibraryInUse:
    pytestmark = MPI

    def test_it_has_the_tables_that_the_writer_needs(self):
        mpi = MpiInUse.find()
        if mpi.family != "mpich" or int(mpi.version.split(".")[0]) < 5:
            pytest.skip(f"{mpi.name}: the tables are those of MPICH 5")
        known_tables = table.tables(Path(mpi.library))
        assert set(known_tables) == {"general", "node", "composition"}
        assert set(GENERAL) < set(known_tables["general"])
        # every tree can be cut to a number of ranks, and the answer is then free of them
        for level in known_tables.values():
            for tree in level.values():
                for ranks in (1, 2, 7, 8, 9):
                    cut = json.dumps(table.for_size(tree.get("comm_type=intra", {}), ranks))
                    assert not re.search(r'"comm_size(?!=node_comm_size)', cut)
