"""Joint forces of a state: those a motion needs, those of gravity, those of the bearings."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .inputs import Array
from .system_calls import Calls


class JointForces(Calls):
    """The part of `System` that computes forces in the joints."""

    def inverse_dynamics(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, t: float = 0.0,
                         wrench: ArrayLike | None = None, *, out: Array | None = None) -> Array:
        """Joint forces tau that a motion needs, by the recursive Newton-Euler equations.

        They act beside the model's own springs and dampers and beside `wrench`, so that
        ``accelerations(q, u, t, tau=tau, wrench=wrench)`` gives udot back.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u, udot : (nv,)
            Joint speeds and their time derivatives.
        t : float
            Time in seconds.
        wrench : (N, 6), optional
            (force; moment) on each body, in body axes, at the body origin.
        out : (nv,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        tau : (nv,)
            N and N m.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.random_tree(8, seed=3)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=3)
        >>> udot = np.linspace(-1.0, 1.0, model.nv)
        >>> tau = system.inverse_dynamics(q, u, udot)
        >>> bool(np.allclose(system.accelerations(q, u, tau=tau), udot))
        True
        """
        if wrench is None:
            return self._runs.inverse_dynamics(t, out, q, u, udot)
        return self._run_with("inverse_dynamics", t, out, q=q, u=u, udot=udot, wrench=wrench)

    def bias(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, wrench: ArrayLike | None = None, *,
             out: Array | None = None) -> Array:
        """Joint forces of a motion without joint accelerations: `inverse_dynamics` at udot = 0.

        Centrifugal and Coriolis terms, weight, springs, dampers, prescribed motion: all but the mass matrix times udot,
        tau = H udot + bias.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u : (nv,)
            Joint speeds.
        t : float
            Time in seconds.
        wrench : (N, 6), optional
            (force; moment) on each body, in body axes, at the body origin.
        out : (nv,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        tau : (nv,)
            N and N m.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(4)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=3)
        >>> udot = system.accelerations(q, u)
        >>> bool(np.allclose(system.mass_matrix(q) @ udot + system.bias(q, u), 0.0, atol=1e-12))
        True
        """
        if wrench is None:
            return self._runs.bias(t, out, q, u)
        return self._run_with("bias", t, out, q=q, u=u, wrench=wrench)

    def gravity_forces(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Joint forces that hold the machine against its weight: what gravity compensation has to add.

        The derivative of the potential of weight with respect to the configuration; springs are not part of it. Weight
        itself acts with the opposite sign.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (nv,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        tau : (nv,)
            N and N m.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0.5, 0, 0))
        >>> mb.System(builder.build()).gravity_forces([0.0]).round(6)  # weight turns it about +y
        array([-9.81])
        """
        return self._runs.gravity_forces(t, out, q)

    def reactions(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                  wrench: ArrayLike | None = None, *, out: Array | None = None) -> Array:
        """The wrench that the parent exerts on each body through its joint.

        Along the joint's dofs it is the joint force: A^T R = tau less springs and dampers. Across them it is what
        the bearing has to stand.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`.
        out : (N, 6), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        R : (N, 6)
            (force; moment) about the body origin, in body axes, N and N m.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("table", mass=3.0, inertia=(1, 1, 1))
        >>> _ = builder.add_body("lamp", "table", mb.ball(), mass=1.0, com=(0, 0, 0.2), inertia=(1, 1, 1))
        >>> model = builder.build()
        >>> R = mb.System(model).reactions(model.neutral(), [0.0, 0.0, 0.0])
        >>> R[:, 2].round(6)  # the ground carries both, the table carries the lamp
        array([39.24,  9.81])
        """
        tau, wrench = self._with_constraint_forces(q, p, t, tau, wrench)
        return self._run_with("reactions", t, out, q=q, p=p, tau=tau, wrench=wrench)
