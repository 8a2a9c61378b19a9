"""Every operation's kernel as ordinary Python against the dense reference, in workspaces full of NaN.

As in :mod:`test_plain_kernels`, the sources are the ones that are compiled.
"""

import itertools

import numpy as np
import pytest
import reference
from cases import assert_close, derivative
from machines import ALIGNED, BODY, MACHINES, WORLD, Frame, Machine, T, call, prepared

import mbkern as mb
from mbkern import plain
from mbkern.core import constants as L

OK, SINGULAR = plain.load("checks").OK, plain.load("checks").SINGULAR
NONE = np.empty(0)
# errors are rounding times the condition of the mass matrix: 1e2 to 1e4 for random machines of order one
TOLERANCE = 1e-10


@pytest.fixture(scope="module", params=MACHINES, ids=[name.replace(" ", "-") for name in MACHINES])
def machine(request):
    return Machine(MACHINES[request.param])


def assert_derivative(actual, expected, what):
    """Equal but for what differences of order eight lose of numbers of order ten: 1e-13 / h, h = 2.5e-3."""
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-8 * max(1.0, np.abs(expected).max()), err_msg=what)


def vectors(machine):
    return (machine.model.nv,)


# ---- joint forces ----
def test_inverse_dynamics(machine):
    m = machine
    tau = call("joint_forces", "inverse_dynamics", m, m.q, m.u, m.newton.udot, m.wrench, shape=vectors(m))
    scale = np.abs(m.newton.reactions).max()
    assert_close(tau, m.tau, TOLERANCE * scale, "tau")
    tau = call("joint_forces", "inverse_dynamics", m, m.q, m.u, m.newton.udot, NONE, shape=vectors(m))
    assert_close(tau, m.joint_forces(), TOLERANCE * scale, "tau without wrenches")


def test_bias(machine):
    m = machine
    tau = call("joint_forces", "bias", m, m.q, m.u, m.wrench, shape=vectors(m))
    expected = m.tau - reference.mass_matrix(m.model, m.q, T) @ m.newton.udot
    assert_close(tau, expected, TOLERANCE * np.abs(m.newton.reactions).max(), "bias")


def test_gravity_forces(machine):
    m = machine
    s = reference.stack(m.model, m.q, T)
    expected = -np.linalg.solve(s.S, s.A).T @ reference.gravity_wrench(m.model, s)
    assert_close(call("joint_forces", "gravity_forces", m, m.q, shape=vectors(m)), expected, TOLERANCE, "tau")


# ---- momenta and masses ----
def test_momenta_and_velocities(machine):
    m = machine
    assert_close(call("joint_momenta", "momenta", m, m.q, m.u, shape=vectors(m)), m.p, TOLERANCE, "p")
    assert_close(call("speeds", "velocities", m, m.q, m.p, shape=vectors(m)), m.u, TOLERANCE, "u")


def test_mass_matrix_and_inverse(machine):
    m, shape = machine, (machine.model.nv, machine.model.nv)
    H, expected = call("mass_matrix", "mass_matrix", m, m.q, shape=shape), reference.mass_matrix(m.model, m.q, T)
    assert_close(H, expected, TOLERANCE, "mass matrix")
    np.testing.assert_array_equal(H, H.T)
    W = call("inverse_mass", "inverse_mass_matrix", m, m.q, shape=shape)
    assert_close(W @ expected, np.eye(m.model.nv), TOLERANCE, "inverse")
    np.testing.assert_array_equal(W, W.T)
    for rows in (1, 5):
        x = np.random.default_rng(rows).normal(size=(rows, m.model.nv))
        y = call("inverse_mass", "solve_mass", m, m.q, x, shape=x.shape)
        assert_close(y @ expected, x, TOLERANCE, "solve")


PIVOTS = {"velocities": ("speeds", "q", "p"), "inverse_mass_matrix": ("inverse_mass", "q"),
          "solve_mass": ("inverse_mass", "q", "p")}  # what eliminates inertias, and its arguments


def status_after(name, model, q, p):
    """What the margins that a kernel has left say."""
    module, *arguments = PIVOTS[name]
    work = np.full(200_000, np.nan)
    plain.load("drives").evaluate_drives(model.block, T, work)
    out = np.empty(model.nv**2)
    with np.errstate(all="ignore"):  # as compiled code does
        getattr(plain.load(module), name)(model.block, *[{"q": q, "p": p}[a] for a in arguments], out, work)
    return plain.load("checks").status(model.block, work)


@pytest.mark.parametrize("name", PIVOTS)
def test_margins(name, machine):
    assert status_after(name, machine.model, machine.q, machine.p) == OK


JOINTS = {"hinge": mb.revolute("z"), "slide": mb.prismatic("x"), "screw": mb.screw("y", 0.3),
          "universal": mb.universal("y", "x"), "driven": mb.rotate("y", mb.harmonic(0.3, 2.0, 0.4)),
          "pushed": mb.translate("x", mb.harmonic(0.3, 2.0, 0.4)), "ball": mb.ball(), "free": mb.free()}


