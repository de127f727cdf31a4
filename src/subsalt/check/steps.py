"""Steps on traces that are right in themselves and wrong for the image: gains that level, intervals too long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from subsalt.check.context import Context, error, ok, rule, warning
from subsalt.errors import Finding


@rule("steps", "survey")
def steps_on_traces(context: Context) -> Iterator[Finding]:
    """Steps that take away what the image is about."""
    assert context.survey is not None
    flow = getattr(context.survey.reader, "flow", None)
    if flow is not None:
        yield from step_findings(flow, None if context.wavelet is None else context.wavelet.fmax)


def step_findings(flow: Any, highest: float | None = None) -> Iterator[Finding]:
    """Yield what the steps of a flow take from an image.

    Parameters
    ----------
    flow : Flow
        The steps on the traces.
    highest : float, optional
        Highest frequency of the source wavelet, Hz.
    """
    if not flow.short:
        yield ok(said(flow))
    for place, made in enumerate(flow.operators):
        name = flow.name(place)
        if made.levels:
            yield warning(
                "W792",
                f"{name} makes all amplitudes alike: those of the image will say nothing of reflection strength",
                'gains that keep it are of kind "divergence" and "power"; ignore this for an image of structure alone',
                step=place + 1,
            )
        passed = made.facts.get("passes_up_to_hz")
        if passed is not None and highest is not None and highest > passed:
            needed = made.out.dt * passed / highest
            yield error(
                "E794",
                f"{name} passes frequencies up to {passed:.4g} Hz, and the wavelet of [source] has up to {highest:.4g} "
                "Hz: what is injected and what was recorded would differ",
                f"an interval of {1e3 * needed:.2g} ms or less carries it; or lower f0 to what the data have",
                step=place + 1,
                passed=passed,
                highest=highest,
            )


def said(flow: Any) -> str:
    """Return what happens to the traces, in one line."""
    parts = []
    for facts in flow.facts():
        parts.append(facts["label"] + (f" ({facts['said']})" if facts["said"] else ""))
    axis = ""
    if flow.out != flow.time:
        axis = f"; {flow.time.nt} samples of {1e3 * flow.time.dt:g} ms become {flow.out.nt} of {1e3 * flow.out.dt:g} ms"
    return f"trace processing  {'; '.join(parts)}{axis}"
