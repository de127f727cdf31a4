"""Plans: what a run needs on given ranks, decided before anything is allocated."""

from subsalt.plan.gpu import PlannedDevice
from subsalt.plan.planning import plan_job, plan_job_on_nodes
from subsalt.plan.world import World, group_sizes

__all__ = [
    "PlannedDevice",
    "World",
    "group_sizes",
    "plan_job",
    "plan_job_on_nodes",
]
