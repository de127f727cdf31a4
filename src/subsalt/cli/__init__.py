"""The `subsalt` command: options, commands, output, and how errors reach the user."""

from subsalt.cli.app import main

__all__ = ["main"]
