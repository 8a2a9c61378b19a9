"""Derivatives along runs: tangents, gradients by the adjoint, and Newton's iteration with exact Jacobians.

    python bench/trajectories.py [--quick] [--write] [--part tangents | gradients | stiff]

All in one run, competitors taking turns; processor time of the thread, median of the ratios of each turn.

- tangents: a run with its state-transition matrix, beside 2 nv plain runs (what differences take at least)
- gradient: by the beginning and all constants of the machine, in plain runs of the same steps (limit 4)
- stiff: "gauss4" with stiff springs and dampers in the joints, exact Jacobian beside differences; and springs that do
  not need Newton's iteration, where nothing must change
"""

from __future__ import annotations

import time

import numpy as np
from common import arguments, interleaved, markdown, publish, ratio

import mbkern as mb
from mbkern.integrate.driver import Run
from mbkern.integrate.kernels import plan as P

PAGE, COMMAND = "docs/performance.md", "python bench/trajectories.py --write"


def stiff_chain(n, stiffness):
    """Hinges with springs and dampers."""
    builder = mb.ModelBuilder()
    parent = "world"
    for k in range(n):
        builder.add_body(f"b{k}", parent, mb.revolute("y" if k % 2 else "z"), mass=1.0, com=(0.5, 0, 0),
                         inertia=(0.02, 0.1, 0.1), position=(1.0 if k else 0.0, 0, 0), stiffness=stiffness,
                         damping=0.02 * stiffness)
        parent = f"b{k}"
    return builder.build()


def end_only(t, q, p):
    return float(q[-1].sum()), np.ones_like(q), np.zeros_like(p)


def row_of_tangents(n, integrator, repeats):
    model = mb.zoo.chain(n)
    system, (q, u) = mb.System(model), model.random_state(seed=1)
    p, how = system.momenta(q, u), {"step": 1e-3, "t_eval": [0.1]}
    times = interleaved({
        "plain": lambda: system.simulate(q, p, (0.0, 0.1), integrator, **how),
        "tangent": lambda: system.simulate(q, p, (0.0, 0.1), integrator, tangent=True, **how)}, repeats,
        clock=time.thread_time)
    cost = ratio(times, "tangent", "plain")
    return [f"tangent, {integrator}, chain of {n}", f"{cost:.1f} runs", f"{cost / (2 * n):.2f} of 2 nv runs"]


def row_of_gradients(n, integrator, repeats, joint="hinge"):
    model = mb.zoo.chain(n, joint=mb.ball()) if joint == "ball" else mb.zoo.chain(n)
    system, (q, u) = mb.System(model), model.random_state(seed=1)
    p, span = system.momenta(q, u), (0.0, 1.0)
    how = {"rtol": 1e-8} if integrator == "dopri5" else {"step": 1e-3}
    times = interleaved({
        "plain": lambda: system.simulate(q, p, span, integrator, **how),
        "gradient": lambda: mb.gradient(end_only, system, q, p, span, integrator, parameters="all", **how)}, repeats,
        clock=time.thread_time)
    by = mb.gradient(end_only, system, q, p, span, integrator, parameters="all", **how).parameters
    count = 2 * model.nv + sum(np.size(x) for x in by.values())
    return [f"gradient by {count} numbers, {integrator}, chain of {n} {joint}s",
            f"{ratio(times, 'gradient', 'plain'):.2f} runs", ""]


def row_of_stiff(n, stiffness, repeats):
    model = stiff_chain(n, stiffness)
    system, q = mb.System(model), 0.1 * np.ones(n)
    p, with_jacobian = np.zeros(n), Run.make_matrices

    def without(run):
        with_jacobian(run)
        run.plan[P.JACOBIAN] = 0

    def run():
        return system.simulate(q, p, (0.0, 0.5), "gauss4", step=0.005, save_every=1000)

    def by_differences():
        Run.make_matrices = without
        try:
            return run()
        finally:
            Run.make_matrices = with_jacobian

    times = interleaved({"exact": run, "differences": by_differences}, repeats, clock=time.thread_time)
    return [f"gauss4, chain of {n}, springs of {stiffness:g} N m/rad", f"{run().nfev} evaluations, "
            f"{by_differences().nfev} by differences", f"{ratio(times, 'exact', 'differences'):.2f} of the time"]


if __name__ == "__main__":
    tables = {
        "bench/trajectories.py tangents": lambda: [
            row_of_tangents(n, integrator, repeats) for integrator in ("rk4", "gauss4") for n in sizes],
        "bench/trajectories.py gradients": lambda: [
            *(row_of_gradients(n, integrator, repeats) for integrator in ("rk4", "dopri5", "gauss4") for n in sizes),
            *(row_of_gradients(7, integrator, repeats, "ball") for integrator in ("rk4", "dopri5", "gauss4"))],
        "bench/trajectories.py stiff": lambda: [
            row_of_stiff(n, stiffness, repeats) for n in sizes for stiffness in (10.0, 1e4, 1e6)]}
    options = arguments("derivatives along runs", publishes=True, parts=[mark.split()[1] for mark in tables])
    repeats, sizes = (3, (2, 7)) if options.quick else (11, (2, 7, 30))
    for mark, make in tables.items():
        part = mark.split()[1]
        if options.part in (None, part):
            publish(options, PAGE, mark, markdown(["what", "cost", "beside"], make()), f"{COMMAND} --part {part}")
