"""`[checkpoint]`: what it means, what it refuses, and which keys belong to a run."""

import tomllib

import pytest

from job_files import MIGRATE, write_files, write_job
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.errors import ConfigError, FindingsError
from subsalt.methods.rtm.job import Job


def job(**checkpoint):
    """Return a job without files."""
    raw = {"model": {"vp": 2000}, "grid": {"spacing": 10, "shape": [8, 6]}, "source": {"f0": 15}}
    return Job.from_dict(raw | ({"checkpoint": checkpoint} if checkpoint else {}), "/folder")


def test_without_the_section_everything_is_left_to_the_program():
    options = job().checkpoint_options
    assert options == CheckpointOptions()
    assert options.strategy == options.place == "auto"
    assert options.exact
    assert options.memory is options.slots is options.block is None


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("2GB", 2_000_000_000),
        ("1.5 GiB", 3 << 29),
        ("900 mb", 900_000_000),
        ("900M", 900 << 20),
        (10**9, 10**9),
        ("auto", None),
    ],
)
def test_amounts_of_memory(given, size):
    assert job(memory=given).checkpoint_options.memory == size


@pytest.mark.parametrize("given", [2, "2", "12 kB", "2 furlongs", "plenty", True])
def test_what_is_no_amount_of_memory(given):
    with pytest.raises(FindingsError, match=r"checkpoint\.memory"):
        job(memory=given)


def test_the_resolved_job_reads_back():
    given = job(
        strategy="boundary", place="disk", directories=["a", "/b"], threads=3, memory="2GB", restart_every=200
    )
    again = Job.from_dict(tomllib.loads(given.resolved_toml()), "/folder")
    assert again.checkpoint_options == given.checkpoint_options
    assert again.checkpoint_options.directories == ("/folder/a", "/b")
    assert again.checkpoint_options.restart_every == 200
    assert not again.checkpoint_options.exact


@pytest.mark.parametrize(
    "pair",
    [
        {"strategy": "store", "slots": 5},
        {"strategy": "auto", "block": 4},
        {"strategy": "boundary", "disk_slots": 2},
        {"strategy": "store", "place": "both"},
        {"strategy": "revolve", "place": "disk", "slots": 3},
        {"strategy": "revolve", "place": "memory", "disk_slots": 3},
        {"strategy": "boundary", "exact": True},
        {"compression": "zfp", "exact": True},
        {"compression": "zfp", "place": "memory"},
        {"strategy": "boundary", "compression": "zfp"},
        {"exact": True, "compression": "f16"},
        {"compression": "f16"},
        {"exact": False, "compression": "f16", "place": "device"},
        {"exact": False, "strategy": "boundary", "compression": "f16"},
    ],
)
def test_contradictions_are_named_in_job_and_options(pair):
    with pytest.raises(ConfigError) as caught:
        CheckpointOptions(**pair)
    assert caught.value.code == "E664"
    with pytest.raises(FindingsError) as raised:
        job(**pair)
    (finding,) = raised.value.findings
    assert finding.code == "E664"
    assert "checkpoint" in finding.message
    assert list(pair)[-1] in finding.message
    assert str(list(pair.values())[-1]).lower() in finding.message
    assert finding.fix


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"stratagy": "store"}, "strategy"),
        ({"strategy": "resolve"}, "revolve"),
        ({"slots": -1}, "slots"),
        ({"slots": 1.5}, "slots"),
        ({"restart_every": 0}, "restart_every"),
        ({"tolerance": 0}, "tolerance"),
        ({"directories": ["a", "a"]}, "twice"),
        ({"directories": [" "]}, "empty"),
    ],
)
def test_wrong_values_are_named(wrong, says):
    with pytest.raises(FindingsError) as caught:
        job(**wrong)
    (finding,) = caught.value.findings
    assert says in f"{finding.message} {finding.fix}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "x"},
        {"slots": -1},
        {"tolerance": 1.0},
        {"directories": "scratch"},
        {"restart_every": -3},
        {"memory": 0},
    ],
)
def test_options_check_themselves(wrong):
    with pytest.raises(ConfigError) as caught:
        CheckpointOptions(**wrong)
    assert next(iter(wrong)) in caught.value.message


def test_lossless_keys_are_no_part_of_a_run(tmp_path):
    write_files(tmp_path)

    def run_id(section):
        return Job.from_toml(write_job(tmp_path, f"{MIGRATE}\n[checkpoint]\n{section}\n")).run_id()

    plain = Job.from_toml(write_job(tmp_path, MIGRATE)).run_id()
    for section in (
        'strategy = "revolve"\nslots = 3',
        'memory = "2GB"\nplace = "disk"',
        'keep = "both"',
        "exact = false",
    ):
        assert run_id(section) == plain
    lossy = [
        run_id('strategy = "boundary"'),
        *(run_id(f'compression = "zfp"\ntolerance = {t}') for t in (1e-3, 1e-4)),
        run_id('compression = "f16"\nexact = false'),
    ]
    assert len({plain, *lossy}) == 5
    assert run_id('compression = "f16"\nexact = false\ntolerance = 0.1\nstrategy = "revolve"') == lossy[-1]


def test_f16_must_be_asked_for_with_exact_false():
    with pytest.raises(ConfigError) as caught:
        CheckpointOptions(compression="f16")
    assert caught.value.fix == 'set both compression = "f16" and exact = false'
    options = job(compression="f16", exact=False).checkpoint_options
    assert (options.compression, options.exact, options.halved) == ("f16", False, True)
