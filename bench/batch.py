"""Many states at once against the C++ loops of Pinocchio and MuJoCo, on the same models in one run.

    python bench/batch.py [--quick]

Prints Markdown tables of ratios; above 1, mbkern does more states a second. One thread, packing included:
`rhs_batch` against `pin.abaInParallel` with one thread and against a Python loop of `pin.aba`, and what part of the
processor's FMA peak it reaches; `simulate_batch` with "rk4" against `mujoco.rollout` with RK4; adaptive steps in lanes
against one state after another. These are ratios of processor time, which other programs disturb less. Then, in wall
time, two threads against one, beside two callers that have nothing to do with each other. At the end what other load
there was.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np
import pinocchio as pin
from common import arguments, interleaved, markdown, part_of, publish_parts, ratio
from mujoco import rollout
from peak import fma_loop
from peers import pinocchio_model

import mbkern as mb
from mbkern.core.number import LANES

MODELS = {"chain of 7": lambda: mb.zoo.chain(7), "chain of 30": lambda: mb.zoo.chain(30),
          "chain of 100": lambda: mb.zoo.chain(100), "binary tree of 31": lambda: mb.zoo.binary_tree(31),
          "carousel of 30": lambda: mb.zoo.carousel(30)}
BATCH = 1024


def states(system, count):
    """Random states as rows."""
    drawn = [system.model.random_state(seed) for seed in range(count)]
    return np.array([q for q, _ in drawn]), np.array([system.momenta(q, u) for q, u in drawn])


def rhs_table(repeats):
    rows = []
    peak_call, peak_flops = fma_loop()
    for name, make in MODELS.items():
        model = make()
        system = mb.System(model, "emh-ldl")
        Q, P = states(system, BATCH)
        system.rhs_batch(Q, P)
        peer = pinocchio_model(model, pin.JointModelRZ)
        pool, data = pin.ModelPool(peer, 1), peer.createData()
        q, v = np.asfortranarray(Q.T), np.asfortranarray(P.T)
        tau, a = np.zeros_like(v), np.zeros_like(v)
        loop = [(np.ascontiguousarray(Q[i]), np.ascontiguousarray(P[i])) for i in range(64)]
        zero = np.zeros(model.nv)

        def one_by_one(peer=peer, data=data, loop=loop, zero=zero):
            for q, v in loop:
                pin.aba(peer, data, q, v, zero)

        out = np.empty_like(Q), np.empty_like(P)  # given, as to pin.abaInParallel
        times = interleaved({
            "one": lambda s=system, Q=Q, P=P, out=out: s.rhs_batch(Q, P, threads=1, out=out),
            "new": lambda s=system, Q=Q, P=P: s.rhs_batch(Q, P, threads=1),
            "pool": lambda p=pool, q=q, v=v, tau=tau, a=a: pin.abaInParallel(1, p, q, v, tau, a),
            "loop": one_by_one, "peak": peak_call}, repeats, 5e-3, time.thread_time)
        times["loop"] *= BATCH / len(loop)
        flops = mb.flops.count(model, "emh-ldl", level="kernel").total
        fraction = np.median(BATCH * flops / times["one"] / (peak_flops / times["peak"]))
        best = np.median(times["one"]) / BATCH
        rows.append([name, f"{ratio(times, 'pool', 'one'):.1f}", f"{ratio(times, 'loop', 'one'):.1f}",
                     f"{ratio(times, 'pool', 'new'):.1f}", f"{best * 1e9 / model.n_bodies:.0f}", f"{fraction:.0%}"])
    return markdown([f"rhs_batch with `out=`, B = {BATCH}, 1 thread", "against pin.abaInParallel, 1 thread",
                    "against a loop of pin.aba", "new arrays against pin.abaInParallel", "ns per body and state",
                    "of the FMA peak"], rows)


def threads_table(repeats):
    """Wall time, beside what two callers do that have nothing to do with each other: the machine gives no more."""
    rows, sizes = [], (BATCH, 4 * BATCH)
    with ThreadPoolExecutor(2) as pool:
        for name, make in MODELS.items():
            system = mb.System(make(), "emh-ldl")
            few, gains = states(system, BATCH), []
            for size in sizes:
                Q, P = (np.tile(part, (size // BATCH, 1)) for part in few)
                given = [(np.empty_like(Q), np.empty_like(P)) for _ in range(2)]
                alone = int(np.ceil(2e-2 / (size * system.binding.seconds_a_state)))

                def call(threads, k=0, s=system, Q=Q, P=P, given=given):
                    s.rhs_batch(Q, P, threads=threads, out=given[k])

                def apart(k, call=call, times=alone):
                    for _ in range(times):
                        call(1, k)

                for _ in range(20):
                    call(2)  # until the second thread is there
                times = interleaved({"1": lambda call=call: call(1), "2": lambda call=call: call(2),
                                     "apart": lambda apart=apart: list(pool.map(apart, range(2)))}, repeats, 2e-2)
                times["apart"] /= 2 * alone
                gains += [f"{ratio(times, '1', '2'):.2f}", f"{ratio(times, '1', 'apart'):.2f}"]
            rows.append([name, *gains])
    return markdown(["rhs_batch against 1 thread", *(f"{what}, B = {size}" for size in sizes for what in (
        "2 threads", "2 callers, 1 thread each"))], rows)


def mjcf(model):
    """The tree for MuJoCo: same bodies, same joints, no contacts, RK4."""
    children = {i: [] for i in range(-1, model.n_bodies)}
    for i, body in enumerate(model.body_specs):
        children[body.parent].append(i)

    def text(values):
        return " ".join(repr(float(x)) for x in values)

    def lines(i):
        body = model.body_specs[i]
        R, J = np.array(body.rotation), np.array(body.inertia)
        full = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
        yield (f'<body name="{body.name}" pos="{text(body.position)}" xyaxes="{text(R[:, 0])} {text(R[:, 1])}">'
               f'<joint type="hinge" axis="0 0 1"/><inertial pos="{text(body.com)}" mass="{body.mass!r}" '
               f'fullinertia="{text(full)}"/>')
        for child in children[i]:
            yield from lines(child)
        yield "</body>"

    bodies = "".join(line for root in children[-1] for line in lines(root))
    return (f'<mujoco><compiler angle="radian"/><option integrator="RK4" gravity="{text(model.gravity)}">'
            f'<flag contact="disable" constraint="disable" energy="disable"/></option>'
            f"<worldbody>{bodies}</worldbody></mujoco>")


def rollout_table(repeats):
    rows, step, steps, count = [], 1e-3, 50, 256
    for name, make in MODELS.items():
        model = make()
        system = mb.System(model, "emh-ldl")
        drawn = [model.random_state(seed) for seed in range(count)]
        Q, P = np.array([q for q, _ in drawn]), np.array([system.momenta(q, u) for q, u in drawn])
        peer = mujoco.MjModel.from_xml_string(mjcf(model))
        peer.opt.timestep = step
        data = mujoco.MjData(peer)
        order = [model.body_names.index(peer.body(int(i)).name) for i in peer.jnt_bodyid]  # theirs is depth first
        initial = np.array([np.concatenate(([0.0], q[order], u[order])) for q, u in drawn])
        out = np.empty((count, steps, initial.shape[1]))
        times_out = step * np.arange(1, steps + 1)

        def ours(threads, s=system, Q=Q, P=P, t=times_out):
            return s.simulate_batch(Q, P, (0.0, steps * step), "rk4", step=step, t_eval=t, threads=threads)

        def theirs(peer=peer, data=data, initial=initial, out=out):
            rollout.rollout(peer, data, initial, nstep=steps, state=out)
            return out

        apart = np.abs(ours(1).q[0, -1][order] - theirs()[0, -1, 1:1 + model.nq]).max()
        times = interleaved({"one": lambda f=ours: f(1), "mujoco": theirs}, repeats, 5e-3, time.thread_time)
        rows.append([name, f"{ratio(times, 'mujoco', 'one'):.1f}",
                     f"{np.median(times['one']) / count / steps * 1e6:.2f}", f"{apart:.0e}"])
    return markdown([f"RK4, {count} states, {steps} steps, all kept", "against mujoco.rollout, 1 thread",
                    "us per step and state", "largest difference in q at the end"], rows)


def adaptive_table(repeats):
    """A step for each state, in lanes with refilling, against one state after another."""
    rows, count = [], 64
    for name in ("chain of 7", "chain of 30"):
        system = mb.System(MODELS[name](), "emh-ldl")
        Q, P = states(system, count)

        def lanes(s=system, Q=Q, P=P):
            return s.simulate_batch(Q, P, (0.0, 0.5), "dopri5", threads=1)

        def single(s=system, Q=Q, P=P):
            for q, p in zip(Q, P, strict=True):
                s.simulate(q, p, (0.0, 0.5), "dopri5", t_eval=[0.0, 0.5])

        solution = lanes()
        tried = solution.steps + solution.rejected
        together = sum(block.max() for block in tried.reshape(-1, LANES))  # at the least, if a block shared its steps
        times = interleaved({"lanes": lanes, "single": single}, repeats, 5e-3, time.thread_time)
        rows.append([name, f"{ratio(times, 'single', 'lanes'):.1f}", f"{together * LANES / tried.sum():.2f}"])
    return markdown(["dopri5, 64 random states", "lanes against one after another, 1 thread",
                    "steps of lanes that wait for the slowest of four, relative to lanes that are refilled"], rows)


if __name__ == "__main__":
    tables = {
        "bench/batch.py rhs": lambda: rhs_table(7 if options.quick else 31),
        "bench/batch.py rollout": lambda: rollout_table(3 if options.quick else 9),
        "bench/batch.py adaptive": lambda: adaptive_table(3 if options.quick else 9),
        "bench/batch.py threads": lambda: threads_table(7 if options.quick else 15)}
    options = arguments("many states at once", publishes=True, parts=[part_of(mark) for mark in tables])
    before = os.getloadavg()
    began = time.time()
    publish_parts(options, "docs/performance.md", tables, "python bench/batch.py")
    after = os.getloadavg()
    print(f"One-minute load average of the machine: {before[0]:.1f} before, {after[0]:.1f} after ({os.cpu_count()} "
          f"processors; this program itself adds 1 to 2), {time.time() - began:.0f} s")
