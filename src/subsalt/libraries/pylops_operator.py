"""Linear operators for PyLops: its solvers and combinations on Born modelling and on modelling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.libraries import package
from subsalt.methods.rtm.linear_operator import LinearOperator

if TYPE_CHECKING:
    import pylops


def to_pylops(operator: LinearOperator, dtype: Any) -> pylops.LinearOperator:
    """Return an operator of PyLops.

    Parameters
    ----------
    operator : LinearOperator
        With `domain_shape`, `range_shape`, `forward`, `adjoint`.
    dtype : type
        Type of its vectors.

    Returns
    -------
    pylops.LinearOperator
        Takes and gives flat vectors, C order, or arrays of these shapes; ``.H`` is the adjoint. Vectors are real.

    Raises
    ------
    MissingInputError
        When PyLops is not installed (E118).
    """
    module = package("pylops", "pylops", "an operator of PyLops")

    class Operator(module.LinearOperator):  # type: ignore[misc, name-defined]
        """An operator of subsalt."""

        def _matvec(self, x: NDArray) -> NDArray:
            return operator.forward(_real(x).reshape(operator.domain_shape)).astype(dtype).reshape(-1)

        def _rmatvec(self, x: NDArray) -> NDArray:
            return operator.adjoint(_real(x).reshape(operator.range_shape)).astype(dtype).reshape(-1)

    return Operator(dtype=np.dtype(dtype), dims=operator.domain_shape, dimsd=operator.range_shape)


def _real(x: NDArray) -> NDArray:
    """Return a vector; a complex one is refused, whose imaginary part would be lost."""
    if np.iscomplexobj(x):
        raise ConfigError(
            f"a vector of {x.dtype}: waves are real",
            "apply the operator to x.real and x.imag; dottest(..., complexflag=0)",
            code="E777",
        )
    return x
