"""Every kernel as ordinary Python against the dense reference: the equations themselves, without compiling anything.

The sources are the ones that are compiled (:mod:`mbkern.plain`), so that a wrong sign in one of them shows here within
seconds. That lanes and compiled code compute the same numbers is what other tests are for.
"""

import numpy as np
import pytest
import reference
from cases import assert_close
from machines import MACHINES, Machine, T, call

import mbkern as mb
from mbkern import plain

# errors are rounding times the condition of the mass matrix: 1e2 to 1e4 for random machines of order one
TOLERANCE = 1e-10


@pytest.fixture(scope="module", params=MACHINES, ids=[name.replace(" ", "-") for name in MACHINES])
def machine(request):
    return Machine(MACHINES[request.param])


@pytest.mark.parametrize("module", ["extended", "extended_lu", "reduced", "multipliers"])
def test_the_right_hand_sides(module, machine):
    qdot, pdot = np.empty(machine.model.nq), np.empty(machine.model.nv)
    code = plain.rhs(module)(machine.block, T, machine.q, machine.p, machine.joint_forces(), qdot, pdot,
                             machine.work())
    assert code == 0
    assert_close(qdot, machine.hamilton.qdot, TOLERANCE, "qdot")
    assert_close(pdot, machine.hamilton.pdot, TOLERANCE, "pdot")


def test_the_right_hand_side_of_hinges():
    machine = Machine(MACHINES["hinges in a tree"])
    kernels = plain.load("extended")
    qdot, pdot, work = np.empty(machine.model.nq), np.empty(machine.model.nv), machine.work()
    kernels.backward_of_hinges(machine.block, machine.q, machine.p, work)
    kernels.forward_of_hinges(machine.block, qdot, pdot, work)
    pdot += machine.joint_forces()
    assert_close(qdot, machine.hamilton.qdot, TOLERANCE, "qdot")
    assert_close(pdot, machine.hamilton.pdot, TOLERANCE, "pdot")


@pytest.mark.parametrize("module, name", [
    ("newton_euler", "sweeps"), ("newton_euler_lu", "sweeps"), ("lagrange", "sweeps_2"), ("lagrange", "sweeps_1"),
    ("appell", "sweeps")])
def test_accelerations(module, name, machine):
    udot = np.empty(machine.model.nv)
    code = plain.accelerations(module, name)(machine.block, T, machine.q, machine.u, machine.joint_forces(), udot,
                                             machine.work(2_000_000 if module == "appell" else 200_000))
    assert code == 0
    # Appell's coefficients are differences of S: some digits less
    assert_close(udot, machine.newton.udot, 1e-8 if module == "appell" else TOLERANCE, "udot")


@pytest.mark.parametrize("arguments", [
    {"family": "chain", "n": 3, "seed": 3, "kinds": ("revolute",)},
    {"family": "random", "n": 2, "seed": 9, "kinds": ("ball", "prismatic")},
    {"family": "chain", "n": 4, "seed": 10, "base": "driven", "kinds": ("revolute", "prismatic", "driven")}])
def test_coefficients_of_appell(arguments):
    """A udot + u^T K u + D^T u + H: that K, D and H are the bias at any speeds."""
    machine, layout = Machine(arguments), plain.load("layout")
    n, rng, block = machine.model.nv, np.random.default_rng(0), machine.block.copy()
    for j in range(n):
        block[layout.coordinate_row(block, j) + layout.DAMPING] = 0.0  # dampers are forces, not coefficients
    machine.block = block
    A, K, D, H = np.empty((n, n)), np.empty((n, n, n)), np.empty((n, n)), np.empty(n)
    plain.load("appell").coefficients(block, T, machine.q, A.reshape(-1), K.reshape(-1), D.reshape(-1), H,
                                      machine.work(500_000))
    assert_close(A, reference.mass_matrix(machine.model, machine.q, T), 1e-8, "A")

    def bias(u):
        return call("joint_forces", "bias", machine, machine.q, u, np.empty(0), shape=(n,))

    for u in rng.normal(size=(3, n)):
        assert_close(np.einsum("kij,i,j->k", K, u, u) + u @ D, bias(u) - bias(np.zeros(n)), 1e-8, "K and D")
    weight = call("joint_forces", "gravity_forces", machine, machine.q, shape=(n,))
    assert_close(H, bias(np.zeros(n)) - weight, 1e-8, "H")


def test_solves_with_the_mass_matrix(machine):
    model, kernels = machine.model, plain.load("mass")
    work, y = machine.work(), np.empty(model.nv)
    kernels.factor(machine.block, T, machine.q, np.zeros(model.nv), work)
    kernels.solve(machine.block, machine.tau, y, work)
    assert_close(reference.mass_matrix(model, machine.q, T) @ y, machine.tau, TOLERANCE, "solve")


def test_blocks(machine):
    model, n = machine.model, machine.model.n_bodies
    C, columns, vr = np.empty((n, 6, 6)), np.empty((model.nv, 6)), np.empty((n, 6))
    plain.load("blocks").blocks(machine.block, T, machine.q, C.reshape(-1), columns.reshape(-1), vr.reshape(-1),
                                machine.work())
    joints = reference.stack(model, machine.q, T).joints
    assert_close(C, np.array([joint.C for joint in joints]), TOLERANCE, "C")
    assert_close(columns.T, np.hstack([joint.A for joint in joints]), TOLERANCE, "A")
    assert_close(vr, np.array([joint.vr for joint in joints]), TOLERANCE, "vr")


def test_a_screw_on_a_ball_is_no_lack_of_inertia():
    """A ball leaves nothing of R, and the pivot of the screw before it is h^2 m alone: the margin of a slide without
    bodies of its own before that was no number, and the machine refused."""
    builder = mb.ModelBuilder()
    builder.add_body("base", joint=mb.universal("x", "y"), inertia=(0.5, 0.2, 0.4))
    builder.add_body("arm", "base", [mb.twist("y", -0.4), mb.translate((0.5, 0.8, 0.0)), mb.twist("x", 0.1)])
    builder.add_body("tip", "arm", mb.ball(), mass=1.0, com=(-0.3, 0.5, 0.1), inertia=(0.1, 0.1, 0.1))
    model = builder.build()
    q, u = model.random_state(seed=3)
    qdot, pdot, work = np.empty(model.nq), np.empty(model.nv), np.full(100_000, np.nan)
    p = reference.mass_matrix(model, q, T) @ u
    assert plain.rhs("extended")(model.block, T, q, p, np.empty(0), qdot, pdot, work) == 0
    assert_close(qdot[:5], u[:5], 1e-10, "qdot")
