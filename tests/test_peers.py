"""Other libraries: Pinocchio and MuJoCo on branching machines of revolute, prismatic, ball and free joints.

Pinocchio's algorithms are of the same quality as ours: 1e-10. MuJoCo diagonalises inertias with a finite
tolerance when it compiles a model: 1e-8.
"""

import numpy as np
import pytest
from cases import SCLERONOMIC, assert_close, derivative, random_loads, random_model, random_state
from peers import MuJoCo, Pinocchio
from reference import advance

import mbkern as mb

SIMPLE = ("revolute", "prismatic", "ball", "free")
ON_MUJOCO = ("revolute", "prismatic", "ball", "universal", "cylindrical", "planar", "euler_ball", "weld")
CASES = [
    ("random", 8, "jointed", SIMPLE, 1),
    ("random", 20, "free", SIMPLE, 2),
    ("binary", 15, "jointed", ("revolute", "prismatic"), 3),
    ("binary", 31, "free", ("revolute", "ball"), 4),
    ("carousel", 12, "free", SIMPLE, 5),
    ("chain", 12, "jointed", ("ball",), 6),
    ("chain", 30, "free", ("revolute",), 7),
    ("random", 12, "free", SCLERONOMIC, 8),
]


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
@pytest.mark.parametrize("family,n,base,kinds,seed", CASES)
def test_pinocchio(family, n, base, kinds, seed, method):
    model = random_model(family, n, seed, base=base, kinds=kinds)
    peer, system = Pinocchio(model), mb.System(model, method)
    q, p = random_state(model, seed)
    tau, wrench = random_loads(model, seed)
    qdot, pdot = system.rhs(q, p, tau=tau, wrench=wrench)
    u = np.linalg.solve(peer.mass_matrix(q), p)
    assert_close(system.mass_matrix(q), peer.mass_matrix(q), 1e-10, "mass matrix")
    assert_close(system.velocities(q, p), u, 1e-10, "velocities")
    assert_close(pdot, peer.momentum_rate(q, u, tau, wrench), 1e-10, "pdot")
    scalar = [i for i, name in enumerate(model.coordinate_names) if name in model.speed_names]
    same = [model.speed_names.index(model.coordinate_names[i]) for i in scalar]
    assert_close(qdot[scalar], u[same], 1e-10, "qdot")
    R, r, v = peer.kinematics(q, u)
    assert_close(system.body_poses(q)[0], R, 1e-12, "rotations")
    assert_close(system.body_poses(q)[1], r, 1e-12, "positions")
    assert_close(system.body_velocities(q, p), v, 1e-10, "body velocities")
    kinetic, potential = peer.energies(q, u)
    energy = system.energy(q, p)
    assert energy.kinetic == pytest.approx(kinetic, rel=1e-10)
    on_ground = [b for b, (joint, _) in zip(model.body_specs, peer.bodies, strict=True) if joint == 0]
    if not on_ground:
        assert energy.potential == pytest.approx(potential, rel=1e-10, abs=1e-9)


MUJOCO_CASES = [
    ("random", 10, "jointed", ("revolute", "prismatic", "ball"), 1),
    ("random", 20, "free", ON_MUJOCO, 2),
    ("binary", 15, "free", ("revolute", "ball"), 3),
    ("carousel", 10, "jointed", ON_MUJOCO, 4),
    ("chain", 20, "free", ("revolute", "prismatic"), 5),
]


def momentum_rate(peer, q, u, tau, wrench):
    """M du/dt + (dM/dt) u from MuJoCo alone; dM/dt by eighth-order differences along the motion."""
    bent = derivative(lambda h: peer.mass_matrix(advance(peer.ours, q, u, h)) @ u)
    return peer.mass_matrix(q) @ peer.accelerations(q, u, tau, wrench) + bent


@pytest.mark.parametrize("family,n,base,kinds,seed", MUJOCO_CASES)
def test_mujoco(family, n, base, kinds, seed):
    model = random_model(family, n, seed, base=base, kinds=kinds)
    peer, system = MuJoCo(model), mb.System(model)
    q, p = random_state(model, seed)
    tau, wrench = random_loads(model, seed)
    _, pdot = system.rhs(q, p, tau=tau, wrench=wrench)
    u = system.velocities(q, p)
    assert_close(system.mass_matrix(q), peer.mass_matrix(q), 1e-8, "mass matrix")
    assert_close(u, np.linalg.solve(peer.mass_matrix(q), p), 1e-8, "velocities")
    assert_close(pdot, momentum_rate(peer, q, u, tau, wrench), 1e-8, "pdot")
    kinetic, potential = peer.energies(q, u)
    energy = system.energy(q, p)
    assert energy.kinetic == pytest.approx(kinetic, rel=1e-8)
    assert energy.potential == pytest.approx(potential, rel=1e-8, abs=1e-8)


def test_mujoco_springs_and_dampers():
    """MuJoCo's stiffness, springref and damping are ours."""
    model = random_model("random", 10, 6, kinds=("revolute", "prismatic", "universal"), springs=True)
    peer, system = MuJoCo(model), mb.System(model)
    q, p = random_state(model, 6)
    _, pdot = system.rhs(q, p)
    u = system.velocities(q, p)
    assert_close(pdot, momentum_rate(peer, q, u, None, None), 1e-8, "pdot")
    kinetic, potential = peer.energies(q, u)
    assert system.energy(q, p).kinetic == pytest.approx(kinetic, rel=1e-8)
    assert system.energy(q, p).potential == pytest.approx(potential, rel=1e-8, abs=1e-8)
