"""Every kernel as ordinary Python against the dense reference: the equations themselves, without compiling anything.

The sources are the ones that are compiled (:mod:`mbkern.plain`), so that a wrong sign in one of them shows here within
seconds. That lanes and compiled code compute the same numbers is what other tests are for.
"""

import numpy as np
import pytest
import reference
from cases import assert_close, random_loads, random_model, random_state

from mbkern import plain

L = plain.load("layout")
T = 0.37
NO_TAU = np.empty(0)
# errors are rounding times the condition of the mass matrix: 1e2 to 1e4 for random machines of order one
TOLERANCE = 1e-10

# chains reach the chained nodes, carousels and binary trees those beside, several bases roots, drives and free joints
MACHINES = {
    "hinges in a chain": {"family": "chain", "n": 5, "seed": 3, "kinds": ("revolute",)},
    "hinges in a tree": {"family": "binary", "n": 7, "seed": 4, "kinds": ("revolute",)},
    "any chain": {"family": "chain", "n": 6, "seed": 5, "springs": True},
    "any tree on a driven base": {"family": "binary", "n": 6, "seed": 6, "base": "driven", "springs": True},
    "any carousel on a free base": {"family": "carousel", "n": 6, "seed": 7, "base": "free"},
    "several roots": {"family": "random", "n": 8, "seed": 12},
    "balls and frees": {"family": "random", "n": 5, "seed": 9, "kinds": ("ball", "free", "moving_ball")},
    "sliders": {"family": "binary", "n": 6, "seed": 10, "kinds": ("prismatic", "cylindrical", "planar", "driven")},
    "rotors on balls": {"family": "random", "n": 4, "seed": 13, "kinds": ("ball", "free", "revolute"), "rotors": True},
    "rotors on hinges": {"family": "chain", "n": 5, "seed": 11, "kinds": ("revolute", "universal"), "rotors": True},
}


class Machine:
    """A model, a state of it, and memory that is large enough for every kernel."""

    def __init__(self, arguments):
        self.model = random_model(**arguments)
        self.block = self.model.block
        self.q, self.p = random_state(self.model, 1, T)
        self.tau, self.wrench = random_loads(self.model, 1)
        self.hamilton = reference.hamilton(self.model, self.q, self.p, T, self.tau, self.wrench)
        self.u = self.hamilton.u
        self.newton = reference.newton_euler(self.model, self.q, self.u, T, self.tau, self.wrench)

    def work(self, size=200_000):
        """Numbers that a kernel must not read before it has written them."""
        return np.full(size, np.nan)

    def joint_forces(self):
        """tau and what the wrenches do along the joints."""
        out = np.empty(self.model.nv)
        plain.load("momenta").wrenches_to_joints(self.block, T, self.q, self.wrench.ravel(), out, self.work())
        return out + self.tau


@pytest.fixture(scope="module", params=MACHINES, ids=[name.replace(" ", "-") for name in MACHINES])
def machine(request):
    return Machine(MACHINES[request.param])


@pytest.mark.parametrize("module", ["extended", "extended_lu", "reduced", "multipliers"])
def test_the_right_hand_sides(module, machine):
    qdot, pdot = np.empty(machine.model.nq), np.empty(machine.model.nv)
    code = plain.load(module).rhs(machine.block, T, machine.q, machine.p, machine.joint_forces(), qdot, pdot,
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
    ("newton_euler", "accelerations"), ("newton_euler_lu", "accelerations"), ("lagrange", "accelerations_2"),
    ("lagrange", "accelerations_1"), ("appell", "accelerations")])
def test_accelerations(module, name, machine):
    udot = np.empty(machine.model.nv)
    code = getattr(plain.load(module), name)(machine.block, T, machine.q, machine.u, machine.joint_forces(), udot,
                                             machine.work(2_000_000 if module == "appell" else 200_000))
    assert code == 0
    # Appell's coefficients are differences of S: some digits less
    assert_close(udot, machine.newton.udot, 1e-8 if module == "appell" else TOLERANCE, "udot")


