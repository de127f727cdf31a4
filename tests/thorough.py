"""How much of what could be tried is tried: a sample in ``make test``, all of it in ``make test-all``."""

import os

#: every strike, form and number of ranks, by ``SUBSALT_TESTS=all``
ALL = os.environ.get("SUBSALT_TESTS") == "all"


def sample(few: int, every: int) -> int:
    """Return how many to try: few in ``make test``, every one in ``make test-all``."""
    return every if ALL else few
