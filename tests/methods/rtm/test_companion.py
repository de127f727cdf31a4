"""A second wavefield of the receivers: sums are those of the formula, and no scheme, thread or stop changes a bit."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from scheme_cases import RECORD, SECOND, bits, migrated, scheme_of, scratch_in, setup_of, shot_of

from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import counts_of, tasks_of
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.kernels.work import Snapshots
from subsalt.methods.rtm import executor
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.companion import (
    accumulators_of,
    add_separated,
    companions,
    hilbert_in_depth,
    hilbert_in_time,
    second_samples,
)
from subsalt.methods.rtm.conditions import refuse_own_memory
from subsalt.methods.rtm.engine import propagator_of, receiver_samples, window_weights
from subsalt.methods.rtm.memory import second_receivers_bytes, shot_memory
from subsalt.methods.rtm.offset_classes import WEIGHTED
from subsalt.propagation.options import GatherOptions, ImagingOptions
from thorough import ALL

SCHEMES = {
    "revolve": ("revolve", {"block": 3, "memory_slots": 2}),
    "kept": ("store", {"keep": "both", "chunk": 3}),
    "restart": ("revolve", {"block": 2, "memory_slots": 2, "disk_slots": 2, "restart_every": 15}),
}


# -- transforms


def test_hilbert_transforms_turn_a_cosine_into_a_sine() -> None:
    """In time of a signal amid silence. In depth amid odd images."""
    t = np.arange(400.0)
    fades = np.exp(-(((t - 200.0) / 40.0) ** 2))
    turned = hilbert_in_time((fades * np.cos(0.5 * t))[None])[0]
    # the envelope has exp(-(0.5 * 40)^2 / 4) of its spectrum at the negative frequencies; it is 2e-11 at both ends
    assert np.abs(turned - fades * np.sin(0.5 * t)).max() < 1e-10
    for n in (301, 320):  # the first is continued to a period of 640, twice the second
        z = 2 * np.pi / 20 * np.arange(n)
        off = np.abs(hilbert_in_depth(np.cos(z)) - np.sin(z))[n // 3 : 2 * n // 3].max()
        assert off < 2 * bent(n / 3)
    assert hilbert_in_depth(np.sin(z).astype(np.float32)).dtype == np.float32


def bent(distance: float, k: float = 2 * np.pi / 20) -> float:
    """Return what an odd image at some distance leaves of a wave's transform: the part of the image, at most twice
    1 / (pi k^2 z^2), and a saw tooth of the jump between them, 1 / (pi z).
    """
    return 2 / (np.pi * (k * distance) ** 2) + 1 / (np.pi * distance)


@pytest.mark.parametrize("source_down", [True, False])
@pytest.mark.parametrize("receivers_up", [True, False])
def test_only_a_source_that_goes_down_and_receivers_that_go_up_are_kept(source_down, receivers_up) -> None:
    """Plane waves over a period: the product of the kept pair is that of the whole fields, of any other pair zero.

    Odd images at both ends bend a transform by 2 e. In 4 I = u p - H u H p with p = w - H q, |p| <= 2, that is
    2 e (|u| + 3 |H u| + |H p|) = 12 e at most at every time.
    """
    n, period, k, omega = 300, 40, 2 * np.pi / 20, 2 * np.pi / 40
    z, sums, plain = np.arange(float(n)), np.zeros((1, 1, n)), np.zeros(n)
    for t in range(period):
        phase_u = omega * t - (k if source_down else -k) * z
        phase_w = omega * t - (-k if receivers_up else k) * z + 0.4
        u, w, q = (a[None, None] for a in (np.cos(phase_u), np.cos(phase_w), np.sin(phase_w)))
        add_separated(sums, u, w, q, 1.0)
        plain += (u * w)[0, 0]
    middle = slice(n // 3, 2 * n // 3)
    wanted = plain if source_down and receivers_up else np.zeros(n)
    assert np.abs(sums[0, 0, middle] - wanted[middle]).max() < 12 * bent(n / 3) / 4 * period


def test_threads_and_parts_change_no_bit() -> None:
    rng = np.random.default_rng(4)
    fields = rng.standard_normal((3, 70, 9, 67)).astype(np.float32)
    made = []
    for threads in (1, 3):
        with cpu.forced(threads=threads):
            sums = np.zeros(fields.shape[1:], np.float32)
            add_separated(sums, *fields, 0.5)
            made.append(sums)
    one = np.zeros_like(made[0])
    for x in range(len(one)):
        add_separated(one[x : x + 1], *(f[x : x + 1] for f in fields), 0.5)
    assert made[0].any()
    assert made[0].tobytes() == made[1].tobytes() == one.tobytes()


# -- sums of a shot


@pytest.mark.parametrize("case", SECOND)
def test_no_scheme_changes_a_bit(case: str, tmp_path: Path) -> None:
    plain = migrated(case)
    assert tuple(plain.sums) == accumulators_of(setup_of(case))
    assert all(a.any() for a in plain.sums.values())
    # in 3-D each scheme with one of the two
    names = (
        list(SCHEMES) if ALL or "2-D" in case else list(SCHEMES)[slice(1) if "tti" in case else slice(1, 3)]
    )
    for number, name in enumerate(names):
        strategy, more = SCHEMES[name]
        scheme, scratch = scheme_of(case, strategy, **more), scratch_in(tmp_path / str(number))
        with cpu.forced(threads=1 + number % 3):
            again = migrated(case, scheme, scratch)
        scratch.close()
        assert bits(again) == bits(plain), name
        assert again.counts == counts_of(scheme), name


@pytest.mark.parametrize("case", ["up-down, iso 2-D", "offset, vti 2-D"])
def test_the_way_back_in_time_gives_them_to_rounding(case: str) -> None:
    plain, back = migrated(case), migrated(case, scheme_of(case, "boundary", chunk=3))
    for name, a in plain.sums.items():
        # as the image of that strategy: its wavefields are right to rounding, over some hundred steps
        assert np.abs(back.sums[name] - a).max() <= 1e-4 * np.abs(a).max(), name


@pytest.mark.parametrize("case", ["up-down, iso 2-D", "offset, vti 2-D"])
def test_a_shot_struck_in_the_middle_goes_on_with_the_same_bits(case: str, tmp_path, monkeypatch) -> None:
    scheme = scheme_of(case, "store", restart_every=12)
    wanted, count = bits(migrated(case)), len(list(tasks_of(scheme)))

    class Struck(Exception):
        pass

    def some(scheme: Scheme):
        yield from islice(tasks_of(scheme), count - 3)
        raise Struck

    with monkeypatch.context() as patch:
        patch.setattr(executor, "tasks_of", some)
        scratch = scratch_in(tmp_path)
        with pytest.raises(Struck):
            migrated(case, scheme, scratch)
        scratch.close()
    scratch = scratch_in(tmp_path)
    image = migrated(case, scheme, scratch)
    scratch.close()
    assert image.resumed > 0
    assert bits(image) == wanted


def test_packed_snapshots_are_unpacked_and_receivers_are_read_from_their_wavefield(tmp_path: Path) -> None:
    """What is kept in 16 bits beside changes nothing of the image."""
    case, made = "up-down, iso 2-D", []
    for keep in ("none", "both"):
        scratch = scratch_in(tmp_path / keep)
        made.append(bits(migrated(case, scheme_of(case, "store", keep=keep), scratch, halved=True)))
        scratch.close()
    assert made[0] == made[1]


@pytest.mark.parametrize("case", ["up-down, iso 2-D", "offset, vti 2-D"])
def test_sums_are_those_of_the_formula(case: str) -> None:
    """Both wavefields of the receivers, sampled on their own, give the sums in double precision."""
    setup, shot, made = setup_of(case), shot_of(case), migrated(case)
    traces = np.random.default_rng(2).uniform(-1, 1, (len(shot.rcv), RECORD.nt)).astype(np.float32)
    prop, samples = propagator_of(setup, shot), receiver_samples(setup, shot, traces)
    second = second_samples(setup, shot, samples)
    assert second is not None
    steps, k = setup.axis.nt - 1, setup.image_step
    numbers = range(1, steps // k + 1)

    def sampled(at, injected, time_of):
        rooms = {i: np.zeros(prop.interior.shape, prop.dtype) for i in numbers}
        snapshots = Snapshots(prop.interior, {time_of(i): a for i, a in rooms.items() if time_of(i) > 0})
        prop.advance(prop.new_state(), steps, sources=[prop.source(at, injected)], snapshots=snapshots)
        return np.stack([rooms[i] for i in numbers]).astype(np.float64)

    u = sampled(shot.src[None], setup.signature[None], lambda i: i * k)
    w, q = (sampled(shot.rcv, s, lambda i: steps - i * k) for s in (samples, second))
    scale, weight = k * setup.axis.dt, np.ones(made.box.shape)
    for one in window_weights(setup, setup.window(shot)):
        weight = weight * one
    if setup.offsets is not None:
        name, wanted = WEIGHTED, scale * (u * q).sum(axis=0)
    else:
        p = w - hilbert_in_depth(q)
        name = "separated"
        wanted = 0.25 * scale * (u * p - hilbert_in_depth(u) * hilbert_in_depth(p)).sum(axis=0)
    # sums of some dozen products in single precision, of fields that were transformed in it
    assert np.abs(made.sums[name] - weight * wanted).max() <= 1e-5 * np.abs(wanted).max()


@pytest.mark.parametrize("case", ["up-down, iso 2-D", "offset, vti 2-D"])
def test_the_plan_counts_what_a_second_wavefield_takes(case: str) -> None:
    setup, shot = setup_of(case), shot_of(case)
    arrays = RankArrays.of(setup, shot)
    held = shot_memory(setup, arrays, image=False)
    prop = propagator_of(setup, shot)
    state = sum(a.nbytes for a in prop.new_state().arrays())
    samples = 8 * len(shot.rcv) * setup.axis.nt
    assert companions(setup) == 1
    assert held["second receivers"] == second_receivers_bytes(setup, arrays)
    assert held["second receivers"] >= state + samples
    assert held["image accumulators"] == 4 * len(accumulators_of(setup)) * np.prod(prop.interior.shape)


# -- what cannot be


def test_a_device_with_memory_of_its_own_is_named() -> None:
    class Other:
        NAME, OWN_MEMORY = "other", True

    with pytest.raises(ConfigError, match="up-down: the device other") as caught:
        refuse_own_memory(Other(), "up-down")  # type: ignore[arg-type]
    assert caught.value.code == "E758"


def test_gathers_and_separated_fields_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="up-down") as caught:
        ImagingOptions(condition="up-down", gathers=GatherOptions())
    assert caught.value.code == "E758"
    with pytest.raises(ConfigError, match="along") as caught:
        GatherOptions(kind="offset", along="y")
    assert caught.value.code == "E104"
