"""Ranks of MPI: who they are, how they agree, what each holds, and what notices one that stopped."""
