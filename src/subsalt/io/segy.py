"""SEG-Y and SU: what the rest of the package uses."""

from __future__ import annotations

from subsalt.io.headers import PRESETS, Fix, HeaderBytes
from subsalt.io.scan import FileFacts, ScanResult, scan
from subsalt.io.segy_image import write_image
from subsalt.io.segy_read import read_survey
from subsalt.io.segy_volume import SegyVolume, read_segy_volume, read_volume
from subsalt.io.segy_write import write_shot, write_su, write_survey

__all__ = [
    "PRESETS",
    "FileFacts",
    "Fix",
    "HeaderBytes",
    "ScanResult",
    "SegyVolume",
    "read_segy_volume",
    "read_survey",
    "read_volume",
    "scan",
    "write_image",
    "write_shot",
    "write_su",
    "write_survey",
]
