"""The extended Hamiltonian system by L^T D L (Algorithm 2): rhs(q, p) in one backward and one forward sweep.

    M v - S^T mu = 0,   -S v + A qdot = -vr,   A^T mu = p,   pdot = (Adot^T - A^T Omega) mu + A^T F*

Ivanov & Shimanovskiy 2023, EMH; method "emh-ldl". Eliminated coordinate by coordinate: a joint is a sequence of
nodes, each with a constant unit twist e in its own frame, so that A^T M* A needs no n x n factorization and Adot
vanishes. For node i with parent k, frame X_i = (G, rho), C_i its 6x6:

    backward   U = M* e,   D = e^T U + r,   y = (p - e^T phi) / D
               M*_k  += C^T (M* - U U^T / D) C        phi_k += C^T (phi + U y)
    forward    rate = y - U^T (C v_k) / D,   v = C v_k + e rate,   mu = M* v + phi
               pdot = e^T (F* - Omega mu)

    M*   articulated inertia (P, Q, R)        phi   momentum that the subtree has when the frame rests
    e    (0; z) revolute, (z; 0) prismatic, (h z; z) screw of pitch h, the unit 6x3 or 6x6 for ball and free
    F*   weight of the subtree: (m g; s x g), m and s its mass and first moment
    r    inertia of the rotor (armature); what else differs where there is one is in :mod:`.rotors`

This is the hot path, and the only sweep that knows the kinds of nodes (:mod:`.joints`).

A driven node has no p: phi + M* e dx/dt takes the place of phi + U y.

C^T . C is done by turns about single axes (:mod:`.turns`) and shifts. What a node passes on, its *load*, is M*, phi and
the first moment. How it is joined to the parent is decided before anything is loaded, and each way is one straight
piece of code: where branches meet, 30 numbers would go through memory. The last child, which comes first, writes the
parent's sums instead of adding to zeros, and a leaf takes its inertia from the block. Frames lie where they cost
least (:mod:`mbkern.model.frames`): the way to a *chained* child has no turn about z and no offset along y, and the
centre of mass of a leaf is on its x axis. In the frequent cases the inertia goes all its way before the rest is
loaded: fewer numbers live at a time, and half as many of them go through the stack.

To read along: :mod:`mbkern.textbook.emh`.
"""

from .bare import doubt_bare
from .carry import beside_inertia, chain_inertia
from .forces import add_applied_forces, add_joint_forces
from .jit import inline
from .joints import (
    ball_frame, drops_rotor, eliminate_screw, free_frame, free_velocity, put_free_rate, put_momentum_rates, put_pivot,
    put_quaternion_rate, screw_column, screw_pivot,
)
from .layout import (
    ALONG_X, ALONG_Z, BALL, BESIDE, BRANCH, BRANCH_LEAF, CASE, CHAINED, CHAINED_LEAF, DRIVEN_PRISMATIC, DRIVEN_REVOLUTE,
    DRIVEN_SCREW, FREE, GRAVITY, INERTIA, IN_LINE, IS_END, IS_LAST, KIND, MASS, MOMENT, N_NODES, ON_GROUND, OTHER,
    PARENT, PITCH, PLACE_RHO, PRISMATIC, QI, REVOLUTE, ROOT, ROTOR, ROTOR_INERTIA, ROUTE, SCREW, SPIN, SQUARE,
    SUBTREE_MASS, TILT, TURN, VI, W_ELIM, W_G, W_GRAVITY, W_MOMENT, W_P, W_PHI, W_TURN, W_V, add_to3, add_to_inertia,
    add_to_pair, drive_values, get3, get6, get_frame, get_inertia, get_pair, margins_at, node_row, put3, put6,
    put_frame, put_inertia, put_pair, speeds_at, work_row,
)
from .number import fma, get, one_if, put, sincos, whole
from .rotors import MOVE, PLACE_AND_CARRY, PLACE_AND_ELIMINATE, RATES, call_rotor
from .spatial import (
    NO_INERTIA, ZERO6, axpy6, column_az, column_lz, dot6, eliminate_angular, eliminate_az, eliminate_lz,
    force_to_parent, inertia_times_plus, ldl3, ldl3_solve, mass_to_parent, minus_cross, motion_to_child, omega_times,
    pivot_margin, plus_rigid, rigid_inertia, shift_force, shift_inertia, trace,
)
from .turns import turn6_x, turn6_z, turn_inertia_x, turn_inertia_z, turn_x, turn_z, turned2
from .vec3 import add, axpy, cross, mul, neg, sub, tmul


