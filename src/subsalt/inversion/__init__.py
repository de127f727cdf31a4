"""Linear inversion of arrays: iterations, preconditioners, penalties, stopping rules. It knows no job and no file."""
