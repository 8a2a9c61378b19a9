"""Methods with the state (q, u): everything that those with (q, p) have, and the same motion."""

import pickle

import numba
import numpy as np
import pytest
import reference

import mbkern as mb
from mbkern import costs
from mbkern.errors import MethodError, StateError
from mbkern.methods import ACCELERATIONS, METHODS, STATE_METHODS

SPAN = (0.0, 1.0)
TIMES = np.linspace(*SPAN, 5)
FIXED = {"rk4": 1e-3, "gauss4": 1e-2, "gauss6": 2.5e-2, "midpoint": 1e-3}  # whole numbers of steps between TIMES


@numba.njit
def pull(t, q, p, out):
    out[0] = -0.3 * p[0]
    out[3] = np.sin(t)


@numba.njit
def pull_with_speeds(t, q, p, u, out):
    out[0] = 0.1 * u[1] - 0.3 * p[0]
    out[3] = np.sin(t)


@numba.njit
def pull_rows(t, q, p, u, out, i):
    out[0] = 0.1 * u[1] - 0.3 * p[0]
    out[3] = np.sin(t)


@numba.njit
def last_momentum(t, q, p, kept, i):
    kept[0] = p[0]


@numba.njit
def no_momentum(t, q, p):
    return p[1]


@pytest.fixture(scope="module")
def model():
    """A drive, a spring, a damper, a ball and a free body: nothing for which p and u are alike."""
    b = mb.ModelBuilder()
    b.add_body("base", joint=[mb.rotate("z", mb.harmonic(0.3, 2.0)), mb.rotate("y")], mass=2.0, com=(0.2, 0, -0.5),
               inertia=(0.1, 0.2, 0.3), damping=0.1)
    b.add_body("ball", "base", joint=mb.ball(), mass=1.0, com=(0, 0.1, -0.3), inertia=(0.1, 0.2, 0.25),
               position=(0.1, 0, -1))
    b.add_body("slide", "ball", joint=mb.prismatic("x"), mass=1.0, com=(0, 0.1, 0), inertia=(0.1, 0.2, 0.25),
               position=(0, 0, -0.5), stiffness=20.0)
    b.add_body("free", joint=mb.free(), mass=1.0, com=(0.1, 0.1, 0), inertia=(0.1, 0.2, 0.25))
    return b.build()


@pytest.fixture(scope="module")
def start(model):
    q, u = model.random_state(seed=1)
    return q, u, mb.System(model, "emh-ldl").momenta(q, u)


@pytest.fixture(scope="module")
def hamilton(model, start):
    """The motion by Hamilton's equations, 100 times as accurate as what is compared with it."""
    q, _, p = start
    return mb.System(model, "emh-ldl").simulate(q, p, SPAN, rtol=1e-12, atol=1e-13, t_eval=TIMES,
                                                tau=pull_with_speeds, events=no_momentum)


def close(a, b, tolerance):
    assert a.shape == b.shape
    assert np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max())


# ---- right-hand sides ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ACCELERATIONS)
def test_right_hand_side(model, start, method):
    q, u, _ = start
    rng = np.random.default_rng(0)
    tau, wrench = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    wrench = wrench if method == "newton-euler-ldl" else None  # the same assembly for all: it takes time to compile
    system = mb.System(model, method)
    assert system.variable == "u" and system.method == method and repr(method) in repr(system)
    expected = reference.newton_euler(model, q, u, 0.3, tau, wrench)
    qdot, udot = system.rhs(q, u, 0.3, tau, wrench)
    close(udot, expected.udot, 1e-10)  # 1e-12 for all but "appell", whose coefficients are differences
    exact = mb.System(model, "emh-ldl")
    close(qdot, exact.rhs(q, exact.momenta(q, u, 0.3), 0.3)[0], 1e-12)
    assert np.array_equal(system.rhs(q, u)[1], system.accelerations(q, u, method=method))
    assert pickle.loads(pickle.dumps(system)).variable == "u"