@inline
def own_inertia(block, i):
    """Inertia and first moment of the bodies fixed in the frame of node i."""
    c = node_row(i)
    s = get3(block, c + MOMENT)
    return rigid_inertia(get(block, c + MASS), s, get6(block, c + INERTIA)), s


@inline
def leaf_inertia(block, i):
    """The same of a leaf, whose centre of mass is on its x axis: 7 % of a carousel, 4 % of a binary tree."""
    c = node_row(i)
    s = (get(block, c + MOMENT), 0.0, 0.0)
    return rigid_inertia(get(block, c + MASS), s, get6(block, c + INERTIA)), s


@inline
def begin(block, i, work):
    """The sums of node i before its children add to them: what it has itself."""
    w = work_row(i)
    M, s = own_inertia(block, i)
    put_inertia(work, w + W_P, M)
    put_pair(work, w + W_PHI, ZERO6)
    put3(work, w + W_MOMENT, s)


@inline
def begin_with(block, k, work, M, phi, s):
    """`begin`, and add what a child gives."""
    r, kw = node_row(k), work_row(k)
    own = get3(block, r + MOMENT)
    put_inertia(work, kw + W_P, plus_rigid(M, get(block, r + MASS), own, get6(block, r + INERTIA)))
    put_pair(work, kw + W_PHI, phi)
    put3(work, kw + W_MOMENT, add(s, own))


@inline
def add_to(k, work, M, phi, s):
    """Add what a child gives to the sums of node k."""
    kw = work_row(k)
    add_to_inertia(work, kw + W_P, M)
    add_to_pair(work, kw + W_PHI, phi)
    add_to3(work, kw + W_MOMENT, s)


@inline
def turned(c, s, load):
    """Inertia, phi and first moment in the axes before a turn about z."""
    return (turn_inertia_z(c, s, load[0]), turn6_z(c, s, load[1]), turn_z(c, s, load[2]))


@inline
def tilted(block, c, load):
    """The same for the tilt about x that places node row c."""
    co, si = get(block, c + TILT), get(block, c + TILT + 1)
    return (turn_inertia_x(co, si, load[0]), turn6_x(co, si, load[1]), turn_x(co, si, load[2]))


@inline
def moved(rho, m, load):
    """The same for an offset rho; m is the mass of the subtree."""
    return (shift_inertia(rho, load[0]), shift_force(rho, load[1]), axpy(m, rho, load[2]))


@inline
def chain_rest(block, c, k, work, phi, s):
    """Begin phi and the first moment of the parent with those of a chained child."""
    kw, m, x, z = work_row(k), get(block, c + SUBTREE_MASS), get(block, c + ALONG_X), get(block, c + ALONG_Z)
    co, si = get(block, c + TILT), get(block, c + TILT + 1)
    s = axpy(m, (x, 0.0, 0.0), turn_x(co, si, axpy(m, (0.0, 0.0, z), s)))
    put_pair(work, kw + W_PHI, shift_force((x, 0.0, 0.0), turn6_x(co, si, shift_force((0.0, 0.0, z), phi))))
    put3(work, kw + W_MOMENT, add(s, get3(block, node_row(k) + MOMENT)))


@inline
def join_in_line(block, c, k, work, load):
    """Begin the sums of the parent with the load of its last child, which is in the axes before the turn about z. Saves
    20 % of the executed flops of a chain of sliders, beside `join_beside`."""
    M, phi, s = moved(get3(block, c + PLACE_RHO), get(block, c + SUBTREE_MASS), tilted(block, c, load))
    begin_with(block, k, work, M, phi, s)


@inline
def square_inertia(M):
    """C^T M C for a tilt by a quarter turn: no rounding, where `turn_inertia_x(0.0, 1.0, M)` has a - (a - d) for d. As
    fast as that one."""
    P, Q, R = M
    return ((P[0], -P[2], P[1], P[5], -P[4], P[3]),
            ((Q[0][0], -Q[0][2], Q[0][1]), (-Q[2][0], Q[2][2], -Q[2][1]), (Q[1][0], -Q[1][2], Q[1][1])),
            (R[0], -R[2], R[1], R[5], -R[4], R[3]))


