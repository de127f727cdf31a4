"""Files of positions written by the published column tables, for the tests of their readers."""

from __future__ import annotations

import numpy as np


def card(*fields, length=80):
    """Return a line of (first column, text) fields."""
    row = [" "] * length
    for first, text in fields:
        row[first - 1 : first - 1 + len(text)] = text
    return "".join(row)


def sps_point(kind, line, point, x, y, z, *, index=1, depth=0.0, static=None, rev=21):
    """Return a point record, S or R: z is the elevation, static in ms."""
    at = {21: (2, 12, 24, 27, 31), 0: (2, 18, 26, 29, 33)}[rev]
    names = (f"{line:10.2f}", f"{point:10.2f}") if rev == 21 else (f"{line:<16}", f"{point:>8}")
    return card(
        (1, kind),
        (at[0], names[0]),
        (at[1], names[1]),
        (at[2], str(index)),
        (at[3], "" if static is None else f"{static:4d}"),
        (at[4], f"{depth:4.1f}"),
        (47, f"{x:9.1f}"),
        (56, f"{y:10.1f}"),
        (66, f"{z:6.1f}"),
        (72, "123101500"),
    )


def sps_relation(record, source, channels, receivers, *, step=1, tape="1", index=1, rcv_index=1, rev=21):
    """Return a relation record: source (line, point), channels (from, to), receivers (line, from, to)."""
    if rev == 21:
        return card(
            (1, "X"),
            (2, f"{tape:>6}"),
            (8, f"{record:8d}11"),
            (18, f"{source[0]:10.2f}{source[1]:10.2f}{index}"),
            (39, f"{channels[0]:5d}{channels[1]:5d}{step}"),
            (50, f"{receivers[0]:10.2f}{receivers[1]:10.2f}{receivers[2]:10.2f}{rcv_index}"),
        )
    return card(
        (1, "X"),
        (2, f"{tape:<6}"),
        (8, f"{record:4d}11"),
        (14, f"{source[0]:<16}{source[1]:>8}{index}"),
        (39, f"{channels[0]:4d}{channels[1]:4d}{step}"),
        (48, f"{receivers[0]:<16}{receivers[1]:>8}{receivers[2]:>8}{rcv_index}"),
    )


def p190_shot(line, point, x, y, *, source="1"):
    """Return a source record of P1/90."""
    return card(
        (1, "S"),
        (2, f"{line:<12}"),
        (17, "1" + source),
        (20, f"{point:6d}"),
        (26, "611000.00N0012000.00E"),
        (47, f"{x:9.1f}{y:9.1f}{95.0:6.1f}"),
        (71, "123101500"),
    )


def p190_groups(groups, streamer="1"):
    """Return receiver group records of P1/90 for (number, x, y, depth), three in a record."""
    out = []
    for k in range(0, len(groups), 3):
        text = "".join(f"{n:4d}{x:9.1f}{y:9.1f}{z:4.1f}" for n, x, y, z in groups[k : k + 3])
        out.append(card((1, "R"), (2, text), (80, streamer)))
    return out


def sps_line(folder, survey, rev=21, name="line"):
    """Write the S, R and X files of a survey whose shots have one spread, channels 1, 2, ...; return their paths."""
    rcv = survey.shots[0].rcv
    lines = {
        "s": [sps_point("S", 7, s.id, *s.src[:2], 0.0, depth=s.src[2], rev=rev) for s in survey.shots],
        "r": [sps_point("R", 8, 100 + 2 * k, *p[:2], -p[2], rev=rev) for k, p in enumerate(rcv)],
        "x": [
            sps_relation(s.id, (7, s.id), (1, len(rcv)), (8, 100, 98 + 2 * len(rcv)), rev=rev)
            for s in survey.shots
        ],
    }
    paths = []
    for kind, text in lines.items():
        paths.append(folder / f"{name}.{kind}")
        paths[-1].write_text("\n".join(["H00 SPS format", *text]) + "\n")
    return paths


class Numbers:
    """What trace headers hold, for joining."""

    def __init__(self, ffid, channel, point=0, line=0, paths=("a.sgy",), file=0):
        n = len(channel)
        self.ffid, self.channel = np.broadcast_to(ffid, n), np.asarray(channel)
        self.source_point, self.source_line = np.broadcast_to(point, n), np.broadcast_to(line, n)
        self.file, self.paths = np.broadcast_to(file, n), list(paths)
