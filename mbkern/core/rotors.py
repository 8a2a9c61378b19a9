"""Rotors: dofs with an inertia r of their own beside that of the bodies ("armature", a geared motor's rotor).

    T = sum of v^T M v / 2 + sum of r u^2 / 2,   p = A^T mu + r u,   Mass = B^T M B + diag(r)
    A^T R = tau - r udot - Omega(u) (r u)         the last term of ball and free nodes only: their speeds are no rates

A rotor has no weight, and its spin does not act on the parent. Elimination of one dof with the unit twist e:

    backward   U = M* e,   D = e^T U + r,   y = (p - e^T phi) / D
               M*_k += C^T (M* - U U^T / D) C        phi_k += C^T (phi + U y)
    forward    rate = y - U^T (C v_k) / D,   mu = M* v + phi

Without a rotor the row and column e of M* - U U^T / D vanish, which the sweeps make use of. With one, they leave

    (r / D) (U e^T + e U^T - (e^T U) e e^T) = e h^T + h e^T,   h = (U - e (e^T U) / 2) r / D

which `carry_rotor` adds for a node with one dof. A ball or free node is eliminated dof by dof, last first,
in a place of the workspace of its own.

Sweeps take long to compile, and most machines have no rotors. So the sweeps do not contain this code: they call `rotor`
by its address, which is in the block of a machine that has some (:mod:`.rotor_calls`).
"""

from .jit import PLAIN, exact, inline, noinline
from .joints import add_projection, dofs, floats, node_pair, put_frame_of, put_momentum_rates, put_node_rates, twist
from .layout import (
    ARMATURE, HAS_ROTORS, N_NODES, NV, ROTOR, ROTOR_CALLS, ROTORS_SIZE, SUBTREE_MASS, VI, W_ELIM, W_G, W_GRAVITY,
    W_MOMENT, W_P, W_PHI, W_R, W_V,
    add_to3, add_to_inertia, add_to_pair, coordinate_row, get3, get6, get_frame, get_inertia, get_pair, margins_at,
    node_row, put3, put_pair, rotors_at, speeds_at, work_row,
)
from .number import fma, get, put, smaller, whole
from .spatial import (
    add6, axpy6, dot6, force_to_parent, inertia_times, inertia_to_parent, motion_to_child, pivot_margin, scale6,
)
from .vec3 import add, axpy, cross, mul, tmul

# the place: M* as 6 x 6, U of each dof, 1/D, y, phi
R_M, R_U, R_D, R_Y, R_PHI = 0, 36, 72, 78, 84
ROTOR_SIZE = 90

# what `rotor` does
CARRY, PLACE_AND_CARRY, ELIMINATE, PLACE_AND_ELIMINATE, SPEEDS, MOVE, RATES, SPIN_FORCES = 0, 1, 2, 3, 4, 5, 6, 7


@inline
def armature(block, j):
    """r of dof j."""
    return get(block, coordinate_row(block, j) + ARMATURE)


@inline
def armature3(block, j):
    return (armature(block, j), armature(block, j + 1), armature(block, j + 2))


@inline
def armature_pair(block, c):
    """r of the dofs of a node that has a quaternion, as a six-vector."""
    vi = whole(block, c + VI)
    if floats(block, c):
        return armature3(block, vi), armature3(block, vi + 3)
    zero = 0.0 * armature(block, vi)
    return (zero, zero, zero), armature3(block, vi)


@inline
def has_rotors(block, c):
    """Whether the node at row c has several dofs, and armature: it is eliminated here, dof by dof."""
    return whole(block, c + ROTOR) != 0 and dofs(block, c) > 1


@inline
def add_rotors(block, x, out):
    """out += r x: momenta of rotors with speeds x, or what accelerations x of them need."""
    if whole(block, HAS_ROTORS) != 0:
        for j in range(whole(block, NV)):
            put(out, j, fma(armature(block, j), get(x, j), get(out, j)))


