"""Poses, velocities, accumulated momenta and the inspection blocks against the reference (1e-10 relative)."""

import numpy as np
import pytest
import reference
from cases import BASES, FAMILIES, JOINT_KINDS, assert_close, derivative, random_model, random_state

import mbkern as mb

TOLERANCE = 1e-10
T = 0.37


@pytest.fixture(scope="module", params=[(f, b) for f in FAMILIES for b in BASES], ids="-".join)
def case(request):
    family, base = request.param
    model = random_model(family, 15, 71, base=base)
    q, p = random_state(model, 71, T)
    return model, q, p, mb.System(model), reference.hamilton(model, q, p, T)


def test_poses(case):
    model, q, _, system, _ = case
    R, r = system.body_poses(q, T)
    expected_R, expected_r = reference.body_poses(model, q, T)
    assert_close(R, expected_R, TOLERANCE, "rotations")
    assert_close(r, expected_r, TOLERANCE, "positions")
    assert_close(R @ R.transpose(0, 2, 1), np.broadcast_to(np.eye(3), R.shape), 1e-13, "orthogonality")


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
def test_velocities_and_accumulated_momenta(case, method):
    model, q, p, _, expected = case
    system = mb.System(model, method)
    assert_close(system.body_velocities(q, p, T), expected.v, TOLERANCE, "body velocities")
    assert_close(system.body_momenta(q, p, T), expected.mu, TOLERANCE, "mu")


def test_momenta_are_projections_of_accumulated_ones(case):
    """p_i = A_i^T mu_i."""
    _, q, p, system, _ = case
    _, A, _ = system.blocks(q, T)
    mu = system.body_momenta(q, p, T)
    projected = np.concatenate([a.T @ m for a, m in zip(A, mu, strict=True)])
    assert_close(projected, p, TOLERANCE, "A^T mu = p")


def test_velocities_are_derivatives_of_poses(case):
    """Body-axes velocity = R^T d/dt of the pose along the motion (differences good to 1e-11)."""
    model, q, p, system, _ = case
    u = system.velocities(q, p, T)
    R, _ = system.body_poses(q, T)

    def pose(h):
        rotations, positions = system.body_poses(reference.advance(model, q, u, h), T + h)
        return np.concatenate([rotations, positions[:, :, None]], axis=2)

    rate = derivative(pose)
    spin = R.transpose(0, 2, 1) @ rate[:, :, :3]
    linear = np.einsum("nij,ni->nj", R, rate[:, :, 3])
    angular = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    assert_close(system.body_velocities(q, p, T), np.hstack([linear, angular]), 1e-9, "velocities")


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_blocks(kind):
    model = random_model("chain", 4, 12, kinds=[kind])
    q, _ = random_state(model, 12, T)
    C, A, vr = mb.System(model).blocks(q, T)
    joints = reference.motions(model, q, np.zeros(model.nv), T)
    assert C.shape == (4, 6, 6) and vr.shape == (4, 6) and len(A) == 4
    assert_close(C, [j.C for j in joints], TOLERANCE, "C")
    assert_close(vr, [j.vr for j in joints], TOLERANCE, "vr")
    for ours, joint, dofs in zip(A, joints, model.dofs, strict=True):
        assert ours.shape == (6, dofs)
        assert_close(ours, joint.A, TOLERANCE, "A")


def test_model_inertia_records():
    """model.bodies["M"] is the 6x6 inertia at the body origin."""
    model = random_model("random", 9, 5)
    assert_close(model.bodies["M"], [reference.body_inertia(b) for b in model.body_specs], 1e-13, "M")


def test_quaternion_convention():
    """Body -> parent, (w, x, y, z): a quarter turn about z takes the body's x axis to the parent's y axis."""
    builder = mb.ModelBuilder()
    builder.add_body("top", joint=mb.ball(), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("ship", joint=mb.free(), mass=1.0, inertia=(1, 1, 1), position=(0, 0, 5.0))
    half = np.sqrt(0.5)
    R, r = mb.System(builder.build()).body_poses([half, 0, 0, half, 1.0, 2.0, 3.0, half, 0, 0, half])
    for i in range(2):
        assert np.allclose(R[i] @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    assert np.allclose(r, [[0, 0, 0], [1, 2, 8]], atol=1e-15)


def test_joint_frame_placement():
    """rotation takes joint axes to the parent: its columns are the joint frame's axes."""
    rotation = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    builder = mb.ModelBuilder()
    builder.add_body("slider", joint=mb.prismatic("x"), mass=1.0, position=(1, 2, 3), rotation=rotation)
    R, r = mb.System(builder.build()).body_poses([0.5])
    assert np.allclose(R[0], rotation, atol=1e-15)
    assert np.allclose(r[0], np.array([1, 2, 3]) + 0.5 * rotation[:, 0], atol=1e-15)
