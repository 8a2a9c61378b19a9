"""Orders of convergence, measured as slopes; dense output; quaternions; agreement with SciPy."""

import numpy as np
import pytest
from integrate_cases import FIXED, ORDER, error, flying, precise, state

import mbkern as mb

END = 0.4


def models():
    chain = mb.zoo.chain(3, joint=mb.revolute("z"), seed=1)
    balls = mb.zoo.random_tree(3, seed=2, joints=[mb.ball()])
    driven = mb.zoo.chain(3, joint=[mb.rotate("x", mb.harmonic(0.3, 5.0)), mb.rotate("z")], seed=4)
    return {"chain": chain, "balls": balls, "flying": flying(), "driven": driven}


@pytest.fixture(scope="module", params=list(models()))
def motion(request):
    system, q, p = state(models()[request.param], 5)
    return system, q, p, precise(system, q, p, (0.0, END))


def equal_steps(system, q, p, integrator, n, end=END, **more):
    """A run with n equal steps; dopri5 with a tolerance that accepts every one of them."""
    if integrator == "dopri5":
        more |= {"max_step": end / n, "rtol": 1.0, "atol": 1e6}
    return system.simulate(q, p, (0.0, end), integrator, step=end / n, **more)


@pytest.mark.parametrize("integrator", ORDER)
def test_order_of_convergence(motion, integrator):
    system, q, p, reference = motion
    errors = []
    for n in (16, 32, 64, 128, 256, 512):
        solution = equal_steps(system, q, p, integrator, n)
        assert solution.success and solution.n_accepted == n
        errors.append(error(system, solution.q[-1], solution.p[-1], reference))
        if errors[-1] < 5e-11:  # further down, round-off and the reference begin to show
            break
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    assert errors[-1] > 1e-13, "the slope of round-off says nothing"
    # measured slopes approach the order from either side; a method of order one less is 1 away. The error constants
    # of dopri5 are so small that the next power is still to be seen at the end of its range.
    above = 0.7 if integrator == "dopri5" else 0.35
    assert ORDER[integrator] - 0.35 < slopes[-1] < ORDER[integrator] + above, (errors, slopes)


def test_quaternions_have_length_one(motion):
    system, q, p, _ = motion
    for integrator in ORDER:
        places = system.model.quaternion_offsets
        solution = equal_steps(system, 1.05 * q if places.size else q, p, integrator, 64, dense=True)
        for at in places:
            for states in (solution.q, solution.sol(np.linspace(0.0, END, 50))[0]):
                assert np.abs(np.linalg.norm(states[:, at:at + 4], axis=1) - 1.0).max() < 1e-14