@inline
def join_square(k, work, load):
    """`join_in_line` for a quarter turn without offset, onto a frame that has no bodies of its own: within a joint.
    Saves 11 % of a chain of universal joints, 15 % with three axes."""
    kw = work_row(k)
    put_inertia(work, kw + W_P, square_inertia(load[0]))
    put_pair(work, kw + W_PHI, turn6_x(0.0, 1.0, load[1]))
    put3(work, kw + W_MOMENT, turn_x(0.0, 1.0, load[2]))


@inline
def beside_rest(block, c, k, work, phi, s):
    """Add phi and the first moment to those of the parent, for any place."""
    kw, rho = work_row(k), get3(block, c + PLACE_RHO)
    co, si = get(block, c + TILT), get(block, c + TILT + 1)
    phi, s = turn6_x(co, si, phi), turn_x(co, si, s)
    co, si = get(block, c + SPIN), get(block, c + SPIN + 1)
    add_to_pair(work, kw + W_PHI, shift_force(rho, turn6_z(co, si, phi)))
    add_to3(work, kw + W_MOMENT, axpy(get(block, c + SUBTREE_MASS), rho, turn_z(co, si, s)))


@inline
def join_beside(block, c, k, work, load):
    """Add the load to the sums of the parent, for any place."""
    M = turn_inertia_x(get(block, c + TILT), get(block, c + TILT + 1), load[0])
    M = turn_inertia_z(get(block, c + SPIN), get(block, c + SPIN + 1), M)
    add_to_inertia(work, work_row(k) + W_P, shift_inertia(get3(block, c + PLACE_RHO), M))
    beside_rest(block, c, k, work, load[1], load[2])


@inline
def join_seldom(block, c, k, route, work, load):
    """Join a node of a kind that is seldom met, by whichever way it is joined; none of them is in line."""
    if route == SQUARE:
        join_square(k, work, load)
    elif route != ON_GROUND:
        join_beside(block, c, k, work, load)


@inline
def put_turn(block, c, w, angle, work):
    """Cosine and sine of the turn of a node by `angle` from its place."""
    s, co = sincos(angle)
    cosine, sine = turned2(get(block, c + TURN), get(block, c + TURN + 1), co, s)
    put(work, w + W_TURN, cosine); put(work, w + W_TURN + 1, sine)


@inline
def put_turns(block, q, work):
    """All turns. In a loop of their own, because they do not depend on each other."""
    for i in range(whole(block, N_NODES)):
        c, w = node_row(i), work_row(i)
        kind = whole(block, c + KIND)
        if kind == REVOLUTE or kind == SCREW:
            put_turn(block, c, w, get(q, whole(block, c + QI)), work)
        elif kind == DRIVEN_REVOLUTE or kind == DRIVEN_SCREW:
            put_turn(block, c, w, get(work, drive_values(block, whole(block, c + QI))), work)
        elif kind == PRISMATIC or kind == DRIVEN_PRISMATIC:
            put(work, w + W_TURN, get(block, c + TURN)); put(work, w + W_TURN + 1, get(block, c + TURN + 1))


@inline
def inner_pivot(block, c, w, margin, rotor, p, work):
    """Inertia, 1 / D and y of a revolute node that has children; `rotor` is the inertia of its rotor."""
    M, momentum = get_inertia(work, w + W_P), get(p, whole(block, c + VI)) - get(work, w + W_PHI + 5)
    d, y = put_pivot(block, c, margin, w, M[2][5] + rotor, momentum, trace(M[2]), work)
    return M, d, y


@inline
def turned_rest(w, U, y, phi, s, work):
    """phi and the first moment that a revolute node passes on, in the axes before its turn."""
    co, si = get(work, w + W_TURN), get(work, w + W_TURN + 1)
    return turn6_z(co, si, axpy6(y, U, phi)), turn_z(co, si, s)


@inline
def inner_rest(w, y, work):
    """The same of a node that has children."""
    U = column_az(get_inertia(work, w + W_P))
    return turned_rest(w, U, y, get_pair(work, w + W_PHI), get3(work, w + W_MOMENT), work)


@inline
def revolute(block, i, margin, p, work):
    """Eliminate a revolute node: its load on the parent, in the axes before its turn."""
    c, w = node_row(i), work_row(i)
    M, d, y = inner_pivot(block, c, w, margin, get(block, c + ROTOR_INERTIA), p, work)
    left = turn_inertia_z(get(work, w + W_TURN), get(work, w + W_TURN + 1), eliminate_az(M, column_az(M), d))
    phi, s = inner_rest(w, y, work)
    return (left, phi, s)