def joined(inner, outer, mass, tips=1):
    """A body, another one at the same point, and what this one carries."""
    builder = mb.ModelBuilder(gravity=(0.3, -0.2, -9.8))
    builder.add_body("a", joint=JOINTS[inner], mass=mass, inertia=(mass, mass, mass))
    builder.add_body("b", "a", JOINTS[outer], mass=1.0, com=(0.1, 0.3, 0.05), inertia=(0.1, 0.2, 0.15))
    for i in range(tips):
        builder.add_body(f"t{i}", "b", mb.revolute("x"), mass=1.0, com=(0.0, 0.3, 0.0), inertia=(0.1, 0.2, 0.15),
                         position=(0.0, 1.0, 0.1 * i))
    return builder.build()


@pytest.mark.parametrize("tips", [0, 2])
@pytest.mark.parametrize(("inner", "outer"), list(itertools.product(JOINTS, JOINTS)))
def test_every_joint_on_every_other(inner, outer, tips):
    model = joined(inner, outer, 1.0, tips)
    q, _ = model.random_state(4)
    work = np.full(20_000, np.nan)
    plain.load("drives").evaluate_drives(model.block, T, work)
    H, W = np.empty((model.nv, model.nv)), np.empty((model.nv, model.nv))
    plain.load("mass_matrix").mass_matrix(model.block, q, H.reshape(-1), work)
    expected = reference.mass_matrix(model, q, T)
    assert_close(H, expected, TOLERANCE, "mass matrix")
    plain.load("inverse_mass").inverse_mass_matrix(model.block, q, W.reshape(-1), work)
    assert_close(W @ expected, np.eye(model.nv), TOLERANCE, "inverse")


@pytest.mark.parametrize("name", PIVOTS)
@pytest.mark.parametrize("inner, outer", [("hinge", "hinge"), ("slide", "slide"), ("ball", "ball"), ("hinge", "ball"),
                                          ("slide", "free"), ("universal", "ball")])
def test_nothing_to_move_is_found(name, inner, outer):
    """The inner joint has no inertia of its own, and the outer one lets none through."""
    model = joined(inner, outer, 0.0)
    q, _ = model.random_state(4)
    assert status_after(name, model, q, np.ones(model.nv)) == SINGULAR


@pytest.mark.parametrize("name", PIVOTS)
@pytest.mark.parametrize("thin", range(3))
def test_each_dof_of_a_ball_has_its_margin(name, thin):
    inertia = np.where(np.arange(3) == thin, 1e-20, 1.0)
    builder = mb.ModelBuilder()
    builder.add_body("needle", joint=mb.ball(), mass=0.0, inertia=inertia)
    assert status_after(name, builder.build(), np.array([1.0, 0.0, 0.0, 0.0]), np.ones(3)) == SINGULAR


def test_energy(machine):
    m, expected = machine, reference.energy(machine.model, machine.q, machine.u, T)
    out = call("energies", "energy", m, m.q, m.p, shape=(3,))
    assert_close(out, [expected.kinetic, expected.potential, expected.hamiltonian], TOLERANCE, "energies")


def test_energy_by_one_sweep():
    """Every kind of node, without drives and rotors; the others of `MACHINES` have one of these at least."""
    m = Machine({"family": "random", "n": 9, "seed": 32, "kinds": ("prismatic", "universal", "ball", "free")})
    assert m.block[L.N_DRIVES] == m.block[L.HAS_ROTORS] == 0
    nodes = m.block[L.HEADER:int(m.block[L.AT_BODIES])].reshape(-1, L.NODE)
    assert {L.REVOLUTE, L.PRISMATIC, L.BALL, L.FREE} <= set(nodes[:, L.KIND].astype(int))
    test_energy(m)


# ---- bodies ----
def test_bodies(machine):
    m, n = machine, machine.model.n_bodies
    R, r = np.empty((n, 3, 3)), np.empty((n, 3))
    plain.load("body_motions").body_poses(m.block, m.q, R.reshape(-1), r.reshape(-1), prepared(m))
    wanted_R, wanted_r = reference.body_poses(m.model, m.q, T)
    assert_close(R, wanted_R, TOLERANCE, "R")
    assert_close(r, wanted_r, TOLERANCE, "r")
    v = call("body_motions", "body_velocities", m, m.q, m.p, shape=(n, 6))
    assert_close(v, m.hamilton.v, TOLERANCE, "v")
    assert_close(call("body_motions", "body_momenta", m, m.q, m.p, shape=(n, 6)), m.hamilton.mu, TOLERANCE, "mu")


def test_accelerations_and_reactions_of_bodies(machine):
    m, shape = machine, (machine.model.n_bodies, 6)
    a = call("body_motions", "body_accelerations", m, m.q, m.p, m.tau, m.wrench, shape=shape)
    v, expected = m.hamilton.v, m.newton.vdot.copy()
    expected[:, :3] += np.cross(v[:, 3:], v[:, :3])
    assert_close(a, expected, TOLERANCE, "accelerations")
    R = call("body_motions", "reactions", m, m.q, m.p, m.tau, m.wrench, shape=shape)
    assert_close(R, m.newton.reactions, TOLERANCE, "reactions")
    free = reference.newton_euler(m.model, m.q, m.u, T)
    R = call("body_motions", "reactions", m, m.q, m.p, NONE, NONE, shape=shape)
    assert_close(R, free.reactions, TOLERANCE, "reactions without loads")


