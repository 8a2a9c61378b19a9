"""What the integrators cost: overhead of a step, fixed costs, DOPRI5 against SciPy, work and precision, MuJoCo's RK4.

    python bench/integrators.py [--quick] [--write] [--part fixed]

Prints Markdown tables. The last needs MuJoCo.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from common import arguments, interleaved, markdown, part_of, publish_parts, ratio
from numba import njit
from scipy.integrate import solve_ivp

import mbkern as mb

RHS, _ = mb.System(mb.zoo.chain(1), "emh-ldl").njit()


@njit
def bare(block, t, q, p, tau, qdot, pdot, work, n):
    """n evaluations of the bare right-hand side; the state moves a little, so that no two are alike."""
    for _ in range(n):
        q[0] += 1e-12
        RHS(block, t, q, p, tau, qdot, pdot, work)


def start(n):
    """A chain in space and a state with moderate speeds."""
    model = mb.zoo.chain(n)
    system = mb.System(model, "emh-ldl").warmup()
    q, u = model.random_state(seed=1)
    return system, q, system.momenta(q, 0.1 * u)


def step_table(turns, sizes):
    """An RK4 step against four evaluations of the bare right-hand side, both inside compiled code."""
    rows = []
    for n in sizes:
        system, q, p = start(n)
        steps = max(10, 20_000 // n)
        stepper = system.stepper("rk4", step=1e-9)
        stepper.reset(q, p)
        block, work, none, out = system.njit()[1], system.work(), np.empty(0), (np.empty(n), np.empty(n))
        q_moving = q.copy()
        times = interleaved({
            "bare": lambda: bare(block, 0.0, q_moving, p, none, *out, work, 4 * steps),  # noqa: B023 - used at once
            "rk4": lambda: stepper.step(steps),  # noqa: B023
        }, turns, 0.02)
        rows.append([n, f"{np.median(times['bare']) / steps * 1e6:.2f}", f"{np.median(times['rk4']) / steps * 1e6:.2f}",
                     f"{100 * (ratio(times, 'rk4', 'bare') - 1):+.1f} %"])
    return markdown(["N (chain)", "four bare rhs, us", "RK4 step, us", "overhead"], rows)


def fixed_table(turns, sizes):
    """What calls from Python cost beyond the evaluations of the right-hand side in them: a step, and a run of one."""
    rows = []
    for n in sizes:
        system, q, p = start(n)
        stepper = system.stepper("rk4", step=1e-6)
        stepper.reset(q, p)
        block, work, none, out = system.njit()[1], system.work(), np.empty(0), (np.empty(n), np.empty(n))
        q_moving, tau, several = q.copy(), np.zeros(n), 200
        evaluations = system.simulate(q, p, (0.0, 1e-6)).nfev

        def often(call, several=several):
            for _ in range(several):
                call()

        def pushed(several=several, stepper=stepper, tau=tau):
            step = stepper.step
            for _ in range(several):
                step(tau=tau)

        times = interleaved({
            "bare": lambda: bare(block, 0.0, q_moving, p, none, *out, work, several),  # noqa: B023 - used at once
            "pushed": lambda: bare(block, 0.0, q_moving, p, tau, *out, work, several),  # noqa: B023
            "rhs": lambda: often(lambda: system.rhs(q, p)),  # noqa: B023
            "step": lambda: often(stepper.step),  # noqa: B023
            "forces": pushed,
            "simulate": lambda: often(lambda: system.simulate(q, p, (0.0, 1e-6))),  # noqa: B023
        }, turns, 0.02, clock=time.thread_time)
        one = {name: np.median(values) / several * 1e6 for name, values in times.items()}
        rows.append([n, *(f"{x:.2f}" for x in (
            one["rhs"], one["step"] - 4 * one["bare"], one["forces"] - 4 * one["pushed"],
            one["simulate"] - evaluations * one["bare"]))])
    return markdown(["N (chain)", "`rhs` from Python, us", "`step()` beyond 4 evaluations", "`step(tau=)` likewise",
                    '`simulate` of one step of "dopri5"'], rows)


def scipy_table(turns, sizes):
    """The same method, tolerance and right-hand side in SciPy."""
    rows = []
    for n in sizes:
        system, q, p = start(n)
        end = 50.0 / n
        y, fun = np.concatenate((q, p)), system.ode()
        settings = dict(rtol=1e-6, atol=1e-8)
        ours = system.simulate(q, p, (0.0, end), **settings)
        theirs = solve_ivp(fun, (0.0, end), y, method="RK45", **settings)
        times = interleaved({
            "mbkern": lambda: system.simulate(q, p, (0.0, end), **settings),  # noqa: B023 - used at once
            "scipy": lambda: solve_ivp(fun, (0.0, end), y, method="RK45", **settings),  # noqa: B023
        }, turns, 0.05)
        rows.append([n, ours.nfev, theirs.nfev, f"{np.median(times['mbkern']) * 1e3:.2f}",
                     f"{np.median(times['scipy']) * 1e3:.1f}", f"{ratio(times, 'scipy', 'mbkern'):.1f}"])
    return markdown(["N (chain)", "rhs, dopri5", "rhs, RK45", "dopri5, ms", "solve_ivp, ms", "times faster"], rows)


def error_of(q, p, reference):
    return max(np.abs(q - reference[0]).max(), np.abs(p - reference[1]).max() / np.abs(reference[1]).max())


def precision_table(turns):
    """Work and precision of all integrators on one smooth motion."""
    model = mb.zoo.chain(10, joint=mb.revolute("y"), seed=None)
    system = mb.System(model).warmup()
    q = np.zeros(10)
    q[0] = 0.5 * np.pi - 0.5
    p, end = np.zeros(10), 2.0
    exact = system.simulate(q, p, (0.0, end), "gauss6", step=2.5e-4)
    reference = exact.q[-1], exact.p[-1]
    runs = [("dopri5", {"rtol": 10.0**-k, "atol": 10.0 ** -(k + 2)}, f"rtol 1e-{k}") for k in (3, 5, 7, 9, 11)]
    runs += [(name, {"step": h}, f"step {h:g}") for name, sizes in (
        ("rk4", (1e-2, 5e-3, 1e-3)), ("midpoint", (1e-2, 1e-3)), ("gauss4", (1e-2, 5e-3, 1e-3)),
        ("gauss6", (2e-2, 1e-2, 5e-3))) for h in sizes]
    calls = {f"{name} {label}": lambda name=name, more=more: system.simulate(q, p, (0.0, end), name, **more)
             for name, more, label in runs}
    times = interleaved(calls, turns, 0.01)
    rows = []
    for name, more, label in runs:
        solution = system.simulate(q, p, (0.0, end), name, **more)
        rows.append([name, label, solution.n_accepted, solution.nfev,
                     f"{error_of(solution.q[-1], solution.p[-1], reference):.1e}", f"{solution.drift()['energy']:.1e}",
                     f"{np.median(times[f'{name} {label}']) * 1e3:.2f}"])
    return markdown(["integrator", "", "steps", "rhs", "final error", "energy drift, J", "ms"], rows)


def hanging_chain(n):
    """A chain of rods that hangs down, its lower half bent aside: 10 s of it can be predicted."""
    model = mb.zoo.chain(n, joint=mb.revolute("y"), seed=None)
    q = np.zeros(n)
    q[0] = 0.5 * np.pi
    q[n // 2] = 0.1
    return mb.System(model, "emh-ldl").warmup(), q


def mujoco_run(peer, q, end, step):
    """MuJoCo's RK4 with this step: seconds, final q and u."""
    mujoco, model, data = peer.mujoco, peer.model, peer.data
    model.opt.timestep = step
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.enableflags = 0  # no energies
    peer.set_state(q, np.zeros(q.size))
    data.time = 0.0
    steps = round(end / step)
    begin = time.perf_counter()
    mujoco.mj_step(model, data, nstep=steps)
    return time.perf_counter() - begin, data.qpos.copy(), data.qvel.copy()


