"""E980 to E999: computing on a GPU."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "W980": (
        "A GPU is not used",
        'With [parallel] device = "auto" a GPU computes when there is one that can be used. Here is something of it, a '
        "card or the plug-in, but not all that it takes: the processor computes, with the same result.",
        'The message says what is missing. With [parallel] device = "cpu" nothing is said.',
    ),
    "E980": (
        "No plug-in for GPUs",
        "The job asks for the device cuda. What computes there is a plug-in that is compiled where a CUDA compiler is; "
        "it is not there, or cannot be loaded.",
        "Build it: make cuda (docs/howto/gpu.md). Or compute with device = cpu.",
    ),
    "E981": (
        "No GPU",
        "The plug-in is there, and no GPU that this process may use.",
        "Look at nvidia-smi and CUDA_VISIBLE_DEVICES, or compute with device = cpu.",
    ),
    "E982": (
        "The driver of the GPU is too old",
        "The plug-in was built for a newer CUDA than the driver of this machine knows.",
        "Update the driver, or build the plug-in with the CUDA toolkit that goes with it: make cuda.",
    ),
    "E983": (
        "A plug-in of another version",
        "The plug-in was built from another version of subsalt. Mixed, they would read each other's memory wrongly.",
        "Build it again: make cuda.",
    ),
    "E984": (
        "The GPU was lost",
        "While it computed, the GPU stopped answering: it was taken away or reset, it fell off the bus, or its memory "
        "failed beyond repair. What was in its memory is gone; nothing wrong was written.",
        "Start the run again: it continues from its last restart point. subsalt doctor and nvidia-smi say whether the "
        "GPU is back; with device = cpu the run continues without it.",
    ),
    "E985": (
        "An operation on the GPU failed",
        "The GPU is there and refused what it was asked to do, or stopped in the middle of it. This is a mistake in "
        "subsalt, in the driver, or in the installation of both, not in the job.",
        "Start the run again; it continues from its last restart point, also with device = cpu. When it happens again, "
        "report the line with the versions that subsalt doctor prints.",
    ),
    "E988": (
        "Too little memory on the GPU",
        "Wavefields, model, absorbing layer and image lie in the memory of the GPU, with two snapshots at least. The "
        "plan of the job needs more than is free there, shared by the ranks that use it; nothing was started. During "
        "a run it means that another program has taken memory since.",
        "The message names the smallest change that fits: a smaller aperture, 16-bit models, more ranks with a GPU "
        "each, another strategy. subsalt plan says what each array takes.",
    ),
    "E989": (
        "No GPU to plan for",
        "The plan is to be for a GPU, and this machine has none, or nothing is known of the one that is named.",
        "Name it with --gpu and, where it is not one of those listed, --gpu-memory. Or plan for the processor: "
        "--device cpu.",
    ),
    "E991": (
        "Not every rank has a GPU",
        "The job asks for the device cuda, and some ranks run where there is none. A run computes on one kind of "
        "device: ranks on processors would make the others of their group wait.",
        "Start ranks only where there are GPUs (`srun --gpus-per-task=1`), or let the job say `device = "
        '"auto"`, which then computes on the processors of all.',
    ),
    "W992": (
        "Ranks share a GPU",
        "There are more ranks on a node than GPUs. They compute one after the other, and each takes its part of the "
        "memory.",
        "Start as many ranks as there are GPUs.",
    ),
    "W993": (
        "GPUs are idle",
        "A rank computes on one GPU, and there are more GPUs than ranks on the node.",
        "Start a rank for each GPU: `mpiexec -n 4 subsalt migrate job.toml`; CUDA_VISIBLE_DEVICES hides those that are "
        "for others.",
    ),
    "E992": (
        "A wrong word for messages between GPUs",
        "SUBSALT_GPU_MPI says how ghost planes go from GPU to GPU in place of the MPI library's own word.",
        "Leave it out: the library is asked. staged: through the memory of the host, which always works; direct: for a "
        "library that reaches GPUs and does not say so.",
    ),
    "E994": (
        "A block of a time migration does not fit into the GPU",
        "The image traces, velocities and prepared traces of a block of locations stay on the GPU while they are "
        "summed; it has not the memory.",
        "Let blocks be smaller: set [kirchhoff] memory lower. Or compute with device = cpu.",
    ),
}
