"""Subjects of the field that `subsalt explain` describes along with a key, or where no key has their name."""

from __future__ import annotations

_CONDITION = """An imaging condition makes the image from two wavefields: the waves of the source, computed forward in
time, and the recorded waves, sent back into the model. A reflector lies where both are
strong at the same place and time.
  source-normalised   their product, summed over time and divided by the energy of the source waves: a measure of
                      reflectivity, comparable between shallow and deep
  cross-correlation   the product alone: amplitudes fade with depth
  inverse-scattering  weighted by the angle between both waves, so that waves in the same direction (the smooth noise
                      above strong contrasts) leave nothing
[imaging] filter = "laplacian" removes that noise from the other two. `subsalt reimage RUN --condition NAME` makes
another image without computing waves again; formulas: docs/theory/rtm.md."""

_VRMS = """The rms velocity of a time migration, by two-way time and place: [velocity] v = 2000 or
{t = [...], value = [...]}, or file = "vrms.txt".
`subsalt init JOB.toml --from FILES --method kirchhoff --vrms vrms.txt` writes it into a job.
A text has one line for each pair of time and velocity; spaces, tabs, commas or semicolons part its columns, and lines
that begin with # are comments:
  t v                     one function for the whole survey
  cdp t v                 functions along a 2-D line
  inline crossline t v    functions over a 3-D survey
A first line of words names the columns in another order, with units if need be: cdp time(ms) vrms(ft/s). Handvel cards,
parameter files of Seismic Un*x and volumes in time (.sgy, .rsf, .npz, ...) are read as well. kind = "interval" turns
interval velocities into rms velocities."""

_GATHERS = """Gathers of a depth image show whether its velocity was right: events focus at half offset zero
(kind = "lag"), or are flat over angles (kind = "angle") or offsets (kind = "offset"). [imaging.gathers] adds them to a
migration.
`subsalt reimage RUN --gathers "kind=angle, max=400, every=8"` makes others of a finished run without propagation. It
takes the keys of [imaging.gathers], auto for their defaults, or none to leave gathers out. What the run has kept limits
them:
  the sums of gathers       angles of these half offsets, fewer of them, fewer columns; other classes of offset
  both wavefields           any half offsets and columns ([checkpoint] keep = "both")
`subsalt explain imaging.gathers` lists the keys; docs/howto/gathers.md shows how to use them."""

_LEAST_SQUARES = """Least-squares migration finds the image whose modelled traces are nearest to the recorded ones. A
migration shows equal reflectors unequally strong, where waves spread or are bent; iterations of modelling and migration
take that out of its amplitudes. Its image is a perturbation of 1 / v^2 in s^2/m^2. A job of reverse time migration
becomes one by
  method = "lsrtm"        above its first table; [imaging] keeps aperture alone
  [inversion]             iterations, preconditioner, mask, starting image, when to end: `subsalt explain inversion`
`subsalt migrate JOB` runs it, `watch` and `report` show its misfit by iteration, `view` its images by iteration, and
`subsalt migrate JOB --iterations N` gives a finished run more of them. `subsalt model JOB --born RUN/image.rsf` writes
the traces that its image predicts. `subsalt example lens` makes a survey to try it on."""

#: texts by the names of their subjects
_SUBJECTS = {
    "condition": _CONDITION,
    "imaging.condition": _CONDITION,
    "imaging condition": _CONDITION,
    "gathers": _GATHERS,
    "--gathers": _GATHERS,
    "imaging.gathers": _GATHERS,
    "inversion": _LEAST_SQUARES,
    "least squares": _LEAST_SQUARES,
    "least-squares migration": _LEAST_SQUARES,
    "lsrtm": _LEAST_SQUARES,
    "vrms": _VRMS,
    "--vrms": _VRMS,
    "velocity.file": _VRMS,
    "velocity text": _VRMS,
}


def subject(name: str) -> str | None:
    """Return the text on a subject; None when there is none of that name."""
    return _SUBJECTS.get(name.strip().strip("[]").lower())
