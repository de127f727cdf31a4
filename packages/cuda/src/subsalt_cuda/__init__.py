"""Where the compiled kernels for GPUs are; subsalt finds this package by its entry point."""

from __future__ import annotations

from pathlib import Path

#: the plug-in that `subsalt.kernels.cuda_library` loads
PLUGIN = Path(__file__).parent / "libsubsalt_cuda.so"
