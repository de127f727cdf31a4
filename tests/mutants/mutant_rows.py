"""Seventy-one faults in the sources, each with the tests that must notice it; `make mutants` plants them one by one.

A row has exact text: when a source changes so that a row no longer applies, `test_rows_apply.py` says so, and whoever
changed it writes the same fault anew.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A fault.

    Parameters
    ----------
    part : str
        Of the program.
    name : str
        What is wrong, in words.
    file : str
        The source, from the root of the repository.
    old, new : str
        Text that is in the file once, and what takes its place.
    tests : str
        Words for pytest, from the folder of tests: one of them must fail.
    build : {"", "native", "emulated"}
        What must be compiled anew.
    """

    part: str
    name: str
    file: str
    old: str
    new: str
    tests: str
    build: str = ""


TTI = [
    Mutant(
        "TTI",
        "sign of the slope along y",
        "native/kernels/tti_step.hpp",
        "g = fma(my, y.first, g);",
        "g = fnma(my, y.first, g);",
        "test_kernels_tti.py",
        "native",
    ),
]

STENCILS = [
    Mutant(
        "Stencils",
        "a weight in its 7th digit",
        "src/subsalt/numerics/stencil.py",
        "return tuple(float(c) for c in second_derivative_exact(order))",
        "return tuple(float(c) * (1 + 2e-7 * (k == 2)) for k, c in enumerate(second_derivative_exact(order)))",
        "physics/test_scheme.py",
    ),
    Mutant(
        "Stencils",
        "gain of constants",
        "src/subsalt/numerics/stencil.py",
        "return (-2 * sum(c, Fraction(0)), *c)",
        "return (-2 * sum(c, Fraction(0)) * Fraction(1_000_001, 1_000_000), *c)",
        "physics/test_scheme.py",
    ),
]

LAYER = [
    Mutant(
        "Layer",
        "a tap of Psi",
        "native/kernels/absorb.hpp",
        "const Vec change = sub(ahead_both, b_k), change2 = sub(a_k, behind_both);",
        "const Vec change = sub(ahead_both, behind_both), change2 = sub(a_k, behind_both);",
        "test_kernels.py",
        "native",
    ),
    Mutant(
        "Layer",
        "profile",
        "src/subsalt/propagation/absorbing_layer.py",
        "d = np.arange(1, width + 1, dtype=np.float64) / width",
        "d = np.arange(width, dtype=np.float64) / width",
        "test_absorbing_layer.py",
    ),
    Mutant(
        "Layer",
        "decay",
        "src/subsalt/propagation/absorbing_layer.py",
        "return fixedmath.exp(-np.asarray(sigma, dtype=np.float64) * dt)",
        "return fixedmath.exp(-np.asarray(sigma, dtype=np.float64) * dt * 0.99)",
        "test_absorbing_layer.py",
    ),
]

