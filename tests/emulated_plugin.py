"""Where `make emulated` puts the plug-in of the emulated device; SUBSALT_EMULATED_PLUGIN names another build of it."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
EMULATED_PLUGIN = ROOT / os.environ.get(
    "SUBSALT_EMULATED_PLUGIN", "build/emulated/libsubsalt_cuda_emulated.so"
)
