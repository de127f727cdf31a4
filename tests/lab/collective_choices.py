"""Makes choices of algorithms by hand, for the tests of what is written from them."""

from subsalt_lab.collectives.choice import Algorithm, AlgorithmChoice

OPENMPI = {
    "allreduce": {"basic_linear": 1, "recursive_doubling": 3, "ring": 4, "rabenseifner": 6},
    "bcast": {"chain": 2, "pipeline": 3, "binomial": 6},
    "reduce": {"binomial": 5, "in-order_binary": 6},
    "allgather": {"linear": 1, "ring": 4},
    "alltoall": {"pairwise": 2},
    "barrier": {"recursive_doubling": 3},
}


def mpich(collective, name, ranks=2, begin=1024, end=4097, **more):
    """Return a choice as the sweep gives it for MPICH."""
    settings = {f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM": name, **more}
    return _choice(Algorithm(collective, name, 1, settings), ranks, begin, end)


def openmpi(collective, name, ranks=2, begin=1024, end=4097, **more):
    """Return a choice as the sweep gives it for Open MPI."""
    settings = {"coll_tuned_use_dynamic_rules": "1", f"coll_tuned_{collective}_algorithm": name, **more}
    return _choice(Algorithm(collective, name, OPENMPI[collective][name], settings), ranks, begin, end)


def intel(collective, number, ranks=2, begin=1024, end=4097):
    """Return a choice as the sweep gives it for Intel MPI."""
    settings = {f"I_MPI_ADJUST_{collective.upper()}": str(number)}
    return _choice(Algorithm(collective, f"preset {number}", number, settings), ranks, begin, end)


def _choice(algorithm, ranks, begin, end):
    if algorithm.collective == "barrier":
        begin, end = 0, None
    return AlgorithmChoice(algorithm.collective, ranks, begin, end, algorithm, 20.0, 10.0, 1.8, 2.2)