def test_registry():
    assert [name for name, method in STATE_METHODS.items() if method.variable == "p"] == list(METHODS)
    assert [name for name, method in STATE_METHODS.items() if method.variable == "u"] == list(ACCELERATIONS)
    assert mb.System(mb.zoo.chain(2)).variable == "p"


def test_accelerations_by_the_fastest_method(model, start):
    q, u, _ = start
    system = mb.System(model)
    counts = costs.structure(model)
    fastest = min(ACCELERATIONS, key=lambda name: costs.cost(name, counts))
    assert np.array_equal(system.accelerations(q, u, method="auto"), system.accelerations(q, u, method=fastest))
    assert costs.cost("appell", costs.structure(mb.zoo.chain(1))) > 0.0
    b = mb.ModelBuilder()
    b.add_body("rod", joint=mb.revolute("z"), mass=1.0, com=(1, 0, 0))
    assert costs.fastest_acceleration(b.build()) != "lagrange-1"  # which inverts the inertia of every body
    with pytest.raises(MethodError, match="appell, auto, got 'automatic'"):
        system.accelerations(q, u, method="automatic")


# ---- motion ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ACCELERATIONS)
def test_trajectories_are_those_of_hamilton(model, start, hamilton, method):
    q, u, _ = start
    solution = mb.System(model, method).simulate(q, u, SPAN, rtol=1e-10, atol=1e-11, t_eval=TIMES, dense=True,
                                                 tau=pull_with_speeds, events=no_momentum)
    assert solution.success and solution.variable == "u" and hamilton.variable == "p"
    # local errors of 1e-10 add up along a second of motion that is not chaotic
    for ours, theirs in ((solution.q, hamilton.q), (solution.u, hamilton.u), (solution.p, hamilton.p)):
        close(ours, theirs, 1e-8)
    assert hamilton.events[0].t.size == 1
    close(solution.events[0].t, hamilton.events[0].t, 1e-8)
    close(solution.events[0].p, hamilton.events[0].p, 1e-8)
    close(solution.energy().hamiltonian, hamilton.energy().hamiltonian, 1e-8)
    assert solution.drift()["energy"] < 1e-7  # with the work of tau, which is a function of p and u
    close(solution.sol(0.5)[1], solution.u[2], 1e-12)
    assert np.array_equal(solution.y, np.hstack((solution.q, solution.u)))


@pytest.mark.parametrize("method", ACCELERATIONS)
@pytest.mark.parametrize("integrator", FIXED)
def test_fixed_steps(model, start, hamilton, integrator, method):
    q, u, _ = start
    system = mb.System(model, method)
    solution = system.simulate(q, u, SPAN, integrator, step=FIXED[integrator], tau=pull_with_speeds, t_eval=TIMES)
    close(solution.q, hamilton.q, 2e-5 if integrator == "midpoint" else 1e-7)
    close(solution.p, hamilton.p, 1e-4 if integrator == "midpoint" else 1e-6)


def test_stepper(model, start):
    q, u, p = start
    system, other = mb.System(model, "newton-euler-ldl"), mb.System(model, "emh-ldl")
    stepper, expected = system.stepper("rk4", step=1e-3, tau=pull), other.stepper("rk4", step=1e-3, tau=pull)
    stepper.reset(q, u)
    expected.reset(q, p)
    q_end, u_end = stepper.step(100)
    expected.step(100)
    close(q_end, expected.q, 1e-9)
    close(u_end, expected.u, 1e-9)
    assert np.array_equal(u_end, stepper.u)
    close(stepper.p, expected.p, 1e-9)
    again = pickle.loads(pickle.dumps(stepper))
    assert np.array_equal(again.step()[1], stepper.step()[1])


def test_controller_in_python(model, start):
    q, u, p = start

    def hold(t, q, p, u):
        return -0.1 * p - 0.2 * u

    runs = [mb.System(model, method).simulate(q, x, (0.0, 0.5), tau=hold, control_step=0.05, t_eval=[0.5], rtol=1e-10)
            for method, x in (("newton-euler-ldl", u), ("emh-ldl", p))]
    close(runs[0].q, runs[1].q, 1e-8)
    close(runs[0].p, runs[1].p, 1e-8)


