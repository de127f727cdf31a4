"""Campaigns through ReFrame (https://reframe-hpc.readthedocs.io), a regression framework of HPC sites: extra `lab`."""
