"""Derivatives through the public calls: compiled code against dual numbers, charts, bad input."""

import numpy as np
import pytest
from cases import BASES, CANONICAL, FAMILIES, SCLERONOMIC, assert_close, random_loads, random_model, random_state
from dual import partials_of, rhs_tangents, seeded, tangent_basis

import mbkern as mb
from mbkern import plain
from mbkern.errors import MethodError, SingularInertiaError, StateError

T = 0.37
TOLERANCE = 1e-11  # of the largest number of a block: rounding times the condition of random machines


def machine(seed, n=5):
    model = random_model(FAMILIES[seed % 4], n, seed, base=BASES[seed // 4 % 4], springs=seed % 2 == 0,
                         rotors=seed % 3 == 0)
    return model, *random_state(model, 1, T), *random_loads(model, 1)


@pytest.mark.parametrize("seed", range(12))
def test_the_jacobian_is_that_of_dual_numbers(seed):
    model, q, p, tau, wrench = machine(seed)
    _, tangents = rhs_tangents("extended", model, q, p, T, tau, wrench)
    A, nv = mb.System(model).jacobian_rhs(q, p, T, tau, wrench), model.nv
    for name, got, expected in (("u_q", A.u_q, tangents[:nv, :nv]), ("u_p", A.u_p, tangents[:nv, nv:2 * nv]),
                                ("pdot_q", A.pdot_q, tangents[nv:, :nv]),
                                ("pdot_p", A.pdot_p, tangents[nv:, nv:2 * nv]),
                                ("pdot_tau", A.pdot_tau, tangents[nv:, 2 * nv:])):
        assert_close(got, expected, TOLERANCE, name)
    assert np.shares_memory(A.pdot_p, A.matrix)


@pytest.mark.parametrize("method", ["emh-lu", "dah", "hzu"])
def test_all_methods_have_the_same_derivatives(method):
    model, q, p, _, _ = machine(0)
    assert np.array_equal(mb.System(model, method).jacobian_rhs(q, p, T).matrix,
                          mb.System(model, "emh-ldl").jacobian_rhs(q, p, T).matrix)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 17])
def test_any_number_of_columns_fits_the_lanes(n):
    """Columns are computed several at a time: none may be missing or written beyond the matrix."""
    model = random_model("chain", n, n, kinds=("revolute",))
    q, p = random_state(model, 1, T)
    _, tangents = rhs_tangents("extended", model, q, p, T, np.zeros(n), None)
    around = np.full((2 * n + 2, 2 * n), 7.0)
    A = mb.System(model).jacobian_rhs(q, p, T, out=around[1:-1])
    assert np.all(around[[0, -1]] == 7.0) and A.matrix.base is around
    assert_close(A.matrix, tangents[:, :2 * n], TOLERANCE, "matrix")


@pytest.mark.parametrize("make, n", [("chain", 59), ("chain", 201), ("binary_tree", 101),
                                     ("carousel", 21)])
def test_the_matrix_of_large_trees_is_that_of_the_products(make, n):
    """The matrix goes by groups of columns in world axes, products by sweeps in the axes of the nodes."""
    model = getattr(mb.zoo, make)(n)
    system, (q, u) = mb.System(model), model.random_state(seed=1)
    p, (x, y) = system.momenta(q, u), np.random.default_rng(1).normal(size=(2, model.nv))
    A = system.jacobian_rhs(q, p).matrix
    # rounding times the condition of the mass matrix, which is 1e5 for these chains
    assert_close(A @ np.concatenate([x, y]), np.concatenate(system.jvp(q, p, x, y)), 1e-9, "jvp")
    assert_close(A.T @ np.concatenate([x, y]), np.concatenate(system.vjp(q, p, x, y)), 1e-9, "vjp")


