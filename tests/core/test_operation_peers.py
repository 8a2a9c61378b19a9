"""The operations' kernels against Pinocchio, as ordinary Python: trees of every joint that it has too."""

import numpy as np
import pytest
from cases import assert_close
from machines import ALIGNED, BODY, WORLD, Frame, Machine, call, prepared
from peers import Pinocchio

from mbkern import plain

pin = pytest.importorskip("pinocchio")

# errors are rounding times the condition of the mass matrix, up to 1e4 for these machines
TOLERANCE = 1e-10
NONE = np.empty(0)
KINDS = ("revolute", "prismatic", "cylindrical", "universal", "euler_ball", "ball", "planar", "free", "custom",
         "moving_ball")
# all on a joint: Pinocchio leaves bodies that stand on the ground out of its sums
MACHINES = {
    "chain on a free base": {"family": "chain", "n": 5, "seed": 21, "base": "free", "kinds": (*KINDS, "weld")},
    "tree": {"family": "binary", "n": 7, "seed": 22, "kinds": KINDS},
    "several roots": {"family": "random", "n": 8, "seed": 23, "kinds": KINDS},
    "hinges": {"family": "binary", "n": 7, "seed": 24, "kinds": ("revolute",)},
}


class Peer(Machine):
    """A machine in both libraries, at t = 0, with accelerations."""

    def __init__(self, arguments):
        super().__init__(arguments)
        self.pin = Pinocchio(self.model)
        self.udot = np.random.default_rng(5).normal(size=self.model.nv)
        self.their_q, self.their_v, self.their_a = self.pin.q(self.q), self.pin.v(self.u), self.pin.v(self.udot)
        self.frame = Frame(self, self.model.n_bodies - 1)
        joint, placement = self.pin.bodies[-1]
        placement = placement * pin.SE3(self.frame.R, self.frame.r)
        self.frame_id = self.pin.model.addFrame(pin.Frame("tool", joint, placement, pin.FrameType.OP_FRAME))
        self.pin.data = self.pin.model.createData()
        pin.forwardKinematics(self.pin.model, self.pin.data, self.their_q, self.their_v, self.their_a)
        pin.updateFramePlacements(self.pin.model, self.pin.data)

    def asked(self, function, *arguments):
        """Theirs, in our order of dofs where it is a vector of these."""
        return function(self.pin.model, self.pin.data, *arguments)

    def external(self):
        """The wrenches on the bodies as forces on their joints."""
        out = pin.StdVec_Force()
        out.extend([pin.Force.Zero() for _ in range(self.pin.model.njoints)])
        for (joint, placement), w in zip(self.pin.bodies, self.wrench, strict=True):
            out[joint] = out[joint] + placement.act(pin.Force(np.array(w)))
        return out


@pytest.fixture(scope="module", params=MACHINES, ids=[name.replace(" ", "-") for name in MACHINES])
def peer(request):
    return Peer(MACHINES[request.param])


def test_joint_forces(peer):
    m, order, shape = peer, peer.pin.v_index, (peer.model.nv,)
    tau = call("joint_forces", "inverse_dynamics", m, m.q, m.u, m.udot, NONE, shape=shape)
    assert_close(tau, m.asked(pin.rnea, m.their_q, m.their_v, m.their_a)[order], TOLERANCE, "rnea")
    tau = call("joint_forces", "inverse_dynamics", m, m.q, m.u, m.udot, m.wrench, shape=shape)
    theirs = m.asked(pin.rnea, m.their_q, m.their_v, m.their_a, m.external())[order]
    assert_close(tau, theirs, TOLERANCE, "rnea with wrenches")
    tau = call("joint_forces", "bias", m, m.q, m.u, NONE, shape=shape)
    assert_close(tau, m.asked(pin.nonLinearEffects, m.their_q, m.their_v)[order], TOLERANCE, "bias")
    tau = call("joint_forces", "gravity_forces", m, m.q, shape=shape)
    assert_close(tau, m.asked(pin.computeGeneralizedGravity, m.their_q)[order], TOLERANCE, "gravity")


