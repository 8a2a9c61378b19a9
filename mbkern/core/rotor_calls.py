"""`rotor` of :mod:`.rotors` as C functions: for one state, for LANES states of one machine, for LANES machines.

    void f(int64 action, double *block, double *work, double *x, double *y, int64 i, int64 k)

They are compiled when a machine has rotors; their addresses are in the header of its block, in this order.
"""

from numba import types

from .arguments import UNKNOWN
from .jit import c_function
from .number import array_at, lanes_at
from .rotors import rotor

ROTOR_CALL = types.void(*[types.intp] * 7)


@c_function(ROTOR_CALL)
def rotor_of_one(action, block, work, x, y, i, k):
    rotor(action, array_at(block, UNKNOWN), array_at(work, UNKNOWN), array_at(x, UNKNOWN), array_at(y, UNKNOWN), i, k)


@c_function(ROTOR_CALL)
def rotor_of_lanes(action, block, work, x, y, i, k):
    rotor(action, array_at(block, UNKNOWN), lanes_at(work, UNKNOWN), lanes_at(x, UNKNOWN), lanes_at(y, UNKNOWN), i, k)


@c_function(ROTOR_CALL)
def rotor_of_varied(action, block, work, x, y, i, k):
    rotor(action, lanes_at(block, UNKNOWN), lanes_at(work, UNKNOWN), lanes_at(x, UNKNOWN), lanes_at(y, UNKNOWN), i, k)
