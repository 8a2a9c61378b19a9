"""Exact derivatives: `jacobian_rhs` against Pinocchio's `computeABADerivatives`, products against `rhs`, batches.

    python bench/derivatives.py [--quick] [--write] [--part chains | trees | batches | growth]

All in one run, competitors taking turns; processor time of the thread, median of the ratios of each turn. "Compiled"
is a loop in Numba code over `system.njit("jacobian_rhs")`; all else is called from Python, ours with `out=`. Batches,
in wall time: on one thread and on all, as by default, beside Python loops of Pinocchio's, one that leaves the results
of each state to the next and one that keeps them, and the bare writing of ours by one thread (`ndarray.fill`). The
growth is that of chains from 30 to 300 dofs. MuJoCo's `mjd_transitionFD`, the Jacobian of a step by differences, is
timed on a chain of 30 of its own.
"""

from __future__ import annotations

import time

import numpy as np
import pinocchio as pin
from common import arguments, interleaved, markdown, publish, ratio
from numba import njit

import mbkern as mb

FAMILIES = {"chain": mb.zoo.chain, "binary tree": mb.zoo.binary_tree}
PAGE, COMMAND = "docs/performance.md", "python bench/derivatives.py --write"
STATES = {7: 512, 30: 128, 100: 32}  # of a batch
OF_BATCHES = ("one", "all", "fill", "loop", "keeping")
TURNS = 20  # evaluations of a compiled loop

JACOBIAN, _ = mb.System(mb.zoo.chain(1)).njit("jacobian_rhs")


@njit
def compiled_loop(block, q, p, wrench, out, work):
    code = 0
    for _ in range(TURNS):
        code += JACOBIAN(block, 0.0, q, p, wrench, out, work)
    return code


def peer_of(model):
    """The same hinges in Pinocchio."""
    peer = pin.Model()
    for body in model.body_specs:
        joint = peer.addJoint(body.parent + 1, pin.JointModelRevoluteUnaligned(np.array(body.joint.elements[0].axis)),
                              pin.SE3(np.array(body.rotation), np.array(body.position)), body.name)
        peer.appendBodyToJoint(joint, pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia)),
                               pin.SE3.Identity())
    return peer


def pinocchio_calls(model, q, u):
    """`computeABADerivatives` and `computeRNEADerivatives`, one state and a loop over many."""
    peer, Q = peer_of(model), np.tile(q, (STATES.get(model.nv, 1), 1))
    data, zero, kept = peer.createData(), np.zeros(peer.nv), np.empty((3, len(Q), peer.nv, peer.nv))

    def loop():
        for state in Q:
            pin.computeABADerivatives(peer, data, state, u, zero)

    def keeping():
        for k, state in enumerate(Q):
            pin.computeABADerivatives(peer, data, state, u, zero)
            kept[0, k], kept[1, k], kept[2, k] = data.ddq_dq, data.ddq_dv, data.Minv

    return {"computeABADerivatives": lambda: pin.computeABADerivatives(peer, data, q, u, zero),
            "computeRNEADerivatives": lambda: pin.computeRNEADerivatives(peer, data, q, u, zero), "loop": loop,
            "keeping": keeping}


def our_calls(model, q, u):
    system = mb.System(model)
    p, nv = system.momenta(q, u), model.nv
    out, d, rates = np.empty((2 * nv, 2 * nv)), np.ones(nv), (np.empty(nv), np.empty(nv))
    three, work, none = tuple(np.empty((3, nv, nv))), system.work("jacobian_rhs"), np.empty((0, 6))
    block, B = system.njit("jacobian_rhs")[1], STATES.get(nv, 1)
    Q, P, many = np.tile(q, (B, 1)), np.tile(p, (B, 1)), np.empty((B, 2 * nv, 2 * nv))
    return {"jacobian_rhs": lambda: system.jacobian_rhs(q, p, out=out), "rhs": lambda: system.rhs(q, p, out=rates),
            "compiled": lambda: compiled_loop(block, q, p, none, out, work),
            "jvp": lambda: system.jvp(q, p, d, d, out=rates), "vjp": lambda: system.vjp(q, p, d, d, out=rates),
            "derivatives_accelerations": lambda: system.derivatives_accelerations(q, u, out=three),
            "derivatives_inverse_dynamics": lambda: system.derivatives_inverse_dynamics(q, u, d, out=three),
            "one": lambda: system.jacobian_rhs_batch(Q, P, out=many, threads=1),
            "all": lambda: system.jacobian_rhs_batch(Q, P, out=many), "fill": lambda: many.fill(1.0)}


