"""VTK ImageData (``.vti``) for ParaView: one scalar on a regular grid, data appended raw.

VTK's z points up: depth becomes -z through the Direction matrix, which also carries the rotation of the
frame, so that the picture stands where the map has it.
"""

from __future__ import annotations

import base64
import binascii
import math
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.errors import ModelError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.publish import atomic_write
from subsalt.io.volumes.planes import AcrossPlanes, Bytes, FileBytes, OpenVolume, VolumeLabel
from subsalt.io.volumes.request import VolumeRequest

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

_HEAD = 1 << 20
_TYPES = {"Float32": "f4", "Float64": "f8", "Int32": "i4", "Int16": "i2", "UInt8": "u1"}


def write_vti(
    path: str | os.PathLike[str], grid: Grid, values: NDArray[np.float32], label: VolumeLabel
) -> None:
    """Write values (nx, [ny,] nz) as point data; a 2-D section has one point in y."""
    from xml.sax.saxutils import quoteattr

    frame, name = label.frame, label.name
    nx, ny, nz = grid.shape3
    first = frame.to_world(np.array([grid.origin3]))[0]
    axes = frame.to_world(np.array([[1.0, 0, 0], [0, 1.0, 0]])) - frame.to_world(np.zeros((1, 3)))
    (ax, ay), (bx, by) = axes[0, :2], axes[1, :2]
    # row-major matrix whose columns are the directions of the x, y and depth axes
    direction = [ax, bx, 0.0, ay, by, 0.0, 0.0, 0.0, -1.0]

    # local coordinates: VTK has the map's alone
    place = (frame.x0, frame.y0, frame.azimuth, float(frame.flip))

    def numbers(values: Sequence[float]) -> str:
        return " ".join(repr(float(v) + 0.0) for v in values)

    extent = f"0 {nx - 1} 0 {ny - 1} 0 {nz - 1}"
    codes = " ".join(str(b) for b in "\n".join(label.text).encode("ascii", "replace"))
    head = f"""<?xml version="1.0"?>
<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
<ImageData WholeExtent="{extent}" Origin="{numbers([first[0], first[1], -first[2]])}"
 Spacing="{numbers(grid.spacing3)}" Direction="{numbers(direction)}">
<FieldData><Array type="String" Name="provenance" NumberOfTuples="1" format="ascii">{codes}
0</Array>
<DataArray type="Float64" Name="frame" NumberOfTuples="4" format="ascii">{numbers(place)}</DataArray>
<DataArray type="Float64" Name="local_origin" NumberOfTuples="3" format="ascii">{numbers(grid.origin3)}</DataArray>
</FieldData> <Piece Extent="{extent}"><PointData Scalars={quoteattr(name)}>
<DataArray type="Float32" Name={quoteattr(name)} format="appended" offset="0"/>
</PointData><CellData/></Piece>
</ImageData>
<AppendedData encoding="raw">
_""".encode()
    tail = b"\n</AppendedData>\n</VTKFile>\n"
    a = np.asarray(values, dtype="<f4").reshape(nx, ny, nz)
    size = len(head) + 8 + a.nbytes + len(tail)
    with atomic_write(path, size=size) as f:
        f.write(head)
        f.write(np.uint64(a.nbytes).astype("<u8").tobytes())
        # VTK runs through x first; a few depth slices at a time bound the memory of the transposed copy
        for k in range(0, nz, 16):
            f.write(raw_bytes(np.ascontiguousarray(a[:, :, k : k + 16].transpose(2, 1, 0))))
        f.write(tail)


