"""E970 to E979: the model, and the report of a machine."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E970": (
        "Not a rate",
        "A network or a file system is given as bytes per second: a number in GB/s, or with GB/s, MB/s, Gbit/s, Mbit/s "
        "behind it; a network may have a latency in microseconds behind a comma.",
        "Write such as --network 12.5, --network 100Gbit/s or --network 20GB/s,2us; --files 2.7.",
    ),
    "E971": (
        "Nodes that cannot be",
        "Numbers of nodes are whole and positive, in ascending order or any other; a node has no more ranks than the "
        "measured machine has cores.",
        "Write such as --nodes 24,100,1000, and --ranks-per-node within the cores of a node.",
    ),
    "E972": (
        "Nothing to hold the model against",
        "A file given with --measured is neither the run.json of a run that began with a prediction nor a result of "
        "subsalt lab scaling with layouts on different numbers of cores.",
        "Give the directory of a run, made after subsalt plan measured the machine, or the file of "
        "subsalt lab scaling --out FILE.",
    ),
    "E973": (
        "Not a result of the lab",
        "The report of a machine takes the JSON files that measurements write with --out, profiles of MPI runs, and "
        "pages to which it links.",
        "Give a file that subsalt lab ... --out made.",
    ),
    "E974": (
        "A model without a rate or a grid",
        "subsalt lab model needs --founding, or a grid, numbers of nodes and the point-steps per second of a node.",
        "Add such as --grid 2486,1151,1231 --nodes 24,100,1000 --rate 2e9; subsalt lab kernels measures a rate.",
    ),
}