# ---- forces ----
@inline
def add_rotor_forces(block, out, work):
    """out -= Omega(u) (r u) of ball and free nodes; the joint speeds are in the workspace."""
    if whole(block, ROTORS_SIZE) != 0:
        call_rotor(SPIN_FORCES, block, work, out, out, 0, 0)


@noinline
def subtract_spin(block, out, work):
    for i in range(whole(block, N_NODES)):
        c = node_row(i)
        if has_rotors(block, c):
            (v, w), (r, s) = node_pair(block, c, work, speeds_at(block) + whole(block, c + VI)), armature_pair(block, c)
            force = cross((r[0] * v[0], r[1] * v[1], r[2] * v[2]), w)
            add_projection(block, c, (force, add(euler(r, v), euler(s, w))), out, 0)


@inline
def euler(r, w):
    """-w x (r w), the gyroscopic moment of Euler's equations; exactly zero for three equal r."""
    return ((r[1] - r[2]) * w[1] * w[2], (r[2] - r[0]) * w[2] * w[0], (r[0] - r[1]) * w[0] * w[1])


# ---- the accessor ----
@exact
def rotor(action, block, work, x, y, i, k):
    """Do something for node i, whose parent is k.

    CARRY                 one dof: add to the parent what the sweep has left out
    PLACE_AND_CARRY       the same where the frame is not there yet; x is q
    ELIMINATE             ball, free: eliminate it for momenta (forces) x, and add what is left to the parent, if any
    PLACE_AND_ELIMINATE   the same where the frame is not there yet, and for the first moment too; y is q
    SPEEDS                its speeds (accelerations) and velocity for x
    MOVE                  these for momenta x, and pdot without joint forces in y
    RATES                 qdot in y of its speeds; x is q
    SPIN                  x -= Omega(u) (r u), all nodes
    """
    if action == CARRY:
        carry_rotor(block, i, k, work)
    elif action == PLACE_AND_CARRY:
        put_frame_of(block, i, x, work)
        carry_rotor(block, i, k, work)
    elif action == ELIMINATE or action == PLACE_AND_ELIMINATE:
        if action == PLACE_AND_ELIMINATE:
            put_frame_of(block, i, y, work)
            if k >= 0:
                carry_moment(block, i, k, work)
        eliminate_node(block, i, x, work)
        if k >= 0:
            carry_node(block, i, k, work)
    elif action == SPEEDS:
        node_speeds(block, i, x, work)
    elif action == MOVE:
        move_node(block, i, k, x, y, work)
    elif action == RATES:
        put_node_rates(block, node_row(i), x, work, speeds_at(block), y)
    else:
        subtract_spin(block, x, work)


if PLAIN:

    def call_rotor(action, block, work, x, y, i, k):
        rotor(action, block, work, x, y, i, k)

else:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    from .number import LANES, NUMBERS, dual

    @intrinsic
    def call_rotor(typingctx, action, block, work, x, y, i, k):
        """Call `rotor` for numbers of these arrays' type, by the address in the block; nothing where there is none."""
        place = (ROTOR_CALLS + block.ndim + work.ndim - 2) * (LANES if block.ndim == 2 else 1)

        def compiled_in(action, block, work, x, y, i, k):
            rotor(action, block, work, x, y, i, k)

        def codegen(context, builder, sig, args):
            if NUMBERS[work.ndim] == dual:  # for these there is no address
                return context.compile_internal(builder, compiled_in, sig, args)
            word = ir.IntType(types.intp.bitwidth)
            data = [context.make_array(sig.args[n])(context, builder, args[n]).data for n in (1, 2, 3, 4)]
            address = builder.fptosi(builder.load(builder.gep(data[0], [ir.Constant(word, place)])), word)
            with builder.if_then(builder.icmp_unsigned("!=", address, ir.Constant(word, 0)), likely=False):
                function = builder.inttoptr(address, ir.FunctionType(ir.VoidType(), [word] * 7).as_pointer())
                builder.call(function, [args[0], *(builder.ptrtoint(x, word) for x in data), args[5], args[6]])
            return context.get_dummy_value()
        return types.void(types.intp, block, work, x, y, types.intp, types.intp), codegen


