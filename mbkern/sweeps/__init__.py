"""The algorithms of the papers on an array of structs of your own: for joints and bodies that no `Model` has.

A body is one record of the dtype `BLOCK`, parents before children; six-vectors are (linear; angular), of the body's
own origin, in the body's own axes, SI units:

========  ===========  =======================================================================================
field     shape        meaning
========  ===========  =======================================================================================
parent    int          number of the parent, -1 for the ground
dofs      int          n, 0 to 6; only the first n columns of A and the like are read
C         (6, 6)       [[G, -G rho~], [0, G]]: carries a velocity of the parent to the body; rho is the body's
                       origin in the parent, G turns parent axes into body axes. That of a body on the ground is
                       not used
A         (6, 6)       joint basis: v = C v_parent + A qdot + vr
M         (6, 6)       inertia, symmetric: [[m E, -m rc~], [m rc~, J]] of a rigid body; added mass of a fluid is
                       welcome
vr        (6,)         velocity by prescribed motion
F         (6,)         wrench (force; moment) on the body, weight included
r         (6,)         inertia of rotors (armature) along each dof: p = A^T mu + r qdot
A_q       (6, 6, 6)    A_q[k] = dA/dq_k, so that dA/dt = sum over k of A_q[k] qdot_k + A_t (componentwise, in body
                       axes; q_k the coordinates of this joint)
A_t       (6, 6)       what changes A with time alone
========  ===========  =======================================================================================

`System.block_records` gives the records of a model, `zeros` some to fill in.

    rhs         qdot, pdot, v, mu for p, by Algorithm 1, 2 or 3
    momenta     p, v, mu for qdot
    check       what is wrong with an array, by body and value
    operators   S, T, B, M^Sigma, H^Sigma, Phi, Psi as dense matrices, for study
    branch_centers, multipliers    centres of mass of branches; lambda of Hamilton with multipliers and of Lagrange 1

In compiled code of your own call the kernels, which check nothing:

    extended_lu(blocks, p, qdot, v, mu, work)       Algorithm 1       -> -1, or the body whose A^T M* A is singular
    extended_ldl(blocks, p, qdot, v, mu, work)      Algorithm 2
    reduced(blocks, p, qdot, v, mu, work)           Algorithm 3
    momentum_rates(blocks, tau, qdot, v, mu, pdot, work)              after one of them; tau may be empty

All arrays are contiguous float64, v and mu (N, 6), work from `work(blocks, method)`.

>>> import mbkern as mb, numpy as np
>>> bob = mb.sweeps.zeros(1)                                     # a pendulum: 2 kg, 0.5 m below a hinge along y
>>> bob["dofs"], bob["A"][0, 4, 0] = 1, 1.0
>>> bob["M"][0, :3, :3] = 2.0 * np.eye(3)
>>> bob["M"][0, 0, 4] = bob["M"][0, 4, 0] = -1.0                 # m z
>>> bob["M"][0, 1, 3] = bob["M"][0, 3, 1] = 1.0
>>> bob["M"][0, 3:, 3:] = np.diag([0.5, 0.5, 0.0])
>>> q = 0.1
>>> g = 9.81 * np.array([np.sin(q), 0.0, -np.cos(q)])            # gravity in body axes
>>> bob["F"][0] = [*(2.0 * g), *np.cross([0.0, 0.0, -0.5], 2.0 * g)]
>>> motion = mb.sweeps.rhs(bob, [0.3])
>>> round(float(motion.qdot[0]), 6), round(float(motion.pdot[0]), 6)
(0.6, -0.979366)
"""

from .calls import METHODS, Motion, momenta, rhs, work
from .kernels.extended import extended_ldl
from .kernels.extended_lu import extended_lu
from .kernels.motion import momentum_rates
from .kernels.reduced import reduced
from .operators import Operators, branch_centers, multipliers, operators
from .records import BLOCK, check, zeros

__all__ = [
    "BLOCK", "METHODS", "Motion", "Operators", "branch_centers", "check", "extended_ldl", "extended_lu", "momenta",
    "momentum_rates", "multipliers", "operators", "reduced", "rhs", "work", "zeros",
]
