"""How pytest-xdist shares the tests out: a file to a process, the longest files first, each notebook on its own.

What a file costs is what it compiles, so its tests stay together. xdist would begin with the files that have the most
tests; then one that compiles for minutes may come last, and all processors but one wait for it. Files of a folder have
much in common: one of each folder in turn, so that two processes seldom compile the same at the same time.
"""

from __future__ import annotations

from collections import Counter

import pytest
from xdist.scheduler import LoadScopeScheduling

EACH_ALONE = "tests/test_notebooks.py::test_runs"
# Those that take more than about half a minute of a processor on an empty cache, longest first.
LONGEST = (
    "tests/test_operations.py", EACH_ALONE, "tests/analytic/test_quasi.py", "tests/test_docs.py",
    "tests/test_bad_drives.py", "tests/core/test_cache.py", "tests/test_gradient.py", "tests/test_chaos_and_orbits.py",
    "tests/io/test_urdf.py", "tests/test_derivatives.py", "tests/test_formulations.py", "tests/test_accuracy.py",
    "tests/test_invariance.py", "tests/fuzz/test_fuzz_frames.py", "tests/test_sweeps.py", "tests/batch/test_vary.py",
    "tests/test_bench.py",
)


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def in_turn(nodeids: list[str]) -> dict[str, tuple[int, int]]:
    """For each test what its place follows: that in `LONGEST`, and how many files of its folder come before its own."""
    folders: Counter[str] = Counter()
    turns = {}
    for file in dict.fromkeys(map(file_of, nodeids)):
        folder = file.rpartition("/")[0]
        turns[file] = folders[folder]
        folders[folder] += 1
    return {nodeid: (next((k for k, name in enumerate(LONGEST) if nodeid.startswith(name)), len(LONGEST)),
                     turns[file_of(nodeid)]) for nodeid in nodeids}


class LongestFirst(LoadScopeScheduling):
    """Units of work are files, in the order in which their tests were collected.

    A test that ends its process fails, and is not tried again; the others of its file go to another process. (xdist's
    own scheduler gives a new process the first unit of the queue and waits for its next report: for ever, where nothing
    is left to do in that unit, or one test alone, which a process runs only when it knows what comes after it.)
    """

    def __init__(self, config, log=None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(EACH_ALONE) else file_of(nodeid)

    def remove_node(self, node) -> str | None:
        """The test that was running when the process ended, if there was one."""
        workload = self.assigned_work.pop(node)
        left = {scope: [nodeid for nodeid, done in unit.items() if not done] for scope, unit in workload.items()}
        running = next((nodeids.pop(0) for nodeids in left.values() if nodeids), None)
        for scope, nodeids in left.items():
            if nodeids:
                self.workqueue[scope] = dict.fromkeys(nodeids, False)
        if running is not None:
            for other in self.nodes:
                self._reschedule(other)
        return running

    def _reschedule(self, node) -> None:
        """More units where there is less to do than two tests, and the end where there are no more units."""
        super()._reschedule(node)
        while self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            self._assign_work_unit(node)
        if not self.workqueue and self._pending_of(self.assigned_work[node]) < 2:
            node.shutdown()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Share files out to processes, the longest first."""
    return LongestFirst(config, log) if config.getvalue("dist") == "loadfile" else None
