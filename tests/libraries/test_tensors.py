"""Functions on tensors: derivatives against differences, memory that is shared, tensors that are refused, Deepwave."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import subsalt as ss
import subsalt.torch as functions
from subsalt.errors import ConfigError, UnknownOptionError

torch = pytest.importorskip("torch", reason="PyTorch is not installed (make test-libraries)")
pytestmark = pytest.mark.library

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "libraries"
GRID = ss.Grid((16, 14), (10.0, 10.0))
SURVEY = ss.Survey.from_arrays([[50.0, 40.0]], [[100.0, 40.0], [110.0, 80.0]], nt=24, dt=0.004)
WAVELET = ss.ricker(15.0, 0.001)
#: the NumPy kernels in float64, at a time step that no velocity changes
EXACT = {"device": "reference", "dtype": "float64", "dt": 0.002, "layer": 6, "time_dispersion": False}


def model(vp=2000.0, epsilon=None):
    """Return a model of the small grid."""
    return ss.EarthModel(GRID, vp, epsilon, None if epsilon is None else 0.5 * epsilon)


def test_the_derivative_of_born_modelling_passes_gradcheck():
    """It is linear, so that central differences are right to rounding; the data are scaled to one."""
    patch = 1e-8 * torch.rand(2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def data(q):
        dm = torch.zeros(GRID.shape, dtype=torch.float64)
        dm[7:9, 6:8] = q * 1e-8
        return 1e6 * functions.born(model(), dm, SURVEY, WAVELET, **EXACT)

    q = (patch * 1e8).requires_grad_()
    assert torch.autograd.gradcheck(data, (q,), eps=1e-2, atol=1e-10, rtol=1e-7, fast_mode=True)


@pytest.mark.parametrize("epsilon", [None, 0.1], ids=["isotropic", "vti"])
def test_the_derivative_of_modelling_passes_gradcheck(epsilon):
    """vp is a whole number of m/s and the step 1/2: exact in float32, in which a model is held.

    A central difference errs by a third derivative: a wave of angular frequency w that has travelled t through the
    changed cells turns by w t s for a step s of vp / v, which errs by (w t s)^2 / 6, below 1e-4.
    """

    def data(q):
        vp = torch.full(GRID.shape, 2000.0, dtype=torch.float64)
        vp = torch.cat([vp[:7], torch.cat([vp[7:9, :6], q, vp[7:9, 8:]], dim=1), vp[9:]]).contiguous()
        anisotropy = {} if epsilon is None else {"epsilon": epsilon, "delta": 0.5 * epsilon}
        return 1e3 * functions.forward(vp, GRID, SURVEY, WAVELET, **anisotropy, **EXACT)

    q = torch.tensor([[2100.0, 1950.0], [2000.0, 2030.0]], dtype=torch.float64, requires_grad=True)
    # each column is compared along a random direction (fast mode)
    assert torch.autograd.gradcheck(data, (q,), eps=0.5, atol=1e-9, rtol=1e-3, fast_mode=True)


def test_what_the_gradient_leaves_falls_with_the_square_of_the_step():
    """Taylor's theorem for the misfit, on the compiled kernels in float32, around another model."""
    vp = np.full(GRID.shape, 2000.0, np.float32)
    step = np.zeros_like(vp)
    step[5:11, 5:10] = 64.0
    observed = functions.forward(torch.from_numpy(vp + step), GRID, SURVEY, WAVELET, dt=0.002)

    def misfit(part):
        there = torch.from_numpy(vp + np.float32(part) * step).requires_grad_()
        loss = (
            (functions.forward(there, GRID, SURVEY, WAVELET, dt=0.002).double() - observed.double())
            .square()
            .sum()
        )
        loss.backward()
        return float(loss.detach()), float((there.grad.double() * torch.from_numpy(step)).sum())

    value, slope = misfit(0.0)
    first = [abs(misfit(h)[0] - value) for h in (0.25, 0.125)]
    left = [abs(misfit(h)[0] - value - h * slope) for h in (0.25, 0.125)]
    assert slope < 0
    assert left[0] < 0.5 * first[0]
    assert 3.5 < left[0] / left[1] < 4.5


