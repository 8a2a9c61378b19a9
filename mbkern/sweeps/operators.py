"""The matrices of the papers, dense, for study: what the sweeps do without ever forming them.

    S = E - Phi_C,   T = S^-1 = Psi_C,   B = T A                               v = B qdot + T vr
    Phi_X   strictly lower block matrix with X_i in row i, column k_i;   Psi_X = (E - Phi_X)^-1, the influence of X
    M^Sigma_i = M_i + sum_j C_j^T M^Sigma_j C_j            inertia of the branch that body i carries, itself included
    H^Sigma = T^T M v                                      momentum of each branch, the mu of the sweeps
    M*_i = M_i + sum_j C_j^T (E - K_j A_j^T) M*_j C_j      the same where the joints beyond are free to move
    R_i = A_i^T M*_i A_i + r_i,   K_i = M*_i A_i R_i^-1,   beta_i = (E - A_i K_i^T) C_i

    Mass = A^T T^T M T A + r,   Mass^-1 = [E - K^T Phi_C Psi_beta A] R^-1 [E - A^T Psi_beta^T Phi_C^T K]

(Ivanov & Shimanovskiy 2023; the factorization: Rodriguez, Jain & Kreutz, in momentum variables by Concurrent Dynamics
International. j are the children of i, k_i its parent.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import NotEnoughMemoryError, StateError
from ..inputs import Array, real_array
from ..integrate import memory
from ..model.checks import show
from .calls import momenta
from .kernels import checked
from .records import Records, check, fault

COPIES = 9  # of a (6N, 6N) matrix: S, T, M, Phi and Psi, the unit matrix and what an inverse takes for a while


@dataclass(frozen=True, eq=False)
class Operators:
    """Dense matrices of records at one configuration; bodies and dofs in the order of the records.

    Attributes
    ----------
    S, T : (6N, 6N)
        S v = A qdot + vr, T = S^-1.
    A, B : (6N, n)
        Joint bases on the diagonal, and B = T A: velocities of all bodies for unit joint speeds.
    M : (6N, 6N)
        Inertias of the bodies on the diagonal.
    M_sigma : (N, 6, 6)
        M^Sigma: inertia of each branch with its joints locked, in the axes of the body that carries it.
    M_star : (N, 6, 6)
        Articulated inertia of each branch: its joints beyond the body move freely.
    R : (n, n)
        A^T M* A + r of each joint, on the diagonal.
    K : (6N, n)
        M* A R^-1, on the diagonal.
    Phi_C, Psi_C, Phi_beta, Psi_beta : (6N, 6N)
        Influence operators of the factorization; Psi_C = T.
    r : (n,)
        Inertia of the rotors (armature).
    blocks : (N,) array of `BLOCK`
        What they were made of.
    """

    S: Array
    T: Array
    A: Array
    B: Array
    M: Array
    M_sigma: Array
    M_star: Array
    R: Array
    K: Array
    Phi_C: Array
    Psi_C: Array
    Phi_beta: Array
    Psi_beta: Array
    r: Array
    blocks: Records

    @property
    def mass(self) -> Array:
        """The mass matrix B^T M B + r, (n, n).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system = mb.System(mb.zoo.chain(3))
        >>> o = mb.sweeps.operators(system.block_records([0.1, 0.2, 0.3]))
        >>> bool(np.allclose(o.mass, system.mass_matrix([0.1, 0.2, 0.3])))
        True
        """
        mass: Array = self.B.T @ self.M @ self.B + np.diag(self.r)
        return mass

    @property
    def inverse_mass(self) -> Array:
        """Its inverse by the factorization, (n, n).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> o = mb.sweeps.operators(mb.System(mb.zoo.chain(3)).block_records([0.1, 0.2, 0.3]))
        >>> bool(np.allclose(o.mass @ o.inverse_mass, np.eye(3)))
        True
        """
        factor = np.eye(len(self.r)) - self.K.T @ self.Phi_C @ self.Psi_beta @ self.A
        inverse: Array = factor @ np.linalg.solve(self.R, factor.T)
        return inverse

    def H_sigma(self, qdot: ArrayLike) -> Array:
        """H^Sigma (N, 6): momentum of each branch for joint speeds qdot (n), at its body's origin, in its axes.

        Examples
        --------
        >>> import mbkern as mb
        >>> o = mb.sweeps.operators(mb.System(mb.zoo.chain(3)).block_records([0.1, 0.2, 0.3]))
        >>> o.H_sigma([1.0, 0.0, 0.0]).shape
        (3, 6)
        """
        return momenta(self.blocks, qdot)[2]


def operators(blocks: Records) -> Operators:
    """S, T, B, M^Sigma, H^Sigma and the influence operators Phi, Psi of records, as dense matrices.

    Parameters
    ----------
    blocks : (N,) array of `BLOCK`
        Of a model (`System.block_records`) or of your own.

    Returns
    -------
    Operators

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> model = mb.zoo.pipelayer()
    >>> o = mb.sweeps.operators(mb.System(model).block_records(model.neutral()))
    >>> o.B.shape, bool(np.allclose(o.S @ o.T, np.eye(24)))
    ((24, 6), True)
    >>> bool(np.isclose(o.M_sigma[0, 0, 0], model.total_mass))
    True
    """
    blocks = check(blocks)
    N, dofs = len(blocks), blocks["dofs"].tolist()
    ends = np.cumsum([0, *dofs])
    n = int(ends[-1])
    needed = 8.0 * (COPIES * (6 * N)**2 + 4 * 6 * N * n)
    if memory.exceeded_by(needed):
        raise NotEnoughMemoryError(f"blocks: the dense matrices of {N} bodies need {memory.gigabytes(needed)}, the "
                                   f"limit is {memory.gigabytes(memory.limit())} (a part of the memory that is free); "
                                   "rhs and momenta need none of them")
    rows = [slice(6 * i, 6 * i + 6) for i in range(N)]
    columns = [slice(int(ends[i]), int(ends[i + 1])) for i in range(N)]
    A, M, K, R = np.zeros((6 * N, n)), np.zeros((6 * N, 6 * N)), np.zeros((6 * N, n)), np.zeros((n, n))
    Phi_C, Phi_beta = np.zeros((6 * N, 6 * N)), np.zeros((6 * N, 6 * N))
    M_sigma, M_star = blocks["M"].copy(), blocks["M"].copy()
    r = np.concatenate([row["r"][:row["dofs"]] for row in blocks])
    for i in range(N - 1, -1, -1):
        C, a, k = blocks["C"][i], blocks["A"][i][:, :dofs[i]], int(blocks["parent"][i])
        A[rows[i], columns[i]], M[rows[i], rows[i]] = a, blocks["M"][i]
        R_i = a.T @ M_star[i] @ a + np.diag(r[columns[i]])
        if dofs[i] and not np.linalg.eigvalsh(R_i)[0] > 1e-14 * np.trace(R_i):
            raise fault(blocks, checked.SINGULAR, i)
        K_i = np.linalg.solve(R_i, a.T @ M_star[i]).T
        R[columns[i], columns[i]], K[rows[i], columns[i]] = R_i, K_i
        if k >= 0:
            Phi_C[rows[i], rows[k]] = C
            Phi_beta[rows[i], rows[k]] = C - a @ (K_i.T @ C)
            M_sigma[k] += C.T @ M_sigma[i] @ C
            M_star[k] += C.T @ (M_star[i] - K_i @ (a.T @ M_star[i])) @ C
    E = np.eye(6 * N)
    S = E - Phi_C
    T, Psi_beta = np.asarray(np.linalg.inv(S), float), np.asarray(np.linalg.inv(E - Phi_beta), float)
    return Operators(S, T, A, T @ A, M, M_sigma, M_star, R, K, Phi_C, T, Phi_beta, Psi_beta, r, blocks)


def branch_centers(blocks: Records) -> Array:
    """Centres of mass of all branches: of each body and all bodies beyond it.

    Parameters
    ----------
    blocks : (N,) array of `BLOCK`
        Of rigid bodies: M = [[m E, -m rc~], [m rc~, J]].

    Returns
    -------
    (N, 3)
        In metres, from the body's origin, in body axes.

    Examples
    --------
    >>> import mbkern as mb
    >>> builder = mb.ModelBuilder()
    >>> _ = builder.add_body("table", mass=3.0, inertia=(1, 1, 1))
    >>> _ = builder.add_body("lamp", "table", mb.ball(), mass=1.0, inertia=(1, 1, 1), position=(0, 0, 0.8))
    >>> model = builder.build()
    >>> mb.sweeps.branch_centers(mb.System(model).block_records(model.neutral())).tolist()
    [[0.0, 0.0, 0.2], [0.0, 0.0, 0.0]]
    """
    blocks = check(blocks)
    M = blocks["M"].copy()
    for i in range(len(blocks) - 1, -1, -1):
        k, C = int(blocks["parent"][i]), blocks["C"][i]
        if k >= 0:
            M[k] += C.T @ M[i] @ C
    m = M[:, 0, 0]
    if not (m > 0.0).all():
        i = int(np.argmin(m))
        raise StateError(f"blocks[{i}]: its branch has no mass (M[0, 0] = {m[i]:g}), so it has no centre of mass")
    centers: Array = np.stack([M[:, 5, 1], M[:, 3, 2], M[:, 4, 0]], axis=1) / m[:, None]
    return centers


def multipliers(blocks: Records, wrench: ArrayLike) -> tuple[list[Array], list[Array]]:
    """The multipliers lambda of each joint: the part of a six-vector that its A does not see.

    Of Hamilton's equations with multipliers, mu = A (A^T A)^-1 A^T mu + Z lambda, for the momenta mu that `rhs` gives
    (lambda is an impulse); of Lagrange's equations of the first kind the same for the reactions R of
    `System.reactions` (lambda is a force). Z is an orthonormal basis of what the joint blocks, A^T Z = 0.

    Parameters
    ----------
    blocks : (N,) array of `BLOCK`
    wrench : (N, 6)
        mu in kg m/s and kg m^2/s, or R in N and N m.

    Returns
    -------
    lam : list of (6 - dofs,) arrays
        One array a body.
    Z : list of (6, 6 - dofs) arrays
        The directions that they belong to.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> model = mb.zoo.chain(3)
    >>> system, q, p = mb.System(model), np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.0, 1.0])
    >>> blocks = system.block_records(q)
    >>> lam, Z = mb.sweeps.multipliers(blocks, mb.sweeps.rhs(blocks, p).mu)
    >>> [len(x) for x in lam]
    [5, 5, 5]
    >>> forces, _ = mb.sweeps.multipliers(blocks, system.reactions(q, p))
    """
    blocks = check(blocks)
    x = real_array(wrench, "wrench", (len(blocks), 6), "finite numbers")
    if not np.isfinite(x).all():
        raise StateError(f"wrench: expected finite numbers, got {show(x)}")
    Z = []
    for row in blocks:
        left, _, _ = np.linalg.svd(row["A"][:, :row["dofs"]])
        Z.append(left[:, row["dofs"]:])
    return [z.T @ x_i for z, x_i in zip(Z, x, strict=True)], Z