def by_differences():
    """`mjd_transitionFD` and our `jacobian_rhs` on a chain of 30 hinges, microseconds."""
    import mujoco

    inner, outer = "", ""
    for k in range(30):
        inner += (f'<body pos="{0.0 if k == 0 else 0.3} 0 0"><joint type="hinge" axis="{k % 2} {1 - k % 2} 0"/>'
                  '<inertial mass="1" pos="0.15 0 0" diaginertia="0.01 0.01 0.01"/>')
        outer += "</body>"
    machine = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.001"/><worldbody>{inner}{outer}</worldbody></mujoco>')
    data, model = mujoco.MjData(machine), mb.zoo.chain(30)
    data.qpos[:], data.qvel[:] = model.random_state(seed=1)
    A = np.empty((60, 60))
    q, u = model.random_state(seed=1)
    calls = {"mujoco": lambda: mujoco.mjd_transitionFD(machine, data, 1e-6, True, A, None, None, None),
             "ours": our_calls(model, q, u)["jacobian_rhs"]}
    times = interleaved(calls, 7, clock=time.thread_time)
    return ratio(times, "mujoco", "ours")


HEADER = [
    "tree of hinges", "N", "`jacobian_rhs`, us", "`pin.computeABADerivatives`, us", "ratio from Python",
    "ratio compiled", "`jacobian_rhs` / `rhs`", "`jvp` / `rhs`", "`vjp` / `rhs`", "`derivatives_accelerations` / pin",
    "`derivatives_inverse_dynamics` / `pin.computeRNEADerivatives`"]


def family_table(family, sizes, repeats):
    """One kind of tree, all sizes."""
    rows = []
    for n in sizes:
        model = FAMILIES[family](n)
        q, u = model.random_state(seed=1)
        calls = our_calls(model, q, u) | pinocchio_calls(model, q, u)
        times = interleaved({name: call for name, call in calls.items() if name not in OF_BATCHES}, repeats,
                            clock=time.thread_time)
        times["compiled"] = times["compiled"] / TURNS
        us = {name: 1e6 * float(np.median(t)) for name, t in times.items()}
        rows.append([
            family, n, f"{us['jacobian_rhs']:.1f}", f"{us['computeABADerivatives']:.1f}",
            f"{ratio(times, 'jacobian_rhs', 'computeABADerivatives'):.2f}",
            f"{ratio(times, 'compiled', 'computeABADerivatives'):.2f}",
            *(f"{ratio(times, name, 'rhs'):.1f}" for name in ("jacobian_rhs", "jvp", "vjp")),
            f"{ratio(times, 'derivatives_accelerations', 'computeABADerivatives'):.2f}",
            f"{ratio(times, 'derivatives_inverse_dynamics', 'computeRNEADerivatives'):.2f}"])
    return markdown(HEADER, rows)


def batch_table(sizes, repeats):
    """Many states of both kinds of trees."""
    rows = []
    for family, make in FAMILIES.items():
        for n in sizes:
            model = make(n)
            q, u = model.random_state(seed=1)
            calls = our_calls(model, q, u) | pinocchio_calls(model, q, u)
            times = interleaved({name: calls[name] for name in OF_BATCHES}, repeats, 5e-3)
            rows.append([family, n, STATES[n], *(f"{ratio(times, base, name):.1f}" for base in ("keeping", "loop")
                                                 for name in ("all", "one")), f"{ratio(times, 'loop', 'fill'):.0f}"])
    return markdown(["tree of hinges", "N", "states", "times faster than a loop of Pinocchio's that keeps results: "
                     "all threads", "one thread", "than one that leaves them: all threads", "one thread",
                     "bare writing of ours, beside the latter"], rows)


def growth_table(sizes):
    """How the time grows with the number of bodies, and what differences take."""
    growth = {}
    for n in sizes:
        model = mb.zoo.chain(n)
        q, u = model.random_state(seed=1)
        call = our_calls(model, q, u)["jacobian_rhs"]
        growth[n] = float(np.median(interleaved({"jacobian_rhs": call}, 15, clock=time.thread_time)["jacobian_rhs"]))
    exponent = np.polyfit(np.log(list(growth)), np.log(list(growth.values())), 1)[0]
    return (f"The time of `jacobian_rhs` grows as N^{exponent:.2f} for chains of {', '.join(map(str, growth))}; "
            f"MuJoCo's `mjd_transitionFD`, by differences, takes {by_differences():.0f} times as long for a chain of "
            "30 hinges.")


if __name__ == "__main__":
    tables = {
        "bench/derivatives.py chains": lambda: family_table("chain", sizes, repeats),
        "bench/derivatives.py trees": lambda: family_table("binary tree", sizes, repeats),
        "bench/derivatives.py batches": lambda: batch_table(sizes, repeats),
        "bench/derivatives.py growth": lambda: growth_table((30, 100) if options.quick else (30, 100, 300))}
    options = arguments("exact derivatives against Pinocchio's", publishes=True,
                        parts=[mark.split()[1] for mark in tables])
    repeats, sizes = (7, (7, 30)) if options.quick else (31, (7, 30, 100))
    for mark, make in tables.items():
        if options.part in (None, mark.split()[1]):
            publish(options, PAGE, mark, make(), f"{COMMAND} --part {mark.split()[1]}")
