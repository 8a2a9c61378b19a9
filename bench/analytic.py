"""Speed of the analytical formulations: the four methods on the three case studies, and Appell against n = 2..20.

Competitors take turns; times are processor times of the best turns, ratios are medians over ratios of the same turn,
which a busy machine disturbs least. Lagrange without constraints factors M as L D L^T; with them it solves the matrix
with multipliers by pivoted elimination. What the paper says about processor time is judged by these times. With
`--write` all tables go to docs/theory/analytic.md.
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
from common import arguments, interleaved, markdown, publish, ratio
from numba import njit

import mbkern as mb
from mbkern import plain
from mbkern.analytic import Kane, Lagrange, Maggi, Volterra, appell, cases
from mbkern.analytic.frame import take
from mbkern.core import appell as appell_equations
from mbkern.core import newton_euler
from mbkern.core import quasi_layout as quasi
from mbkern.core.cabi import call_ode
from mbkern.core.right_hand_sides import accelerations_of
from mbkern.flops.numbers import Ledger, Memory
from mbkern.flops.scaling import Claim, claims_table
from mbkern.methods import ACCELERATIONS

appell_kernel = accelerations_of(appell_equations.sweeps, "appell_at")
newton_euler_kernel = accelerations_of(newton_euler.sweeps, "newton_euler_at")


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


PAPER, DEFAULT = "the paper's u", "default u"


def measured(case, turns):
    """Of each formulation: equations, evaluations of a run, and times of both, of right-hand sides and of runs."""
    common = dict(constraints=case.constraints, forces=case.forces)
    formulations = {(name, PAPER): f for name, f in case.formulations().items()}
    formulations |= {(make.name, DEFAULT): make(case.system, **common) for make in (Maggi, Kane, Volterra)}
    calls = {name: evaluation(f, case) for name, f in formulations.items()}
    times = interleaved(calls, turns, clock=time.thread_time)
    runs = {name: lambda f=f, case=case: f.simulate(case.q0, case.v0, (0.0, 50.0), rtol=1e-8, atol=1e-10)
            for name, f in formulations.items()}
    whole = interleaved(runs, max(5, turns // 3), clock=time.thread_time)
    counts = {name: (f.n_equations, runs[name]().nfev) for name, f in formulations.items()}
    return counts, {name: seconds / calls[name].n for name, seconds in times.items()}, whole


def methods_table(case, counts, times, whole):
    """Time per right-hand side and per run of 50 s."""
    first = ("Lagrange", PAPER)
    rows = [[method, "" if method == "Lagrange" else chosen, counts[key][0], f"{times[key].min() * 1e6:.2f}",
             f"{ratio(times, key, first):.2f}", counts[key][1], f"{whole[key].min() * 1e3:.1f}",
             f"{ratio(whole, key, first):.2f}"] for key in counts for method, chosen in [key]]
    return markdown([case.name, "quasi-velocities", "equations", "us per right-hand side", "ratio to Lagrange",
                     "evaluations, 50 s at rtol 1e-8", "ms per run", "ratio to Lagrange"], rows)


EQUAL = 1.05  # ratios up to this are no difference


def judge(case, times, what, chosen):
    """The paper: reduced Volterra, which has the fewest equations, takes the least processor time."""
    keys = [key for key in times if key[1] == chosen or key[0] == "Lagrange"]
    own = next(key for key in keys if key[0] == Volterra.name)
    ratios = {key[0]: ratio(times, own, key) for key in keys if key != own}
    worst = max(ratios.values())
    shown = f"{what}, {chosen}: Volterra over " + ", ".join(f"{name} {x:.2f}" for name, x in ratios.items())
    verdict = "confirmed" if worst < 1.0 / EQUAL else "not confirmed: as fast as the fastest" if worst < EQUAL else (
        "not confirmed")
    return Claim(f"{case.name}: reduced Volterra takes the least processor time", shown, verdict)


def operations_table():
    """Flops of the sweeps over the tree of case 2, counted on the very source of the kernels, and of what follows; with
    the paper's u, and 5 pairs of sine and cosine in both."""
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
    header = ["formulation", "nodes of the sweeps", "M", "h", "elimination (by hand)", "for u (by hand)", "sum"]
    return markdown(header, rows)


def large_table(turns):
    """us per right-hand side of chains of n hinges, in brackets the ratio to Hamilton's equations in the same loop."""
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
    return markdown(["n", "Hamilton", "Lagrange", "Maggi", "Kane", "Volterra"], rows)


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
    """Time and values of S for joint accelerations by probing in compiled code, and the growth exponent."""
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
    upper = [k for k, n in enumerate(sizes) if n >= 8]
    slope = np.polyfit(np.log([sizes[k] for k in upper]), np.log([seconds[k] for k in upper]), 1)[0]
    return markdown(["n", "values of S", "us", "ratio to newton-euler-ldl"], rows) + (
        f"\n\nGrowth exponent over n = {sizes[upper[0]]} to {sizes[-1]}: {slope:.2f} (n^2/2 values of S, O(n) each: 3)")


def case_table(case, turns):
    """Times of a case study, and what follows for what the paper says about processor time."""
    counts, times, whole = measured(case, turns)
    claims = [judge(case, seconds, what, chosen) for chosen in (PAPER, DEFAULT)
              for what, seconds in (("right-hand side", times), ("run", whole))]
    return methods_table(case, counts, times, whole) + "\n\n" + claims_table(claims)


def main():
    options = arguments(__doc__.splitlines()[0], publishes=True,
                        parts=("cart", "box", "satellite", "flops", "large", "appell"))
    turns = 11 if options.quick else 31
    sizes = (2, 4, 8, 14, 20) if options.quick else tuple(range(2, 21))
    tables = {
        "bench/analytic.py cart": lambda: case_table(cases.cart(), turns),
        "bench/analytic.py box": lambda: case_table(cases.box(), turns),
        "bench/analytic.py satellite": lambda: case_table(cases.satellite(), turns),
        "bench/analytic.py flops": operations_table,
        "bench/analytic.py large": lambda: large_table(turns),
        "bench/analytic.py appell": lambda: appell_table(turns, sizes),
    }
    for mark, table in tables.items():
        if options.part is None or mark.endswith(f" {options.part}"):
            publish(options, "docs/theory/analytic.md", mark, table(), "python bench/analytic.py")


if __name__ == "__main__":
    main()
