"""Codes 6xx and 7xx: memory, disk, damaged files, devices."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E600": (
        "Reading or writing failed",
        "The system reported an error.",
        "Check path, permissions and space.",
    ),
    "E601": (
        "Read error",
        "The system reported an I/O error while a file was read.",
        "Check the disk, or copy the file again.",
    ),
    "E610": (
        "Not enough memory",
        "The job needs more memory than this process may use; nothing was started.",
        "The message names the smallest change that fits: a smaller aperture or a larger image step.",
    ),
    "E611": (
        "Headers do not fit into memory",
        "The trace headers of the file alone need more memory than the machine has.",
        "Split the file.",
    ),
    "E612": (
        "Out of memory",
        "The system refused memory in the middle of the work.",
        "Use a coarser grid or a smaller aperture.",
    ),
    "E620": (
        "A file cannot be written",
        "The system reported an I/O error while a file was written; nothing was published and an "
        "older file of that name is unchanged.",
        "Check the disk, then start the same command again: it continues where it stopped.",
    ),
    "E621": (
        "Disk full",
        "The file system, the quota or the file size limit leaves less room than the file needs. "
        "Nothing half-written remains.",
        "Free space, or choose another folder, then start the same command again.",
    ),
    "E622": (
        "Ledger cannot be written",
        "The ledger of the run could not be brought to disk: no space, or no permission.",
        "Free space, then start the same command again: it continues where it stopped.",
    ),
    "E630": (
        "Output cannot be created",
        "The folder does not exist, is read-only, or the name belongs to a folder or device.",
        "Give a folder that exists and that you may write to.",
    ),
    "E640": (
        "Damaged file",
        "A file of the run directory fails its checksum.",
        "Start the same command again.",
    ),
    "E641": (
        "Damaged file in a run directory",
        "A partial image or run.json is missing, damaged, or not the one that the ledger knows.",
        "Start the same command again: what is damaged is computed again.",
    ),
    "E642": (
        "A written file reads back differently",
        "A second reader (segyio) found another content in a file that was just written; it was not "
        "published.",
        "Check the disk; if it happens again, report it.",
    ),
    "E643": (
        "machine.json cannot be used",
        "The file is damaged, or was written in a format of another version.",
        "Remove it and measure again with `subsalt lab`, or give another name with --out.",
    ),
    "E644": (
        "machine.json of another machine",
        "The file holds measurements of another processor or system; rates of two machines do not mix.",
        "Give another name with --out.",
    ),
    "E650": (
        "Damaged snapshot",
        "A snapshot or state in scratch is missing, cut short, changed, or of another shot, run or step.",
        "A run computes it again and counts it in its report. A kept wavefield is made again by `subsalt migrate`.",
    ),
    "E651": (
        "Scratch folder of somebody else",
        "A folder for scratch exists and is a link, no folder, or belongs to another user.",
        "Choose another place with [checkpoint] directories.",
    ),
    "E652": (
        "No kept wavefield",
        "The snapshots of a wavefield of this shot were not kept, not completely, or lie elsewhere.",
        'Migrate with [checkpoint] keep = "source" or "both"; name all of [checkpoint] directories in their order.',
    ),
    "E653": (
        "Damaged kept wavefield",
        "What describes a kept wavefield cannot be read, or the parts of its ranks do not belong together.",
        "Make it again with `subsalt migrate`, or remove the folder of the shot.",
    ),
    "E654": (
        "No compressor",
        'compression = "zfp" needs the package zfpy, which is not installed.',
        "`pip install 'subsalt-imaging[zfp]'` (in a clone `pip install -e '.[zfp]'`), "
        "or leave [checkpoint] compression out.",
    ),
    "E660": (
        "A rank has too little memory",
        "What a rank needs by array is more than it has; nothing was started.",
        "The message names the smallest change that fits: more ranks per shot or more ranks, then choices of the job. "
        "`subsalt plan` shows the table.",
    ),
    "E662": (
        "No amount of memory",
        "The memory per rank is not a number with a unit.",
        "Write 16GB, 900 MB or 12GiB.",
    ),
    "E663": (
        "The disk is too small for the run",
        "Partial images and outputs together need more space than is free; nothing was started.",
        "Free space, or choose another run directory.",
    ),
    "E664": (
        "[checkpoint] contradicts itself",
        "Two keys of [checkpoint] exclude each other, such as slots with a strategy that keeps no states.",
        "Leave out the one that is not meant.",
    ),
    "E665": (
        "A folder for snapshots cannot be used",
        "A folder of [checkpoint] directories is not there, is no folder, or may not be written to.",
        "Make it, or name another one.",
    ),
    "E666": (
        "The disk is too small for snapshots and states",
        "What the strategy of [checkpoint] puts on disk needs more space than is free; nothing was started.",
        "The message names a change that fits: other folders, or another strategy.",
    ),
    "W660": (
        "Thin slabs",
        "A slab has more ghost planes than planes of its own: memory and reading are mostly those of its neighbours.",
        "Use fewer ranks per shot with more memory each.",
    ),
    "W661": (
        "Little memory is left",
        "The run fits, but takes more than 80 % of what is free: input read ahead has little room.",
        "Use more ranks per shot, or fewer ranks on a node.",
    ),
    "W662": (
        "Ranks wait behind the last shots",
        "The shots do not divide evenly over the groups, so that some groups are done long before the others.",
        "Use a number of groups that divides the shots, or more ranks per shot.",
    ),
    "W663": (
        "Fewer ranks than ranks per shot",
        "[parallel] ranks_per_shot asks for more ranks than there are: all of them share every shot.",
        'Start more ranks, or set [parallel] ranks_per_shot = "auto".',
    ),
    "W664": (
        "A shot did not do what was planned",
        "Steps, states or bytes that a run counted are not those that its plan says. The image is not concerned.",
        "Report it with run.json of the run.",
    ),
    "W665": (
        "Not all snapshots of a shot fit into memory",
        "The source wavefield is kept on disk, or computed again from states: less memory, the same image.",
        "`subsalt plan` shows what else would do; docs/howto/memory.md tells what helps.",
    ),
    "E700": (
        "Device unavailable",
        "The device or instruction set is not available here.",
        "`subsalt doctor` shows what is.",
    ),
    "E701": (
        "Unknown device",
        "The device does not exist, or its compiled kernels are missing.",
        "Use cpu, or reference; `make build` compiles the kernels.",
    ),
    "E702": (
        "Instruction set not available",
        "SUBSALT_ISA or --isa names an instruction set that this processor or build does not have.",
        "Unset SUBSALT_ISA, or give --isa one of those named.",
    ),
    "E703": (
        "Absurd number of threads",
        "More than four threads per core (and more than eight) were asked for, by [parallel] threads, threads = ... or "
        "OMP_NUM_THREADS.",
        "Use as many threads as cores, or leave it out.",
    ),
    "E704": (
        "Tile not possible",
        "SUBSALT_TILE_ROWS is not a whole number of rows from 1 upwards.",
        "Unset it: the rows of a tile are then chosen by trial.",
    ),
    "E705": (
        "Arrays of the Kirchhoff sum do not fit together",
        "An array handed to the sum over traces has another shape or type than the others ask for, or a trace points "
        "at an image trace that is not there.",
        "The message names the array, what it is and what is wanted.",
    ),
    "E706": (
        "A velocity cannot be used",
        "An rms velocity is zero, negative or not a number, or eta is -0.5 or less: no traveltime follows from it.",
        "Correct the velocity at the location and sample that the message names.",
    ),
    "E710": (
        "A measurement gave a wrong answer",
        "A kernel or sweep that was to be timed did not compute what it should; no figure is given.",
        "Run `subsalt doctor`; report it with the line.",
    ),
    "E780": (
        "No MPI launcher",
        "Ranks are started by mpiexec (or srun); none was found, or the one named with --launcher is not on PATH.",
        "`pip install 'subsalt-imaging[mpi]'` (in a clone `pip install -e '.[mpi]'`) brings "
        "one; on a cluster name that of the site, such as --launcher srun.",
    ),
    "E781": (
        "A measured command failed",
        "A program that was to be timed could not be started, did not end with exit code 0, or took too long; no "
        "figure is given.",
        "The message has its last lines; run that command by itself to see all it says.",
    ),
    "E782": (
        "Ranks that do not see each other",
        "The launcher started as many runs of one rank as it should have started ranks of one run: it belongs to "
        "another MPI than the library that is loaded.",
        "Use the mpiexec of this environment, or set MPI4PY_LIBMPI to the library of the site's MPI "
        "(docs/howto/cluster.md).",
    ),
    "E783": (
        "This command cannot be measured",
        "The command given to `subsalt lab scaling` would be the same for all layouts, or the expression that is to "
        "find its time is no regular expression with a group.",
        "Write {ranks} and {threads} where the numbers go; put the number of --time-from in parentheses.",
    ),
    "E784": (
        "No time in the output",
        "The expression of --time-from matches nothing that the command printed, or what is no positive number.",
        "Try the expression on the output of one run.",
    ),
    "E785": (
        "No room for a measurement",
        "The files that a measurement makes do not fit into the directory.",
        "Choose a smaller grid or fewer shots, or another directory.",
    ),
    "E786": (
        "No batch script",
        "An option of `subsalt migrate --slurm` is missing or cannot be written into a batch script.",
        "The message names it; `subsalt migrate --help` shows the options of a batch script.",
    ),
    "E787": (
        "No room to measure a directory",
        "What `subsalt lab storage` or `subsalt lab checkpoint` would write is more than half of what the directory "
        "has room for, or the shot of the latter does not fit into memory; nothing was written.",
        "The message names a size that fits.",
    ),
    "E788": (
        "No access past the page cache",
        "The file system of the directory refuses O_DIRECT, so that nothing can be measured that way.",
        "Leave --direct out: rows marked durable or storage still have the speed of the storage.",
    ),
    "W705": (
        "More threads than cores",
        "Threads that share a core take turns, and every time step waits for the last of them.",
        "Use as many threads as cores, or leave it out.",
    ),
    "E720": (
        "Too many ranks for one shot",
        "The ranks of a group cut a shot into slabs along x. A slab must be at least as thick as the halo that the "
        "ranks beside it hold of it: the radius of the stencil, twice that in tilted media and where a cut lies near "
        "an absorbing layer.",
        "The message names the largest number of ranks per shot that works; more ranks then work on other shots.",
    ),
    "E770": (
        "Unknown way to read",
        "Input is read by every rank for itself (per-rank), or by one rank that sends it to all (broadcast).",
        "Use per-rank, or broadcast.",
    ),
    "E771": (
        "Not a file of time slices",
        "Dense traces are an RSF cube of 4-byte floats with y fastest, then x, then time (2-D: x, then time), the last "
        "axis labelled t, and exactly the bytes that its axes need.",
        "Order the samples so, set the labels, and check that the copy is complete.",
    ),
    "E772": (
        "Slices of another dimension",
        "Dense traces on a plane (x, y) belong to a 3-D grid, those on a line (x) to a 2-D one.",
        "Use slices of the dimension of the model.",
    ),
    "E773": (
        "No room for the measurement",
        "The files of `subsalt lab io` do not fit on the disk, or the slabs of its ranks not into memory; nothing was "
        "written.",
        "Use a smaller --grid, fewer --steps or --ranks, or another --directory.",
    ),
    "E774": (
        "Files of a measurement are there already",
        "The folder that `subsalt lab io` makes exists: it was kept, or another measurement uses it.",
        "Remove it, or use another --directory.",
    ),
    "E775": (
        "Ranks that do not know each other",
        "The launcher started as many separate runs as there should have been ranks: it belongs to another MPI.",
        "Use the mpiexec beside the Python of subsalt, or name the launcher with --launcher.",
    ),
    "E776": (
        "Time slices that are no survey",
        "Shots recorded on planes of nodes ([data.slices]) have one file and one source each, and share dimension and "
        "time axis.",
        "Give one source per file; migrate surveys of another time axis apart.",
    ),
}
