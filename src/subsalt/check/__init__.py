"""Every rule that is applied before anything is computed.

A rule is a function that takes a `Context` and yields findings, each with evidence and a cure of one line. It
names the parts of the context it needs; where one is missing (the model cannot be built, say), the rule is
skipped: another rule already reports what is missing. All rules run, so that all findings come at once.

A registry that can be read: importing the modules of `SUBJECTS` fills `RULES`, and rules run in the order of
`SUBJECTS`.
"""

from __future__ import annotations

from subsalt.check.context import RULES, Context, Rule, SampledShot, rule, run_rules

__all__ = [
    "RULES",
    "SUBJECTS",
    "Context",
    "Rule",
    "SampledShot",
    "load_rules",
    "rule",
    "run_rules",
]


#: subjects in the order of their rules: a wrong unit silences what would only repeat it
SUBJECTS = (
    "units",
    "orientation",
    "null_values",
    "model_kind",
    "towed_cable",
    "tilt",
    "tilt_turn",
    "tilt_structure",
    "grids",
    "unset_spacing",
    "depth_axis",
    "line",
    "upright",
    "geometry",
    "depths",
    "reach",
    "topography",
    "turned",
    "repeated",
    "mutes",
    "steps",
    "taper",
    "traces",
    "moveout",
    "first_breaks",
    "mirrored",
    "echoes",
    "ghosts",
    "polarity",
    "stability",
    "contrasts",
    "spectrum",
    "machine",
)


def load_rules() -> list[Rule]:
    """Import the modules that hold the rules, and return all rules in their order."""
    from importlib import import_module

    for subject in SUBJECTS:
        import_module(f"subsalt.check.{subject}")
    return sorted(RULES, key=lambda r: SUBJECTS.index(r.subject))
