"""Runs of one job after the other: its check is that of the first."""

from checks_once import checks_once as checks_once
