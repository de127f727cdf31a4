"""By how much images of equal layers may differ because of float32: derived, so that a wrong sample still shows.

A step computes ``u[n+1] = (2 u[n] - u[n-1] + m lap u[n]) (1 + r)``. Roundings that differ from step to step sum like
the root of their number and do not count. What counts is r of one sign at every step, and the same error of the
weights, whose sum over a constant should be zero: with ``a = w dt`` a wave then turns by

    d = r / (2 a)

too far in every step (``cos a' = sqrt(1 + r) cos a``, and 1 / tan a < 1 / a; its amplitude grows by r / 2, which is
less). An image is a sum of products of a wave that has come n steps from the source and one that has N - n steps to go
to the end of the record, so it is off by N d at most. A Ricker wavelet has the power ``x^5 exp(-4 x^2)`` in the image
of a line source's reflections, x = w / w0; the mean square of 1 / x is 2 there, and less in 3-D.

Parts of r, all bounds (u = 2^-24, half a unit in the last place):

- weights, of either side: ``m sum |c| <= (0.9 . 2)^2`` by stability, each c rounded to u of itself;
- the quotient by 1 + t, the damping term, of a peer compiled with ``-ffast-math``. For vectors of 128 and 256 bits gcc
  makes it of RCPPS, which the instruction sets promise to 1.5 . 2^-12 of the inverse, and one step of Newton's method,
  which leaves the square of that, 2.25 u, and rounds twice more. For vectors of 512 bits VRCP14PS leaves 2^-28. Inside
  the layer 1 + t is 1 and its inverse is still off, by the same at every step; processors have different tables.

So it is the peer that differs from one processor to another. The bytes of our image are the same with AVX2 and
AVX-512. Measured for `rtm2d`, relative L2, on a Xeon of family 6, model 167, gcc 12.2, Devito 4.8.23, 2026-11-27
(``-O3 -ffast-math`` and what is named):

=========================================================  =======
ours against Devito in double precision                     1.2e-4
Devito, ``-march=native`` (AVX-512), against the same       2.4e-4
Devito, ``-march=znver3`` (AVX2)                            9.4e-4
Devito, ``-march=znver3 -mrecip=!vec-div``: it divides      2.4e-4
ours against Devito, AVX-512                                3.5e-4
ours against Devito, AVX2                                  1.06e-3
ours against Devito, AVX2 that divides                      3.5e-4
=========================================================  =======

The source one sample late changes that image by 0.13, a velocity wrong by 0.1 % by 0.19, and one wrong by 0.03 % by
0.06: ten times the tolerance and more.
"""

from __future__ import annotations

import math

import earth
from cases import Case

#: half a unit in the last place of float32
UNIT = 2.0**-24
#: m sum |c|, what a rounding of the weights is relative to: 0.9 of the largest stable step (`earth.time_step`)
WEIGHTS = (0.9 * 2.0) ** 2 * UNIT
#: an inverse by RCPPS and one step of Newton's method
INVERSE = (2.25 + 2.0) * UNIT
#: root of the mean square of w0 / w over a reflection's image
LOW = math.sqrt(2.0)


def turned(case: Case, r: float) -> float:
    """Return by how much the image turns, radians, where every step is off by `r` of the field."""
    a = 2 * math.pi * earth.peak_frequency(case) * earth.time_step(case)
    return LOW * case.steps * r / (2 * a)


def of_float32(case: Case) -> float:
    """Return the relative L2 by which the images of two programs in float32 may differ."""
    return turned(case, 2 * WEIGHTS + INVERSE)


def of_double(case: Case) -> float:
    """Return the relative L2 by which ours, in float32, may differ from an image in double precision."""
    return turned(case, WEIGHTS)
