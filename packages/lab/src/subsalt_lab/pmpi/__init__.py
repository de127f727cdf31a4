"""What a program does in MPI: an interposer made from the installed mpi.h, and the profile it leaves."""
