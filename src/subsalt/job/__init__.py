"""The job file: its sections, what they load, how they are checked, and its text."""
