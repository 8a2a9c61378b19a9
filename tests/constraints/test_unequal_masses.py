"""Bodies much lighter than their neighbours in a loop: G has eigenvalues as far apart as masses, speeds stay exact.

As ordinary Python, against the dense equations with multipliers, refined in extended precision.
"""

import numpy as np
import pytest
import reference
from test_rows import KERNELS, LAYOUT

import mbkern as mb
from mbkern import explain, plain
from mbkern.core import constants as L
from mbkern.core import constraint_constants as K
from mbkern.model.model import Model

STEPS = plain.load("layout")


def four_bar(lighter, ratio):
    """One of the bars with a part of its mass."""
    base = mb.zoo.four_bar()
    bodies = tuple(body._replace(mass=body.mass / ratio, inertia=tuple(tuple(x / ratio for x in row)
                                                                       for row in body.inertia))
                   if body.name == lighter else body for body in base.body_specs)
    return Model(base.name, tuple(base.gravity.tolist()), bodies, constraints=base.constraints)


def called(model, name, *inputs, sizes):
    """Results of a kernel, and the workspace."""
    work, out = np.full(LAYOUT.constrained_size(model.block), np.nan), [np.full(n, np.nan) for n in sizes]
    plain.load("drives").evaluate_drives(model.block, 0.0, work)
    getattr(KERNELS, name)(model.block, *inputs, *out, work)
    return out, work


def dense_speeds(M, a, p):
    KKT, right = np.block([[M, a.T], [a, np.zeros((len(a), len(a)))]]), np.r_[p, np.zeros(len(a))]
    size = 1.0 / np.sqrt(np.abs(KKT).max(axis=1))  # masses and rows have sizes of their own
    scaled = size[:, None] * KKT * size
    x = np.zeros(len(right), np.longdouble)
    for _ in range(6):
        left = size * (right - KKT.astype(np.longdouble) @ (size * x))
        x = x + np.linalg.solve(scaled, left.astype(float))
    return (size * x)[:len(M)].astype(float)


@pytest.mark.parametrize("lighter", ["crank", "coupler", "rocker"])
@pytest.mark.parametrize("ratio", [1.0, 1e3, 1e6, 1e9])
def test_speeds_have_all_their_digits(lighter, ratio):
    """Rounding times the eigenvalues' ratio would be 1e-7 for the last, a softness of 1e-8 would leave 1."""
    model, q = four_bar(lighter, ratio), np.array([0.4, -0.5, 0.3])
    assert bool(model.block[int(model.block[L.AT_CONSTRAINTS]) + K.UNEQUAL]) == (ratio > 1e4)
    M = reference.mass_matrix(model, q, 0.0)
    (a, _), _ = called(model, "constraint_matrix", q, sizes=[2 * model.nv, 2])
    a, P = a.reshape(2, -1), M @ np.array([2.0, 1.0, -1.0])
    (u, _), work = called(model, "flow", q, P, np.zeros(model.nv), sizes=[model.nv, model.nv])
    exact = dense_speeds(M, a, P)
    np.testing.assert_allclose(u, exact, atol=3e-14 * np.abs(exact).max())
    np.testing.assert_allclose(a @ u, 0.0, atol=3e-14 * np.abs(exact).max())
    assert work[STEPS.margins_at(model.block)] > 0.0


def test_what_is_said_where_no_digit_is_left():
    """1e16 lighter: nothing contradicts, and no joint lacks inertia."""
    model, q = four_bar("coupler", 1e16), np.array([0.4, -0.5, 0.3])
    P = reference.mass_matrix(model, q, 0.0) @ np.array([2.0, 1.0, -1.0])
    _, work = called(model, "flow", q, P, np.zeros(model.nv), sizes=[model.nv, model.nv])
    assert work[STEPS.margins_at(model.block)] < 0.0
    error = explain.singular(model, model.block, work, 0.0)
    assert isinstance(error, mb.errors.StateError)
    text = str(error)
    assert "'pin" in text and "'coupler' (2e-16 kg)" in text and "digits" in text, text


def test_rotors_count():
    def is_unequal(mass, armature):
        b = mb.ModelBuilder()
        b.add_body("crank", joint=mb.revolute("z"), mass=mass, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1),
                   armature=armature)
        b.add_body("rod", "crank", mb.revolute("z"), 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1), position=(1, 0, 0))
        b.add_loop("pin", "rod", kind="plane-point", position_a=(1, 0, 0), position_b=(1, 1, 0))
        block = b.build().block
        return bool(block[int(block[L.AT_CONSTRAINTS]) + K.UNEQUAL])

    assert [is_unequal(*sizes) for sizes in ((1.0, 0.0), (1.0, 1e5), (1.0, 1e7), (1e5, 0.0))] == [0, 0, 1, 1]
