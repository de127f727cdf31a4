"""Codes 5xx: stability, dispersion, medium, boundaries."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E500": (
        "Unstable",
        "The scheme would be unstable.",
        "The message gives the limit and the value.",
    ),
    "E501": (
        "Time step too large",
        "The time step is above the stability bound of the scheme; the wavefield would grow without limit.",
        "Leave [propagation] dt out: 0.95 of the bound is used.",
    ),
    "W502": (
        "Time step small",
        "The time step is far below the stability bound, which costs time and gains nothing.",
        "Leave [propagation] dt out; time dispersion is corrected anyway.",
    ),
    "W503": (
        "No absorbing boundary",
        "Waves that reach an edge of the model come back.",
        'Use [propagation] boundary = "pml".',
    ),
    "W504": (
        "Thin absorbing layer",
        "A layer of so few cells reflects noticeably.",
        "Leave [propagation] layer out: 12 cells for pml, 40 for damping.",
    ),
    "E505": (
        "Time step a hundred times too small",
        "The time step is less than a hundredth of the stability bound: a wrong unit, or a number that nobody means.",
        "Leave [propagation] dt out: 0.95 of the bound is used, and time dispersion is corrected.",
    ),
    "E510": (
        "Wavefield not finite",
        "The wavefield grew without limit or became NaN during the computation.",
        "Check the model and the time step; the message names the step and place.",
    ),
    "E520": (
        "delta above epsilon",
        "Where delta > epsilon the VTI equations are unstable whatever the time step.",
        'Correct the model, or let it be repaired: [propagation] anisotropy = "lower-delta" or '
        '"raise-epsilon".',
    ),
    "W521": (
        "delta above epsilon, repaired",
        "Where delta > epsilon the VTI equations are unstable; these nodes are changed before propagation.",
        'To refuse such models instead: [propagation] anisotropy = "reject".',
    ),
    "W522": (
        "Anisotropy ignored",
        "The job asks for an isotropic medium but gives Thomsen parameters.",
        "Leave medium out to use them.",
    ),
    "W523": (
        "VTI without parameters",
        "The job asks for VTI without epsilon and delta.",
        "Give them, or leave medium out.",
    ),
    "W524": (
        "One Thomsen parameter",
        "epsilon or delta is missing and taken as zero.",
        "Give both.",
    ),
    "E525": (
        "Angle out of range",
        "theta lies outside -pi to pi, or phi outside -2 pi to 2 pi: most likely degrees taken for radians.",
        "Give radians, or declare the unit of the angles.",
    ),
    "E526": (
        "Axis outside the plane of a 2-D model",
        "phi of a 2-D model is neither 0 nor pi: its symmetry axis would leave the plane of the waves.",
        "Leave phi out; in 2-D theta has a sign, positive towards +x.",
    ),
    "W537": (
        "Tilt without anisotropy",
        "theta is given, but epsilon and delta are zero: waves do not feel the axis.",
        "Give epsilon and delta, or leave theta out.",
    ),
    "W538": (
        "Azimuth without tilt",
        "phi is given without theta: an upright axis has no azimuth.",
        "Give theta too.",
    ),
    "W539": (
        "Symmetry axis turns too fast",
        "From one node to the next the axis turns by more than 45 degrees. The grid cannot carry that: the product of "
        "axis and wave folds over the Nyquist wavenumber. The scheme stays stable, but what it computes there is "
        "that of no medium. Often it is noise of a dip estimate, or an angle that was interpolated across 180.",
        "Smooth the axis alone: [model] tilt_smoothing, one cell or more; the map of `subsalt check` shows where.",
    ),
    "W543": (
        "Noisy tilt",
        "The axis lies more than 2.5 degrees off the mean of its neighbours (root of the mean square). P waves, "
        "measured, then lose some per cent of their waveform every few wavelengths to what the grid does not resolve. "
        "A dip estimate made trace by trace looks so.",
        "Smooth the axis alone: [model] tilt_smoothing, three cells or more.",
    ),
    "W544": (
        "Tilt tapered throughout",
        "In front of a PML and a free surface the tilt is tapered to zero, over the outermost M + 10 cells of a shot's "
        "window (14 at order 8). Here the tapers of two sides meet: the waves feel less tilt than the model has.",
        'Widen the model or [imaging] aperture, or set boundary = "damping", which needs no taper.',
    ),
    "E540": (
        "TTI without tilt",
        'The job asks for medium = "tti" and gives no theta.',
        "Give [model] theta, or leave medium out.",
    ),
    "W541": (
        "Tilt ignored",
        "The job asks for a medium without tilt, but gives theta.",
        "Leave medium out to use it.",
    ),
    "W530": (
        "Dispersion",
        "The grid has few points per shortest wavelength: high frequencies travel too slowly and "
        "trail behind.",
        "Use a finer grid, a higher order, or lower frequencies.",
    ),
    "E531": (
        "Grid too coarse",
        "The grid has hardly two points per shortest wavelength and cannot carry the wavelet.",
        "Use a finer grid or lower frequencies; check the units of velocity, spacing and frequency.",
    ),
    "W532": (
        "Unusual frequency",
        "No seismic source peaks at this frequency.",
        "Check the unit of [source] f0.",
    ),
    "E533": (
        "Wavelet above the Nyquist frequency of the data",
        "The records are sampled too coarsely to hold the peak of the wavelet.",
        "Lower [source] f0, or use data that are sampled finer.",
    ),
    "W534": (
        "Wavelet reaches above Nyquist",
        "The upper part of the wavelet's band lies above what the records hold.",
        "Lower [source] f0, or set [source] fmax.",
    ),
    "W535": (
        "Wavelet with a mean",
        "The zero frequency of a wavelet does not travel; it stays as a load at the source and "
        "disturbs the image there.",
        "Subtract the mean, or filter out the lowest frequencies.",
    ),
    "W536": (
        "Data above the wavelet's band",
        "Most energy of the data lies at frequencies that the source wavelet does not have.",
        "Raise [source] f0, or check the sampling interval of the data.",
    ),
    "E545": (
        "Seed not possible",
        "SUBSALT_BATCH, with which tests draw how many time steps are done at a time, is not a whole number from 0 "
        "upwards.",
        "Unset it: results do not depend on it.",
    ),
}
