"""Lets tests import the helper modules of this folder, and run commands in this process."""

import gc
import io
import os
import shutil
import signal
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

# as `make test` has it: tests fork, and a fork would wait for the threads of OpenMP, which it does not have
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

for folder in ("", "methods/rtm", "io", "lab", "mpi", "run"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

import once  # noqa: E402
from cpu_record import CpuRecord  # noqa: E402
from emulated_plugin import EMULATED_PLUGIN  # noqa: E402
from forked_workers import ForkedWorkers  # noqa: E402
from memory_folder import use_memory  # noqa: E402
from thorough import ALL, alternating  # noqa: E402

# before anything asks where temporary files go
use_memory()

# the same examples each time, but in `make test-all`, and as much time for each as a busy machine takes
settings.register_profile(
    "subsalt",
    deadline=None,
    derandomize=not ALL,
    print_blob=ALL,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("subsalt")

# the cut of a segment changes no bit: tests take the default, and leave the user's cache alone
os.environ["SUBSALT_TUNE"] = "off"
# a plan measures nothing here, and leaves the machine.json of the user alone
os.environ["SUBSALT_MEASURE"] = "off"
# what the lab compiles stays, in a cache of the tests: an interposer takes seconds
os.environ["XDG_CACHE_HOME"] = str(Path(__file__).parents[1] / "build" / "test-cache")
# the wrappers of all calls of MPI are large: the optimiser takes two thirds of the time of their compiler
if not ALL:
    os.environ["CFLAGS"] = f"{os.environ.get('CFLAGS', '')} -O0".strip()

# a rank of MPICH that waits looks without end, and gives its core to the others for turns of many milliseconds each:
# with more ranks than cores a sum of all took 20 ms. Asleep for a moment instead, it is back as soon as it can go on
os.environ.setdefault("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")
os.environ.setdefault("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", "512")

# a shell starts what it puts behind (`make test &`) deaf to Ctrl-C, and children inherit that: the tests send it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# no test uses a GPU that happens to be there, but those that ask for one (tests/cuda)
REAL_PLUGIN = os.environ.get("SUBSALT_CUDA_PLUGIN", "")
os.environ["SUBSALT_CUDA_PLUGIN"] = "off"
#: why there is none, once a test has asked
NO_GPU: list[str] = []


def pytest_addoption(parser):
    """``--cpu FILE``: see `cpu_record`; ``--forks N``, ``--order SEED``: see `forked_workers`."""
    parser.addoption("--cpu", metavar="FILE", help="write down what each test takes of the processors")
    parser.addoption("--forks", metavar="N", type=int, default=0, help="run tests in N forks of this process")
    parser.addoption(
        "--order", metavar="SEED", type=int, help="with --forks: take the files in a random order"
    )


def pytest_configure(config):
    """Give all workers of a session one folder, for what one of them makes for all."""
    is_worker = hasattr(config, "workerinput")
    if path := config.getoption("--cpu"):
        config.pluginmanager.register(CpuRecord(Path(config.rootpath, path), tells=not is_worker))
    if count := config.getoption("--forks"):
        config.pluginmanager.register(ForkedWorkers(count, config.getoption("--order")))
    if not is_worker:
        folder = tempfile.TemporaryDirectory(prefix="subsalt-tests-")
        os.environ[once.FOLDER] = folder.name
        config.add_cleanup(folder.cleanup)


def pytest_collection_modifyitems(config, items):
    """Leave out what `make test-all` alone tries: tests that are marked so, and half of those of kernels with several
    parameters, which are tried on one depth axis or the other (`thorough.alternating`).
    """
    tests, left_out = {}, set()
    for item in items:
        if not ALL and item.get_closest_marker("thorough"):
            left_out.add(item)
            continue
        if "depth_axis" in getattr(getattr(item, "callspec", None), "params", {}):
            tests.setdefault((item.path, item.originalname), []).append(item)
    for same in tests.values():
        names = [name for name in same[0].callspec.params if name != "depth_axis"]
        values = [[repr(item.callspec.params[name]) for item in same] for name in [*names, "depth_axis"]]
        # the number of a value: where it first stands
        rows = list(zip(*([list(dict.fromkeys(of)).index(v) for v in of] for of in values), strict=True))
        left_out.update(item for item, tried in zip(same, alternating(rows), strict=True) if not tried)
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish(session):
    """Keep what was collected from being looked through again and again for garbage: a tenth of all CPU."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Remove the folders of a module behind its last test, as pytest does those of tests, unless one of them failed."""
    if fixturedef.scope != "module" or "tmp_path_factory" not in fixturedef.argnames:
        return (yield)
    base, session = request.getfixturevalue("tmp_path_factory").getbasetemp(), request.session
    before, failed, made = set(base.iterdir()), session.testsfailed, set()

    def remove():
        for folder in made if session.testsfailed == failed else ():
            shutil.rmtree(folder, ignore_errors=True)

    fixturedef.addfinalizer(remove)
    try:
        return (yield)
    finally:
        made |= {path for path in base.iterdir() if not path.is_symlink()} - before


def forget_devices():
    """Forget the plug-in and where the last run of this process computed: later tests look for GPUs again."""
    from subsalt.kernels import cuda_library
    from subsalt.parallel.comm import single
    from subsalt.propagation import devices

    cuda_library.forget()
    devices.settle(single(), "cpu")


@pytest.fixture
def emulated(monkeypatch):
    """Let the device ``cuda`` of this process, and of those it starts, be the emulated one."""
    from subsalt.kernels import cuda_library

    if not EMULATED_PLUGIN.is_file():
        pytest.skip("the emulated device is not built (make emulated)")
    monkeypatch.setenv("SUBSALT_CUDA_PLUGIN", str(EMULATED_PLUGIN))
    cuda_library.forget()
    yield cuda_library
    forget_devices()


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def gpu_device(request, monkeypatch):
    """Run a test on the emulated device, and on the GPU of this machine where there is one."""
    if request.param == "emulated":
        yield request.getfixturevalue("emulated")
        return
    from subsalt.kernels import cuda_library

    if NO_GPU:  # what was found out once
        pytest.skip(NO_GPU[0])
    monkeypatch.setenv("SUBSALT_CUDA_PLUGIN", REAL_PLUGIN)
    cuda_library.forget()
    availability = cuda_library.availability()
    if not availability.devices or availability.emulated:
        cuda_library.forget()
        NO_GPU.append(f"no GPU: {availability.why or 'the plug-in is the emulated one'}")
        pytest.skip(NO_GPU[0])
    yield cuda_library
    forget_devices()


@pytest.fixture
def subsalt_command(monkeypatch, capfd):
    """Return a function that runs `subsalt` with some words in this process: (exit code, stdout, stderr)."""
    from subsalt.cli import app as cli
    from subsalt.cli import guard

    monkeypatch.setenv("NO_COLOR", "1")
    before = {number: signal.getsignal(number) for number in guard.STOPPING}

    def call(*words):
        try:
            code = guard.run(cli.app, [str(w) for w in words])
        except SystemExit as leave:
            code = leave.code
        out, err = capfd.readouterr()
        return code, out, err

    yield call
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def undrawn():
    """Return a context in which a picture is a file of one pixel: for tests of which pictures there are."""
    from PIL import Image

    from subsalt.view import style

    out = io.BytesIO()
    Image.new("RGB", (1, 1)).save(out, "PNG")

    @contextmanager
    def inside():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(style, "png_bytes", lambda fig, facts: out.getvalue())
            yield

    return inside


@pytest.fixture
def texts_are_readable(monkeypatch):
    """Look at every page that a test draws: no text reaches out of it or lies over another."""
    from page_texts import faults
    from subsalt.view import style

    seen = []
    made = style.png_bytes

    def looked(fig, facts):
        data = made(fig, facts)
        seen.extend(f"{facts.get('Title', '')}: {fault}" for fault in faults(fig))
        return data

    monkeypatch.setattr(style, "png_bytes", looked)
    yield
    assert not seen, "\n".join(seen)
