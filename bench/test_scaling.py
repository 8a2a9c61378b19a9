"""The scaling study for pytest-benchmark: one evaluation, and 0.1 s of motion, of chains, carousels and binary trees.

    python -m pytest bench/test_scaling.py
    python -m pytest bench/test_scaling.py -k "chain and 16" --benchmark-json=chains.json

The settings are in bench/pytest.ini. Every run is kept as JSON in the folder .benchmarks; `--benchmark-compare` shows
the last one beside the present one (two versions in one run, which is fairer: bench/compare.py).
"""

import pytest

from mbkern.flops.diagrams import joint_of
from mbkern.flops.scaling import FAMILIES, can_integrate, integration
from mbkern.flops.timing import some_state
from mbkern.methods import STATE_METHODS
from mbkern.system import System

scaling = pytest.importorskip("scaling", reason="run from the repository, with bench/ beside this file")
JOINTS = {1: "revolute", 2: "universal", 3: "ball"}
METHODS = [name for name in STATE_METHODS if name != "appell"]  # which takes the cube of the dofs on every tree


def tree(family, dofs, bodies):
    return FAMILIES[family](bodies, joint_of(dofs))


@pytest.mark.parametrize("method", [*METHODS, *scaling.PEERS])
@pytest.mark.parametrize("bodies", [4, 16, 64])
@pytest.mark.parametrize("dofs", JOINTS, ids=JOINTS.get)
@pytest.mark.parametrize("family", FAMILIES)
def test_evaluation(benchmark, family, dofs, bodies, method):
    benchmark.group = f"evaluation: {family} of {bodies}, {JOINTS[dofs]}"
    model = tree(family, dofs, bodies)
    if method in METHODS:  # from Python, as the others
        system = System(model, method).warmup()
        benchmark(system.rhs, *some_state(system))
    else:
        benchmark(scaling.PEERS[method](model))


@pytest.mark.skipif(not can_integrate(), reason="no integrators in this installation")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dofs", JOINTS, ids=JOINTS.get)
@pytest.mark.parametrize("family", FAMILIES)
def test_integration(benchmark, family, dofs, method, bodies=16):
    benchmark.group = f"integration: {family} of {bodies}, {JOINTS[dofs]}"
    benchmark(integration(tree(family, dofs, bodies), method, 0.1))
