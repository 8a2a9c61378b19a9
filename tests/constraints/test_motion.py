"""Motion with constraints: closed forms, benchmarks with published solutions, conservation, order, cuts, forces."""

import numpy as np
import pytest
from numba import njit

import mbkern as mb
from mbkern.errors import MethodError, ModelError, StateError


@pytest.fixture(scope="module")
def four_bar():
    return mb.System(mb.zoo.four_bar())


@pytest.fixture(scope="module")
def start(four_bar):
    q, u = four_bar.consistent(np.zeros(3), np.array([2.0, 0.0, 0.0]))
    return q, four_bar.momenta(q, u)


# ---- the right-hand side and what is around it ----
def test_momenta_change_as_the_right_hand_side_says(four_bar, start):
    q, p = start
    qdot, pdot = four_bar.rhs(q, p)
    u = four_bar.velocities(q, p)
    a, b = four_bar.constraint_matrix(q)
    np.testing.assert_allclose(a @ u + b, 0.0, atol=1e-13)
    udot = four_bar.accelerations(q, u)
    h = 1e-5  # p(q, u) along the motion: error h^2
    ahead, behind = (four_bar.momenta(q + s * h * u + h * h / 2 * udot, u + s * h * udot) for s in (1, -1))
    np.testing.assert_allclose((ahead - behind) / (2 * h), pdot, rtol=1e-7)
    np.testing.assert_allclose(qdot, u, rtol=1e-14)


def test_batches_have_the_bits_of_single_states(four_bar, start):
    q, p = start
    Q, P = np.tile(q, (6, 1)), np.tile(p, (6, 1)) * np.linspace(0.5, 2.0, 6)[:, None]
    Qdot, Pdot = four_bar.rhs_batch(Q, P)
    for k in range(6):
        qdot, pdot = four_bar.rhs(Q[k], P[k])
        np.testing.assert_array_equal(Qdot[k], qdot)
        np.testing.assert_array_equal(Pdot[k], pdot)


def test_reactions_carry_the_weight():
    """At rest the ground carries what the loop does not: all weight, through both bearings of a four-bar."""
    system = mb.System(mb.zoo.four_bar())
    q = system.assemble(np.zeros(3))
    still = np.zeros(3)
    tau = system.actuation(q, still, still, ["crank"])
    R = system.reactions(q, still, tau=tau)
    world, _ = system.body_poses(q)
    force = world[0] @ R[0, :3] + world[2] @ R[2, :3]
    np.testing.assert_allclose(force, [0.0, 3.5 * 9.81, 0.0], atol=1e-10)
    np.testing.assert_allclose(system.body_accelerations(q, still, tau=tau), 0.0, atol=1e-10)
    with pytest.raises(StateError, match="cannot give this motion"):
        system.actuation(system.assemble([0.3, 0.0, 0.0]), still, still, [])
    with pytest.raises(StateError, match="udot: these accelerations do not satisfy the constraints: 'pin' "):
        system.actuation(q, still, np.array([1.0, 0.0, 0.0]), ["crank"])
    with pytest.raises(StateError, match="u: these speeds do not satisfy the constraints: 'pin' "):
        system.actuation(q, np.array([1.0, 0.0, 0.0]), still, ["crank"])


# ---- runs ----
def test_energy_drift_and_velocities_of_a_run(four_bar, start):
    solution = four_bar.simulate(*start, (0.0, 5.0), rtol=1e-10, atol=1e-12)
    H = solution.energy().hamiltonian
    assert np.ptp(H) < 1e-7 * np.ptp(solution.energy().kinetic)  # rtol 1e-10 over some hundred steps
    assert np.abs(solution.constraint_drift).max() < 1e-13
    for t, q, p in zip(solution.t[::50], solution.q[::50], solution.p[::50], strict=True):
        a, b = four_bar.constraint_matrix(q, t)
        np.testing.assert_allclose(a @ four_bar.velocities(q, p) + b, 0.0, atol=1e-12)


ORDERS = {"rk4": 4, "midpoint": 2, "gauss4": 4, "gauss6": 6, "dopri5": 5}


@pytest.mark.parametrize("integrator", ORDERS)
@pytest.mark.parametrize("options", [{}, {"project": False}, {"gauge": "keep"}], ids=["default", "open", "keep"])
def test_order_is_kept(integrator, options, four_bar, start):
    exact = four_bar.simulate(*start, (0.0, 0.5), rtol=1e-12, atol=1e-13, t_eval=[0.5])
    y = np.concatenate([exact.q[-1], exact.p[-1]])
    errors = []
    for n in (20, 40):
        equal = {"max_step": 0.5 / n, "rtol": 1e3, "atol": 1e3} if integrator == "dopri5" else {}  # no other reason
        run = four_bar.simulate(*start, (0.0, 0.5), integrator, step=0.5 / n, t_eval=[0.5], **equal, **options)
        errors.append(np.abs(np.concatenate([run.q[-1], run.p[-1]]) - y).max())
    order = np.log2(errors[0] / errors[1])
    assert order > ORDERS[integrator] - 0.6 or errors[1] < 1e-10, errors


