"""``python -m subsalt``: the same command as ``subsalt``."""

from subsalt.cli import main

main()
