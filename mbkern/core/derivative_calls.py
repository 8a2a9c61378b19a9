"""Derivatives as exported libraries call them.

    code = f(rhs, frame, t, q, p, wrench, ...)

`rhs` is the address of "emh-ldl" for one state (:mod:`.entry`), whose sweep leaves what :mod:`.variations` needs, and
`frame` that of a block with the workspace behind it, from the next cache line on: that of :mod:`.tangents`, qdot and
pdot. The code is one of :mod:`.checks`.
"""

from .arguments import UNKNOWN, data_of, share_memory
from .checks import BAD_SHAPE, NOT_FINITE, OK, beyond
from .entry import call_rhs
from .jacobian_products import jvp, vjp
from .jacobian_rhs import jacobian
from .jit import checked, exact
from .layout import N_BODIES, NQ, NV, SIZE
from .number import LANES, across, array_at, get, magnitude, sum_of, whole
from .tangents import tangents_size

RESULT_LIMIT = 1e300


@exact
def work_of(frame):
    """Address of the workspace of a frame."""
    return (frame + 8 * whole(array_at(frame, UNKNOWN), SIZE) + 63) // 64 * 64


@exact
def swept(rhs, frame, t, q, p):
    """Code of the right-hand side, after which the workspace is as "emh-ldl" has left it."""
    block, work = array_at(frame, UNKNOWN), work_of(frame)
    at = work + 8 * tangents_size(block)
    return call_rhs(rhs, t, data_of(q), data_of(p), 0, at, at + 8 * whole(block, NQ), frame, work)


@exact
def fits(block, q, p, wrench):
    """Whether these have the shapes that the block asks for; an empty wrench is none."""
    return (q.shape[0] == whole(block, NQ) and p.shape[0] == whole(block, NV)
            and (wrench.shape[0] == 0 or wrench.shape[0] == 6 * whole(block, N_BODIES)))


@exact
def too_large(x):
    """Whether any number is beyond `RESULT_LIMIT` or not a number; there is a multiple of LANES of them."""
    rows = x.shape[0] // LANES
    if rows == 0:
        return False
    many = across(x, 0, rows)
    a, b = magnitude(get(many, 0)), magnitude(get(many, rows - 1))
    for k in range(0, rows - 1, 2):  # as a rule their sum is small
        a, b = a + magnitude(get(many, k)), b + magnitude(get(many, k + 1))
    return False if sum_of(a + b) <= RESULT_LIMIT else beyond(x, RESULT_LIMIT)


@checked
def jacobian_rhs(rhs, frame, t, q, p, wrench, out):
    """d(u, pdot)/d(q, p), 2 nv x 2 nv; BAD_SHAPE also when it would be written over what is to be read."""
    block = array_at(frame, UNKNOWN)
    nv = whole(block, NV)
    if not fits(block, q, p, wrench) or out.shape[0] != 2 * nv or out.shape[1] != 2 * nv:
        return BAD_SHAPE
    if share_memory(3, (q, p, wrench, out)):
        return BAD_SHAPE
    code = swept(rhs, frame, t, q, p)
    if code == OK:
        A = array_at(data_of(out), out.size)
        jacobian(block, q, wrench, A, array_at(work_of(frame), UNKNOWN))
        code = NOT_FINITE if too_large(A) else OK
    return code


@checked
def product(rhs, frame, t, q, p, wrench, transposed, x, out):
    """The matrix of `jacobian_rhs`, or its transpose, times the columns of x, (2 nv, k)."""
    block = array_at(frame, UNKNOWN)
    nv, columns = whole(block, NV), x.shape[1]
    if not fits(block, q, p, wrench) or x.shape[0] != 2 * nv or out.shape[0] != 2 * nv or out.shape[1] != columns:
        return BAD_SHAPE
    code = swept(rhs, frame, t, q, p)
    if code == OK:
        half = nv * columns
        first, second = array_at(data_of(x), half), array_at(data_of(x) + 8 * half, half)
        above, below = array_at(data_of(out), half), array_at(data_of(out) + 8 * half, half)
        if transposed:
            vjp(block, q, wrench, first, second, columns, above, below, array_at(work_of(frame), UNKNOWN))
        else:
            jvp(block, q, wrench, first, second, columns, above, below, array_at(work_of(frame), UNKNOWN))
        code = NOT_FINITE if beyond(array_at(data_of(out), out.size), RESULT_LIMIT) else OK
    return code
