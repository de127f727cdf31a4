"""The commands `subsalt lab`."""

from subsalt_lab.cli.lab import lab as lab
