"""Traces and volumes in object stores: the bytes of the same files on a disk, by ranges, and clear words when not."""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from object_server import ObjectServer

from job_files import GRID, MIGRATE, OWN_GRID, survey, velocity, write_files, write_job
from subsalt.errors import ConfigError, DataError, MissingInputError, ResourceError
from subsalt.io import objects
from subsalt.io.input_file import InputFile
from subsalt.io.input_traffic import COUNTED
from subsalt.io.objects import UrlPath, as_path, matching
from subsalt.io.prestack.table import open_traces
from subsalt.io.scan.scan import scan
from subsalt.io.segy.reading import read_survey
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.job.inputs import input_facts
from subsalt.methods.rtm.job import Job
from subsalt.run.migrate import migrate_job

fsspec = pytest.importorskip("fsspec", reason="object stores need the extra cloud")
pytest.importorskip("aiohttp", reason="object stores by HTTP need the extra cloud")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a server whose bucket holds the files of a small job."""
    folder = tmp_path_factory.mktemp("store")
    (folder / "bucket").mkdir()
    (folder / "bucket" / "secret").mkdir()
    write_files(folder / "bucket")
    server = ObjectServer(folder)
    yield server
    server.close()


@pytest.fixture
def quick(monkeypatch):
    """Let failures be tried again at once."""
    monkeypatch.setattr(objects, "PAUSES", (0.0, 0.0))


def http(store, name="shots.sgy"):
    return f"{store.url}/bucket/{name}"


#: S3 where its package is installed; it does not go with the pinned packages of the documentation
KINDS = ["http", "memory", *["s3"] * (importlib.util.find_spec("s3fs") is not None)]


@pytest.fixture(params=KINDS)
def url(request, store, monkeypatch):
    """Return what names an object of the bucket in a store of each kind."""
    bucket = store.folder / "bucket"
    if request.param == "memory":
        fs = fsspec.filesystem("memory")
        for path in bucket.glob("*.*"):
            fs.pipe_file(f"/bucket/{path.name}", path.read_bytes())
        return "memory://bucket/{}".format
    if request.param == "s3":
        said = {"endpoint_url": store.url, "anon": True, "client_kwargs": {"region_name": "eu-north-1"}}
        monkeypatch.setitem(fsspec.config.conf, "s3", said)
        return "s3://bucket/{}".format
    return f"{store.url}/bucket/{{}}".format


def test_surveys_and_volumes_are_those_of_the_files(store, url):
    local = store.folder / "bucket"
    assert (
        input_facts("data.files", as_path(url("shots.sgy")))["bytes"] == (local / "shots.sgy").stat().st_size
    )
    far, near = read_survey(url("shots.sgy")), read_survey(local / "shots.sgy")
    for a, b in zip(far, near, strict=True):
        np.testing.assert_array_equal(far.traces(a), near.traces(b))
        np.testing.assert_array_equal(a.rcv, b.rcv)
    far_table, near_table = open_traces(url("shots.sgy")), open_traces(local / "shots.sgy")
    rows = np.arange(3, 40, 4)
    np.testing.assert_array_equal(far_table.traces(rows), near_table.traces(rows))
    far_volume, near_volume = volume.read(url("vp.rsf")), volume.read(local / "vp.rsf")
    np.testing.assert_array_equal(far_volume.values, near_volume.values)
    assert far_volume.grid == near_volume.grid
    assert matching(url("sh*.sgy")) == [url("shots.sgy")] or url("").startswith("http")


@pytest.mark.parametrize("suffix", [".npy", ".sgy"])
def test_volumes_of_other_formats(store, suffix):
    path = store.folder / "bucket" / f"model{suffix}"
    volume.write(path, GRID, velocity())
    near, far = volume.open_volume(path), volume.open_volume(http(store, path.name))
    assert far.grid == near.grid
    np.testing.assert_array_equal(far.planes.read(5, 9), near.planes.read(5, 9))
    nodes = np.array([[70, 3], [2, 50], [30, 7]])
    np.testing.assert_array_equal(far.planes.take(nodes), near.planes.take(nodes))


def test_a_job_migrates_the_same_image(store, tmp_path):
    text = MIGRATE.replace('line = "2d"', 'line = "2d"\nshots = "1"') + OWN_GRID
    for name, files in (("near", str(store.folder / "bucket" / "shots.sgy")), ("far", http(store))):
        job = text.replace('"shots.sgy"', f'"{files}"')
        for model in ("vp", "epsilon", "delta"):
            job = job.replace(f'"{model}.rsf"', f'"{files.replace("shots.sgy", model + ".rsf")}"')
        (tmp_path / name).mkdir()
        migrated = Job.from_toml(write_job(tmp_path / name, job))
        migrate_job(migrated, tmp_path / name / "run")
    near, far = (volume.read(tmp_path / n / "run" / "image.rsf").values for n in ("near", "far"))
    np.testing.assert_array_equal(near, far)
    assert near.any()


def test_only_what_is_asked_for_is_read(store, tmp_path):
    big = survey(n_shots=2, nt=4000, fill=False)
    rng = np.random.default_rng(3)
    for shot in big.shots:
        shot.data = rng.standard_normal((len(shot.rcv), 4000)).astype(np.float32)
    write_survey(store.folder / "bucket" / "big.sgy", big)
    far = read_survey(http(store, "big.sgy"))
    store.ranges.clear()
    before = COUNTED.now()
    rows = np.array([2, 3, 4, 11])
    got = far.reader(far.shots[1], rows)
    np.testing.assert_array_equal(got, big.shots[1].data[rows])
    # three neighbours are one request, the fourth another: 7 traces lie between
    each = 240 + 4 * 4000
    assert sorted(b - a for _, a, b in store.ranges) == [each, 3 * each]
    assert (COUNTED.now() - before).read == 4 * each


def test_small_reads_are_kept_and_what_is_kept_is_bounded(store, monkeypatch):
    path = store.folder / "bucket" / "bytes.bin"
    data = np.random.default_rng(1).integers(0, 256, 4000, dtype=np.uint8)
    path.write_bytes(data.tobytes())
    monkeypatch.setattr(objects, "BLOCK", 256)
    monkeypatch.setattr(objects, "KEPT", 3)
    monkeypatch.setattr(objects, "_BLOCKS", objects._Blocks())
    store.ranges.clear()
    with InputFile(http(store, "bytes.bin")) as file:
        for at in (10, 20, 250, 3990, 700, 1000, 10):
            assert file.read_at(at, 10) == data[at : at + 10].tobytes()
        assert len(objects._BLOCKS._kept) == 3
    # blocks 0, 1 (a read across), 15, 2, 3; then 0 again, which had to go
    assert [a // 256 for _, a, _ in store.ranges] == [0, 1, 15, 2, 3, 0]


def test_a_changed_object_is_another_input_and_is_refused_in_a_run(store):
    write_survey(store.folder / "bucket" / "other.sgy", survey(n_shots=2))
    path = as_path(http(store, "other.sgy"))
    table, before = open_traces(path), input_facts("data.files", path)
    changed = survey(n_shots=2)
    changed.shots[0].data *= 2
    write_survey(store.folder / "bucket" / "other.sgy", changed)
    assert input_facts("data.files", path)["sha256"] != before["sha256"]
    with pytest.raises(DataError, match="was written to after its headers were read"):
        table.traces(np.arange(3))


def test_without_a_version_the_bytes_themselves_tell(store, monkeypatch):
    monkeypatch.setattr(store, "etags", False)
    facts = input_facts("data.files", as_path(http(store)))
    data = (store.folder / "bucket" / "shots.sgy").read_bytes()
    assert facts["sha256"] == hashlib.sha256(data).hexdigest()


def test_a_header_index_is_saved_in_a_folder(store, tmp_path):
    from subsalt.io.segy.fix import Fix

    near, plain = scan(store.folder / "bucket" / "shots.sgy"), scan(http(store), fix=Fix(index=str(tmp_path)))
    assert plain.n_traces == near.n_traces
    assert plain.source_box == near.source_box
    assert len(list(tmp_path.glob("shots.sgy.*.subsalt-index"))) == 1
    with pytest.raises(ConfigError, match="its index cannot be saved in the same folder"):
        scan(http(store), fix=Fix(index="beside"))


def test_failures_that_pass_are_tried_again(store, quick, monkeypatch):
    monkeypatch.setattr(objects, "_BLOCKS", objects._Blocks())
    store.failures[:] = [503, 500]
    with InputFile(http(store)) as file:
        data = file.read_at(0, 4000)
    assert data == (store.folder / "bucket" / "shots.sgy").read_bytes()[: len(data)]
    store.failures[:] = [503] * 3
    monkeypatch.setattr(objects, "_BLOCKS", objects._Blocks())
    with (
        pytest.raises(ResourceError, match="the store failed 3 times") as caught,
        InputFile(http(store)) as file,
    ):
        file.read_at(0, 100)
    assert caught.value.code == "E602"


def test_no_answer_is_a_failure(store, quick, monkeypatch):
    monkeypatch.setattr(objects, "TIMEOUT", 0.05)
    monkeypatch.setattr(objects, "PAUSES", ())
    monkeypatch.setattr(objects, "_BLOCKS", objects._Blocks())
    monkeypatch.setattr(store, "silence", 5.0)
    store.failures[:] = [0]
    with pytest.raises(ResourceError, match=r"no answer within 0\.05 s"), InputFile(http(store)) as file:
        file.read_at(0, 100)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("{0}/bucket/none.sgy", MissingInputError, "does not exist in its store"),
        ("{0}/bucket/secret/line.sgy", MissingInputError, "may not be read"),
        ("http://127.0.0.1:1/line.sgy", ResourceError, "the store failed 3 times, at last: ClientConnect"),
        ("memory://none/line.sgy", MissingInputError, "does not exist in its store"),
        ("nonsense://bucket/line.sgy", ConfigError, "nonsense"),
        ("https://me:word@server/line.sgy", ConfigError, "holds a password or signature"),
        ("https://server/line.sgy?X-Amz-Signature=abc", ConfigError, "holds a password or signature"),
    ],
)
def test_what_cannot_be_read_is_said(store, quick, name, kind, words):
    with pytest.raises(kind, match=words) as caught:
        InputFile(name.format(store.url))
    assert "word@" not in str(caught.value)
    assert "abc" not in str(caught.value)


def test_a_server_without_ranges_is_refused(store, monkeypatch):
    monkeypatch.setattr(store, "partial", False)
    with pytest.raises(DataError, match="byte ranges") as caught:
        scan(http(store))
    assert caught.value.code == "E603"


def test_files_alone_are_read_elsewhere(store, tmp_path):
    write_job(
        tmp_path, MIGRATE.replace('f0 = "10 Hz"', f'wavelet = "file"\nfile = "{http(store, "wavelet.txt")}"')
    )
    with pytest.raises(ConfigError, match=r"source\.file: .* is an object in a store"):
        Job.from_toml(tmp_path / "line.toml").wavelet(0.001)
    with pytest.raises(ConfigError, match="is an object in a store"):
        volume.open_volume("s3://bucket/vp.npz")


def test_names_are_paths():
    path = as_path("s3://bucket/a/line.sgy")
    assert isinstance(path, UrlPath)
    assert (path.name, path.suffix, str(path.parent)) == ("line.sgy", ".sgy", "s3://bucket/a")
    assert str(path.with_name("x.sgy")) == "s3://bucket/a/x.sgy"
    # as typer hands it over
    assert str(as_path(Path("s3://bucket/a/line.sgy"))) == str(path)
    assert as_path("file:///tmp/a.sgy") == Path("/tmp/a.sgy")
    assert not isinstance(as_path("shots/a.sgy"), UrlPath)


@pytest.mark.parametrize("packed", [False, True])
def test_a_server_that_sends_more_than_was_asked_for_is_cut_off(packed):
    """A range of a small object is answered by 256 MB, as they are or as 256 kB that unpack to them."""
    import gzip

    sent = []
    piece = gzip.compress(bytes(1 << 28), 1) if packed else bytes(1 << 16)

    class Endless(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.send_response(200)
            for name, value in (("Content-Length", "8000"), ("Accept-Ranges", "bytes"), ("ETag", '"1"')):
                self.send_header(name, value)
            self.end_headers()

        def do_GET(self):
            self.send_response(206)
            self.send_header("Content-Range", "bytes 0-7999/8000")
            if packed:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            try:
                for _ in range(1 if packed else 4096):
                    self.wfile.write(piece)
                    sent.append(len(piece))
            except OSError:  # the reader went away
                pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    path = objects.as_path(f"http://127.0.0.1:{server.server_address[1]}/shots.sgy")
    with pytest.raises(DataError) as refused:
        objects.StoredObject(path).read_into(0, memoryview(bytearray(8000)))
    server.shutdown()
    server.server_close()
    assert refused.value.code == "E603"
    # what lies in the buffers of two sockets, at most some megabytes
    assert packed or sum(sent) < 64 << 20
