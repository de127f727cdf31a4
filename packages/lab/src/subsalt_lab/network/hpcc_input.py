"""The input of HPC Challenge: one problem, sized by a part of the memory, on a grid of ranks as square as can be."""

from __future__ import annotations

import math

#: blocks of columns; of HPL and PTRANS
BLOCK = 192
#: the least that has a few blocks in each direction
SMALLEST = 4 * BLOCK

# 32 lines of HPL, in HPL's order, the 32nd of them ignored; then the sizes of PTRANS beside the one that HPL gives
TEXT = """\
HPLinpack benchmark input file
made by subsalt lab network
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{n}          Ns
1            # of NBs
{block}      NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{p}          Ps
{q}          Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


def order(memory: float) -> int:
    """Return the order of the matrix of doubles that fills `memory` bytes, in whole blocks."""
    return max(SMALLEST, int(math.sqrt(memory / 8)) // BLOCK * BLOCK)


def grid(ranks: int) -> tuple[int, int]:
    """Return rows and columns of ranks: as square as can be, no more rows than columns."""
    p = next(p for p in range(math.isqrt(ranks), 0, -1) if ranks % p == 0)
    return p, ranks // p


def text(n: int, ranks: int) -> str:
    """Return what hpccinf.txt holds.

    Parameters
    ----------
    n : int
        Order of the matrix.
    ranks : int
        All of which take part.
    """
    p, q = grid(ranks)
    return TEXT.format(n=n, block=BLOCK, p=p, q=q)
