"""Time slices: files of planes per sample, and what brings them step by step."""

import numpy as np
import pytest

from patience import wait_for
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError, DataError, SegyError
from subsalt.io import broadcast
from subsalt.io.input_traffic import COUNTED, InputTraffic
from subsalt.io.prestack.time_slices import Ahead, TimeSlices, Together, stream_slices, write_slices
from subsalt.parallel.comm import single

NT, NX, NY = 6, 9, 5
TIME = TimeAxis(NT, 0.004, 0.1)


def samples(nt=NT, shape=(NX, NY)):
    return np.random.default_rng(3).standard_normal((nt, *shape)).astype(np.float32)


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "slices.rsf"
    write_slices(path, samples(), TIME, (NX, NY), (25.0, 50.0), (100.0, -50.0))
    return path


def test_what_was_written_is_read(made):
    with TimeSlices(made) as s:
        assert (s.time, s.shape, s.spacing, s.origin) == (TIME, (NX, NY), (25.0, 50.0), (100.0, -50.0))
        out = np.empty((4, NY), np.float32)
        for it in range(NT):
            s.read(it, 3, 7, out)
            np.testing.assert_array_equal(out, samples()[it, 3:7])
        at = s.positions(10.0, 3, 5)
        assert at.shape == (2 * NY, 3)
        assert at[0].tolist() == [175.0, -50.0, 10.0]
        assert at[NY].tolist() == [200.0, -50.0, 10.0]


@pytest.mark.parametrize(("nt", "shape"), [(6, (9,)), (1, (9, 5)), (6, (9, 1)), (1, (1,)), (6, (1, 5))])
def test_axes_of_one_point_stay_axes(tmp_path, nt, shape):
    path, values = tmp_path / "s.rsf", samples(nt, shape)
    write_slices(path, values, TimeAxis(nt, 0.004), shape, (25.0,) * len(shape))
    with TimeSlices(path) as s:
        assert (s.time.nt, s.shape) == (nt, shape)
        out = np.empty(shape, np.float32)
        s.read(nt - 1, 0, shape[0], out)
        np.testing.assert_array_equal(out, values[-1])


def test_slices_of_the_other_byte_order_and_other_units(made):
    text = made.read_text().replace('unit3="s"', 'unit3="ms"').replace('unit2="m"', 'unit2="km"')
    made.write_text(text.replace("native_float", "xdr_float"))
    data = made.with_name(made.name + "@")
    data.write_bytes(samples().astype(">f4").tobytes())
    with TimeSlices(made) as s:
        out = np.empty((NX, NY), np.float32)
        s.read(2, 0, NX, out)
        np.testing.assert_array_equal(out, samples()[2])
        assert s.time.dt == pytest.approx(4e-6)
        assert s.spacing == (25000.0, 50.0)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('label3="t"', 'label3="z"', "not slices of time"),
        ('label3="t"', "", "not slices of time"),
        ("native_float", "native_int", "4-byte floats"),
        ("esize=4", "esize=8", "4-byte floats"),
        ("n2=9", "n2=8", "need 960"),
        ('unit3="s"', 'unit3="h"', "step of time"),
        ("d3=0.004", "d3=-0.004", "step of time"),
        ("d1=50.0", "d1=0", "above 0"),
    ],
)
def test_a_wrong_header_is_refused(made, old, new, says):
    text = made.read_text()
    assert old in text
    made.write_text(text.replace(old, new))
    with pytest.raises(DataError, match=says) as e:
        TimeSlices(made)
    assert e.value.code == "E771"


def test_a_truncated_file_is_refused_and_one_that_shrinks_is_noticed(made):
    data = made.with_name(made.name + "@")
    whole = data.read_bytes()
    with TimeSlices(made) as s:
        data.write_bytes(whole[:-8])
        with pytest.raises(SegyError, match="ends at byte"):
            s.read(NT - 1, 0, NX, np.empty((NX, NY), np.float32))
    with pytest.raises(DataError, match=f"{len(whole) - 8} bytes of samples"):
        TimeSlices(made)


def test_a_sample_that_is_not_finite_is_named(made):
    bad = samples()
    bad[4, 7, 2] = np.nan
    made.with_name(made.name + "@").write_bytes(bad.tobytes())
    with TimeSlices(made) as s:
        s.read(4, 0, 7, np.empty((7, NY), np.float32))
        with pytest.raises(DataError, match=r"slice 4 .*x position 7, y position 2"):
            s.read(4, 5, NX, np.empty((4, NY), np.float32))