# ---- one dof ----
@noinline
def carry_rotor(block, i, k, work):
    """Add e h^T + h e^T of node i, which has one dof, to its parent k; M*, 1/D and the frame are there."""
    c, w = node_row(i), work_row(i)
    X, e = get_frame(work, w + W_G), twist(block, c, 0)
    U = inertia_times(get_inertia(work, w + W_P), e)
    part = armature(block, whole(block, c + VI)) * get(work, w + W_ELIM)
    h = scale6(part, axpy6(-0.5 * dot6(e, U), e, U))
    add_to_inertia(work, work_row(k) + W_P, symmetric(force_to_parent(X, e), force_to_parent(X, h)))


@inline
def symmetric(a, b):
    """a b^T + b a^T as an inertia (P, Q, R)."""
    (f, t), (g, s) = a, b
    return ((2.0 * f[0] * g[0], fma(f[0], g[1], g[0] * f[1]), fma(f[0], g[2], g[0] * f[2]),
             2.0 * f[1] * g[1], fma(f[1], g[2], g[1] * f[2]), 2.0 * f[2] * g[2]),
            ((fma(f[0], s[0], g[0] * t[0]), fma(f[0], s[1], g[0] * t[1]), fma(f[0], s[2], g[0] * t[2])),
             (fma(f[1], s[0], g[1] * t[0]), fma(f[1], s[1], g[1] * t[1]), fma(f[1], s[2], g[1] * t[2])),
             (fma(f[2], s[0], g[2] * t[0]), fma(f[2], s[1], g[2] * t[1]), fma(f[2], s[2], g[2] * t[2]))),
            (2.0 * t[0] * s[0], fma(t[0], s[1], s[0] * t[1]), fma(t[0], s[2], s[0] * t[2]),
             2.0 * t[1] * s[1], fma(t[1], s[2], s[1] * t[2]), 2.0 * t[2] * s[2]))


# ---- ball and free nodes ----
@noinline
def eliminate_node(block, i, x, work):
    """U, 1/D, y of node i's dofs for momenta (or forces) x, and what is left of M* and phi, in the place."""
    c, w, at = node_row(i), work_row(i), rotors_at(block)
    vi, margin = whole(block, c + VI), margins_at(block) + i
    put_whole(work, at + R_M, get_inertia(work, w + W_P))
    put_pair(work, at + R_PHI, get_pair(work, w + W_PHI))
    n = dofs(block, c)
    for a in range(n - 1, -1, -1):
        axis = 6 - n + a  # of the unit twist
        U = at + R_U + 6 * a
        for b in range(6):
            put(work, U + b, get(work, at + R_M + 6 * axis + b))
        D = get(work, U + axis) + armature(block, vi + a)
        own = pivot_margin(D, get6(work, w + (W_P if axis < 3 else W_R)))
        put(work, margin, own if a == n - 1 else smaller(own, get(work, margin)))
        d = 1.0 / D
        y = (get(x, vi + a) - get(work, at + R_PHI + axis)) * d
        put(work, at + R_D + a, d)
        put(work, at + R_Y + a, y)
        for b in range(6):
            f = get(work, U + b)
            put(work, at + R_PHI + b, fma(y, f, get(work, at + R_PHI + b)))
            f = f * d
            for j in range(b + 1):
                m = fma(-f, get(work, U + j), get(work, at + R_M + 6 * b + j))
                put(work, at + R_M + 6 * b + j, m)
                put(work, at + R_M + 6 * j + b, m)


