"""Scattered data of a perturbation in a uniform plane, by Green's functions: no grid of waves, no layer, no time step.

With G the exact field of a point source, ``d = s(t) * sum over points of  w^2 dm G(source) G(receiver) dx dz``: the
first-order scattering of `subsalt.born_operator` and of `deepwave.scalar_born`, before either discretises it.
"""

from __future__ import annotations

import lsrtm_case
import numpy as np
from cases import Case

from subsalt.analytic.uniform import isotropic_response, trace_from_response


def scattered(case: Case) -> np.ndarray:
    """Return the data of the case, (shots, receivers, samples), float32."""
    sources, receivers = lsrtm_case.survey(case)
    dm, h = lsrtm_case.perturbation(case), case.spacing
    at = np.argwhere(dm)
    amounts = dm[tuple(at.T)] * h**2
    # all stations lie at one depth: Green's functions depend on the distance along x and on the depth
    across, down = np.arange(case.interior[0]) * h, (np.arange(case.interior[1]) - lsrtm_case.DEPTH_CELLS) * h
    rows = np.unique(at[:, 1])
    distance = np.hypot(across[:, None], down[rows][None, :])
    column = np.searchsorted(rows, at[:, 1])

    def response(omega: np.ndarray) -> np.ndarray:
        """Return the response (shots * receivers, frequencies)."""
        out = np.empty((len(sources), len(receivers), len(omega)), dtype=np.complex128)
        for k, w in enumerate(omega):
            table = isotropic_response(np.array([w]), distance.ravel(), lsrtm_case.V, 2).reshape(
                distance.shape
            )

            def to(stations: np.ndarray, table: np.ndarray = table) -> np.ndarray:
                return table[np.abs(stations[:, :1] - at[:, 0]), column]

            out[:, :, k] = w**2 * (to(sources) * amounts) @ to(receivers).T
        return out.reshape(-1, len(omega))

    traces = trace_from_response(
        lsrtm_case.wavelet(case), lsrtm_case.DT, lsrtm_case.samples(case), response, negligible=1e-5
    )
    return traces.reshape(len(sources), len(receivers), -1).astype(np.float32)
