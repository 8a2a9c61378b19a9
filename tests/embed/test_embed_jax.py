"""JAX: the same bits as rhs under jit and vmap, exact gradients, by both routes."""

import shutil

import numpy as np
import pytest

import mbkern as mb

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
ROUTES = pytest.mark.parametrize("route", [
    pytest.param("ffi", marks=pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler on the path")),
    "callback"])


@pytest.fixture(scope="module")
def system():
    return mb.System(mb.zoo.chain(3), "emh-ldl")


@ROUTES
def test_bits(system, route):
    f = mb.embed.jax(system, route)
    assert f.route == route
    rng = np.random.default_rng(0)
    q, p, tau = rng.normal(size=(3, 3))
    expected = system.rhs(q, p, tau=tau)
    for function in (f.rhs, jax.jit(f.rhs)):
        qdot, pdot = function(q, p, 0.0, tau)
        assert np.array_equal(qdot, expected[0]) and np.array_equal(pdot, expected[1])


@ROUTES
def test_many_states_are_one_call(system, route, monkeypatch):
    f = mb.embed.jax(system, route)
    rng = np.random.default_rng(1)
    Q, P, tau = rng.normal(size=(11, 3)), rng.normal(size=(11, 3)), rng.normal(size=3)
    expected = system.rhs_batch(Q, P, tau=np.tile(tau, (11, 1)))
    calls = []
    if route == "callback":
        whole = system.rhs_batch
        monkeypatch.setattr(system, "rhs_batch", lambda *given, **named: calls.append(1) or whole(*given, **named),
                            raising=False)
    many = jax.jit(jax.vmap(f.rhs, (0, 0, None, None)))
    Qdot, Pdot = many(Q, P, 0.0, tau)
    assert np.array_equal(Qdot, expected[0]) and np.array_equal(Pdot, expected[1])
    assert route == "ffi" or len(calls) == 1
    text = many.lower(Q, P, 0.0, tau).as_text()
    assert text.count("custom_call") == 1 and "while" not in text  # no loop over states
    nested = jax.vmap(jax.vmap(f.rhs))(Q[:10].reshape(5, 2, 3), P[:10].reshape(5, 2, 3), np.zeros((5, 2)),
                                       np.zeros((5, 2, 3)))
    assert np.array_equal(nested[1].reshape(10, 3), system.rhs_batch(Q[:10], P[:10])[1])


@ROUTES
def test_gradients(system, route):
    from jax.test_util import check_grads

    f = mb.embed.jax(system, route)
    rng = np.random.default_rng(2)
    q, p, tau = rng.normal(size=(3, 3))
    check_grads(lambda q, p, tau: f.rhs(q, p, 0.0, tau), (q, p, tau), order=1, modes=["fwd", "rev"], atol=1e-6,
                rtol=1e-6)
    J = np.block([list(row) for row in jax.jit(jax.jacfwd(f.rhs, (0, 1)))(q, p)])
    assert np.allclose(J, system.jacobian_rhs(q, p).matrix, rtol=1e-13, atol=1e-13)
    assert np.allclose(f.jacobian_rhs(q, p), system.jacobian_rhs(q, p).matrix, rtol=0, atol=0)
    many = jax.vmap(jax.grad(lambda q, p: (f.rhs(q, p)[1] ** 2).sum()))(np.tile(q, (5, 1)), np.tile(p, (5, 1)))
    pdot = system.rhs(q, p)[1]
    assert np.allclose(many[3], 2 * pdot @ system.jacobian_rhs(q, p).pdot_q, rtol=1e-12)


def test_quaternions_go_by_coordinates():
    model = mb.zoo.chain(2, joint=mb.ball())
    system = mb.System(model, "emh-ldl")
    f = mb.embed.jax(system, "callback")
    q, u = model.random_state(seed=0)
    p = system.momenta(q, u)
    J = np.block([list(row) for row in jax.jacfwd(f.rhs, (0, 1))(q, p)])
    assert np.allclose(J, system.jacobian_rhs(q, p, chart="coordinates").matrix, rtol=1e-13, atol=1e-13)


@ROUTES
def test_a_state_without_a_value_is_nan(system, route):
    f = mb.embed.jax(system, route)
    Q = np.zeros((5, 3))
    Q[3, 1] = np.inf
    Qdot, _ = jax.vmap(f.rhs)(Q, np.zeros((5, 3)))
    assert np.isnan(Qdot[3]).all() and np.isfinite(np.asarray(Qdot)[[0, 1, 2, 4]]).all()
    assert np.isnan(f.rhs(Q[3], np.zeros(3))[0]).all()


def test_what_is_wrong_is_said(system, monkeypatch):
    with pytest.raises(mb.errors.MethodError, match="route: expected"):
        mb.embed.jax(system, "gpu")
    f = mb.embed.jax(system)
    with pytest.raises(mb.errors.MethodError, match=r"q: expected shape \(3,\), got \(4,\)"):
        f.rhs(np.zeros(4), np.zeros(3))
    driven = mb.ModelBuilder()
    driven.add_body("bob", joint=[mb.rotate("z", mb.harmonic(0.5, 3.0)), mb.rotate("y")], mass=1.0, com=(0.3, 0, -0.4))
    g = mb.embed.jax(mb.System(driven.build(), "emh-ldl"), "callback")
    assert np.isfinite(jax.grad(lambda q: g.rhs(q, np.ones(1), 0.5)[1][0])(np.ones(1))).all()
    with pytest.raises(mb.errors.MethodError, match="with respect to the time"):
        jax.grad(lambda t: g.rhs(np.ones(1), np.ones(1), t)[1][0])(0.5)
    with pytest.raises(mb.errors.MethodError, match="second derivatives"):
        jax.hessian(lambda q: f.rhs(q, np.zeros(3))[1][0])(np.zeros(3))
    assert f.routes == {"rhs": f.route, "jacobian_rhs": f.route}
    assert mb.embed.jax(mb.System(mb.zoo.chain(2, joint=mb.ball()))).routes["jacobian_rhs"] == "callback"


def test_closed_loops():
    """Exact gradients by duals; the forces of the loops answer to joint forces, so that those count as well."""
    from jax.test_util import check_grads

    system = mb.System(mb.zoo.four_bar())
    f = mb.embed.jax(system)
    assert f.routes == {"rhs": f.route, "jacobian_rhs": "callback"}
    q, u = system.consistent([0.3, 0.0, 0.0], [0.5, 0.0, 0.0])
    p, tau = system.momenta(q, u), np.array([0.3, 0.0, -0.1])
    assert np.array_equal(jax.jit(f.rhs)(q, p)[1], system.rhs(q, p)[1])
    check_grads(lambda q, p, tau: f.rhs(q, p, 0.0, tau), (q, p, tau), order=1, modes=["fwd", "rev"], atol=1e-6,
                rtol=1e-6)
    J = jax.jit(jax.jacrev(f.rhs, (0, 1, 3)))(q, p, 0.0, tau)
    A = system.jacobian_rhs(q, p, tau=tau)
    assert np.allclose(np.block([list(row[:2]) for row in J]), A.matrix, rtol=1e-13, atol=1e-13)
    assert np.allclose(J[1][2], A.pdot_tau, rtol=1e-13, atol=1e-13)
    assert np.array_equal(f.jacobian_rhs(q, p, 0.0, tau), A.matrix)
    Q, P = np.tile(q, (5, 1)), np.outer(np.arange(5.0), p)
    assert np.array_equal(jax.vmap(f.rhs)(Q, P)[1], system.rhs_batch(Q, P)[1])
    many = jax.vmap(jax.grad(lambda q: f.rhs(q, p)[1][0]))(np.array([q, q + np.inf, q]))
    expected = system.jacobian_rhs(q, p).pdot_q[0]
    assert np.allclose(many[2], expected, rtol=1e-13, atol=1e-13) and np.isnan(many[1]).all()
