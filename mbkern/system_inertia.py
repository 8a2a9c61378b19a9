"""Momenta and speeds of a state, and the mass matrix between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import inputs
from .errors import StateError
from .inputs import Array
from .system_calls import Calls

_FLOAT64 = np.dtype(np.float64)


class Inertia(Calls):
    """The part of `System` about p = Mass u."""

    def momenta(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Momenta p = A^T mu of the joint speeds u, in O(N).

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u : (nv,)
            Joint speeds (qdot where nq = nv; body-frame (linear, angular) for ball and free joints), m/s and rad/s.
        t : float
            Time; prescribed motion contributes to p.
        out : (nv,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        p : (nv,)

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> p = mb.System(model).momenta(model.neutral(), [0.1, 0, 0, 0, 0, 0])
        >>> round(float(p[0]), 6) == round(0.1 * model.total_mass, 6)  # the whole machine lifts
        True
        """
        return self._runs.momenta(t, out, q, u)

    def velocities(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Joint speeds u of the momenta p, in O(N): the inverse of `momenta`.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        t : float
            Time; prescribed motion contributes to p.
        out : (nv,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        u : (nv,)
            m/s and rad/s.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.random_tree(8, seed=3)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=3)
        >>> bool(np.allclose(system.velocities(q, system.momenta(q, u)), u))
        True
        """
        return self._runs.velocities(t, out, q, p)

    def mass_matrix(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Mass matrix (nv, nv) of the joint speeds at configuration q, by composite inertias.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (nv, nv), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        H : (nv, nv)
            Symmetric; kinetic energy is u^T H u / 2 without driven joints.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> H = mb.System(model).mass_matrix(model.neutral())
        >>> bool(H[0, 0] == model.total_mass)  # the first coordinate lifts everything
        True
        """
        return self._runs.mass_matrix(t, out, q)

    def inverse_mass_matrix(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Inverse of the mass matrix (nv, nv), by a recursion on the O(N) factorization, O(N^2) in all.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (nv, nv), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        W : (nv, nv)
            Symmetric.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(4)
        >>> system = mb.System(model)
        >>> q = model.neutral()
        >>> bool(np.allclose(system.mass_matrix(q) @ system.inverse_mass_matrix(q), np.eye(4)))
        True
        """
        return self._runs.inverse_mass_matrix(t, out, q)

    def solve_mass(self, q: ArrayLike, x: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Mass^-1 x in O(N); x of shape (nv,), or (nv, k) for k right-hand sides with one factorization.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        x : (nv,) or (nv, k)
            Right-hand sides: forces, momenta.
        t : float
            Time in seconds; matters for driven joints only.
        out : array of the shape of x, optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        y : array of the shape of x

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(4)
        >>> system = mb.System(model)
        >>> q = model.neutral()
        >>> x = np.array([1.0, 0.0, 0.0, 0.0])
        >>> bool(np.allclose(system.mass_matrix(q) @ system.solve_mass(q, x), x))
        True
        """
        if _is_vector(x, self._nv) and (out is None or _is_vector(out, self._nv)):
            answer: Array = np.empty(self._nv) if out is None else out
            try:
                self._runs.solve_mass(t, answer[None], q, np.asarray(x)[None])
            except StateError:
                inputs.vector(x, "x", self.model.speed_names)  # says which number of x, if it is x
                raise
            return answer
        given = inputs.columns(x, "x", self._nv)
        if out is not None:
            answer, = inputs.results(out, ["y"], [given.shape])
            answer[...] = self.solve_mass(q, given, t)
            return answer
        if given.ndim == 1:
            return self._runs.solve_mass(t, None, q, given[None, :])[0]
        return self._runs.solve_mass(t, None, q, np.ascontiguousarray(given.T)).T


def _is_vector(x: Any, n: int) -> bool:
    """Whether x is an array of n numbers as compiled code takes it."""
    return type(x) is np.ndarray and x.shape == (n,) and x.dtype == _FLOAT64 and x.flags.carray
