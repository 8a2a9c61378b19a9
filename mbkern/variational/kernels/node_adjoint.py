"""J^T times weights for trees with ball and free joints, and the gradient by the constants of the machine on the way.

:mod:`.single_adjoint` for nodes of several dofs, which have no rotors. Speeds u of such a node are no rates, and

    u = dH/dp,   pdot = -dH/dq + p . [u, .]        dH/dq along tangents, [., .] that of its motions

so that for weights (a, b) the scalar a . u + b . pdot is again D H, along dq = -b and dp = a + b x* p. Derivatives
along tangents do not commute, which leaves two brackets besides:

    gp = D dH/dp + [u, b],     gq = D dH/dq - dH/dq [., b]

In the axes of the node, x = E b, d = -x its move, v_up its velocity if it stood still, h = M* v + phi its momentum:

    drift = v_up x d,      load = M* drift + d x* h      as of single dofs, but that E^T (d x* h) does not vanish
    -dH/dq = E^T Z0,       Z0 = -v_up x* h + (m g; s x g)
    -D dH/dq = E^T Z,      Z = -dv_up x* h - v_up x* dh + (m dg; sigma x g + s x dg),     gq = E^T (x x* Z0 - Z)

dv_up with the drift. The elimination solves for dv itself: of a ball its angular part, of a free node all of it.
"""

from ...core.checks import status
from ...core.columns import tail
from ...core.derivative_operations import eliminated
from ...core.drives import evaluate_drives
from ...core.jacobian_products import add_springs
from ...core.jit import exact, inline, kernel
from ...core.joints import dofs, floats, free_velocity, node_pair, recover
from ...core.layout import (
    CASE, IS_LEAF, N_NODES, NV, OTHER, PARENT, SUBTREE_MASS, VI, W_ELIM, W_G, W_GRAVITY, W_MOMENT, W_P, W_PHI, W_V,
    add_to3, add_to_pair, get3, get6, get33, get_frame, get_inertia, get_pair, node_row, put3, put33, put_pair,
    speeds_at, work_row,
)
from ...core.number import array_at, get, put, whole
from ...core.single_dofs import begin_motions, complete_leaf, put_single_row
from ...core.spatial import (
    add6, cross_motion, force_to_parent, inertia_times_plus, ldl3_solve, motion_to_child, omega_times, scale6, sub6,
)
from ...core.tangent_sweeps import NODE_COLUMNS, T_PHI, T_V
from ...core.tangents import lanes_begin
from ...core.variations import node_variation
from ...core.vec3 import ZERO3, add, axpy, cross, dot, mul, neg, scale, sub, tmul
from .desk import AT_GRADIENT, G_BODY, G_DOF, sums_wanted
from .parameters import add_by_dofs
from .parameters import add_to3 as add_sums
from .single_adjoint import add_by_inertia, damped, move_node, push_node

# ---- row of a node of several dofs, in the place of that of :mod:`mbkern.core.single_dofs`: v_up, h; for weights: dp,
# and dv without that of its parent ----
S_UP, S_MOMENTUM, S_DP, S_OWN = 0, 6, 12, 18


@exact
def made_ready(block, t, q, p, work):
    """Articulated inertias and the rows of all nodes at a state. The code."""
    evaluate_drives(block, t, work)
    eliminated(block, q, p, work)
    prepare(block, q, work)
    return status(block, work)


@kernel
def prepare(block, q, work):
    """The rows, after a backward sweep of "emh-ldl" at this state."""
    begin_motions(block, work)
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        if whole(block, c + IS_LEAF) > 0:
            complete_leaf(block, i, work)
        if whole(block, c + CASE) < OTHER or dofs(block, c) < 2:
            put_single_row(block, i, q, work)
        else:
            put_several(block, i, work)


@inline
def put_several(block, i, work):
    """Velocity, gravity and row of a node of several dofs."""
    w, row, k = work_row(i), node_variation(block, i), whole(block, node_row(i) + PARENT)
    X, kw = get_frame(work, w + W_G), work_row(k if k >= 0 else whole(block, N_NODES))
    v_up = motion_to_child(X, get_pair(work, kw + W_V))
    recover(block, i, v_up, tail(work, speeds_at(block)), work)
    put3(work, w + W_GRAVITY, mul(X[0], get3(work, kw + W_GRAVITY)))
    put_pair(work, row + S_UP, v_up)
    put_pair(work, row + S_MOMENTUM, inertia_times_plus(get_inertia(work, w + W_P), get_pair(work, w + W_V),
                                                        get_pair(work, w + W_PHI)))


@exact
def pull(desk, address, block, q, p, a, b, gq, gp, work):
    """gq and gp of weights (a, b), springs and dampers included; adds to the gradient of the desk where one is wanted.
    """
    nodes, nv = whole(block, N_NODES), whole(block, NV)
    many, sums = tail(work, lanes_begin(block)), sums_wanted(desk)
    out = array_at(address + 8 * whole(desk, AT_GRADIENT), G_BODY * nodes + G_DOF * nv + 3)
    backward(block, q, p, a, b, many, work)
    forward(block, q, b, sums, gq, gp, out, many, work)
    add_springs(block, b, 1, 1, 1, gq)
    if sums:
        add_by_dofs(block, q, b, gp, G_BODY * nodes, out, work)
        add_sums(out, G_BODY * nodes + G_DOF * nv, neg(get3(many, NODE_COLUMNS * nodes + T_PHI + 6)))


