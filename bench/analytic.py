"""Speed of the analytical formulations: the four methods on the three case studies, and Appell against n = 2..20.

Competitors take turns; times are those of the best turns and ratios are of them, which a busy machine disturbs least.
"""

from __future__ import annotations

import time

import numpy as np
from common import arguments, interleaved, markdown
from numba import njit

import mbkern as mb
from mbkern.analytic import Kane, Maggi, Volterra, appell, cases
from mbkern.core.appell import accelerations as appell_kernel
from mbkern.core.cabi import call_ode
from mbkern.core.newton_euler import accelerations as newton_euler_kernel
from mbkern.methods import ACCELERATIONS


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
        rows, first = [], 0.0
        for name, f in formulations.items():
            f.simulate(case.q0, case.v0, (0.0, 0.1))
            seconds = np.inf
            for _ in range(3):
                start = time.perf_counter()
                run = f.simulate(case.q0, case.v0, (0.0, 50.0), rtol=1e-8, atol=1e-10)
                seconds = min(seconds, time.perf_counter() - start)
            best = times[name].min()
            rows.append([name, f.n_equations, f"{best / calls[name].n * 1e6:.2f}",
                         f"{best / times['Lagrange'].min():.2f}", run.nfev, f"{seconds * 1e3:.1f}",
                         f"{seconds / first:.2f}" if (first := first or seconds) else ""])
        print(f"\n{case.name}: u of the paper unless said otherwise\n")
        print(markdown(["formulation", "equations", "us a right-hand side", "ratio to Lagrange",
                        "evaluations, 50 s at rtol 1e-8", "ms a run", "ratio to Lagrange"], rows))


@njit
def repeat_appell(block, q, u, tau, udot, work, n):
    for _ in range(n):
        appell_kernel(block, 0.0, q, u, tau, udot, work)


@njit
def repeat_newton_euler(block, q, u, tau, udot, work, n):
    for _ in range(n):
        newton_euler_kernel(block, 0.0, q, u, tau, udot, work)


def acceleration(system, name, q, u, n=20):
    """A call that evaluates joint accelerations n times."""
    method = ACCELERATIONS[name]
    repeated = repeat_appell if name == "appell" else repeat_newton_euler
    block, work = system.block.copy(), np.zeros(method.work_size(system.block))
    tau, udot = np.empty(0), np.empty(u.size)

    def call():
        repeated(block, q, u, tau, udot, work, n)

    call.n = n
    return call


def appell_table(turns, sizes):
    """Time and values of S for joint accelerations by probing, and the growth exponent."""
    rows, seconds = [], []
    for n in sizes:
        model = mb.zoo.chain(n)
        system = mb.System(model)
        q, u = model.random_state(seed=1)
        calls = {name: acceleration(system, name, q, u) for name in ("appell", "newton-euler-ldl")}
        times = interleaved(calls, turns)
        best, other = (times[name].min() / calls[name].n for name in calls)
        rows.append([n, appell.evaluations(system), f"{best * 1e6:.2f}", f"{best / other:.1f}"])
        seconds.append(best)
    print("\nAppell by probing, chains of n revolute joints, inside compiled code\n")
    print(markdown(["n", "values of S", "us", "ratio to newton-euler-ldl"], rows))
    upper = [k for k, n in enumerate(sizes) if n >= 8]
    slope = np.polyfit(np.log([sizes[k] for k in upper]), np.log([seconds[k] for k in upper]), 1)[0]
    print(f"\ngrowth exponent over n = {sizes[upper[0]]}..{sizes[-1]}: {slope:.2f} (n^2/2 values of S, each O(n): 3)")


if __name__ == "__main__":
    options = arguments(__doc__.splitlines()[0])
    turns = 11 if options.quick else 31
    methods_table(turns)
    appell_table(turns, (2, 4, 8, 14, 20) if options.quick else tuple(range(2, 21, 2)))