# ---- the whole machine ----
def centre_of_mass(model, q, t):
    R, r = reference.body_poses(model, q, t)
    mass = np.array([b.mass for b in model.body_specs])
    return mass @ (r + np.einsum("bij,bj->bi", R, [np.array(b.com) for b in model.body_specs])) / mass.sum()


def whole_momentum(model, q, u, t):
    """Linear momentum, and angular momentum about the centre of mass, by a sum over the bodies."""
    R, r = reference.body_poses(model, q, t)
    c, h = centre_of_mass(model, q, t), np.zeros(6)
    for body, R_b, r_b, v in zip(model.body_specs, R, r, reference.body_velocities(model, q, u, t), strict=True):
        mu = reference.body_inertia(body) @ v
        linear = R_b @ mu[:3]
        h += [*linear, *(R_b @ mu[3:] + np.cross(r_b - c, linear))]
    return h


def test_centre_of_mass_and_total_momentum(machine):
    m = machine
    c = call("centroid", "center_of_mass", m, m.q, shape=(3,))
    assert_close(c, centre_of_mass(m.model, m.q, T), TOLERANCE, "centre of mass")
    h = call("centroid", "total_momentum", m, m.q, m.p, shape=(6,))
    assert_close(h, whole_momentum(m.model, m.q, m.u, T), TOLERANCE, "momentum")
    A = call("centroid", "total_momentum_matrix", m, m.q, shape=(6, m.model.nv))
    rest = whole_momentum(m.model, m.q, np.zeros(m.model.nv), T)
    expected = np.array([whole_momentum(m.model, m.q, e, T) - rest for e in np.eye(m.model.nv)]).T
    assert_close(A, expected, TOLERANCE, "matrix")


# ---- frames ----
@pytest.fixture(scope="module", params=["first", "last", "world"])
def frame(request, machine):
    return Frame(machine, {"first": 0, "last": machine.model.n_bodies - 1, "world": -1}[request.param])


def test_frame_pose(machine, frame):
    R, r = np.empty((3, 3)), np.empty(3)
    plain.load("frame_motions").frame_pose(machine.block, machine.q, frame.numbers(BODY), R.reshape(-1), r,
                                           prepared(machine))
    expected_R, expected_r = frame.pose(machine.q, T)
    assert_close(R, expected_R, TOLERANCE, "R")
    assert_close(r, expected_r, TOLERANCE, "r")


@pytest.mark.parametrize("axes", [WORLD, BODY, ALIGNED])
def test_frame_velocity_and_jacobian(axes, machine, frame):
    m, numbers = machine, frame.numbers(axes)
    v = call("frame_motions", "frame_velocity", m, m.q, m.p, numbers, shape=(6,))
    expected = frame.velocity(m.q, m.u, T, axes)
    assert_close(v, expected, TOLERANCE, "v")
    J = call("frame_motions", "jacobian", m, m.q, numbers, shape=(6, m.model.nv))
    rest = frame.velocity(m.q, np.zeros(m.model.nv), T, axes)
    columns = np.array([frame.velocity(m.q, e, T, axes) - rest for e in np.eye(m.model.nv)]).T
    assert_close(J, columns, TOLERANCE, "J")


@pytest.mark.parametrize("axes", [WORLD, BODY, ALIGNED])
def test_frame_acceleration_is_the_derivative_of_its_velocity(axes, machine, frame):
    m, numbers = machine, frame.numbers(axes)
    rest = call("frame_motions", "jacobian_dot_u", m, m.q, m.u, numbers, shape=(6,))
    expected = derivative(lambda h: frame.velocity(reference.advance(m.model, m.q, m.u, h), m.u, T + h, axes))
    assert_derivative(rest, expected, "dJ/dt u")
    a = call("frame_motions", "frame_acceleration", m, m.q, m.p, m.tau, m.wrench, numbers, shape=(6,))
    J = call("frame_motions", "jacobian", m, m.q, numbers, shape=(6, m.model.nv))
    assert_close(a, J @ m.newton.udot + rest, TOLERANCE, "acceleration")


def test_jacobian_is_the_derivative_of_the_pose(machine, frame):
    m = machine
    J = call("frame_motions", "jacobian", m, m.q, frame.numbers(ALIGNED), shape=(6, m.model.nv))
    u = np.random.default_rng(3).normal(size=m.model.nv)
    rates = derivative(lambda h: np.vstack(frame.pose(reference.advance(m.model, m.q, u, h), T)))
    turn, move = rates[:3] @ frame.pose(m.q, T)[0].T, rates[3]
    assert_derivative(J @ u, [*move, turn[2, 1], turn[0, 2], turn[1, 0]], "J u")
