"""Scan of SEG-Y and SU files: facts, oddities with evidence and cure, amplitudes."""
