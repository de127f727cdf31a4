"""The media that can be propagated: each module turns an earth model into the parameters of its time step.

All media have the form ``u_tt = C (L u + f)`` with C pointwise symmetric and positive and L symmetric and negative, so
that every discrete mode has a real frequency, energy is conserved, and the time-reversed scheme is its own adjoint.
"""

from __future__ import annotations

from subsalt.earth.model_like import ModelLike
from subsalt.errors import ConfigError
from subsalt.physics import isotropic, tti, vti

MEDIA = {"isotropic": isotropic, "vti": vti, "tti": tti}


def medium_of(model: ModelLike, medium: str = "auto") -> str:
    """Return the medium to propagate `model` as.

    Parameters
    ----------
    medium : str
        ``"auto"`` takes the model's own; a name is checked against the model. ``"vti"`` ignores a tilt.

    Raises
    ------
    ConfigError
        When the name is unknown, or ``"vti"`` or ``"tti"`` is requested for a model without Thomsen parameters.
    """
    if medium == "auto":
        return model.medium
    if medium not in MEDIA:
        raise ConfigError(f"medium {medium!r} is not one of {', '.join(MEDIA)}", "use auto", code="E121")
    if medium != "isotropic" and model.medium == "isotropic":
        raise ConfigError(
            f"medium is {medium}, but the model has no epsilon or delta",
            "give them, or use isotropic",
            "E122",
        )
    return medium
