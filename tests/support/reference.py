"""The dense reference: every equation of a rigid multibody tree, written slowly and without any recursion.

It shares with the library only the description of the machine (`model.body_specs`, `model.gravity`); no kernel
is called. All bodies' equations are stacked into one matrix and solved at once, with one step of iterative
refinement in extended precision, so the answers are good to round-off.

Notation (six-vectors are (linear; angular) of the body origin, in body axes; `x~` the cross-product matrix):

    v_i = C_i v_k + A_i u_i + vr_i          k the parent, u_i the joint speeds, vr_i the drift of driven steps
    M v - S^T mu = 0                        S block unit lower triangular, -C_i in column k_i
    A^T mu + r u = p                        r the inertia of the rotors (armature)
    pdot = (Adot^T - A^T Omega) mu + A^T F* + tau - stiffness (q - rest) - damping u + ad*_u (r u),    F* = S^-T F

where ad*_u (r u) is what Hamel's equations have for the body-frame speeds of ball and free joints (`lie_poisson`).

The same matrix serves Newton-Euler: (dv/dt, reactions, du/dt) instead of (v, mu, u).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mbkern.model.joint import Ball, Free, Step

# ---------------------------------------------------------------------------------------------- small algebra


def cross(x):
    """Matrix x~ with x~ y = x cross y."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def rotation_about(axis, angle):
    """Rotation matrix, frame after the rotation -> frame before it (Rodrigues)."""
    a = cross(np.asarray(axis, float))
    return np.eye(3) + np.sin(angle) * a + (1.0 - np.cos(angle)) * a @ a


def quaternion_product(a, b):
    """Hamilton product of two quaternions (w, x, y, z)."""
    w, x = a[0], np.asarray(a[1:])
    s, y = b[0], np.asarray(b[1:])
    return np.array([w * s - x @ y, *(w * y + s * x + np.cross(x, y))])


