! Calls of a Fortran program, in numbers that can be told in advance; test_fortran_profile.py has them.
program waves
  use mpi
  implicit none
  integer :: error, rank, ranks, i, half, request, status(MPI_STATUS_SIZE), given(4), taken(64)
  double precision :: x(8), sums(8)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  x = rank
  given = rank
  do i = 1, 5
    call MPI_Allreduce(x, sums, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Pcontrol(4)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), 0, half, error)
  call MPI_Bcast(given, 3, MPI_INTEGER, 0, half, error)
  call MPI_Comm_free(half, error)
  call MPI_Isend(given, 2, MPI_INTEGER, mod(rank + 1, ranks), 1, MPI_COMM_WORLD, request, error)
  call MPI_Recv(taken, 4, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status, error)
  call MPI_Wait(request, status, error)
  call MPI_Alltoall(given, 1, MPI_INTEGER, taken, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