@pytest.mark.parametrize("make, n", [("chain", 11), ("binary_tree", 13), ("chain", 65)])
def test_batches_have_the_bits_of_single_states(make, n):
    """On lanes and, from 64 dofs on, state by state; what has no result is NaN and leaves the others alone."""
    model = getattr(mb.zoo, make)(n)
    system, rng = mb.System(model), np.random.default_rng(n)
    Q, P = rng.normal(size=(2, 6, n))
    P[2, 0] = np.nan
    found, status = system.jacobian_rhs_batch(Q, P, return_status=True)
    for k, (q, p) in enumerate(zip(Q, P, strict=True)):
        if k == 2:
            assert status[k] != 0 and np.isnan(found[k]).all()
        else:
            assert status[k] == 0 and np.array_equal(found[k], system.jacobian_rhs(q, p).matrix)


def test_a_workspace_that_is_too_small_is_refused():
    system, q, none = mb.System(mb.zoo.chain(2)), np.zeros(2), np.empty((0, 6))
    f, block = system.njit("jacobian_rhs")
    assert f(block, 0.0, q, q, none, np.empty((4, 4)), system.work()) == mb.embed.CODES.index(
        next(code for code in mb.embed.CODES if code[0] == "BAD_SHAPE"))
    assert f(block, 0.0, q, q, none, np.empty((4, 4)), system.work("jacobian_rhs")) == 0


@pytest.mark.parametrize("columns", [1, 4, 5, 18])
def test_products_are_those_of_the_matrix(columns):
    for seed in (1, 6):
        model, q, p, tau, wrench = machine(seed)
        system, nv = mb.System(model), model.nv
        A, rng = system.jacobian_rhs(q, p, T, tau, wrench).matrix, np.random.default_rng(seed)
        x, y = rng.normal(size=(2, nv, columns))
        assert_close(np.vstack(system.jvp(q, p, x, y, T, tau, wrench)), A @ np.vstack([x, y]), TOLERANCE, "jvp")
        assert_close(np.vstack(system.vjp(q, p, x, y, T, tau, wrench)), A.T @ np.vstack([x, y]), TOLERANCE, "vjp")
        one = system.jvp(q, p, x[:, 0], y[:, 0], T, tau, wrench)
        assert one[0].shape == (nv,)
        assert_close(np.concatenate(one), A @ np.concatenate([x[:, 0], y[:, 0]]), TOLERANCE, "one direction")


@pytest.mark.parametrize("seed", [1, 5, 9, 12])
def test_coordinates_are_those_of_dual_numbers(seed):
    """Every number of q moved on its own, quaternions off their sphere as well."""
    model, q, p, tau, wrench = machine(seed)
    nq, nv = model.nq, model.nv
    seeds = np.eye(nq + nv)
    x, y = seeded(q, seeds[:nq]), seeded(p, seeds[nq:])
    forces, size = np.empty(nv, object), 40_000
    plain.load("momenta").wrenches_to_joints(model.block, T, x, wrench.ravel(), forces, np.full(size, np.nan, object))
    work, xdot, ydot = np.full(size, np.nan, object), np.empty(nq, object), np.empty(nv, object)
    plain.rhs("extended")(model.block, T, x, y, forces + tau, xdot, ydot, work)
    expected = partials_of([*xdot, *ydot], nq + nv)
    at = plain.load("layout").speeds_at(model.block)
    out = np.empty((nq + nv, nq + nv))
    A = mb.System(model).jacobian_rhs(q, p, T, tau, wrench, chart="coordinates", out=out)
    assert A.matrix is out
    assert_close(out, expected, TOLERANCE, "matrix")
    assert_close(np.hstack([A.u_q, A.u_p]), partials_of(work[at:at + nv], nq + nv), TOLERANCE, "u")
    assert_close(A.qdot_q, expected[:nq, :nq], TOLERANCE, "qdot_q")
    assert_close(A.qdot_p, expected[:nq, nq:], TOLERANCE, "qdot_p")
    assert_close(A.pdot_q, expected[nq:, :nq], TOLERANCE, "pdot_q")
    assert_close(A.pdot_p, expected[nq:, nq:], TOLERANCE, "pdot_p")


def test_tangent_and_coordinates_differ_by_the_chart_alone():
    model, q, p, _, _ = machine(9)
    system = mb.System(model)
    tangent, numbers = system.jacobian_rhs(q, p, T), system.jacobian_rhs(q, p, T, chart="coordinates")
    assert_close(numbers.pdot_q @ tangent_basis(model, q), tangent.pdot_q, TOLERANCE, "pdot_q")


