"""Codes 3xx: sources and receivers, alone and on the model."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E300": (
        "Wrong geometry",
        "Sources and receivers do not make sense.",
        "The message names shot and position.",
    ),
    "E301": (
        "Shot number twice",
        "Two shots of a survey have one number.",
        "Give every shot its own number.",
    ),
    "E302": (
        "Shape of the data",
        "Traces do not fit the receivers or the time axis.",
        "Order data as (shot, receiver, sample).",
    ),
    "E303": (
        "Shot without data",
        "A shot has neither traces nor a file to read them from.",
        "Model it first, or give data.",
    ),
    "E304": (
        "Unknown shot",
        "A selected shot number does not exist.",
        "Select from the ids between the first and the last, which the message names.",
    ),
    "E305": (
        "Receivers of unknown shots",
        "The receiver CSV names shots that the source table does not have.",
        "Use the same shot numbers in both.",
    ),
    "E306": (
        "Shot without receivers",
        "A shot has no receiver.",
        "Add receivers, or leave the shot out.",
    ),
    "E307": (
        "Shot not in the table",
        "The CSV of sources has no line for a field record of the data.",
        "Add its line, or leave the shot out with [data] shots.",
    ),
    "E308": (
        "Channel not in the table",
        "The CSV of receivers has no line for a channel of a shot.",
        "Add its line, or leave the shot out with [data] shots.",
    ),
    "E310": (
        "Position too near the edge",
        "A source or receiver between grid points needs grid points outside the computational grid.",
        "Keep it 4 cells inside, or enlarge the grid.",
    ),
    "E311": (
        "Position not finite",
        "A source or receiver coordinate is NaN or infinite.",
        "Correct the coordinate.",
    ),
    "E312": (
        "Grid thinner than the weights",
        "An axis has fewer points than the 8 nodes of an off-grid weight.",
        "Enlarge the grid.",
    ),
    "E313": (
        "Above the free surface",
        "A source or receiver lies above the free surface.",
        "Correct its depth, or use an absorbing top.",
    ),
    "E314": (
        "A mute leaves nothing",
        "The top mute of the image, the mute of the traces, or the stretch mute of a time migration removes "
        "everything: the image would be zero throughout.",
        "The message says what is left and of what; check the unit of the key that it names.",
    ),
    "W314": (
        "A mute leaves next to nothing",
        "Less than a tenth of rows, samples or reflections is left by a mute, or only what the records do not reach.",
        "The message says what is left and of what; check the unit of the key that it names.",
    ),
    "W315": (
        "Midpoints on edges of bins",
        "Many midpoints lie on the edges between bins, and noise of their coordinates of more than a few centimetres "
        "puts them on either side by chance. The area that a trace stands for is shared by the traces of its bin, so "
        "that amplitudes are off by some per cent. Noise up to 5 cm does no harm: such midpoints all count to the "
        "upper bin.",
        'Move the bins by half of one, so that midpoints lie in their middle; or [kirchhoff] weighting = "uniform".',
    ),
    "E316": (
        "Records begin minutes from their shots",
        "The first samples lie half a minute or more from time zero: milliseconds were taken for seconds.",
        'Write the delay with its unit: [data.fix] delay = "100 ms".',
    ),
    "E317": (
        "Records of minutes",
        "The records that are to be modelled are longer than those of any survey: milliseconds were given as seconds.",
        'Write the time with its unit, such as record_length = "1400 ms".',
    ),
    "E318": (
        "The model lies in other depths",
        "Not one source or receiver lies between the first and the last depth of the model: its origin is wrong, or "
        "depths count from another level.",
        "The message gives the tables with the origin at zero.",
    ),
    "E320": (
        "Shot away from the model",
        "Sources and receivers of a shot lie farther from the model than its aperture.",
        "Correct the coordinates, or leave the shot out.",
    ),
    "E321": (
        "Offsets missing",
        "Receivers were to be placed by offset, but byte 37 is zero everywhere.",
        "Give the geometry in a CSV.",
    ),
    "E322": (
        "Receiver coordinates missing",
        "Bytes 81 and 85 are zero everywhere.",
        '[data.bytes], a CSV, or receivers = "offset".',
    ),
    "E323": (
        "Source coordinates missing",
        "Bytes 73 and 77 are zero everywhere, and the offsets contradict that.",
        "[data.bytes], or a CSV.",
    ),
    "E324": (
        "Coordinates do not fit SEG-Y",
        "Positions are too large for 32 bits at a centimetre.",
        "Use coordinates nearer to the survey.",
    ),
    "E325": (
        "No live trace",
        "Every trace is dead or auxiliary (byte 29).",
        "[data.fix] all_traces = true.",
    ),
    "E329": (
        "Line on a volume, or the reverse",
        "The survey has another number of dimensions than the model.",
        'Say what it is: [data] line = "2d" or "3d".',
    ),
    "E330": (
        "Survey and model do not overlap",
        "Not one source or receiver lies on the model: they are in different coordinate frames, or a "
        "scalar was forgotten.",
        "The message shows both ranges and, where one explains all, the single mistake; else the "
        "shift that would be needed.",
    ),
    "E331": (
        "Sources outside the model",
        "Some sources lie beside the model.",
        "Leave those shots out with [data] shots, or extend the model.",
    ),
    "E332": (
        "Receivers outside the model",
        "Some receivers lie beside the model.",
        "Extend the model, or leave those shots out with [data] shots.",
    ),
    "E333": (
        "Sources above the surface",
        "Some sources lie above the first depth of the model. Depths are positive down.",
        "Give the depth with [data.fix] source_depth, or let the model begin higher.",
    ),
    "E334": (
        "Receivers above the surface",
        "Some receivers lie above the first depth of the model. Header elevations are positive up; "
        "some files store depths there.",
        "If they are depths: [data.fix] z_sign = -1; else [data.fix] receiver_depth, or let the model"
        " begin higher.",
    ),
    "E335": (
        "Positions below the model",
        "Some sources or receivers lie deeper than the model.",
        "Check the elevation scalar (byte 69), or extend the model.",
    ),
    "E336": (
        "Shot on the free surface",
        "The source of a shot, or every receiver, lies on the free surface, where pressure is zero.",
        "Give a depth, or use an absorbing top.",
    ),
    "W336": (
        "On the free surface",
        "Sources or receivers lie exactly on a free surface, where pressure is zero at all times: "
        "they send or record nothing.",
        "Give them their depth, or use free_surface = false.",
    ),
    "W337": (
        "Shots at one place",
        "Several shots share a source position: repeated shots, or a shot key that splits one shot.",
        "Check the shot key (bytes 9 and 17); leave repeated shots out with [data] shots.",
    ),
    "W338": (
        "Receivers at one place",
        "Receivers of one shot share a position: several components, or wrong header bytes.",
        "Check bytes 81 and 85, and the shot key.",
    ),
    "W339": (
        "Crooked line",
        "Positions lie far from the straight line on which a 2-D survey is projected.",
        "Image it in 3-D, or choose a straight part with [data] shots.",
    ),
    "W340": (
        "Narrow aperture",
        "Each shot sees only a few cells beside its sources and receivers; dipping reflectors will be"
        " missing.",
        "Use about the depth of the target for [imaging] aperture.",
    ),
    "W341": (
        "Record too short",
        "The records end before the vertical echo of the model's bottom arrives: what lies deeper "
        "cannot be imaged.",
        "Cut the model there, or use longer records.",
    ),
    "E342": (
        "Line without an origin",
        "The model varies along x, the 2-D line does not run along map x, and neither the job nor the model says "
        "where on the line x = 0 lies: the image would be shifted, or mirrored.",
        "One of the ways that the message lists, with the numbers found: [data] frame = {x0, y0, azimuth}, "
        '[data] line = "x" or "y", or a model with map coordinates.',
    ),
    "E343": (
        "Line away from local x",
        "A 2-D line is projected on a local x axis to which it is turned by more than 8 degrees, or from which it "
        "lies farther than its own length: offsets and positions along the line are wrong.",
        "Correct the frame, or [data.fix] swap_xy where x and y are exchanged; the message says which, and the frame "
        "along the line itself.",
    ),
    "W342": (
        "Line beside local x",
        "A 2-D line lies more than 2 % of its length beside the local x axis on which it is projected.",
        "Correct the frame, or take a model along the line; the message gives the frame along the line itself.",
    ),
    "W344": (
        "Model shallower than the records",
        "The records last several times as long as the echo of the model's bottom takes: reflectors below it are not "
        "imaged, and what they give is noise.",
        "Extend the model downward, unless only its depths are wanted.",
    ),
    "W343": (
        "init: the model's place is not known",
        "The shots lie on a line that does not run along map x, the model varies along x, and nothing says where on "
        "the line its x = 0 lies. `subsalt init` writes what it found, as comments.",
        "Take the # away from the frame that is true, or write your own; `subsalt check` refuses the job until then.",
    ),
    "W360": (
        "One file lies otherwise than the others",
        "Sources or spread of one file differ from those of all other files, and one mistake in its headers explains "
        "it: x and y exchanged, source and receiver exchanged, or another unit of length. The message says which.",
        "Correct the headers of that file, or leave it out: [data] exclude.",
    ),
    "W361": (
        "Time zero of some field records",
        "First breaks of few field records have the velocity of all others, but come earlier or later by more than a "
        "period and than first breaks scatter from record to record: the recording delay is wrong there.",
        "Correct byte 109 of these records, or leave them out: [data] exclude.",
    ),
    "E380": (
        "Sources and receivers in two map zones",
        "Every receiver lies tens of kilometres or more from its source, all about as far: no scalar explains that, "
        "but coordinates of sources and receivers in different zones or datums do.",
        "Project both to one zone, or say where the receivers are: [data.bytes] receiver_x, receiver_y.",
    ),
    "W380": (
        "File header in another byte order",
        "The file header of a SEG-Y file has one byte order, its traces have the other: all trace headers that were "
        "looked at confirm the number of samples in that order alone. The traces are read in their own order.",
        "Write the file again in one byte order; [data.fix] endian gives that of the traces and silences this.",
    ),
    "W381": (
        "Bins are no midpoints",
        "The positions of bins (bytes 181, 185) are the midpoints of sources and receivers only when x and y of the "
        "stations are exchanged.",
        "[data.bytes] source_x, source_y, receiver_x and receiver_y, or cdp_x and cdp_y, with the bytes exchanged.",
    ),
    "W390": (
        "Source depths of a file are a power of ten times those of the others",
        "The scalar of elevations and depths (byte 69) was forgotten or applied twice in one file, so its sources lie "
        "at another depth than all others.",
        "[data.fix] elevation_scalar for all files where the message offers it; else correct the headers of that file, "
        "or leave it out: [data] exclude.",
    ),
    "W391": (
        "Elevations that seem to count downward",
        "Receivers lie as far below the datum as the surface of the model lies above it: byte 41 probably holds "
        "depths, or elevations with the wrong sign.",
        "If elevations are written downward: [data.fix] z_sign = -1; leave shots out where single ones differ.",
    ),
    "W375": (
        "The x axis of the model looks mirrored",
        "First breaks fit traveltimes through the model only when its x axis is turned around: the model is stored "
        "backward along x, or the line was shot the other way than its frame says.",
        'Where the model is stored backward: flip = "x" in its tables; else give the direction of the line: '
        "[data] frame.",
    ),
    "W393": (
        "Traces begin within their arrivals",
        "No shot has clear first breaks, and far traces hold energy before any wave can arrive, stronger than at their "
        "end: they are corrected for moveout, or recorded from a later time on.",
        "Use the data before the correction; if there was none, check the recording delay (byte 109) and [model] vp.",
    ),
    "W392": (
        "The direct wave does not start at time zero",
        "First breaks have the velocity of sound in water, and so has the velocity of the job at time zero: it is the "
        "direct wave, which starts at the source at time zero. Its line starts more than a period before, or two "
        "periods after.",
        "Give the recording delay of the observer's log: [data.fix] delay.",
    ),
    "W371": (
        "Echoes fit the model read in another way",
        "Traces near their sources do not hold the echoes of the layers of vp where the model has them, but would if "
        "the model were turned around, its x and y exchanged, its depths milliseconds, or its lengths feet.",
        "Read the model so ([model] flip, axes, spacing), or convert it to depth; the message gives the keys. A survey "
        "with such coordinates looks alike.",
    ),
}
