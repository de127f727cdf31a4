"""Storage of states and snapshots: in memory, and in scratch files behind threads of their own."""
