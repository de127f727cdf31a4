"""``python -m subsalt``: the same command as ``subsalt``."""

from subsalt.cli.app import main

main()
