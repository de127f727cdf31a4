"""Two "nodes" on one machine: network namespaces joined by one link (veth), slowed down by a token bucket.

Each node is a network, host-name and mount namespace held by a sleeping process; nothing of it is visible outside, and
all of it goes when that process ends. Both see the same files and the same processor.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

NAMES = ("alpha", "beta")
ADDRESSES = {"alpha": "10.99.0.1", "beta": "10.99.0.2"}
WIRE = "wire"
PROGRAMS = ("unshare", "nsenter", "ip", "tc", "mount", "hostname")

# where ip and tc are, also for those whose PATH leaves the programs of root out
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def enter_private_namespace(argv: list[str]) -> None:
    """Start this program again where links may be made: as root of a user namespace, unless root already."""
    missing = [p for p in PROGRAMS if shutil.which(p) is None]
    if missing:
        sys.exit(f"not on PATH: {', '.join(missing)} (Debian: util-linux, iproute2, mount, hostname)")
    if os.environ.get("TWO_NODES_INSIDE"):
        return
    os.environ["TWO_NODES_INSIDE"] = "1"
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    os.execvp("unshare", ["unshare", *as_root, "--mount", "--net", "--", sys.executable, *argv])


class Nodes:
    """Both nodes and their link.

    Parameters
    ----------
    folder : Path
        For the table of hosts and the remote shell.
    rate : str
        What the link carries in each direction, such as ``200mbit``; ``"none"`` leaves it as fast as it is.
    """

    def __init__(self, folder: Path, rate: str) -> None:
        self.folder = folder
        self._holders: list[subprocess.Popen] = []
        hosts = folder / "hosts"
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in ADDRESSES.items()))
        try:
            self.pids = {name: self._hold(name, hosts) for name in NAMES}
            a, b = (self.pids[n] for n in NAMES)
            self._inside(a, "ip", "link", "add", WIRE, "type", "veth", "peer", "name", WIRE, "netns", str(b))
            for name, pid in self.pids.items():
                self._inside(pid, "ip", "link", "set", "lo", "up")
                self._inside(pid, "ip", "addr", "add", f"{ADDRESSES[name]}/24", "dev", WIRE)
                self._inside(pid, "ip", "link", "set", WIRE, "up")
                if rate != "none":
                    limit = ["rate", rate, "burst", "256kb", "latency", "50ms"]
                    self._inside(pid, "tc", "qdisc", "add", "dev", WIRE, "root", "tbf", *limit)
            for pid in self.pids.values():
                self._wait_for_carrier(pid)
        except BaseException:
            self.close()
            raise
        self.shell = folder / "remote-shell"
        table = "\n".join(f"  {n}|{ADDRESSES[n]}) pid={p} ;;" for n, p in self.pids.items())
        self.shell.write_text(
            "#!/bin/sh\n# HOST COMMAND...: run a command on a node\n"
            f'case "$1" in\n{table}\n  *) echo "no node $1" >&2; exit 255 ;;\nesac\nshift\n'
            'exec nsenter --target "$pid" --net --uts --mount -- sh -c "$*"\n'
        )
        self.shell.chmod(0o700)

    def _hold(self, name: str, hosts: Path) -> int:
        """Return the process that holds a node."""
        # /sys anew: UCX looks there for the interfaces of its node
        make = f'hostname {name} && mount --bind "$0" /etc/hosts && mount -t sysfs none /sys'
        script = f"{make} && exec sleep infinity"
        words = ["unshare", "--net", "--uts", "--mount", "--", "sh", "-c", script, str(hosts)]
        holder = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        self._holders.append(holder)
        until = time.monotonic() + 10
        while Path(f"/proc/{holder.pid}/comm").read_text().strip() != "sleep":
            if holder.poll() is not None or time.monotonic() > until:
                sys.exit(f"node {name} cannot be made: are namespaces allowed here?")
            time.sleep(0.01)
        return holder.pid

    def _wait_for_carrier(self, pid: int) -> None:
        """Wait until the link's end in a node says that it is up; what starts before finds no network."""
        words = [
            "nsenter",
            "--target",
            str(pid),
            "--mount",
            "--net",
            "--",
            "cat",
            f"/sys/class/net/{WIRE}/operstate",
        ]
        until = time.monotonic() + 10
        while subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() != "up":
            if time.monotonic() > until:
                sys.exit("the link does not come up")
            time.sleep(0.02)

    def _inside(self, pid: int, *words: str) -> None:
        subprocess.run(["nsenter", "--target", str(pid), "--net", "--", *words], check=True)

    def mpiexec(self, mpiexec: str) -> list[str]:
        """Return the launcher that puts ranks on both nodes in turn, over TCP; ``-n RANKS`` follows."""
        # without this, UCX finds that both nodes share their memory, and the link stays idle
        transport = ["-genv", "UCX_TLS", "tcp,self"]
        return [
            *(mpiexec, "-launcher", "rsh", "-launcher-exec", str(self.shell)),
            *("-iface", WIRE, "-hosts", ",".join(ADDRESSES.values()), *transport),
        ]

    def at(self, name: str, words: list[str]) -> list[str]:
        """Return the words that run a command on a node."""
        return ["nsenter", "--target", str(self.pids[name]), "--net", "--uts", "--mount", "--", *words]

    def carried(self) -> int:
        """Return the bytes that went through the link so far, both directions, as the interface counts them."""
        for line in Path(f"/proc/{self.pids[NAMES[0]]}/net/dev").read_text().splitlines():
            name, _, numbers = line.partition(":")
            if name.strip() == WIRE:
                fields = numbers.split()
                return int(fields[0]) + int(fields[8])
        raise RuntimeError(f"no interface {WIRE}")

    def close(self) -> None:
        """End both nodes, and whatever still runs in them."""
        for holder in self._holders:
            for pid in _in_namespace(holder.pid):
                if pid != holder.pid:
                    _kill(pid)
            _kill(holder.pid)
            holder.wait()

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _in_namespace(pid: int) -> list[int]:
    """Return the processes of the network namespace of a process."""
    try:
        home = os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return []
    calls = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.readlink(f"/proc/{entry}/ns/net") == home:
                    calls.append(int(entry))
            except OSError:
                continue
    return calls


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, 9)
