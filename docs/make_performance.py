"""Write docs/notes/performance-tables.md from the results in docs/performance; with --check, only compare.

A result is a JSON file: what `make bench-peers PUBLISH=1` and `make bench-founding PUBLISH=1` write, or the last
line of `subsalt lab kernels --json` without its `machine_file`, a path of the machine. Everything between the two
marks of the page is made here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "notes" / "performance-tables.md"
RESULTS = Path(__file__).with_name("performance")
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"

Result = Mapping[str, Any]


def results(folder: Path = RESULTS) -> list[Result]:
    """Return all results, by file name."""
    return [json.loads(p.read_text(encoding="utf-8")) for p in sorted(folder.glob("*.json"))]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def made_on(result: Result) -> str:
    """Return the line that says on what a table was made."""
    m = result["machine"]
    # results against peers name the version of every side
    version = result.get("version") or m.get("subsalt")
    said = f", version {version}" if version and "row" not in result else ""
    where = f"{m['cpu']}, {m['cores']} cores, {m['ram_gib']:g} GiB, {m['threads']} threads, gcc {m['gcc']}"
    return f"{where}{said}, {m['date']}"


def shape(numbers: Sequence[int]) -> str:
    """Return a grid's shape in words."""
    same = len(set(numbers)) == 1
    return f"{numbers[0]}^{len(numbers)}" if same else " x ".join(map(str, numbers))


def peers(found: Sequence[Result]) -> str:
    """Return the tables of the runs against peers: the ratios that count, then every side."""
    parts = []
    for words, group in groupby(sorted(found, key=made_on), key=made_on):
        mine = list(group)
        head = (
            "case",
            "interior",
            "version",
            "ours",
            "fastest tried of the peer",
            "ratio",
            "range",
            "spread",
            "difference",
            "ours otherwise",
        )
        parts.append(
            f"{words}; `{' '.join(['make bench-peers CASES=' + chr(34) + names(mine) + chr(34)])}`\n\n"
            + markdown(head, map(counted, mine))
        )
        columns = ("case, side", "ms per step", "10^9 point-steps/s", "of the interior", "peak GB", "ratio")
        parts.append(markdown(columns, [line for r in mine for line in every_side(r)]))
    return "\n\n".join(parts)


def names(found: Sequence[Result]) -> str:
    """Return the cases of a group of results, as the command takes them."""
    return " ".join(r["case"] for r in found)


def counted(result: Result) -> list[str]:
    """Return the row of the ratio that counts."""
    row = result["row"]
    ratio = row["ratios"][row["ours"]]
    return [
        result["case"],
        shape(row["interior"]),
        row["about"][row["ours"]].get("version", ""),
        row["ours"],
        full_name(row, row["peer"]),
        f"**{ratio['ratio']:.2f}**",
        f"{ratio['min']:.2f} to {ratio['max']:.2f}",
        f"{100 * ratio['spread']:.0f} %",
        agreement(row),
        "; ".join(f"{name}: {q['ratio']:.2f}" for name, q in row["ratios"].items() if name != row["ours"]),
    ]


def agreement(row: Mapping[str, Any]) -> str:
    """Return the relative L2 difference between ours and the side that counts."""
    values = [v for name, v in row["relative_l2"].items() if name.rsplit(", ", 1)[0] == row["peer"]]
    return f"{max(values):.0e}"


def full_name(row: Mapping[str, Any], side: str) -> str:
    """Return the side's name with its maker's in front."""
    maker = row["about"][side]["peer"]
    return side if side.startswith(maker) else f"{maker}, {side}"


def every_side(result: Result) -> list[list[str]]:
    """Return a row per side of a case."""
    row, out = result["row"], []
    for side, seconds in row["seconds"].items():
        ratio = row["ratios"].get(side, row["against"].get(side))
        points = row["about"][side].get("points")
        rate = f"{points * row['steps'] / seconds / 1e9:.3f}" if points else ""
        out.append(
            [
                f"{result['case']}: {full_name(row, side)}",
                f"{1e3 * seconds / row['steps']:.3g}",
                rate,
                f"{row['interior_gpts'][side]:.3f}",
                f"{row['memory'][side]['peak'] / 1e9:.2f}",
                f"{ratio['ratio']:.2f}",
            ]
        )
    return out