def test_mass_matrix_and_inverse(peer):
    m, order, shape = peer, np.ix_(peer.pin.v_index, peer.pin.v_index), (peer.model.nv, peer.model.nv)
    assert_close(call("mass_matrix", "mass_matrix", m, m.q, shape=shape), m.pin.mass_matrix(m.q), TOLERANCE, "crba")
    upper = np.triu(m.asked(pin.computeMinverse, m.their_q))
    theirs = (upper + np.triu(upper, 1).T)[order]
    assert_close(call("inverse_mass", "inverse_mass_matrix", m, m.q, shape=shape), theirs, TOLERANCE, "computeMinverse")


def test_whole_machine(peer):
    m = peer
    c = call("centroid", "center_of_mass", m, m.q, shape=(3,))
    assert_close(c, m.asked(pin.centerOfMass, m.their_q), TOLERANCE, "centre of mass")
    theirs = m.asked(pin.computeCentroidalMomentum, m.their_q, m.their_v).vector
    assert_close(call("centroid", "total_momentum", m, m.q, m.p, shape=(6,)), theirs, TOLERANCE, "momentum")
    theirs = m.asked(pin.ccrba, m.their_q, m.their_v)[:, m.pin.v_index]
    A = call("centroid", "total_momentum_matrix", m, m.q, shape=(6, m.model.nv))
    assert_close(A, theirs, TOLERANCE, "ccrba")


def test_frame_pose(peer):
    R, r = np.empty((3, 3)), np.empty(3)
    plain.load("frame_motions").frame_pose(peer.block, peer.q, peer.frame.numbers(BODY), R.reshape(-1), r,
                                           prepared(peer))
    pose = peer.pin.data.oMf[peer.frame_id]
    assert_close(R, pose.rotation, TOLERANCE, "R")
    assert_close(r, pose.translation, TOLERANCE, "r")


@pytest.mark.parametrize("axes, name", [(WORLD, "WORLD"), (BODY, "LOCAL"), (ALIGNED, "LOCAL_WORLD_ALIGNED")])
def test_frame_motion_in_the_three_reference_frames(axes, name, peer):
    m, theirs, numbers = peer, getattr(pin.ReferenceFrame, name), peer.frame.numbers(axes)
    model, data, tool = m.pin.model, m.pin.data, m.frame_id
    pin.forwardKinematics(model, data, m.their_q, m.their_v, m.their_a)
    pin.updateFramePlacements(model, data)
    v = call("frame_motions", "frame_velocity", m, m.q, m.p, numbers, shape=(6,))
    assert_close(v, pin.getFrameVelocity(model, data, tool, theirs).vector, TOLERANCE, "velocity")
    J = call("frame_motions", "jacobian", m, m.q, numbers, shape=(6, m.model.nv))
    accelerate = pin.getFrameClassicalAcceleration if axes == ALIGNED else pin.getFrameAcceleration
    expected = accelerate(model, data, tool, theirs).vector
    rest = call("frame_motions", "jacobian_dot_u", m, m.q, m.u, numbers, shape=(6,))
    assert_close(J @ m.udot + rest, expected, TOLERANCE, "acceleration")
    tau = call("joint_forces", "inverse_dynamics", m, m.q, m.u, m.udot, m.wrench, shape=(m.model.nv,))
    a = call("frame_motions", "frame_acceleration", m, m.q, m.p, tau, m.wrench, numbers, shape=(6,))
    assert_close(a, expected, TOLERANCE, "acceleration under the forces that it needs")
    pin.computeJointJacobiansTimeVariation(model, data, m.their_q, m.their_v)
    dJ = pin.getFrameJacobianTimeVariation(model, data, tool, theirs)
    assert_close(rest, dJ @ m.their_v, TOLERANCE, "dJ/dt u")
    pin.computeJointJacobians(model, data, m.their_q)
    assert_close(J, pin.getFrameJacobian(model, data, tool, theirs)[:, m.pin.v_index], TOLERANCE, "jacobian")
