"""How pytest-xdist shares the tests out: a file or folder to a process, the longest first; notebooks last, each alone.

What a test costs is what it compiles, and Numba's part of that (more than half) is spared where a process has compiled
something like it before: files that compile the same kernels stay together. Notebooks have processes of their own, in
which all of it would be done again: they come last, when what they need is on disk. xdist would begin with what has the
most tests; then something that compiles for minutes may come last, and all processors but one wait for it. Files of a
folder have much in common: one of each folder in turn, so that two processes seldom compile the same at the same time.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest
from xdist.scheduler import LoadScopeScheduling

EACH_ALONE = "tests/test_notebooks.py::test_runs"
TOGETHER = ("tests/analytic/", "tests/batch/", "tests/constraints/", "tests/embed/", "tests/export/",
            "tests/integrate/")
# Those that take more than about half a minute of a processor on an empty cache. The first process begins with kernels
# on lanes, and goes on with those in tests/batch; the second with closed loops.
LONGEST = (
    "tests/test_operations.py", "tests/constraints/", "tests/analytic/", "tests/batch/", "tests/export/",
    "tests/integrate/", "tests/embed/", "tests/test_formulations.py", "tests/viz/test_viewer.py",
    "tests/core/test_cache.py", "tests/flops/test_report.py", "tests/flops/test_residuals.py", "tests/test_docs.py",
    "tests/test_dense.py", "tests/fuzz/test_fuzz_frames.py", "tests/flops/test_machine_code.py",
)


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def unit_of(nodeid: str) -> str:
    """What goes to one process: a test alone, the files of a folder, or a file."""
    if nodeid.startswith(EACH_ALONE):
        return nodeid
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), file_of(nodeid))


def place_of(nodeid: str) -> int:
    """That in `LONGEST`; what is not there comes behind, and the notebooks at the end."""
    if nodeid.startswith(EACH_ALONE):
        return len(LONGEST) + 1
    return next((k for k, name in enumerate(LONGEST) if nodeid.startswith(name)), len(LONGEST))


def in_turn(nodeids: list[str]) -> dict[str, tuple[int, int]]:
    """For each test what its place follows: `place_of`, and how many files of its folder come before its own."""
    folders: Counter[str] = Counter()
    turns = {}
    for file in dict.fromkeys(map(file_of, nodeids)):
        folder = file.rpartition("/")[0]
        turns[file] = folders[folder]
        folders[folder] += 1
    return {nodeid: (place_of(nodeid), turns[file_of(nodeid)]) for nodeid in nodeids}


class LongestFirst(LoadScopeScheduling):
    """Units of work in the order in which their tests were collected.

    A test that ends its process fails, and is not tried again; the others of its file go to another process. (xdist's
    own scheduler gives a new process the first unit of the queue and waits for its next report: for ever, where nothing
    is left to do in that unit, or one test alone, which a process runs only when it knows what comes after it.)
    """

    def __init__(self, config, log=None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

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

    def _assign_work_unit(self, node) -> None:
        """To a process that has ended too, as long as nobody knows: `remove_node` takes back what it was given."""
        with suppress(OSError):
            super()._assign_work_unit(node)

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
