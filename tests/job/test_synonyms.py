"""Words of other programs in a job file: the key that is meant is suggested."""

import pytest

from subsalt.job.errors import SYNONYMS, model_at, suggestion, synonym
from subsalt.job.signal import STEPS
from subsalt.methods import METHODS, method_of

RTM, KIRCHHOFF = (method_of(name).job_class() for name in ("rtm", "kirchhoff"))


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        *(
            (f"source.{word}", "f0")
            for word in ("freq", "frequency", "peak_frequency", "fpeak", "Freq", "peak-frequency")
        ),
        ("source.max_frequency", "fmax"),
        ("model.velocity", "vp"),
        ("model.eps", "epsilon"),
        ("grid.dx", "spacing"),
        ("grid.nz", "shape"),
        ("data.segy", "files"),
        ("acquisition.nt", "record_length"),
        ("acquisition.sources", "shots"),
        ("propagation.npml", "layer"),
        ("propagation.space_order", "order"),
        ("imaging.imaging_condition", "condition"),
        ("output.plots", "pictures"),
        ("parallel.nthreads", "threads"),
        ("parallel.gpu", "device"),
        ("migration", "imaging"),
    ],
)
def test_the_key_that_is_meant(key, meant):
    assert suggestion(key.split("."), RTM) == f"did you mean {meant!r}?"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("velocity.vrms", "v"),
        ("velocity.velocity", "v"),
        ("kirchhoff.cdp", "crossline"),
        ("kirchhoff.stretch", "stretch_mute"),
    ],
)
def test_the_key_of_a_time_migration(key, meant):
    assert suggestion(key.split("."), KIRCHHOFF) == f"did you mean {meant!r}?"


def test_a_word_in_the_wrong_table_names_key_and_table():
    assert suggestion(["frequency"], RTM) == "did you mean 'f0' in [source]?"
    assert suggestion(["model", "freq"], RTM) == "did you mean 'f0' in [source]?"
    assert suggestion(["f0"], RTM) == "'f0' belongs in [source]"
    # a letter alone says too little
    assert suggestion(["output", "n"], RTM).startswith("known here")


def test_steps_by_other_names():
    assert synonym("agc", list(STEPS)) == "gain"
    assert synonym("Butterworth", list(STEPS)) == "bandpass"
    assert synonym("something", list(STEPS)) == ""


def test_every_word_stands_for_a_key_or_a_table_that_exists():
    names = {*STEPS, *(name for step in STEPS.values() for name in step.model_fields)}

    def walk(job, path):
        table = model_at(job, path) if path else job
        for name in table.model_fields if table is not None and len(path) < 4 else ():
            names.add(name)
            if name != "signal":
                walk(job, [*path, name])

    for method in METHODS:
        walk(method_of(method).job_class(), [])
    assert {key for keys in SYNONYMS.values() for key in keys} <= names
