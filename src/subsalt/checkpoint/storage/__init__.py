"""Storage of states and snapshots: in memory, and in scratch files behind threads of their own."""

from subsalt._moved import in_package

__getattr__ = in_package(__name__)
