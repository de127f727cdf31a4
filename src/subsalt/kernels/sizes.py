"""Sizes of what kernels allocate, from the same shapes: memory fields of a layer, rings of threads, points on a GPU."""

from __future__ import annotations

from subsalt.kernels.problem import MEMORY, Layout

#: bytes of a number
HALF, FLOAT, DOUBLE = 2, 4, 8

#: a large array fills whole pages of this size (native/bindings/arrays.hpp)
HUGE_PAGE = 2 << 20

#: planes along x that a tile of the TTI step does at a time
TILT_PLANES = 2

#: bytes of a buffer through which rows of samples, records and shells travel, two for each: a copy of some MB reaches
#: the rate of the link
SERIES_BYTES = 4 << 20

#: bytes of a point on a GPU: first node of its support, its places in the tiles that inject it; and per node and axis
POINT, WEIGHTS = 3 * 4 + 68, 3 * 2 * 4

#: tables of a problem on a GPU: profiles and stencils along the axes
TABLES = 64 << 10


def allocated(size: int) -> int:
    """Return the bytes that an array of `size` bytes takes: large ones fill whole huge pages."""
    return size if size < 2 * HUGE_PAGE else -(-(size + 64) // HUGE_PAGE) * HUGE_PAGE


def memory_numbers(
    layout: Layout, medium: str, width: int, free_surface: bool, layers: tuple[int, int]
) -> list[int]:
    """Return the numbers of every memory field of the PML, in rows along z of whole vectors (`cpu.new_memory`).

    Parameters
    ----------
    layout : Layout
        Layout of the planes that are held.
    medium : str
        Medium, which decides the kinds of memory fields.
    width : int
        Cells of the layer.
    free_surface : bool
        Whether the top is a free surface, which has no layer.
    layers : tuple of int
        Planes held that lie in the layers at the ends of x, and rows in those at the ends of y.
    """
    nx, ny, nz = layout.shape3
    row, window = _vectors(nz), _vectors(width + layout.radius)
    sizes = [layers[0] * ny * row, (1 if free_surface else 2) * window * nx * ny]
    if layout.ndim == 3:
        sizes.append(layers[1] * nx * row)
    return sizes * len(MEMORY[medium])


def whole_memory_numbers(layout: Layout, medium: str) -> list[int]:
    """Return the same where memory fields are padded arrays like wavefields (`reference.new_memory`)."""
    return [layout.numbers] * layout.ndim * len(MEMORY[medium])


def tilt_scratch(layout: Layout) -> int:
    """Return the bytes of the flux rings that a thread keeps for a tile of the TTI step (native/isa/tti_rings.hpp)."""
    planes, reach = TILT_PLANES, layout.radius
    rows = min(layout.shape3[1], max(16, min(64, 64 * 272 // layout.row)))
    row = _vectors(layout.shape3[2]) + 64
    slots = 2 * (2 * reach + planes) + 2 * (reach + planes) + planes
    across = planes * (2 * reach + 1 if layout.ndim == 3 else 1)
    return FLOAT * row * (slots * rows + across + 2)


def points_bytes(n: int, nt: int, radius: int) -> int:
    """Return the bytes of a source or recorder of `n` points and `nt` samples on the GPU, with its weights."""
    row = 4 * n
    series = 2 * row * min(nt, max(1, SERIES_BYTES // row)) if n else 0
    return n * (POINT + radius * WEIGHTS) + series


def _vectors(n: int) -> int:
    """Return `n` rounded up to whole vectors of 16 floats."""
    return -(-n // 16) * 16
