"""Parameters of an exported model that are set while a program runs.

    int64 set_parameter(int64 words, int64 bodies, int64 front, int64 i, int64 values)

`front` is the front of a workspace: the block, and behind it the values of all parameters, as numbers of the bodies (m,
com, inertia about the com as xx xy xz yy yz zz) and of the dofs. All others are addresses of tables of numbers:

words   count | for each parameter: KIND, its size, where its values are in `front`, where its pairs begin, how many,
        the smallest value | pairs (place in the block, number of the value)
bodies  count, parameters of bodies | for each body: place of its node row (-1: the ground), of its body row, of its
        values in `front`, G and rho of its frame in that of its node | count of nodes | for each node: place of its
        row, mass, moment and inertia of its other bodies

Numbers that stand in the block as they are (springs, dampers, rotors, gravity) are written there. Those of bodies go
the way of :mod:`mbkern.model.rigid`: c = rho + G^T com, s = m c, J = G^T I G + m (c.c E - c c^T).
"""

from numba import types

from ...core.arguments import UNKNOWN
from ...core.checks import LIMIT, OK
from ...core.jit import c_function, exact
from ...core.layout import (
    BODY_INERTIA,
    BODY_MASS,
    BODY_MOMENT,
    INERTIA,
    MASS,
    MOMENT,
    N_NODES,
    PARENT,
    SUBTREE_MASS,
    get3,
    get6,
    get33,
    node_row,
    put3,
    put6,
)
from ...core.number import array_at, get, put, whole
from ...core.vec3 import add, sadd, scongruence, tmul

BAD_PARAMETER = 36  # see :mod:`mbkern.export.codes`
# kinds of parameters
STANDING, OF_BODY = 0, 1
KIND, SIZE_OF, AT, PAIRS, N_PAIRS, LEAST, ROW = 0, 1, 2, 3, 4, 5, 6
# row of a body, of a node
NODE_PLACE, BODY_PLACE, VALUES, FRAME_G, FRAME_RHO, BODY_WIDTH = 0, 1, 2, 3, 12, 15
NODE_WIDTH = 11
NUMBERS = 10  # of a body


@exact
def good(values, size, least):
    bad = 0
    for k in range(size):
        value = get(values, k)
        bad += not (abs(value) <= LIMIT and value >= least)
    return bad == 0


@exact
def about_origin(m, c, I):
    """First moment and inertia about the origin of a body with its centre of mass at c."""
    x, y, z = c
    J = (m * (y * y + z * z), -m * x * y, -m * x * z, m * (x * x + z * z), -m * y * z, m * (x * x + y * y))
    return (m * x, m * y, m * z), sadd(I, J)


@exact
def put_bodies(bodies, front):
    """All numbers of the block that follow from the values of bodies."""
    n = whole(bodies, 0)
    nodes = 1 + n * BODY_WIDTH
    for k in range(whole(bodies, nodes)):  # what does not change
        row = nodes + 1 + k * NODE_WIDTH
        place = whole(bodies, row)
        for j in range(NUMBERS):
            put(front, place + MASS + j, get(bodies, row + 1 + j))
    for k in range(n):
        row = 1 + k * BODY_WIDTH
        own, at = whole(bodies, row + BODY_PLACE), whole(bodies, row + VALUES)
        m, com, I = get(front, at), get3(front, at + 1), get6(front, at + 4)
        s, J = about_origin(m, com, I)
        put(front, own + BODY_MASS, m)
        put3(front, own + BODY_MOMENT, s)
        put6(front, own + BODY_INERTIA, J)
        G, rho = get33(bodies, row + FRAME_G), get3(bodies, row + FRAME_RHO)
        s, J = about_origin(m, add(rho, tmul(G, com)), scongruence(G, I))
        place = whole(bodies, row + NODE_PLACE)
        put(front, place + MASS, get(front, place + MASS) + m)
        put3(front, place + MOMENT, add(get3(front, place + MOMENT), s))
        put6(front, place + INERTIA, sadd(get6(front, place + INERTIA), J))
    for i in range(whole(front, N_NODES)):
        put(front, node_row(i) + SUBTREE_MASS, get(front, node_row(i) + MASS))
    for i in range(whole(front, N_NODES) - 1, -1, -1):
        parent = whole(front, node_row(i) + PARENT)
        if parent >= 0:
            place = node_row(parent) + SUBTREE_MASS
            put(front, place, get(front, place) + get(front, node_row(i) + SUBTREE_MASS))


@c_function(types.intp(*[types.intp] * 5))
def set_parameter(at_words, at_bodies, at_front, i, at_values):
    words, front = array_at(at_words, UNKNOWN), array_at(at_front, UNKNOWN)
    if i < 0 or i >= whole(words, 0):
        return BAD_PARAMETER
    row, values = 1 + i * ROW, array_at(at_values, UNKNOWN)
    size = whole(words, row + SIZE_OF)
    if not good(values, size, get(words, row + LEAST)):
        return BAD_PARAMETER
    pairs = whole(words, row + PAIRS)
    for k in range(whole(words, row + N_PAIRS)):
        put(front, whole(words, pairs + 2 * k), get(values, whole(words, pairs + 2 * k + 1)))
    if whole(words, row + KIND) == OF_BODY:
        put_bodies(array_at(at_bodies, UNKNOWN), front)
    return OK