def test_traces_are_those_of_forward():
    vp = np.full(GRID.shape, 2000.0, np.float32)
    vp[:, 8:] = 2500.0
    modelled = ss.forward(ss.EarthModel(GRID, vp), SURVEY, WAVELET).data
    traces = functions.forward(torch.from_numpy(vp), GRID, SURVEY, WAVELET)
    assert traces.dtype == torch.float32
    assert traces.shape == modelled.shape
    # what is recorded is rounded once more on the way
    np.testing.assert_allclose(traces.numpy(), modelled, rtol=0, atol=1e-6 * np.abs(modelled).max())
    again = functions.forward(torch.from_numpy(vp.astype(np.float64)), GRID, SURVEY, WAVELET)
    assert again.dtype == torch.float64


def test_no_copy_is_made_on_the_way():
    tensor = torch.full(GRID.shape, 2000.0)
    array = functions._array("vp", tensor, GRID.shape)
    assert array.ctypes.data == tensor.data_ptr()
    tensor[3, 4] = 1500.0
    assert array[3, 4] == 1500.0


BAD = {
    "an array": (lambda t: t.numpy(), "ndarray, not a tensor", "torch.as_tensor(vp)"),
    "another device": (lambda t: t.to("meta"), "on the device meta", "vp.cpu()"),
    "another type": (lambda t: t.half(), "torch.float16", "vp.float()"),
    "whole numbers": (lambda t: t.int(), "torch.int32", "vp.float()"),
    "transposed": (lambda t: t.T, "shape (14, 16)", "transpose"),
    "strides": (lambda t: t.T.contiguous().T, "strides (1, 16)", "vp.contiguous()"),
    "sparse": (lambda t: t.to_sparse(), "sparse_coo", "vp.to_dense()"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_tensor_that_is_no_model_is_refused_with_the_cure(name):
    spoil, says, cure = BAD[name]
    with pytest.raises(ConfigError) as refused:
        functions.forward(spoil(torch.full(GRID.shape, 2000.0)), GRID, SURVEY, WAVELET)
    assert says in refused.value.message
    assert cure in refused.value.fix
    assert refused.value.code == "E777"
    assert "\n" not in str(refused.value)


def test_a_shape_is_no_grid_and_a_tensor_no_model():
    vp = torch.full(GRID.shape, 2000.0)
    with pytest.raises(ConfigError, match=r"grid is a tuple, not a subsalt\.Grid") as refused:
        functions.forward(vp, GRID.shape, SURVEY, WAVELET)
    assert (refused.value.code, refused.value.fix) == ("E777", "subsalt.Grid(SHAPE, SPACING)")
    with pytest.raises(ConfigError, match=r"model is a Tensor, not a subsalt\.EarthModel") as refused:
        functions.born(vp, 0 * vp, SURVEY, WAVELET)
    assert refused.value.fix == "subsalt.EarthModel(grid, vp)"


def test_a_wrong_option_is_refused():
    with pytest.raises(UnknownOptionError, match="boundary"):
        functions.forward(torch.full(GRID.shape, 2000.0), GRID, SURVEY, WAVELET, boundery="pml")


@pytest.fixture(scope="module")
def both():
    """Run the example by Deepwave, and as ported."""
    pytest.importorskip("deepwave", reason="Deepwave is not installed (make test-libraries)")
    return tuple(runpy.run_path(str(EXAMPLES / f"{name}_gradient.py")) for name in ("deepwave", "subsalt"))


def test_an_example_of_deepwave_is_ported_in_ten_lines():
    old, new = (
        (EXAMPLES / f"{name}_gradient.py").read_text("utf-8").splitlines() for name in ("deepwave", "subsalt")
    )
    assert len([line for line in new if line not in old]) <= 10


def test_loss_and_gradient_are_those_of_deepwave(both):
    """Within 1 %; on the outermost nodes Deepwave adds the derivative of its absorbing layer, which continues them."""
    theirs, ours = both
    assert float(ours["loss"].detach()) == pytest.approx(float(theirs["loss"].detach()), rel=0.01)
    inside = [side["vp"].grad.double()[1:-1, 1:-1] for side in (theirs, ours)]
    assert float((inside[1] - inside[0]).norm()) < 0.01 * float(inside[0].norm())
