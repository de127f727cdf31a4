"""Where does OpenFOAM, a flow solver, spend its time in MPI, and how does it scale? The lab on a lid-driven cavity.

    apt install openfoam openmpi-bin libopenmpi-dev
    python examples/openfoam.py                    # profile, barriers, scaling on one and two ranks: minutes
    python examples/openfoam.py --quick            # a small cavity, each command once

The case is made here: a square of fluid below a moving lid, cut into strips, solved by icoFoam (PISO). OpenFOAM is not
rebuilt; Debian's is linked to Debian's Open MPI, and so is its launcher, mpiexec.openmpi.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from simulators import arguments, measure, missing, run

PROGRAMS = {
    "blockMesh": "openfoam",
    "decomposePar": "openfoam",
    "icoFoam": "openfoam",
    "mpiexec.openmpi": "openmpi-bin",
}
HEAD = "FoamFile {{ version 2.0; format ascii; class {kind}; object {name}; }}\n"

FILES = {
    "system/blockMeshDict": """
scale 0.1;
vertices ((0 0 0) (1 0 0) (1 1 0) (0 1 0) (0 0 0.1) (1 0 0.1) (1 1 0.1) (0 1 0.1));
blocks (hex (0 1 2 3 4 5 6 7) ({n} {n} 1) simpleGrading (1 1 1));
boundary
(
    lid {{ type wall; faces ((3 7 6 2)); }}
    walls {{ type wall; faces ((0 4 7 3) (2 6 5 1) (1 5 4 0)); }}
    sides {{ type empty; faces ((0 3 2 1) (4 5 6 7)); }}
);
""",
    "system/controlDict": """
application icoFoam;
startFrom startTime; startTime 0; stopAt endTime; endTime {end:g}; deltaT {dt:g};
writeControl timeStep; writeInterval {steps}; writeFormat ascii; writePrecision 12;
timeFormat general; timePrecision 6; runTimeModifiable false;
""",
    "system/fvSchemes": """
ddtSchemes {{ default Euler; }}
gradSchemes {{ default Gauss linear; }}
divSchemes {{ default none; div(phi,U) Gauss linear; }}
laplacianSchemes {{ default Gauss linear orthogonal; }}
interpolationSchemes {{ default linear; }}
snGradSchemes {{ default orthogonal; }}
""",
    "system/fvSolution": """
solvers
{{
    p {{ solver PCG; preconditioner DIC; tolerance 1e-06; relTol 0.05; }}
    pFinal {{ $p; relTol 0; }}
    U {{ solver smoothSolver; smoother symGaussSeidel; tolerance 1e-05; relTol 0; }}
}}
PISO {{ nCorrectors 2; nNonOrthogonalCorrectors 0; pRefCell 0; pRefValue 0; }}
""",
    "system/decomposeParDict": """
numberOfSubdomains {ranks};
method simple;
coeffs {{ n ({ranks} 1 1); }}
simpleCoeffs {{ n ({ranks} 1 1); delta 0.001; }}
""",
    "constant/transportProperties": """
nu [0 2 -1 0 0 0 0] 0.01;
""",
    "0/p": """
dimensions [0 2 -2 0 0 0 0];
internalField uniform 0;
boundaryField {{ lid {{ type zeroGradient; }} walls {{ type zeroGradient; }} sides {{ type empty; }} }}
""",
    "0/U": """
dimensions [0 1 -1 0 0 0 0];
internalField uniform (0 0 0);
boundaryField
{{
    lid {{ type fixedValue; value uniform (1 0 0); }} walls {{ type noSlip; }} sides {{ type empty; }}
}}
""",
}
KINDS = {"0/p": "volScalarField", "0/U": "volVectorField"}


def write_case(folder: Path, n: int, steps: int, ranks: int) -> None:
    """Write a cavity of n x n cells for so many steps, and cut it into strips.

    Parameters
    ----------
    folder : Path
        Of the case; what is there is removed.
    ranks : int
        Strips; 1 leaves the mesh whole, for a run without ranks.
    """
    shutil.rmtree(folder, ignore_errors=True)
    dt = 0.05 / n  # Courant number 0.5 below the lid
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        head = HEAD.format(kind=KINDS.get(name, "dictionary"), name=path.name)
        path.write_text(head + text.format(n=n, dt=dt, end=dt * steps, steps=steps, ranks=ranks))
    run(["blockMesh"], folder)
    if ranks > 1:
        run(["decomposePar", "-force"], folder)


def solve(cases: Path) -> None:
    """Become the solver on the case that was cut for these ranks: OpenFOAM takes ``-parallel`` from two on only."""
    ranks = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
    words = ["icoFoam", "-case", str(cases / f"ranks-{ranks}"), *(["-parallel"] if ranks > 1 else [])]
    os.execvp(words[0], words)


def main() -> int:
    """Make the cases and measure."""
    parser = arguments(__doc__, "cavity")
    parser.add_argument("--solve", action="store_true", help="be one rank of the solver; for lab scaling")
    asked = parser.parse_args()
    # Debian's OpenFOAM finds its settings by this
    os.environ.setdefault("WM_PROJECT_DIR", "/usr/share/openfoam")
    if asked.solve:
        solve(asked.folder)
    if missing(PROGRAMS):
        return 0
    n, steps = (24, 10) if asked.quick else (120, 200)
    if asked.quick:
        asked.repeats = min(asked.repeats, 1)
    for ranks in (1, asked.ranks):
        write_case(asked.folder / f"ranks-{ranks}", n, steps, ranks)
    case = asked.folder / f"ranks-{asked.ranks}"
    seconds = r"ExecutionTime = ([0-9.]+) s"
    itself = [
        sys.executable,
        str(Path(__file__).resolve()),
        "--folder",
        str(asked.folder.resolve()),
        "--solve",
    ]
    scaled = ["--time-from", seconds, "--", "mpiexec.openmpi", "--bind-to", "none", "-n", "{ranks}", *itself]
    measure(case, ["icoFoam", "-parallel"], scaled, asked, ["processor*/[0-9]*/U"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
