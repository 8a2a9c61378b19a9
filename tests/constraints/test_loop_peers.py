"""Points and welds against Pinocchio's `constraintDynamics`."""

import numpy as np
import pytest

import mbkern as mb

pin = pytest.importorskip("pinocchio", reason="needs Pinocchio: pip install mbkern[peers]")


def closed_chain(n, kind):
    """Hinges in space whose end is fastened where it is in a pose."""
    chain = mb.zoo.chain(n, seed=3)
    q = np.linspace(-0.5, 0.7, n)
    R, r = mb.System(chain).body_poses(q)
    b = mb.ModelBuilder()
    for body in chain.body_specs:
        parent = "world" if body.parent < 0 else chain.body_names[body.parent]
        b.add_body(body.name, parent, body.joint, body.mass, body.com, body.inertia, body.position, body.rotation)
    tip = np.array([0.2, 0.1, 0.0])
    b.add_loop("end", chain.body_names[-1], "world", kind, tip, r[-1] + R[-1] @ tip, rotation_b=R[-1])
    return b.build(), q


@pytest.mark.parametrize("kind", ["point", "weld"])
def test_accelerations_and_forces(kind):
    model, q = closed_chain(9, kind)
    system = mb.System(model)
    q, u = system.consistent(q, np.linspace(1.0, -1.0, 9))
    tau = np.linspace(-2.0, 3.0, 9)
    peer = pin.Model()
    for body in model.body_specs:
        joint = peer.addJoint(body.parent + 1, pin.JointModelRevoluteUnaligned(np.array(body.joint.elements[0].axis)),
                              pin.SE3(np.array(body.rotation), np.array(body.position)), body.name)
        peer.appendBodyToJoint(joint, pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia)),
                               pin.SE3.Identity())
    loop = model.constraints[0]
    contact = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_6D if kind == "weld" else pin.ContactType.CONTACT_3D, peer, loop.body_a + 1,
        pin.SE3(np.array(loop.rotation_a), np.array(loop.position_a)), 0,
        pin.SE3(np.array(loop.rotation_b), np.array(loop.position_b)), pin.ReferenceFrame.LOCAL)
    data, contacts, known = peer.createData(), [contact], [contact.createData()]
    pin.initConstraintDynamics(peer, data, contacts, known)
    settings = pin.ProximalSettings(1e-14, 1e-12, 20)
    expected = pin.constraintDynamics(peer, data, q, u, tau, contacts, known, settings)
    # rounding times the conditions of mass matrix and G
    np.testing.assert_allclose(system.accelerations(q, u, tau=tau), expected, atol=1e-7 * np.abs(expected).max())
