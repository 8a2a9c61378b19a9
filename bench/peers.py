"""rhs(q, p) against the articulated-body algorithm of Pinocchio, on the same models in one run.

    python bench/peers.py [--quick] [--part sizes] [--write]

Prints Markdown tables: called from Python, and inside compiled code, as parts of the time of `pin.aba`;
joints of 1, 2, 3 and 6 dofs; time per body for large N; the first call with a cold and a warm cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import pinocchio as pin
from common import arguments, interleaved, markdown, part_of, publish_parts, ratio
from numba import njit

import mbkern as mb

COLUMNS = ("from Python, `out=` given", "from Python, new arrays", "inside compiled code", "pin.aba in us")
SHAPES = {"chain": mb.zoo.chain, "carousel": mb.zoo.carousel, "binary tree": mb.zoo.binary_tree}


RHS, _ = mb.System(mb.zoo.chain(1), "emh-ldl").njit()  # one compiled function serves every model


@njit
def repeat(block, q, p, tau, qdot, pdot, work, times):
    for _ in range(times):
        RHS(block, 0.0, q, p, tau, qdot, pdot, work)


def compiled_call(system, q, p, times):
    """`times` evaluations inside compiled code."""
    block = system.njit()[1]
    qdot, pdot, work, tau = np.empty(system.model.nq), np.empty(system.model.nv), system.work(), np.empty(0)
    return lambda: repeat(block, q, p, tau, qdot, pdot, work, times)


def pinocchio_model(model, joint):
    """The same bodies and placements with a joint of Pinocchio's for each body."""
    peer = pin.Model()
    for body in model.body_specs:
        place = pin.SE3(np.array(body.rotation), np.array(body.position))
        index = peer.addJoint(body.parent + 1, joint(), place, body.name)
        inertia = pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))
        peer.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    return peer


def contest(model, joint, repeats):
    """Ratios of rhs to pin.aba: from Python into given arrays (as pin.aba works), into new ones; in compiled code."""
    system = mb.System(model, "emh-ldl").warmup()
    q, u = model.random_state(seed=1)
    p = system.momenta(q, u)
    peer = pinocchio_model(model, joint)
    data = peer.createData()
    q_peer, v, tau = pin.randomConfiguration(peer, -np.ones(peer.nq), np.ones(peer.nq)), u.copy(), np.zeros(peer.nv)
    inner = max(1, 10000 // model.nv)  # enough to make the call itself invisible
    rhs, aba, out = system.rhs, pin.aba, (np.empty(model.nq), np.empty(model.nv))
    times = interleaved({"given": lambda: rhs(q, p, out=out), "new": lambda: rhs(q, p),
                         "compiled": compiled_call(system, q, p, inner),
                         "aba": lambda: aba(peer, data, q_peer, v, tau)}, repeats, clock=time.thread_time)
    times["compiled"] /= inner
    ratios = [f"{ratio(times, name, 'aba'):.2f}" for name in ("given", "new", "compiled")]
    return [*ratios, f"{np.median(times['aba']) * 1e6:.1f}"]


def sizes_table(repeats, sizes):
    rows = []
    for name, make in SHAPES.items():
        for n in sizes:
            model = make(n, joint=mb.revolute("z"))
            rows.append([name, n, *contest(model, pin.JointModelRZ, repeats)])
    return markdown(["tree of revolute joints", "N", *COLUMNS], rows)


def joints_table(repeats, n):
    def universal():
        joint = pin.JointModelComposite(pin.JointModelRX())
        joint.addJoint(pin.JointModelRY())
        return joint

    rows = []
    for about, ours, theirs in (
            ("1: revolute", mb.revolute("z"), pin.JointModelRZ), ("1: prismatic", mb.prismatic("z"), pin.JointModelPZ),
            ("2: universal", mb.universal("x", "y"), universal),
            ("3: ball (quaternion)", mb.ball(), pin.JointModelSpherical),
            ("3: ball (three angles)", mb.euler_ball("zyx"), pin.JointModelSphericalZYX),
            ("3: planar", mb.planar("z"), pin.JointModelPlanar), ("6: free", mb.free(), pin.JointModelFreeFlyer)):
        rows.append([about, *contest(mb.zoo.chain(n, joint=ours), theirs, repeats)])
    return markdown([f"dofs: joint, chain of {n}", *COLUMNS], rows)


def large_table(repeats, sizes):
    calls, builds = {}, {}
    for n in sizes:
        start = time.perf_counter()
        model = mb.zoo.chain(n)
        system = mb.System(model, "emh-ldl")
        builds[n] = time.perf_counter() - start
        q, u = model.random_state(seed=1)
        calls[n] = compiled_call(system, q, system.momenta(q, u), 1)
    times = interleaved({str(n): call for n, call in calls.items()}, repeats, clock=time.thread_time)
    reference = times["100"] / 100
    rows = [[n, f"{np.median(times[str(n)]) / n * 1e9:.0f}", f"{np.median(times[str(n)] / n / reference):.2f}",
             f"{builds[n]:.2f}"] for n in sizes]
    return markdown(["N (chain)", "ns per body", "relative to N = 100", "seconds to build"], rows)


def first_call_table(repeats):
    """Process time of a first evaluation, imports included; median."""
    rows = []
    for name, model in (("only hinges: chain of 10", "chain(10)"), ("any: pipelayer", "pipelayer()")):
        program = ("import time; start = time.process_time(); import mbkern as mb; "
                   f"loaded = time.process_time() - start; m = mb.zoo.{model}; q, u = m.random_state(1); "
                   "mb.System(m).rhs(q, u); print(time.process_time(), loaded)")
        times = {"cold": [], "warm": []}
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as folder:
                for cache in times:
                    result = subprocess.run([sys.executable, "-c", program], text=True, check=True,
                                            env=dict(os.environ, NUMBA_CACHE_DIR=folder), capture_output=True)
                    times[cache].append([float(x) for x in result.stdout.split()])
        totals = [f"{np.median(times[cache], axis=0)[0]:.2f}" for cache in times]
        rows.append([name, *totals, f"{np.median(times['warm'], axis=0)[1]:.2f}"])
    return markdown(["machine", "first rhs, cold cache: process seconds, imports included", "warm cache",
                    "of which `import mbkern`"], rows)


if __name__ == "__main__":
    tables = {
        "bench/peers.py sizes": lambda: sizes_table(turns, (10, 30) if options.quick else (10, 30, 100, 300)),
        "bench/peers.py joints": lambda: joints_table(turns, 30),
        "bench/peers.py large": lambda: (large_table(5, (100, 1000, 10000)) if options.quick
                                         else large_table(21, (100, 1000, 10000, 100000))),
        "bench/peers.py first": lambda: first_call_table(1 if options.quick else 5)}
    options = arguments("rhs(q, p) against pin.aba", publishes=True, parts=[part_of(mark) for mark in tables])
    turns = 11 if options.quick else 51
    publish_parts(options, "docs/performance.md", tables, "python bench/peers.py")
