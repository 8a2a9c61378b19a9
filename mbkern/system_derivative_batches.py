"""Derivatives of many states at once: operations of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from . import lazy
from .system_batches import BatchOptions, Rows

if TYPE_CHECKING:
    from .inputs import Array
    from .model.model import Model


class DerivativeBatches:
    """The part of `System` that has derivatives of many states; options as in `Batches`."""

    if TYPE_CHECKING:
        model: Model

        def _need_momenta(self, what: str) -> None: ...

        def _run_batch(self, name: str, t: Any, given: tuple[Any, ...], **options: Unpack[BatchOptions]) -> Rows: ...

        def velocities_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0,
                             **options: Unpack[BatchOptions]) -> Rows: ...

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
        if chart == "tangent" or not self.model.quaternion_offsets.size:
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
