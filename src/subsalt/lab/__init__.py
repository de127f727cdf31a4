"""The performance lab: what this machine gives, and how much of it the kernels take.

One module per measurement, its question in the first line of its docstring. Every measurement returns a `Result`; what
a plan can use goes into ``machine.json`` as well.
"""

#: measurement -> its module, with a function ``measure(settings, ...) -> Result``
MEASUREMENTS = {
    "memory": "subsalt.lab.memory",
    "kernels": "subsalt.lab.kernels",
    "storage": "subsalt.lab.storage",
}