def quaternion_matrix(quaternion):
    """Rotation matrix body -> parent of a quaternion (w, x, y, z); normalised first."""
    w, x, y, z = np.asarray(quaternion, float) / np.linalg.norm(quaternion)
    v = np.array([x, y, z])
    return (w * w - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * w * cross(v)


def quaternion_exp(rotation_vector):
    """Unit quaternion of a rotation vector (axis times angle)."""
    angle = np.linalg.norm(rotation_vector)
    half_sinc = 0.5 * np.sinc(angle / (2.0 * np.pi))
    return np.array([np.cos(0.5 * angle), *(half_sinc * np.asarray(rotation_vector))])


def carry(G, rho):
    """C = [[G, -G rho~], [0, G]]: velocity of the frame before -> velocity of the frame after."""
    return np.block([[G, -G @ cross(rho)], [np.zeros((3, 3)), G]])


def omega_matrix(v):
    """Omega = [[w~, 0], [u~, w~]] of v = (u; w)."""
    u, w = v[:3], v[3:]
    return np.block([[cross(w), np.zeros((3, 3))], [cross(u), cross(w)]])


# ------------------------------------------------------------------------------------------------ one joint


@dataclass
class JointMotion:
    """What one joint contributes at (q_i, u_i, t)."""

    C: np.ndarray
    A: np.ndarray
    vr: np.ndarray
    Adot: np.ndarray
    vrdot: np.ndarray
    qdot: np.ndarray


def joint_motion(body, q, u, t):
    """Walk through the joint's elements; `q`, `u` are the joint's own numbers."""
    # per element: C_s, basis twists E_s in the frame after it, their rates, xddot of a drive (else None)
    chain = [(carry(np.array(body.rotation).T, np.array(body.position)), np.zeros((6, 0)), np.zeros(0), None)]
    qdot = np.zeros(len(q))
    iq = iu = 0
    for element in body.joint.elements:
        if isinstance(element, Ball):
            quaternion, w = q[iq : iq + 4], u[iu : iu + 3]
            chain.append((carry(quaternion_matrix(quaternion).T, np.zeros(3)), np.eye(6)[:, 3:], w, None))
            qdot[iq : iq + 4] = 0.5 * quaternion_product(quaternion, [0.0, *w])
            iq, iu = iq + 4, iu + 3
        elif isinstance(element, Free):
            position, quaternion = q[iq : iq + 3], q[iq + 3 : iq + 7]
            linear, w = u[iu : iu + 3], u[iu + 3 : iu + 6]
            R = quaternion_matrix(quaternion)
            chain.append((carry(R.T, position), np.eye(6), u[iu : iu + 6], None))
            qdot[iq : iq + 3] = R @ linear
            qdot[iq + 3 : iq + 7] = 0.5 * quaternion_product(quaternion, [0.0, *w])
            iq, iu = iq + 7, iu + 6
        else:
            assert isinstance(element, Step)
            axis = np.array(element.axis)
            turning = float(element.move != "translate")
            moving = {"rotate": 0.0, "translate": 1.0}.get(element.move, getattr(element, "pitch", None))
            twist = np.array([*(moving * axis), *(turning * axis)])[:, None]
            if element.amount is None:
                amount, rate, second = q[iq], u[iu : iu + 1], None
                qdot[iq] = u[iu]
                iq, iu = iq + 1, iu + 1
            elif callable(element.amount):
                amount, xdot, xddot = element.amount(t)
                rate, second = np.array([xdot]), np.array([xddot])
            else:
                amount, twist, rate, second = element.amount, np.zeros((6, 0)), np.zeros(0), None
            C_s = carry(rotation_about(axis, turning * amount).T, axis * (moving * amount))
            chain.append((C_s, twist, rate, second))
    assert iq == len(q) and iu == len(u)

    C = np.eye(6)  # product of the later elements' C
    later = np.zeros(6)  # velocity they produce, in the final frame
    columns, rates = [], []
    vr, vrdot = np.zeros(6), np.zeros(6)
    for C_s, E_s, rate, second in reversed(chain):
        a = C @ E_s
        adot = omega_matrix(later).T @ a
        if second is None:
            columns.insert(0, a)
            rates.insert(0, adot)
        else:
            vr += a @ rate
            vrdot += a @ second + adot @ rate
        later = later + a @ rate
        C = C @ C_s
    return JointMotion(C, np.hstack(columns), vr, np.hstack(rates), vrdot, qdot)


# ------------------------------------------------------------------------------------------------- the tree


def body_inertia(body):
    """6x6 inertia at the body origin, body axes."""
    m, rc = body.mass, np.array(body.com, float)
    J = np.array(body.inertia, float) + m * (rc @ rc * np.eye(3) - np.outer(rc, rc))
    return np.block([[m * np.eye(3), -m * cross(rc)], [m * cross(rc), J]])


def slices(model) -> Iterator[tuple[slice, slice]]:
    """Per body: its slice of q and its slice of u (and p)."""
    iq = iu = 0
    for body in model.body_specs:
        nq, nv = body.joint.nq, body.joint.nv
        yield slice(iq, iq + nq), slice(iu, iu + nv)
        iq, iu = iq + nq, iu + nv


def motions(model, q, u, t=0.0):
    """JointMotion of every body."""
    q, u = np.asarray(q, float), np.asarray(u, float)
    return [joint_motion(b, q[i], u[j], t) for b, (i, j) in zip(model.body_specs, slices(model), strict=True)]


def block_diagonal(blocks):
    """Dense block-diagonal matrix; a block may have no columns."""
    out = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)))
    i = j = 0
    for b in blocks:
        out[i : i + b.shape[0], j : j + b.shape[1]] = b
        i, j = i + b.shape[0], j + b.shape[1]
    return out


@dataclass
class Stacked:
    """The whole tree's matrices at one (q, u, t)."""

    joints: list[JointMotion]
    M: np.ndarray  # 6N x 6N
    S: np.ndarray  # 6N x 6N
    A: np.ndarray  # 6N x nv
    Adot: np.ndarray  # 6N x nv (meaningful only if u was given)
    vr: np.ndarray  # 6N
    R: np.ndarray  # (N, 3, 3) body -> world
    r: np.ndarray  # (N, 3) body origins, world


