"""What this machine gives: rates that were measured on it, and the short measurements a plan makes."""