POINTS = [
    Mutant(
        "Points",
        "a sample recorded one step early",
        "native/isa/plane.hpp",
        "tap.data[(step.now + 1) * pts.n + p] = record_point(",
        "tap.data[step.now * pts.n + p] = record_point(",
        "test_segment.py",
        "native",
    ),
    Mutant(
        "Points",
        "last weight dropped",
        "native/kernels/points.hpp",
        "const Index n = W > 0 ? W : block;",
        "const Index n = W > 0 ? W - 1 : block;",
        "test_kernels_points.py",
        "native",
    ),
    Mutant(
        "Points",
        "tail of the correlation",
        "native/kernels/imaging.hpp",
        "for (; z < n; ++z)\n        image[z] = add_product(scale, u[z], imaged1(p, q, z), image[z]);",
        "for (; z + 1 < n; ++z)\n        image[z] = add_product(scale, u[z], imaged1(p, q, z), image[z]);",
        "test_kernels_points.py",
        "native",
    ),
    Mutant(
        "Points",
        "weights at the ends of a spread",
        "src/subsalt/methods/rtm/traces.py",
        "width[0], width[-1] = gap[0], gap[-1]",
        "width[0], width[-1] = 0.5 * gap[0], 0.5 * gap[-1]",
        "methods/rtm/test_filters_and_traces.py",
    ),
    Mutant(
        "Points",
        "Kaiser b 6.31 to 6.13",
        "src/subsalt/acquisition/injection.py",
        "HICKS = Window(4, 6.31)",
        "HICKS = Window(4, 6.13)",
        "test_injection.py",
    ),
    Mutant(
        "Points",
        "injected gain in VTI",
        "native/kernels/points.hpp",
        "q[k] += share_of_q(s.one(k)) * amount;",
        "q[k] += share_of_p(e.one(k), s.one(k)) * amount;",
        "test_kernels_points.py",
        "native",
    ),
    Mutant(
        "Points",
        "image of the free surface",
        "native/kernels/points.hpp",
        "fields[f][row0 - k] = -fields[f][row0 + k];",
        "fields[f][row0 - k] = fields[f][row0 + k];",
        "test_kernels_points.py",
        "native",
    ),
    Mutant(
        "Points",
        "radius of the source taper 2 to 1",
        "src/subsalt/propagation/tapers.py",
        "- 2.0) / max(cells - 2.0, 1.0), 0.0, 1.0)",
        "- 1.0) / max(cells - 1.0, 1.0), 0.0, 1.0)",
        "test_tapers.py",
    ),
    Mutant(
        "Points",
        "taper of the tilt",
        "src/subsalt/earth/tilt.py",
        "- cells + 1) / (TAPER_CELLS + 1)",
        "- cells) / (TAPER_CELLS + 1)",
        "test_tilt.py",
    ),
]

SLABS = [
    Mutant(
        "Slabs",
        "ghost planes halved",
        "src/subsalt/parallel/decomp.py",
        '2 * self.radius if in_layer or self.medium == "tti" else self.radius)',
        "self.radius)",
        "test_decomp.py",
    ),
    Mutant(
        "Slabs",
        "a race between tiles",
        "native/isa/tiles.hpp",
        "if (known < round && !again) known = wait_for(done[t - 1], round);",
        "if (known < round - 1 && !again) known = wait_for(done[t - 1], round - 1);",
        # one thread rests before every plane
        "test_waits.py",
        "native",
    ),
    Mutant(
        "Slabs",
        "a race by one plane in the 2-D march",
        "native/isa/march.hpp",
        "const Index least = wanted(pb, steps[0], lag, planes[0] + some - 1);",
        "const Index least = wanted(pb, steps[0], lag, planes[0] + some - 1) - 1;",
        "test_waits.py",
        "native",
    ),
    Mutant(
        "Slabs",
        "margin of the front one less",
        "native/isa/front.hpp",
        "ends[i] = ends[i] > 0 ? ends[i] + pb.radius : 0;",
        "ends[i] = ends[i] > 0 ? ends[i] + pb.radius - 1 : 0;",
        "test_front.py",
        "native",
    ),
    Mutant(
        "Slabs",
        "rows of a tilted medium end with their fluxes",
        "native/isa/front.hpp",
        "widened(pb, ends.step, ends.flux);",
        "widened(pb, ends.step, room);",
        "test_front.py",
        "native",
    ),
]

CHECKPOINTS = [
    Mutant(
        "Checkpoints",
        "distance",
        "src/subsalt/checkpoint/schedule/two_level.py",
        "length - comb(slots + r - 1, slots - 1), 1)",
        "length - comb(slots + r - 1, slots - 1) - 1, 1)",
        "checkpoint/test_revolve.py",
    ),
    Mutant(
        "Checkpoints",
        "a slot more than there are",
        "src/subsalt/checkpoint/schedule/two_level.py",
        "free = slots - len(starts)",
        "free = slots - len(starts) + 1",
        "checkpoint/test_revolve.py",
    ),
    Mutant(
        "Checkpoints",
        "parity of restart points",
        "src/subsalt/methods/rtm/restart.py",
        "return 1 + generation % 2 * each",
        "return 1 + generation // 2 % 2 * each",
        "methods/rtm/test_restart_points.py",
    ),
    Mutant(
        "Checkpoints",
        "checksum of the last block",
        "native/snapshot/pool.cpp",
        "for (std::int64_t b = 0; blocks && b < lay.blocks(); ++b)",
        "for (std::int64_t b = 0; blocks && b < lay.blocks() - 1; ++b)",
        "checkpoint/test_record_damage.py",
        "native",
    ),
]