def test_a_machine_that_cannot_move_has_empty_derivatives():
    builder = mb.ModelBuilder()
    builder.add_body("table", mass=1.0, inertia=(1, 1, 1))
    system = mb.System(builder.build())
    assert system.jacobian_rhs([], []).matrix.shape == (0, 0)
    assert system.derivatives_parameters([], [], parameters={"table": ["mass", "com"]}).pdot.shape == (0, 4)
    found = mb.gradient(lambda t, q, p: 2.0, system, [], [], (0.0, 0.1), parameters=["table.mass"])
    assert found.value == 2.0 and found.q0.shape == (0,) and found.parameters["table.mass"] == 0.0
    for refused in (lambda: mb.chaos.lyapunov(system, [], [], 1.0), lambda: mb.orbits.periodic(system, [], [], 1.0)):
        with pytest.raises(StateError, match="the model has no dofs, nothing can move"):
            refused()


def test_bad_input_is_named():
    model = mb.zoo.chain(3)
    system, q, p = mb.System(model), np.zeros(3), np.zeros(3)
    with pytest.raises(MethodError, match="chart: expected one of 'tangent', 'coordinates', got 'polar'"):
        system.jacobian_rhs(q, p, chart="polar")
    with pytest.raises(StateError, match=r"q\[1\].*nan"):
        system.jacobian_rhs([0.0, np.nan, 0.0], p)
    with pytest.raises(StateError, match="tau"):
        system.jacobian_rhs(q, p, tau=[1.0])
    with pytest.raises(StateError, match="wrench"):
        system.jacobian_rhs(q, p, wrench=np.zeros((2, 6)))
    with pytest.raises(StateError, match=r"out: expected .* \(6, 6\), got float64 \(3, 3\)"):
        system.jacobian_rhs(q, p, out=np.zeros((3, 3)))
    with pytest.raises(StateError, match="shares memory"):
        matrix = np.zeros((6, 6))
        system.jacobian_rhs(matrix[0, :3], p, out=matrix)
    with pytest.raises(StateError, match=r"dp: expected the shape of dq, \(3,\), got \(3, 2\)"):
        system.jvp(q, p, np.zeros(3), np.zeros((3, 2)))
    with pytest.raises(StateError, match="pdot_weights"):
        system.vjp(q, p, np.zeros(3), np.full(3, np.inf))
    assert np.isfinite(system.jacobian_rhs([0, 0, 0], (0, 0, 0)).matrix).all()  # lists and integers


def test_a_joint_without_inertia_is_named():
    builder = mb.ModelBuilder()
    builder.add_body("ghost", joint=mb.revolute("z"), mass=1.0)  # a point on the axis
    with pytest.raises(SingularInertiaError, match="ghost"):
        mb.System(builder.build()).jacobian_rhs([0.0], [0.0])


def test_results_too_large_for_a_double_are_refused():
    model = mb.zoo.chain(2)
    with pytest.raises(StateError, match=r"not finite|overflow"):
        mb.System(model).jacobian_rhs(np.ones(2), np.full(2, 1e199))


# ---- accelerations and joint forces ----


@pytest.mark.parametrize("seed", range(12))
def test_joint_forces_have_the_derivatives_of_dual_numbers(seed):
    model, q, _, _, wrench = machine(seed)
    nv, rng = model.nv, np.random.default_rng(seed)
    u, udot = rng.normal(size=(2, nv))
    x = seeded(q, np.hstack([tangent_basis(model, q), np.zeros((model.nq, nv))]))
    y = seeded(u, np.hstack([np.zeros((nv, nv)), np.eye(nv)]))
    tau, done = np.empty(nv, object), np.empty(nv, object)
    work = np.full(40_000, np.nan, object)
    plain.load("drives").evaluate_drives(model.block, T, work)
    plain.load("joint_forces").inverse_dynamics(model.block, x, y, udot, np.empty(0), tau, work)
    plain.load("momenta").wrenches_to_joints(model.block, T, x, wrench.ravel(), done, np.full(40_000, np.nan, object))
    expected = partials_of(tau - done, 2 * nv)
    got = mb.System(model).derivatives_inverse_dynamics(q, u, udot, T, wrench)
    assert_close(got.tau_q, expected[:, :nv], TOLERANCE, "tau_q")
    assert_close(got.tau_u, expected[:, nv:], TOLERANCE, "tau_u")


