"""Sweeps over a caller's own record array against `System.rhs` by the same method: what dense, checked records cost.

    python bench/user_arrays.py [--quick | --write]

The competitors take turns; the ratio is the median over the turns. "compiled" is "emh-ldl" from compiled code, without
the checks, against `System.rhs` from Python. With `--write` the table goes to docs/howto/own_joints.md.
"""

from __future__ import annotations

import time

import numpy as np
from common import arguments, interleaved, markdown, publish, ratio
from numba import njit

import mbkern as mb
from mbkern.sweeps import extended_ldl, momentum_rates


@njit(cache=True)
def compiled(blocks, p, tau, qdot, pdot, v, mu, work, repeats):
    """Hamilton's equations of the records, so many times."""
    code = -1
    for _ in range(repeats):
        code = extended_ldl(blocks, p, qdot, v, mu, work)
        momentum_rates(blocks, tau, qdot, v, mu, pdot, work)
    return code


def machines(quick: bool) -> dict[str, mb.Model]:
    sizes = (10, 100) if quick else (3, 10, 30, 100, 300)
    found = {f"chain of {n} hinges": mb.zoo.chain(n) for n in sizes}
    found |= {f"random tree of {n}": mb.zoo.random_tree(n, seed=1) for n in sizes}
    return found


def main() -> None:
    options = arguments("sweeps over a caller's own records", publishes=True)
    rows = []
    for name, model in machines(options.quick).items():
        system = mb.System(model, "emh-ldl")
        q, u = model.random_state(seed=1)
        p, blocks = system.momenta(q, u), system.block_records(q)
        tau, work, N, n = np.empty(0), mb.sweeps.work(blocks), model.n_bodies, model.nv
        qdot, pdot, v, mu = np.empty(n), np.empty(n), np.empty((N, 6)), np.empty((N, 6))
        calls = {}
        for method in mb.sweeps.METHODS:
            competitor = mb.System(model, method)
            calls[f"rhs {method}"] = lambda s=competitor, q=q, p=p: s.rhs(q, p)
            calls[method] = lambda b=blocks, p=p, m=method: mb.sweeps.rhs(b, p, method=m)
        calls["compiled"] = lambda a=(blocks, p, tau, qdot, pdot, v, mu, work, 1): compiled(*a)
        times = interleaved(calls, repeats=11 if options.quick else 31, clock=time.thread_time)
        ratios = [f"{ratio(times, method, f'rhs {method}'):.2f}" for method in mb.sweeps.METHODS]
        rows.append([name, f"{1e6 * float(np.median(times['rhs emh-ldl'])):.2f}", *ratios,
                     f"{ratio(times, 'compiled', 'rhs emh-ldl'):.2f}"])
    header = ["machine", "rhs emh-ldl (us)", *(f"{m} / rhs" for m in mb.sweeps.METHODS), "compiled / rhs"]
    publish(options, "docs/howto/own_joints.md", "bench/user_arrays.py records", markdown(header, rows),
            "python bench/user_arrays.py")


if __name__ == "__main__":
    main()
