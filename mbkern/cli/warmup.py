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
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
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
    bar, done, failed = Tally(total, "compiled"), 0, []
    watched = sys.stderr is not None and sys.stderr.isatty()
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"))
    try:
        for stage in stages:
            jobs = {pool.submit(warming.compile_job, job): job for job in stage}
            for finished in as_completed(jobs):
                done += 1
                error = finished.exception()
                if error is not None:
                    failed.append(f"{jobs[finished]}: {' '.join(str(error).split())}")
                if watched:
                    bar.show(done)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    bar.show(done, last=True)
    for line in failed:
        print(f"mbkern warmup: {line}", file=sys.stderr)
    print(f"{total - len(failed)} of {total} compiled or found on disk by {count} processes in "
          f"{time.perf_counter() - begin:.0f} s; they are kept in {_folder()}")
    return 1 if failed else 0


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
