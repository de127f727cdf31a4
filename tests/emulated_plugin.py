"""Where `make emulated` puts the plug-in of the emulated device."""

from pathlib import Path

EMULATED_PLUGIN = Path(__file__).parents[1] / "build" / "emulated" / "libsubsalt_cuda_emulated.so"