def test_every_cut_gives_the_same_motion(start, four_bar):
    angles = {}
    u = dict(zip(four_bar.model.speed_names, four_bar.velocities(*start), strict=True))
    turns = {"crank": u["crank"], "coupler": u["crank"] + u["coupler"], "rocker": u["rocker"]}
    for cut in ("rocker", "crank", "coupler", "ground"):
        system = mb.System(mb.zoo.four_bar(cut))
        model = system.model
        speeds = [turns[body.name] - (turns[model.body_names[body.parent]] if body.parent >= 0 else 0.0)
                  for body in model.body_specs]
        p = system.momenta(model.neutral(), np.array(speeds))
        end = system.simulate(model.neutral(), p, (0.0, 2.0), rtol=1e-11, atol=1e-12, t_eval=[2.0]).q[-1]
        R, _ = system.body_poses(end)
        angles[cut] = [np.arctan2(*R[model.body_index(name), [1, 0], 0]) for name in turns]
    for cut, found in angles.items():
        np.testing.assert_allclose(found, angles["rocker"], atol=1e-8, err_msg=cut)


def test_stepper_events_and_forces_see_true_momenta(four_bar, start):
    q, p = start

    @njit
    def spin(t, q, p):
        return p[0] - 1.0

    @njit
    def brake(t, q, p, out):
        out[0] = -0.1 * p[0]

    solution = four_bar.simulate(q, p, (0.0, 2.0), events=spin, tau=brake, dense=True)
    for t, at, momenta in zip(solution.events[0].t, solution.events[0].q, solution.events[0].p, strict=True):
        assert abs(momenta[0] - 1.0) < 1e-9
        a, b = four_bar.constraint_matrix(at, t)
        np.testing.assert_allclose(a @ four_bar.velocities(at, momenta) + b, 0.0, atol=1e-11)
    middle_q, middle_p = solution.sol(1.0)
    a, b = four_bar.constraint_matrix(middle_q)
    np.testing.assert_allclose(a @ four_bar.velocities(middle_q, middle_p) + b, 0.0, atol=1e-11)
    stepper = four_bar.stepper("rk4", step=1e-3)
    stepper.reset(q, p)
    got_q, got_p = stepper.step(n=100)
    run = four_bar.simulate(q, p, (0.0, 0.1), "rk4", step=1e-3, t_eval=[0.1])
    np.testing.assert_allclose(np.concatenate([got_q, got_p]), np.concatenate([run.q[-1], run.p[-1]]), atol=1e-12)


def test_compiled_routes_have_the_bits_of_rhs(four_bar, start):
    """njit, the C function, the right-hand side for SciPy: all with true momenta."""
    q, p = start
    expected = np.concatenate(four_bar.rhs(q, p))
    rhs, block = four_bar.njit()
    qdot, pdot, work = np.empty(3), np.empty(3), four_bar.work()
    assert rhs(block, 0.0, q, p, np.empty(0), qdot, pdot, work) == 0
    np.testing.assert_array_equal(np.concatenate([qdot, pdot]), expected)
    np.testing.assert_array_equal(four_bar.ode()(0.0, np.concatenate([q, p])), expected)
    f, y, rate = four_bar.cfunc, np.concatenate([q, p]), np.empty(6)
    f.ctypes(0.0, y, rate, f.user_data)
    np.testing.assert_array_equal(rate, expected)


# ---- published solutions ----
@njit
def squeeze(t, q, p, out):
    """Motor and spring of Andrews' squeezer (Hairer & Wanner II, section VII.7)."""
    sc, sd, c0, l0 = 18e-3, 2e-2, 4530.0, 7785e-5
    c, s = np.cos(q[2]), np.sin(q[2])
    x, y = sd * c + sc * s - 0.03635 - 0.014, sd * s - sc * c + 0.03273 - 0.072
    length = np.sqrt(x * x + y * y)
    force = -c0 * (length - l0) / length
    out[0] = 0.033
    out[2] = force * (x * (sc * c - sd * s) + y * (sd * c + sc * s))


