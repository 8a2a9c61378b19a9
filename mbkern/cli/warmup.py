"""Compile ahead what programs will call, in parallel; all later programs find the machine code on disk.

examples:
  python -m mbkern warmup                                       right-hand sides, batches, runs: what most programs use
  python -m mbkern warmup --all                                 every operation, method and integrator
  python -m mbkern warmup simulate energy --model robot.urdf    by name, for one machine
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

import numba

from .. import warming
from ..errors import MethodError
from ..integrate.progress import Tally
from ..methods import METHODS
from .checks import whole
from .models import HELP, add_model_arguments, model_named

ABOUT = "compile ahead, in parallel"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="what to compile, as in System.warmup: rhs, rhs_batch, simulate, energy, ...")
    parser.add_argument("--all", action="store_true", help="everything there is, which takes minutes")
    parser.add_argument("--model", help=f"for one machine alone: {HELP}; by default for trees of hinges, trees of any "
                                        "joints and closed loops")
    parser.add_argument("--jobs", type=whole, metavar="N", help="processes, by default one for each processor")
    add_model_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Compile, with a bar that shows how far it is; 0 when all is done, 1 when something could not be compiled."""
    if options.jobs is not None and options.jobs < 1:
        raise MethodError(f"--jobs {options.jobs}: expected at least 1")
    if options.all and options.names:
        raise MethodError(f"--all: compiles everything, {options.names[0]!r} too; give names or --all")
    model = model_named(options.model, options) if options.model else None
    stages = warming.stages(options.names, options.all, model)
    total, begin = sum(map(len, stages)), time.perf_counter()
    count = min(options.jobs or _processors(), max(map(len, stages)))
    bar, failed = Tally(total, "compiled"), []
    watched = sys.stderr is not None and sys.stderr.isatty()
    minutes = sum(job.seconds for stage in stages for job in stage) / 60 / count
    if watched and minutes > 1.0:
        print(f"{total} to compile by {count} processes: about {minutes:.0f} min where nothing is on disk yet; ctrl-C "
              "ends it, what is done is kept", file=sys.stderr)
    for done, (job, error) in enumerate(_compiled(stages, count), 1):
        if error is not None:
            failed.append(f"{job}: {' '.join(str(error).split())}")
        if watched:
            bar.show(done)
    bar.show(total, last=True)
    for line in failed:
        print(f"mbkern warmup: {line}", file=sys.stderr)
    print(f"{total - len(failed)} of {total} compiled or found on disk by {count} processes in "
          f"{time.perf_counter() - begin:.0f} s; they are kept in {_folder()}")
    return 1 if failed else 0


def _compiled(stages: list[list[warming.Job]], count: int) -> Iterator[tuple[warming.Job, BaseException | None]]:
    """Jobs as they are finished, each with what went wrong; whoever stops asking ends the processes."""
    before = {*multiprocessing.active_children()}
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"))
    try:
        for stage in stages:
            try:
                with _deaf():  # processes start when they get their first job
                    jobs = {pool.submit(warming.compile_job, job): job for job in stage}
            except BrokenProcessPool as error:
                yield from [(job, error) for job in stage]
                continue
            for finished in as_completed(jobs):
                yield jobs[finished], finished.exception()
        pool.shutdown()
    except BaseException:  # ctrl-C: in the middle of what may take a minute; files on disk are written as a whole
        for process in {*multiprocessing.active_children()} - before:
            process.terminate()
        pool.shutdown(cancel_futures=True)
        raise


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are started here never hear ctrl-C: it is for the one that shows how far it is, which ends them.
    """
    if threading.current_thread() is not threading.main_thread():  # where signals cannot be set
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _folder() -> str:
    """Where machine code is kept."""
    if numba.config.CACHE_DIR:  # type: ignore[attr-defined]
        return str(numba.config.CACHE_DIR)  # type: ignore[attr-defined]
    of_core = METHODS["emh-ldl"].rhs.stats.cache_path  # None where no folder can be written to
    return str(Path(of_core).parent) if of_core else "no folder: none can be written to"
