"""Where does OPM Flow, a reservoir simulator, spend its time in MPI, and how does it scale? The lab on a water flood.

    apt install libopm-simulators-bin openmpi-bin libopenmpi-dev
    python examples/opm_flow.py                    # profile, barriers, scaling on one and two ranks: minutes
    python examples/opm_flow.py --quick            # a small flood, each command once

The case is made here: five layers of different permeability, water injected in one corner, oil produced in the other.
Flow is not rebuilt; Debian's is linked to Debian's Open MPI, and so is its launcher, mpiexec.openmpi.
"""

from __future__ import annotations

import sys
from pathlib import Path

from simulators import arguments, measure, missing

PROGRAMS = {"flow": "libopm-simulators-bin", "mpiexec.openmpi": "openmpi-bin"}
#: millidarcy of the layers, from the top
LAYERS = (500, 50, 200, 20, 800)

DECK = """\
-- a water flood of a layered box, made by subsalt's examples/opm_flow.py
RUNSPEC
TITLE
 Water flood of a box
DIMENS
 {nx} {ny} {nz} /
OIL
WATER
METRIC
START
 1 'JAN' 2020 /
WELLDIMS
 2 {nz} 1 2 /
TABDIMS
/
EQLDIMS
/
UNIFOUT
GRID
DXV
 {nx}*20 /
DYV
 {ny}*20 /
DZV
 {nz}*4 /
TOPS
 {area}*2000 /
PORO
 {cells}*0.2 /
PERMX
 {permx} /
PERMY
 {permx} /
PERMZ
 {permz} /
PROPS
PVTW
 200 1.02 4.5E-5 0.4 0 /
PVDO
 50  1.10 2.0
 200 1.08 2.1
 400 1.05 2.3 /
ROCK
 200 4.0E-5 /
DENSITY
 850 1020 1 /
SWOF
 0.20 0.000 0.80 0
 0.35 0.020 0.45 0
 0.50 0.080 0.20 0
 0.65 0.180 0.05 0
 0.80 0.350 0.00 0 /
SOLUTION
EQUIL
 2000 200 2500 0 /
SUMMARY
FOPR
FWPR
FPR
SCHEDULE
WELSPECS
 'INJ' 'G' 1 1 2000 'WATER' /
 'PROD' 'G' {nx} {ny} 2000 'OIL' /
/
COMPDAT
 'INJ' 1 1 1 {nz} 'OPEN' 1* 1* 0.2 /
 'PROD' {nx} {ny} 1 {nz} 'OPEN' 1* 1* 0.2 /
/
WCONINJE
 'INJ' 'WATER' 'OPEN' 'RATE' {rate} 1* 400 /
/
WCONPROD
 'PROD' 'OPEN' 'BHP' 5* 150 /
/
TSTEP
 {months}*30 /
END
"""


def deck(nx: int, ny: int, nz: int, months: int) -> str:
    """Return the input of Flow for a box of cells of 20 m x 20 m x 4 m."""
    layers = [LAYERS[i * len(LAYERS) // nz] for i in range(nz)]
    return DECK.format(
        nx=nx,
        ny=ny,
        nz=nz,
        area=nx * ny,
        cells=nx * ny * nz,
        permx=" ".join(f"{nx * ny}*{k}" for k in layers),
        permz=" ".join(f"{nx * ny}*{k / 10:g}" for k in layers),
        rate=0.1 * nx * ny * nz,
        months=months,
    )


def main() -> int:
    """Make the case and measure."""
    asked = arguments(__doc__, "flow").parse_args()
    if missing(PROGRAMS):
        return 0
    asked.folder.mkdir(parents=True, exist_ok=True)
    size = (8, 8, 2, 2) if asked.quick else (40, 40, 10, 24)
    Path(asked.folder, "FLOOD.DATA").write_text(deck(*size))
    if asked.quick:
        asked.repeats = min(asked.repeats, 1)
    program = ["flow", "FLOOD.DATA", "--output-dir=out", "--threads-per-process=1"]
    seconds = r"Total time \(seconds\): +([0-9.]+)"
    scaled = ["--time-from", seconds, "--", "mpiexec.openmpi", "--bind-to", "none", "-n", "{ranks}", *program]
    # what Flow tells of itself is in out/FLOOD.PRT too
    silent = [*program, "--enable-terminal-output=false"]
    measure(asked.folder, silent, scaled, asked, ["out/FLOOD.UNSMRY"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
