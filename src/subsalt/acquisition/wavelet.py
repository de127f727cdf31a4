"""Source wavelets: Ricker, Ormsby, or samples from an array or a file; the peak time and band of each.

Time zero is the moment the source is said to fire: the zero of the recorded time axis. A wavelet may start
before it (`t0` negative); a causal one peaks at `peak_time` after it.

A wavelet should have zero mean. Its zero-frequency part does not travel: it stays as a static load where it
was injected, and drifts where epsilon = delta (physics page, section 4.4). `Wavelet.mean_ratio` says how far
a wavelet is from that.

Files of wavelets hold a column of values, or two of time and value, as text or ``.npy``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.errors import ConfigError, DataError, MissingInputError
from subsalt.numerics import fixedmath

#: larger files are no wavelets
MAX_FILE_BYTES = 16 * 2**20


def read_columns(file: Path) -> tuple[NDArray[np.float64], float | None, float]:
    """Return the values (nt,) of a wavelet file, the step of its time column (None without one) and its first
    time, s.

    Raises
    ------
    MissingInputError
        When there is no such file.
    DataError
        When it does not hold one column of numbers, or two with regular times in seconds.
    """
    table = _read_table(file)
    if table.ndim == 2 and table.shape[1] == 1:
        table = table[:, 0]
    if table.ndim == 1 and table.size >= 2:
        return table, None, 0.0
    if table.ndim != 2 or table.shape[1] != 2 or len(table) < 2:
        raise DataError(
            f"{file} has shape {table.shape}",
            "give one column of values, or two of time and value",
            code="E252",
        )
    step, t0 = _regular_step(table[:, 0], file)
    return table[:, 1], step, t0


def _read_table(file: Path) -> NDArray[np.float64]:
    if not file.exists():
        raise MissingInputError(f"wavelet file {file} does not exist", "correct [source] file", code="E116")
    if not file.is_file():
        raise DataError(f"wavelet file {file} is not a file", "name a text or .npy file", code="E251")
    if file.stat().st_size > MAX_FILE_BYTES:
        raise DataError(
            f"wavelet file {file} has {file.stat().st_size} bytes",
            "give the wavelet alone, as text or .npy",
            code="E251",
        )
    try:
        if file.suffix == ".npy":
            # mapped: a header that claims more than the file holds is refused before any memory is taken
            return np.array(np.load(file, mmap_mode="r", allow_pickle=False), dtype=np.float64)
        rows = (
            line.split("#")[0].replace(",", " ").split() for line in file.read_text("utf-8-sig").splitlines()
        )
        return np.array([[float(v) for v in row] for row in rows if row], dtype=np.float64)
    except (ValueError, TypeError, EOFError) as error:
        raise DataError(
            f"wavelet file {file} cannot be read as numbers: {error}",
            "give one column of values, or two of time in seconds and value, as text or .npy",
            code="E251",
        ) from error


def _regular_step(t: NDArray[np.float64], file: Path) -> tuple[float, float]:
    """Return step and start of a time column that must be regular and in seconds."""
    step = float((t[-1] - t[0]) / (len(t) - 1))
    worst = float(np.abs(t - (t[0] + step * np.arange(len(t)))).max())
    # times printed with few digits are still regular: allow a fiftieth of a step
    if not (step > 0 and worst <= 0.02 * step):
        raise DataError(
            f"{file}: its time column is not regular (step {step:g} s, deviation {worst:g} s)",
            "resample the wavelet to a regular step",
            code="E253",
        )
    if step >= 0.1:
        raise DataError(
            f"{file}: its times step by {step:g} s", "give times in seconds, not milliseconds", code="E253"
        )
    return step, float(t[0])


#: amplitude, relative to the largest of the spectrum, that ends the band: a Ricker wavelet has 3.3 % at 2.5
#: f0
BAND_LEVEL = 0.03

MAX_SAMPLES = 100_000


@dataclass(frozen=True, eq=False)
class Wavelet:
    """A source time function.

    Parameters
    ----------
    samples : ndarray, (nt,), float64
        Values, in source units.
    dt : float
        Sampling interval, s.
    t0 : float
        Time of sample 0, s.
    name : str
        Name for reports.
    f0 : float
        Dominant frequency, Hz.
    fmax : float
        Frequency above which it is taken to have nothing, Hz.
    peak_time : float, optional
        Time of the largest absolute value, s; found from the samples when left out.
    """

    samples: NDArray[np.float64]
    dt: float
    t0: float
    name: str
    f0: float
    fmax: float
    peak_time: float = math.nan

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", _checked(self.samples, self.name))
        if not (self.dt > 0 and math.isfinite(self.dt) and math.isfinite(self.t0)):
            raise ConfigError(
                f"wavelet {self.name}: dt = {self.dt} s, t0 = {self.t0} s", "give a positive dt in seconds"
            )
        if not 0 < self.f0 <= self.fmax:
            raise ConfigError(
                f"wavelet {self.name}: f0 = {self.f0:g} Hz, fmax = {self.fmax:g} Hz",
                "use 0 < f0 <= fmax",
                code="E160",
            )
        if math.isnan(self.peak_time):
            object.__setattr__(self, "peak_time", _peak_time(self.samples, self.dt, self.t0))

    @property
    def nt(self) -> int:
        """Number of samples."""
        return len(self.samples)

    @property
    def duration(self) -> float:
        """Time of the last sample, s."""
        return self.t0 + (self.nt - 1) * self.dt

    def times(self) -> NDArray[np.float64]:
        """Return the sample times, s."""
        return self.t0 + self.dt * np.arange(self.nt, dtype=np.float64)

    @property
    def mean_ratio(self) -> float:
        """Absolute sum over the sum of absolute values: 0 for a zero-mean wavelet, at most 1."""
        return abs(fixedmath.total(self.samples)) / fixedmath.total(np.abs(self.samples))

    def band_end(self, left_out: float) -> float | None:
        """Return the frequency, Hz, above which no more than a part of the wavelet lies; None when there is none.

        Parameters
        ----------
        left_out : float
            The part, relative L2 of the samples.
        """
        spectrum = np.abs(np.fft.rfft(self.samples, 4 * self.nt)) ** 2
        above = np.cumsum(spectrum[::-1])[::-1]
        few = np.flatnonzero(above <= left_out**2 * above[0])
        return float(few[0]) / (4 * self.nt * self.dt) if len(few) else None

    def scaled(self, factor: float) -> Wavelet:
        """Return the wavelet with its samples multiplied by `factor`."""
        return replace(self, samples=self.samples * factor)


def ricker(f0: float, dt: float, nt: int | None = None, delay: float | None = None) -> Wavelet:
    """Return a Ricker wavelet of unit peak.

    Parameters
    ----------
    f0 : float
        Peak frequency, Hz.
    dt : float
        Sampling interval, s.
    nt : int, optional
        Samples; as many as reach 1.5 / f0 beyond the peak when left out.
    delay : float, optional
        Time of the peak, s; 1.5 / f0 when left out. With a smaller one (0: zero phase) the wavelet starts
        before time zero.

    Notes
    -----
    ``w(t) = (1 - 2a) exp(-a)``, ``a = (pi f0 (t - delay))^2``; taken as band-limited at 2.5 f0. It starts with
    1e-8 of its peak.
    """
    _check_band((f0,), dt, f"ricker f0 = {f0:g} Hz")
    peak = 1.5 / f0 if delay is None else float(delay)
    t0, n = _span(nt, peak, max(1.5 / f0, peak), dt)
    t = (t0 - peak) + dt * np.arange(n)
    a = (fixedmath.PI * f0 * t) * (fixedmath.PI * f0 * t)
    return Wavelet((1.0 - 2.0 * a) * fixedmath.exp(-a), dt, t0, f"ricker {f0:g} Hz", f0, 2.5 * f0, peak)


def ormsby(
    f1: float, f2: float, f3: float, f4: float, dt: float, nt: int | None = None, delay: float | None = None
) -> Wavelet:
    """Return a zero-phase Ormsby wavelet of unit peak: a trapezium in frequency.

    Parameters
    ----------
    f1, f2, f3, f4 : float
        Corner frequencies, Hz: the amplitude rises from f1 to f2, is flat to f3, and falls to zero at f4.
    dt : float
        Sampling interval, s.
    nt : int, optional
        Samples; as many as reach 3 / (narrower slope) beyond the peak when left out.
    delay : float, optional
        Time of the peak, s; 3 / (narrower slope) when left out. With a smaller one (0: zero phase) the wavelet
        starts before time zero.

    Notes
    -----
    ``w(t) = sum of +- pi f^2 sinc(f t)^2 / slope width`` over the corners, times a taper that is flat for half
    the reach of 3 / (narrower slope) and falls as a cosine to zero at its end.
    """
    _check_band((f1, f2, f3, f4), dt, f"ormsby {f1:g}-{f2:g}-{f3:g}-{f4:g} Hz")
    reach = 3.0 / min(f2 - f1, f4 - f3)
    peak = reach if delay is None else float(delay)
    reach = max(reach, peak)  # a later peak leaves room for a longer, cleaner wavelet
    t0, n = _span(nt, peak, reach, dt)
    t = (t0 - peak) + dt * np.arange(n)

    def corner(f: float) -> NDArray[np.float64]:
        s = fixedmath.sinc(f * t)
        return f * f * s * s

    w = (corner(f4) - corner(f3)) / (f4 - f3) - (corner(f2) - corner(f1)) / (f2 - f1)
    w = w / (f4 + f3 - f2 - f1)
    outer = np.clip((np.abs(t) - 0.5 * reach) / (0.5 * reach), 0.0, 1.0)
    w = w * (0.5 + 0.5 * fixedmath.cos(fixedmath.PI * outer))
    return Wavelet(w, dt, t0, f"ormsby {f1:g}-{f2:g}-{f3:g}-{f4:g} Hz", 0.5 * (f2 + f3), f4, peak)


def from_samples(
    samples: ArrayLike,
    dt: float,
    t0: float = 0.0,
    *,
    name: str = "samples",
    f0: float | None = None,
    fmax: float | None = None,
) -> Wavelet:
    """Return a wavelet of given samples; its band is measured from its spectrum unless given.

    Parameters
    ----------
    samples : array_like, (nt,)
        Values.
    dt, t0 : float
        Sampling interval and time of sample 0, s.
    name : str
        Name for reports.
    f0, fmax : float, optional
        Dominant and highest frequency, Hz: the peak of the amplitude spectrum, and where it falls below 3 %
        of that.
    """
    values = _checked(np.asarray(samples, dtype=np.float64), name)
    if not (dt > 0 and math.isfinite(dt)):
        raise ConfigError(f"wavelet {name}: dt = {dt} s", "give a positive dt in seconds", code="E160")
    dominant, highest = band(values, dt)
    top = highest if fmax is None else fmax
    return Wavelet(values, dt, t0, name, min(dominant, top) if f0 is None else f0, top)


def from_file(path: str | Path, dt: float | None = None, nt: int | None = None) -> Wavelet:
    """Read a wavelet from a text file or an ``.npy`` file.

    Parameters
    ----------
    path : str or Path
        Text: one column of values, or two of time in seconds and value (``#`` starts a comment; blanks or
        commas between). ``.npy``: an array (nt,) of values, or (nt, 2) of times and values.
    dt : float, optional
        Sampling interval, s; needed for one column, and compared with the times of two.
    nt : int, optional
        Number of samples to keep; all when left out.

    Raises
    ------
    MissingInputError
        When there is no such file.
    DataError
        When it does not hold a wavelet.
    """
    values, step, t0 = read_columns(Path(path))
    if step is not None and dt is not None and abs(step - dt) > 1e-4 * dt:
        raise DataError(
            f"{path}: its time column steps by {step:g} s, the job says dt = {dt:g} s",
            "leave dt out, or correct the file",
            code="E254",
        )
    if step is None and dt is None:
        raise ConfigError(
            f"{path} has one column and the wavelet no dt",
            "give the sampling interval of the wavelet in seconds, or a time column",
            code="E161",
        )
    return from_samples(values[:nt], dt or step or 0.0, t0, name=Path(path).name)


def band(samples: NDArray[np.float64], dt: float) -> tuple[float, float]:
    """Return the frequency of the largest amplitude and the highest one above 3 % of it, Hz.

    The spectrum is evaluated at up to 1000 frequencies below Nyquist in fixed order, because the highest
    frequency decides the image step and so the image.
    """
    n = len(samples)
    nf = min(1000, 2 * n)
    f = np.arange(1, nf + 1) / (2.0 * dt * nf)
    # times from the largest sample on, wrapped angles: long quiet files then lose no accuracy
    t = dt * (np.arange(n) - int(np.argmax(np.abs(samples))))
    amplitude = np.empty(nf)
    for k in range(nf):
        angle = (2.0 * fixedmath.PI * f[k]) * t
        c, s = fixedmath.dot(samples, fixedmath.cos(angle)), fixedmath.dot(samples, fixedmath.sin(angle))
        amplitude[k] = c * c + s * s
    above = np.nonzero(amplitude >= BAND_LEVEL**2 * amplitude.max())[0]
    return float(f[int(np.argmax(amplitude))]), float(f[int(above[-1])])


def _checked(samples: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    a = np.array(samples, dtype=np.float64, copy=True)
    if a.ndim != 1 or not 2 <= a.size <= MAX_SAMPLES:
        raise DataError(
            f"wavelet {name} has shape {a.shape}",
            f"give 2 to {MAX_SAMPLES} samples in one dimension",
            code="E252",
        )
    if not np.isfinite(a).all():
        i = int(np.nonzero(~np.isfinite(a))[0][0])
        raise DataError(f"wavelet {name}: sample {i} is {a[i]}", "replace what is not finite", code="E255")
    if not a.any():
        raise DataError(f"wavelet {name} is zero everywhere", "give a wavelet with some energy", code="E256")
    a.setflags(write=False)
    return a


def _check_band(corners: tuple[float, ...], dt: float, what: str) -> None:
    rising = all(a < b for a, b in itertools.pairwise(corners))
    if not (rising and corners[0] > 0 and math.isfinite(corners[-1])):
        raise ConfigError(
            f"{what}: frequencies must be positive and rise", "use for example 2-6-40-60 Hz", code="E160"
        )
    if not (dt > 0 and math.isfinite(dt)):
        raise ConfigError(f"{what}: dt = {dt} s", "give a positive dt in seconds", code="E160")
    if corners[-1] >= 0.5 / dt:
        raise ConfigError(
            f"{what}: Nyquist is {0.5 / dt:g} Hz at dt = {dt * 1e3:g} ms",
            "use a smaller dt or frequency",
            code="E162",
        )


def _span(nt: int | None, peak: float, reach: float, dt: float) -> tuple[float, int]:
    """Return the time of the first sample and the number of samples of a wavelet of `reach` around its peak."""
    if not math.isfinite(peak):
        raise ConfigError(f"wavelet delay = {peak} s", "use a time in seconds, 0 for zero phase", code="E160")
    t0 = min(0.0, dt * math.floor((peak - reach) / dt + 1e-9))
    n = math.ceil((peak + reach - t0) / dt - 1e-9) + 1 if nt is None else int(nt)
    if not 2 <= n <= MAX_SAMPLES:
        late = abs(peak) > 2
        raise ConfigError(
            f"a wavelet of {n} samples every {dt:.4g} s, whose peak comes at {peak:.4g} s",
            f'if that time is in milliseconds: [source] t0 = "{peak:g} ms"; a wavelet has 2 to {MAX_SAMPLES} samples'
            if late
            else f"use 2 to {MAX_SAMPLES} samples",
            code="E160",
        )
    return t0, n


def _peak_time(samples: NDArray[np.float64], dt: float, t0: float) -> float:
    """Return the time of the largest absolute value, by the parabola through it and its neighbours."""
    a = np.abs(samples)
    i = int(np.argmax(a))
    shift = 0.0
    if 0 < i < len(a) - 1:
        curvature = a[i - 1] - 2.0 * a[i] + a[i + 1]
        shift = 0.5 * float((a[i - 1] - a[i + 1]) / curvature) if curvature < 0 else 0.0
    return t0 + (i + shift) * dt
