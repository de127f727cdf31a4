"""The velocity of a time migration: rms velocity and effective eta of every output sample, and their sources."""
