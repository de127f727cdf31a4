"""Lets tests import the helper modules of this folder."""

import os
import sys
from pathlib import Path

for folder in ("", "mpi"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

# the cut of a segment changes no bit: tests take the default, and leave the user's cache alone
os.environ["SUBSALT_TUNE"] = "off"
