"""Checkpointing: which states and snapshots of a shot are kept, where, and when they are computed again."""
