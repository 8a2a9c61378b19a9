"""Where the bodies of a state are, and how they move."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .inputs import Array
from .system_calls import Calls


class Bodies(Calls):
    """The part of `System` about single bodies."""

    def body_poses(self, q: ArrayLike, t: float = 0.0, *, out: tuple[Array, Array] | None = None
                   ) -> tuple[Array, Array]:
        """Where the bodies are.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (R, r), optional
            Float64 arrays to write into; new ones by default.

        Returns
        -------
        R : (N, 3, 3)
            Rotations body -> world (columns are the body's axes in the world).
        r : (N, 3)
            Positions of the body origins in the world, in metres.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> R, r = mb.System(model).body_poses(model.neutral())
        >>> [round(float(x), 6) for x in r[model.body_index("boom")]]
        [0.0, 1.5, 2.5]
        """
        return self._runs.body_poses(t, out, q)

    def body_velocities(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Velocities (N, 6) of the bodies: (linear; angular) of the body origin, in body axes.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        t : float
            Time; prescribed motion contributes to p.
        out : (N, 6), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        v : (N, 6)
            m/s and rad/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> mb.System(model).body_velocities(model.neutral(), [0.0, 0.0, 0.0]).shape
        (3, 6)
        """
        return self._runs.body_velocities(t, out, q, p)

    def body_accelerations(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                           wrench: ArrayLike | None = None, *, out: Array | None = None) -> Array:
        """Accelerations (N, 6) of the bodies: (linear; angular) of the body origin, in body axes.

        What an accelerometer at the origin would show, less g: the time derivative of the origin's velocity, taken in
        the world and written in the axes of the body.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`.
        out : (N, 6), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        a : (N, 6)
            m/s^2 and rad/s^2.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("stone", joint=mb.free(), mass=2.0, inertia=(1, 1, 1))
        >>> model = builder.build()
        >>> mb.System(model).body_accelerations(model.neutral(), [0.0] * 6)
        array([[ 0.  ,  0.  , -9.81,  0.  ,  0.  ,  0.  ]])
        """
        tau, wrench = self._with_constraint_forces(q, p, t, tau, wrench)
        return self._run_with("body_accelerations", t, out, q=q, p=p, tau=tau, wrench=wrench)

    def body_momenta(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Accumulated momenta mu (N, 6): of each body and all bodies beyond it, in its axes, at its origin.

        A^T mu of a body's joint is its part of p.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        t : float
            Time; prescribed motion contributes to p.
        out : (N, 6), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        mu : (N, 6)
            kg m/s and kg m^2/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.chain(3)
        >>> mb.System(model).body_momenta(model.neutral(), [0.0, 0.0, 0.0]).shape
        (3, 6)
        """
        return self._runs.body_momenta(t, out, q, p)