AXIS = [
    Mutant(
        "Depth axis",
        "an operator of tilted media with half of D1 D1",
        "src/subsalt/numerics/depth_axis.py",
        'upper += _first_bands(np.pad(scale, 3 * radius, mode="edge"), stencil.first(tilted))',
        'upper += 0.5 * _first_bands(np.pad(scale, 3 * radius, mode="edge"), stencil.first(tilted))',
        "test_depth_axis.py",
    ),
    Mutant(
        "Depth axis",
        "even images at a free surface",
        "src/subsalt/numerics/depth_axis.py",
        "out[j - i, i - 1] -= upper[i + j, before - j]",
        "out[j - i, i - 1] += upper[i + j, before - j]",
        "test_depth_axis.py",
    ),
    Mutant(
        "Depth axis",
        "the spacing of a sample up to the next, slower one",
        "src/subsalt/numerics/depth_axis.py",
        "low[:-1] = np.minimum(low[:-1], widest[1:])",
        "low[:-1] = np.minimum(low[:-1], widest[:-1])",
        "test_depth_axis.py",
    ),
    Mutant(
        "Depth axis",
        "a time step that knows no potential",
        "src/subsalt/numerics/depth_axis.py",
        "np.maximum(potential(scale, second), 0.0)",
        "np.minimum(potential(scale, second), 0.0)",
        "test_depth_axis.py",
    ),
    Mutant(
        "Depth axis",
        "sign of the potential",
        "src/subsalt/kernels/depth_rows.py",
        "deep = square * centres[2] - bend",
        "deep = square * centres[2] + bend",
        "test_depth_rows.py",
    ),
    Mutant(
        "Depth axis",
        "one radius inside a layer",
        "src/subsalt/kernels/depth_rows.py",
        "bottom = high + 2 * m if high else 1",
        "bottom = high + m if high else 1",
        "test_depth_rows.py",
    ),
    Mutant(
        "Depth axis",
        "the window of a uniform axis",
        "src/subsalt/earth/regrid.py",
        "wide = np.maximum(h, target.spacing_along(axis, places))",
        "wide = np.maximum(h, target.spacing[axis])",
        "test_regrid.py",
    ),
    Mutant(
        "Depth axis",
        "a wavefield shown as its pressure",
        "src/subsalt/earth/even_depths.py",
        "self._pressure = np.sqrt(1.0 / grid.depth_scale)",
        "self._pressure = np.ones_like(grid.depth_scale)",
        "test_regrid.py",
    ),
    Mutant(
        "Depth axis",
        "a^2 of the first vector everywhere",
        "native/kernels/stencil.hpp",
        "void operator+=(Index n) { centre_ += n, square_ += n; }",
        "void operator+=(Index n) { centre_ += n; }",
        "test_kernels.py",
        "native",
    ),
    Mutant(
        "Depth axis",
        "a layer that knows no a^2",
        "native/kernels/absorb.hpp",
        "if constexpr (Stretched) return fma(load_as<N>(square + z), term, sum);",
        "if constexpr (Stretched && false) return fma(load_as<N>(square + z), term, sum);",
        "test_kernels.py",
        "native",
    ),
    Mutant(
        "Depth axis",
        "a flux along z without its root",
        "native/kernels/tti_step.hpp",
        "Stretched ? mul(load(pb.stretch.root + z), flux) : flux",
        "flux",
        "test_kernels.py test_kernels_tti.py",
        "native",
    ),
    Mutant(
        "Depth axis",
        "centre of VTI on a GPU",
        "native/cuda/field_march.cuh",
        "mul(load4(pb.stretch.centre[1] + at.z), q)",
        "mul(pb.c[2][0], q)",
        "cuda/test_steps.py -k emulated",
        "emulated",
    ),
    Mutant(
        "Depth axis",
        "kernels of another axis on a GPU",
        "native/cuda/field_step_stretched.cu",
        "if (pb.fields == 1) return march_step<FieldMarch<1, true>>",
        "if (pb.fields == 1) return march_step<FieldMarch<1, false>>",
        "cuda/test_steps.py -k emulated",
        "emulated",
    ),
    Mutant(
        "Depth axis",
        "the layer along z on a GPU",
        "native/cuda/absorb.cuh",
        "return Stretched ? fma1(__ldg(pb.stretch.square + z), term, sum) : sum + term;",
        "return sum + term;",
        "cuda/test_steps.py -k emulated",
        "emulated",
    ),
    Mutant(
        "Depth axis",
        "the TTI step of a uniform axis on a GPU",
        "native/cuda/tti_step_stretched.cu",
        "tilted_step<true>(pb, levels",
        "tilted_step<false>(pb, levels",
        "cuda/test_tilted_steps.py -k emulated",
        "emulated",
    ),
    Mutant(
        "Depth axis",
        "slopes along z on a GPU",
        "native/cuda/tti_flux.cuh",
        "hz = depth.power() * slope<M>",
        "hz = depth.square() * slope<M>",
        "cuda/test_tilted_steps.py -k emulated",
        "emulated",
    ),
]

