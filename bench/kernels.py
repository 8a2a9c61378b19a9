"""The compiled kernels in loops of their own, so that a measurement does not see the call from Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit

import mbkern as mb
from mbkern.methods import ACCELERATIONS, STATE_METHODS


@cache
def _rhs_loop(name: str) -> Any:
    kernel = STATE_METHODS[name].rhs

    @njit
    def loop(block, q, p, tau, qdot, pdot, work, times):
        for _ in range(times):
            kernel(block, 0.0, q, p, tau, qdot, pdot, work)

    return loop


@cache
def _dynamics_loop(name: str) -> Any:
    """Of joint accelerations: tau given, udot wanted."""
    kernel = ACCELERATIONS[name].operation.compiled.handle

    @njit
    def loop(block, q, u, given, wanted, work, times):
        for _ in range(times):
            kernel(block, 0.0, q, u, given, wanted, work)

    return loop


def _inverse_loop(kernel: Any) -> Any:
    """Of inverse dynamics: udot given, tau wanted."""
    @njit
    def loop(block, q, u, given, wrench, wanted, work, times):
        for _ in range(times):
            kernel(block, 0.0, q, u, given, wrench, wanted, work)

    return loop


def rhs_call(model: mb.Model, name: str, times: int) -> Callable[[], object]:
    """`times` right-hand sides by method `name`, inside compiled code."""
    loop, block = _rhs_loop(name), mb.System(model, name).block.copy()
    q, u = model.random_state(seed=1)
    x = u if STATE_METHODS[name].variable == "u" else mb.System(model, "emh-ldl").momenta(q, u)
    tau, qdot, rate = np.empty(0), np.empty(model.nq), np.empty(model.nv)
    work = np.zeros(STATE_METHODS[name].work_size(block))
    return lambda: loop(block, q, x, tau, qdot, rate, work, times)


def dynamics_call(model: mb.Model, name: str, times: int) -> Callable[[], object]:
    """`times` joint accelerations by method `name`, or "inverse dynamics", inside compiled code."""
    q, u = model.random_state(seed=1)
    wanted = np.empty(model.nv)
    if name == "inverse dynamics":
        system = mb.System(model)
        kernel, block = system.njit("inverse_dynamics")
        inverse, none, memory = _inverse_loop(kernel), np.empty((0, 0)), system.work()
        return lambda: inverse(block, q, u, u, none, wanted, memory, times)
    loop, block = _dynamics_loop(name), model.block.copy()
    tau, work = np.empty(0), np.zeros(ACCELERATIONS[name].work_size(block))
    return lambda: loop(block, q, u, tau, wanted, work, times)


def bundle(chains: int, length: int, joint: Any, hub: bool) -> mb.Model:
    """`chains` chains of `length` bodies, on a hub with the same joint or on the ground."""
    start = [-1] if hub else []
    root = 0 if hub else -1
    parents = start + [len(start) + c * length + i - 1 if i else root for c in range(chains) for i in range(length)]
    rng = np.random.default_rng(chains * 100 + length)
    builder = mb.ModelBuilder(name=f"{chains} chains of {length}")
    for i, parent in enumerate(parents):
        builder.add_body(f"b{i}", "world" if parent < 0 else f"b{parent}", joint, mass=rng.uniform(0.5, 2.0),
                         com=rng.uniform(-0.2, 0.2, 3), inertia=rng.uniform(0.02, 0.03, 3),
                         position=rng.uniform(-0.4, 0.4, 3))
    return builder.build()


JOINTS = {1: mb.revolute("z"), 2: mb.universal("x", "y"), 3: mb.ball()}  # by their dofs