@inline
def prismatic(block, i, margin, q, p, work):
    """Eliminate a prismatic node likewise."""
    c, w = node_row(i), work_row(i)
    along = (0.0, 0.0, get(q, whole(block, c + QI)))
    M, phi = get_inertia(work, w + W_P), get_pair(work, w + W_PHI)
    U = column_lz(M)
    d, y = put_pivot(block, c, margin, w, U[0][2] + get(block, c + ROTOR_INERTIA),
                     get(p, whole(block, c + VI)) - phi[0][2], trace(M[0]), work)
    rest = (eliminate_lz(M, U, d), axpy6(y, U, phi), get3(work, w + W_MOMENT))
    load = moved(along, get(block, c + SUBTREE_MASS), rest)
    return turned(get(work, w + W_TURN), get(work, w + W_TURN + 1), load)


@inline
def screw(block, i, margin, q, p, work):
    """Eliminate a screw likewise."""
    c, w = node_row(i), work_row(i)
    along = (0.0, 0.0, get(block, c + PITCH) * get(q, whole(block, c + QI)))
    M, phi = get_inertia(work, w + W_P), get_pair(work, w + W_PHI)
    U, d, y = screw_pivot(block, c, w, margin, M, phi, get(p, whole(block, c + VI)), work)
    rest = (eliminate_screw(M, U, d), axpy6(y, U, phi), get3(work, w + W_MOMENT))
    load = moved(along, get(block, c + SUBTREE_MASS), rest)
    return turned(get(work, w + W_TURN), get(work, w + W_TURN + 1), load)


@inline
def driven(block, i, at, M, U, along, work):
    """A driven node passes on all that it has; U = M e, it has moved by `along`, the values of its drive are `at`."""
    c, w = node_row(i), work_row(i)
    put(work, margins_at(block) + i, get(work, at + 3))
    rest = (M, axpy6(get(work, at + 1), U, get_pair(work, w + W_PHI)), get3(work, w + W_MOMENT))
    load = moved((0.0, 0.0, along), get(block, c + SUBTREE_MASS), rest)
    return turned(get(work, w + W_TURN), get(work, w + W_TURN + 1), load)


@inline
def driven_revolute(block, i, work):
    at, M = drive_values(block, whole(block, node_row(i) + QI)), get_inertia(work, work_row(i) + W_P)
    return driven(block, i, at, M, column_az(M), 0.0, work)


@inline
def driven_prismatic(block, i, work):
    at, M = drive_values(block, whole(block, node_row(i) + QI)), get_inertia(work, work_row(i) + W_P)
    return driven(block, i, at, M, column_lz(M), get(work, at), work)


@inline
def driven_screw(block, i, work):
    c = node_row(i)
    at, M = drive_values(block, whole(block, c + QI)), get_inertia(work, work_row(i) + W_P)
    return driven(block, i, at, M, screw_column(block, c, M), get(block, c + PITCH) * get(work, at), work)


@inline
def ball(block, i, q, p, work):
    """Eliminate a ball joint; its load on the parent is in the parent's axes."""
    c, w = node_row(i), work_row(i)
    X, momentum = ball_frame(block, c, q, whole(block, c + QI)), get3(p, whole(block, c + VI))
    put_frame(work, w + W_G, X)
    M, phi, s = get_inertia(work, w + W_P), get_pair(work, w + W_PHI), get3(work, w + W_MOMENT)
    F, pivot = ldl3(M[2])
    y = ldl3_solve(F, sub(momentum, phi[1]))
    put6(work, w + W_ELIM, F); put3(work, w + W_ELIM + 6, y)
    put(work, margins_at(block) + i, pivot_margin(pivot, M[2]))
    return (mass_to_parent(X, eliminate_angular(M, F)), force_to_parent(X, (add(phi[0], mul(M[1], y)), momentum)),
            axpy(get(block, c + SUBTREE_MASS), X[1], tmul(X[0], s)))