def test_files_and_tables(model, start, tmp_path):
    q, u, _ = start
    solution = mb.System(model, "newton-euler-ldl").simulate(q, u, SPAN, "rk4", step=1e-2, tau=pull, dense=True)
    solution.save(tmp_path / "run.npz")
    again = mb.Solution.load(tmp_path / "run.npz")
    assert again.system.method == "newton-euler-ldl" and again.to_dict()["variable"] == "u"
    for name in ("q", "u", "p", "y"):
        assert np.array_equal(getattr(again, name), getattr(solution, name)), name
    assert np.array_equal(again.sol(0.123)[1], solution.sol(0.123)[1])
    between = solution.resample(TIMES)
    close(between.u[2], solution.sol(0.5)[1], 1e-12)
    plain = mb.System(model, "newton-euler-ldl").simulate(q, u, SPAN, "rk4", step=1e-2, tau=pull)
    close(plain.resample([0.0, 0.005]).u[1], plain.resample([0.0, 0.005, 0.01]).u[1], 1e-12)
    close(plain.resample(TIMES).u, between.u, 1e-6)  # cubic between steps of 0.01 s, with the slopes of the equations


# ---- many states -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows(start):
    q, u, _ = start
    return np.tile(q, (9, 1)), u * np.linspace(0.5, 1.0, 9)[:, None]


def test_batches(model, rows, start):
    Q, U = rows
    system, other = mb.System(model, "newton-euler-ldl"), mb.System(model, "emh-ldl")
    P = other.momenta_batch(Q, U)
    _, Udot = system.rhs_batch(Q, U)
    assert np.array_equal(Udot[3], system.rhs(Q[3], U[3])[1])
    batch = system.simulate_batch(Q, U, SPAN, tau=pull_rows, t_eval=TIMES)
    alone = system.simulate(Q[4], U[4], SPAN, tau=pull_with_speeds, t_eval=TIMES)
    assert batch.variable == batch[4].variable == "u"
    assert np.array_equal(batch.q[4], alone.q) and np.array_equal(batch[4].u, alone.u)
    expected = other.simulate_batch(Q, P, SPAN, tau=pull_rows, t_eval=TIMES)
    for name in ("q", "p", "u"):
        close(getattr(batch, name), getattr(expected, name), 1e-6)
    close(batch.energy().hamiltonian, expected.energy().hamiltonian, 1e-6)
    close(system.simulate_batch(Q, U, SPAN, "rk4", step=2e-3, reduce=last_momentum).kept,
          other.simulate_batch(Q, P, SPAN, "rk4", step=2e-3, reduce=last_momentum).kept, 1e-6)


@pytest.mark.parametrize("method", ACCELERATIONS)
def test_batches_of_right_hand_sides(model, rows, method):
    """Full registers and a rest: each state has the bits of its own evaluation."""
    Q, U = rows
    system, tau = mb.System(model, method), np.linspace(-1.0, 1.0, model.nv)
    Qdot, Udot = system.rhs_batch(Q, U, 0.3, tau)
    for i in range(len(Q)):
        qdot, udot = system.rhs(Q[i], U[i], 0.3, tau)
        assert np.array_equal(Qdot[i], qdot) and np.array_equal(Udot[i], udot)


def test_functions_of_p_for_machines_that_vary(model, rows):
    Q, U = rows
    system = mb.System(model, "newton-euler-ldl")
    varied = model.vary("base", mass=np.linspace(1.0, 2.0, 9))
    for options in (dict(tau=pull_rows), dict(reduce=last_momentum)):
        with pytest.raises(StateError, match="wants momenta, which are not known"):
            system.simulate_batch(Q, U, SPAN, parameters=varied, **options)