@pytest.mark.parametrize("give", [NT - 1, NT + 1])
def test_another_number_of_slices_than_announced_publishes_nothing(tmp_path, give):
    with pytest.raises(DataError, match="were announced"):
        write_slices(tmp_path / "s.rsf", samples(give), TIME, (NX, NY), (1.0, 1.0))
    assert list(tmp_path.iterdir()) == []


def counted(run):
    before = COUNTED.now()
    run()
    return COUNTED.now() - before


@pytest.mark.parametrize("order", [range(NT), range(NT - 1, -1, -1), [2, 2, 5]])
def test_a_thread_reads_ahead_in_any_order_and_bytes_are_counted(made, order):
    with TimeSlices(made) as s:

        def run():
            with Ahead(s, 2, 6, list(order)) as ahead:
                for it in order:
                    np.testing.assert_array_equal(ahead.next_slice(), samples()[it, 2:6])
                with pytest.raises(IndexError):
                    ahead.next_slice()

        nbytes = len(order) * 4 * NY * 4
        assert counted(run) == InputTraffic(wanted=nbytes, read=nbytes)


def test_two_buffers_are_all_that_is_read_ahead(made):
    with TimeSlices(made) as s:
        before = COUNTED.now()
        ahead = Ahead(s, 0, NX, range(NT))
        first = ahead.next_slice()
        copied = first.copy()
        wait_for(lambda: (COUNTED.now() - before).read >= 2 * 4 * NX * NY)
        # the one in use and the other: whatever time passes, no third is read into the one in use
        ahead._thread.join(0.2)
        assert (COUNTED.now() - before).read == 2 * 4 * NX * NY
        np.testing.assert_array_equal(first, copied)
        ahead.close()
        ahead.close()
        assert ahead._thread is None


def test_what_the_thread_met_is_raised_where_the_slice_is_asked_for(made):
    bad = samples()
    bad[3] = np.inf
    made.with_name(made.name + "@").write_bytes(bad.tobytes())
    with TimeSlices(made) as s, Ahead(s, 0, NX, range(NT)) as ahead:
        for it in range(3):
            np.testing.assert_array_equal(ahead.next_slice(), samples()[it])
        for _ in range(2):
            with pytest.raises(DataError, match="slice 3"):
                ahead.next_slice()


def test_broadcast_brings_the_same_and_counts_what_was_wanted(made):
    with TimeSlices(made) as s:

        def run():
            brought = stream_slices(s, 2, 6, range(NT), broadcast.of("broadcast", single()))
            assert isinstance(brought, Together)
            for it in range(NT):
                np.testing.assert_array_equal(brought.next_slice(), samples()[it, 2:6])
            with pytest.raises(IndexError):
                brought.next_slice()
            brought.close()

        assert counted(run) == InputTraffic(wanted=NT * 4 * NY * 4, read=NT * NX * NY * 4)
        assert isinstance(stream_slices(s, 0, 0, [], broadcast.of("per-rank", single())), Ahead)


def test_pieces_of_planes_and_rows(made):
    with TimeSlices(made) as s:
        for lo, hi in ((0, NX), (2, 7), (3, 3), (8, 9)):
            # two planes a piece: the last piece is shorter
            for reading in (broadcast.PerRank(), broadcast.Broadcast(single(), piece_bytes=2 * NY * 4)):
                before = COUNTED.now()
                out = reading.planes(s.slice(1), lo, hi)
                np.testing.assert_array_equal(out, samples()[1, lo:hi])
                read = s.slice_bytes if reading.collective else out.nbytes
                assert COUNTED.now() - before == InputTraffic(wanted=out.nbytes, read=read)
    table = samples()[0]

    def read(rows, out):
        out[:] = table[rows]

    for rows in (np.array([0, 3, 4, 8]), np.array([], np.int64), np.arange(NX)):
        for reading in (broadcast.PerRank(), broadcast.Broadcast(single(), piece_bytes=2 * NY * 4)):
            out = np.zeros((len(rows), NY), np.float32)
            reading.rows(read, NX, rows, out)
            np.testing.assert_array_equal(out, table[rows])


def test_what_the_reading_rank_met_is_raised_through_agreement():
    def read(rows, out):
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        broadcast.Broadcast(single()).rows(read, 3, np.arange(2), np.zeros((2, 4), np.float32))


def test_an_unknown_way_to_read_names_the_known():
    with pytest.raises(ConfigError, match="per-rank, broadcast"):
        broadcast.of("mpi-io", single())


def test_redundancy():
    traffic = InputTraffic(10, 5, 25) + InputTraffic(read=10)
    assert (traffic.moved, traffic.redundancy) == (40, 4.0)
