"""Mass matrix and bias of a tree for :mod:`.quasi_tree`.

    mass   composite inertias, leaves first; of each dof the momentum that its unit speed gives, down to the root;
           rotors on the diagonal
    bias   one sweep outward   v = C v_k + e rate,   w = C w_k + wr,   R = M w + Omega M v   (udot = 0, w less g)
           one sweep inward    R_k += C^T R,   h = e^T R

Both are sweeps over the nodes from `rails` on. The rails are the first nodes, where these are slides along ignorable
coordinates: they carry the rest along fixed directions. Neither M nor h depends on where they are, nor on their speeds
(the rest does not feel a steady motion of its ground), and no moments pass through them, so all that is left of them is
one component of a force each, along `axes`: of each rail the directions of all rails (zero for those that do not carry
it), in its own axes. Their part of M is constant and in its place from the beginning, as the acceleration -g in their
axes is. Formulations that know of no ignorable coordinates have no rails.
"""

from .checks import OK, status
from .composite import along_rail, mirror, put_rows
from .drives import evaluate_drives
from .forces import add_joint_forces
from .jit import kernel
from .joints import add_projection, put_drive_margins, put_frame_of, put_frames, put_motion
from .layout import (
    GRAVITY, HAS_PASSIVE, INERTIA, MASS, MOMENT, N_DRIVES, N_NODES, NV, PARENT, ROTORS_SIZE, VI, W_DRIFT, W_G, W_PHI,
    W_V, W_W, add_to_pair, get3, get6, get33, get_frame, get_pair, node_row, put3, put_pair, speeds_at, work_row,
)
from .number import get, put, whole
from .spatial import ZERO6, add6, force_to_parent, motion_to_child, omega_times, rigid_times
from .vec3 import ZERO3, mul, neg, tmul


@kernel
def mass_and_frames(block, rails, axes, t, q, out, work):
    """The mass matrix; leaves drive values and frames in the workspace. Returns a status."""
    driven = whole(block, N_DRIVES) > 0
    if driven:
        evaluate_drives(block, t, work)
        put_drive_margins(block, work)
    for i in range(rails, whole(block, N_NODES)):
        put_frame_of(block, i, q, work)
    put_rows(block, rails, axes, out, work)
    mirror(whole(block, NV), out)
    return status(block, work) if driven else OK


@kernel
def frames_alone(block, t, q, work):
    """Drive values and frames in the workspace. Returns a status."""
    driven = whole(block, N_DRIVES) > 0
    if driven:
        evaluate_drives(block, t, work)
        put_drive_margins(block, work)
    put_frames(block, q, work)
    return status(block, work) if driven else OK


@kernel
def bias(block, rails, axes, q, v, h, work):
    """h: inverse dynamics without accelerations, less springs, dampers, rotors; drive values and frames are there."""
    n, nv = whole(block, N_NODES), whole(block, NV)
    ground = work_row(n)
    put3(work, ground + W_W, neg(get3(block, GRAVITY)))
    for j in range(nv):
        put(h, j, 0.0)
    for i in range(rails, n):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        X, kw = get_frame(work, w + W_G), work_row(k) if k >= 0 else ground
        if k < rails:  # at rest, but for -g
            own, carried = ZERO6, (mul(X[0], get3(work, kw + W_W)), ZERO3)
        else:
            own, carried = motion_to_child(X, get_pair(work, kw + W_V)), motion_to_child(X, get_pair(work, kw + W_W))
        put_motion(block, c, w, own, v, work)
        put_pair(work, w + W_W, add6(carried, get_pair(work, w + W_DRIFT)))
        m, J = get(block, c + MASS), get6(block, c + INERTIA)
        if m != 0.0 or J[0] + J[3] + J[5] != 0.0:
            s, V = get3(block, c + MOMENT), get_pair(work, w + W_V)
            R = add6(rigid_times(m, s, J, get_pair(work, w + W_W)), omega_times(V, rigid_times(m, s, J, V)))
            put_pair(work, w + W_PHI, R)
        else:  # a step within a joint
            put_pair(work, w + W_PHI, ZERO6)
    for i in range(n - 1, rails - 1, -1):
        c, w, k = node_row(i), work_row(i), whole(block, node_row(i) + PARENT)
        R = get_pair(work, w + W_PHI)
        add_projection(block, c, R, h, 0)
        if k >= rails:
            add_to_pair(work, work_row(k) + W_PHI, force_to_parent(get_frame(work, w + W_G), R))
        else:
            f = tmul(get33(work, w + W_G), R[0])
            for j in range(k + 1):
                vj = whole(block, node_row(j) + VI)
                put(h, vj, get(h, vj) + along_rail(axes, rails, k, j, f))
    if whole(block, HAS_PASSIVE) != 0 or whole(block, ROTORS_SIZE) != 0:
        speeds = speeds_at(block)
        for j in range(nv):
            put(work, speeds + j, get(v, j))
            put(h, j, -get(h, j))
        add_joint_forces(block, q, h[:0], h, work)
        for j in range(nv):
            put(h, j, -get(h, j))
