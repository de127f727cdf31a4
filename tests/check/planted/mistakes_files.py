"""Mistakes of files: byte order, format, length, text headers, names; 24 to 30."""

from __future__ import annotations

import numpy as np

from planted.form import ONE, plants
from planted.trace_files import WIDTH, encode

AGAIN = (r"copied|copy|again|repair|complete|write", lambda case: case.restore())
BASES = "line patch time"

# 24

ORDER = r"endian|byte order"


def swapped(rows, width):
    """Return samples with their bytes in the other order."""
    n = len(rows)
    return rows[:, 240:].reshape(n, -1, width)[:, :, ::-1].reshape(n, -1)


@plants(24, "samples the other way round", bases=BASES, where="all one", says=ORDER)
def samples_swapped(case, which):
    def change(f):
        f.rows[:, 240:] = swapped(f.rows, WIDTH[f.layout.code])

    case.edit(change, which)


@plants(24, "IBM samples the other way round", bases="ibm", where="all one", says=ORDER)
def ibm_samples_swapped(case, which):
    samples_swapped(case, which)


@plants(24, "16-bit samples the other way round", bases="short", where="all one", says=ORDER)
def short_samples_swapped(case, which):
    samples_swapped(case, which)


@plants(
    24,
    "traces little-endian, file header big-endian",
    bases="line time",
    where="all one",
    says=ORDER,
    deed=AGAIN,
)
def traces_swapped(case, which):
    def change(f):
        columns = {n: f.get(n) for n in _NAMES}
        little = np.zeros((len(f), 240), np.uint8)
        from planted.trace_files import header_row

        header_row(little, columns, "<", len(f))
        f.rows = np.concatenate([little, swapped(f.rows, 4)], axis=1)

    case.edit(change, which)


_NAMES = [
    "ffid",
    "channel",
    "source_point",
    "trace_id",
    "offset",
    "receiver_elevation",
    "source_depth",
    "elevation_scalar",
    "coordinate_scalar",
    "source_x",
    "source_y",
    "receiver_x",
    "receiver_y",
    "coordinate_units",
    "delay",
    "ns",
    "dt",
]

# 25

FORMAT = r"format"


@plants(25, "IEEE called IBM", bases=BASES, where="all one", says=[FORMAT, "IEEE"])
def ieee_called_ibm(case, which):
    case.edit(lambda f: f.binary(3225, "h", 1), which)


@plants(25, "IBM called IEEE", bases="ibm", where="all one", says=[FORMAT, "IBM"])
def ibm_called_ieee(case, which):
    case.edit(lambda f: f.binary(3225, "h", 5), which)


@plants(25, "IEEE called 32-bit integers", bases="line time", where="all one", says=FORMAT)
def ieee_called_integers(case, which):
    case.edit(lambda f: f.binary(3225, "h", 2), which)


@plants(25, "32-bit integers called IEEE", bases="integers", where="all one", says=FORMAT)
def integers_called_ieee(case, which):
    case.edit(lambda f: f.binary(3225, "h", 5), which)


@plants(25, "IEEE called 16-bit integers", bases="line time", where="all one", says=FORMAT)
def ieee_called_short(case, which):
    case.edit(lambda f: f.binary(3225, "h", 3), which)


@plants(25, "16-bit integers called IEEE", bases="short", where="all one", says=FORMAT)
def short_called_ieee(case, which):
    case.edit(lambda f: f.binary(3225, "h", 5), which)


@plants(25, "0", bases="line time", where="all one", says=FORMAT)
def no_format(case, which):
    case.edit(lambda f: f.binary(3225, "h", 0), which)


@plants(25, "4, with gain", bases="line", where="all one", says=FORMAT)
def format_with_gain(case, which):
    case.edit(lambda f: f.binary(3225, "h", 4), which)


# 26


def cut(case, which, keep):
    """Keep the first bytes of files: ``keep(length)``."""
    for i in which:
        raw = case.files[i].read_bytes()
        case.files[i].write_bytes(raw[: keep(len(raw), case)])


