"""Who started us, from the environment alone."""

import pytest

from subsalt.parallel.mpi_library import launched


def test_a_process_alone_has_no_launcher():
    assert launched({}) is None
    # a batch script has these, and is one process
    assert launched({"SLURM_NTASKS": "8", "SLURM_PROCID": "0"}) is None
    assert launched({"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}) is None


@pytest.mark.parametrize(
    ("environment", "rank", "size"),
    [
        ({"PMI_RANK": "2", "PMI_SIZE": "4"}, 2, 4),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "3"}, 0, 3),
        ({"PMIX_RANK": "5", "SLURM_STEP_NUM_TASKS": "6", "SLURM_PROCID": "5"}, 5, 6),
    ],
)
def test_launchers(environment, rank, size):
    launch = launched(environment)
    assert (launch.rank, launch.size, launch.connected) == (rank, size, True)
    assert launched(environment | {"SUBSALT_MPI": "off"}) is None


def test_srun_without_mpi_is_no_world():
    launch = launched({"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "3"})
    assert (launch.rank, launch.size, launch.connected) == (3, 4, False)


def test_a_library_of_another_family_does_not_fit():
    launch = launched({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "3"})
    assert not launch.fits("MPICH Version: 5.0.2")
    assert launch.fits("Open MPI v5.0.11")
    assert launched({"PMI_RANK": "0", "PMI_SIZE": "2"}).fits("Intel(R) MPI Library 2021.18")