def inversions(found: Sequence[Result]) -> str:
    """Return the tables of least-squares migrations against peers: what each side reaches, and in which time."""
    head = ("side", "misfit", "gradients", "s", "its time over ours", "range", "data", "peak GB")
    parts = []
    for result in found:
        row = result["row"]
        rows = []
        for side, seconds in row["seconds"].items():
            ratio, end = row["against"].get(side), row["reached"][side]
            rows.append(
                [
                    full_name(row, side),
                    f"{end['misfit']:.4f}",
                    str(end["gradients"]),
                    f"{seconds:.2f}",
                    f"{ratio['ratio']:.2f}" if ratio else "",
                    f"{ratio['min']:.2f} to {ratio['max']:.2f}" if ratio else "",
                    f"{row['relative_l2'][f'{side}, data']:.1e}",
                    f"{row['memory'][side]['peak'] / 1e9:.2f}",
                ]
            )
        parts.append(f"{made_on(result)}; `{result['command']}`\n\n" + markdown(head, rows))
    return "\n\n".join(parts)


def accuracy(found: Sequence[Result]) -> str:
    """Return the tables of the time to a waveform: the ratios that count, every side, and what is predicted."""
    parts = []
    for result in found:
        media = result["media"]
        head = (
            "medium",
            "ours",
            "fastest of the peer",
            "ratio",
            "range",
            "memory",
            "ours otherwise: ratio, memory",
        )
        rows = [accuracy_row(medium, row) for medium, row in media.items()]
        parts.append(f"{made_on(result)}; `{result['command']}`\n\n" + markdown(head, rows))
        sides = (
            "medium, side",
            "points",
            "grid",
            "10^9 point-steps",
            "error",
            "worst record",
            "s",
            "spread",
            "peak GB",
        )
        parts.append(
            markdown(
                sides,
                [
                    accuracy_side(f"{medium}: {name}", side, name in row["one_round"])
                    for medium, row in media.items()
                    for name, side in row["sides"].items()
                ],
            )
        )
        foreseen = ("medium, order", "points", "every record right", "work", "time dispersion left", "work")
        parts.append(
            markdown(
                foreseen,
                [
                    [
                        f"{medium}: {p['order']}",
                        f"{p['points']:.2f}",
                        f"{p['points_every_record']:.2f}",
                        f"{p['work_every_record']:.2f}",
                        f"{p['points_uncorrected']:.2f}, dt {p['part_of_stable_step']:g} of the stable",
                        f"{p['work_uncorrected']:.1f}",
                    ]
                    for medium, row in media.items()
                    for p in row["predicted"]
                ],
            )
        )
    return "\n\n".join(parts)


def accuracy_row(medium: str, row: Mapping[str, Any]) -> list[str]:
    """Return the row of the ratio that counts."""
    counted, memory = row["ratios"][row["ours"]], row["memory_ratios"]
    others = [
        f"{name}: {q['ratio']:.2f}, {memory[name]:.2f}" + ", misses the accuracy" * (name in row["missed"])
        for name, q in row["ratios"].items()
        if name != row["ours"]
    ]
    spread = f"{counted['min']:.2f} to {counted['max']:.2f}"
    count = f"**{counted['ratio']:.2f}**"
    return [medium, row["ours"], row["peer"], count, spread, f"{memory[row['ours']]:.2f}", "; ".join(others)]


def accuracy_side(name: str, side: Mapping[str, Any], once: bool) -> list[str]:
    """Return the row of a side."""
    return [
        name,
        f"{side['points']:.2f}",
        shape(side["shape"]),
        f"{side['point_steps'] / 1e9:.2f}",
        f"{100 * side['error']:.2f} %",
        f"{100 * side['worst_record']:.2f} %",
        f"{side['seconds']:.2f}",
        "one round" if once else f"{100 * side['spread']:.0f} %",
        f"{side['peak_bytes'] / 1e9:.2f}",
    ]