@inline
def free(block, i, q, p, work):
    """Eliminate a free joint: all six dofs, so that no inertia passes, only the momentum."""
    c, w = node_row(i), work_row(i)
    X, momentum = free_frame(block, c, q, whole(block, c + QI)), get_pair(p, whole(block, c + VI))
    put_frame(work, w + W_G, X)
    v, margin = free_velocity(get_inertia(work, w + W_P), get_pair(work, w + W_PHI), momentum)
    put_pair(work, w + W_ELIM, v)
    put(work, margins_at(block) + i, margin)
    s = axpy(get(block, c + SUBTREE_MASS), X[1], tmul(X[0], get3(work, w + W_MOMENT)))
    return (NO_INERTIA, force_to_parent(X, momentum), s)


@inline
def backward(block, q, p, work):
    """M*, phi, first moments and pivots of all nodes, leaves first."""
    put_turns(block, q, work)
    margins = margins_at(block)
    for i in range(whole(block, N_NODES) - 1, -1, -1):
        case = whole(block, node_row(i) + CASE)
        if case < OTHER:
            join_hinge(block, i, case, margins + i, p, work)
        else:
            join_other(block, i, margins + i, q, p, work)
    doubt_bare(block, work)


@inline
def backward_of_hinges(block, q, p, work):
    """`backward` for a tree of hinges."""
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        put_turn(block, c, work_row(i), get(q, whole(block, c + QI)), work)
    margins = margins_at(block)
    for i in range(whole(block, N_NODES) - 1, -1, -1):
        join_hinge(block, i, whole(block, node_row(i) + CASE), margins + i, p, work)


@inline
def backward_of_single_dofs(block, q, p, work):
    """`backward` for a tree whose nodes have one dof each, or none."""
    put_turns(block, q, work)
    margins = margins_at(block)
    for i in range(whole(block, N_NODES) - 1, -1, -1):
        case = whole(block, node_row(i) + CASE)
        if case < OTHER:
            join_hinge(block, i, case, margins + i, p, work)
        else:
            begin_sums(block, i, work)
            join_single(block, i, margins + i, q, p, work)
    doubt_bare(block, work)


@inline
def join_hinge(block, i, case, margin, p, work):
    """Eliminate a hinge and join it to its parent."""
    c, w = node_row(i), work_row(i)
    k = whole(block, c + PARENT)
    if case == CHAINED:
        M, d, y = inner_pivot(block, c, w, margin, 0.0, p, work)
        chain_inertia(block, c, w, k, M, d, work)
        phi, s = inner_rest(w, y, work)
        chain_rest(block, c, k, work, phi, s)
    elif case == CHAINED_LEAF:
        M, s = leaf_inertia(block, i)
        d, y = put_pivot(block, c, margin, w, M[2][5], get(p, whole(block, c + VI)), trace(M[2]), work)
        chain_inertia(block, c, w, k, M, d, work)
        phi, s = turned_rest(w, column_az(M), y, ZERO6, s, work)
        chain_rest(block, c, k, work, phi, s)
    elif case == ROOT:
        if whole(block, c + IS_END) != 0:
            begin(block, i, work)
        inner_pivot(block, c, w, margin, 0.0, p, work)
    else:
        if whole(block, c + IS_LAST) != 0:  # of the children of k it comes first
            begin(block, k, work)
        if case == BRANCH:
            M, d, y = inner_pivot(block, c, w, margin, 0.0, p, work)
            beside_inertia(block, c, w, k, M, d, work)
            phi, s = inner_rest(w, y, work)
            beside_rest(block, c, k, work, phi, s)
        else:
            M, s = leaf_inertia(block, i)
            d, y = put_pivot(block, c, margin, w, M[2][5], get(p, whole(block, c + VI)), trace(M[2]), work)
            beside_inertia(block, c, w, k, M, d, work)
            phi, s = turned_rest(w, column_az(M), y, ZERO6, s, work)
            beside_rest(block, c, k, work, phi, s)


@inline
def join_other(block, i, margin, q, p, work):
    """`join_hinge` for a node of any kind."""
    kind = whole(block, node_row(i) + KIND)
    begin_sums(block, i, work)
    if kind == BALL or kind == FREE:
        join_several(block, i, kind, q, p, work)
    else:
        join_single(block, i, margin, q, p, work)


@inline
def begin_sums(block, i, work):
    """Begin the sums of a node without children, and those of the parent, of whose children it comes first."""
    c = node_row(i)
    if whole(block, c + IS_LAST) != 0:
        begin(block, whole(block, c + PARENT), work)
    if whole(block, c + IS_END) != 0:
        begin(block, i, work)