RUNS = [
    Mutant(
        "Runs",
        "partial image without fsync",
        "src/subsalt/io/shared_file.py",
        'ask("fsync", str(target))\n                os.fsync(fd)',
        'ask("fsync", str(target))',
        "io/test_plane_file.py",
    ),
    Mutant(
        "Runs",
        "ledger with synchronous off",
        "src/subsalt/run/ledger_file.py",
        '"PRAGMA synchronous = EXTRA"',
        '"PRAGMA synchronous = OFF"',
        "run/test_ledger.py",
    ),
    Mutant(
        "Runs",
        "count of the quarantine",
        "src/subsalt/run/quarantine.py",
        "ledger.fail(unit, reason) >= TRIES",
        "ledger.fail(unit, reason) > TRIES",
        "run/test_quarantine.py",
    ),
    Mutant(
        "Runs",
        "identity without the image step",
        "src/subsalt/run/identity.py",
        "if k not in later}",
        'if k not in (*later, "image_step")}',
        "run/test_identity.py",
    ),
]

SEGY = [
    Mutant(
        "SEG-Y",
        "scalar -100 ignored",
        "src/subsalt/io/segy/headers.py",
        "return np.where(s < 0, v /",
        "return np.where((s < 0) & (s != -100), v /",
        "io/test_scan.py io/test_survey_files.py",
    ),
    Mutant(
        "SEG-Y",
        "feet",
        "src/subsalt/io/segy/geometry.py",
        "FOOT = 0.3048",
        "FOOT = 0.3408",
        "io/test_scan.py io/test_survey_files.py",
    ),
    Mutant(
        "SEG-Y",
        "sign of the elevation",
        "src/subsalt/io/segy/geometry.py",
        'gz = -fix.z_sign * get("receiver_elevation", zz)',
        'gz = fix.z_sign * get("receiver_elevation", zz)',
        "io/test_scan.py io/test_survey_files.py",
    ),
    Mutant(
        "SEG-Y",
        "last bit of IBM numbers",
        "native/signal/decode_samples.cpp",
        "static_cast<int32_t>(w & 0xFFFFFF)",
        "static_cast<int32_t>(w & 0xFFFFFE)",
        "io/test_samples.py",
        "native",
    ),
    Mutant(
        "SEG-Y",
        "scalar of times 10000",
        "src/subsalt/io/segy/geometry.py",
        "(1, 10, 100, 1000, 10000)",
        "(1, 10, 100, 1000)",
        "io/test_scan.py",
    ),
]

