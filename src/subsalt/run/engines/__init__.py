"""Engines that others maintain, by which the units of a run are computed on machines that come and go.

An engine is an adapter that fulfils `farm.Farm`: which workers there are, starting a task on one of them, and what has
ended. All else is the same for each (`farm.FarmUnits`): how many tasks wait at a worker, what a lost worker or an exit
code means, and what is entered in the ledger. A worker starts `subsalt unit` (`worker`).
"""