def mujoco_table(turns, n=100, end=10.0):
    """The same chain for 10 s: ours at rtol 1e-6, MuJoCo's RK4 at steps whose final error lies around that."""
    try:
        import mujoco  # noqa: F401
    except ImportError:
        raise SystemExit("MuJoCo is not installed: no comparison with its RK4") from None
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    from peers import MuJoCo

    system, q = hanging_chain(n)
    p = np.zeros(n)
    exact = system.simulate(q, p, (0.0, end), rtol=1e-12, atol=1e-13)
    reference = exact.q[-1]
    peer = MuJoCo(system.model)
    check = system.velocities(exact.q[-1], exact.p[-1])
    settings = dict(rtol=1e-6, atol=1e-8)
    ours = system.simulate(q, p, (0.0, end), **settings)
    our_error = np.abs(ours.q[-1] - reference).max()
    candidates = []
    for step in (2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4):
        seconds, q_end, u_end = mujoco_run(peer, q, end, step)
        error = np.abs(q_end - reference).max()
        candidates.append((step, error, seconds, np.abs(u_end - check).max()))
        if error < our_error:
            break
    step = candidates[-1][0]
    times = interleaved({
        "mbkern": lambda: system.simulate(q, p, (0.0, end), **settings),
        "mujoco": lambda: mujoco_run(peer, q, end, step),
    }, turns, 0.1)
    rows = [["mbkern dopri5, rtol 1e-6", ours.n_accepted, f"{our_error:.1e}", f"{np.median(times['mbkern']):.3f}"]]
    rows += [[f"MuJoCo RK4, step {h:g}", round(end / h), f"{error:.1e}", f"{seconds:.3f}"]
             for h, error, seconds, _ in candidates[:-1]]
    rows.append([f"MuJoCo RK4, step {step:g}", round(end / step), f"{candidates[-1][1]:.1e}",
                 f"{np.median(times['mujoco']):.3f}"])
    return markdown([f"chain of {n}, {end:g} s", "steps", "final error, rad", "s"], rows) + (
        f"\n\nMuJoCo's RK4 at step {step:g} takes {ratio(times, 'mujoco', 'mbkern'):.1f} times as long "
        f"(error {candidates[-1][1]:.1e} against {our_error:.1e} rad).")


if __name__ == "__main__":
    tables = {
        "bench/integrators.py step": lambda: step_table(turns, (10,) if options.quick else (3, 10, 30, 100)),
        "bench/integrators.py fixed": lambda: fixed_table(turns, (7,) if options.quick else (3, 7, 30)),
        "bench/integrators.py scipy": lambda: scipy_table(few, (10, 100)),
        "bench/integrators.py precision": lambda: precision_table(few),
        "bench/integrators.py mujoco": lambda: mujoco_table(3 if options.quick else 5)}
    options = arguments(__doc__.splitlines()[0], publishes=True, parts=[part_of(mark) for mark in tables])
    turns, few = (5, 3) if options.quick else (21, 9)
    publish_parts(options, "docs/performance.md", tables, "python bench/integrators.py")
