"""Constraints: one evaluation against `pin.constraintDynamics`, growth with the number of loops, runs beside real time.

    python bench/constraints.py [--quick] [--write] [--part evaluations | growth | runs | batches | exudyn]

All in one run, competitors taking turns; processor time of the thread, median of the ratios of each turn. Everything is
called from Python. Pinocchio's loops are points and welds; there `accelerations` and `rhs` stand beside
`constraintDynamics`. Runs are the IFToMM benchmarks A02 (a row of four-bars) and A04 (Bricard) with the largest step
that meets their own measure of accuracy, the energy; and beside Exudyn at equal error.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from common import arguments, interleaved, markdown, publish, ratio

import mbkern as mb

PAGE, COMMAND = "docs/howto/closed_loops.md", "python bench/constraints.py --write"


def closed_chain(n: int, kind: str) -> mb.Model:
    """Hinges in a chain whose end is fastened where it is at q = 0."""
    chain = mb.zoo.chain(n, seed=3)
    R, r = mb.System(chain).body_poses(chain.neutral())
    b = mb.ModelBuilder(name=f"closed {n}")
    for body in chain.body_specs:
        parent = "world" if body.parent < 0 else chain.body_names[body.parent]
        b.add_body(body.name, parent, body.joint, body.mass, body.com, body.inertia, body.position, body.rotation)
    tip = np.array([0.2, 0.0, 0.0])
    b.add_loop("end", chain.body_names[-1], "world", kind, tip, r[-1] + R[-1] @ tip, rotation_b=R[-1])
    return b.build()


def pinocchio_call(model: mb.Model, q: np.ndarray, u: np.ndarray):
    """`constraintDynamics` of the same machine of hinges."""
    import pinocchio as pin

    peer = pin.Model()
    for body in model.body_specs:
        joint = peer.addJoint(body.parent + 1, pin.JointModelRevoluteUnaligned(np.array(body.joint.elements[0].axis)),
                              pin.SE3(np.array(body.rotation), np.array(body.position)), body.name)
        peer.appendBodyToJoint(joint, pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia)),
                               pin.SE3.Identity())
    loop = model.constraints[0]
    kind = pin.ContactType.CONTACT_6D if loop.kind == "weld" else pin.ContactType.CONTACT_3D
    contact = pin.RigidConstraintModel(
        kind, peer, loop.body_a + 1, pin.SE3(np.array(loop.rotation_a), np.array(loop.position_a)), loop.body_b + 1,
        pin.SE3(np.array(loop.rotation_b), np.array(loop.position_b)), pin.ReferenceFrame.LOCAL)
    contacts, data, zero = [contact], peer.createData(), np.zeros(peer.nv)
    known = [contact.createData()]
    pin.initConstraintDynamics(peer, data, contacts, known)
    return lambda: pin.constraintDynamics(peer, data, q, u, zero, contacts, known)


def evaluations(quick: bool) -> str:
    rows = []
    for n in (10,) if quick else (10, 30):
        for kind in ("point", "weld"):
            model = closed_chain(n, kind)
            system, q = mb.System(model), model.neutral()
            _, u = system.consistent(q, np.ones(n))
            p, udot, rates = system.momenta(q, u), np.empty(n), (np.empty(n), np.empty(n))
            calls = {"accelerations": lambda s=system, q=q, u=u, out=udot: s.accelerations(q, u, out=out),
                     "rhs": lambda s=system, q=q, p=p, out=rates: s.rhs(q, p, out=out)}
            if importlib.util.find_spec("pinocchio"):
                calls["pin"] = pinocchio_call(model, q, u)
            times = interleaved(calls, 7 if quick else 31, clock=time.thread_time)
            micro = {name: 1e6 * float(np.median(values)) for name, values in times.items()}
            beside = [f"{ratio(times, name, 'pin'):.2f}" if "pin" in times else "-"
                      for name in ("accelerations", "rhs")]
            rows.append([f"chain of {n} hinges", kind, f"{micro['accelerations']:.2f}", f"{micro['rhs']:.2f}",
                         f"{micro['pin']:.2f}" if "pin" in micro else "-", *beside])
    return markdown(["machine", "loop", "accelerations, us", "rhs, us", "pin.constraintDynamics, us",
                     "accelerations / pin", "rhs / pin"], rows)


def growth(quick: bool) -> str:
    calls, sizes = {}, (4, 40)
    for n in sizes:
        system = mb.System(mb.zoo.n_four_bar(n))
        nv = system.model.nv
        q, rates = np.zeros(nv), (np.empty(nv), np.empty(nv))
        u = np.array([-1.0 if name.startswith("crank") else 1.0 for name in system.model.speed_names])
        p = system.momenta(q, u)
        calls[str(n)] = lambda s=system, q=q, p=p, out=rates: s.rhs(q, p, out=out)
    times = interleaved(calls, 7 if quick else 31, clock=time.thread_time)
    micro = [1e6 * float(np.median(times[str(n)])) for n in sizes]
    grown = ratio(times, "40", "4") / (sizes[1] / sizes[0])
    rows = [[n, f"{t:.2f}", f"{t / n:.3f}"] for n, t in zip(sizes, micro, strict=True)]
    return markdown(["loops of a row of four-bars", "rhs, us", "us a loop"], rows) + (
        f"\n\nCost per loop with 40 over that with 4: {grown:.2f}.")


ACCURACY = {"A02, 2 loops": 0.1, "A02, 40 loops": 0.1, "A04 Bricard": 1e-3}  # J in 10 s, of the benchmarks themselves
STEPS = (2e-2, 1e-2, 5e-3, 2.5e-3, 1.25e-3)


def benchmark(name: str):
    """System and first state of a benchmark."""
    n = {"A02, 2 loops": 2, "A02, 40 loops": 40}.get(name, 0)
    system = mb.System(mb.zoo.n_four_bar(n) if n else mb.zoo.bricard())
    q = np.zeros(system.model.nv)
    u = np.array([-1.0 if part.startswith("crank") else 1.0 for part in system.model.speed_names]) if n else q
    return system, q, system.momenta(q, u)


def timed(system, q, p, t_end: float, step: float):
    """A run of rk4 and the processor seconds that it takes."""
    start = time.process_time()
    run = system.simulate(q, p, (0.0, t_end), "rk4", step=step, save_every=10)
    return run, time.process_time() - start


def runs(quick: bool) -> str:
    rows = []
    for name, allowed in ACCURACY.items():
        system, q, p = benchmark(name)
        t_end = 1.0 if quick else 10.0
        timed(system, q, p, 0.1, 0.05)
        for step in STEPS:
            run, seconds = timed(system, q, p, t_end, step)
            error = float(np.ptp(run.energy().hamiltonian))
            if error < allowed:
                break
        else:
            raise AssertionError(f"{name}: no step of {STEPS} keeps the energy within {allowed} J")
        rows.append([name, f"rk4, {step:g} s", f"{allowed:g}", f"{error:.2g}", f"{seconds / t_end:.4f}",
                     f"{np.abs(run.constraint_drift).max():.1g}"])
    return markdown(["benchmark, 10 s", "largest step that will do", "energy error allowed, J", "energy error, J",
                     "processor time over real time", "drift of the loops"], rows)


def batches(quick: bool) -> str:
    """Evaluations and runs of many states: one by one, and as a batch; runs by the clock on the wall, as threads are
    what they are about."""
    rows, evaluated = [], []
    for name, model, many in (("four-bar", mb.zoo.four_bar(), 200), ("A02, 40 loops", mb.zoo.n_four_bar(40), 20)):
        count = many // 10 if quick else many
        system, rng = mb.System(model), np.random.default_rng(0)
        neutral = system.model.neutral()
        if name == "four-bar":
            found = [system.consistent(neutral, [speed, 0.0, 0.0]) for speed in rng.uniform(0.5, 4.0, count)]
        else:
            turning = np.array([-1.0 if part.startswith("crank") else 1.0 for part in model.speed_names])
            found = [(neutral, speed * turning) for speed in rng.uniform(0.5, 2.0, count)]
        Q, P = np.array([q for q, _ in found]), np.array([system.momenta(q, u) for q, u in found])
        span, how = (0.0, 0.5), {"integrator": "rk4", "step": 0.01}
        many_q, many_p = np.tile(Q, (1000 // count, 1)), np.tile(P, (1000 // count, 1))
        rates = np.empty(model.nq), np.empty(model.nv)
        all_rates = np.empty(many_q.shape), np.empty(many_p.shape)
        calls = {"rhs": lambda s=system, q=Q[0], p=P[0], out=rates: s.rhs(q, p, out=out),
                 "rhs_batch": lambda s=system, Q=many_q, P=many_p, out=all_rates: s.rhs_batch(Q, P, out=out, threads=1)}
        times = interleaved(calls, 7 if quick else 31, clock=time.thread_time)
        one, each = (1e6 * float(np.median(times[call])) for call in calls)
        evaluated.append([name, f"{one:.2f}", f"{each / len(many_q):.2f}", f"{one * len(many_q) / each:.1f}"])

        def one_by_one(s=system, Q=Q, P=P, span=span, how=how):
            for q, p in zip(Q, P, strict=True):
                s.simulate(q, p, span, t_eval=[span[1]], **how)

        calls = {"one by one": one_by_one}
        for threads in (1, None):
            calls[f"batch {threads}"] = lambda s=system, Q=Q, P=P, span=span, how=how, threads=threads: (
                s.simulate_batch(Q, P, span, reduce="final", threads=threads, **how))
        times = interleaved(calls, 3 if quick else 9)
        rows.append([name, count, f"{1e6 * float(np.median(times['one by one'])) / count:.0f}",
                     *(f"{ratio(times, other, 'one by one'):.2f}" for other in ("batch 1", "batch None"))])
    first = markdown(["machine", "rhs, us", "rhs_batch of 1000 on one thread, us a state", "times as many states"],
                     evaluated)
    return first + "\n\n" + markdown(
        ["machine, 50 steps of rk4", "states", "simulate, us a state", "batch on one thread / simulate",
         "batch on all processors / simulate"], rows)


def beside_exudyn(quick: bool) -> str:
    """Both against a run of short steps, at t = 1 s: our largest step whose error is not greater than Exudyn's."""
    if not importlib.util.find_spec("exudyn"):
        return "(Exudyn is not installed.)"
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    warnings.simplefilter("ignore", DeprecationWarning)
    import exudyn_machines as machines

    rows = []
    for name, place in (("A02, 40 loops", lambda k: machines.four_bars(40, 1.0, k)),
                        ("A04 Bricard", lambda k: machines.bricard(1.0, k))):
        system, q, p = benchmark(name)
        part, point = 0, (0.0, 1.0, 0.0)
        if name == "A04 Bricard":
            part = system.model.body_index("rod2")
            point = system.model.body_specs[part].com

        def end(run, system=system, part=part, point=point):
            R, r = system.body_poses(run.q[-1])
            return r[part] + R[part] @ np.array(point)

        exact = end(system.simulate(q, p, (0.0, 1.0), "rk4", step=2e-4, t_eval=[1.0]))  # error 1e-11 and less
        for steps in (250,) if quick else (250, 1000):
            start = time.process_time()
            theirs = np.abs(place(steps) - exact).max()
            their_seconds = time.process_time() - start
            for step in STEPS:
                run, seconds = timed(system, q, p, 1.0, step)
                ours = np.abs(end(run) - exact).max()
                if ours <= theirs:
                    break
            else:
                raise AssertionError(f"{name}: no step of {STEPS} is as exact as Exudyn, {theirs:.1g} m")
            rows.append([name, steps, f"{theirs:.1g}", f"{their_seconds:.3f}", f"{step:g}", f"{ours:.1g}",
                         f"{seconds:.4f}", f"{seconds / their_seconds:.3f}"])
    return markdown(["benchmark, 1 s", "steps of Exudyn", "its error, m", "its processor time, s", "our step, s",
                     "our error, m", "our processor time, s", "ours / Exudyn"], rows)


def main() -> None:
    tables = {"bench/constraints.py evaluations": evaluations, "bench/constraints.py growth": growth,
              "bench/constraints.py runs": runs, "bench/constraints.py batches": batches,
              "bench/constraints.py exudyn": beside_exudyn}
    options = arguments(__doc__, publishes=True, parts=[mark.split()[1] for mark in tables])
    for mark, table in tables.items():
        if options.part in (None, mark.split()[1]):
            publish(options, PAGE, mark, table(options.quick), COMMAND)


if __name__ == "__main__":
    main()
