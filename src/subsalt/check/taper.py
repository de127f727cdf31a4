"""Room for the tilt: the tapers in front of the layers must leave some of the model as it is."""

from __future__ import annotations

from collections.abc import Iterator

from subsalt.acquisition.survey import shot_window
from subsalt.check.context import Context, rule, warning
from subsalt.earth import tilt
from subsalt.errors import Finding, GeometryError
from subsalt.propagation import tapers

#: share of the model's tilt that a window has to reach somewhere; tapers that overlap by two cells leave less
WHOLE = 0.95


def narrowest(context: Context) -> tuple[int, ...]:
    """Return the fewest points along x, y, z of the window of any shot."""
    assert context.model is not None
    assert context.survey is not None
    aperture = context.imaging.aperture
    least = context.model.grid.shape3
    for shot in context.survey.shots if aperture is not None else ():
        try:
            shape = shot_window(context.model, shot, aperture).shape
        except GeometryError:
            continue  # a rule on positions says so
        least = tuple(min(pair) for pair in zip(least, shape, strict=True))  # type: ignore[assignment]
    return least


@rule("taper", "model", "survey")
def tapered_throughout(context: Context) -> Iterator[Finding]:
    """A window so narrow that the tapers of two sides meet: the tilt of the model is reached nowhere."""
    assert context.model is not None
    model, options = context.model, context.propagation
    if model.medium != "tti" or options.medium in ("isotropic", "vti"):
        return
    shape = narrowest(context)
    layer = options.layer_cells
    across = 0 if model.grid.ndim == 2 else layer
    widths = (layer, layer, across, across, 0 if options.free_surface else layer, layer)
    # the layers lie outside the window
    upright = tapers.upright_cells(options, widths)
    quiet = [None if q is None else q - w for q, w in zip(upright, widths, strict=True)]
    windowed = context.imaging.aperture is not None
    for i, factor in enumerate(tilt.taper(shape, quiet)):  # type: ignore[arg-type]
        most = float(factor.max())
        if most >= WHOLE:
            continue
        cells = sum(q + tilt.TAPER_CELLS for q in quiet[2 * i : 2 * i + 2] if q is not None)
        what = "the narrowest window of a shot" if windowed else "the grid"
        wider = "[imaging] aperture or the model" if windowed and i < 2 else "the model"
        fix = f"widen {wider} beyond {cells} cells"
        if options.boundary == "pml":
            fix += ', or set [propagation] boundary = "damping"'
        yield warning(
            "W544",
            f"{what} has {shape[i]} cells along {'xyz'[i]}: the tilt is tapered over {cells}, and reaches "
            f"at most {100 * most:.0f} % of the model's",
            fix,
            axis="xyz"[i],
            cells=shape[i],
            reached=most,
        )
