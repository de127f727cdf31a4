"""Run the kernel tests on a native module built with sanitizers; the make targets pass the build folder and the files.

Its module takes the place of the installed one; the sanitizer runtimes are preloaded by the caller.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(folder: Path) -> None:
    """Import the module of the build folder as `subsalt._native`."""
    (path,) = folder.glob("_native*.so")
    spec = importlib.util.spec_from_file_location("subsalt._native", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["subsalt._native"] = module
    import subsalt

    subsalt._native = module


def main() -> int:
    """Return pytest's exit status."""
    load(Path(sys.argv[1]).resolve())
    files = sys.argv[2:] or [
        "test_kernels.py",
        "test_kernels_points.py",
        "test_kernels_arguments.py",
        "test_kernels_tti.py",
        "test_kirchhoff_sum.py",
        "test_kirchhoff_arguments.py",
        "test_packing.py",
        "test_segment.py",
        "test_slab_passes.py",
        "methods/kirchhoff/test_prepare.py",
        "io/test_samples.py",
        "checkpoint/test_pool.py",
        "checkpoint/test_stores.py",
        "lab/test_lab_memory.py",
        "lab/test_lab_kernels.py",
    ]
    return int(
        pytest.main([*(str(ROOT / "tests" / f) for f in files), "-x", "--capture=no", "-p", "no:xdist"])
    )


if __name__ == "__main__":
    sys.exit(main())
