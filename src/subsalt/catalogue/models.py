"""Codes 4xx: model volumes, their values, units and grids."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E400": (
        "Wrong model",
        "A model volume cannot be used as it is.",
        "The message names the volume and the value.",
    ),
    "E401": (
        "Shapes differ",
        "A volume has another shape than the grid.",
        "Resample it, or add [grid]: all volumes are then interpolated on that grid.",
    ),
    "E402": (
        "Grids differ",
        "Volumes have one shape but another spacing or origin.",
        "Correct the header, or add [grid] to interpolate all on one.",
    ),
    "E403": (
        "Dimensions differ",
        "One volume has two axes, another three.",
        "Use models of one dimension.",
    ),
    "E404": (
        "Order of axes",
        "Two volumes have the same numbers of points in another order.",
        "Write volumes as (x, z) or (x, y, z) with z fastest.",
    ),
    "W405": (
        "Frames differ",
        "Two volumes lie at different places of the map.",
        "Check their coordinates; the frame of vp is used.",
    ),
    "E405": (
        "Not real numbers",
        "A parameter of a model is text, complex numbers or objects.",
        "Give numbers in the unit that the message names; texts with units are for job files.",
    ),
    "E410": (
        "Values not finite",
        "A volume holds NaN or infinity.",
        "Replace those values; the message gives the first index.",
    ),
    "E411": (
        "Impossible values",
        "vp must be positive; epsilon and delta must be above -0.5.",
        "Replace those values; zeros are often nulls where the model is not known.",
    ),
    "E412": (
        "Velocity in km/s",
        "The median of vp is below 15: water has 1500 m/s, so this looks like km/s.",
        'Declare the unit: vp = {file = "...", unit = "km/s"}.',
    ),
    "E413": (
        "Slowness instead of velocity",
        "The median of vp is that of a slowness.",
        'Declare the unit: unit = "s/m" or "s/km".',
    ),
    "E414": (
        "Squared slowness instead of velocity",
        "The median of vp is that of a squared slowness.",
        'Declare the unit: unit = "s2/m2" or "s2/km2".',
    ),
    "E415": (
        "Velocity far too large",
        "The median of vp is above 100,000: mm/s, or not a velocity at all.",
        "Declare the unit, or check the file and its number format.",
    ),
    "E416": (
        "Velocity in ft/s",
        "All of vp lies above 4500 and some above 10,000: rocks in ft/s look so.",
        'Declare the unit: unit = "ft/s".',
    ),
    "W417": (
        "Unusual velocities",
        "vp holds values that neither water nor rocks have.",
        "Check the unit and null values.",
    ),
    "W420": (
        "Slowest velocity is that of water in ft/s",
        "The smallest vp lies between 4650 and 5150: hard rock in m/s, or water in ft/s.",
        'If it is ft/s: vp = {file = "...", unit = "ft/s"}.',
    ),
    "E418": (
        "Thomsen parameter in per cent",
        "epsilon or delta exceeds 1; the program takes fractions.",
        'Declare the unit: unit = "%".',
    ),
    "W419": (
        "Large Thomsen parameter",
        "epsilon or delta exceeds 0.5, which is rare in rocks.",
        "Check the file.",
    ),
    "E421": (
        "Tilt in radians",
        "No value of theta exceeds pi/2 and nothing declares its unit: the job takes degrees, this looks like radians.",
        'Declare the unit: theta = {file = "...", unit = "radians"}, or unit = "degrees" if they are.',
    ),
    "W422": (
        "Angle that may be in radians",
        "No value of theta exceeds pi/2, or none of phi 2 pi: in degrees this is hardly a tilt.",
        'If they are radians, declare it: unit = "radians", or "0.5 radians" for a number.',
    ),
    "E423": (
        "Angle in degrees",
        "An angle declared as radians exceeds half a turn (theta) or a turn (phi).",
        'Declare the unit: unit = "degrees".',
    ),
    "E424": (
        "Impossible angle",
        "theta exceeds 180 degrees, or phi 360: nobody writes such a tilt, it is a null value or another quantity.",
        "Replace those values; where nothing tilts, theta is 0.",
    ),
    "W425": (
        "theta outside 0 to 90",
        "An axis has no arrow: theta beyond 90 degrees, or below 0 (in 2-D below -90), names the same axis as another "
        "theta inside (and phi turned by 180). Every finite angle survives this; the nodes are counted.",
        "Nothing, if they are meant; else check the sign convention and null values.",
    ),
    "E440": (
        "Grid in kilometres",
        "The grid spacing gives hundreds of points per wavelength: it looks like km.",
        "Give spacing and origin in metres, or with a unit.",
    ),
    "W441": (
        "Very deep model",
        "The model is deeper than 60 km.",
        "Check the unit of the spacing along z.",
    ),
    "W442": (
        "Very different spacings",
        "Grid spacings differ by more than a factor of 20.",
        "Check unit and order of the axes.",
    ),
    "W443": (
        "Depth axis flipped",
        "vp falls steadily with depth; it usually grows.",
        "Turn the z axis of the model around: z is positive down.",
    ),
    "W444": (
        "Depth is not the last axis",
        "vp grows steadily along another axis and is level along the last one.",
        "Write volumes as (x, z) or (x, y, z) with z fastest.",
    ),
    "W445": (
        "Null value in vp",
        "Many nodes have one value far below all others.",
        "Fill the model where it is not known.",
    ),
    "W426": (
        "Axes look exchanged",
        "Velocity rises along a horizontal axis in nearly all lines, and changes faster there than along the last "
        "axis, as it does along depth in every model; or neighbouring values are alike only in another order of the "
        "file.",
        'The message gives the table to paste: axes = "zx" says the order in the file, slowest first.',
    ),
    "E427": (
        "Shear velocities",
        "vp is 0 in water: these are velocities of S waves, which water does not have.",
        "Give the file of P velocities.",
    ),
    "W427": (
        "Velocities of S waves",
        "Much of the model is slower than water where rocks are wet, as only S waves are.",
        "Give the file of P velocities. Gas and dry ground are slower too, but not in a tenth of a model.",
    ),
    "E428": (
        "Null value",
        "Some nodes hold a value that no medium has and that is far from all others: what a program writes where it "
        "knows nothing.",
        "Fill these nodes with values of their neighbours before migrating.",
    ),
    "W429": (
        "epsilon and delta look exchanged",
        "delta exceeds epsilon almost everywhere and is nowhere smaller; in layered rocks it is the other way.",
        "The message gives both tables to paste; nothing to do if they are as they should be.",
    ),
    "E430": (
        "Last axis not in metres",
        "The last axis of the model has steps of thousandths where the others have steps of metres: seconds of a model "
        "in time, or kilometres.",
        "Convert a velocity in time to depth; spacing and origin of one in km are in the message.",
    ),
    "W431": (
        "Model sampled like the records",
        "The last axis of the model has as many samples as the records, with as many metres between them as the "
        "records have milliseconds: perhaps a velocity in time.",
        "Convert it to depth first; nothing to do if it is in depth.",
    ),
    "W432": (
        "Tilt does not fit the layers",
        "Where layers of vp dip, the symmetry axis is far from their normals; with the other sign, or counted from the "
        "horizontal, it would fit. theta is counted from the downward vertical, positive towards +x.",
        "The message gives the table to paste: scale and shift correct the angles. Ignore it if the axis is intended.",
    ),
    "W433": (
        "A towed cable in no water",
        "Receivers below the surface move with the sources, as a streamer does, but the model has another velocity "
        "there than water: its water layer is missing, or it holds other velocities.",
        "Give a model that begins at the sea surface, with water down to the sea bottom.",
    ),
}
