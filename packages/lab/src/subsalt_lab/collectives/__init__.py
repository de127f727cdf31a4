"""Which algorithm of each collective operation is fastest here, by message size and ranks, and how to tell the MPI."""