def stack(model, q, t=0.0, u=None):
    """Build every matrix; without speeds only C, A, vr and the poses mean anything."""
    joints = motions(model, q, np.zeros(model.nv) if u is None else u, t)
    n = len(joints)
    S = np.eye(6 * n)
    R, r = np.zeros((n, 3, 3)), np.zeros((n, 3))
    for i, (body, joint) in enumerate(zip(model.body_specs, joints, strict=True)):
        G = joint.C[:3, :3]
        rho_cross = -G.T @ joint.C[:3, 3:]
        rho = np.array([rho_cross[2, 1], rho_cross[0, 2], rho_cross[1, 0]])
        k = body.parent
        if k >= 0:
            S[6 * i : 6 * i + 6, 6 * k : 6 * k + 6] = -joint.C
            R[i], r[i] = R[k] @ G.T, r[k] + R[k] @ rho
        else:
            R[i], r[i] = G.T, rho
    return Stacked(
        joints,
        block_diagonal([body_inertia(b) for b in model.body_specs]),
        S,
        block_diagonal([j.A for j in joints]),
        block_diagonal([j.Adot for j in joints]),
        np.concatenate([j.vr for j in joints]),
        R,
        r,
    )


def solve_refined(K, b):
    """Solve K x = b; one refinement with an extended-precision residual removes the solver's own error."""
    x = np.linalg.solve(K, b)
    residual = b.astype(np.longdouble) - K.astype(np.longdouble) @ x.astype(np.longdouble)
    return x + np.linalg.solve(K, residual.astype(float))


def extended_matrix(model, s):
    """[[M, -S^T, 0], [-S, 0, A], [0, A^T, r]] for the unknowns (v, mu, u)."""
    m, n = s.A.shape
    zero, rotors = np.zeros, np.diag(armature(model))
    return np.block([[s.M, -s.S.T, zero((m, n))], [-s.S, zero((m, m)), s.A], [zero((n, m)), s.A.T, rotors]])


def armature(model):
    """Rotor inertia of every dof."""
    return np.concatenate([np.zeros(b.joint.nv) if b.armature is None else b.armature for b in model.body_specs])


def gravity_wrench(model, s):
    """Weight of every body, body axes, at the body origin; stacked 6N."""
    out = []
    for body, R in zip(model.body_specs, s.R, strict=True):
        force = body.mass * R.T @ np.asarray(model.gravity)
        out += [force, np.cross(body.com, force)]
    return np.concatenate(out)


def active_wrench(model, s, wrench):
    """Weight and the external wrench (N, 6)."""
    F = gravity_wrench(model, s)
    return F if wrench is None else F + np.asarray(wrench, float).ravel()


def spring_coordinates(model):
    """Pairs (q index, u index) of the scalar coordinates (those that can carry a spring)."""
    for body, (iq, iu) in zip(model.body_specs, slices(model), strict=True):
        i, j = iq.start, iu.start
        for element in body.joint.elements:
            if isinstance(element, Ball):
                i, j = i + 4, j + 3
            elif isinstance(element, Free):
                i, j = i + 7, j + 6
            elif element.amount is None:
                yield i, j
                i, j = i + 1, j + 1


def gathered(model, field):
    """A per-dof field of the bodies (stiffness, damping, rest) as one vector of length nv."""
    return np.concatenate([np.asarray(getattr(b, field), float) for b in model.body_specs] or [np.zeros(0)])


def joint_forces(model, q, u, tau):
    """tau plus springs and dampers, and what the rotors of quaternion joints add to the momenta's rate."""
    total = np.zeros(model.nv) if tau is None else np.array(tau, float)
    total += lie_poisson(model, armature(model) * u, u)
    total -= gathered(model, "damping") * u
    stiffness, rest = gathered(model, "stiffness"), gathered(model, "rest")
    for i, j in spring_coordinates(model):
        total[j] -= stiffness[j] * (q[i] - rest[j])
    return total