def open_vti(path: str | os.PathLike[str], request: VolumeRequest) -> OpenVolume:
    """Open point data of an ImageData file with uncompressed appended data (raw or base64).

    Raises
    ------
    ModelError
        When the file is another kind of VTK file, compressed, or shorter than its extent.
    """
    with InputFile(path, ModelError) as file:
        head = file.read_at(0, min(file.size, _HEAD))
        before, mark, _ = head.partition(b"<AppendedData")
        if not mark:
            raise ModelError(
                f"{path} has no appended data", "write it with appended, uncompressed data", code="E232"
            )
        image, encoding, start = _parse(path, before, head)
        extent = _numbers(path, image, "WholeExtent", 6)
        shape = tuple(int(extent[2 * i + 1] - extent[2 * i]) + 1 for i in range(3))
        spacing = _numbers(path, image, "Spacing", 3)
        direction = _numbers(path, image, "Direction", 9, (1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0))
        origin = _numbers(path, image, "Origin", 3, (0.0, 0.0, 0.0))
        array = _array(path, image, request)
        dtype = _TYPES.get(array.get("type", ""))
        if dtype is None or min(shape) < 1:
            raise ModelError(
                f"{path}: array of {array.get('type')} over {shape}", "store Float32", code="E232"
            )
        first = start + int(_numbers(path, array, "offset", 1, (0.0,))[0])
        stored = np.dtype("<" + dtype)
        data, begin = _payload(path, file, first, encoding, math.prod(shape) * stored.itemsize)
    grid, frame, upward = _place(path, shape, spacing, origin, direction)
    if not upward:
        grid, frame = _as_written(image, grid, frame)
    flat = tuple(shape[i] for i in (0, 2)) if grid.ndim == 2 else shape
    planes = AcrossPlanes(data, begin, flat, stored, upward)
    return OpenVolume(request.grid(path, grid.shape, grid.spacing, grid.origin), frame, planes)


def _as_written(image: ET.Element, grid: Grid, frame: Frame) -> tuple[Grid, Frame]:
    """Return grid and frame in the local coordinates that our own files name, where they lie at the same place."""
    said = {a.get("Name"): (a.text or "").split() for a in image.findall("FieldData/DataArray")}
    try:
        x0, y0, azimuth, flip = (float(v) for v in said["frame"])
        first = tuple(float(v) for v in said["local_origin"])
    except (KeyError, ValueError):
        return grid, frame
    keep = (0, 2) if grid.ndim == 2 else (0, 1, 2)
    if len(first) != 3 or not all(math.isfinite(v) and abs(v) < 1e12 for v in (x0, y0, azimuth, *first)):
        return grid, frame
    own, local = (
        Frame(x0, y0, azimuth, bool(flip)),
        Grid(grid.shape, grid.spacing, tuple(first[i] for i in keep)),
    )
    corners = [
        f.to_world(
            np.array([g.origin3, np.array(g.origin3) + np.array(g.spacing3) * (np.array(g.shape3) - 1)])
        )
        for f, g in ((own, local), (frame, grid))
    ]
    same = np.abs(corners[0] - corners[1]).max() <= 1e-3 * min(grid.spacing)
    return (local, own) if same else (grid, frame)


def _parse(path: object, before: bytes, head: bytes) -> tuple[ET.Element, str, int]:
    """Return the ImageData element, the encoding and the byte at which appended data begin."""
    import xml.etree.ElementTree as ET

    after = head[len(before) :]
    appended = re.match(rb"<AppendedData([^>]{0,200})>\s*_", after)
    # entities and document types have no place here and are how XML bombs are made
    if appended is None or b"<!" in before.replace(b"<!--", b""):
        raise ModelError(f"{path} is not a VTK ImageData file", "export it as .vti, appended", code="E232")
    try:
        root = ET.fromstring(before + b"</VTKFile>")
    except ET.ParseError as e:
        raise ModelError(f"{path} is not a VTK ImageData file: {e}", "export it as .vti", code="E232") from e
    image = root.find("ImageData")
    ordered = root.get("byte_order", "LittleEndian") == "LittleEndian"
    if image is None or root.get("compressor") or not ordered or root.get("header_type") != "UInt64":
        raise ModelError(
            f"{path} is not uncompressed little-endian ImageData with 64-bit headers",
            "write it without compression, appended",
            code="E232",
        )
    encoding = "base64" if b"base64" in appended.group(1) else "raw"
    return image, encoding, len(before) + appended.end()


