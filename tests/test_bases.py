"""Constant bases of joints in the block of hzu and lagrange-1: the same as those that the kernel computes."""

import numpy as np
import pytest
from cases import FAMILIES, assert_close, random_model, random_state

import mbkern as mb
from mbkern import plain
from mbkern.core import constants as L
from mbkern.methods import METHODS
from mbkern.workspace.bases import with_bases


def rows_of(block):
    return block[int(block[L.AT_BASES]):].reshape(-1, L.BASIS)


def rates(model, block, q, p):
    qdot, pdot = np.full(model.nq, np.nan), np.full(model.nv, np.nan)
    work = np.full(METHODS["hzu"].work_size(block), np.nan)
    assert plain.rhs("multipliers")(block.copy(), 0.37, q, p, np.empty(0), qdot, pdot, work) == 0
    return qdot, pdot


@pytest.mark.parametrize("seed", range(12))
def test_rates_with_and_without(seed):
    """The kernel as plain Python on workspaces full of NaN; reflections in another order of sums: a few roundings."""
    model = random_model(FAMILIES[seed % 4], 6, seed, springs=True)
    q, p = random_state(model, seed)
    prepared, bare = rates(model, with_bases(model.block), q, p), rates(model, model.block, q, p)
    for ours, expected in zip(prepared, bare, strict=True):
        assert_close(ours, expected, 1e-11, "rates")


@pytest.mark.parametrize(("joint", "constant"), [
    (mb.revolute((1, 2, 2)), True), (mb.prismatic("x"), True), (mb.screw("y", 0.3), True), (mb.ball(), True),
    (mb.free(), True), (mb.weld(), True), (mb.universal("x", "y"), False), (mb.planar("z"), False),
    ([mb.rotate("x", mb.harmonic(0.3, 2.0)), mb.rotate("y")], True), ([mb.rotate("y"), mb.rotate("x", 0.4)], True),
    ([mb.rotate("y"), mb.rotate("x", mb.harmonic(0.3, 2.0))], False)])
def test_which_joints_are_constant(joint, constant):
    builder = mb.ModelBuilder()
    builder.add_body("base", joint=mb.free(), mass=2.0, com=(0.1, 0.2, 0.3), inertia=(1, 2, 2.5))
    builder.add_body("tip", "base", joint, mass=1.0, com=(0.3, 0.1, -0.2), inertia=(0.3, 0.4, 0.5), position=(1, 0, 1))
    model = builder.build()
    rows = rows_of(with_bases(model.block))
    assert rows[:, L.IS_CONSTANT].tolist() == [1.0, float(constant)]
    n = int(model.dofs[1])
    Q = rows[1, L.BASIS_Q:L.BASIS_Q + 36].reshape(6, 6)
    Z = rows[1, L.BASIS_Z:L.BASIS_Z + 36].reshape(6, 6)[:6 - n]
    if constant:
        _, A, _ = mb.System(model).blocks(model.random_state(3)[0], 0.2)
        assert np.abs(Q @ Q.T - np.eye(6)).max() < 1e-14
        assert np.abs(Z @ A[1]).max(initial=0.0) < 1e-14  # A^T Z = 0, in the body's frame, at any configuration
        assert np.linalg.matrix_rank(np.vstack([Z, A[1].T])) == 6
    else:
        assert not rows[1].any()


def test_nothing_moves():
    builder = mb.ModelBuilder()
    builder.add_body("block", joint=mb.weld(), mass=1.0, inertia=(1, 1, 1))
    (row,) = rows_of(with_bases(builder.build().block))
    assert np.array_equal(row[L.BASIS_Z:].reshape(6, 6), np.eye(6))  # L of a unit inertia


def test_where_they_are():
    model = mb.zoo.chain(3)
    for method, more in (("hzu", 3 * L.BASIS), ("lagrange-1", 3 * L.BASIS), ("emh-ldl", 0), ("dah", 0)):
        block = mb.System(model, method).block
        assert block.size == model.block.size + more == block[L.SIZE]
        assert bool(block[L.AT_BASES]) == bool(more)