TRACES = [
    Mutant(
        "Traces",
        "slope of the mute",
        "src/subsalt/job/signal/mute.py",
        "way = offset / self.velocity",
        "way = offset / (1.01 * self.velocity)",
        "methods/rtm/test_earth_model.py",
    ),
    Mutant(
        "Traces",
        "end taper off by one",
        "src/subsalt/methods/rtm/traces.py",
        "ramp(np.arange(n, 0, -1, dtype=np.float64)",
        "ramp(np.arange(n - 1, -1, -1, dtype=np.float64)",
        "methods/rtm/test_filters_and_traces.py",
    ),
    Mutant(
        "Traces",
        "a record one sample short",
        "src/subsalt/methods/rtm/traces.py",
        "/ dt + 1e-9) + 2",
        "/ dt + 1e-9) + 1",
        "methods/rtm/test_filters_and_traces.py",
    ),
]

KIRCHHOFF = [
    Mutant(
        "Kirchhoff",
        "stretch mute",
        "native/include/kirchhoff_formulas.hpp",
        "sub(of<N>(1.0f + rules.stretch_most), inverse_j)",
        "sub(of<N>(1.01f + rules.stretch_most), inverse_j)",
        "test_kirchhoff_sum.py",
        "native",
    ),
    Mutant(
        "Kirchhoff",
        "an end looked for too early",
        "native/isa/kirchhoff.hpp",
        "3.9999f * medium.quarter[end - 1] > last",
        "4.4f * medium.quarter[end - 1] > last",
        "test_kirchhoff_sum.py",
        "native",
    ),
    Mutant(
        "Kirchhoff",
        "alias band plus one in the filter",
        "src/subsalt/methods/kirchhoff/prepare.py",
        "_fall(part, (bands - j) / bands,",
        "_fall(part, (bands - j + 1) / bands,",
        "methods/kirchhoff/test_filters_of_traces.py",
    ),
    Mutant(
        "Kirchhoff",
        "alias band minus one in the kernel",
        "native/kernels/kirchhoff_sum.hpp",
        "most(sub(held.bands, div(mul(held.bands, l.product), slope)), set1(0.0f))",
        "most(sub(sub(held.bands, div(mul(held.bands, l.product), slope)), set1(1.0f)), set1(0.0f))",
        "test_kirchhoff_sum.py",
        "native",
    ),
    Mutant(
        "Kirchhoff",
        "slope of eta",
        "native/include/kirchhoff_formulas.hpp",
        "q = fnma(less, fnma(wide, u, of<N>(2.0f)), one);",
        "q = fnma(less, fnma(wide, u, of<N>(1.0f)), one);",
        "test_kirchhoff_sum.py",
        "native",
    ),
    Mutant(
        "Kirchhoff",
        "offset class at its lower limit",
        "src/subsalt/methods/kirchhoff/classes.py",
        'side="right") - 1',
        'side="left") - 1',
        "methods/kirchhoff/test_time_classes.py",
    ),
    Mutant(
        "Kirchhoff",
        "share of a bin",
        "src/subsalt/methods/kirchhoff/weights.py",
        'if weighting == "uniform" else 1.0 / count',
        'if weighting == "uniform" else 1.0 / np.maximum(count - 1, 1)',
        "methods/kirchhoff/test_time_classes.py",
    ),
    Mutant(
        "Kirchhoff",
        "Dix",
        "src/subsalt/methods/kirchhoff/velocity/rms.py",
        "energy = v_rms * v_rms * times",
        "energy = v_rms * v_rms * (times + 0.001)",
        "methods/kirchhoff/test_rms.py",
    ),
]