@kernel
def backward(block, q, p, a, b, many, work):
    """phi, sigma and y of all nodes, leaves first."""
    n = whole(block, N_NODES)
    for i in range(n + 1):
        put33(many, NODE_COLUMNS * i + T_PHI, (ZERO3, ZERO3, ZERO3))
    for i in range(n - 1, -1, -1):
        c = node_row(i)
        if whole(block, c + CASE) < OTHER or dofs(block, c) < 2:
            push_node(block, i, q, a, b, many, work)
        else:
            push_several(block, i, p, a, b, many, work)


@inline
def push_several(block, i, p, a, b, many, work):
    """The same of a node of several dofs."""
    c, w, row, k = node_row(i), work_row(i), node_variation(block, i), whole(block, node_row(i) + PARENT)
    vi, own = whole(block, c + VI), NODE_COLUMNS * i
    to = NODE_COLUMNS * (k if k >= 0 else whole(block, N_NODES)) + T_PHI
    x, X, M = node_pair(block, c, b, vi), get_frame(work, w + W_G), get_inertia(work, w + W_P)
    for j in range(vi, vi + dofs(block, c)):
        put(work, row + S_DP + j - vi, damped(block, j, a, b))
    dp = add6(node_pair(block, c, work, row + S_DP), omega_times(x, node_pair(block, c, p, vi)))
    f, t, sigma = get33(many, own + T_PHI)
    d, h, drift = scale6(-1.0, x), get_pair(work, row + S_MOMENTUM), drift_of(row, x, work)
    put_pair(work, row + S_DP, dp)
    if floats(block, c):
        v, _ = free_velocity(M, (f, t), dp)
        put_pair(work, row + S_OWN, v)
        F = dp
    else:
        f, t = inertia_times_plus(M, (drift[0], ZERO3), (f, t))
        y = ldl3_solve(get6(work, w + W_ELIM), sub(dp[1], t))
        put_pair(work, row + S_OWN, (drift[0], y))
        F = add(f, mul(M[1], y)), dp[1]
    m, s = get(block, c + SUBTREE_MASS), get3(work, w + W_MOMENT)
    add_to_pair(many, to, force_to_parent(X, add6(F, omega_times(d, h))))
    add_to3(many, to + 6, tmul(X[0], add(sigma, axpy(m, d[0], cross(d[1], s)))))


@inline
def drift_of(row, x, work):
    """v_up x d of the move d = -x."""
    return cross_motion(x, get_pair(work, row + S_UP))


@kernel
def forward(block, q, b, sums, gq, gp, out, many, work):
    """dv, dg and the results, root first; `sums`: add to the gradient by constants, too."""
    n = whole(block, N_NODES)
    put33(many, NODE_COLUMNS * n + T_V, (ZERO3, ZERO3, ZERO3))
    put(many, NODE_COLUMNS * (n + 1) + n, 0.0)
    for i in range(n):
        c = node_row(i)
        if whole(block, c + CASE) < OTHER or dofs(block, c) < 2:
            move_node(block, i, q, b, sums, gq, gp, out, many, work)
        else:
            move_several(block, i, b, sums, gq, gp, out, many, work)


@inline
def move_several(block, i, b, sums, gq, gp, out, many, work):
    """The same of a node of several dofs."""
    n, c, w, row = whole(block, N_NODES), node_row(i), work_row(i), node_variation(block, i)
    k, vi, own, heights = whole(block, c + PARENT), whole(block, c + VI), NODE_COLUMNS * i, NODE_COLUMNS * (n + 1)
    above, x, X = k if k >= 0 else n, node_pair(block, c, b, vi), get_frame(work, w + W_G)
    u, o, g_k = get33(many, NODE_COLUMNS * above + T_V)
    (u, o), dg_up, g = motion_to_child(X, (u, o)), mul(X[0], g_k), get3(work, w + W_GRAVITY)
    f, t, sigma = get33(many, own + T_PHI)
    drift, (y, z), dp = drift_of(row, x, work), get_pair(work, row + S_OWN), get_pair(work, row + S_DP)
    M, dg = get_inertia(work, w + W_P), add(dg_up, cross(x[1], g))
    if floats(block, c):
        dv, dh = (y, z), dp
    else:
        dv = add(u, y), sub(z, ldl3_solve(get6(work, w + W_ELIM), tmul(M[1], u)))
        dh = inertia_times_plus(M, dv, (f, t))[0], dp[1]
    put33(many, own + T_V, (dv[0], dv[1], dg))
    h, v_up, m, s = get_pair(work, row + S_MOMENTUM), get_pair(work, row + S_UP), get(block, c + SUBTREE_MASS), get3(
        work, w + W_MOMENT)
    dv_up = add6((u, o), drift)
    Z = sub6((scale(m, dg), add(cross(sigma, g), cross(s, dg))), add6(omega_times(dv_up, h), omega_times(v_up, dh)))
    Z0 = sub6((scale(m, g), cross(s, g)), omega_times(v_up, h))
    rates = node_pair(block, c, work, speeds_at(block) + vi)
    put_several_results(block, c, vi, sub6(omega_times(x, Z0), Z), gq)
    put_several_results(block, c, vi, add6(sub6(dv, dv_up), cross_motion(rates, x)), gp)
    if sums:
        height = get(many, heights + above) + dot(g_k, X[1]) - dot(g, x[0])
        put(many, heights + i, height)
        add_by_inertia(i, height, many, out, work)
        change = sub(dh[0], cross(x[1], h[0]))
        place = axpy(m, dg_up, add(cross(change, v_up[1]), cross(h[0], o)))
        add_sums(out, G_BODY * i + 10, neg(tmul(X[0], place)))


@inline
def put_several_results(block, c, vi, x, out):
    """E^T x in `out`."""
    if floats(block, c):
        put_pair(out, vi, x)
    else:
        put3(out, vi, x[1])