def rock(found: Sequence[Result]) -> str:
    """Return the tables of a shot in rock whose velocity grows with depth: a row per side."""
    parts = []
    head = (
        "medium, side",
        "points",
        "layer",
        "10^9 point-steps",
        "error",
        "worst record",
        "s",
        "spread",
        "peak GB",
        "the peer's seconds over these",
    )
    for result in found:
        rows = [
            [
                f"{medium}: {name}",
                f"{side['points']:.2f}",
                f"{side['layer']}",
                f"{side['point_steps'] / 1e9:.2f}",
                percent(side["error"]),
                percent(side["worst_record"]),
                f"{side['seconds']:.2f}",
                f"{100 * side['spread']:.0f} %",
                f"{side['peak_bytes'] / 1e9:.2f}",
                ranged(row["ratios"][name]) if name in row["ratios"] else "",
            ]
            for medium, row in result["media"].items()
            for name, side in row["sides"].items()
        ]
        parts.append(f"{made_on(result)}; `{result['command']}`\n\n" + markdown(head, rows))
    return "\n\n".join(parts)


def percent(part: float | None) -> str:
    """Return a part in percent; a dash for what was not measured."""
    return "-" if part is None else f"{100 * part:.2f} %"


def ranged(ratio: Mapping[str, float]) -> str:
    """Return a ratio with its range."""
    return f"**{ratio['ratio']:.2f}**, {ratio['min']:.2f} to {ratio['max']:.2f}"


def settings(found: Sequence[Result]) -> str:
    """Return the tables of jobs with one value of a setting and with another, by setting."""
    parts = []
    for setting, group in groupby(sorted(found, key=lambda r: r["setting"]), key=lambda r: r["setting"]):
        mine = list(group)
        head = (
            f"job, `{setting}`",
            "command, s",
            "spread",
            "steps, s",
            "10^9 point-steps",
            "snapshots, GB",
            "peak GB",
        )
        head += ("over the first: command", "steps", "point-steps", "snapshots", "memory")
        rows = [line for r in mine for line in setting_rows(r)]
        lines = dict.fromkeys(f"{made_on(r)}; `{r['command']}`{disturbed(r)}" for r in mine)
        parts.append("; ".join(lines) + "\n\n" + markdown(head, rows))
    return "\n\n".join(parts)


def setting_rows(result: Result) -> list[list[str]]:
    """Return a row per value of a setting."""
    counted = ("seconds", "steps_seconds", "grid_point_steps", "snapshot_bytes", "peak_memory_bytes")
    out = []
    for value, row in result["values"].items():
        ratios = result["ratios"].get(value, {})
        out.append(
            [
                f"{result['case']}: {value}",
                f"{row['seconds']:.1f}",
                f"{100 * row['spread']:.0f} %",
                f"{row['steps_seconds']:.1f}",
                f"{row['grid_point_steps'] / 1e9:.2f}",
                f"{row['snapshot_bytes'] / 1e9:.2f}",
                f"{row['peak_memory_bytes'] / 1e9:.2f}",
                *(f"{ratios[key]:.2f}" if key in ratios else "" for key in counted),
            ]
        )
    return out


