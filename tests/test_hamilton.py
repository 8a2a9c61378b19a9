"""rhs is the Hamiltonian vector field of the system's own H: qdot = dH/dp, pdot = -dH/dq.

For scalar coordinates these are Hamilton's equations as they stand. For a quaternion joint the derivative is
taken along the body-frame speed e_k (q moves along N(q) e_k, p fixed) and Hamel's term joins it:

    pdot_k = -X_k H + (ad*_u p)_k        rotation: p x w;   free joint: (pl x w; pa x w + pl x v)

Differences are of eighth order. In q (step h = 2.5e-3): truncation about (h / r)^8 with r, often as small as 0.05,
the distance of H's nearest complex pole, so 1e-11; round-off about 1e-16 / h times H, which is some ten times
pdot: 1e-12. The tolerance 1e-9 leaves room for harder states. H is quadratic in p: there the formula is exact.
"""

import numpy as np
import pytest
from cases import (
    BASES,
    CANONICAL,
    JOINT_KINDS,
    assert_close,
    derivative,
    random_model,
    random_state,
)
from reference import advance, lie_poisson

import mbkern as mb

TOLERANCE = 1e-9
T = 0.37


def gradient_p(system, q, p):
    """dH/dp."""
    scale = max(1.0, np.max(np.abs(p), initial=0.0))
    return np.array(
        [derivative(lambda h, e=e: system.energy(q, p + scale * h * e, T).hamiltonian) / scale for e in np.eye(len(p))]
    )


def gradient_q(system, q, p):
    """X_k H: along joint speed k, momenta fixed."""
    model = system.model
    return np.array(
        [derivative(lambda h, e=e: system.energy(advance(model, q, e, h), p, T).hamiltonian) for e in np.eye(len(p))]
    )


def check(model, seed, method):
    system = mb.System(model, method)
    q, p = random_state(model, seed, T)
    _, pdot = system.rhs(q, p, T)
    u = system.velocities(q, p, T)
    assert_close(gradient_p(system, q, p), u, TOLERANCE, "u = dH/dp")
    assert_close(pdot, lie_poisson(model, p, u) - gradient_q(system, q, p), TOLERANCE, "pdot = -dH/dq")


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
@pytest.mark.parametrize("rotors", [False, True])
@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_each_joint_type(kind, rotors, method):
    kinds = [kind]
    check(random_model("chain", 3, 4, kinds=kinds, rotors=rotors), 4, method)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("family", ["chain", "carousel", "random"])
def test_trees(family, base):
    check(random_model(family, 5, 31, base=base, rotors=True), 31, "emh-ldl")


def test_springs_belong_to_the_potential():
    """With springs and no dampers H is still the Hamiltonian."""
    builder = mb.ModelBuilder()
    builder.add_body(
        "a",
        joint=mb.cylindrical("y"),
        mass=1.0,
        com=(0.2, 0, 0.1),
        inertia=(0.1, 0.1, 0.1),
        stiffness=(3.0, 20.0),
        rest=(0.4, -0.1),
    )
    builder.add_body(
        "b",
        "a",
        [mb.translate("x"), mb.ball()],
        mass=2.0,
        com=(0, 0.1, 0.3),
        inertia=(0.2, 0.2, 0.1),
        stiffness=(15.0, 0.0, 0.0, 0.0),
        rest=(0.2, 0.0, 0.0, 0.0),
    )
    check(builder.build(), 6, "emh-ldl")


@pytest.mark.parametrize("seed", range(3))
def test_qdot_is_the_speed_of_scalar_coordinates(seed):
    model = random_model("random", 6, seed, kinds=CANONICAL)
    q, p = random_state(model, seed, T)
    system = mb.System(model)
    qdot, _ = system.rhs(q, p, T)
    assert_close(qdot, system.velocities(q, p, T), 1e-12, "qdot = u")


@pytest.mark.parametrize("seed", range(3))
def test_quaternion_rates_keep_the_norm(seed):
    """qdot of a quaternion is orthogonal to it and moves it as the body-frame angular speed says."""
    model = random_model("chain", 4, seed, kinds=["ball", "free", "moving_ball"])
    q, p = random_state(model, seed)
    system = mb.System(model)
    qdot, _ = system.rhs(q, p)
    u = system.velocities(q, p)
    expected = derivative(lambda h: advance(model, q, u, h))
    assert_close(qdot, expected, 1e-10, "qdot = N(q) u")