# ---- for other code --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ACCELERATIONS)
def test_functions_of_time_and_state(model, start, method):
    q, u, _ = start
    system = mb.System(model, method)
    y, dydt = np.concatenate((q, u)), np.empty(model.nq + model.nv)
    f = system.cfunc
    f.ctypes(0.0, y, dydt, f.user_data)
    assert f.status == 0 and np.array_equal(dydt, np.concatenate(system.rhs(q, u)))
    assert np.array_equal(system.ode()(0.0, y), dydt)


@pytest.mark.parametrize("method", ACCELERATIONS)
def test_compiled_handle(model, start, method):
    """In a function of the user's: the bits of `rhs`, with joint forces and without."""
    q, u, _ = start
    system = mb.System(model, method)
    tau = np.linspace(-1.0, 1.0, model.nv)
    rhs, block = system.njit()
    work, out = system.work(), (np.empty(model.nq), np.empty(model.nv))
    for given in (None, tau):
        assert rhs(block, 0.3, q, u, np.empty(0) if given is None else given, *out, work) == 0
        qdot, udot = system.rhs(q, u, 0.3, given)
        assert np.array_equal(out[0], qdot) and np.array_equal(out[1], udot)


# ---- refusals --------------------------------------------------------------------------------------------------------


def test_what_is_about_momenta_alone_is_refused(model, start):
    q, u, p = start
    system = mb.System(model, "lagrange-2")
    for call in (lambda: system.jacobian_rhs(q, p), lambda: system.linearize(q, p), lambda: system.jvp(q, p, u, u),
                 lambda: system.vjp(q, p, u, u)):
        with pytest.raises(MethodError, match=r"has the state \(q, u\)"):
            call()


def test_bad_input(model, start):
    q, u, _ = start
    system = mb.System(model, "newton-euler-ldl")
    with pytest.raises(StateError, match=r"u\[2\]"):
        system.rhs(q, np.where(np.arange(u.size) == 2, np.nan, u))
    with pytest.raises(StateError, match="u0: expected 11"):
        system.simulate(q, u[:3], SPAN)
    with pytest.raises(StateError, match="U0"):
        system.simulate_batch(np.tile(q, (2, 1)), np.zeros((3, u.size)), SPAN)
    with pytest.raises(MethodError, match="newton-euler-ldl, newton-euler-lu, lagrange-2, lagrange-1, appell, auto"):
        mb.System(model, "newton-euler")
    b = mb.ModelBuilder()
    b.add_body("rod", joint=mb.revolute("z"), mass=1.0, com=(1, 0, 0))
    with pytest.raises(mb.errors.SingularInertiaError, match="rod"):
        mb.System(b.build(), "lagrange-1")


def test_counts(model, start):
    q, u, _ = start
    expected = mb.System(model).accelerations(q, u)
    for method in ACCELERATIONS:
        for level in ("kernel", "textbook"):
            counted = mb.flops.count(model, method, level, q=q, p=u)
            assert counted.covers == "udot" and counted.pdot.size == 0
            assert sum(counted.by_sweep.values()) == counted.total
            close(counted.udot, expected, 1e-10)
            close(counted.qdot, mb.System(model, method).rhs(q, u)[0], 1e-12)


def test_counts_of_newton_euler_are_those_of_the_extended_system():
    """The same elimination: less mu, F* and pdot, more v, wr, Omega M v; ledgers of the textbook, chain of N dofs."""
    for n in (2, 5):
        model = mb.zoo.chain(n)
        ldl = mb.flops.count(model, "emh-ldl", "textbook").by_step
        ours = mb.flops.count(model, "newton-euler-ldl", "textbook").by_step
        shared = {name: flops for name, flops in ldl.items() if name not in ("mu", "F*", "pdot")}
        assert {name: ours[name] for name in shared} == shared
        # v: A u + vr 12, C v_k 48; wr: Omega^T x 30, given part 6; Omega M v: 42 + 30
        assert {name: flops for name, flops in ours.items() if name not in shared} == {
            "C v_k + A u + vr": 12 * n + 48 * (n - 1), "wr": 36 * (n - 1), "Omega M v": 72 * n}