def founding(found: Sequence[Result]) -> str:
    """Return the tables of the reverse time migration that a study of 2009 timed."""
    parts = []
    for result in found:
        head = (
            "order, layer, model",
            "s per step",
            "spread",
            "10^9 point-steps/s",
            "800 samples, s",
            "planned GB",
            "measured GB",
        )
        rows = [
            [
                f"{r['order']}, {r['boundary']}, {r['storage']}",
                f"{r['step_seconds']:.3f}",
                f"{100 * r['spread']:.1f} %",
                f"{r['gpts']:.3f}",
                f"{r['kernel_seconds']:.0f}",
                f"{r['memory']['planned'] / 1e9:.2f}",
                f"{r['memory']['measured'] / 1e9:.2f}",
            ]
            for r in result["rows"]
        ]
        document = result["document"]
        parts.append(
            f"{made_on(result)}; `{result['command']}`; {shape(result['shape'])} points. The study of 2009: "
            f"{document['kernel_seconds']:g} s and {document['gb']:g} GB on 8 cores.\n\n"
            + markdown(head, rows)
        )
    return "\n\n".join(parts)


def lab(found: Sequence[Result]) -> str:
    """Return the tables of `subsalt lab kernels`: one per medium, order, instruction set and threads."""
    parts = []
    keys = ("medium", "order", "isa", "threads", "n", "model_storage")
    for result in found:
        m = result["machine"]
        parts.append(
            f"{m['cpu']}, {m['cores']} cores, {m['ram_bytes'] / 2**30:.0f} GiB, {result['date'][:10]}; "
            f"`{result.get('command', 'subsalt lab kernels')}`"
            + ("; the machine was not idle" if result["load"].get("noisy") else "")
        )
        for identity, group in groupby(result["rows"], key=lambda r: tuple(r[k] for k in keys)):
            mine = list(group)
            medium, order, isa, threads, n, storage = identity
            roof = next((r["roof_gb_s"] for r in mine if "roof_gb_s" in r), None)
            title = f"{medium}, order {order}, {n}^3, {isa}, {threads} threads, models {storage}"
            head = ("case", "10^9 point-steps/s", "spread", "x plain loop", "of the roof", "core steps")
            at = f"; roof at {roof:.1f} GB/s" if roof else ""
            parts.append(f"{title}{at}\n\n" + markdown(head, [lab_row(r) for r in mine if "core_steps" in r]))
    return "\n\n".join(parts)


def lab_row(r: Mapping[str, Any]) -> list[str]:
    """Return a row of a kernel; what a case does not have stays empty."""

    def number(key: str, form: str, factor: float = 1.0) -> str:
        return format(r[key] * factor, form) if key in r else ""

    return [
        r["case"],
        number("points_per_s", ".3f", 1e-9),
        number("spread", ".1f", 100) + " %",
        number("x_plain", ".2f"),
        number("of_roof", ".0f", 100) + (" %" if "of_roof" in r else ""),
        number("core_steps", ".3f"),
    ]


def founding_job(found: Sequence[Result]) -> str:
    """Return the phases of the small case of that study as a job, and those published."""
    parts = []
    for r in found:
        then, peak = r["document"], r["peak_memory_bytes"]
        rows = [
            [name, f"{here:.1f}", f"{then[name]:.1f}" if name in then else "", ratio(then.get(name), here)]
            for name, here in r["seconds"].items()
        ]
        if r.get("process_seconds"):
            rows.append(["process, with start and check", f"{r['process_seconds']:.1f}", "", ""])
        case = (
            f"{shape(r['shape'])} points, {r['samples']} steps, order {r['order']}, models {r['storage']}, "
        )
        case += "the whole grid computed" if r.get("whole_grid") else "what no wave has reached left out"
        memory = f"Peak memory {peak / 1e9:.2f} GB"
        memory += f" (2009: {then['memory_bytes'] / 1e9:g} GB)." if "memory_bytes" in then else "."
        parts.append(
            f"{made_on(r)}; `{r['command']}`; {case}. {memory}\n\n"
            + markdown(("phase", "s", "2009, 8 cores, s", "2009 over this"), rows)
        )
    return "\n\n".join(parts)


