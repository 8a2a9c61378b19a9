"""Speed of the analytical formulations: the four methods on the three case studies, and Appell against n = 2..20.

Ratios of competitors that take turns; times are of this machine and of this moment.
"""

from __future__ import annotations

import time

import numpy as np
from common import arguments, interleaved, markdown, ratio
from numba import njit

import mbkern as mb
from mbkern.analytic import Kane, Maggi, Volterra, appell, cases
from mbkern.core.cabi import call_ode


@njit
def repeat(address, user, y, dydt, n):
    """n evaluations of a right-hand side, without the interpreter."""
    for _ in range(n):
        call_ode(address, 0.0, y, 0, dydt, 0, user)


def evaluation(formulation, case, n=200):
    """A call that evaluates the right-hand side n times."""
    y = formulation.state(case.q0, case.v0)
    problem, _ = formulation.problem(y)
    dydt = np.empty(y.size)

    def call():
        repeat(problem.address, problem.user, y, dydt, n)

    call.n, call.alive = n, problem
    return call


def methods_table(turns):
    """Time per right-hand side and per run of 50 s."""
    for case in (cases.cart(), cases.box(), cases.satellite()):
        common = dict(constraints=case.constraints, forces=case.forces)
        formulations = {**{f"{name}": method for name, method in case.formulations().items()},
                        "Maggi, default u": Maggi(case.system, **common),
                        "Kane, default u": Kane(case.system, **common),
                        "Volterra, default u": Volterra(case.system, **common)}
        calls = {name: evaluation(f, case) for name, f in formulations.items()}
        times = interleaved(calls, turns)
        rows = []
        for name, f in formulations.items():
            start = time.perf_counter()
            run = f.simulate(case.q0, case.v0, (0.0, 50.0), rtol=1e-8, atol=1e-10)
            seconds = time.perf_counter() - start
            rows.append([name, f.n_equations, f"{np.median(times[name]) / calls[name].n * 1e6:.2f}",
                         f"{ratio(times, name, 'Lagrange'):.2f}", run.nfev, f"{seconds * 1e3:.0f}"])
        print(f"\n{case.name}: u of the paper unless said otherwise\n")
        print(markdown(["formulation", "equations", "us a right-hand side", "ratio to Lagrange",
                        "evaluations, 50 s at rtol 1e-8", "ms a run"], rows))


def appell_table(turns, sizes):
    """Time and values of S for joint accelerations by probing, and the growth exponent."""
    rows, medians = [], []
    for n in sizes:
        model = mb.zoo.chain(n)
        system = mb.System(model)
        q, u = model.random_state(seed=1)
        times = interleaved({"appell": lambda: system.accelerations(q, u, method="appell"),  # noqa: B023 - used at once
                             "newton-euler-ldl": lambda: system.accelerations(q, u)}, turns)  # noqa: B023
        medians.append(float(np.median(times["appell"] - times["newton-euler-ldl"])))
        rows.append([n, appell.evaluations(system), f"{np.median(times['appell']) * 1e6:.1f}",
                     f"{ratio(times, 'appell', 'newton-euler-ldl'):.1f}"])
    print("\nAppell by probing, chains of n revolute joints, called from Python\n")
    print(markdown(["n", "values of S", "us", "ratio to newton-euler-ldl"], rows))
    upper = [k for k, n in enumerate(sizes) if n >= 8]
    slope = np.polyfit(np.log([sizes[k] for k in upper]), np.log([medians[k] for k in upper]), 1)[0]
    print(f"\ngrowth exponent over n = {sizes[upper[0]]}..{sizes[-1]}: {slope:.2f} (n^2/2 values of S, each O(n): 3)")


if __name__ == "__main__":
    options = arguments(__doc__.splitlines()[0])
    turns = 11 if options.quick else 31
    methods_table(turns)
    appell_table(turns, (2, 4, 8, 14, 20) if options.quick else tuple(range(2, 21, 2)))
