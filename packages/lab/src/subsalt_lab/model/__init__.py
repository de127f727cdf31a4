"""Where the time should go: arithmetic from rates that were measured or given to seconds by phase.

`subsalt.plan` feeds it with a job, `founding` with the tables of founding document 001. What it says beyond the machine
that was measured is an extrapolation and labelled so: a model, never a result.
"""