def test_scaling_commutes_with_a_step():
    """A step from a quaternion of another length gives the same rotation: why normalisation costs no order."""
    system, q, p = state(models()["flying"], 6)
    nq, starts = system.model.nq, system.model.quaternion_offsets

    def rk4(y, h):  # without any normalisation
        f = system.ode()
        k1 = f(0.0, y)
        k2 = f(0.5 * h, y + 0.5 * h * k1)
        k3 = f(0.5 * h, y + 0.5 * h * k2)
        k4 = f(h, y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    scale = np.ones(nq + system.model.nv)
    for at in starts:
        scale[at:at + 4] = 1.04
    y, h = np.concatenate((q, p)), 0.02
    np.testing.assert_allclose(rk4(scale * y, h), scale * rk4(y, h), rtol=0, atol=1e-12 * np.abs(y).max())
    ours = system.simulate(q, p, (0.0, h), "rk4", step=h)
    plain = rk4(y, h)
    for at in starts:
        plain[at:at + 4] /= np.linalg.norm(plain[at:at + 4])
    np.testing.assert_allclose(np.concatenate((ours.q[-1], ours.p[-1])), plain, rtol=0, atol=1e-12 * np.abs(y).max())


@pytest.mark.parametrize("integrator", ORDER)
def test_order_of_dense_output(integrator):
    """Within one step the error shrinks with one power of the step more than the order of the interpolation."""
    system, q, p = state(models()["balls"], 7)
    order = 4 if integrator == "dopri5" else 3
    if integrator == "midpoint":
        order = 2  # the end of the step itself has an error O(h^3)
    errors = []
    for h in (0.01, 0.005, 0.0025):
        solution = equal_steps(system, q, p, integrator, 1, h, dense=True)
        times = h * np.array([0.21, 0.5, 0.83])
        reference = precise(system, q, p, (0.0, h), times)
        errors.append(max(error(system, *(x[j] for x in solution.sol(times)), (reference[0][j], reference[1][j]))
                          for j in range(3)))
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    assert abs(slopes[-1] - (order + 1)) < 0.35, (errors, slopes)


@pytest.mark.parametrize("integrator", ORDER)
def test_dense_output_meets_the_steps(integrator):
    system, q, p = state(models()["flying"], 8)
    solution = equal_steps(system, q, p, integrator, 20, dense=True)
    qs, ps = solution.sol(solution.t)
    np.testing.assert_allclose(qs, solution.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ps, solution.p, rtol=0, atol=1e-12 * np.abs(ps).max())
    one = solution.sol(float(solution.t[3]))
    assert one[0].shape == (system.model.nq,) and np.array_equal(one[0], qs[3])


@pytest.mark.parametrize("integrator", ORDER)
def test_output_times(integrator):
    """t_eval gives what dense output gives; on the grid of the steps, exactly the states of the steps."""
    system, q, p = state(models()["flying"], 9)
    times = np.array([0.0, 0.013, 0.1, 0.2468, END])
    dense = equal_steps(system, q, p, integrator, 40, dense=True)
    picked = equal_steps(system, q, p, integrator, 40, t_eval=times)
    assert np.array_equal(picked.t, times)
    np.testing.assert_allclose(picked.q, dense.sol(times)[0], rtol=0, atol=1e-13)
    assert np.array_equal(picked.q[-1], dense.q[-1]) and np.array_equal(picked.p[0], p)


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
def test_agrees_with_dop853(method):
    model = models()["flying"]
    system, q, p = state(model, 10)
    system = mb.System(model, method)
    solution = system.simulate(q, p, (0.0, 1.0), rtol=1e-12, atol=1e-13)
    # 1 s of a gentle motion: errors grow by a factor of a few hundred at most over the tolerance
    assert error(system, solution.q[-1], solution.p[-1], precise(system, q, p, (0.0, 1.0))) < 1e-9


@pytest.mark.parametrize("name", ["chain", "flying", "driven"])
def test_local_error_within_tolerance(name):
    """Every step of dopri5, repeated alone with a far tighter tolerance, is within the tolerance of its end."""
    system, q, p = state(models()[name], 11)
    for rtol in (1e-6, 1e-7, 1e-8):  # from where its estimate is asymptotic
        atol = 0.01 * rtol
        solution = system.simulate(q, p, (0.0, 1.0), rtol=rtol, atol=atol)
        y = np.hstack((solution.q, solution.p))
        for k in range(0, solution.t.size - 1, max(1, solution.t.size // 20)):
            exact = system.simulate(solution.q[k], solution.p[k], solution.t[k:k + 2], rtol=1e-13, atol=1e-15)
            end = np.concatenate((exact.q[-1], exact.p[-1]))
            scale = atol + rtol * np.maximum(np.abs(y[k]), np.abs(y[k + 1]))
            assert np.sqrt(np.mean(((y[k + 1] - end) / scale) ** 2)) < 1.0


def test_error_follows_tolerance():
    system, q, p = state(models()["flying"], 12)
    reference = precise(system, q, p, (0.0, 1.0))
    errors, evaluations = [], []
    for rtol in 10.0 ** -np.arange(6, 13):
        solution = system.simulate(q, p, (0.0, 1.0), rtol=rtol, atol=0.01 * rtol)
        errors.append(error(system, solution.q[-1], solution.p[-1], reference))
        evaluations.append(solution.nfev)
    slope = np.polyfit(np.log10(evaluations), np.log10(errors), 1)[0]
    assert -6.0 < slope < -4.3, "work and precision of an order 5 method"
    exponent = np.polyfit(-np.arange(6, 13), np.log10(errors), 1)[0]
    assert 0.85 < exponent < 1.15, "the error is about proportional to the tolerance"
    assert np.all(np.diff(evaluations) > 0)


def test_fixed_methods_have_no_hidden_state():
    """Two runs give the same bits; one run in two halves the same as one, up to the guess of the stages."""
    system, q, p = state(models()["flying"], 13)
    for integrator in FIXED:
        whole = system.simulate(q, p, (0.0, 0.2), integrator, step=0.01)
        again = system.simulate(q, p, (0.0, 0.2), integrator, step=0.01)
        assert np.array_equal(whole.q, again.q) and np.array_equal(whole.p, again.p)
        half = system.simulate(q, p, (0.0, 0.1), integrator, step=0.01)
        rest = system.simulate(half.q[-1], half.p[-1], (0.1, 0.2), integrator, step=0.01)
        np.testing.assert_allclose(rest.q[-1], whole.q[-1], rtol=0, atol=1e-12)