@inline
def join_several(block, i, kind, q, p, work):
    """`join_other` for a node with several dofs."""
    c = node_row(i)
    k, route = whole(block, c + PARENT), whole(block, c + ROUTE)
    if whole(block, c + ROTOR) != 0:
        call_rotor(PLACE_AND_ELIMINATE, block, work, p, q, i, k)
    elif kind == BALL:
        M, phi, s = ball(block, i, q, p, work)
        if route != ON_GROUND:
            add_to(k, work, M, phi, s)
    else:
        M, phi, s = free(block, i, q, p, work)
        if route != ON_GROUND:
            add_to(k, work, M, phi, s)


@inline
def join_single(block, i, margin, q, p, work):
    """`join_other` for a node with one dof or a prescribed motion."""
    c = node_row(i)
    kind, k, route = whole(block, c + KIND), whole(block, c + PARENT), whole(block, c + ROUTE)
    if kind == REVOLUTE:
        if route == ON_GROUND:
            revolute(block, i, margin, p, work)
        elif route == IN_LINE:
            join_in_line(block, c, k, work, revolute(block, i, margin, p, work))
        elif route == SQUARE:
            join_square(k, work, revolute(block, i, margin, p, work))
        else:
            join_beside(block, c, k, work, revolute(block, i, margin, p, work))
    elif kind == PRISMATIC:
        if route == ON_GROUND:
            prismatic(block, i, margin, q, p, work)
        elif route == IN_LINE:
            join_in_line(block, c, k, work, prismatic(block, i, margin, q, p, work))
        elif route == SQUARE:
            join_square(k, work, prismatic(block, i, margin, q, p, work))
        else:
            join_beside(block, c, k, work, prismatic(block, i, margin, q, p, work))
    elif kind == SCREW:
        join_seldom(block, c, k, route, work, screw(block, i, margin, q, p, work))
    elif kind == DRIVEN_REVOLUTE:
        join_seldom(block, c, k, route, work, driven_revolute(block, i, work))
    elif kind == DRIVEN_PRISMATIC:
        join_seldom(block, c, k, route, work, driven_prismatic(block, i, work))
    else:
        join_seldom(block, c, k, route, work, driven_screw(block, i, work))
    if k >= 0 and drops_rotor(block, c):
        call_rotor(PLACE_AND_CARRY, block, work, q, q, i, k)


@inline
def tilt_and_turn(block, c, w, u, o, g, work):
    """Velocity and gravity behind the tilt and the turn of a node."""
    co, si = get(block, c + TILT), -get(block, c + TILT + 1)
    u, o, g = turn_x(co, si, u), turn_x(co, si, o), turn_x(co, si, g)
    co, si = get(work, w + W_TURN), -get(work, w + W_TURN + 1)
    return turn_z(co, si, u), turn_z(co, si, o), turn_z(co, si, g)


@inline
def carried_by_chain(block, c, w, kw, work):
    """Velocity and gravity of the parent at a chained node that stands still: offset, tilt and turn, offset."""
    (u, o), g, x = get_pair(work, kw + W_V), get3(work, kw + W_GRAVITY), get(block, c + ALONG_X)
    u, o, g = tilt_and_turn(block, c, w, minus_cross(u, (x, 0.0, 0.0), o), o, g, work)
    return minus_cross(u, (0.0, 0.0, get(block, c + ALONG_Z)), o), o, g


@inline
def carried(block, c, w, kw, spins, work):
    """The same for a node of any place: offset, spin if there is one, tilt and turn."""
    return placed(block, c, w, get_pair(work, kw + W_V), get3(work, kw + W_GRAVITY), spins, work)


@inline
def placed(block, c, w, v, g, spins, work):
    """A motion and a vector of the parent at a node that stands still."""
    u, o = v
    u = minus_cross(u, get3(block, c + PLACE_RHO), o)
    if spins:
        co, si = get(block, c + SPIN), -get(block, c + SPIN + 1)
        u, o, g = turn_z(co, si, u), turn_z(co, si, o), turn_z(co, si, g)
    return tilt_and_turn(block, c, w, u, o, g, work)


@inline
def put_motion(work, w, v, g):
    put_pair(work, w + W_V, v)
    put3(work, w + W_GRAVITY, g)


