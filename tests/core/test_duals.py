"""Dual numbers through the kernels' own source: what the derivatives in closed form are held against."""

import numpy as np
import pytest
import reference
from cases import assert_close, derivative, random_loads, random_model, random_state
from dual import Dual, partials_of, rhs_tangents, seeded, tangent_basis, values_of
from numba import njit

import mbkern as mb
from mbkern import plain
from mbkern.core import joint_momenta
from mbkern.core.drives import evaluate_drives
from mbkern.core.number import COLUMNS, fma, get, larger, magnitude, put, root, sincos, smaller, with_sign

T = 0.37


@njit
def momenta(block, q, u, p, work):
    joint_momenta.momenta(block, q, u, p, work)


MACHINES = {
    "any chain": {"family": "chain", "n": 4, "seed": 5, "springs": True},
    "a tree on a driven base": {"family": "binary", "n": 5, "seed": 6, "base": "driven", "springs": True},
    "balls and frees": {"family": "random", "n": 4, "seed": 9, "kinds": ("ball", "free", "moving_ball")},
    "rotors": {"family": "random", "n": 3, "seed": 13, "kinds": ("ball", "free", "revolute"), "rotors": True},
}


def machine_of(name):
    model = random_model(**MACHINES[name])
    return model, *random_state(model, 1, T), *random_loads(model, 1)


def test_dual_arithmetic_is_the_chain_rule():
    x, y = seeded([0.7, -1.3], np.eye(2))

    def f(a, b):
        s, c = a.sincos() if isinstance(a, Dual) else (np.sin(a), np.cos(a))
        r = (1.0 + a * a).root() if isinstance(a, Dual) else np.sqrt(1.0 + a * a)
        return (2.0 - s * b) / (r + c) - abs(b) / 3.0 + 1.0 / b + (b - a) * np.float64(0.3) - (-a)

    exact = f(x, y)
    assert exact.value == pytest.approx(f(0.7, -1.3), rel=1e-15)
    assert exact.partials[0] == pytest.approx(float(derivative(lambda h: f(0.7 + h, -1.3))), rel=1e-11)
    assert exact.partials[1] == pytest.approx(float(derivative(lambda h: f(0.7, -1.3 + h))), rel=1e-11)


@pytest.mark.parametrize("name", MACHINES, ids=[name.replace(" ", "-") for name in MACHINES])
def test_the_tangents_of_all_methods_agree(name):
    """Four independent sources, one derivative: conditioning of the machines times rounding."""
    model, q, p, tau, wrench = machine_of(name)
    values, tangents = rhs_tangents("extended", model, q, p, T, tau, wrench)
    hamilton = reference.hamilton(model, q, p, T, tau, wrench)
    assert_close(values, np.concatenate([hamilton.u, hamilton.pdot]), 1e-10, "values")
    for module in ("extended_lu", "reduced", "multipliers"):
        other_values, other = rhs_tangents(module, model, q, p, T, tau, wrench)
        assert_close(other_values, values, 1e-10, module)
        assert_close(other, tangents, 1e-10, module)


@pytest.mark.parametrize("name", MACHINES, ids=[name.replace(" ", "-") for name in MACHINES])
def test_tangents_are_limits_of_differences_of_the_dense_reference(name):
    model, q, p, tau, wrench = machine_of(name)
    _, tangents = rhs_tangents("extended", model, q, p, T, tau, wrench)
    rng = np.random.default_rng(3)
    d, e = rng.normal(size=model.nv), rng.normal(size=model.nv)
    dq = tangent_basis(model, q) @ d

    def along(h):
        hamilton = reference.hamilton(model, q + h * dq, p + h * e, T, tau, wrench)
        return np.concatenate([hamilton.u, hamilton.pdot])

    # differences of eighth order: 1e-16 / h and h^8 are both below 1e-10 of numbers of order ten to a thousand
    assert_close(tangents @ np.concatenate([d, e, np.zeros(model.nv)]), derivative(along, 1e-3), 1e-8, "directional")


# ---- compiled ----


@njit
def _functions(a, b, out):
    x, y = get(a, 0), get(b, 0)
    s, c = sincos(x)
    put(out, 0, root(x)); put(out, 1, smaller(x, y)); put(out, 2, larger(x, y)); put(out, 3, magnitude(y))
    put(out, 4, with_sign(x, y)); put(out, 5, s); put(out, 6, c); put(out, 7, fma(x, y, s)); put(out, 8, fma(2.0, x, y))
    put(out, 9, (1.0 - x) / y + 3.0 / x - -y * 2.0); put(out, 10, x / 4.0 - y); put(out, 11, 0.5)


def compiled_duals(values, partials):
    """An array of the core's dual numbers."""
    return np.ascontiguousarray(np.column_stack([values, partials])[:, None, :])


def test_functions_of_compiled_duals_are_those_of_plain_ones():
    number, rng = plain.load("number"), np.random.default_rng(2)
    da, db, out = rng.normal(size=(1, COLUMNS)), rng.normal(size=(1, COLUMNS)), np.full((12, 1, 1 + COLUMNS), np.nan)
    for a, b in ((0.7, -1.3), (0.7, 0.4)):
        _functions(compiled_duals([a], da), compiled_duals([b], db), out)
        (x,), (y,) = seeded([a], da), seeded([b], db)
        s, c = number.sincos(x)
        expected = [number.root(x), number.smaller(x, y), number.larger(x, y), number.magnitude(y),
                    number.with_sign(x, y), s, c, x * y + s, 2.0 * x + y, (1.0 - x) / y + 3.0 / x - -y * 2.0,
                    x / 4.0 - y, 0.5]
        assert_close(out[:, 0, 0], values_of(expected), 1e-15, "values")
        assert_close(out[:, 0, 1:], partials_of(expected, COLUMNS), 1e-15, "partials")


@pytest.mark.slow
def test_compiled_duals_through_the_sweeps_are_plain_ones():
    """One compilation for dual numbers, of both sweeps; every joint, drives and rotors of all kinds. (Right-hand sides
    for dual numbers are compiled for closed loops: their derivatives are in constraints/.)"""
    for arguments in (*MACHINES.values(), {"family": "chain", "n": 5, "seed": 11, "rotors": True, "springs": True}):
        model = random_model(**arguments)
        q, u = random_state(model, 1, T)
        memory, rng = mb.System(model).work(), np.random.default_rng(3)
        seeds = [rng.normal(size=(n, COLUMNS)) for n in (model.nq, model.nv)]
        evaluate_drives(model.block, T, memory)
        p = np.full((model.nv, 1, 1 + COLUMNS), np.nan)
        momenta(model.block, *(compiled_duals(x, d) for x, d in zip((q, u), seeds, strict=True)), p,
                compiled_duals(memory, np.zeros((memory.size, COLUMNS))))
        expected, work = np.empty(model.nv, object), np.full(40_000, np.nan, object)
        plain.load("drives").evaluate_drives(model.block, T, work)
        plain.load("joint_momenta").momenta(model.block, *(seeded(x, d) for x, d in zip((q, u), seeds, strict=True)),
                                            expected, work)
        assert_close(p[:, 0, 0], values_of(expected), 1e-12, "values")
        assert_close(p[:, 0, 1:], partials_of(expected, COLUMNS), 1e-12, "partials")
