"""Codes 2xx: SEG-Y and SU files, traces, volumes, wavelet files."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E200": (
        "Wrong data",
        "Input data cannot be used as they are.",
        "The message names the file and the value.",
    ),
    "E210": (
        "Not a file with data",
        "The name belongs to a folder, a pipe, a device or an empty file.",
        "Name a regular file.",
    ),
    "E211": (
        "Sample format not readable",
        "Byte 3225 holds a code that is not a sample format, or one that is not read (4: fixed point "
        "with gain). Reading it as something else would give noise; a format under which the samples are smooth is "
        "named.",
        "Say the right format: [data.fix] format = 1 (IBM) or 5 (IEEE).",
    ),
    "W211": (
        "Samples per trace disagree",
        "Headers give different numbers of samples; the length of the file decides.",
        "[data.fix] ns = ... if the choice is wrong.",
    ),
    "E212": (
        "Too short for traces",
        "The file is shorter than its headers and one trace.",
        "Check how it was copied; name SU files .su.",
    ),
    "E213": (
        "Truncated file",
        "The bytes of traces do not divide into whole traces.",
        'Copy the file again, or give [data.fix] ns, or truncated = "drop" to use the complete traces.',
    ),
    "W213": (
        "Incomplete last trace left out",
        "The file ends inside a trace and the job says to use the complete ones.",
        "Copy the file again if it should be complete.",
    ),
    "E214": (
        "Sample interval disagrees",
        "Two headers give different positive sample intervals.",
        "Say which is right: [data.fix] dt = ... (seconds).",
    ),
    "W214": (
        "Sample interval from the traces",
        "The binary header has no valid sample interval; that of the trace headers is used.",
        "[data.fix] dt = ... if it is wrong.",
    ),
    "E215": (
        "No sample interval",
        "Every header says 0.",
        "Give it: [data.fix] dt = 0.004 (seconds).",
    ),
    "E216": (
        "Extended text without end",
        "Byte 3505 announces an open number of extended text headers, and none of them ends the text.",
        "Correct the file.",
    ),
    "E217": (
        "No number of samples",
        "No header says how many samples a trace has.",
        "Give it: [data.fix] ns = ...",
    ),
    "E218": (
        "File changed while it was used",
        "A file has another size than when the survey was read.",
        "Do not change the files of a running survey; start again.",
    ),
    "E219": (
        "Compressed file",
        "The file is compressed; seismic data are read at positions, which needs plain files.",
        "Decompress it first.",
    ),
    "E220": (
        "Not an RSF header",
        "N1 or in is missing, or an axis is not a number.",
        "Correct the header.",
    ),
    "W220": (
        "Unknown scalar",
        "Byte 71 or 69 holds a value that the standard does not know.",
        "[data.fix] scalar or elevation_scalar.",
    ),
    "E221": (
        "RSF data outside the folder",
        "In= is absolute, has '..' or is a symbolic link: a header must not name any file of this machine.",
        "Put the data beside the header.",
    ),
    "W221": (
        "Scalar varies within a file",
        "Traces of one file have different scalars; each trace's own is applied.",
        "[data.fix] scalar = ... if they should agree.",
    ),
    "E222": (
        "RSF data format unknown",
        "Data_format or esize is not one that is read.",
        "Use native_float.",
    ),
    "W222": (
        "Scalar is 0",
        "Coordinates are set, but their scalar is 0, which counts as 1.",
        "[data.fix] scalar = -10 or -100 if coordinates are decimetres or centimetres.",
    ),
    "E223": (
        "File shorter or longer than announced",
        "The size of the data is not what their header says.",
        "Check the header; copy the file again.",
    ),
    "W223": (
        "Scalar differs between files",
        "One file has another scalar than the rest, and so lies elsewhere.",
        "[data.fix] scalar = ...",
    ),
    "E224": (
        "Not a readable array",
        "The file is damaged, holds objects, or no real numbers.",
        "Store float32 numbers.",
    ),
    "W224": (
        "Field record numbers repeat",
        "One number (byte 9) stands for sources in several places; source positions tell shots apart.",
        '[data] shot_key = "ffid" if the numbers are right.',
    ),
    "E225": (
        "Spacing unknown",
        "The file does not say the spacing of its grid, or it was given for another number of axes.",
        'In a job: {file = "model.npy", spacing = [dx, dz]}, or [dx, dy, dz]; elsewhere take a file that says '
        "it, such as the .rsf.",
    ),
    "W225": (
        "No coordinates",
        "Source and receiver coordinates are all zero.",
        "[data.bytes], or a CSV.",
    ),
    "W226": (
        "Offsets and coordinates disagree",
        "The offset header (byte 37) differs from the distance of the coordinates by a constant "
        "factor or altogether.",
        "Check the scalar (byte 71) and the coordinate bytes.",
    ),
    "E227": (
        "Lines do not fill a grid",
        "Inline and crossline numbers have gaps or doubles.",
        "Write complete lines, or say where the numbers lie.",
    ),
    "W227": (
        "Offsets too large",
        "Sources and receivers lie farther apart than any survey.",
        "Check the scalar (byte 71).",
    ),
    "E228": (
        "Coordinates are no regular grid",
        "Trace coordinates are not a (rotated) rectangle with constant spacing.",
        "Resample, or give spacing.",
    ),
    "E229": (
        "Volume format unknown",
        "The suffix of the name is not one of the known formats.",
        "Use .sgy, .rsf, .npz, .npy, .vti, .nc or .zarr.",
    ),
    "E230": (
        "Wrong axes",
        "A volume needs 2 or 3 axes, depth last.",
        "Store it as (x, z) or (x, y, z).",
    ),
    "W230": (
        "Dead traces",
        "Traces with identification 2 are skipped, or kept as zeros.",
        '[data] dead_traces = "zero" keeps them.',
    ),
    "E231": (
        "Which array",
        "The file holds several arrays, or none of that name.",
        'Key = "...".',
    ),
    "W231": (
        "Auxiliary traces",
        "Traces with another identification than 0, 1 or 2 are skipped.",
        "[data.fix] all_traces = true if they are seismic.",
    ),
    "E232": (
        "VTK file not readable",
        "Only uncompressed ImageData with appended data is read.",
        "Write it so.",
    ),
    "W232": (
        "Delayed recording",
        "First samples do not lie at time zero; the delay (byte 109, scalar 215) is applied.",
        "[data.fix] delay = 0 if traces start at the shot.",
    ),
    "E233": (
        "NetCDF file not readable",
        "The file is damaged or netCDF-4.",
        "Convert it: nccopy -k classic.",
    ),
    "W233": (
        "Zero traces",
        "Some traces hold only zeros.",
        "Leave them out if they are dead.",
    ),
    "E234": (
        "Zarr store not readable",
        "The store is damaged or uses an unknown codec.",
        "Copy it again.",
    ),
    "W234": (
        "Constant traces",
        "Some traces hold one value only.",
        "Leave them out.",
    ),
    "W235": (
        "Odd depth step",
        "The interval field taken as millimetres gives an unusual depth step.",
        "Spacing = [dx, dy, dz] if that is wrong.",
    ),
    "W236": (
        "Coordinates ignored",
        "Trace coordinates are no regular grid; the given spacing is used.",
        "Resample if the place matters.",
    ),
    "E240": (
        "Angles instead of lengths",
        "Byte 89 says that coordinates are arc seconds or degrees; or it does not, but only as longitudes and "
        "latitudes are sources and receivers as far apart as the offsets (byte 37) say.",
        "Project them to metres; [data.bytes] coordinate_units = 0 if they are metres, offset = 0 if the offsets are "
        "wrong.",
    ),
    "W240": (
        "Lengths called angles",
        "Byte 89 says angles, but offsets or size show lengths.",
        "[data.bytes] coordinate_units = 0 silences this.",
    ),
    "W241": (
        "Feet",
        "The measurement system (byte 3255) is feet; positions are converted to metres.",
        '[data.fix] unit = "m" if they are metres.',
    ),
    "W242": (
        "Negative source depth",
        "Byte 49 counts downward and should not be negative.",
        "[data.fix] source_depth = ...",
    ),
    "W243": (
        "Receivers above the datum",
        "Receiver elevations are positive where depths are to be expected.",
        "[data.fix] z_sign = -1, or receiver_depth = ...",
    ),
    "E250": (
        "Samples not finite",
        "Traces or an image hold NaN or infinity.",
        'Correct the data or the sample format; [data] bad_traces = "zero" sets them to zero.',
    ),
    "W250": (
        "Samples set to zero",
        'Traces hold NaN or infinity, which [data] bad_traces = "zero" sets to zero.',
        "Nothing to do if few are concerned; else correct the data or the sample format.",
    ),
    "E251": (
        "Wavelet file unreadable",
        "The wavelet file does not hold numbers, is a folder, or is far too large.",
        "Give one column of values, or two of time in seconds and value, as text or .npy.",
    ),
    "E252": (
        "Wavelet of wrong shape",
        "A wavelet needs between 2 and 100000 samples in one column, or in two with the times.",
        "Give one column of values, or two of time and value.",
    ),
    "W252": (
        "Huge amplitudes",
        "Samples exceed 1e30.",
        "Check [data.fix] format.",
    ),
    "E253": (
        "Wavelet times wrong",
        "The time column does not rise in equal steps, or is not in seconds.",
        "Resample to a regular step in seconds.",
    ),
    "E254": (
        "Wavelet dt disagrees",
        "The time column of the wavelet file and the dt of the job differ.",
        "Leave dt out, or correct the file.",
    ),
    "E255": (
        "Wavelet not finite",
        "The wavelet holds NaN or infinity.",
        "Replace what is not finite.",
    ),
    "E256": (
        "Wavelet is zero",
        "The wavelet is zero everywhere.",
        "Give a wavelet with some energy.",
    ),
    "E260": (
        "Numbers of samples differ",
        "Files of one survey have different numbers of samples.",
        "Migrate them apart, or bring them to one time axis.",
    ),
    "E261": (
        "Sample intervals differ",
        "Files of one survey have different sample intervals.",
        "Migrate them apart, or resample.",
    ),
    "E262": (
        "Delays do not fit the samples",
        "Traces start at times that are not whole samples apart.",
        "Shift them to one start, or [data.fix] delay = 0.",
    ),
    "E270": (
        "Interval does not fit SEG-Y",
        "Dt is not a whole number of microseconds from 1 to 32767.",
        "Record with such a dt, or write RSF or NumPy.",
    ),
    "E271": (
        "First sample does not fit SEG-Y",
        "The delay cannot be said in bytes 109 and 215.",
        "Start within 32 s of the shot, at whole microseconds.",
    ),
    "E272": (
        "Data do not fit the survey",
        "Traces are missing or have another shape than receivers and samples say.",
        "Order data as (receiver, sample), one array per shot.",
    ),
    "E273": (
        "Too many samples",
        "SEG-Y rev 1 and SU hold at most 65535 samples per trace.",
        "Write RSF or NumPy.",
    ),
    "E274": (
        "Depth axis does not fit SEG-Y",
        "The depth step must be 1 mm to 65.535 m, with at most 65535 samples.",
        "Write RSF, or choose another spacing.",
    ),
    "E275": (
        "Too large for netCDF",
        "A netCDF classic variable holds less than 4 GiB.",
        "Write .zarr, .rsf or .sgy.",
    ),
    "E276": (
        "No traces to write as SU",
        "Only SEG-Y and SU files hold traces.",
        "Export to .sgy first.",
    ),
    "E280": (
        "Sampling interval unlikely",
        "Records with more than 0.1 s between samples do not exist; the header probably holds "
        "milliseconds, or microseconds times a thousand.",
        "Give the interval: [data.fix] dt.",
    ),
    "W281": (
        "Very short records",
        "The sampling interval is below 50 microseconds and the whole record below 50 ms.",
        "If the header meant milliseconds, give the interval: [data.fix] dt.",
    ),
    "W282": (
        "Dead traces",
        "Some traces are zero from begin to end. They add nothing to the image, but there may be more"
        " wrong with them.",
        "Nothing to do if they are known to be dead; else check sample format and header bytes.",
    ),
    "E283": (
        "Shot without signal",
        "Every trace of a shot is zero.",
        "Leave the shot out with [data] shots, or check the sample format.",
    ),
    "E284": (
        "NaN in traces",
        "Samples are NaN or infinite; one of them would spoil the whole image.",
        'Repair the file, or set [data] bad_traces = "zero".',
    ),
    "E285": (
        "Impossible amplitudes",
        "Samples are larger than any measurement: IBM floats were read as IEEE floats, or with the "
        "wrong byte order.",
        "Say the format: [data.fix] format = 1 (IBM) or 5 (IEEE), or endian.",
    ),
    "W286": (
        "Constant traces",
        "Some traces hold one value from begin to end.",
        "Check sample format and header bytes; they add nothing to the image.",
    ),
    "W287": (
        "Clipped traces",
        "Many samples have exactly the largest value of the shot: the recording or a conversion to "
        "integers was clipped.",
        "Use the data before they were clipped.",
    ),
    "W288": (
        "Signal before the first possible arrival",
        "Most of the energy of many traces lies before the straight ray at the model's largest "
        "velocity can arrive.",
        "Check time zero ([data.fix] delay), the sampling interval, and the coordinates.",
    ),
    "E289": (
        "Wavelet beyond the record",
        "The source wavelet peaks after the records end.",
        "Check the units of [source] f0 and t0 and the sampling interval of the data.",
    ),
}
