"""The performance lab: what this machine gives, and how much of it the kernels take.

One module per measurement, its question in the first line of its docstring. Every measurement returns a `Result`; what
a plan can use goes into ``machine.json`` as well.
"""

from pathlib import Path

#: what the codes that only the lab raises mean, for `subsalt explain`
MESSAGES = Path(__file__).with_name("messages.toml")