# ---------------------------------------------------------------------------------------------- the answers


@dataclass
class Hamilton:
    """Solution of the extended Hamiltonian system."""

    u: np.ndarray
    qdot: np.ndarray
    pdot: np.ndarray
    v: np.ndarray  # (N, 6)
    mu: np.ndarray  # (N, 6)


def hamilton(model, q, p, t=0.0, tau=None, wrench=None):
    """Speeds, body velocities, accumulated momenta and both time derivatives from (q, p, t)."""
    q, p = np.asarray(q, float), np.asarray(p, float)
    s = stack(model, q, t)
    m = s.M.shape[0]
    x = solve_refined(extended_matrix(model, s), np.concatenate([np.zeros(m), -s.vr, p]))
    v, mu, u = x[:m], x[m : 2 * m], x[2 * m :]
    s = stack(model, q, t, u)
    Omega = block_diagonal([omega_matrix(vi) for vi in v.reshape(-1, 6)])
    F_star = np.linalg.solve(s.S.T, active_wrench(model, s, wrench))
    pdot = (s.Adot.T - s.A.T @ Omega) @ mu + s.A.T @ F_star + joint_forces(model, q, u, tau)
    qdot = np.concatenate([j.qdot for j in s.joints])
    return Hamilton(u, qdot, pdot, v.reshape(-1, 6), mu.reshape(-1, 6))


def body_velocities(model, q, u, t=0.0):
    """(N, 6) body velocities from joint speeds."""
    s = stack(model, q, t)
    return np.linalg.solve(s.S, s.A @ u + s.vr).reshape(-1, 6)


def drift_velocities(model, q, t=0.0):
    """(N, 6) body velocities that the drives alone would cause (all joint speeds zero)."""
    return body_velocities(model, q, np.zeros(model.nv), t)


def accumulated_momenta(model, q, u, t=0.0):
    """(N, 6) mu = S^-T M v."""
    s = stack(model, q, t)
    v = np.linalg.solve(s.S, s.A @ u + s.vr)
    return np.linalg.solve(s.S.T, s.M @ v).reshape(-1, 6)


def momenta(model, q, u, t=0.0):
    """Generalized momenta p = A^T mu + r u."""
    s = stack(model, q, t)
    return s.A.T @ accumulated_momenta(model, q, u, t).ravel() + armature(model) * u


def mass_matrix(model, q, t=0.0):
    """B^T M B + r with B = S^-1 A."""
    s = stack(model, q, t)
    B = np.linalg.solve(s.S, s.A)
    return B.T @ s.M @ B + np.diag(armature(model))


def body_poses(model, q, t=0.0):
    """(R (N,3,3) body -> world, r (N,3) body origins in the world)."""
    s = stack(model, q, t)
    return s.R, s.r


@dataclass
class Energies:
    """Joule."""

    kinetic: float
    potential: float
    hamiltonian: float


def energy(model, q, u, t=0.0):
    """Kinetic and potential energy and H = p^T u - T + Pi from joint speeds."""
    q, u = np.asarray(q, float), np.asarray(u, float)
    s = stack(model, q, t)
    v = np.linalg.solve(s.S, s.A @ u + s.vr)
    rotors = armature(model)
    kinetic = 0.5 * v @ s.M @ v + 0.5 * rotors @ u**2
    potential = 0.0
    for body, R, r in zip(model.body_specs, s.R, s.r, strict=True):
        potential -= body.mass * np.asarray(model.gravity) @ (r + R @ np.array(body.com))
    stiffness, rest = gathered(model, "stiffness"), gathered(model, "rest")
    for i, j in spring_coordinates(model):
        potential += 0.5 * stiffness[j] * (q[i] - rest[j]) ** 2
    p = s.A.T @ np.linalg.solve(s.S.T, s.M @ v) + rotors * u
    return Energies(kinetic, potential, p @ u - kinetic + potential)


