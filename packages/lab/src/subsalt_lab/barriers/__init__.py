"""Which barriers of a program may be left out: the audit of them, and trial runs without."""
