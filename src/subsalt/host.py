"""Which machine this is: processor, cores, caches, memory, and what of it is free. Nothing that names a person, host
or path.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path
from typing import Any


def human(nbytes: float) -> str:
    """Return a size in B, kB, MB, GB or TB."""
    value = float(nbytes)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(value) < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def machine_facts() -> dict[str, Any]:
    """Return processor, cores this process may use, and memory in bytes."""
    return {
        "cpu": processor(),
        "cores": usable_cores(),
        "ram_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


#: how to have kernels for every processor (W707)
ALL_LEVELS = "make build LEVELS=all in the clone compiles them; wheels have all"
#: x86-64-v2 beyond what every x86-64 processor has, as Linux names it
V2_FLAGS = ("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3")


@cache
def missing_instructions(cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """Return the instructions of x86-64-v2 that this processor lacks, as Linux names them.

    NumPy ends the process where they are missing, without a word; so this reads a few lines of text, before anything
    compiled is loaded. Nothing is missing where the file does not say.
    """
    try:
        with cpuinfo.open() as lines:
            for line in lines:  # the first core: on machines of hundreds the whole file takes long
                if line.startswith("flags"):
                    here = line.partition(":")[2].split()
                    return [flag for flag in V2_FLAGS if flag not in here]
                if not line.strip():
                    break
    except OSError:
        pass
    return []


def processor(cpuinfo: Path = Path("/proc/cpuinfo"), caches: dict[str, int] | None = None) -> str:
    """Return the processor by name, family, model and caches.

    Names alone do not tell processors apart: virtual machines call a Zen 4 and a Zen 5 "AMD EPYC", and kernels differ
    on them by half.

    Parameters
    ----------
    cpuinfo : Path
        File of Linux about the first core.
    caches : dict, optional
        Bytes by level, as of `cache_bytes`.
    """
    fields: dict[str, str] = {}
    try:
        for line in cpuinfo.read_text().splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    known = [
        f"{word} {fields[key]}"
        for word, key in (("family", "cpu family"), ("model", "model"))
        if key in fields
    ]
    for level, size in (cache_bytes() if caches is None else caches).items():
        known.append(f"{level} {size >> 20} MiB" if size >= 1 << 20 else f"{level} {size >> 10} KiB")
    name = fields.get("model name") or platform.machine()  # platform.processor would start a program
    return f"{name} ({', '.join(known)})" if known else name


def usable_cores() -> int:
    """Return the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def gpus_of_driver(root: Path = Path("/proc/driver/nvidia/gpus")) -> list[str]:
    """Return the names of the GPUs that the NVIDIA driver lists, whether a program can use them or not.

    Parameters
    ----------
    root : Path
        Where the driver lists them: one folder each, with a line ``Model: ...`` in its file ``information``.
    """
    names = []
    for file in sorted(root.glob("*/information")):
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        names += [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("Model:")]
    return names


def cache_bytes(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> dict[str, int]:
    """Return the sizes of the data caches that the first core sees, such as ``{"L1": 49152, "L2": ...}``.

    Parameters
    ----------
    root : Path
        Where Linux lists them: one folder each, with files ``level``, ``type`` and ``size``.
    """
    sizes = {}
    for folder in sorted(root.glob("index*")):
        try:
            level, kind, size = ((folder / n).read_text().strip() for n in ("level", "type", "size"))
        except OSError:
            continue
        unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(size[-1:], 1)
        if kind != "Instruction" and size.rstrip("KMG").isdigit():
            sizes[f"L{level}"] = int(size.rstrip("KMG")) * unit
    return dict(sorted(sizes.items()))


def available_memory() -> int:
    """Return the bytes this process may still use: the least of what the machine has free and its control group."""
    free = _meminfo("MemAvailable")
    for limit_file, used_file in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        limit, used = _number(limit_file), _number(used_file)
        if limit is not None and used is not None:
            free = min(free, max(0, limit - used))
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        free = min(free, max(0, soft - _status("VmSize")))
    return free


def _meminfo(key: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def resident() -> int:
    """Return the bytes of this process that are in memory now, shared pages included."""
    return _status("VmRSS")


def peak_resident() -> int:
    """Return the most bytes of this process that were in memory so far, shared pages included.

    `getrusage` does not say it: a process takes the largest size of the one that started it over, so that a run started
    by a large program would seem as large.
    """
    return _status("VmHWM")


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None


def kills_for_memory() -> int | None:
    """Return how many processes this system has ended for lack of memory since its boot, None when it does not say."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)
