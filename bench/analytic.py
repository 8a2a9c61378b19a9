"""Speed of the analytical formulations: the four methods on the three case studies, and Appell against n = 2..20.

Competitors take turns; times are processor times of the best turns, ratios are medians over ratios of the same turn,
which a busy machine disturbs least. Lagrange without constraints factors M as L D L^T; with them it solves the matrix
with multipliers by pivoted elimination.
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
from common import arguments, interleaved, markdown, ratio
from numba import njit

import mbkern as mb
from mbkern import plain
from mbkern.analytic import Kane, Lagrange, Maggi, Volterra, appell, cases
from mbkern.analytic.frame import take
from mbkern.core import quasi_layout as quasi
from mbkern.core.appell import accelerations as appell_kernel
from mbkern.core.cabi import call_ode
from mbkern.core.newton_euler import accelerations as newton_euler_kernel
from mbkern.flops.numbers import Ledger, Memory
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
        formulations = {**case.formulations(),
                        "Maggi, default u": Maggi(case.system, **common),
                        "Kane, default u": Kane(case.system, **common),
                        "Volterra, default u": Volterra(case.system, **common)}
        calls = {name: evaluation(f, case) for name, f in formulations.items()}
        times = interleaved(calls, turns, clock=time.thread_time)
        runs = {name: lambda f=f, case=case: f.simulate(case.q0, case.v0, (0.0, 50.0), rtol=1e-8, atol=1e-10)
                for name, f in formulations.items()}
        whole = interleaved(runs, max(5, turns // 6), clock=time.thread_time)
        rows = [[name, f.n_equations, f"{times[name].min() / calls[name].n * 1e6:.2f}",
                 f"{ratio(times, name, 'Lagrange'):.2f}", runs[name]().nfev, f"{whole[name].min() * 1e3:.1f}",
                 f"{ratio(whole, name, 'Lagrange'):.2f}"] for name, f in formulations.items()]
        print(f"\n{case.name}: u of the paper unless said otherwise\n")
        print(markdown(["formulation", "equations", "us per right-hand side", "ratio to Lagrange",
                        "evaluations, 50 s at rtol 1e-8", "ms per run", "ratio to Lagrange"], rows))


def operations_table():
    """Flops of the sweeps over the tree of case 2, counted on the very source of the kernels, and of what follows."""
    case = cases.box()
    sweeps, rows = plain.load("quasi_sweeps"), []
    for name, f in case.formulations().items():
        if name not in ("Lagrange", "Volterra"):
            continue
        ledger, frame, m = Ledger(), f._frame, f.m
        rails, n = int(frame[quasi.RAILS]), f.n_equations
        block, work, q, v = (Memory(np.array(x, float), ledger) for x in (
            case.system.block, take(frame, quasi.AT_TREE, case.system.binding.work_size), case.q0, case.v0))
        axes = Memory(take(frame, quasi.AT_AXES, 3 * rails**2).copy(), ledger)
        M, h = Memory(np.zeros(m * m), ledger), Memory(np.zeros(m), ledger)
        with ledger.under("mass"):
            sweeps.mass_and_frames(block, rails, axes, ledger.number(0.0), q, M, work)
        with ledger.under("bias"):
            sweeps.bias(block, rails, axes, q, v, h, work)
        mass, bias = (sum(ledger.pages[key,].used[:4]) for key in ("mass", "bias"))
        s = m - n  # L D L^T: n^3/3 + n^2/2 + n/6; substitution 2 n^2 - n; elimination of s slides, and their speeds
        solving = n**3 // 3 + n**2 // 2 + 2 * n**2 + s * n * (n + 1) + 5 * s * n
        chosen = 0 if name == "Lagrange" else 2 * (15 + 3 * 15 + 33) + 65 + 24  # Y and its rates, v from u, udot
        rows.append([name, m - rails, mass, bias, solving, chosen, mass + bias + solving + chosen])
    print("\nbox: flops of a right-hand side with the paper's u; 5 pairs of sine and cosine in both\n")
    header = ["formulation", "nodes of the sweeps", "M", "h", "elimination (by hand)", "for u (by hand)", "sum"]
    print(markdown(header, rows))


def large_table(turns):
    """Time per right-hand side of large trees, beside that of Hamilton's equations in the same loop."""
    rows = []
    for n in (16, 32, 64, 106, 200, 400):
        model = mb.zoo.chain(n, joint=mb.revolute("y"))
        system, (q, v) = mb.System(model), model.random_state(seed=1)
        case, f = SimpleNamespace(q0=q, v0=v), system.cfunc
        y, dydt = np.concatenate([q, system.momenta(q, v)]), np.empty(2 * n)
        calls = {"Hamilton": lambda f=f, y=y, dydt=dydt: repeat(f.address, int(f.user_data), y, dydt, 20)}
        for make in (Lagrange, Maggi, Kane, Volterra):
            calls[make.name] = evaluation(make(system), case, 20)
        times = interleaved(calls, max(7, turns // 3), clock=time.thread_time)
        rows.append([n, f"{times['Hamilton'].min() / 20 * 1e6:.2f}",
                     *(f"{times[name].min() / 20 * 1e6:.2f} ({ratio(times, name, 'Hamilton'):.1f})"
                       for name in calls if name != "Hamilton")])
    print("\nchains of n hinges: us per right-hand side, in brackets the ratio to Hamilton's equations\n")
    print(markdown(["n", "Hamilton", "Lagrange", "Maggi", "Kane", "Volterra"], rows))


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
        times = interleaved(calls, turns, clock=time.thread_time)
        best = times["appell"].min() / calls["appell"].n
        rows.append([n, appell.evaluations(system), f"{best * 1e6:.2f}",
                     f"{ratio(times, 'appell', 'newton-euler-ldl'):.1f}"])
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
    operations_table()
    large_table(turns)
    appell_table(turns, (2, 4, 8, 14, 20) if options.quick else tuple(range(2, 21)))
