"""How fast do messages go: between two ranks of a socket, a node or two nodes, and among all.

`net.c` is compiled with the MPI in use and prints blocks of calls (`lines` reads them); `places` says which ranks are
worth a pair, `rows` makes figures of the blocks, `measure` is the whole of it. `hpcc` and `imb` drive benchmarks of
others where they are installed, and `balance` sets bandwidth against arithmetic as the founding document does.
"""
