"""A pipelayer crane in every formulation, side by side.

    python bench/pipelayer_formulations.py

Four bodies: the chassis heaves, rolls and pitches (z, alpha, beta), the upper structure slews (theta), the lifting arm
luffs (epsilon), the boom extends (y). Six ways to write its motion lead to three matrices:

    ==================  ============================  ==========================
    matrix              in momenta (q, p)             in accelerations
    ==================  ============================  ==========================
    extended            EMH: emh-ldl, emh-lu          Newton-Euler: -ldl, -lu
    B^T M B             DAH: dah                      Lagrange 2: lagrange-2
    Z^T S M^-1 S^T Z    HZU: hzu                      Lagrange 1: lagrange-1
    ==================  ============================  ==========================

Here each is written down with dense matrices, as in the textbook, from the blocks C, A, vr, M of the model, and
compared with the compiled method of that name. (linear; angular) six-vectors of the body origins, in body axes.
"""

from __future__ import annotations

import numpy as np
from common import markdown

import mbkern as mb


def stacked(model: mb.Model, system: mb.System, q: np.ndarray, t: float) -> dict[str, np.ndarray]:
    """The blocks as matrices of the whole machine: S, A, M, vr, an orthonormal complement Z of A, and B = S^-1 A."""
    C, A_blocks, vr = system.blocks(q, t)
    n = model.n_bodies
    S, M = np.eye(6 * n), np.zeros((6 * n, 6 * n))
    A, Z = np.zeros((6 * n, model.nv)), np.zeros((6 * n, 6 * n - model.nv))
    row = column = complement = 0
    for i, parent in enumerate(model.parents):
        if parent >= 0:
            S[row:row + 6, 6 * parent:6 * parent + 6] = -C[i]
        M[row:row + 6, row:row + 6] = model.bodies["M"][i]
        dofs = A_blocks[i].shape[1]
        A[row:row + 6, column:column + dofs] = A_blocks[i]
        Z[row:row + 6, complement:complement + 6 - dofs] = np.linalg.qr(A_blocks[i], mode="complete")[0][:, dofs:]
        row, column, complement = row + 6, column + dofs, complement + 6 - dofs
    return {"S": S, "M": M, "A": A, "Z": Z, "vr": vr.ravel(), "B": np.linalg.solve(S, A)}


def extended(S, M, A, p, drift, load):
    """M v - S^T mu = load,  -S v + A u = -drift,  A^T mu = p, all at once: (v, mu, u)."""
    m, n = A.shape
    K = np.block([[M, -S.T, np.zeros((m, n))], [-S, np.zeros((m, m)), A], [np.zeros((n, m)), A.T, np.zeros((n, n))]])
    x = np.linalg.solve(K, np.concatenate([load, -drift, p]))
    return x[:m], x[m:2 * m], x[2 * m:]


def by_mass_matrix(S, M, A, p, drift, load):
    """(B^T M B) u = p + B^T (load - M T drift), then v and mu by recursion."""
    B = np.linalg.solve(S, A)
    u = np.linalg.solve(B.T @ M @ B, p + B.T @ (load - M @ np.linalg.solve(S, drift)))
    v = np.linalg.solve(S, A @ u + drift)
    return v, np.linalg.solve(S.T, M @ v - load), u


def by_multipliers(S, M, A, p, drift, load, Z):
    """mu = A (A^T A)^-1 p + Z lam with (Z^T S M^-1 S^T Z) lam = Z^T (drift - S M^-1 (S^T A (A^T A)^-1 p + load))."""
    W, AA = np.linalg.inv(M), np.linalg.inv(A.T @ A)
    particular = A @ AA @ p
    lam = np.linalg.solve(Z.T @ S @ W @ S.T @ Z, Z.T @ (drift - S @ W @ (S.T @ particular + load)))
    mu = particular + Z @ lam
    v = W @ (S.T @ mu + load)
    return v, mu, AA @ A.T @ (S @ v - drift)


