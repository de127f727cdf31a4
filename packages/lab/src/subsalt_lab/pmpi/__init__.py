"""MPI profile of a program, by an interposer made from the installed mpi.h."""
