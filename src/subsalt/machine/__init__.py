"""Facts about this machine: rates that were measured on it, and the short measurements a plan makes."""
