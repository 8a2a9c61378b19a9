"""One source, several numbers: the same kernels on float64, on SIMD lanes and in plain Python."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numba import njit

import mbkern as mb
from mbkern import plain
from mbkern.core.number import LANES, get, put, root, sincos, smaller, with_sign

KERNELS = {"emh-ldl": "extended", "emh-lu": "extended_lu", "dah": "reduced", "hzu": "multipliers"}


def tree(seed: int) -> mb.Model:
    """A random tree over all joint types, with a driven base, a spring, a damper and rotors."""
    builder = mb.ModelBuilder(gravity=(0.3, -0.4, -9.7))
    base = [mb.rotate("z", mb.harmonic(0.3, 2.0)), mb.translate("x")]
    inertia = (0.2, 0.3, 0.25)
    builder.add_body("base", joint=base, mass=1.0, inertia=inertia, stiffness=3.0, damping=0.2,
                     armature=0.7)
    joints = [mb.ball(), mb.free(), mb.universal("x", "y"), mb.prismatic((1, 2, 2)), mb.revolute("y"), mb.planar("z"),
              [mb.ball(), mb.translate("z", 0.2), mb.rotate("x")], mb.weld()]
    rng = np.random.default_rng(seed)
    for k in rng.permutation(len(joints)):
        builder.add_body(f"b{k}", parent=str(rng.choice(["base", *builder_names(builder)])), joint=joints[k],
                         mass=rng.uniform(0.5, 2), com=rng.normal(size=3) * 0.2, inertia=inertia,
                         position=rng.normal(size=3) * 0.4, armature=0.1 * (k % 2))
    return builder.build()


def builder_names(builder: mb.ModelBuilder) -> tuple[str, ...]:
    return builder.build().body_names


def run(sweeps, evaluate, block, t, q, p, tau, work):
    qdot, pdot = np.zeros_like(q), np.zeros_like(p)
    evaluate(block, t, work)
    sweeps(block, q, p, tau, qdot, pdot, work)
    return qdot, pdot


@pytest.mark.parametrize("method", KERNELS)
def test_lanes_give_the_bits_of_float64(method):
    """Contraction to fma is decided per operation, in lanes as in scalars: not one bit may differ."""
    model = tree(0)
    system, t = mb.System(model, method), 0.4
    states = [model.random_state(k) for k in range(LANES)]
    Q, P = np.array([q for q, _ in states]), np.array([u for _, u in states])
    tau = np.random.default_rng(1).normal(size=(LANES, model.nv))
    Qdot, Pdot = system.rhs_batch(Q, P, t, tau=tau)
    for k in range(LANES):
        qdot, pdot = system.rhs(Q[k], P[k], t, tau[k])
        assert np.array_equal(Qdot[k], qdot)
        assert np.array_equal(Pdot[k], pdot)


@pytest.mark.parametrize("method", KERNELS)
def test_plain_python_runs_the_same_source(method):
    """Plain Python rounds a*b + c twice and takes sin and cos from libm: round-off apart, the same numbers."""
    model = tree(2)
    system = mb.System(model, method)
    q, u = model.random_state(3)
    p = system.momenta(q, u, 0.4)
    tau = np.linspace(-1, 1, model.nv)
    module = plain.load(KERNELS[method])
    assert not hasattr(module.sweeps, "py_func")  # not a compiled function
    qdot, pdot = run(module.sweeps, plain.load("drives").evaluate_drives, system.block, 0.4, q, p, tau, system.work())
    expected = system.rhs(q, p, 0.4, tau)
    scale = max(1.0, np.abs(np.concatenate(expected)).max())
    assert np.abs(qdot - expected[0]).max() < 1e-12 * scale  # conditioning of a 9-body tree times 1e-16
    assert np.abs(pdot - expected[1]).max() < 1e-12 * scale


@njit
def _sincos(x):
    return sincos(x)


PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def exact_sine(x: float, quarter_turns: int) -> Decimal:
    """sin (x + quarter_turns pi/2) to about 50 digits: reduction with 100 digits of pi, then the Taylor series."""
    with localcontext() as context:
        context.prec = 90
        x = Decimal(x) + quarter_turns * PI / 2
        r = x - 2 * PI * (x / (2 * PI)).to_integral_value()
        term, total, k = r, r, 1
        while abs(term) > Decimal("1e-60"):
            term *= -r * r / ((k + 1) * (k + 2))
            total += term
            k += 2
        return total


def test_sincos_to_the_last_places():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-10, 10, 300), 10 ** rng.uniform(-12, 12, 600) * rng.choice([-1, 1], 600),
                        np.arange(-40, 41) * (np.pi / 2), [0.0, 1e12, -1e12, math.nextafter(math.pi, 4)]])
    for value in x.tolist():
        for quarter_turns, found in enumerate(_sincos(value)):
            expected = exact_sine(value, quarter_turns)
            assert abs(Decimal(found) - expected) <= 2 * Decimal(float(np.spacing(abs(float(expected))))), value


@njit
def _lane_functions(a, b, out):
    x, y = get(a, 0), get(b, 0)
    put(out, 0, root(x)); put(out, 1, smaller(x, y)); put(out, 2, -x); put(out, 3, 1.0 - x / y)
    s, c = sincos(y)
    put(out, 4, s); put(out, 5, c); put(out, 6, with_sign(x, s))


def test_functions_of_lanes_are_those_of_floats():
    rng = np.random.default_rng(5)
    a, b = rng.uniform(0.1, 2, (1, LANES)), rng.uniform(0.1, 200, (1, LANES))
    many = np.zeros((7, LANES))
    _lane_functions(a, b, many)
    for k in range(LANES):
        one = np.zeros(7)
        _lane_functions(a[:, k].copy(), b[:, k].copy(), one)
        assert np.array_equal(one, many[:, k])
    assert np.array_equal(many[6], np.copysign(a[0], many[4]))
    assert np.allclose(many[0], np.sqrt(a[0]), rtol=0) and np.array_equal(many[1], np.minimum(a[0], b[0]))
