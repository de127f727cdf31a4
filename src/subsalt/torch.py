"""PyTorch: modelling and Born modelling as functions of CPU tensors that autograd differentiates.

    import torch
    import subsalt
    import subsalt.torch

    data = subsalt.torch.forward(vp, grid, survey, wavelet)
    loss = torch.nn.functional.mse_loss(data, observed)
    loss.backward()                      # vp.grad

Tensors become arrays of NumPy, and arrays tensors, by DLPack: no copy is made on the way. The derivative is that of the
scheme itself: the adjoint of the Born operator (`subsalt.rtm_operator`). Needs the extra ``torch``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.errors import ConfigError
from subsalt.libraries import package
from subsalt.methods.rtm.operators import RtmOperator, rtm_operator
from subsalt.option_arguments import of_kind, refuse_unknown, takes_options
from subsalt.propagation.grid_warning import warn_of_waves
from subsalt.propagation.options import PropagationOptions

if TYPE_CHECKING:
    import torch

    from subsalt.option_keywords import PropagationKeywords

__all__ = ["born", "forward"]


@takes_options(PropagationOptions)
def forward(
    vp: torch.Tensor,
    grid: Grid,
    survey: Survey,
    wavelet: Wavelet,
    *,
    epsilon: NDArray | float | None = None,
    delta: NDArray | float | None = None,
    **options: Unpack[PropagationKeywords],
) -> torch.Tensor:
    """Model the traces of a survey; differentiable with respect to vp.

    Parameters
    ----------
    vp : torch.Tensor, shape of the grid, float32 or float64
        P velocity, m/s: on the CPU, contiguous. The model holds it in float32.
    grid : Grid
        Its grid, on which waves are computed.
    survey : Survey
        Positions and time axis; shots with one number of receivers.
    wavelet : Wavelet
        Source signature.
    epsilon, delta : ndarray or float, optional
        Thomsen parameters, which are constant.
    **options
        Fields of `PropagationOptions`.

    Returns
    -------
    torch.Tensor, (ns, nr, nt)
        Traces, of the dtype of `vp`.

    Raises
    ------
    ConfigError
        For a tensor of another device, dtype, layout or shape, or what is no grid or model (E777), before anything is
        computed.
    MissingInputError
        When PyTorch is not installed (E118).
    UnknownOptionError
        For an argument that does not exist; a `TypeError`.

    Notes
    -----
    The gradient is ``-2 / vp^3`` times the adjoint of the Born operator at this model: exact for the scheme, at a fixed
    time step. Give `dt` where the largest velocity changes from step to step of an inversion. Velocities on the edges
    of the model are continued into the absorbing layer; that part is not in the gradient.
    """
    values = _array("vp", vp, of_kind("grid", grid, Grid).shape)
    operator = _operator(
        EarthModel(grid, values, _constant(epsilon, grid), _constant(delta, grid)),
        survey,
        wavelet,
        options,
        "forward",
    )

    def gradient(y: NDArray) -> NDArray:
        return operator.adjoint(y) * (-2.0 / values.astype(np.float64) ** 3)

    traces: torch.Tensor = _function().apply(vp, operator.background, gradient, operator.range_shape)
    return traces


@takes_options(PropagationOptions)
def born(
    model: EarthModel,
    dm: torch.Tensor,
    survey: Survey,
    wavelet: Wavelet,
    **options: Unpack[PropagationKeywords],
) -> torch.Tensor:
    """Return linearised traces for a perturbation of 1 / v^2; differentiable with respect to it.

    Parameters
    ----------
    model : EarthModel
        Background.
    dm : torch.Tensor, model shape, float32 or float64
        Perturbation of 1 / v^2, s^2/m^2: on the CPU, contiguous.
    survey : Survey
        Positions and time axis; shots with one number of receivers.
    wavelet : Wavelet
        Source signature.
    **options
        Fields of `PropagationOptions`.

    Returns
    -------
    torch.Tensor, (ns, nr, nt)
        Scattered traces, of the dtype of `dm`.

    Raises
    ------
    ConfigError
        For a tensor of another device, dtype, layout or shape, or what is no grid or model (E777), before anything is
        computed.
    MissingInputError
        When PyTorch is not installed (E118).
    UnknownOptionError
        For an argument that does not exist; a `TypeError`.
    """
    values = _array("dm", dm, of_kind("model", model, EarthModel).grid.shape)
    operator = _operator(model, survey, wavelet, options, "born")
    traces: torch.Tensor = _function().apply(
        dm, lambda: operator.forward(values), operator.adjoint, operator.range_shape
    )
    return traces


def _constant(values: NDArray | float | None, grid: Grid) -> NDArray | None:
    """Return a parameter as an array; a number is that of all nodes."""
    return np.full(grid.shape, values, np.float32) if isinstance(values, float | int) else values


def _operator(
    model: EarthModel, survey: Survey, wavelet: Wavelet, options: Any, function: str
) -> RtmOperator:
    """Return the Born operator with these options."""
    refuse_unknown(options, (f.name for f in fields(PropagationOptions)), f"subsalt.torch.{function}")
    propagation = PropagationOptions(**options)
    warn_of_waves(model, wavelet, propagation, level=4)
    return rtm_operator(model, survey, wavelet, propagation)


def _array(name: str, tensor: Any, shape: tuple[int, ...]) -> NDArray:
    """Return the array of a tensor, which shares its memory.

    Raises
    ------
    ConfigError
        When that is impossible; the cure is the call that makes it possible.
    """
    module = package("torch", "torch", "a function on tensors")
    if not isinstance(tensor, module.Tensor):
        raise ConfigError(
            f"{name} is a {type(tensor).__name__}, not a tensor", f"torch.as_tensor({name})", code="E777"
        )
    if not tensor.is_cpu:
        raise ConfigError(
            f"{name} is on the device {tensor.device}; waves take CPU tensors", f"{name}.cpu()", code="E777"
        )
    if tensor.dtype not in (module.float32, module.float64):
        raise ConfigError(f"{name} holds {tensor.dtype}", f"{name}.float() or {name}.double()", code="E777")
    if tuple(tensor.shape) != shape:
        raise ConfigError(
            f"{name} has shape {tuple(tensor.shape)}, the grid or survey has {shape}",
            "transpose or resample it",
            code="E777",
        )
    if tensor.layout is not module.strided:
        raise ConfigError(f"{name} has the layout {tensor.layout}", f"{name}.to_dense()", code="E777")
    if not tensor.is_contiguous():
        raise ConfigError(
            f"{name} has strides {tuple(tensor.stride())}, no contiguous array",
            f"{name}.contiguous()",
            code="E777",
        )
    array: NDArray = np.from_dlpack(tensor.detach())
    return array


@cache
def _function() -> Any:
    """Return the function of autograd: (tensor, its result, its gradient, shape of the result) -> tensor."""
    module = package("torch", "torch", "a function on tensors")
    from torch.autograd.function import once_differentiable

    class Linearised(module.autograd.Function):  # type: ignore[misc, name-defined]
        """A map whose derivative is known by its adjoint."""

        @staticmethod
        def forward(
            ctx: Any,
            x: torch.Tensor,
            apply: Callable[[], NDArray],
            adjoint: Callable[[NDArray], NDArray],
            shape: tuple[int, ...],
        ) -> torch.Tensor:
            ctx.adjoint, ctx.shape, ctx.dtype = adjoint, shape, np.from_dlpack(x.detach()).dtype
            return module.from_dlpack(np.ascontiguousarray(apply(), dtype=ctx.dtype))

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
            y = _array("gradient", gradient.contiguous(), ctx.shape)
            return module.from_dlpack(np.ascontiguousarray(ctx.adjoint(y), dtype=ctx.dtype)), None, None, None

    return Linearised
