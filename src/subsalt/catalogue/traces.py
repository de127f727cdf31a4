"""Codes 21x to 26x: traces of files, one by one: headers, components, outliers, what is missing or there twice."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E235": (
        "Traces without coordinates",
        "Some traces have zeros where others have coordinates: their headers were lost. They would lie at map 0, 0. "
        "One trace of a shot may lie there, with its source.",
        'Correct the headers, or leave the traces out: [data] exclude = [{file = "a.sgy", traces = "12-14"}].',
    ),
    "E236": (
        "Sources too deep",
        "Sources lie deeper than seismic sources are fired: the scalar of depths (byte 69) has the wrong sign or "
        "power. The scalar offered was tried on the headers.",
        "[data.fix] elevation_scalar = -10, or source_depth; the scalar as it stands says that it is right.",
    ),
    "W216": (
        "Source depths unlikely",
        "Source depths are below 0.3 m, or tens of metres with a cable as deep; another scalar (byte 69) makes them "
        "usual.",
        "[data.fix] elevation_scalar, or source_depth, says what is right.",
    ),
    "W217": (
        "Recording delay of some files differs",
        "Traces of a few files begin at another time than those of the others (byte 109).",
        "[data.fix] delay = ... if all were recorded alike.",
    ),
    "E238": (
        "Sample interval negative or clipped",
        "The interval of the headers is negative, or the largest number that its two bytes hold.",
        "Give it: [data.fix] dt = 0.004 (seconds).",
    ),
    "E239": (
        "Traces of different lengths",
        "The traces of a file have different numbers of samples; only files of one length are read.",
        "Write the traces with one number of samples, or split the file.",
    ),
    "E241": (
        "Several components",
        "Files hold traces of several kinds of sensors (byte 29, 11 to 17 since rev 1), or horizontal ones alone. "
        "Pressure (11) and vertical components (12) are data; together they would be added to one image.",
        "[data.fix] trace_ids = [11] uses one of them; migrate the others in a job of their own.",
    ),
    "E242": (
        "Stacked data",
        "The files are stacked sections: sorting code 4 and every receiver at its source. Reverse time migration needs "
        "shot records.",
        'Name the shot records; a stacked section is for method = "kirchhoff".',
    ),
    "E243": (
        "Traces far from all others",
        "Some traces lie tens of kilometres or more from the rest of the survey, much farther than either is wide: "
        "another map zone, another scalar, or another survey.",
        "Correct their headers, or leave them out with [data] exclude.",
    ),
    "E244": (
        "Nothing to leave out",
        "An entry of [data] exclude meets no trace of the files.",
        "Take it out, or correct file, shot, channels or traces.",
    ),
    "W245": (
        "Several cables on one line",
        "A shot has receivers beside one another: several streamers, taken for a 2-D line. Projected on the line they "
        "have wrong distances from the source.",
        'Use [data] line = "3d" with a 3-D model, or leave all cables but one out: [data] exclude with channels.',
    ),
    "E246": (
        "Traces far stronger than their neighbours",
        "Noise or spikes in single traces carry more energy than is good for an image: a trace 100 times as strong as "
        "the others outweighs them all. Compared by medians with traces at like offsets.",
        'Leave them out with [data] exclude; [data] noisy_traces = "keep" uses them.',
    ),
    "W246": (
        "Traces stronger than their neighbours",
        "Some traces are at least 10 times as strong as others at their offset; together they weigh little.",
        "Look at them; leave them out with [data] exclude.",
    ),
    "E247": (
        "Named as the other format",
        "A SEG-Y file has the name of an SU file, or the reverse.",
        'Rename it, or [data.fix] kind = "segy" (or "su").',
    ),
    "W247": (
        "Humming traces",
        "Most of the energy of some traces is in one frequency, such as that of the mains, and that of others is not.",
        "Filter the frequency out, or leave them out with [data] exclude.",
    ),
    "E248": (
        "SEG-D or SEG-2",
        "The file is a field tape format that is not read.",
        "Convert it to SEG-Y first.",
    ),
    "W253": (
        "Clipped traces",
        "Some traces stay at one largest value for several samples, again and again.",
        "Use data from before they were clipped, or leave the traces out with [data] exclude.",
    ),
    "W254": (
        "Shot far stronger than others",
        "The traces of a shot are at least 10 times as strong as those of others at like offsets.",
        "Scale it to the others, or leave it out with [data] exclude.",
    ),
    "W255": (
        "Missing channels",
        "A shot has fewer traces than is usual, or lacks channels between its first and last.",
        "Look for the rest of the file; [data] exclude leaves the shot out.",
    ),
    "W256": (
        "Noise from sample to sample",
        "Some traces are rough where all others are smooth, and as strong as they.",
        "Leave them out with [data] exclude.",
    ),
    "E257": (
        "Sample format wrong",
        "Another sample format or byte order gives much smoother traces than the declared one; it was tried.",
        "[data.fix] format or sample_endian; the declared format says that it is right.",
    ),
    "E258": (
        "Trace header extension not read",
        "The extension of the trace headers (SEG00001, since rev 2) holds other coordinates or counts than the header "
        "itself.",
        "Copy them into the header, or give the geometry in a CSV.",
    ),
    "E259": (
        "File describes its own trace headers",
        "A layout in the extended text (SEG:Layout, since rev 2.1) says that header values lie elsewhere than where "
        "they are read.",
        "[data.bytes], as the message has it.",
    ),
    "W264": (
        "Receivers at their sources",
        "Every receiver lies at its source: a zero-offset or a stacked section, of which reverse time migration images "
        "each trace as a shot of its own.",
        "Name the shot records, or say where receivers stand.",
    ),
    "W263": (
        "Shots that are there twice under other numbers",
        "Two field records have the same source and the same receivers.",
        "Leave the copies out with [data] exclude, if they are copies.",
    ),
}
