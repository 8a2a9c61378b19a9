"""PyTorch: the bits of rhs, exact gradients, vmap in one call, and the checks that PyTorch has for operators."""

import numpy as np
import pytest

import mbkern as mb

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def system():
    return mb.System(mb.zoo.chain(3), "emh-ldl")


def draw(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def test_bits(system):
    f = mb.embed.torch(system)
    q, p, tau = draw(0, 3, 3)
    qdot, pdot = f.rhs(q, p, 0.0, tau)
    expected = system.rhs(q.numpy(), p.numpy(), tau=tau.numpy())
    assert np.array_equal(qdot, expected[0]) and np.array_equal(pdot, expected[1])
    Q, P = draw(1, 2, 5, 3)
    expected = system.rhs_batch(Q.numpy(), P.numpy())
    for got in (f.rhs(Q, P), torch.func.vmap(f.rhs)(Q, P)):
        assert np.array_equal(got[0], expected[0]) and np.array_equal(got[1], expected[1])
    assert f.rhs(Q[:0], P[:0])[0].shape == (0, 3)


def test_many_states_are_one_call(system, monkeypatch):
    calls, whole = [], system.rhs_batch
    monkeypatch.setattr(system, "rhs_batch", lambda *given, **named: calls.append(1) or whole(*given, **named),
                        raising=False)
    f = mb.embed.torch(system)
    Q, P = draw(2, 2, 4, 6, 3)
    nested = torch.func.vmap(torch.func.vmap(f.rhs, in_dims=(0, None)), in_dims=(1, None))(Q, P[0, 0])
    assert len(calls) == 1 and nested[1].shape == (6, 4, 3)
    assert np.array_equal(nested[1][2, 3], system.rhs(Q[3, 2].numpy(), P[0, 0].numpy())[1])


def test_gradients(system):
    f = mb.embed.torch(system)
    q, p, tau = (x.clone().requires_grad_() for x in draw(3, 3, 3))
    assert torch.autograd.gradcheck(lambda q, p, tau: f.rhs(q, p, 0.0, tau), (q, p, tau))
    Q, P = (x.clone().requires_grad_() for x in draw(4, 2, 4, 3))
    assert torch.autograd.gradcheck(f.rhs, (Q, P))
    J = torch.func.jacrev(lambda q: f.rhs(q, p.detach())[1])(q.detach())  # rows of weights: vmap of the backward pass
    assert np.allclose(J, system.jacobian_rhs(q.detach().numpy(), p.detach().numpy()).pdot_q, rtol=1e-12, atol=1e-12)


def test_operators_are_what_pytorch_expects(system):
    f = mb.embed.torch(system)
    q, p, tau = (x.clone().requires_grad_() for x in draw(5, 3, 2, 3))
    torch.library.opcheck(f._operator, (q, p, torch.zeros(2, dtype=torch.float64), tau, f._number))
    compiled = torch.compile(lambda q, p: 2.0 * f.rhs(q, p)[1], backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(q, p), 2.0 * f.rhs(q, p)[1])


def test_quaternions_go_by_coordinates():
    model = mb.zoo.chain(2, joint=mb.ball())
    system = mb.System(model, "emh-ldl")
    f = mb.embed.torch(system)
    q, u = model.random_state(seed=0)
    p = system.momenta(q, u)
    J = torch.func.jacrev(f.rhs, (0, 1))(torch.from_numpy(q), torch.from_numpy(p))
    whole = np.block([[np.asarray(part) for part in row] for row in J])
    assert np.allclose(whole, system.jacobian_rhs(q, p, chart="coordinates").matrix, rtol=1e-12, atol=1e-12)


def test_what_is_wrong_is_said(system):
    f = mb.embed.torch(system)
    good = torch.zeros(3, dtype=torch.float64)
    with pytest.raises(mb.errors.MethodError, match=r"q: expected shape \(\.\.\., 3\), got \(4,\)"):
        f.rhs(torch.zeros(4, dtype=torch.float64), good)
    with pytest.raises(mb.errors.MethodError, match=r"p: expected a float64 tensor .* got torch\.float32"):
        f.rhs(good, torch.zeros(3))
    with pytest.raises(mb.errors.MethodError, match="leading dimensions"):
        f.rhs(good.expand(2, 3), good.expand(5, 3))
    with pytest.raises(mb.errors.MethodError, match=r"is \(q, u\)"):
        mb.embed.torch(mb.System(mb.zoo.chain(2), "newton-euler-ldl"))
    assert torch.isnan(f.rhs(torch.full((3,), torch.inf, dtype=torch.float64), good)[0]).all()


def test_closed_loops():
    system = mb.System(mb.zoo.four_bar())
    f = mb.embed.torch(system)
    q, u = system.consistent([0.3, 0.0, 0.0], [0.5, 0.0, 0.0])
    p, tau = system.momenta(q, u), np.array([0.3, 0.0, -0.1])
    given = [torch.from_numpy(np.array([x, x])).requires_grad_() for x in (q, p, tau)]
    assert torch.autograd.gradcheck(lambda q, p, tau: f.rhs(q, p, 0.0, tau), given, atol=1e-5)
    f.rhs(*given[:2], 0.0, given[2])[1][:, 0].sum().backward()
    A = system.jacobian_rhs(q, p, tau=tau)
    for x, expected in zip(given, (A.pdot_q, A.pdot_p, A.pdot_tau), strict=True):
        assert np.allclose(x.grad[1], expected[0], rtol=1e-13, atol=1e-13)
