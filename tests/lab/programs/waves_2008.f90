! Calls of a Fortran program, in numbers that can be told in advance; test_fortran_profile.py has them.
program waves
  use mpi_f08
  implicit none
  integer :: rank, ranks, i, given(4), taken(64)
  type(MPI_Comm) :: half
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  double precision :: x(8), sums(8)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  x = rank
  given = rank
  do i = 1, 5
    call MPI_Allreduce(x, sums, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end do
  call MPI_Pcontrol(4)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), 0, half)
  call MPI_Bcast(given, 3, MPI_INTEGER, 0, half)
  call MPI_Comm_free(half)
  call MPI_Isend(given, 2, MPI_INTEGER, mod(rank + 1, ranks), 1, MPI_COMM_WORLD, request)
  call MPI_Recv(taken, 4, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status)
  call MPI_Wait(request, status)
  call MPI_Alltoall(given, 1, MPI_INTEGER, taken, 1, MPI_INTEGER, MPI_COMM_WORLD)
  call MPI_Finalize()
end program
