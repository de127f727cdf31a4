"""Facts about this machine: measured rates, and the short measurements that a plan makes."""
