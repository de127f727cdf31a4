"""Models with strong contrasts, and the imaging condition that bears them."""

from __future__ import annotations

import numpy as np
import pytest

from subsalt.check.context import Context
from subsalt.check.contrasts import backscatter, contrasts
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.methods.synthetic import ricker_wavelet  # noqa: F401