def test_inverse_dynamics(machine):
    tau = np.empty(machine.model.nv)
    code = plain.load("inverse_dynamics").inverse_dynamics(machine.block, T, machine.q, machine.u, machine.newton.udot,
                                                           tau, machine.work())
    assert code == 0
    assert_close(tau, machine.joint_forces(), TOLERANCE * np.abs(machine.newton.reactions).max(), "tau")


def test_reactions(machine):
    R = np.empty((machine.model.n_bodies, 6))
    code = plain.load("inverse_dynamics").reactions(machine.block, T, machine.q, machine.u, machine.newton.udot,
                                                    machine.wrench.ravel(), R.reshape(-1), machine.work())
    assert code == 0
    assert_close(R, machine.newton.reactions, TOLERANCE, "reactions")


def test_momenta_and_mass(machine):
    model, kernels = machine.model, plain.load("mass")
    p = np.empty(model.nv)
    plain.load("momenta").momenta(machine.block, T, machine.q, machine.u, p, machine.work())
    assert_close(p, machine.p, TOLERANCE, "p")
    H, expected = np.empty((model.nv, model.nv)), reference.mass_matrix(model, machine.q, T)
    kernels.mass_matrix(machine.block, T, machine.q, H.reshape(-1), machine.work())
    assert_close(H, expected, TOLERANCE, "mass matrix")
    work, y = machine.work(), np.empty(model.nv)
    kernels.factor(machine.block, T, machine.q, np.zeros(model.nv), work)
    kernels.solve(machine.block, machine.tau, y, work)
    assert_close(expected @ y, machine.tau, TOLERANCE, "solve")


def test_energy_and_bodies(machine):
    model, n = machine.model, machine.model.n_bodies
    work, qdot, pdot = machine.work(), np.empty(model.nq), np.empty(model.nv)
    plain.load("extended").rhs(machine.block, T, machine.q, machine.p, NO_TAU, qdot, pdot, work)
    out, expected = np.empty(3), reference.energy(model, machine.q, machine.u, T)
    plain.load("energy").energy(machine.block, machine.q, machine.p, machine.u, out, work)
    assert_close(out, [expected.kinetic, expected.potential, expected.hamiltonian], TOLERANCE, "energies")
    plain.load("momenta").kinematics(machine.block, machine.q, machine.u, work)
    for name, wanted in (("velocities", machine.hamilton.v), ("momenta", machine.hamilton.mu)):
        got = np.empty((n, 6))
        getattr(plain.load("bodies"), name)(machine.block, got.reshape(-1), work)
        assert_close(got, wanted, TOLERANCE, name)
    R, r = np.empty((n, 3, 3)), np.empty((n, 3))
    plain.load("bodies").poses(machine.block, T, machine.q, R.reshape(-1), r.reshape(-1), machine.work())
    wanted_R, wanted_r = reference.body_poses(model, machine.q, T)
    assert_close(R, wanted_R, TOLERANCE, "R")
    assert_close(r, wanted_r, TOLERANCE, "r")


def test_blocks(machine):
    model, n = machine.model, machine.model.n_bodies
    C, columns, vr = np.empty((n, 6, 6)), np.empty((model.nv, 6)), np.empty((n, 6))
    plain.load("blocks").blocks(machine.block, T, machine.q, C.reshape(-1), columns.reshape(-1), vr.reshape(-1),
                                machine.work())
    joints = reference.stack(model, machine.q, T).joints
    assert_close(C, np.array([joint.C for joint in joints]), TOLERANCE, "C")
    assert_close(columns.T, np.hstack([joint.A for joint in joints]), TOLERANCE, "A")
    assert_close(vr, np.array([joint.vr for joint in joints]), TOLERANCE, "vr")
