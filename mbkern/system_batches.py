"""What is computed from many states at once: the operations of the table, several states in each SIMD register.

Every row has the very bits that the call for one state gives. A wrong shape raises a StateError; what is wrong with the
numbers of a row makes that row NaN and leaves the others alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import lazy
from .inputs import Array
from .methods import acceleration_named
from .operations import Operation, operation_named
from .signatures import options_by_name

if TYPE_CHECKING:
    from .batch.operations import BatchCall
    from .model.model import Model
    from .model.vary import Varied
    from .workspace.binding import Binding

class BatchOptions(TypedDict, total=False):
    """Options of all batched calls, see `Batches`."""

    threads: int | None
    parameters: Varied | None
    return_status: bool
    out: Any


#: Operations whose kernels would have to know the forces of the constraints
OF_TREES = ("reactions", "body_accelerations", "frame_acceleration", "jacobian_rhs", "jvp", "vjp",
            "derivatives_accelerations", "derivatives_inverse_dynamics")
#: An array, or several: what a batched call returns; with `return_status` the codes of the rows are the last of them
Rows = Any


class Batches:
    """The part of `System` that computes something from many states at once.

    All methods but `rhs_batch`, which has them in its own description, share these options:

    t : float or (B,)
        Time in seconds, one for all states or one for each.
    threads : int, optional
        At most so many threads; all processors by default.
    parameters : Varied, optional
        Masses, inertias and lengths of each state's own machine, from `Model.vary`.
    return_status : bool
        Return the code of each row as well, as the last of a tuple: 0, or why the row has no result, see
        `mbkern.embed.CODES`. Without it, a RuntimeWarning says how many rows have none.
    out : array or tuple of arrays, optional
        Row-major float64 arrays to write into; new ones by default.
    """

    if TYPE_CHECKING:
        model: Model
        binding: Binding
        block: Array

        def frame_numbers(self, frame: str, axes: str = "body") -> Array: ...

        def _chosen(self, method: str) -> str: ...

        def _of_constraints(self) -> None: ...

    def _begin_batches(self) -> None:
        self._batches: dict[str, BatchCall] = {}  # in use

    def _batch(self, key: str, operation: Operation, size: int, varied: Operation | None = None) -> BatchCall:
        try:
            return self._batches[key]
        except KeyError:
            made = lazy.module("batch.operations").BatchCall(self, operation, size, varied)
            return self._batches.setdefault(key, made)

    def _rhs_call(self, key: str) -> BatchCall:
        method = self.binding.method
        size = method.work_size(self.block)
        if key == "rhs":
            return self._batch(key, method.operation_for(self.block), size, method.operation)
        return self._batch(key, method.operation_with_wrenches, size)

    def _run_batch(self, name: str, t: Any, given: tuple[Any, ...], **options: Unpack[BatchOptions]) -> Rows:
        """An operation of the table; optional inputs that are not given are None."""
        key = name if given[-1] is not None else f"{name} without the last input"
        try:
            call = self._batches[key]
        except KeyError:
            table = operation_named(name)
            if self.model.constraints and name in OF_TREES:
                made = lazy.module("batch.closed_operations").ClosedCall(self, table)
                return self._batches.setdefault(key, made).run(t, given, **options)
            names = [argument.name for argument, value in zip(table.inputs, given, strict=True)
                     if value is not None]
            operation = table.made_for(self.block, names)
            call = self._batch(key, operation, max(self.binding.work_size, operation.work_size(self.block)))
        return call.run(t, given[:call.n_inputs], **options)

    @overload
    def rhs_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = ..., tau: ArrayLike | None = ..., *,
                  wrench: ArrayLike | None = ..., threads: int | None = ...,
                  parameters: Varied | None = ..., return_status: Literal[False] = ...,
                  out: tuple[Array, Array] | None = ...) -> tuple[Array, Array]: ...

    @overload
    def rhs_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = ..., tau: ArrayLike | None = ..., *,
                  wrench: ArrayLike | None = ..., threads: int | None = ...,
                  parameters: Varied | None = ..., return_status: Literal[True],
                  out: tuple[Array, Array] | None = ...) -> tuple[Array, Array, NDArray[np.int64]]: ...

    @options_by_name(1)
    def rhs_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0, tau: ArrayLike | None = None, *,
                  threads: int | None = None, parameters: Varied | None = None, return_status: bool = False,
                  wrench: ArrayLike | None = None, out: tuple[Array, Array] | None = None
                  ) -> tuple[Array, Array] | tuple[Array, Array, NDArray[np.int64]]:
        """`rhs` of many states at once: several in each SIMD register, and on all processors.

        Every row has the very bits that `rhs` gives for it alone, however many rows there are, in whichever order and
        on however many threads.

        Parameters
        ----------
        Q : (B, nq)
            Configurations, one row for each state.
        P : (B, nv)
            Momenta.
        t : float or (B,)
            Time in seconds, one for all or one for each.
        tau : (nv,) or (B, nv), optional
            Joint forces in N and N m, the same for all states or a row for each.
        wrench : (N, 6) or (B, N, 6), optional
            (force; moment) on each body, in body axes at the body origin, the same for all states or one for each.
        threads : int, optional
            At most so many threads; all processors by default. The environment variable MBKERN_NUM_THREADS is an upper
            bound.
        parameters : Varied, optional
            Masses, inertias and lengths of each state's own machine, from `Model.vary`.
        return_status : bool
            Return the code of each row as well.
        out : (Qdot, Pdot), optional
            Row-major float64 arrays to write into, of the shapes of Q and P and apart from them; new ones by default.
            To use them again and again saves the time in which the operating system provides new memory.

        Returns
        -------
        Qdot : (B, nq)
        Pdot : (B, nv)
        status : (B,) int array
            With `return_status`: 0, or why the row has no result, see `mbkern.embed.CODES`.

        A wrong shape raises a StateError. What is wrong with the numbers of a row (NaN, a quaternion without length, a
        joint that has nothing to move) makes that row NaN and leaves the others alone; unless `return_status` is given,
        a RuntimeWarning says how many there are, and what is wrong with the first.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(7)
        >>> system = mb.System(model)
        >>> rng = np.random.default_rng(0)
        >>> Q, P = rng.normal(size=(1000, 7)), rng.normal(size=(1000, 7))
        >>> Qdot, Pdot = system.rhs_batch(Q, P)
        >>> bool(np.array_equal(Pdot[123], system.rhs(Q[123], P[123])[1]))
        True
        """
        if wrench is None:
            call = self._batches.get("rhs") or self._rhs_call("rhs")
            return call.run(t, (Q, P, tau), threads, parameters, return_status, out)
        call = self._batches.get("rhs with wrenches") or self._rhs_call("rhs with wrenches")
        return call.run(t, (Q, P, tau, wrench), threads, parameters, return_status, out)

    # ---- accelerations, joint forces ---------------------------------------------------------------------------------

    def accelerations_batch(self, Q: ArrayLike, U: ArrayLike, t: ArrayLike = 0.0, tau: ArrayLike | None = None,
                            wrench: ArrayLike | None = None, method: str = "newton-euler-ldl",
                            **options: Unpack[BatchOptions]) -> Rows:
        """`accelerations` of many states: Udot (B, nv) of Q (B, nq) and U (B, nv). tau and wrench as in `rhs_batch`.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system, Q, U = mb.System(mb.zoo.chain(3)), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> bool(np.array_equal(system.accelerations_batch(Q, U)[2], system.accelerations(Q[2], U[2])))
        True
        """
        chosen = acceleration_named(self._chosen(method), self.model)
        size = chosen.work_size(self.block)
        if wrench is None:
            call = self._batch(chosen.name, chosen.operation, size)
            return call.run(t, (Q, U, tau), **options)
        call = self._batch(chosen.name + " with wrenches", chosen.operation_with_wrenches, size)
        return call.run(t, (Q, U, tau, wrench), **options)

    def inverse_dynamics_batch(self, Q: ArrayLike, U: ArrayLike, Udot: ArrayLike, t: ArrayLike = 0.0, *,
                               wrench: ArrayLike | None = None, **options: Unpack[BatchOptions]) -> Rows:
        """`inverse_dynamics` of many states: tau (B, nv) of Q (B, nq), U and Udot (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.inverse_dynamics_batch(Q, P, P).shape
        (5, 3)
        """
        return self._run_batch("inverse_dynamics", t, (Q, U, Udot, wrench), **options)

    def bias_batch(self, Q: ArrayLike, U: ArrayLike, t: ArrayLike = 0.0, *, wrench: ArrayLike | None = None,
                   **options: Unpack[BatchOptions]) -> Rows:
        """`bias` of many states: tau (B, nv) of Q (B, nq) and U (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.bias_batch(Q, P).shape
        (5, 3)
        """
        return self._run_batch("bias", t, (Q, U, wrench), **options)

    def gravity_forces_batch(self, Q: ArrayLike, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`gravity_forces` of many states: tau (B, nv) of Q (B, nq).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.gravity_forces_batch(Q).shape
        (5, 3)
        """
        return self._run_batch("gravity_forces", t, (Q,), **options)

    def reactions_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0, *, tau: ArrayLike | None = None,
                        wrench: ArrayLike | None = None, **options: Unpack[BatchOptions]) -> Rows:
        """`reactions` of many states: R (B, N, 6) of Q (B, nq) and P (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.reactions_batch(Q, P).shape
        (5, 3, 6)
        """
        return self._run_batch("reactions", t, (Q, P, tau, wrench), **options)

    def constraint_forces_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0, *, tau: ArrayLike | None = None,
                                wrench: ArrayLike | None = None, **options: Unpack[BatchOptions]) -> Rows:
        """`constraint_forces` of many states: multipliers (B, m) of Q (B, nq) and P (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system = mb.System(mb.zoo.four_bar())
        >>> Q = np.tile(system.assemble([0.3, 0.0, 0.0]), (5, 1))
        >>> system.constraint_forces_batch(Q, np.zeros((5, 3))).shape
        (5, 2)
        """
        self._of_constraints()
        return self._run_batch("constraint_multipliers", t, (Q, P, tau, wrench), **options)

    # ---- momenta, speeds, inertia ------------------------------------------------------------------------------------

    def momenta_batch(self, Q: ArrayLike, U: ArrayLike, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`momenta` of many states: P (B, nv) of Q (B, nq) and U (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.momenta_batch(Q, P).shape
        (5, 3)
        """
        return self._run_batch("momenta", t, (Q, U), **options)

    def velocities_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`velocities` of many states: U (B, nv) of Q (B, nq) and P (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.velocities_batch(Q, P).shape
        (5, 3)
        """
        return self._run_batch("velocities", t, (Q, P), **options)

    def mass_matrix_batch(self, Q: ArrayLike, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`mass_matrix` of many states: (B, nv, nv) of Q (B, nq).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.mass_matrix_batch(Q).shape
        (5, 3, 3)
        """
        return self._run_batch("mass_matrix", t, (Q,), **options)

    def inverse_mass_matrix_batch(self, Q: ArrayLike, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`inverse_mass_matrix` of many states: (B, nv, nv) of Q (B, nq).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.inverse_mass_matrix_batch(Q).shape
        (5, 3, 3)
        """
        return self._run_batch("inverse_mass_matrix", t, (Q,), **options)

    def solve_mass_batch(self, Q: ArrayLike, X: ArrayLike, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`solve_mass` of many states: Y (B, nv) of Q (B, nq) and X (B, nv), one right-hand side for each state.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system, Q, X = mb.System(mb.zoo.chain(3)), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> bool(np.array_equal(system.solve_mass_batch(Q, X)[4], system.solve_mass(Q[4], X[4])))
        True
        """
        return self._run_batch("solve_mass", t, (Q, X), **options)

    # ---- energy, momentum, centre of mass ----------------------------------------------------------------------------

    def energy_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`energy` of many states: rows (T, Pi, H) of Q (B, nq) and P (B, nv), in joules.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.energy_batch(Q, P).shape
        (5, 3)
        """
        return self._run_batch("energy", t, (Q, P), **options)

    def center_of_mass_batch(self, Q: ArrayLike, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`center_of_mass` of many states: (B, 3) of Q (B, nq).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.center_of_mass_batch(Q).shape
        (5, 3)
        """
        return self._run_batch("center_of_mass", t, (Q,), **options)

    def total_momentum_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0,
                             **options: Unpack[BatchOptions]) -> Rows:
        """`total_momentum` of many states: (B, 6) of Q (B, nq) and P (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.total_momentum_batch(Q, P).shape
        (5, 6)
        """
        return self._run_batch("total_momentum", t, (Q, P), **options)

    def total_momentum_matrix_batch(self, Q: ArrayLike, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`total_momentum_matrix` of many states: (B, 6, nv) of Q (B, nq).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.total_momentum_matrix_batch(Q).shape
        (5, 6, 3)
        """
        return self._run_batch("total_momentum_matrix", t, (Q,), **options)

    # ---- bodies ------------------------------------------------------------------------------------------------------

    def body_poses_batch(self, Q: ArrayLike, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`body_poses` of many states: R (B, N, 3, 3) and r (B, N, 3) of Q (B, nq).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> R, r = system.body_poses_batch(Q)
        >>> R.shape, r.shape
        ((5, 3, 3, 3), (5, 3, 3))
        """
        return self._run_batch("body_poses", t, (Q,), **options)

    def body_velocities_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0,
                              **options: Unpack[BatchOptions]) -> Rows:
        """`body_velocities` of many states: (B, N, 6) of Q (B, nq) and P (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.body_velocities_batch(Q, P).shape
        (5, 3, 6)
        """
        return self._run_batch("body_velocities", t, (Q, P), **options)

    def body_accelerations_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0, *, tau: ArrayLike | None = None,
                                 wrench: ArrayLike | None = None, **options: Unpack[BatchOptions]) -> Rows:
        """`body_accelerations` of many states: (B, N, 6) of Q (B, nq) and P (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.body_accelerations_batch(Q, P).shape
        (5, 3, 6)
        """
        return self._run_batch("body_accelerations", t, (Q, P, tau, wrench), **options)

    def body_momenta_batch(self, Q: ArrayLike, P: ArrayLike, t: ArrayLike = 0.0,
                           **options: Unpack[BatchOptions]) -> Rows:
        """`body_momenta` of many states: (B, N, 6) of Q (B, nq) and P (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.body_momenta_batch(Q, P).shape
        (5, 3, 6)
        """
        return self._run_batch("body_momenta", t, (Q, P), **options)

    # ---- frames ------------------------------------------------------------------------------------------------------

    def frame_pose_batch(self, Q: ArrayLike, frame: str, t: ArrayLike = 0.0, **options: Unpack[BatchOptions]) -> Rows:
        """`frame_pose` of many states: R (B, 3, 3) and r (B, 3) of Q (B, nq).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> R, r = system.frame_pose_batch(Q, "body2")
        >>> R.shape, r.shape
        ((5, 3, 3), (5, 3))
        """
        return self._run_batch("frame_pose", t, (Q, self.frame_numbers(frame)), **options)

    def frame_velocity_batch(self, Q: ArrayLike, P: ArrayLike, frame: str, t: ArrayLike = 0.0, *, axes: str = "body",
                             **options: Unpack[BatchOptions]) -> Rows:
        """`frame_velocity` of many states: (B, 6) of Q (B, nq) and P (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.frame_velocity_batch(Q, P, "body2").shape
        (5, 6)
        """
        return self._run_batch("frame_velocity", t, (Q, P, self.frame_numbers(frame, axes)), **options)

    def frame_acceleration_batch(self, Q: ArrayLike, P: ArrayLike, frame: str, t: ArrayLike = 0.0, *,
                                 tau: ArrayLike | None = None, wrench: ArrayLike | None = None, axes: str = "body",
                                 **options: Unpack[BatchOptions]) -> Rows:
        """`frame_acceleration` of many states: (B, 6) of Q (B, nq) and P (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.frame_acceleration_batch(Q, P, "body2").shape
        (5, 6)
        """
        return self._run_batch("frame_acceleration", t, (Q, P, tau, wrench, self.frame_numbers(frame, axes)), **options)

    def jacobian_batch(self, Q: ArrayLike, frame: str, t: ArrayLike = 0.0, *, axes: str = "world",
                       **options: Unpack[BatchOptions]) -> Rows:
        """`jacobian` of many states: (B, 6, nv) of Q (B, nq).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.jacobian_batch(Q, "body2").shape
        (5, 6, 3)
        """
        return self._run_batch("jacobian", t, (Q, self.frame_numbers(frame, axes)), **options)

    def jacobian_dot_u_batch(self, Q: ArrayLike, U: ArrayLike, frame: str, t: ArrayLike = 0.0, *, axes: str = "world",
                             **options: Unpack[BatchOptions]) -> Rows:
        """`jacobian_dot_u` of many states: (B, 6) of Q (B, nq) and U (B, nv).

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> model = mb.zoo.chain(3)
        >>> system, Q, P = mb.System(model), np.full((5, 3), 0.3), np.ones((5, 3))
        >>> system.jacobian_dot_u_batch(Q, P, "body2").shape
        (5, 6)
        """
        return self._run_batch("jacobian_dot_u", t, (Q, U, self.frame_numbers(frame, axes)), **options)
