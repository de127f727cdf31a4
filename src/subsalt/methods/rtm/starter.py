"""`subsalt init`: a commented job file, filled with what the shot and model files say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.acquisition.line import MAP_X, described, heading
from subsalt.acquisition.turned import turned
from subsalt.check.line import frame_key, frames_along, varies_along_x
from subsalt.check.tilt import looks_like_radians
from subsalt.earth.grid import Frame
from subsalt.earth.planes import Parameter, summarise
from subsalt.errors import (
    Finding,
    GeometryError,
    MissingInputError,
    SubsaltError,
)
from subsalt.io.objects import as_path
from subsalt.job import text as toml_out
from subsalt.job import units
from subsalt.job.signal.first_break_edge import edge_of
from subsalt.job.signal.mute import FIRST_BREAKS
from subsalt.job.starter import (
    InitResult,
    add_header_items,
    expand,
    findings_of,
    heading_of,
    positions_of,
    refuse_existing,
    relative,
    round_down,
    trace_file_items,
)
from subsalt.methods.rtm.model_sections import PARAMETERS
from subsalt.methods.rtm.starter_choices import Choices, confirmed, steps_of
from subsalt.numerics.stencil import Stencil
from subsalt.propagation.options import PropagationOptions

#: further keys below the filled-in tables: every line works when its # is removed
OPTIONS = """\
# Further keys, each with its default (subsalt explain KEY tells more, subsalt explain TABLE has all keys):
# [propagation]
# order = 8                       # order in space
# free_surface = false            # the sea surface reflects
# [imaging]
# mode = "reflectivity"           # reflectors image as peaks; "adjoint": diffractors do
# condition = "source-normalised" # or "cross-correlation", "inverse-scattering", "up-down"
# aperture = "all"                # metres of model beside each shot; less is faster
# filter = "none"                 # "laplacian" removes low wavenumbers
# top_mute = 0                    # metres muted at the top
# [checkpoint]                    # when a shot needs more memory than there is
# strategy = "auto"               # "store", "revolve": less memory, more steps; "boundary"
# memory = "auto"                 # for snapshots and states, such as "2GB"
# directories = []                # fast disks for them; else the run directory
# [parallel]
# threads = "auto"
# device = "auto"                 # a GPU where there is one; "cuda": a GPU or nothing; "cpu"
# [output]
# formats = ["segy", "rsf"]       # also npy, npz, vti, nc, zarr
"""


def dominant_frequency(traces: np.ndarray, dt: float) -> float:
    """Return the frequency, Hz, at which the mean amplitude spectrum of traces peaks, smoothed over 2 Hz."""
    level = np.sqrt((traces.astype(np.float64) ** 2).mean(axis=1, keepdims=True))
    data = np.divide(traces, level, out=np.zeros(traces.shape), where=level > 0)
    spectrum = np.sqrt((np.abs(np.fft.rfft(data, axis=1)) ** 2).mean(axis=0))
    f = np.fft.rfftfreq(traces.shape[1], dt)
    width = max(1, round(2.0 / f[1])) if len(f) > 1 else 1
    smooth = np.convolve(spectrum, np.ones(width) / width, "same")
    # below 2 Hz there is drift, not signal
    smooth[f < 2.0] = 0
    return float(f[int(np.argmax(smooth))]) if smooth.any() else 0.0


class _Guess:
    """Survey as the files describe it; a part that cannot be read keeps its default."""

    def __init__(self, paths: list[Path], preset: str, positions: Sequence[str]) -> None:
        from subsalt.io.scan.scan import scan
        from subsalt.io.segy.fix import Fix
        from subsalt.io.segy.geometry import POSITION_NAMES
        from subsalt.io.segy.headers import HeaderBytes
        from subsalt.io.segy.kept_headers import KeptHeaders
        from subsalt.io.segy.reading import read_survey

        header = HeaderBytes.preset(preset)
        headers = KeptHeaders(header, Fix(), POSITION_NAMES)
        self.scan = scan(paths, header, placed=bool(positions), headers=headers)
        self.read: list[str] = []
        self.made_up: list[str] = []
        self.fix: dict[str, object] = {}
        if any(f.code == "W243" for f in self.scan.findings):
            # tried before it is written: the receivers must come to lie where they belong
            turned = scan(paths, header, Fix(z_sign=-1))
            if not any(f.code in ("W242", "W243") for f in turned.findings):
                self.scan, self.fix = turned, {"z_sign": -1}
        fix = Fix(**self.fix)  # type: ignore[arg-type]
        self.findings: list[Finding] = [f for f in self.scan.findings if f.is_fault]
        self.survey: Any = None
        self.peak = 0.0
        self.receivers = "coordinates"
        try:
            try:
                self.survey = read_survey(
                    paths, header, fix, geometry=positions_of(positions), headers=headers
                )
            except GeometryError as error:
                # receivers without coordinates can be placed along the line where offsets and sources are
                # known
                if error.code != "E322" or not self.scan.offsets[1]:
                    raise
                self.survey = read_survey(paths, header, fix, receivers="offset")
                self.receivers = "offset"
            shot = self.survey.shots[len(self.survey.shots) // 2]
            self.peak = dominant_frequency(self.survey.traces(shot), self.survey.time.dt)
        except SubsaltError as error:
            known = {(f.code, f.message) for f in self.findings}
            self.findings += [f for f in findings_of(error) if (f.code, f.message) not in known]

    @property
    def f0(self) -> float:
        """Peak frequency of the data, rounded; 15 Hz when it cannot be told."""
        return float(round(self.peak)) if self.peak >= 3 else 15.0

    def note(self, choices: Choices) -> None:
        """Note where the choices of the job come from, and leave out what its steps settle."""
        if not choices.given:
            (self.read if self.peak >= 3 else self.made_up).append(f"f0 {choices.f0:g} Hz")
        if choices.band is not None:
            self.read.append(f"band-pass to the {choices.band:g} Hz that the grid carries")
        if choices.t0 is not None:
            by = "first breaks" if choices.t0_by == "first breaks" else "peak frequency of the data"
            self.read.append(f"t0 {choices.t0:g} s by the {by}")
        if choices.free_surface:
            self.read.append("free surface by the ghosts of the direct waves")
        if choices.noise == "zeroed":
            self.read.append("a step that zeroes noisy traces")
            self.findings = [f for f in self.findings if f.code != "E246"]

    @property
    def record(self) -> float:
        """Length of the records, s."""
        return float(self.survey.time.duration) if self.survey is not None else 4.0

    @property
    def marine(self) -> bool:
        """Sources and receivers within 60 m below the surface, none above: the top of the model is water."""
        if self.survey is None:
            return False
        low, high = self.survey.bounds
        return bool(low[2] >= 0 and 0 < high[2] <= 60)


def write_job(
    path: Path,
    files: Sequence[str],
    *,
    vp: str | None = None,
    epsilon: str | None = None,
    delta: str | None = None,
    theta: str | None = None,
    phi: str | None = None,
    f0: str | None = None,
    geometry: Sequence[str] = (),
    preset: str = "rev1",
    force: bool = False,
) -> InitResult:
    """Write a job file from what the files say.

    Parameters
    ----------
    path : Path
        Job file to write.
    files : sequence of str
        Shot files or patterns, as seen from the working directory.
    vp, epsilon, delta, theta, phi : str, optional
        A model file, a number or a quantity; without `vp` a velocity that grows with depth is guessed.
    f0 : str, optional
        Peak frequency; measured on the data when left out.
    geometry : sequence of str
        Files of positions (SPS, P1/90, P1/11) or patterns, for traces whose headers have none.
    preset : str
        Header layout.
    force : bool
        Replace an existing file.

    Raises
    ------
    CannotCreateError
        When the file exists and `force` is not given.
    """
    import tomllib

    from subsalt.io.publish import publish_text
    from subsalt.methods.rtm.job import Job

    refuse_existing(path, force)
    folder = path.parent
    guess = _Guess(expand(files), preset, geometry)
    peak = units.parse(f0, "frequency") if f0 is not None else guess.f0
    model = {"vp": vp, "epsilon": epsilon, "delta": delta, "theta": theta, "phi": phi}
    title = heading_of(path, {"title": path.stem})
    mute, note = _mute(guess)
    tables = [
        _data(files, folder, preset, guess, geometry) + _place(model, guess),
        _model(model, folder, guess),
        _grid(vp, peak, guess),
    ]

    def text_with(choices: Choices) -> str:
        parts = [
            title + _signal([*steps_of(choices), *mute], note),
            *tables,
            _source(choices, guess),
            _options(choices),
        ]
        return "\n".join(p for p in parts if p)

    choices = Choices(peak, given=f0 is not None, vp_guessed=vp is None)
    if guess.survey is not None:
        choices = confirmed(choices, lambda c: Job.from_dict(tomllib.loads(text_with(c)), folder))
    text = text_with(choices)
    Job.from_dict(tomllib.loads(text), folder)
    publish_text(path, text)
    guess.note(choices)
    return InitResult(path, text, guess.findings, guess.read, guess.made_up)


def _data(files: Sequence[str], folder: Path, preset: str, guess: _Guess, geometry: Sequence[str]) -> str:
    items = trace_file_items(files, folder)
    scan = guess.scan
    note = f"{scan.n_shots} shots, {scan.n_traces} traces"
    if guess.survey is not None:
        t = guess.survey.time
        note += f", {t.nt} samples of {t.dt * 1e3:g} ms"
    comments = {"files": note}
    guess.read.append(note)
    if guess.fix:
        items["fix"] = guess.fix
        comments["fix"] = "byte 41 holds depths: as elevations they would lie above the surface"
        guess.read.append("z_sign")
    add_header_items(items, comments, preset, geometry, folder)
    if guess.receivers == "offset":
        items["receivers"] = "offset"
        comments["receivers"] = "no receiver coordinates: placed by the offset (byte 37) along the line"
    return toml_out.table("data", items, comments)


def _mute(guess: _Guess) -> tuple[list[str], str]:
    """Return the line of a mute behind the first breaks; or none, and why there is none."""
    if guess.survey is None or guess.survey.reader is None:
        return [], ""
    edge = edge_of(guess.survey)
    if edge.reason:
        return [], f"# No mute of the direct wave: {edge.reason}. By hand:\n"
    where = f"{edge.delay:g} s + x / {edge.velocity:g} m/s, by {edge.clear} of {edge.looked} shots"
    guess.read.append(f"mute behind the first breaks, {where}")
    return [f'  {{ step = "mute", kind = "{FIRST_BREAKS}" }},  # the direct wave: before {where}'], ""


def _signal(steps: list[str], note: str) -> str:
    """Return the steps on the traces, and behind a note the mute that may be added by hand."""
    by_hand = '{ step = "mute", velocity = 1500, delay = 0.2 }'
    if not steps:
        return f"{note}# signal = [{by_hand}]\n" if note else ""
    if note:
        steps = [*steps, f"  {note.rstrip()}", f"  # {by_hand},"]
    return "\n".join(["signal = [  # steps on the traces, in this order", *steps, "]", ""])


def _options(choices: Choices) -> str:
    """Return the further keys; those that were chosen are no comments."""
    if not choices.free_surface:
        return OPTIONS
    return OPTIONS.replace("# [propagation]\n", "[propagation]\n").replace(
        "# free_surface = false            # the sea surface reflects",
        "free_surface = true               # the sea surface reflects: the direct waves have its ghost",
    )


def _place(model: dict[str, str | None], guess: _Guess) -> str:
    """Return the lines of `[data]` on where a 2-D line lies, and what has to be confirmed of its x = 0."""
    line = None if guess.survey is None else guess.survey.notes.get("line")
    if not isinstance(line, dict):
        return _turned(model, guess)
    about = [f"# The line runs {described(line)}."]
    if line["says"] == MAP_X:
        return "\n".join([*about, "# x of the model is map x, since the line runs along it.", ""])
    known, varying = _of_files(model)
    if known is not None:
        return "\n".join(
            [*about, "# The model file contains its position on the map: no frame is needed here.", ""]
        )
    choices = [
        (frame_key(frame), what) for frame, what in frames_along(np.array([line["start"], line["end"]]))
    ]
    if varying:
        guess.findings.append(
            Finding(
                "W343",
                "warning",
                f"the place of x = 0 of {', '.join(varying)} on the line is not known: the line runs {described(line)}",
                "uncomment one of the two frames in [data] of the job, or write your own: "
                + "; or ".join(f"{text} ({what})" for text, what in choices),
            )
        )
        about.append(
            "# The place of the model's x = 0 on this line is not known. Uncomment the frame that is correct:"
        )
    else:
        about += [
            "# The model varies with depth only, so x = 0 is at the end of the line. For a model that varies along x,",
            "# uncomment the frame that has its x = 0 at the correct place, or write your own:",
        ]
    return "\n".join([*about, *(f"# {text}  # {what}" for text, what in choices), ""])


def _turned(model: dict[str, str | None], guess: _Guess) -> str:
    """Return the lines of `[data]` on a 3-D survey whose lines run at an angle to the map."""
    lines = None if guess.survey is None else turned(guess.survey)
    if lines is None:
        return ""
    about = f"# The lines of the survey run {heading(lines.degrees % 360.0)}."
    files = [text for text in model.values() if text is not None and Path(text).exists()]
    if not files:
        guess.read.append(f"azimuth {lines.degrees:g} degrees of the lines")
        return f"{about}\n# The axes of the grid run along them, from this position on the map:\nframe = {lines.key}\n"
    if _of_files(model)[0] is not None:
        return f"{about}\n# The model file contains its position on the map: no frame is needed here.\n"
    guess.findings.append(
        Finding(
            "W398",
            "warning",
            f"the lines of the survey run {heading(lines.degrees % 360.0)}, and the position of {', '.join(files)} on "
            "the map is not known: the model is assumed to have the axes of the map",
            f"if the axes of the model run along the lines: [data] frame = {lines.key}, with the map coordinates of "
            "its own origin",
        )
    )
    return (
        f"{about}\n# Nothing says where on the map the model lies: its axes are taken for those of the map. If they\n"
        "# run along the lines, uncomment the line and give the map coordinates of the model's origin:\n"
        f"# frame = {lines.key}\n"
    )


def _of_files(model: dict[str, str | None]) -> tuple[Frame | None, list[str]]:
    """Return the frame that model files give, and the files that vary along x."""
    from subsalt.io.volumes import volume

    frame, varying = None, []
    for name, text in model.items():
        if text is None or not as_path(text).exists():
            continue
        try:
            opened = volume.open_volume(as_path(text), key=name if text.endswith(".npz") else None)
        except SubsaltError:
            continue  # said where the file is looked at for its values
        frame = frame or (opened.frame if opened.frame != Frame() else None)
        if varies_along_x(Parameter(name, opened.planes, opened.grid)):
            varying.append(text)
    return frame, varying


def _parameter(parameter: str, text: str, folder: Path, guess: _Guess) -> object:
    """Return how a model parameter is written: a number, or a file with the unit its values seem to have."""
    kind = PARAMETERS[parameter]
    if units.split_quantity(text) is not None and not as_path(text).exists():
        return units.parse(text, kind)
    name = relative(text, folder)
    if kind == "fraction":
        return name
    from subsalt.io.volumes import volume

    path = as_path(text)
    try:
        opened = volume.read(path, key=parameter if path.suffix == ".npz" else None)
    except MissingInputError:
        raise  # no job is written with a name that was mistyped
    except SubsaltError as error:
        guess.findings.append(Finding(error.code, "error", error.message, error.fix))
        return name
    if kind == "angle":
        radians = not opened.unit and looks_like_radians(parameter, summarise(opened.values))
        return {"file": name, "unit": "radians"} if radians and parameter == "theta" else name
    middle = float(np.nanmedian(opened.values))
    return {"file": name, "unit": "km/s"} if 0.9 < middle < 15 and not opened.unit else name


def _model(given: dict[str, str | None], folder: Path, guess: _Guess) -> str:
    items: dict[str, object] = {}
    comments: dict[str, str] = {}
    if given["vp"] is None:
        surface = 1500.0 if guess.marine else 1800.0
        deep = depth_of(guess.record, surface)
        items["vp"] = {"z": [0.0, deep], "value": [surface, surface + 0.6 * deep]}
        comments["vp"] = "a guess, 0.6 (m/s)/m: put your velocities here"
        guess.made_up.append("vp")
    for name, text in given.items():
        if text is not None:
            items[name] = _parameter(name, text, folder, guess)
    if isinstance(items.get("theta"), dict):
        comments["theta"] = "the values look like radians: check"
    return toml_out.table("model", items, comments)


def depth_of(record: float, surface: float, gradient: float = 0.6) -> float:
    """Return the depth, m, whose vertical echo arrives at the end of the record when v = surface + gradient
    z.
    """
    depth = surface / gradient * (math.exp(gradient * record / 2) - 1)
    return max(100.0, 100.0 * math.floor(depth / 100))


def _grid(vp: str | None, peak: float, guess: _Guess) -> str:
    """Return the grid table; empty when a model file brings the grid."""
    if vp is not None and (units.split_quantity(vp) is None or as_path(vp).exists()):
        return ""
    slow = units.parse(vp, "velocity") if vp is not None else (1500.0 if guess.marine else 1800.0)
    spacing = round_down(slow / (Stencil.of(PropagationOptions.order).points() * 2.5 * peak))
    depth = depth_of(guess.record, slow) if vp is None else 100.0 * math.ceil(slow * guess.record / 200)
    items = {"spacing": spacing, "depth": depth, "margin": 500.0}
    known = not any(m.startswith("f0") for m in guess.made_up) and guess.survey is not None
    (guess.read if known else guess.made_up).append(
        f"spacing {spacing:g} m and depth {depth:g} m, computed from f0 and record"
    )
    guess.made_up.append("margin 500 m")
    comments = {
        "spacing": f"metres; clean up to {2.5 * peak:g} Hz at {slow:g} m/s",
        "depth": "the vertical echo from there ends the record",
        "margin": "model around the survey",
    }
    return toml_out.table("grid", items, comments)


def _source(choices: Choices, guess: _Guess) -> str:
    """Return the table of the wavelet."""
    items: dict[str, object] = {"f0": choices.f0}
    comments = {"f0": "Ricker wavelet, Hz"}
    if choices.band is not None:
        comments["f0"] += f"; the data peak at {guess.f0:g} Hz, the grid carries {choices.band:g} Hz"
    elif not choices.given:
        comments["f0"] += "; the data peak here" if guess.peak >= 3 else "; made up: the data do not show it"
    if choices.t0 is not None:
        items["t0"] = choices.t0
        by = "first breaks" if choices.t0_by == "first breaks" else "peak frequency of the data"
        comments["t0"] = f"s; when it peaks, by the {by} (1.5 / f0 when left out)"
    elif guess.survey is not None and guess.survey.source_files and not choices.given:
        comments["f0"] += "; it peaks at t0 = 1.5 / f0 unless t0 is given"
    return toml_out.table("source", items, comments)
