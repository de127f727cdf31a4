"""Codes 8xx: the state of runs."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E801": (
        "Interrupted",
        "Ctrl-C, SIGTERM, SIGUSR1, `subsalt stop` or --time-limit ended the command. Finished shots are kept, nothing "
        "half-written remains.",
        "The same command, or `subsalt resume RUN`, continues from there.",
    ),
    "E802": (
        "Run directory in use",
        "Another process works in this run directory.",
        "Wait for it, stop it, or choose another directory with --run.",
    ),
    "E803": (
        "Newer run directory",
        "The run directory was written by a newer version with another format.",
        "Use that version, or another directory.",
    ),
    "E810": (
        "Run of another job",
        "The run directory holds a run of another job, other inputs or another numerics class; the "
        "message shows what differs.",
        "Restore the job, or choose another directory with --run.",
    ),
    "E811": (
        "Shots of another job",
        "The folder holds shots that another job or model made.",
        "Choose another folder with --out.",
    ),
    "E812": (
        "The demo's image is wrong",
        "A reflector whose depth is known is imaged more than one and a half cells away from it: this build of the "
        "program computes wrongly on this machine.",
        "Run `subsalt doctor`, which tests the kernels one by one, and report what it says.",
    ),
    "W812": (
        "The demo's image has other bytes",
        "The samples of the demo's image differ from those recorded for this class of instruction sets. Its model is "
        "smoothed by SciPy, so another release of it may explain a difference; with the pinned packages nothing does.",
        "`make setup` installs the pinned packages; report a difference that remains.",
    ),
    "E820": (
        "No shot succeeded",
        "Every shot failed or was quarantined, so there is no image.",
        "The ledger and events.jsonl hold the reasons; fix the first.",
    ),
    "E821": (
        "No image to draw",
        "The run directory holds neither an image nor readable partial images with a known grid.",
        "Start or continue the run with `subsalt migrate`.",
    ),
    "E822": (
        "Shots are missing in the image",
        "Some shots failed twice and were quarantined: their traces are wrong or cannot be read, their wavefield "
        "failed, or the program crashed in them. The image holds the others.",
        "Read the reasons in the report and in RUN/quarantine. When the cause is fixed, `subsalt resume RUN "
        "--retry-quarantined` tries them again; traces that had to change need --accept-changed-inputs as well.",
    ),
    "E830": (
        "The folder is not shared",
        "Ranks on several nodes work on one run directory, and one of them does not see in it what rank 0 wrote.",
        "Choose a folder on a file system that all nodes mount, with --run or --out.",
    ),
    "E831": (
        "A format needs the whole image on one rank",
        "SEG-Y, RSF and NPY are written by all ranks, each its planes. The other formats are written by rank 0 alone, "
        "which has no memory for the whole image.",
        "Leave them out of [output] formats, and convert the image later with `subsalt export`.",
    ),
    "E870": (
        "No schedule for a shot",
        "The numbers of a checkpoint scheme contradict each other: a block longer than the shot, slots with a "
        "strategy that keeps no states.",
        "The message names the number; leave the choice to strategy = auto.",
    ),
    "E840": (
        "The run has not stopped in time",
        "`subsalt stop` left its request, and the process that owns the run directory still works in it.",
        "`subsalt watch RUN` shows what it does; wait longer with --wait, or end the process with kill.",
    ),
    "E841": (
        "No run in this directory",
        "The directory holds no ledger and no job.resolved.toml: there is nothing to continue, to stop or to watch.",
        "Give the directory that `subsalt migrate` made, or start the run with `subsalt migrate JOB --run RUN`.",
    ),
    "E842": (
        "Not a run directory",
        "What was given is a file.",
        "Give the directory that `subsalt migrate` made.",
    ),
    "E843": (
        "A time that is none",
        "--time-limit, --wait or --every is no time, or out of range.",
        "Write seconds, or for --time-limit 45m, 3h, 2d or 1:30:00.",
    ),
    "E844": (
        "A setting empties the image",
        "The image, or the set of gathers, would be zero throughout: a mute, an aperture, a filter or the imaging "
        "condition leaves nothing of traces that hold something. No image was written.",
        "The message names the step. What was computed is kept: after a change of [imaging] top_mute or filter the "
        "same run directory continues from its partial images; other changes need --recompute.",
    ),
    "E845": (
        "Nothing in the traces",
        "The image would be zero throughout, since the traces hold nothing but zeros, or values too small to be "
        "summed. No image was written.",
        "Look at the files with `subsalt scan`: sample format, scaling, how they were copied.",
    ),
    "E846": (
        "Image not finite",
        "Values of the image are infinite or no numbers: traces or model hold absurd values. No image was written.",
        "The message names the step; look for absurd amplitudes with `subsalt scan`, and for zeros in the model.",
    ),
    "E871": (
        "A scheme without a folder",
        "A scheme that writes snapshots, states or restart points was given no folder for them.",
        "Give a scratch, or a scheme that keeps all in memory.",
    ),
}
