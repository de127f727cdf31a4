"""Time steps of a wavefield: domain, propagator, ghost planes, the loops over steps, recording."""
