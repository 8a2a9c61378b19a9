"""How much memory a run may fill with its output."""

from __future__ import annotations

import sys
from pathlib import Path

SHARE = 0.5  # of the memory that is free now
COPIES = 3  # of the output while a run ends: its pieces, the whole, q and p
SMALL = 2**18  # bytes that are always there: to ask the system takes as long as a short run
_CGROUP = Path("/sys/fs/cgroup")


def available() -> float:
    """Bytes that a process can still get without swapping, as far as the system tells; infinite when it does not."""
    return min(_free(), _left_of_group(), _left_of_limit())


def limit() -> float:
    """Bytes of output that a run may keep."""
    return SHARE / COPIES * available()


def exceeded_by(size: float) -> bool:
    """Whether output of this size is more than a run may keep."""
    return size > SMALL and size > limit()


def gigabytes(size: float) -> str:
    """A size for people."""
    return f"{size / 1e9:.3g} GB"


def _free() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError):  # another system
        pass
    return float("inf")


def _left_of_group() -> float:
    """What a container has left."""
    try:
        return float((_CGROUP / "memory.max").read_text()) - float((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):  # none, or "max"
        return float("inf")


def _left_of_limit() -> float:
    """What `ulimit -v` leaves."""
    if sys.platform != "linux":
        return float("inf")
    import resource

    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return float("inf")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return max(0.0, most - pages * float(resource.getpagesize()))
