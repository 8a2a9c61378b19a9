"""One source, any number: the sweeps of every method on SIMD lanes and in plain Python.

Lanes run the same operations in the same order as float64, but LLVM is free to fuse different products into
fused multiply-adds, and the dense eliminations start vectors elsewhere: equal to rounding, 1e-12.
"""

import importlib

import numpy as np
import pytest
from cases import assert_close, random_loads, random_model, random_state

import mbkern as mb
from mbkern import plain
from mbkern.core.drives import evaluate_drives
from mbkern.core.number import LANES
from mbkern.methods import METHODS

MODULES = {"emh-ldl": "extended", "emh-lu": "extended_lu", "dah": "reduced", "hzu": "multipliers"}
T = 0.37


@pytest.fixture(scope="module")
def machine():
    """All kinds of joints on one tree, with drives and springs, and a state for each lane."""
    model = random_model("random", 12, 5, springs=True)
    states = [random_state(model, seed, T) for seed in range(LANES)]
    tau = [random_loads(model, seed)[0] for seed in range(LANES)]
    return model, states, tau


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_lanes(machine, method):
    model, states, tau = machine
    system = mb.System(model, method)
    q, p, forces = (np.ascontiguousarray(np.transpose(x)) for x in (*zip(*states, strict=True), tau))
    qdot, pdot = np.empty((model.nq, LANES)), np.empty((model.nv, LANES))
    work = np.zeros((METHODS[method].work_size(system.block), LANES))
    evaluate_drives(system.block, T, work)
    sweeps = importlib.import_module(f"mbkern.core.{MODULES[method]}").sweeps
    sweeps(system.block, q, p, forces, qdot, pdot, work)
    for lane, (state, force) in enumerate(zip(states, tau, strict=True)):
        expected = system.rhs(*state, T, tau=force)
        assert_close(qdot[:, lane], expected[0], 1e-12, f"qdot of lane {lane}")
        assert_close(pdot[:, lane], expected[1], 1e-12, f"pdot of lane {lane}")


@pytest.mark.parametrize("method", METHODS)
def test_plain_python(machine, method):
    """The compiled functions are what their source says (libm's sine and cosine differ in the last place)."""
    model, (state, *_), (force, *_) = machine
    system = mb.System(model, method)
    qdot, pdot = np.empty(model.nq), np.empty(model.nv)
    block, work = system.block.tolist(), [0.0] * METHODS[method].work_size(system.block)
    plain.load("drives").evaluate_drives(block, T, work)
    plain.load(MODULES[method]).sweeps(block, *(x.tolist() for x in state), force, qdot, pdot, work)
    expected = system.rhs(*state, T, tau=force)
    assert_close(qdot, expected[0], 1e-12, "qdot")
    assert_close(pdot, expected[1], 1e-12, "pdot")
