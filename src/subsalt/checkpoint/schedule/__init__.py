"""Schedules: which states of a shot are stored and when they are loaded again; steps counted exactly."""
