"""Codes 345 to 358: what first breaks say about sampling interval, time zero, channels, polarity, moveout, velocity."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E345": (
        "Sampling interval against first breaks",
        "First breaks are twice or half as long as the model lets waves take, and so is the period of "
        "the data against the wavelet's: the sampling interval in the headers is wrong by that factor, "
        "though all headers agree.",
        "Give the interval that the message names: [data.fix] dt. With it the first breaks fit; this was "
        'tried. Where first breaks are known to mislead: [data] first_breaks = "ignore".',
    ),
    "W345": (
        "First breaks twice or half as long as the velocity lets them be",
        "The first breaks of a time migration's traces travel at half or twice the velocity that the job "
        "has at early times. The sampling interval is wrong, or the velocity.",
        "Compare dt of scan with the acquisition report; [data.fix] dt sets it.",
    ),
    "E346": (
        "Time zero against first breaks",
        "All first breaks of a shot come earlier or later than model and wavelet allow, by one and the "
        "same time: time zero of the traces is wrong, in the traces or in the delay of their headers "
        "(byte 109), or the wavelet of the job peaks at another time than the data's.",
        "[data.fix] delay, or [source] t0, as the message has them; shots of which this is true alone "
        "are corrected, or left out with [data] shots. Where first breaks are known to mislead: [data] "
        'first_breaks = "ignore".',
    ),
    "W346": (
        "Time zero against first breaks, by about a period",
        "As E346, by one to one and a half periods: that may be the phase of the wavelet.",
        "Give the time at which the wavelet of the data peaks: [source] t0; or [data.fix] delay.",
    ),
    "E347": (
        "Channels in reverse order",
        "First breaks fall with offset, or scatter, and lie on one line once the places of the channels "
        "are taken in the reverse order: near and far channels are exchanged, or the cable was laid the "
        "other way.",
        '[data.fix] channels = "reversed"; where some shots alone are reversed, correct them or leave '
        'them out. Where first breaks are known to mislead: [data] first_breaks = "ignore".',
    ),
    "E348": (
        "Channels shifted by stations",
        "The first breaks of split spreads are earliest beside the source, in all shots by the same "
        "distance: channel numbers are shifted against the stations of their receivers.",
        "Correct the relation of channels and stations; [data] geometry takes places by channel. Where "
        'first breaks are known to mislead: [data] first_breaks = "ignore".',
    ),
    "W348": (
        "Channels shifted by a station",
        "As E348, by about one station.",
        "Check which channel stands at which station.",
    ),
    "E349": (
        "Near-surface velocity against first breaks",
        "First breaks of all shots travel slower or faster than the model lets them, by one factor, and "
        "the period of the data is that of the wavelet: the model is wrong near the surface. S-wave "
        "velocities are 1.5 to 2.5 times too slow; a model without its water layer lets first breaks "
        "travel faster than 1500 m/s; a model in time, or with a depth axis in another unit, has the "
        "wrong velocity at the depth of the stations.",
        "Give P velocities in m/s by depth, from the surface on: [model] vp. Where first breaks are "
        'known to mislead: [data] first_breaks = "ignore".',
    ),
    "W349": (
        "Near-surface velocity differs from first breaks",
        "As E349, by 12 to 25 per cent, which smoothing of a model can make.",
        "Check the uppermost part of the model; in marine data it begins with water.",
    ),
    "E350": (
        "Sources too deep for their first breaks",
        "The depths of sources are tens of metres to kilometres, and first breaks come before waves from "
        "there can arrive; with a tenth, a hundredth or a thousandth of the depth they fit: the scalar "
        "of depths (byte 69) is wrong.",
        "[data.fix] source_depth or elevation_scalar. Where first breaks are known to mislead: [data] "
        'first_breaks = "ignore".',
    ),
    "W351": (
        "Polarity of all shots",
        "Direct waves have the opposite sign of what the wavelet of the job makes of them. The image "
        "then has the opposite sign everywhere.",
        "[data.fix] polarity = -1 changes the sign of the data; or give the wavelet with its sign, "
        "[source] file.",
    ),
    "E352": (
        "Polarity of some shots",
        "The first arrivals of some shots have the waveform of the others' with the opposite sign: these "
        "shots take away from the image what the others add.",
        "Correct the sign of these shots in the files, or leave them out with [data] shots. Where first "
        'breaks are known to mislead: [data] first_breaks = "ignore".',
    ),
    "W353": (
        "Polarity of some traces",
        "The first arrival of some traces is that of their neighbours with the opposite sign.",
        "Correct the sign of these traces, or mark them as dead (trace id 2).",
    ),
    "E354": (
        "Data corrected for moveout",
        "Events come at equal times at all offsets, where the velocity gives them a moveout of more than "
        "a period: the data were corrected for normal moveout. Migration expects them as they were "
        "recorded.",
        "Use the data before the correction, or undo it with the velocity it was made with. Where first "
        'breaks are known to mislead: [data] first_breaks = "ignore".',
    ),
    "W354": (
        "Data perhaps corrected for moveout",
        "As E354, less clearly; or what a mute has left comes before the model lets anything arrive, as "
        "events do that were brought forward.",
        "Use the data before the correction.",
    ),
    "W355": (
        "Stacked data",
        "Every receiver stands at its source: a stacked section, not shot records.",
        'Give the shots before stacking; a stack is migrated in time by method = "kirchhoff".',
    ),
    "W357": (
        "Wavelet above the data's band",
        "The data peak far below the wavelet, and have little energy in its band.",
        "Use [source] f0 near the peak of the data; check its unit (Hz), and the sampling interval.",
    ),
    "W358": (
        "First breaks before anything can arrive",
        "Most first breaks come before the model lets any wave arrive, and no single mistake that is "
        "tried (interval, time zero, velocity) explains it.",
        "Check depths and coordinates of stations, time zero, and the model near the surface.",
    ),
}
