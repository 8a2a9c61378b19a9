"""How pytest-xdist shares the tests out: a file to a process, the longest files first, each notebook on its own.

What a file costs is what it compiles, so its tests stay together. xdist would begin with the files that have the most
tests; then one that compiles for minutes may come last, and all processors but one wait for it.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

# Processor seconds on an empty cache, of all that take more than about half a minute, longest first.
LONGEST = (
    "tests/test_operations.py", "tests/test_notebooks.py::test_runs", "tests/analytic/test_quasi.py",
    "tests/test_bad_drives.py", "tests/test_docs.py", "tests/core/test_cache.py", "tests/io/test_urdf.py",
    "tests/test_derivatives.py", "tests/test_gradient.py", "tests/test_formulations.py", "tests/test_invariance.py",
    "tests/fuzz/test_fuzz_frames.py", "tests/test_sweeps.py", "tests/batch/test_vary.py", "tests/test_bench.py",
)
EACH_ALONE = "tests/test_notebooks.py::test_runs"


def rank(nodeid: str) -> int:
    """Place of a test in the order of `LONGEST`; those that are not in it come last."""
    return next((k for k, name in enumerate(LONGEST) if nodeid.startswith(name)), len(LONGEST))


class LongestFirst(LoadScopeScheduling):
    """Units of work are files, in the order in which their tests were collected, see `rank`."""

    def __init__(self, config, log=None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(EACH_ALONE) else nodeid.split("::", 1)[0]