def test_andrews_squeezer():
    """The reference solution of the Test Set for IVP Solvers at t = 0.03 s."""
    system = mb.System(mb.zoo.andrews())
    q0 = mb.zoo.andrews_state()
    run = system.simulate(q0, np.zeros(7), (0.0, 0.03), rtol=1e-11, atol=1e-13, tau=squeeze, t_eval=[0.03])
    beta, theta, gamma, phi, delta, omega, epsilon = (
        15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304,
        0.5347301163226948, 1.048080741042263)
    np.testing.assert_allclose(run.q[-1], [beta, theta, gamma, delta, phi, epsilon, omega], atol=1e-8)


@pytest.mark.parametrize("n", [2, 40])
def test_n_four_bar_through_the_singular_pose(n):
    """IFToMM A02: all bars in line twice a swing; the energy is the benchmark's measure (0.1 J allowed in 10 s)."""
    system = mb.System(mb.zoo.n_four_bar(n))
    u = np.array([-1.0 if name.startswith("crank") else 1.0 for name in system.model.speed_names])
    p = system.momenta(np.zeros(system.model.nv), u)
    run = system.simulate(np.zeros(system.model.nv), p, (0.0, 10.0), "rk4", step=2e-3, save_every=50)
    H = run.energy().hamiltonian
    assert run.success and np.abs(run.q[:, 0]).max() > np.pi / 2 + 0.1  # it has passed
    assert np.ptp(H) < 0.1
    cranks = [k for k, name in enumerate(system.model.speed_names) if name.startswith("crank")]
    assert np.ptp(run.q[:, cranks], axis=1).max() < 1e-6  # and did not leave on a branch where cranks cross
    adaptive = system.simulate(np.zeros(system.model.nv), p, (0.0, 3.0))
    assert np.ptp(adaptive.q[:, cranks], axis=1).max() < 1e-6 and adaptive.t.size < 300


def test_bricard_for_every_cut():
    """IFToMM A04: five rows, four independent; the same motion whichever hinge closes the loop."""
    ends = []
    for cut in range(6):
        system = mb.System(mb.zoo.bricard(cut=cut))
        assert system.mobility(np.zeros(5)).rank == 4
        run = system.simulate(np.zeros(5), np.zeros(5), (0.0, 3.0), rtol=1e-9, atol=1e-11, t_eval=[3.0])
        assert abs(np.ptp(run.energy().hamiltonian)) < 1e-6
        R, r = system.body_poses(run.q[-1])
        i = system.model.body_index("rod2")
        rod = system.model.body_specs[i]
        ends.append(r[i] + R[i] @ np.array(rod.com))
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=1e-6)


# ---- closed forms ----
def test_chaplygin_sleigh():
    """Forward speed U tanh(a U t / k^2), turning W / cosh(...), k^2 = (I + m a^2) / m, U = k W."""
    a, m, moment, W = 0.3, 1.0, 0.2, 1.5
    system = mb.System(mb.zoo.chaplygin_sleigh(a, m, moment))
    k2 = (moment + m * a * a) / m
    U = np.sqrt(k2) * W
    q0 = np.zeros(3)
    times = np.linspace(0.0, 6.0, 13)
    run = system.simulate(q0, system.momenta(q0, [0.0, 0.0, W]), (0.0, 6.0), rtol=1e-11, atol=1e-13, t_eval=times)
    s = a * U * times / k2
    theta = 2.0 * W * k2 / (a * U) * np.arctan(np.tanh(s / 2))
    np.testing.assert_allclose(run.q[:, 2], theta, atol=1e-9)
    forward = [np.cos(q[2]) * u[0] + np.sin(q[2]) * u[1] for q, u in zip(run.q, run.u, strict=True)]
    np.testing.assert_allclose(forward, U * np.tanh(s), atol=1e-9)
    np.testing.assert_array_equal(system.constraint_residuals(run.q[-1]), [0.0])  # no row of positions


def test_disc_that_rolls_upright_sways():
    """Linear theory: lean'' = 4 g / (5 R) lean - 6/5 spin yaw', yaw' = 2 spin (lean - lean at the beginning)."""
    R, spin, lean, t = 0.5, 6.0, 1e-5, 0.4
    system = mb.System(mb.zoo.rolling_disc(R))
    q = system.model.neutral()
    q[3:] = np.cos(lean / 2), np.sin(lean / 2), 0.0, 0.0
    q = system.assemble(q)
    a, _ = system.constraint_matrix(q)
    u = np.zeros(6)
    u[4] = spin  # of the wheel alone: no yaw, no lean rate
    u[:3] = np.linalg.solve(a[:, :3], -a[:, 3:] @ u[3:])
    run = system.simulate(q, system.momenta(q, u), (0.0, t), rtol=1e-11, atol=1e-15, t_eval=[t])
    square = 12 / 5 * spin**2 - 4 * 9.81 / (5 * R)
    middle = 12 / 5 * spin**2 * lean / square
    rotation, _ = system.body_poses(run.q[-1])
    expected = middle + (lean - middle) * np.cos(np.sqrt(square) * t)
    np.testing.assert_allclose(rotation[0][2, 1], expected, rtol=1e-6)  # what is not linear is lean^2