def trace_bytes(case):
    """Bytes of a trace with its header."""
    return 240 + 4 * case.world.time.nt


@plants(
    26, "inside a trace", bases=BASES, where="all one", says="trace|byte|trunc|end", deed=AGAIN, keeps=0.5
)
def truncated_inside(case, which):
    cut(case, which, lambda n, c: 3600 + 60 * trace_bytes(c) + 777)


@plants(
    26,
    "between traces",
    bases="line patch",
    where="one",
    says="missing|fewer|traces|channels",
    deed=AGAIN,
    keeps=0.5,
)
def truncated_between(case, which):
    cut(case, which, lambda n, c: 3600 + 50 * trace_bytes(c))


@plants(
    26, "inside the file header", bases=BASES, where="one", says="bytes|header|short", deed=AGAIN, keeps=0.7
)
def truncated_header(case, which):
    cut(case, which, lambda n, c: 3300)


@plants(
    26,
    "after the file header",
    bases=BASES,
    where="one",
    says="no trace|bytes|one trace",
    deed=AGAIN,
    keeps=0.7,
)
def no_traces(case, which):
    cut(case, which, lambda n, c: 3600)


@plants(26, "empty", bases=BASES, where="all one", says="empty|0 bytes", deed=AGAIN, keeps=0.7)
def empty(case, which):
    cut(case, which, lambda n, c: 0)


@plants(26, "the tail overwritten by zeros", bases=BASES, where="all one", says="zero", deed=AGAIN)
def tail_of_zeros(case, which):
    for i in which:
        raw = bytearray(case.files[i].read_bytes())
        start = 3600 + 60 * trace_bytes(case) + 300
        raw[start:] = bytes(len(raw) - start)
        case.files[i].write_bytes(bytes(raw))


@plants(
    26, "zeros after the last trace", bases=BASES, where="all one", says="zero|trunc|bytes|end", deed=AGAIN
)
def zeros_appended(case, which):
    for i in which:
        case.files[i].write_bytes(case.files[i].read_bytes() + bytes(4096))


# 27

TEXT = r"text"


@plants(27, "one announced, none there", bases=BASES, where="all one", says=TEXT)
def text_too_many(case, which):
    case.edit(lambda f: f.binary(3505, "h", 1), which)


def insert(case, which, n):
    """Put n extended text headers behind the binary header."""
    from planted.trace_files import text_header

    for i in which:
        raw = case.files[i].read_bytes()
        case.files[i].write_bytes(raw[:3600] + n * text_header(("EXTENDED",)) + raw[3600:])


@plants(27, "none announced, one there", bases=BASES, where="all one", says=TEXT)
def text_too_few(case, which):
    insert(case, which, 1)


@plants(27, "one announced, two there", bases="line", where="all one", says=TEXT)
def text_one_short(case, which):
    case.edit(lambda f: f.binary(3505, "h", 1), which)
    insert(case, which, 2)


@plants(27, "an open number, no end", bases="line", where="all one", says=TEXT)
def text_open(case, which):
    case.edit(lambda f: f.binary(3505, "h", -1), which)


# 28

RENAME = r"\.su|\.sgy|SU\b|SEG-Y"


def renamed(case, which, suffix):
    """Give files another suffix."""
    for i in which:
        case.files[i].rename(case.files[i].with_suffix(suffix))
    if any(case.folder.glob("shot_*.sgy")):
        case.job["data"]["files"] = ["shot_*.sgy", f"shot_*{suffix}"] if suffix != ".sgy" else ["shot_*.sgy"]
    else:
        case.job["data"]["files"] = [f"shot_*{suffix}"]


def _name_back(case):
    for p in case.folder.glob("shot_*"):
        if p.suffix in (".su", ".segy", ".sgy"):
            p.unlink()
    case.restore()
    case.job["data"]["files"] = sorted({f"shot_*{p.suffix}" for p in case.files})


