"""Whether the ignored coordinates of reduced Volterra are ignorable in this very evaluation.

Their momenta are constant only as long as no force acts along them (Q_I = 0), no constraint contains their speeds
(a_I = 0) and the Lagrangian does not depend on them (dL/dq_I = 0). The first two are numbers of every evaluation and
are looked at in every evaluation. A tree shows the third once and for all; of M and h of the user it is

    dL/dq_I = d/dt (M_I v + N_I) at constant v - h_I

with a difference quotient of M along the motion.

What counts as zero. A force that balances itself may leave a rounding error: a sum of some hundred terms is exact to
ROUNDING = 2^-43, or 500 units in the last place, of the largest of them, and terms of a force are of the size of the
forces that are at work in the machine, Q, h and products p v. A force below ROUNDING times these changes the momentum
less than the rounding of h does in the formulations that integrate it. An element of a constraint is measured by the
largest number of its row. Within a step a quaternion is not quite of length one, and a rotation that a user makes of it
not quite a rotation: of a free joint, 4 | |quaternion|^2 - 1 | of the vector is allowed for that.
"""

from .cabi import call_load
from .checks import OK
from .jit import exact, noinline
from .layout import get3
from .number import get, put, whole
from .quasi_layout import (
    ACTED, ACTED_BY, ACTED_ON, AT_A, AT_E, AT_F, AT_H, AT_IGNORABLE, AT_M, AT_Q, AT_REST, AT_V, CONSTRAINT_ACTS,
    FORCE_ACTS, IGNORABLE, LAGRANGIAN_ACTS, MASS_CALL, NV, OWN_DYNAMICS, I_QUATERNION, R, S, SELF, part,
)
from .quasi_rows import along, momentum_axes
from .vec3 import dot

ROUNDING = 2.0**-43
QUOTIENT_STEP = 2.0**-17  # how far the fastest coordinate goes between the points of the difference quotient
QUOTIENT_ERROR = 1e-6  # of it, relative to the terms; its steps make 1e-10
EPSILON = 2.0**-52


@exact
def largest(x, at, n):
    """The largest of n magnitudes."""
    value = 0.0
    for j in range(at, at + n):
        value = max(value, abs(get(x, j)))
    return value


@exact
def ignored(frame, j, q):
    """Whether speed j is that of an ignored coordinate, or a linear speed of a free joint that has one."""
    found = False
    for k in range(whole(frame, S)):
        first, _, n = momentum_axes(frame, k, q)
        found = found or first <= j < first + n
    return found


@exact
def distortion(frame, k, q):
    """How wrong a rotation by the quaternion of ignored coordinate k may be; 0 where there is none."""
    at = whole(frame, whole(frame, AT_IGNORABLE) + k * IGNORABLE + I_QUATERNION)
    if at < 0:
        return 0.0
    x = get3(q, at + 1)
    return 4.0 * abs(get(q, at) * get(q, at) + dot(x, x) - 1.0)


@exact
def size_of_forces(frame, k, q):
    """What a force along ignored coordinate k is measured by: |Q| + |h| + |p| |v|, p = M_k v, v without ignored speeds.

    A steady motion of the whole machine makes no forces, however fast it is.
    """
    m = whole(frame, NV)
    M, v = part(frame, AT_M, m * m), part(frame, AT_V, m)
    first, _, n = momentum_axes(frame, k, q)
    fastest, momentum = 0.0, 0.0
    for j in range(m):
        if not ignored(frame, j, q):
            fastest = max(fastest, abs(get(v, j)))
            for i in range(first, first + n):
                momentum = max(momentum, abs(get(M, i * m + j) * get(v, j)))
    return largest(part(frame, AT_Q, m), 0, m) + largest(part(frame, AT_H, m), 0, m) + momentum * fastest


@exact
def report(frame, code, k, constraint, value):
    """Leave what acts in the frame."""
    put(frame, ACTED_ON, k)
    put(frame, ACTED_BY, constraint)
    put(frame, ACTED, value)
    return code


@exact
def add_momenta(frame, t, q, factor):
    """Add the momenta at another time and configuration, times a factor, to F[m:]; M of that place stays in E."""
    m, s = whole(frame, NV), whole(frame, S)
    M, v, p = part(frame, AT_E, m * m + m), part(frame, AT_V, m), part(frame, AT_F, m + s)
    call_load(whole(frame, MASS_CALL), t, q, part(frame, AT_REST, m), M, whole(frame, SELF))
    for k in range(s):
        first, _, _ = momentum_axes(frame, k, q)
        x = get(M, m * m + first)
        for j in range(m):
            x += get(M, first * m + j) * get(v, j)
        put(p, m + k, get(p, m + k) + factor * x)


@noinline
def lagrangian_acts(frame, t, q):
    """Whether dL/dq_I of M and h of the user is not zero. Returns a code."""
    m, s = whole(frame, NV), whole(frame, S)
    M, h, v, F = part(frame, AT_M, m * m), part(frame, AT_H, m), part(frame, AT_V, m), part(frame, AT_F, m + s)
    fastest, heaviest = largest(v, 0, m), largest(M, 0, m * m)
    step = QUOTIENT_STEP / max(1.0, fastest)
    for k in range(s):
        put(F, m + k, 0.0)
    for side in range(2):
        e = step if side == 0 else -step
        for j in range(m):
            put(F, j, get(q, j) + e * get(v, j))
        add_momenta(frame, t + e, part(frame, AT_F, m), 0.5 / e)
    size = QUOTIENT_ERROR * (largest(h, 0, m) + heaviest * fastest * fastest)
    size += 64.0 * EPSILON * heaviest * fastest / step
    for k in range(s):
        first, _, _ = momentum_axes(frame, k, q)
        value = get(F, m + k) - get(h, first)
        if abs(value) > size:
            return report(frame, LAGRANGIAN_ACTS, k, -1, value)
    return OK


@noinline
def acts_on_ignored(frame, t, q):
    """Whether something acts along an ignored coordinate; v, M, h, Q and a are there. Returns a code."""
    m, r, s = whole(frame, NV), whole(frame, R), whole(frame, S)
    Q, a = part(frame, AT_Q, m), part(frame, AT_A, r * m)
    for k in range(s):
        first, weights, n = momentum_axes(frame, k, q)
        force = along(Q, first, 1, weights, n)
        wrong = distortion(frame, k, q)
        if force != 0.0 and abs(force) > ROUNDING * size_of_forces(frame, k, q) + wrong * largest(Q, first, n):
            return report(frame, FORCE_ACTS, k, -1, force)
        for i in range(r):
            x = along(a, i * m + first, 1, weights, n)
            if x != 0.0 and abs(x) > ROUNDING * largest(a, i * m, m) + wrong * largest(a, i * m + first, n):
                return report(frame, CONSTRAINT_ACTS, k, i, x)
    return lagrangian_acts(frame, t, q) if whole(frame, OWN_DYNAMICS) != 0 else OK