@dataclass
class NewtonEuler:
    """Accelerations and reactions."""

    udot: np.ndarray
    vdot: np.ndarray  # (N, 6), time derivatives of the body-axes components
    reactions: np.ndarray  # (N, 6), wrench of the parent on the body through the joint (joint forces included)


def newton_euler(model, q, u, t=0.0, tau=None, wrench=None):
    """M vdot + Omega M v = F + S^T R, S vdot - A udot = wr, A^T R + r udot = joint forces: one dense solve."""
    q, u = np.asarray(q, float), np.asarray(u, float)
    s = stack(model, q, t, u)
    v = np.linalg.solve(s.S, s.A @ u + s.vr).reshape(-1, 6)
    wr = []
    for i, (body, (_, iu)) in enumerate(zip(model.body_specs, slices(model), strict=True)):
        joint = s.joints[i]
        own = joint.Adot @ u[iu] + joint.vrdot
        if body.parent >= 0:
            v_k = v[body.parent]
            own = own + (omega_matrix(v[i]).T @ joint.C - joint.C @ omega_matrix(v_k).T) @ v_k
        wr.append(own)
    Omega = block_diagonal([omega_matrix(vi) for vi in v])
    applied = active_wrench(model, s, wrench) - Omega @ s.M @ v.ravel()
    right = np.concatenate([applied, -np.concatenate(wr), joint_forces(model, q, u, tau)])
    x = solve_refined(extended_matrix(model, s), right)
    m = s.M.shape[0]
    return NewtonEuler(x[2 * m :], x[:m].reshape(-1, 6), x[m : 2 * m].reshape(-1, 6))


# ------------------------------------------------------------------------------------- moving a configuration


def advance(model, q, u, step=1.0):
    """The configuration reached with constant joint speeds `u` after `step` seconds.

    Scalar coordinates grow linearly, quaternions along their exponential, so that the curve is smooth and its
    derivative at step 0 is exactly qdot = N(q) u. (The position of a free joint moves along R(0) v step.)
    """
    q, u = np.array(q, float), np.asarray(u, float)
    for body, (iq, iu) in zip(model.body_specs, slices(model), strict=True):
        i, j = iq.start, iu.start
        for element in body.joint.elements:
            if isinstance(element, Ball):
                q[i : i + 4] = quaternion_product(q[i : i + 4], quaternion_exp(step * u[j : j + 3]))
                i, j = i + 4, j + 3
            elif isinstance(element, Free):
                q[i : i + 3] += step * quaternion_matrix(q[i + 3 : i + 7]) @ u[j : j + 3]
                q[i + 3 : i + 7] = quaternion_product(q[i + 3 : i + 7], quaternion_exp(step * u[j + 3 : j + 6]))
                i, j = i + 7, j + 6
            elif element.amount is None:
                q[i] += step * u[j]
                i, j = i + 1, j + 1
    return q


def lie_poisson(model, p, u):
    """The term ad*_u p by which pdot of quaternion joints differs from -dH along the speeds' directions.

    Hamel's equations for body-frame speeds: a rotation gives p x w, a free joint (pl x w; pa x w + pl x v).
    Zero for scalar coordinates.
    """
    out = np.zeros(model.nv)
    for body, (_, iu) in zip(model.body_specs, slices(model), strict=True):
        j = iu.start
        for element in body.joint.elements:
            if isinstance(element, Ball):
                out[j : j + 3] = np.cross(p[j : j + 3], u[j : j + 3])
                j += 3
            elif isinstance(element, Free):
                pl, pa, v, w = p[j : j + 3], p[j + 3 : j + 6], u[j : j + 3], u[j + 3 : j + 6]
                out[j : j + 3] = np.cross(pl, w)
                out[j + 3 : j + 6] = np.cross(pa, w) + np.cross(pl, v)
                j += 6
            elif element.amount is None:
                j += 1
    return out