def test_ball_on_a_slope():
    """A solid ball rolls down with 5/7 of g sin(slope)."""
    slope = 0.3
    b = mb.ModelBuilder(gravity=(9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope)))
    b.add_body("ball", joint=mb.free(), mass=2.0, inertia=(0.2, 0.2, 0.2), position=(0, 0, 0.5))  # 2/5 m R^2
    b.add_rolling("slope", "ball", 0.5, "sphere")
    system = mb.System(b.build())
    q = system.model.neutral()
    udot = system.accelerations(q, np.zeros(6))
    np.testing.assert_allclose(udot[:3], [5 / 7 * 9.81 * np.sin(slope), 0.0, 0.0], atol=1e-12)
    forces = system.constraint_forces(q, np.zeros(6))
    np.testing.assert_allclose(forces[0], 2.0 * 9.81 * np.cos(slope), rtol=1e-12)  # the plane's pressure


def test_gear_against_eliminating_the_coordinate():
    b = mb.ModelBuilder()
    b.add_body("motor", joint=mb.revolute("z"), mass=1.0, inertia=(1, 1, 0.3))
    b.add_body("wheel", joint=mb.revolute("z"), mass=1.0, inertia=(1, 1, 2.0), position=(1, 0, 0))
    b.add_gear("wheel", "motor", -0.25, offset=0.4)
    system = mb.System(b.build())
    q = system.assemble([0.1, 0.0], hold=["motor"])
    np.testing.assert_allclose(q, [0.1, -0.025 + 0.4], atol=1e-14)
    udot = system.accelerations(q, [0.0, 0.0], tau=[0.7, 0.2])
    expected = (0.7 - 0.25 * 0.2) / (0.3 + 0.25**2 * 2.0)
    np.testing.assert_allclose(udot, [expected, -0.25 * expected], rtol=1e-12)


def test_impact_and_restitution(four_bar):
    q = four_bar.assemble(np.zeros(3))
    p = np.array([1.0, 0.3, -0.2])
    a, _ = four_bar.constraint_matrix(q)
    before = a @ four_bar.velocities(q, p)
    np.testing.assert_allclose(a @ four_bar.velocities(q, four_bar.impact(q, p)), 0.0, atol=1e-13)
    np.testing.assert_allclose(a @ four_bar.velocities(q, four_bar.impact(q, p, restitution=0.5)), -0.5 * before,
                               atol=1e-12)
    elastic = four_bar.impact(q, p, restitution=1.0)
    np.testing.assert_allclose(four_bar.energy(q, elastic).kinetic, four_bar.energy(q, p).kinetic, rtol=1e-12)


# ---- what is refused ----
def test_inconsistent_states_and_options(four_bar, start):
    q, p = start
    with pytest.raises(StateError, match=r"q0: the constraints are not satisfied: 'pin' 0.\d+; system.assemble"):
        four_bar.simulate([0.3, 0.0, 0.0], p, (0.0, 1.0))
    with pytest.raises(StateError, match="p0: velocities do not satisfy the constraints: 'pin'"):
        four_bar.simulate(q, [1.0, 0.0, 0.0], (0.0, 1.0))
    with pytest.raises(StateError, match="gauge: expected"):
        four_bar.simulate(q, p, (0.0, 1.0), gauge="lorenz")
    with pytest.raises(MethodError, match="has one method"):
        mb.System(four_bar.model, "dah")
    with pytest.raises(ModelError, match="to move a joint moves loops apart"):
        four_bar.derivatives_parameters(q, p, parameters={"coupler": "position"})
    with pytest.raises(StateError, match="hold: there is no coordinate 'handle'"):
        four_bar.assemble(q, hold=["handle"])


def test_an_assembly_that_does_not_exist():
    b = mb.ModelBuilder()
    b.add_body("bar", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0), inertia=(1, 1, 1))
    b.add_loop("too far", "bar", kind="plane-point", position_a=(1, 0, 0), position_b=(5, 0, 0))
    with pytest.raises(StateError, match="closes all loops; what is left: 'too far' 4"):
        mb.System(b.build()).assemble([0.1])
