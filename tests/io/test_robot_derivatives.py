"""Derivatives of real robots against Pinocchio's: a sample, or every file with MBKERN_ALL_ROBOTS=1."""

import os

import numpy as np
import pytest
from test_urdf import load, robot_files

SAMPLE = ("ur5_robot.urdf", "talos_reduced.urdf", "double_pendulum.urdf", "solo12.urdf", "panda.urdf")
# Both sides compute in double precision; only conditioning separates them.
TOLERANCE = 1e-9


def close(got, expected, condition, where):
    """To the tolerance, or to what rounding leaves of a badly conditioned machine."""
    scale = max(np.abs(expected).max(initial=0.0), 1e-300)
    error = np.abs(got - expected).max(initial=0.0) / scale
    assert error < max(TOLERANCE, 100.0 * condition * np.finfo(float).eps), (*where, error)


def compared(path, floating_base):
    """Whether a robot has coordinates that are also Pinocchio's; then its derivatives are compared."""
    import pinocchio as pin
    from pin_urdf import PinUrdf

    model = load(path, floating_base, mimic="free")  # as Pinocchio takes them
    if not model.nv:
        return False
    peer, (q, u) = PinUrdf(path, model, floating_base), model.random_state(0)
    theirs, J, Jdot = peer.state(q, u)
    if Jdot.any() or J.shape[0] != J.shape[1] or not np.isin(J, (0.0, 1.0)).all():
        return False  # a planar joint: other speeds
    rng, system, at = np.random.default_rng(0), peer.system, (path.name, floating_base)
    tau, udot = rng.normal(size=(2, model.nv))
    friction = np.diag(model.damping)
    by_q, by_u, mass = pin.computeRNEADerivatives(peer.model, peer.data, theirs, J @ u, J @ udot)
    forces = system.derivatives_inverse_dynamics(q, u, udot)
    full = J.T @ (np.triu(mass) + np.triu(mass, 1).T) @ J
    condition = np.linalg.cond(full)
    close(forces.tau_q, J.T @ by_q @ J, 1.0, (*at, "tau_q"))
    close(forces.tau_u, J.T @ by_u @ J + friction, 1.0, (*at, "tau_u"))
    close(forces.tau_udot, full, 1.0, (*at, "tau_udot"))
    force = J @ (tau - model.damping * u)
    by_q, by_u, inverse = pin.computeABADerivatives(peer.model, peer.data, theirs, J @ u, force)
    inverse = J.T @ (np.triu(inverse) + np.triu(inverse, 1).T) @ J
    rates = system.derivatives_accelerations(q, u, tau=tau)
    close(rates.udot_q, J.T @ by_q @ J, condition, (*at, "udot_q"))
    close(rates.udot_u, J.T @ by_u @ J - inverse @ friction, condition, (*at, "udot_u"))
    close(rates.udot_tau, inverse, condition, (*at, "udot_tau"))
    A = system.jacobian_rhs(q, system.momenta(q, u))
    close(A.u_p, inverse, condition, (*at, "u_p"))
    # p = M u, so that at constant p: M du/dq = -d(M u)/dq, which is that of the joint forces with u for udot, at rest
    at_rest = np.zeros(model.nv)
    moved = pin.computeRNEADerivatives(peer.model, peer.data, theirs, at_rest, J @ u)[0].copy()
    weight = pin.computeRNEADerivatives(peer.model, peer.data, theirs, at_rest, at_rest)[0].copy()
    close(full @ A.u_q, J.T @ (weight - moved) @ J, condition, (*at, "u_q"))
    return True


def test_derivatives_are_those_of_pinocchio():
    pytest.importorskip("pinocchio", reason="needs Pinocchio: pip install mbkern[peers]")
    paths = [path for path in robot_files() if b"<link" in path.read_bytes()]
    if not paths:
        pytest.skip("needs robot files: pip install mbkern[peers]")
    every = os.environ.get("MBKERN_ALL_ROBOTS") == "1"
    chosen = [path for path in paths if every or path.name in SAMPLE]
    done = sum(compared(path, floating) for path in chosen for floating in (False, True))
    print(f"{done} robots of {len(chosen)} files")
    assert done >= (120 if every else 6)