def _numbers(
    path: object, image: ET.Element, name: str, n: int, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    text = image.get(name)
    if text is None and default is not None:
        return default
    try:
        values = tuple(float(v) for v in (text or "").split())
    except ValueError:
        values = ()
    if len(values) != n or not all(math.isfinite(v) and abs(v) < 1e15 for v in values):
        raise ModelError(f"{path}: {name} = {text!r}", f"{n} numbers belong there", code="E232")
    return values


def _array(path: object, image: ET.Element, request: VolumeRequest) -> ET.Element:
    arrays = [a for a in image.iter("DataArray") if a.get("format") == "appended"]
    names = [a.get("Name", "") for a in arrays]
    return arrays[names.index(request.pick(path, names, "holds the arrays", "none"))]


class Base64Bytes:
    """Bytes written as base64 text, decoded as they are asked for."""

    def __init__(self, path: str | os.PathLike[str], start: int) -> None:
        self._file, self._path, self._start = FileBytes(path), path, start

    def fetch(self, offset: int, out: memoryview) -> int:
        """Fill `out` with the bytes from `offset`; return how many characters were read for that."""
        first, last = offset // 3, -(-(offset + len(out)) // 3)
        text = bytearray(4 * (last - first))
        moved = self._file.fetch(self._start + 4 * first, memoryview(text))
        try:
            data = base64.b64decode(text, validate=True)[offset - 3 * first :]
        except (ValueError, binascii.Error) as e:
            raise ModelError(f"{self._path}: base64 data are damaged", "copy it again", code="E223") from e
        if len(data) < len(out):
            raise ModelError(f"{self._path}: base64 data end early", "copy it again", code="E223")
        out[:] = data[: len(out)]
        return moved


def _payload(
    path: str | os.PathLike[str], file: InputFile, start: int, encoding: str, need: int
) -> tuple[Bytes, int]:
    """Return the bytes of one appended array and where its values begin; their number must be what the extent asks."""
    if encoding == "raw":
        if start < 0 or file.size - start < 8 + need:
            raise ModelError(
                f"{path} is shorter than its extent ({need} bytes)", "copy it again", code="E223"
            )
        said = int.from_bytes(file.read_at(start, 8), "little")
        payload: tuple[Bytes, int] = FileBytes(path), start + 8
    else:
        if start < 0 or file.size - start < 4 * (-(-need // 3)):
            raise ModelError(
                f"{path} is shorter than its extent ({need} bytes)", "copy it again", code="E223"
            )
        head = file.read_at(start, 12)
        try:
            said = int.from_bytes(base64.b64decode(head)[:8], "little")
        except (ValueError, binascii.Error) as e:
            raise ModelError(f"{path}: base64 data are damaged", "copy it again", code="E223") from e
        # header and data are encoded apart by some writers, together by others
        payload = (Base64Bytes(path, start + 12), 0) if head.endswith(b"=") else (Base64Bytes(path, start), 8)
    if said != need:
        raise ModelError(
            f"{path}: the array has {said} bytes, its extent needs {need}", "copy it again", code="E223"
        )
    return payload


def _place(
    path: object,
    shape: tuple[int, ...],
    spacing: tuple[float, ...],
    origin: tuple[float, ...],
    direction: tuple[float, ...],
) -> tuple[Grid, Frame, bool]:
    """Return grid and frame from VTK's placement, and whether the values go upwards: z up becomes depth."""
    ax, bx, ay, by, cz = direction[0], direction[1], direction[3], direction[4], direction[8]
    if abs(direction[2]) + abs(direction[5]) + abs(direction[6]) + abs(direction[7]) > 1e-9 or abs(cz) < 0.5:
        raise ModelError(f"{path}: its depth axis is tilted", "resample it to an upright grid", code="E232")
    z0 = -origin[2]
    if cz > 0:
        # stored upward, as VTK's own writers do without a Direction: turn it over
        z0 = -(origin[2] + (shape[2] - 1) * spacing[2])
    azimuth = math.atan2(ay, ax)
    flip = ax * by - ay * bx < 0
    flat = shape[1] == 1
    if azimuth == 0.0 and not flip:
        frame, first = Frame(0.0, origin[1] if flat else 0.0), (origin[0], origin[1], z0)
    else:
        frame, first = Frame(origin[0], origin[1], azimuth, flip), (0.0, 0.0, z0)
    keep = (0, 2) if flat else (0, 1, 2)
    grid = Grid(
        tuple(shape[i] for i in keep),
        tuple(abs(spacing[i]) for i in keep),
        tuple(first[i] + 0.0 for i in keep),
    )
    return grid, frame, cz > 0
