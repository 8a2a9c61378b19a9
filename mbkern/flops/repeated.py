"""A right-hand side again and again inside compiled code, so that a measurement does not see the call from Python.

It is called by its address as the C function that it is for others (:mod:`mbkern.core.cabi`): one loop, compiled once,
serves all models and methods.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from ..core.cabi import call_ode
from ..core.jit import kernel
from ..inputs import Array
from ..system import System

ROUND = 1e-4  # seconds of one call: two microseconds of them are the call itself
TRIED = 20  # evaluations, to see how long one takes


@kernel
def repeat(address, user, y, dydt, times):
    """Evaluate `times` times; `user` is the address of the frame."""
    for _ in range(times):
        call_ode(address, 0.0, y, 0, dydt, 0, user)


class Repeated:
    """A call that evaluates the right-hand side `times` times at one state.

    Attributes
    ----------
    times : int
        Evaluations in a call, so many that it takes about 0.1 ms.
    dydt : (nq + nv,)
        What the last of them gave.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.flops.repeated import Repeated
    >>> system = mb.System(mb.zoo.chain(3))
    >>> call = Repeated(system, *system.model.random_state(seed=1))
    >>> call()
    >>> call.times > 1
    True
    """

    def __init__(self, system: System, q: Array, x: Array) -> None:
        self._function, self._y = system.cfunc, np.concatenate((q, x))
        self._user, self._address = int(self._function.user_data), self._function.address
        self.dydt = np.empty(self._y.size)
        self.times = 1
        self()  # compiles
        self.times = TRIED
        begin = perf_counter()
        self()
        self.times = max(1, int(ROUND * TRIED / (perf_counter() - begin)))

    def __call__(self) -> None:
        repeat(self._address, self._user, self._y, self.dydt, self.times)
