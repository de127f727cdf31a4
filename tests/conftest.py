"""Lets tests import the helper modules of this folder."""

import os
import signal
import sys
from pathlib import Path

for folder in ("", "mpi"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

# the cut of a segment changes no bit: tests take the default, and leave the user's cache alone
os.environ["SUBSALT_TUNE"] = "off"

# a shell starts what it puts behind (`make test &`) deaf to Ctrl-C, and children inherit that: the tests send it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