OTHERS = [
    Mutant(
        "MPI",
        "order of collectives",
        "src/subsalt/io/shared_file.py",
        "    comm.agree(failure)\n    name = comm.bcast(None if temporary is None else temporary.name)",
        "    name = comm.bcast(temporary.name if temporary else None) if comm.is_root else None\n"
        "    comm.agree(failure)\n"
        "    name = name if comm.is_root else comm.bcast(None)",
        "mpi/test_together.py",
    ),
    Mutant(
        "Lab",
        "Holm",
        "src/subsalt/machine/stats.py",
        "(len(order) - rank) * p_values[i]",
        "(len(order) - rank - 1) * p_values[i]",
        "lab/test_paired_samples.py",
    ),
    Mutant(
        "Lab",
        "no neighbouring size asked",
        "packages/lab/src/subsalt_lab/collectives/decide.py",
        "good = [c for c in allowed if agrees(c)]",
        "good = allowed",
        "lab/test_collective_choices.py",
    ),
    Mutant(
        "Lab",
        "memory in the Slurm script",
        "src/subsalt/cli/submit_command.py",
        "int(plan.bytes_per_rank * batch.ranks_per_node / COMFORT)",
        "int(plan.bytes_per_rank / COMFORT)",
        "cli/test_submit_command.py",
    ),
    Mutant(
        "Image",
        "floor of the illumination",
        "src/subsalt/methods/rtm/conditions.py",
        "floor = sums.normalise * total / points",
        "floor = sums.normalise * float(illumination.max())",
        "methods/rtm/test_filters_and_traces.py",
    ),
]

GPU = [
    Mutant(
        "GPU",
        "copies ahead of isotropic and VTI steps, waited for one plane too few",
        "native/cuda/field_march.cuh",
        "wait_for_copies<stages - 1>();",
        "wait_for_copies<stages>();",
        "cuda/test_steps.py",
        "emulated",
    ),
    Mutant(
        "GPU",
        "fields beside a tile of the TTI step, not waited for",
        "native/cuda/tti_march.cuh",
        "wait_for_copies<1>(); // what lies further out in plane x + 1 is there",
        "wait_for_copies<2>(); // what lies further out in plane x + 1 is there",
        "cuda/test_tilted_steps.py",
        "emulated",
    ),
    Mutant(
        "GPU",
        "models of the TTI step, not waited for",
        "native/cuda/tti_march.cuh",
        "wait_for_copies<1>(); // models and last level of plane x - M are there",
        "wait_for_copies<2>(); // models and last level of plane x - M are there",
        "cuda/test_tilted_steps.py",
        "emulated",
    ),
    Mutant(
        "GPU",
        "a quotient of the Kirchhoff sum without its last correction",
        "native/cuda/kirchhoff_operator.cuh",
        "return fma1(y, fma1(-b, near, a), near);",
        "return near;",
        "cuda/test_kirchhoff_device.py",
        "emulated",
    ),
]

GATHERS = [
    Mutant(
        "Gathers",
        "a vector of a row of products stored in place of its neighbour",
        "native/kernels/row_products.hpp",
        "store(sums + z + 2 * lanes, c);",
        "store(sums + z + 2 * lanes, b);",
        "methods/rtm/test_lags.py",
        "native",
    ),
    Mutant(
        "Gathers",
        "dips along the half offsets in place of those across them",
        "src/subsalt/methods/rtm/dips.py",
        "q = slopes(image, grid, 1 - axis)",
        "q = slopes(image, grid, axis)",
        "methods/rtm/test_dips.py",
    ),
]

MUTANTS: list[Mutant] = [
    *TTI,
    *STENCILS,
    *LAYER,
    *POINTS,
    *SLABS,
    *CHECKPOINTS,
    *AXIS,
    *RUNS,
    *SEGY,
    *TRACES,
    *KIRCHHOFF,
    *OTHERS,
    *GATHERS,
    *GPU,
]
