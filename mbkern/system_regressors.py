"""Regressors: what is linear in the inertial parameters of the bodies, as a matrix times them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from numpy.typing import ArrayLike

from .system_batches import BatchOptions, Rows

if TYPE_CHECKING:
    from .inputs import Array


class Regressors:
    """The part of `System` that writes what is linear in the inertial parameters as a matrix times them.

    The parameters pi, (10 N,), are mass (kg), first moment m c (kg m) and inertia about the body origin (xx yy zz xy xz
    yz, kg m^2) of every body, in body axes: `mbkern.identification.inertial_parameters(model)`. Springs, dampers and
    rotors are not among them. Options of the batches as in `Batches`.
    """

    if TYPE_CHECKING:
        _runs: Any

        def _run_batch(self, name: str, t: Any, given: tuple[Any, ...], **options: Unpack[BatchOptions]) -> Rows: ...

    def momentum_regressor(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Y, (nv, 10 N), with p = Y pi: momenta of joint speeds, without armature.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u : (nv,)
            Joint speeds.
        t : float
            Time in seconds; matters for driven joints only.
        out : (nv, 10 N), optional
            Float64 array to write into; a new one by default.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, (q, u) = mb.System(model), model.random_state(seed=1)
        >>> pi = mb.identification.inertial_parameters(model)
        >>> bool(np.allclose(system.momentum_regressor(q, u) @ pi, system.momenta(q, u)))
        True
        """
        return self._runs.momentum_regressor(t, out, q, u)

    def momentum_rate_regressor(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """Z, (nv, 10 N), with pdot = Z pi + tau: no accelerations, hence what identification from records uses.

        Parameters as in `momentum_regressor`.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, (q, u) = mb.System(model), model.random_state(seed=1)
        >>> pi, p = mb.identification.inertial_parameters(model), system.momenta(q, u)
        >>> bool(np.allclose(system.momentum_rate_regressor(q, u) @ pi, system.rhs(q, p)[1]))
        True
        """
        return self._runs.momentum_rate_regressor(t, out, q, u)

    def torque_regressor(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, t: float = 0.0, *,
                         out: Array | None = None) -> Array:
        """W, (nv, 10 N), with tau = W pi: the joint forces that a motion needs.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u, udot : (nv,)
            Joint speeds and accelerations.
        t : float
            Time in seconds; matters for driven joints only.
        out : (nv, 10 N), optional
            Float64 array to write into; a new one by default.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, (q, u) = mb.System(model), model.random_state(seed=1)
        >>> pi = mb.identification.inertial_parameters(model)
        >>> bool(np.allclose(system.torque_regressor(q, u, u) @ pi, system.inverse_dynamics(q, u, u)))
        True
        """
        return self._runs.torque_regressor(t, out, q, u, udot)

    def energy_regressor(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """E, (2, 10 N), with (T, Pi) = E pi: kinetic energy, and that of weight, zero at the world's origin.

        Parameters as in `momentum_regressor`; `out` is (2, 10 N).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, (q, u) = mb.System(model), model.random_state(seed=1)
        >>> pi, energy = mb.identification.inertial_parameters(model), system.energy(q, system.momenta(q, u))
        >>> bool(np.allclose(system.energy_regressor(q, u) @ pi, energy[:2]))
        True
        """
        return self._runs.energy_regressor(t, out, q, u)

    def momentum_regressor_batch(self, Q: ArrayLike, U: ArrayLike, t: ArrayLike = 0.0,
                                 **options: Unpack[BatchOptions]) -> Rows:
        """`momentum_regressor` of many states: (B, nv, 10 N) of Q (B, nq) and U (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> mb.System(mb.zoo.chain(3)).momentum_regressor_batch(np.zeros((5, 3)), np.ones((5, 3))).shape
        (5, 3, 30)
        """
        return self._run_batch("momentum_regressor", t, (Q, U), **options)

    def momentum_rate_regressor_batch(self, Q: ArrayLike, U: ArrayLike, t: ArrayLike = 0.0,
                                      **options: Unpack[BatchOptions]) -> Rows:
        """`momentum_rate_regressor` of many states: (B, nv, 10 N) of Q (B, nq) and U (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> mb.System(mb.zoo.chain(3)).momentum_rate_regressor_batch(np.zeros((5, 3)), np.ones((5, 3))).shape
        (5, 3, 30)
        """
        return self._run_batch("momentum_rate_regressor", t, (Q, U), **options)

    def torque_regressor_batch(self, Q: ArrayLike, U: ArrayLike, Udot: ArrayLike, t: ArrayLike = 0.0,
                               **options: Unpack[BatchOptions]) -> Rows:
        """`torque_regressor` of many states: (B, nv, 10 N) of Q (B, nq), U and Udot (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system, U = mb.System(mb.zoo.chain(3)), np.ones((5, 3))
        >>> system.torque_regressor_batch(np.zeros((5, 3)), U, U).shape
        (5, 3, 30)
        """
        return self._run_batch("torque_regressor", t, (Q, U, Udot), **options)

    def energy_regressor_batch(self, Q: ArrayLike, U: ArrayLike, t: ArrayLike = 0.0,
                               **options: Unpack[BatchOptions]) -> Rows:
        """`energy_regressor` of many states: (B, 2, 10 N) of Q (B, nq) and U (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> mb.System(mb.zoo.chain(3)).energy_regressor_batch(np.zeros((5, 3)), np.ones((5, 3))).shape
        (5, 2, 30)
        """
        return self._run_batch("energy_regressor", t, (Q, U), **options)
