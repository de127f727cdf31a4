"""What a run will take on given ranks, decided before anything is allocated: `plan_job`, and `group_size` for a run."""

from subsalt.plan.device import Device
from subsalt.plan.grouping import Decision, group_size, group_sizes
from subsalt.plan.plan import Plan
from subsalt.plan.planning import plan_job, plan_job_on_nodes
from subsalt.plan.world import World

__all__ = [
    "Decision",
    "Device",
    "Plan",
    "World",
    "group_size",
    "group_sizes",
    "plan_job",
    "plan_job_on_nodes",
]