@pytest.mark.parametrize("seed", range(8))
def test_accelerations_and_joint_forces_are_inverse_to_each_other(seed):
    """tau(q, u, udot(q, u, tau)) = tau: their derivatives cancel."""
    model, q, _, tau, wrench = machine(seed)
    system, u = mb.System(model), np.random.default_rng(seed).normal(size=model.nv)
    forward = system.derivatives_accelerations(q, u, T, tau, wrench)
    back = system.derivatives_inverse_dynamics(q, u, system.accelerations(q, u, T, tau, wrench), T, wrench)
    assert_close(back.tau_udot @ forward.udot_q, -back.tau_q, TOLERANCE, "udot_q")
    assert_close(back.tau_udot @ forward.udot_u, -back.tau_u, TOLERANCE, "udot_u")
    assert_close(back.tau_udot @ forward.udot_tau, np.eye(model.nv), TOLERANCE, "udot_tau")


@pytest.mark.parametrize("seed", range(8))
def test_accelerations_of_trees_of_single_dofs(seed):
    """Without wrenches they have columns of their own, on one way to the root or several; springs, rotors, drives."""
    kinds = [kind for kind in CANONICAL if kind not in ("ball", "free")]
    model = random_model(FAMILIES[seed % 4], (4, 7, 12)[seed % 3], seed, kinds=kinds, springs=True, rotors=seed % 2 > 0)
    system, (u, tau) = mb.System(model), np.random.default_rng(seed).normal(size=(2, model.nv))
    q, _ = random_state(model, seed, T)
    forward = system.derivatives_accelerations(q, u, T, tau)
    back = system.derivatives_inverse_dynamics(q, u, system.accelerations(q, u, T, tau), T)
    assert_close(back.tau_udot @ forward.udot_q, -back.tau_q, TOLERANCE, "udot_q")
    assert_close(back.tau_udot @ forward.udot_u, -back.tau_u, TOLERANCE, "udot_u")
    assert_close(back.tau_udot @ forward.udot_tau, np.eye(model.nv), TOLERANCE, "udot_tau")
    assert np.array_equal(forward.udot_tau, forward.udot_tau.T)


@pytest.mark.parametrize("seed", range(6))
def test_pinocchio_has_the_same_derivatives(seed):
    peers = pytest.importorskip("peers")
    pin = pytest.importorskip("pinocchio")
    model = random_model(FAMILIES[seed % 4], 6, seed, base=("jointed", "free", "fixed")[seed % 3], kinds=SCLERONOMIC)
    system, peer, nv = mb.System(model), peers.Pinocchio(model), model.nv
    q, _ = random_state(model, 1)
    u, udot, tau = np.random.default_rng(seed).normal(size=(3, nv))
    at = np.ix_(peer.v_index, peer.v_index)
    forces = pin.computeRNEADerivatives(peer.model, peer.data, peer.q(q), peer.v(u), peer.v(udot))
    got = system.derivatives_inverse_dynamics(q, u, udot)
    assert_close(got.tau_q, forces[0][at], 1e-9, "tau_q")
    assert_close(got.tau_u, forces[1][at], 1e-9, "tau_u")
    rates = pin.computeABADerivatives(peer.model, peer.data, peer.q(q), peer.v(u), peer.v(tau))
    derivatives = system.derivatives_accelerations(q, u, tau=tau)
    assert_close(derivatives.udot_q, rates[0][at], 1e-9, "udot_q")
    assert_close(derivatives.udot_u, rates[1][at], 1e-9, "udot_u")
    inverse = np.triu(rates[2]) + np.triu(rates[2], 1).T  # only the upper half is always filled
    assert_close(derivatives.udot_tau, inverse[at], 1e-9, "udot_tau")
    p = system.momenta(q, u)
    assert_close(system.jacobian_rhs(q, p).u_p, inverse[at], 1e-9, "u_p")
    pin.computeMinverse(peer.model, peer.data, peer.q(q))
    alone = np.triu(peer.data.Minv) + np.triu(peer.data.Minv, 1).T
    assert_close(derivatives.udot_tau, alone[at], 1e-9, "Minverse")


