"""Constraints: one evaluation against `pin.constraintDynamics`, growth with the number of loops, runs beside real time.

    python bench/constraints.py [--quick]

All in one run, competitors taking turns; processor time of the thread, median of the ratios of each turn. Everything is
called from Python. Pinocchio's loops are points and welds; there `accelerations` and `rhs` stand beside
`constraintDynamics`. Runs are the IFToMM benchmarks A02 (a row of four-bars) and A04 (Bricard), with the energy that
they lose.
"""

from __future__ import annotations

import importlib.util
import time

import numpy as np
from common import arguments, interleaved, markdown, ratio

import mbkern as mb


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


def runs(quick: bool) -> str:
    rows = []
    for name, n in (("A02, 2 loops", 2), ("A02, 40 loops", 40), ("A04 Bricard", 0)):
        system = mb.System(mb.zoo.n_four_bar(n) if n else mb.zoo.bricard())
        q = np.zeros(system.model.nv)
        u = np.array([-1.0 if part.startswith("crank") else 1.0 for part in system.model.speed_names]) if n else q
        p, step = system.momenta(q, u), 5e-3 if n else 1e-2
        system.simulate(q, p, (0.0, 2 * step), "rk4", step=step)
        start = time.perf_counter()
        run = system.simulate(q, p, (0.0, 1.0 if quick else 10.0), "rk4", step=step, save_every=10)
        seconds = time.perf_counter() - start
        rows.append([name, f"rk4, {step:g} s", f"{np.ptp(run.energy().hamiltonian):.2g}",
                     f"{seconds / (run.t[-1] - run.t[0]):.4f}", f"{np.abs(run.constraint_drift).max():.1g}"])
    return markdown(["benchmark", "integrator", "energy error, J", "part of real time", "drift of the loops"], rows)


def main() -> None:
    options = arguments(__doc__)
    for table in (evaluations, growth, runs):
        print(table(options.quick), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
