"""The recorded traces: what the files say, and what a few shots hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subsalt.acquisition.wavelet import Wavelet
from subsalt.check.context import Context, error, ok, rule, warning
from subsalt.check.spectrum import frequency_by_data
from subsalt.check.units import frequency_cure
from subsalt.errors import Finding

#: samples larger than this are no pressure in any unit: IBM floats read as IEEE, or the reverse
HUGE = 1e25


@rule("traces", "scan")
def what_the_files_say(context: Context) -> Iterator[Finding]:
    """Hand on the findings of the scan: formats, scalars, header conflicts, trace kinds."""
    # with the model, more is known of a depth that stands in y
    said = {"E381"} if context.facts.get("_upright") else set()
    yield from (f for f in context.scan.findings if f.code not in said)
    if not any(f.level != "ok" for f in context.scan.findings):
        yield ok(f"headers agree  files: {len(context.scan.files)}, traces: {context.scan.n_traces}")


@rule("traces", "scan", "survey")
def stacked(context: Context) -> Iterator[Finding]:
    """Stacked sections by their sorting code, which are no shots."""
    if getattr(context.scan, "kind", "shots") != "stack":
        return
    assert context.survey is not None
    if any(len(s.rcv) and s.offset.max() > 0 for s in context.survey.shots):
        return  # a table says where stations are, the headers do not
    if coded := [f.path for f in context.scan.files if f.sorting == 4]:
        context.facts["_stacked"] = True
        yield error(
            "E242",
            f"{coded[0]} holds a stacked section (sorting code 4, byte 3229): {context.scan.n_traces} traces have "
            "their receiver at their source",
            'name the field records, before stacking; a stacked section is for method = "kirchhoff"; if these are '
            "shots: [data.bytes] receiver_x = ..., receiver_y = ... where the receivers stand",
            files=coded[:50],
        )


@rule("traces", "samples")
def dead_traces(context: Context) -> Iterator[Finding]:
    """Traces that are zero, or one constant value, all along."""
    for what, code in (("zero", "W282"), ("constant", "W286")):
        count = total = 0
        names: list[str] = []
        silent: list[int] = []
        for item in context.samples:
            if not item.data.shape[1]:
                continue
            flat = (item.data == item.data[:, :1]).all(axis=1)
            bad = flat & ((item.data[:, 0] == 0) == (what == "zero"))
            count, total = count + int(bad.sum()), total + len(bad)
            names += [f"shot {item.shot.id} trace {int(i) + 1}" for i in np.flatnonzero(bad)[:3]]
            if what == "zero" and len(bad) and bad.all():
                silent.append(item.shot.id)
        if silent:
            yield error(
                "E283",
                f"shots {silent[:5]} hold nothing but zeros",
                "leave them out with [data] shots",
                shots=silent,
            )
        elif count:
            yield warning(
                code,
                f"{count} of {total} traces looked at are {what} all along ({', '.join(names[:3])})",
                "they add nothing to the image; if they should not: check format and header bytes",
                count=count,
                looked_at=total,
            )


@rule("traces", "samples")
def sample_values(context: Context) -> Iterator[Finding]:
    """Samples that are not finite, impossibly large, or clipped."""
    for item in context.samples:
        finite = np.isfinite(item.data)
        if not finite.all():
            trace = int(np.flatnonzero(~finite.all(axis=1))[0])
            yield error(
                "E284",
                f"shot {item.shot.id}: {int((~finite).sum())} samples are NaN or Inf, first in trace "
                f"{trace + 1}",
                'set [data] bad_traces = "zero", or repair the file',
                shot=item.shot.id,
            )
            return
        size = np.abs(item.data)
        largest = float(size.max()) if size.size else 0.0
        if largest > HUGE:
            yield error(
                "E285",
                f"shot {item.shot.id}: samples reach {largest:.3g}: the sample format is not what the "
                "header says",
                "[data.fix] format = 1 (IBM) or 5 (IEEE)",
                shot=item.shot.id,
                largest=largest,
            )
            return
        clipped = int((size == largest).sum())
        if largest > 0 and clipped > max(50, 0.002 * size.size):
            yield warning(
                "W287",
                f"shot {item.shot.id}: {clipped} samples ({clipped / size.size:.1%}) have the largest value "
                f"{largest:g}: clipped",
                "use data before they were clipped; the image will carry the edges",
                shot=item.shot.id,
                count=clipped,
            )
            return


@rule("traces", "samples", "velocity")
def time_zero(context: Context) -> Iterator[Finding]:
    """Energy before anything can have arrived: wrong time zero, sampling or coordinates.

    Nothing is faster than the straight way at the model's largest velocity. Traces whose strongest tenth of
    samples lies mostly before that are not noise alone.
    """
    assert context.model is not None
    assert context.survey is not None
    early = total = 0
    worst = 0.0
    for item in context.samples:
        distance = np.sqrt(((item.shot.rcv - item.shot.src) ** 2).sum(axis=1))
        first = distance / context.model.fastest - 0.05
        t = context.survey.time.values()
        for trace, arrival in zip(item.data, first, strict=True):
            energy = trace.astype(np.float64) ** 2
            whole = float(energy.sum())
            if arrival <= t[0] or whole <= 0:
                continue
            total += 1
            share = float(energy[t < arrival].sum()) / whole
            worst = max(worst, share)
            early += share > 0.5
    if total and early > 0.3 * total:
        yield warning(
            "W288",
            f"{early} of {total} traces looked at have most of their energy before the first possible "
            "arrival",
            "check time zero ([data.fix] delay), the sampling interval, and the coordinates",
            share=early / total,
            worst=worst,
        )


@rule("traces", "survey", "wavelet")
def wavelet_fits(context: Context) -> Iterator[Finding]:
    """A wavelet longer than the record, or peaking after its end."""
    assert context.survey is not None
    assert context.wavelet is not None
    record = context.survey.time.duration
    if context.wavelet.peak_time >= record:
        yield error(
            "E289",
            f"the wavelet peaks at {context.wavelet.peak_time:.3g} s, the record ends at {record:.3g} s",
            _peak_cure(context.wavelet, record),
        )


def _peak_cure(wavelet: Wavelet, record: float) -> str:
    """Return what was meant by a wavelet that peaks after the record: a frequency in kHz, a time in ms."""
    if wavelet.f0 < 0.5:
        return frequency_cure(wavelet.f0)
    if 1e-3 * wavelet.peak_time < record:
        return f'if it is in milliseconds: [source] t0 = "{wavelet.peak_time:g} ms"'
    return "check the units of [source] f0 and t0, and the sampling interval"


@rule("traces", "survey", "wavelet")
def sampling(context: Context) -> Iterator[Finding]:
    """A sampling interval too coarse for the wavelet."""
    assert context.survey is not None
    assert context.wavelet is not None
    nyquist = 0.5 / context.survey.time.dt
    fmax = context.wavelet.fmax
    if context.wavelet.f0 > nyquist:
        yield error(
            "E533",
            f"the wavelet peaks at {context.wavelet.f0:g} Hz, the records carry nothing above {nyquist:g} "
            "Hz (Nyquist)",
            f"{frequency_cure(context.wavelet.f0)}; else lower it, or sample finer"
            if context.wavelet.f0 > 2000
            else f"{frequency_by_data(context)}lower [source] f0, or sample finer",
            nyquist=nyquist,
        )
    elif fmax > nyquist:
        yield warning(
            "W534",
            f"the wavelet reaches {fmax:g} Hz, the records carry nothing above {nyquist:g} Hz (Nyquist)",
            f"{frequency_by_data(context)}lower [source] f0, or [source] fmax = {0.9 * nyquist:.3g}",
            nyquist=nyquist,
        )