@pytest.mark.parametrize("seed", range(4))
def test_compiled_derivatives_make_a_symmetric_hessian(seed):
    """(J A)^T = J A for conservative trees of one-freedom nodes, by pairs of dofs and by sweeps."""
    model = random_model(FAMILIES[seed], 6, 40 + seed, kinds=[k for k in CANONICAL if k != "driven"], rotors=seed > 1)
    q, p = random_state(model, 1, T)
    A, nv = mb.System(model).jacobian_rhs(q, p, T).matrix, model.nv
    hessian = np.vstack([A[nv:], -A[:nv]])
    assert_close(hessian.T, hessian, 1e-12, "J A")


ARM = """<mujoco><option timestep="0.002" gravity="0 0 -9.81"><flag contact="disable"/></option><worldbody>
<body><joint name="a" type="hinge" axis="0 0 1" armature="0.1"/>
<inertial mass="2" pos="0 0 .1" diaginertia=".1 .1 .05"/>
<body pos="0 0 .3"><joint name="b" type="hinge" axis="0 1 0"/>
<inertial mass="1" pos=".3 0 0" diaginertia=".01 .08 .08"/>
<body pos=".6 0 0"><joint name="c" type="slide" axis="1 0 0" stiffness="20"/>
<inertial mass=".5" pos=".1 .05 0" diaginertia=".01 .01 .02"/></body></body></body></worldbody></mujoco>"""


def test_linearised_steps_are_those_of_mujoco():
    """v' = v + h udot(q, v), q' = q + h v' in closed form, and by MuJoCo's differences: to their accuracy."""
    mujoco = pytest.importorskip("mujoco")
    machine = mujoco.MjModel.from_xml_string(ARM)
    data, h, nv = mujoco.MjData(machine), machine.opt.timestep, machine.nv
    q, u = np.array([0.3, -0.7, 0.2]), np.array([1.1, -0.4, 0.6])
    data.qpos[:], data.qvel[:] = q, u
    theirs = np.empty((2 * nv, 2 * nv))
    mujoco.mjd_transitionFD(machine, data, 1e-6, True, theirs, None, None, None)
    rates, one = mb.System(mb.load_mjcf(ARM)).derivatives_accelerations(q, u), np.eye(nv)
    by_q, by_u = h * rates.udot_q, one + h * rates.udot_u
    ours = np.block([[one + h * by_q, h * by_u], [by_q, by_u]])
    assert np.abs(ours - theirs).max() < 1e-8  # eps^2, and 1e-16 / eps


def test_a_matrix_that_is_given_again():
    """The object of an earlier call serves again; another matrix, and what is not part of it, is never mixed up."""
    model = mb.zoo.chain(3)
    system, states = mb.System(model), [model.random_state(seed=seed) for seed in (1, 2)]
    first, second = np.empty((6, 6)), np.empty((6, 6))
    a, b, c = (system.jacobian_rhs(*state, out=out)
               for state, out in ((states[0], first), (states[1], second), (states[1], first)))
    assert a.matrix is c.matrix is first and b.matrix is second and np.array_equal(first, second)
    assert np.array_equal(c.u_p, system.jacobian_rhs(*states[1]).u_p)
    assert system.jacobian_rhs(*states[1], out=first) is c
    with pytest.raises(StateError, match="q"):
        system.jacobian_rhs(states[0][0] * np.nan, states[0][1], out=first)
    loop = mb.System(mb.zoo.four_bar())  # its answer has more than the matrix
    q, out = [loop.assemble([angle, 0.0, 0.0]) for angle in (0.3, 0.9)], np.empty((6, 6))
    answers = [loop.jacobian_rhs(x, np.zeros(3), out=out) for x in (q[0], q[1], q[1])]
    assert np.array_equal(answers[2].pdot_tau, loop.jacobian_rhs(q[1], np.zeros(3)).pdot_tau)
    assert not np.allclose(answers[0].pdot_tau, answers[2].pdot_tau)
