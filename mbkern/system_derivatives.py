"""Regressors, and derivatives of many states at once: operations of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from . import lazy
from .system_batches import BatchOptions, Rows

if TYPE_CHECKING:
    from .derivatives.parameters import ParameterDerivatives
    from .inputs import Array
    from .model.model import Model


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


class DerivativeBatches:
    """The part of `System` that has derivatives of many states, options as in `Batches`, and those by constants."""

    if TYPE_CHECKING:
        model: Model

        def _need_momenta(self, what: str) -> None: ...

        def _run_batch(self, name: str, t: Any, given: tuple[Any, ...], **options: Unpack[BatchOptions]) -> Rows: ...

        def velocities_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0,
                             **options: Unpack[BatchOptions]) -> Rows: ...

    def derivatives_parameters(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                               wrench: ArrayLike | None = None, *,
                               parameters: Mapping[str, str | Sequence[str]] | str | None = None
                               ) -> ParameterDerivatives:
        """Exact derivatives of (u, pdot) by the constants of the machine, at constant q and p.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`; wrenches and joint forces do not follow the constants.
        parameters : mapping or str, optional
            Names of bodies and what of them: "mass", "com", "inertia" (about the centre of mass), "position" (of the
            joint in the parent), "stiffness", "damping", "armature", as in `Model.vary`; the name of a body for all of
            these, "gravity" for gravity. By default all of all bodies.

        Returns
        -------
        ParameterDerivatives
            `.names`, as "boom.com[0]", and `.u`, `.pdot`, (nv, number of names).

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5), damping=0.1)
        >>> by = mb.System(builder.build()).derivatives_parameters(
        ...     [0.0], [1.0], parameters={"bob": ["mass", "damping"]})
        >>> by.names, by.u.round(6) + 0.0, by.pdot.round(6)  # u = p / (m l^2), pdot = -c u
        (('bob.mass', 'bob.damping[0]'), array([[-1.,  0.]]), array([[ 0.1, -2. ]]))
        """
        self._refuse_constraints("derivatives_parameters")  # type: ignore[attr-defined]
        made: ParameterDerivatives = lazy.module("derivatives.parameters").derivatives_parameters(
            self, q, p, t, tau, wrench, parameters)
        return made

    def jacobian_rhs_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0, *, wrench: ArrayLike | None = None,
                           chart: str = "tangent", **options: Unpack[BatchOptions]) -> Rows:
        """`jacobian_rhs` of many states: the matrices (B, 2 nv, 2 nv) of Q (B, nq) and P (B, nv).

        With chart="coordinates" they are (B, nq + nv, nq + nv), and only where there are quaternions they differ.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system, Q, P = mb.System(mb.zoo.chain(3)), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> bool(np.array_equal(system.jacobian_rhs_batch(Q, P)[4], system.jacobian_rhs(Q[4], P[4]).matrix))
        True
        """
        self._need_momenta("jacobian_rhs_batch")
        lazy.module("derivatives.calls").check_chart(chart)
        if chart == "tangent" or not self.model._quaternions.size:
            return self._run_batch("jacobian_rhs", t, (Q, P, wrench), **options)
        out, wanted = options.pop("out", None), options.get("return_status", False)
        options["return_status"] = True
        tangents, status = self._run_batch("jacobian_rhs", t, (Q, P, wrench), **options)
        speeds = self.velocities_batch(Q, P, t, **options)[0]
        matrices = self._in_coordinates(np.asarray(Q, float), speeds, tangents, status, out)
        return (matrices, status) if wanted else matrices

    def _in_coordinates(self, Q: Array, U: Array, tangents: Array, status: Any, out: Array | None) -> Array:
        """Matrices of all states in coordinates; those without a result are NaN."""
        jacobian, model = lazy.module("derivatives.jacobian"), self.model
        n = model.nq + model.nv
        shape = (len(Q), n, n)
        matrices: Array = np.empty(shape) if out is None else lazy.module("inputs").results(out, ["A"], [shape])[0]
        for q, u, tangent, code, matrix in zip(Q, U, tangents, status, matrices, strict=True):
            if code:
                matrix[...] = np.nan
            else:
                jacobian.in_coordinates(model, q, u, jacobian.Jacobian(tangent), matrix)
        return matrices

    def jvp_batch(self, Q: ArrayLike, P: ArrayLike, Dq: ArrayLike, Dp: ArrayLike, t: ArrayLike = 0.0, *,
                  wrench: ArrayLike | None = None, **options: Unpack[BatchOptions]) -> Rows:
        """`jvp` of many states: (dU, dPdot), (B, nv) each, one direction (Dq, Dp) for each state.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system, Q, P = mb.System(mb.zoo.chain(3)), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> dU, dPdot = system.jvp_batch(Q, P, Q, P)
        >>> bool(np.array_equal(dPdot[4], system.jvp(Q[4], P[4], Q[4], P[4])[1]))
        True
        """
        self._need_momenta("jvp_batch")
        return self._run_batch("jvp", t, (Q, P, Dq, Dp, wrench), **options)

    def vjp_batch(self, Q: ArrayLike, P: ArrayLike, U_weights: ArrayLike, Pdot_weights: ArrayLike,
                  t: ArrayLike = 0.0, *, wrench: ArrayLike | None = None, **options: Unpack[BatchOptions]) -> Rows:
        """`vjp` of many states: (Gq, Gp), (B, nv) each, one set of weights for each state.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system, Q, P = mb.System(mb.zoo.chain(3)), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> Gq, Gp = system.vjp_batch(Q, P, Q, P)
        >>> bool(np.array_equal(Gq[4], system.vjp(Q[4], P[4], Q[4], P[4])[0]))
        True
        """
        self._need_momenta("vjp_batch")
        return self._run_batch("vjp", t, (Q, P, U_weights, Pdot_weights, wrench), **options)

    def derivatives_accelerations_batch(self, Q: ArrayLike, U: ArrayLike, t: ArrayLike = 0.0,
                                        tau: ArrayLike | None = None, *, wrench: ArrayLike | None = None,
                                        **options: Unpack[BatchOptions]) -> Rows:
        """`derivatives_accelerations` of many states: (udot_q, udot_u, udot_tau), (B, nv, nv) each.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system, Q, U = mb.System(mb.zoo.chain(3)), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> by_q, by_u, by_tau = system.derivatives_accelerations_batch(Q, U)
        >>> by_q.shape
        (5, 3, 3)
        """
        return self._run_batch("derivatives_accelerations", t, (Q, U, tau, wrench), **options)

    def derivatives_inverse_dynamics_batch(self, Q: ArrayLike, U: ArrayLike, Udot: ArrayLike, t: ArrayLike = 0.0, *,
                                           wrench: ArrayLike | None = None, **options: Unpack[BatchOptions]) -> Rows:
        """`derivatives_inverse_dynamics` of many states: (tau_q, tau_u, tau_udot), (B, nv, nv) each.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system, Q, U = mb.System(mb.zoo.chain(3)), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> by_q, by_u, mass = system.derivatives_inverse_dynamics_batch(Q, U, U)
        >>> mass.shape
        (5, 3, 3)
        """
        return self._run_batch("derivatives_inverse_dynamics", t, (Q, U, Udot, wrench), **options)