@inline
def revolute_rate(w, U, u, o, work):
    """Rate of a revolute node where (u, o) would be its velocity if it stood still."""
    (fx, fy, fz), (tx, ty, tz) = U
    # U^T (C v_k); the z components are known first, then o, then u: every node waits for the one before. 0.7 % of a
    # chain less than by `dot6`
    along = fma(fy, u[1], fx * u[0]) + fma(ty, o[1], fma(tx, o[0], fma(fz, u[2], tz * o[2])))
    return fma(-get(work, w + W_ELIM), along, get(work, w + W_ELIM + 1))


@inline
def move_revolute(block, c, w, speeds, u, o, g, M, phi, s, qdot, pdot, work):
    """Rates of a revolute node where (u, o) and g would be its velocity and gravity if it stood still; its velocity."""
    vi, rate = whole(block, c + VI), revolute_rate(w, column_az(M), u, o, work)
    v = (u, (o[0], o[1], o[2] + rate))
    put(qdot, whole(block, c + QI), rate); put(work, speeds + vi, rate)
    force = omega_times(v, inertia_times_plus(M, v, phi))
    put(pdot, vi, cross(s, g)[2] - force[1][2])
    return v


@inline
def move_inner(block, c, w, speeds, u, o, g, qdot, pdot, work):
    """Move a revolute node that has children."""
    M, phi, s = get_inertia(work, w + W_P), get_pair(work, w + W_PHI), get3(work, w + W_MOMENT)
    put_motion(work, w, move_revolute(block, c, w, speeds, u, o, g, M, phi, s, qdot, pdot, work), g)


@inline
def move_leaf(block, i, w, speeds, u, o, g, qdot, pdot, work):
    """Move a revolute leaf."""
    M, s = leaf_inertia(block, i)
    move_revolute(block, node_row(i), w, speeds, u, o, g, M, ZERO6, s, qdot, pdot, work)


@inline
def forward(block, q, p, qdot, pdot, work):
    """Velocities, qdot and pdot of all nodes, root first."""
    n, speeds = whole(block, N_NODES), speeds_at(block)
    put_motion(work, work_row(n), ZERO6, get3(block, GRAVITY))
    for i in range(n):
        case = whole(block, node_row(i) + CASE)
        if case < OTHER:
            move_hinge(block, i, case, n, speeds, qdot, pdot, work)
        else:
            move_other(block, i, n, speeds, q, p, qdot, pdot, work)


@inline
def forward_of_hinges(block, qdot, pdot, work):
    """`forward` for a tree of hinges."""
    n, speeds = whole(block, N_NODES), speeds_at(block)
    put_motion(work, work_row(n), ZERO6, get3(block, GRAVITY))
    for i in range(n):
        move_hinge(block, i, whole(block, node_row(i) + CASE), n, speeds, qdot, pdot, work)


@inline
def move_hinge(block, i, case, n, speeds, qdot, pdot, work):
    """Rates of a hinge, and its velocity if it has children; n nodes in all."""
    c, w = node_row(i), work_row(i)
    k = whole(block, c + PARENT)
    kw = work_row(k if k >= 0 else n)
    if case == CHAINED:
        u, o, g = carried_by_chain(block, c, w, kw, work)
        move_inner(block, c, w, speeds, u, o, g, qdot, pdot, work)
    elif case == CHAINED_LEAF:
        u, o, g = carried_by_chain(block, c, w, kw, work)
        move_leaf(block, i, w, speeds, u, o, g, qdot, pdot, work)
    elif case == BRANCH_LEAF:
        u, o, g = carried(block, c, w, kw, True, work)
        move_leaf(block, i, w, speeds, u, o, g, qdot, pdot, work)
    else:
        u, o, g = carried(block, c, w, kw, True, work)
        move_inner(block, c, w, speeds, u, o, g, qdot, pdot, work)


