"""Runs of a job: ledger, partial images, outputs, and the drivers of migration and modelling."""