def founding_kirchhoff(found: Sequence[Result]) -> str:
    """Return the time migration of that study, here and as published: seconds, memory, rates, amplitudes."""
    parts = []
    head = (
        "case",
        "ranks x threads",
        "traces",
        "s",
        "2009, 8 cores, s",
        "2009 over this",
        "peak GB",
        "contributions",
        "of the bound",
        "G/s, sum",
        "G/s, all",
        "amplitudes within",
    )
    for result in found:
        rows = []
        for r in result["rows"]:
            worst = max(a["error"] for a in r["amplitudes"])
            rows.append(
                [
                    r["case"],
                    f"{result['ranks']} x {result['threads']}",
                    f"{r['traces']}",
                    f"{r['seconds']:.1f}",
                    f"{r['document_seconds']:g}",
                    f"{r['document_seconds'] / r['seconds']:.2f}",
                    f"{r['peak_gb']:.2f}",
                    f"{r['contributions']:.3g}",
                    f"{100 * r['fraction']:.0f} %",
                    f"{r['gcontrib_per_s']:.2f}",
                    f"{r['gcontrib_per_s_whole']:.2f}",
                    f"{100 * worst:.2f} %",
                ]
            )
        large = result.get("large_over_small")
        more = "" if large is None else f" The large set takes {large:.2f} times the small."
        parts.append(f"{made_on(result)}; `{result['command']}`.{more}\n\n" + markdown(head, rows))
    return "\n\n".join(parts)


def ratio(then: float | None, here: float) -> str:
    """Return one time over another where there are both."""
    return f"{then / here:.2f}" if then and here > 0 else ""


def disturbed(result: Result) -> str:
    """Return what to add to a figure that was taken while other programs were there."""
    load = float(result["machine"].get("load_before") or 0.0)
    return f"; not a quiet machine, load {load:.0f} before" if load >= 1 else ""


def bars(found: Sequence[Result]) -> str:
    """Return one table of what is asked with a yes and a no: each figure beside its bar."""
    rows = []
    for r in found:
        if r["question"] == "storing":
            case = f"{shape(r['grid'])}, {r['counts']['puts']} snapshots of {r['samples']} steps"
            access = "past" if r["direct"] else "through"
            follows = "the device follows" if r["follows"] else "the device does not follow"
            note = f"{access} the page cache; {follows}; waited {r['counts']['stall_seconds']:.2f} s"
            if r.get("version", "") < "0.8":
                note += "; the run in memory touched its snapshots again in every round"
            note += disturbed(r)
            rows.append(
                ["time with snapshots on disk over in memory", case, f"{r['ratio']:.3f}", "1.05", note]
            )
        elif r["question"] == "revolve time":
            case = (
                f"{shape(r['grid'])}, {r['slots']} slots, {r['samples']} steps, image step {r['image_step']}"
            )
            steps = f"{r['source_steps']} + {r['receiver_steps']} steps"
            each = sorted(one["measured"] / one["predicted"] for one in r.get("rounds", ()))
            steps += (f"; rounds {each[0]:.2f} to {each[-1]:.2f}" if each else "") + disturbed(r)
            rows.append(["time over steps times rate", case, f"{r['ratio']:.3f}", "0.85 to 1.15", steps])
        else:
            case = f"{shape(r['grid'])}, {r['shots']} shots, {r['samples']} samples"
            rows.append(["cost of protection", case, f"{100 * r['cost']:.2f} %", "2 %", ""])
    lines = dict.fromkeys(f"{made_on(r)}; `{r['command']}`" for r in found)
    return "; ".join(lines) + "\n\n" + markdown(("what", "case", "figure", "bar", ""), rows)


def checkpoint_lab(found: Sequence[Result]) -> str:
    """Return the tables of `subsalt lab checkpoint`."""
    from subsalt_lab.cli.checkpoint import tables as made

    parts = []
    for r in found:
        m, case = r["machine"], r["settings"]["case"]
        noisy = "; the machine was not idle" if r["load"].get("noisy") else ""
        where = f"{m['cpu']}, {m['cores']} cores, {m['ram_bytes'] / 2**30:.0f} GiB, {r['date'][:10]}"
        work = f"{shape(case['grid'])} points with their layer, {case['samples']} steps, {case['strategy']}"
        parts.append(f"{where}; `subsalt lab checkpoint`, {work}{noisy}")
        parts += made(r["rows"], "markdown")
    return "\n\n".join(parts)


