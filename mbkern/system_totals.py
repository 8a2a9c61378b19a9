"""Sums over all bodies of a state: energy, momentum, centre of mass."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .errors import StateError
from .inputs import Array
from .system_calls import Calls, Energy


class Totals(Calls):
    """The part of `System` about the machine as a whole."""

    def energy(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Energy:
        """Kinetic and potential energy and the Hamiltonian, in joules.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        t : float
            Time; prescribed motion contributes to p.
        out : (3,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        Energy
            (kinetic, potential, hamiltonian).

        Examples
        --------
        >>> import mbkern as mb
        >>> model = mb.zoo.pipelayer()
        >>> system = mb.System(model)
        >>> energy = system.energy(model.neutral(), [0.0] * 6)
        >>> energy.kinetic, energy.hamiltonian == energy.potential
        (0.0, True)
        """
        return self._runs.energy(t, out, q, p)

    def center_of_mass(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Centre of mass of all bodies, in the world.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (3,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        r : (3,)
            In metres.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0.5, 0, 0))
        >>> mb.System(builder.build()).center_of_mass([0.0])
        array([0.5, 0. , 0. ])
        """
        if not self.model.total_mass > 0.0:
            raise StateError("center_of_mass: the machine has no mass")
        return self._runs.center_of_mass(t, out, q)

    def total_momentum(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Momentum of the whole machine: linear, and angular about its centre of mass, in world axes.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        t : float
            Time in seconds; matters for driven joints only.
        out : (6,), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        h : (6,)
            (linear; angular), kg m/s and kg m^2/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("stone", joint=mb.free(), mass=2.0, inertia=(1, 1, 1))
        >>> model = builder.build()
        >>> mb.System(model).total_momentum(model.neutral(), [6.0, 0, 0, 0, 0, 0.5])
        array([6. , 0. , 0. , 0. , 0. , 0.5])
        """
        if not self.model.total_mass > 0.0:
            raise StateError("total_momentum: the machine has no mass, hence no centre of mass")
        return self._runs.total_momentum(t, out, q, p)

    def total_momentum_matrix(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """The matrix A of the momentum of the whole machine: h = A u (the centroidal momentum matrix).

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds; matters for driven joints only.
        out : (6, nv), optional
            Float64 array to write into; a new one by default.

        Returns
        -------
        A : (6, nv)
            Rows (linear; angular about the centre of mass), in world axes. Driven joints add to h what is not in A u.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system = mb.System(model)
        >>> q, u = model.random_state(seed=1)
        >>> bool(np.allclose(system.total_momentum_matrix(q) @ u, system.total_momentum(q, system.momenta(q, u))))
        True
        """
        if not self.model.total_mass > 0.0:
            raise StateError("total_momentum_matrix: the machine has no mass, hence no centre of mass")
        return self._runs.total_momentum_matrix(t, out, q)