@inline
def move_other(block, i, n, speeds, q, p, qdot, pdot, work):
    """`move_hinge` for a node of any kind."""
    c, w = node_row(i), work_row(i)
    k = whole(block, c + PARENT)
    kw = work_row(k if k >= 0 else n)
    kind, qi, vi = whole(block, c + KIND), whole(block, c + QI), whole(block, c + VI)
    spins = whole(block, c + ROUTE) == BESIDE or whole(block, c + ROUTE) == ON_GROUND
    if kind == REVOLUTE:
        u, o, g = carried(block, c, w, kw, spins, work)
        move_inner(block, c, w, speeds, u, o, g, qdot, pdot, work)
    elif kind == PRISMATIC:
        u, o, g = carried(block, c, w, kw, spins, work)
        u = minus_cross(u, (0.0, 0.0, get(q, qi)), o)
        M, phi = get_inertia(work, w + W_P), get_pair(work, w + W_PHI)
        rate = fma(-get(work, w + W_ELIM), dot6(column_lz(M), (u, o)), get(work, w + W_ELIM + 1))
        v = ((u[0], u[1], u[2] + rate), o)
        put_motion(work, w, v, g)
        put(qdot, qi, rate); put(work, speeds + vi, rate)
        force = omega_times(v, inertia_times_plus(M, v, phi))
        put(pdot, vi, fma(get(block, c + SUBTREE_MASS), g[2], -force[0][2]))
    elif kind == SCREW:
        u, o, g = carried(block, c, w, kw, spins, work)
        h = get(block, c + PITCH)
        u = minus_cross(u, (0.0, 0.0, h * get(q, qi)), o)
        M, phi = get_inertia(work, w + W_P), get_pair(work, w + W_PHI)
        rate = fma(-get(work, w + W_ELIM), dot6(screw_column(block, c, M), (u, o)), get(work, w + W_ELIM + 1))
        v = ((u[0], u[1], fma(h, rate, u[2])), (o[0], o[1], o[2] + rate))
        put_motion(work, w, v, g)
        put(qdot, qi, rate); put(work, speeds + vi, rate)
        put_momentum_rates(block, c, v, inertia_times_plus(M, v, phi), get3(work, w + W_MOMENT), g, pdot)
    elif whole(block, c + ROTOR) != 0:
        call_rotor(MOVE, block, work, p, pdot, i, k)
        call_rotor(RATES, block, work, q, qdot, i, k)
    elif kind == BALL:
        X = get_frame(work, w + W_G)
        u, o = motion_to_child(X, get_pair(work, kw + W_V))
        g = mul(X[0], get3(work, kw + W_GRAVITY))
        M, phi = get_inertia(work, w + W_P), get_pair(work, w + W_PHI)
        F, y = get6(work, w + W_ELIM), get3(work, w + W_ELIM + 6)
        turn = sub(y, ldl3_solve(F, tmul(M[1], u)))
        v = (u, turn)
        put_motion(work, w, v, g)
        mu = (inertia_times_plus(M, v, phi)[0], get3(p, vi))
        rate3 = sub(turn, o)
        put_quaternion_rate(q, qi, rate3, qdot); put3(work, speeds + vi, rate3)
        put3(pdot, vi, sub(cross(get3(work, w + W_MOMENT), g), omega_times(v, mu)[1]))
    elif kind == FREE:
        X = get_frame(work, w + W_G)
        u, o = motion_to_child(X, get_pair(work, kw + W_V))
        g = mul(X[0], get3(work, kw + W_GRAVITY))
        v = get_pair(work, w + W_ELIM)
        put_motion(work, w, v, g)
        force = omega_times(v, get_pair(p, vi))
        rate6 = (sub(v[0], u), sub(v[1], o))
        put_free_rate(q, qi, rate6, qdot); put_pair(work, speeds + vi, rate6)
        put3(pdot, vi, axpy(get(block, c + SUBTREE_MASS), g, neg(force[0])))
        put3(pdot, vi + 3, sub(cross(get3(work, w + W_MOMENT), g), force[1]))
    else:
        slides, at = one_if(kind == DRIVEN_PRISMATIC), drive_values(block, qi)
        x, rate, h = get(work, at), get(work, at + 1), slides + get(block, c + PITCH)
        u, o, g = carried(block, c, w, kw, spins, work)
        u = minus_cross(u, (0.0, 0.0, h * x), o)
        v = ((u[0], u[1], fma(h, rate, u[2])), (o[0], o[1], fma(1.0 - slides, rate, o[2])))
        put_motion(work, w, v, g)


@inline
def sweeps(block, q, p, tau, qdot, pdot, work):
    """qdot and pdot for any number type; the drive values are in the workspace already."""
    backward(block, q, p, work)
    forward(block, q, p, qdot, pdot, work)
    add_joint_forces(block, q, tau, pdot, work)


@inline
def sweeps_of_hinges(block, q, p, tau, qdot, pdot, work):
    """The same for a tree of hinges, the same bits: they are compiled in half the time."""
    backward_of_hinges(block, q, p, work)
    forward_of_hinges(block, qdot, pdot, work)
    add_applied_forces(block, q, tau, pdot, work)