def plans(found: Sequence[Result]) -> str:
    """Return the table of plans against runs: errors as they are, nothing rescaled."""
    head = (
        "job",
        "ranks",
        "counters",
        "memory planned / run, MB",
        "error",
        "disk planned / run, MB",
        "error",
        "planned / run, s",
        "error",
        "wall unexplained",
    )
    parts = []
    for result in found:
        rows = [
            [
                r["case"] + (f" ({r['strategy']})" if r["strategy"] else ""),
                str(r["ranks"]),
                "equal" if r["counters_equal"] else "differ",
                f"{r['planned_memory'] / 1e6:.0f} / {r['measured_memory'] / 1e6:.0f}",
                f"{r['memory_error']:+.1%}",
                f"{r['planned_disk'] / 1e6:.1f} / {r['measured_disk'] / 1e6:.1f}",
                f"{r['disk_error']:+.1%}",
                "" if result["noisy"] else f"{r['planned_seconds'] or 0.0:.1f} / {r['measured_seconds']:.1f}",
                "" if result["noisy"] or r["time_error"] is None else f"{r['time_error']:+.0%}",
                f"{r['unexplained']:.1%}",
            ]
            for r in result["rows"]
        ]
        seconds = f", seconds {result['time_error']:.0%}"
        if result["noisy"]:
            seconds = "; other programs ran, so that seconds say nothing"
        parts.append(
            f"{made_on(result)}; `python benchmarks/plan_against_measured.py`. "
            f"Largest errors: memory {result['memory_error']:.1%}, disk {result['disk_error']:.1%}{seconds}.\n\n"
            + markdown(head, rows)
        )
    return "\n\n".join(parts)


#: questions of `bars`
BARS = ("storing", "revolve time", "protection")


def tables(found: Sequence[Result]) -> str:
    """Return everything between the marks of the page."""
    sections = (
        ("Against peers", peers, [r for r in found if r.get("question") == "peers"]),
        (
            "Least-squares migration against peers",
            inversions,
            [r for r in found if r.get("question") == "peers, least squares"],
        ),
        ("Time to an accuracy", accuracy, [r for r in found if r.get("question") == "accuracy"]),
        ("Time to an accuracy in rock", rock, [r for r in found if r.get("question") == "accuracy in rock"]),
        ("Settings of a job", settings, [r for r in found if r.get("question") == "one setting of a job"]),
        (
            "Reverse time migration of a published study",
            founding,
            [r for r in found if r.get("question") == "founding"],
        ),
        (
            "Its small case as a whole job",
            founding_job,
            [r for r in found if r.get("question") == "founding job"],
        ),
        (
            "Kirchhoff time migration of a published study",
            founding_kirchhoff,
            [r for r in found if r.get("question") == "founding kirchhoff"],
        ),
        ("Plan against measured", plans, [r for r in found if r.get("question") == "plan against measured"]),
        ("Checkpoints", bars, [r for r in found if r.get("question") in BARS]),
        (
            "Checkpoints by number, directory and threads",
            checkpoint_lab,
            [r for r in found if r.get("measurement") == "checkpoint"],
        ),
        ("Kernels", lab, [r for r in found if r.get("measurement") == "kernels"]),
    )
    return "\n\n".join(f"## {title}\n\n{make(mine)}" for title, make, mine in sections if mine)


def page(text: str, found: Sequence[Result]) -> str:
    """Return the page with its tables replaced."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    made = tables(found)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}" if made else f"{before}{BEGIN}\n{END}{after}"


if __name__ == "__main__":
    old = PAGE.read_text(encoding="utf-8")
    new = page(old, results())
    if "--check" in sys.argv[1:]:
        sys.exit(0 if old == new else f"{PAGE.name} is out of date; run: python docs/make_performance.py")
    PAGE.write_text(new, encoding="utf-8")