@inline
def put_whole(a, i, M):
    """An inertia (P, Q, R) as 6 x 6, row by row."""
    P, Q, R = M
    rows = ((P[0], P[1], P[2]), (P[1], P[3], P[4]), (P[2], P[4], P[5]))
    put_pair(a, i, (rows[0], Q[0]))
    put_pair(a, i + 6, (rows[1], Q[1]))
    put_pair(a, i + 12, (rows[2], Q[2]))
    put_pair(a, i + 18, ((Q[0][0], Q[1][0], Q[2][0]), (R[0], R[1], R[2])))
    put_pair(a, i + 24, ((Q[0][1], Q[1][1], Q[2][1]), (R[1], R[3], R[4])))
    put_pair(a, i + 30, ((Q[0][2], Q[1][2], Q[2][2]), (R[2], R[4], R[5])))


@noinline
def carry_node(block, i, k, work):
    """Add what `eliminate_node` has left of M* and phi of node i to its parent k."""
    X, at, kw = get_frame(work, work_row(i) + W_G), rotors_at(block), work_row(k)
    a, b, c = get_pair(work, at + R_M), get_pair(work, at + R_M + 6), get_pair(work, at + R_M + 12)
    r, s, t = get3(work, at + R_M + 21), get3(work, at + R_M + 27), get3(work, at + R_M + 33)
    P, R = (a[0][0], a[0][1], a[0][2], b[0][1], b[0][2], c[0][2]), (r[0], r[1], r[2], s[1], s[2], t[2])
    add_to_inertia(work, kw + W_P, inertia_to_parent(X, (P, (a[1], b[1], c[1]), R)))
    add_to_pair(work, kw + W_PHI, force_to_parent(X, get_pair(work, at + R_PHI)))


@noinline
def carry_moment(block, i, k, work):
    """Add the first moment of node i's subtree to its parent k."""
    (G, rho), s = get_frame(work, work_row(i) + W_G), get3(work, work_row(i) + W_MOMENT)
    add_to3(work, work_row(k) + W_MOMENT, axpy(get(block, node_row(i) + SUBTREE_MASS), rho, tmul(G, s)))


@noinline
def move_node(block, i, k, p, pdot, work):
    """Velocity, gravity, speeds and pdot of node i in the forward sweep of the extended system."""
    c, w = node_row(i), work_row(i)
    kw = work_row(k if k >= 0 else whole(block, N_NODES))
    X = get_frame(work, w + W_G)
    put_pair(work, w + W_V, motion_to_child(X, get_pair(work, kw + W_V)))
    g = mul(X[0], get3(work, kw + W_GRAVITY))
    put3(work, w + W_GRAVITY, g)
    node_speeds(block, i, p, work)
    v, mu = get_pair(work, w + W_V), get_pair(work, rotors_at(block) + R_PHI)
    put_momentum_rates(block, c, v, mu, get3(work, w + W_MOMENT), g, pdot)


@noinline
def node_speeds(block, i, x, work):
    """Speeds of node i, its velocity v in the place of C v_k, and mu in that of phi, for momenta x.

    For forces x and accelerations instead of momenta and speeds the same.
    """
    c, w, v, at = node_row(i), work_row(i), work_row(i) + W_V, rotors_at(block)
    n, speeds = dofs(block, c), speeds_at(block) + whole(block, c + VI)
    eliminate_node(block, i, x, work)
    for a in range(n):
        axis, U = 6 - n + a, at + R_U + 6 * a
        put(work, speeds + a, 0.0)
        for b in range(6):
            put(work, speeds + a, fma(get(work, U + b), get(work, v + b), get(work, speeds + a)))
        rate = fma(-get(work, at + R_D + a), get(work, speeds + a), get(work, at + R_Y + a))
        put(work, speeds + a, rate)
        put(work, v + axis, get(work, v + axis) + rate)
    mu = inertia_times(get_inertia(work, w + W_P), get_pair(work, v))  # p - r rate would lose digits to a large r
    put_pair(work, at + R_PHI, add6(mu, get_pair(work, w + W_PHI)))