@plants(
    28, "SEG-Y named .su", bases=BASES, where="all one", says=["SEG-Y", r"SU\b"], deed=(RENAME, _name_back)
)
def segy_named_su(case, which):
    renamed(case, which, ".su")


@plants(28, "SU named .sgy", bases="su", where="all", says=["SEG-Y", r"SU\b"], deed=(RENAME, _name_back))
def su_named_segy(case, which):
    renamed(case, which, ".sgy")


@plants(28, "SU named .segy", bases="su", where="one", says=["SEG-Y", r"SU\b"], deed=(RENAME, _name_back))
def su_named_segy_one(case, which):
    renamed(case, which, ".segy")
    case.job["data"]["files"] = ["shot_*.su", "shot_*.segy"]


# 29


def shorter(f, n):
    """Cut all traces to n samples."""
    f.rows = f.rows[:, : 240 + 4 * n]
    f.put(ns=n).binary(3221, "H", n)


COUNT = r"samples per trace|number of samples|samples"


@plants(29, "a file of shorter traces", bases=BASES, where="one", says=COUNT, keeps=0.7)
def shorter_file(case, which):
    case.edit(lambda f: shorter(f, case.world.time.nt - 50), which)


@plants(
    29,
    "shorter traces in a file",
    bases=BASES,
    where="one",
    says=r"(samples|length)[^|]*(var|differ|mix|other)|different lengths|samples per trace",
    deed=(r"copied|copy|again|repair|write|split|one length", lambda case: case.restore()),
)
def shorter_traces(case, which):
    for i in which:
        f = case.trace_file(i)
        nt = case.world.time.nt
        f.put(ns=np.where(np.arange(len(f)) >= 60, nt - 50, nt))
        rows = [r if k < 60 else r[: 240 + 4 * (nt - 50)] for k, r in enumerate(f.rows)]
        f.path.write_bytes(f.file_head.tobytes() + b"".join(r.tobytes() for r in rows))


@plants(29, "trace headers say fewer", bases="line time", where="all one", says=COUNT)
def fewer_said(case, which):
    case.edit(lambda f: f.put(ns=case.world.time.nt - 30), which)


@plants(29, "binary header says fewer", bases="line time", where="all one", says=COUNT)
def fewer_said_in_binary(case, which):
    case.edit(lambda f: f.binary(3221, "H", case.world.time.nt - 30), which)


# 30

RECORD = r"record|byte 9|ffid|shot_key"


@plants(30, "all one", bases="line patch", where="all", says=RECORD)
def records_one(case, which):
    case.edit(lambda f: f.put(ffid=1), which)


# records that all have number 0 have none: shots are then told by the places of their sources


@plants(
    30,
    "that of the shot before",
    bases="line patch time",
    where="one",
    says=RECORD,
    place=(*ONE, r"\b105\b"),
    # a time image does not need the number: nothing but the file can be mended
    deed=(r"correct byte 9", lambda c: c.restore()),
)
def record_repeated(case, which):
    case.edit(lambda f: f.put(ffid=105), which)


@plants(30, "beginning anew after four", bases="line patch", where="all", says=RECORD)
def records_anew(case, which):
    case.edit(lambda f: f.put(ffid=101 + (f.get("ffid") - 101) % 4), which)


@plants(
    30,
    "all one, positions by table",
    bases="tables",
    where="all",
    says=RECORD,
    deed=(r"byte 9|record|ffid", lambda c: c.restore()),
)
def records_one_by_table(case, which):
    case.edit(lambda f: f.put(ffid=101), which)


@plants(
    30,
    "that of the shot before, positions by table",
    bases="tables",
    where="one",
    says=RECORD,
    place=(*ONE, r"\b105\b"),
    deed=(r"byte 9|record|ffid", lambda c: c.restore()),
)
def record_repeated_by_table(case, which):
    case.edit(lambda f: f.put(ffid=105), which)


__all__ = ["encode"]
