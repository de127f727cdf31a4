"""The choice of a strategy: bytes and seconds of every schedule and place, and the fastest that fits."""
