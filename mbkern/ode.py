"""Hamilton's equations as a function of one vector, for solvers of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import lazy
from .errors import StateError
from .inputs import Array
from .model.checks import show

if TYPE_CHECKING:
    from .system import System

_empty = np.empty


class Ode:
    """dy/dt = fun(t, y) with y = (q, p); made by `System.ode`.

    It holds nothing but its system and some memory, so it pickles and may be called from any number of threads.

    Examples
    --------
    >>> import mbkern as mb, numpy as np, pickle
    >>> fun = pickle.loads(pickle.dumps(mb.System(mb.zoo.chain(3)).ode()))
    >>> fun(0.0, np.zeros(6)).shape
    (6,)

    The implicit methods of SciPy take the exact Jacobian:

    >>> from scipy.integrate import solve_ivp
    >>> fun = mb.System(mb.zoo.chain(3)).ode()
    >>> solve_ivp(fun, (0.0, 0.1), np.zeros(6), method="Radau", jac=fun.jac).success
    True
    """

    __slots__ = ("_desks", "_n", "_nq", "_rhs", "system")

    def __init__(self, system: System) -> None:
        self.system = system
        self._rhs, self._nq, self._n = system.rhs, system.model.nq, system.model.nq + system.model.nv
        self._desks: list[Any] = []

    def __call__(self, t: float, y: Array) -> Array:
        dydt, nq = _empty(self._n), self._nq
        try:
            q, p = y[:nq], y[nq:]
        except Exception:  # of any kind: y itself is asked for its parts
            raise StateError(f"y: expected {self._n} numbers, (q, {self.system.variable}), got {show(y)}") from None
        self._rhs(q, p, t, out=(dydt[:nq], dydt[nq:]))
        return dydt

    def jac(self, t: float, y: Array) -> Array:
        """df/dy, (nq + nv, nq + nv), exact: for implicit methods, with ``jac=fun.jac``.

        Parameters
        ----------
        t : float
            Time in seconds.
        y : (nq + nv,)
            The state (q, p).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> mb.System(mb.zoo.chain(3)).ode().jac(0.0, np.zeros(6)).shape
        (6, 6)
        """
        system = self.system
        lazy.module("variational").needs_momenta(system.variable, "jac")
        if type(y) is np.ndarray and y.dtype == np.float64 and y.shape == (self._n,) and y.flags.carray:
            try:
                desk = self._desks.pop()
            except IndexError:
                desk = lazy.module("variational").Desk(system.model, lazy.module("workspace.frame").make_frame(system))
            matrix: Array = desk.jacobian(t, y)
            good = desk.code == 0
            self._desks.append(desk)
            if good:
                return matrix
        return system.jacobian_rhs(y[:self._nq], y[self._nq:], t, chart="coordinates").matrix

    def __reduce__(self) -> tuple[type[Ode], tuple[System]]:
        return Ode, (self.system,)

    def __repr__(self) -> str:
        return f"Ode({self.system!r})"
