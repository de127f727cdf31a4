"""The command `subsalt lab`: one sub-command per measurement, and the options that several of them share."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

#: the module of every sub-command, in the order of the help; it is imported when the sub-command is asked for
MODULES = {
    "memory": "lab",
    "kernels": "lab",
    "barriers": "barriers",
    "storage": "storage",
    "checkpoint": "checkpoint",
    "collectives": "collectives",
    "io": "io",
    "machine": "machine",
    "report": "machine",
    "model": "model",
    "network": "network",
    "profile": "profile",
    "scaling": "scaling",
}


class Measurements(TyperGroup):
    """The sub-commands of `MODULES`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names as the help lists them."""
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a sub-command, None when there is none of that name."""
        if cmd_name not in MODULES:
            # what is meant is looked for among all of them
            self.commands.update({name: self.get_command(ctx, name) for name in MODULES})
            return None
        import_module(f"subsalt_lab.cli.{MODULES[cmd_name]}")
        known: Any = typer.main.get_command(lab)
        return known.commands[cmd_name]


lab = typer.Typer(
    name="lab",
    cls=Measurements,
    short_help="Measure this machine, and programs on it.",
    add_completion=False,
    help="Measure this machine, and what programs on it do, ours or any other.",
    epilog="Example: subsalt lab kernels --quick. A result made under load is marked noisy.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@lab.callback()
def _root() -> None:
    """Hold the sub-commands, also where only one is known so far."""


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object last on standard output.")]
Threads = Annotated[
    list[str] | None,
    typer.Option(help="Numbers of threads, such as 1,2; one and all cores when left out."),
]
Isa = Annotated[
    list[str] | None,
    typer.Option(help="Instruction sets, such as v3,v4, or all; the one in use when left out."),
]
Rounds = Annotated[int | None, typer.Option(min=3, max=1000, help="Samples of each case.")]
MachineFile = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", readable=False, help="machine.json; in the user's cache folder when left out."
    ),
]
Table = Annotated[str, typer.Option(help="How the table is written: text, markdown or csv.")]


@lab.command(
    short_help="Bytes and multiply-adds per second.",
    epilog="Example: subsalt lab memory --threads 1,2 --isa all; subsalt lab memory --device cuda",
)
def memory(
    threads: Threads = None,
    isa: Isa = None,
    rounds: Rounds = None,
    device: Annotated[
        str, typer.Option(help="cpu, or cuda: the memory of the GPU, its link to the host, and launches.")
    ] = "cpu",
    table: Table = "text",
    out: MachineFile = None,
    json: Json = False,
) -> None:
    """Measure bytes per second of memory (update in place, triad, copy) and multiply-adds per second."""
    from subsalt_lab.cli import commands as lab_commands

    if lab_commands.on_gpu(device):
        lab_commands.device_memory({"--isa": isa, "--threads": threads}, rounds, table, out, json)
        return
    lab_commands.memory(threads, isa, rounds, table, out, json)


@lab.command(
    short_help="Point-steps per second of every kernel.",
    epilog="Example: subsalt lab kernels --quick; subsalt lab kernels --medium vti --order 8 --isa v3,v4; "
    "subsalt lab kernels --copies 2 --medium vti; subsalt lab kernels --device cuda",
)
def kernels(
    medium: Annotated[
        list[str] | None, typer.Option(help="Media, such as isotropic,vti, or kirchhoff; all when left out.")
    ] = None,
    order: Annotated[
        list[str] | None, typer.Option(help="Orders in space: 4, 8 or 4,8; both when left out.")
    ] = None,
    isa: Isa = None,
    threads: Threads = None,
    storage: Annotated[
        list[str] | None, typer.Option(help="Model arrays: f32, or f32,u16; both when left out.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("-n", help="Points per axis, layer included; 256, on a GPU 512.")
    ] = None,
    rounds: Rounds = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Order 8, float32, all cores, 3 rounds: half a minute.")
    ] = False,
    device: Annotated[
        str, typer.Option(help="cpu, or cuda: the steps on the GPU, as shares of its copy bandwidth.")
    ] = "cpu",
    copies: Annotated[
        list[str] | None,
        typer.Option(
            help="Independent copies at the same time, such as 2 or 1,2,4: their throughput instead."
        ),
    ] = None,
    table: Table = "text",
    out: MachineFile = None,
    json: Json = False,
) -> None:
    """Measure point-steps per second of every kernel, and its share of the roofs of the same run."""
    from subsalt_lab.cli import commands as lab_commands

    if lab_commands.on_gpu(device):
        unused = {"--isa": isa, "--threads": threads, "--copies": copies}
        lab_commands.device_kernels(unused, medium, order, storage, n or 512, rounds, quick, table, out, json)
        return
    n = n or 256

    if copies is not None:
        lab_commands.copies(copies, medium, order, isa, threads, storage, n, rounds, quick, table, out, json)
        return
    lab_commands.kernels(medium, order, isa, threads, storage, n, rounds, quick, table, out, json)