def omega(v: np.ndarray) -> np.ndarray:
    """Omega = [[w~, 0], [u~, w~]] of v = (u; w)."""
    u, w = (np.cross(x, np.eye(3)).T for x in (v[:3], v[3:]))
    return np.block([[w, np.zeros((3, 3))], [u, w]])


def worked_through(q: np.ndarray, p: np.ndarray, t: float = 0.0) -> dict[str, dict[str, np.ndarray]]:
    """Joint speeds and accelerations from each formulation: name -> {"dense": ..., "compiled": ...}."""
    model = mb.zoo.pipelayer()
    system = mb.System(model)
    blocks = stacked(model, system, q, t)
    S, M, A, Z, vr = (blocks[name] for name in ("S", "M", "A", "Z", "vr"))
    none = np.zeros(6 * model.n_bodies)
    rows: dict[str, dict[str, np.ndarray]] = {}
    # speeds from momenta: nothing loads M v = S^T mu, the drift is that of driven joints (none here)
    v, _, u = extended(S, M, A, p, vr, none)
    for name, (_, _, speeds) in {
        "emh-ldl": (v, None, u),
        "emh-lu": (v, None, u),
        "dah": by_mass_matrix(S, M, A, p, vr, none),
        "hzu": by_multipliers(S, M, A, p, vr, none, Z),
    }.items():
        rows[name] = {"dense": speeds, "compiled": mb.System(model, name).rhs(q, p, t)[0]}
    # accelerations: the same matrices with (udot, dv/dt, R) for (u, v, mu). The drift is dv/dt at udot = 0, here from
    # v = B u along a motion with constant speeds; the load is the weight less Omega M v
    def velocities(h):
        return np.linalg.solve((moved := stacked(model, system, q + h * u, t + h))["S"], moved["A"] @ u)

    h = 1e-3
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # eighth-order differences
    vdot = sum(w * (velocities(k * h) - velocities(-k * h)) for k, w in weights.items()) / h
    R, _ = system.body_poses(q, t)
    load = np.zeros(6 * model.n_bodies)
    for i, body in enumerate(model.bodies):
        here = slice(6 * i, 6 * i + 6)
        force = body["mass"] * R[i].T @ model.gravity
        load[here] = [*force, *np.cross(body["com"], force)]
        load[here] -= omega(v[here]) @ body["M"] @ v[here]
    drift, tau = S @ vdot, np.zeros(model.nv)
    for name, (_, _, dense) in {
        "newton-euler-ldl": (newton_euler := extended(S, M, A, tau, drift, load)),
        "newton-euler-lu": newton_euler,
        "lagrange-2": by_mass_matrix(S, M, A, tau, drift, load),
        "lagrange-1": by_multipliers(S, M, A, tau, drift, load, Z),
    }.items():
        rows[name] = {"dense": dense, "compiled": system.accelerations(q, u, t, method=name)}
    rows["reactions"] = {"dense": newton_euler[1], "compiled": system.reactions(q, p, t).ravel()}
    return rows


if __name__ == "__main__":
    crane = mb.zoo.pipelayer()
    position, speeds = crane.random_state(seed=1)
    momenta = mb.System(crane).momenta(position, speeds)
    found = worked_through(position, momenta)
    print(crane.describe(), "\n")
    table = []
    for name, row in found.items():
        if name != "reactions":
            error = np.max(np.abs(row["compiled"] - row["dense"])) / np.max(np.abs(row["dense"]))
            table.append([name, *(f"{x:.6f}" for x in row["compiled"]), f"{error:.0e}"])
    print(markdown(["speeds, then accelerations", *crane.coordinate_names, "difference to dense"], table))
    print("\nReactions of the joints (force; moment) in body axes, N and N m:\n")
    reactions = found["reactions"]["compiled"].reshape(-1, 6)
    print(markdown(["body", "fx", "fy", "fz", "mx", "my", "mz"],
                   [[name, *(f"{x:.1f}" for x in R)] for name, R in zip(crane.body_names, reactions, strict=True)]))
    print()
    print(mb.System(crane).method_report())
