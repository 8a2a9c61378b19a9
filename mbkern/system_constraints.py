"""What a `System` knows about the constraints of its model: rows, forces, closing loops, mobility, impacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import inputs, lazy, plain
from .core.constraint_constants import CLOSED
from .errors import ModelError, StateError
from .inputs import Array
from .model.checks import near, number, several, show
from .system_operations import Operations

ASSEMBLED = 1e-12  # residual at which an assembly ends, times the size of what is assembled
OPENED = 1e-3  # what opens loops a little, rad or m
RANK = 1e-9  # singular values of the scaled rows below this part of the largest are zero

_joints = plain.load("joints")


class Mobility(NamedTuple):
    """How a machine can move in one configuration.

    Attributes
    ----------
    freedoms : int
        Independent velocities: dofs of the tree less the rank of the constraints.
    rank : int
        Independent rows.
    redundant : tuple of str
        Names of rows that follow from those before them.
    """

    freedoms: int
    rank: int
    redundant: tuple[str, ...]


class Constrained(Operations):
    """The part of `System` for models with constraints."""

    if TYPE_CHECKING:
        def accelerations(self, q: ArrayLike, u: ArrayLike, t: float = ..., tau: ArrayLike | None = ...,
                          wrench: ArrayLike | None = ...) -> Array: ...

    def _of_constraints(self) -> None:
        if not self.model.constraints:
            raise ModelError("this model has no constraints; add them with ModelBuilder.add_loop, add_gear, add_blade, "
                             "add_rolling, add_constraint")

    # ---- rows ------------------------------------------------------------------------------------------------------

    def constraint_residuals(self, q: ArrayLike, t: float = 0.0, *, out: Array | None = None) -> Array:
        """How far the constraints are from being satisfied: g(q, t) of each row, 0 where all fits.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        t : float
            Time in seconds.
        out : (m,), optional
            Float64 array to write into.

        Returns
        -------
        g : (m,)
            In the order of `Model.row_names`: m for lengths, cosines for angles between axes, the unit of the
            coordinate for gears; 0 for rows that restrict velocities alone (blades, slip).

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> system.constraint_residuals(system.assemble([0.3, 0.0, 0.0])).round(9) + 0.0
        array([0., 0.])
        """
        self._of_constraints()
        return self._runs.constraint_residuals(t, out, q)

    def constraint_matrix(self, q: ArrayLike, t: float = 0.0, *, out: tuple[Array, Array] | None = None
                          ) -> tuple[Array, Array]:
        """The rows of the constraints: a (m, nv) and b (m,) of a u + b = 0.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> a, b = system.constraint_matrix([0.0, 0.0, 0.0])
        >>> a.shape, b.shape
        ((2, 3), (2,))
        """
        self._of_constraints()
        return self._runs.constraint_matrix(t, out, q)

    def constraint_matrix_rate(self, q: ArrayLike, u: ArrayLike, t: float = 0.0, *,
                               out: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """Total time derivatives of the rows, da/dt (m, nv) and db/dt (m,), for joint speeds u.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> adot, bdot = system.constraint_matrix_rate([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
        >>> adot.shape
        (2, 3)
        """
        self._of_constraints()
        return self._runs.constraint_matrix_rate(t, out, q, u)

    # ---- forces ----------------------------------------------------------------------------------------------------

    def constraint_forces(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                          wrench: ArrayLike | None = None, *, out: Array | None = None) -> Array:
        """Multipliers lambda of the rows: the constraints act in the joints as a^T lambda.

        Where rows are redundant lambda is one of many; its part of a^T lambda is not. `constraint_wrenches` gives
        forces on the bodies.

        Parameters
        ----------
        q, p, t, tau, wrench
            As in `rhs`.
        out : (m,), optional
            Float64 array to write into.

        Returns
        -------
        multipliers : (m,)
            N for rows of lengths, N m for rows of directions.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> q = system.assemble([0.3, 0.0, 0.0])
        >>> system.constraint_forces(q, [0.0, 0.0, 0.0]).shape
        (2,)
        """
        self._of_constraints()
        result: Array = self._run_with("constraint_multipliers", t, out, q=q, p=p, tau=tau, wrench=wrench)
        return result

    def constraint_wrenches(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, tau: ArrayLike | None = None,
                            wrench: ArrayLike | None = None) -> tuple[Array, Array]:
        """What the constraints do: (force; moment) on each body (N, 6), body axes, body origin; joint forces (nv,) of
        gears.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> wrenches, gears = system.constraint_wrenches(system.assemble([0.3, 0.0, 0.0]), [0.0, 0.0, 0.0])
        >>> wrenches.shape
        (3, 6)
        """
        self._of_constraints()
        pair: tuple[Array, Array] = self._run_with("constraint_wrenches", t, None, q=q, p=p, tau=tau, wrench=wrench)
        return pair

    def _with_constraint_forces(self, q: ArrayLike, p: ArrayLike, t: float, tau: ArrayLike | None,
                                wrench: ArrayLike | None) -> tuple[Any, Any]:
        """Loads of the tree that moves as the machine with constraints does."""
        if not self.model.constraints:
            return tau, wrench
        wrenches, gears = self.constraint_wrenches(q, p, t, tau, wrench)
        if wrench is not None:
            wrenches += inputs.wrenches(wrench, self.model)
        if tau is not None:
            gears += inputs.vector(tau, "tau", self.model.speed_names)
        return gears, wrenches

    def actuation(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, actuated: Sequence[str], t: float = 0.0,
                  wrench: ArrayLike | None = None) -> Array:
        """Inverse dynamics with constraints: the joint forces of some coordinates that give a motion.

        Parameters
        ----------
        q, u, udot
            A motion that satisfies the constraints.
        actuated : names of speeds
            Where forces may act, see `Model.speed_names`. Of several solutions the one with the least squares is given.
        t, wrench
            As in `rhs`.

        Returns
        -------
        tau : (nv,)
            N and N m, zero where nothing acts.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system = mb.System(mb.zoo.four_bar())
        >>> q = system.assemble([0.3, 0.0, 0.0])
        >>> still = np.zeros(3)
        >>> tau = system.actuation(q, still, still, ["crank"])
        >>> np.abs(system.accelerations(q, still, tau=tau)).max() < 1e-9
        np.True_
        """
        self._of_constraints()
        needed = self.inverse_dynamics(q, u, udot, t, wrench)
        self._check_motion(q, u, udot, t)
        actuated = several(actuated, "actuated", StateError)
        places = [self.model.speed_index(name) for name in actuated]
        a, _ = self.constraint_matrix(q, t)
        directions = np.hstack([np.eye(self._nv)[:, places], a.T])
        solution = np.linalg.lstsq(directions, needed, rcond=RANK)[0]
        left = np.abs(directions @ solution - needed).max()
        if left > 1e-6 * max(1.0, float(np.abs(needed).max())):
            raise StateError(f"actuated: forces at {', '.join(map(repr, actuated))} cannot give this motion: "
                             f"{left:.3g} N or N m are missing; actuate more coordinates, as many as "
                             "`mobility(q).freedoms`")
        tau = np.zeros(self._nv)
        tau[places] = solution[:len(places)]
        return tau

    # ---- mobility and assembly -------------------------------------------------------------------------------------

    def mobility(self, q: ArrayLike, t: float = 0.0) -> Mobility:
        """How the machine can move in a configuration: freedoms, rank of the constraints, redundant rows by name.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> system.mobility(system.assemble([0.3, 0.0, 0.0]))
        Mobility(freedoms=1, rank=2, redundant=())
        """
        a, _ = self.constraint_matrix(q, t)
        sizes = np.linalg.norm(a, axis=1)
        largest = sizes.max(initial=0.0)
        names, redundant, basis = self.model.row_names, [], np.empty((0, self._nv))
        for k, row in enumerate(a):
            left = row / sizes[k] if sizes[k] > RANK * largest else np.zeros(self._nv)
            for _ in range(2):  # the second time takes what rounding has left
                left = left - basis.T @ (basis @ left)
            size = np.linalg.norm(left)
            if size <= np.sqrt(RANK):
                redundant.append(names[k])
            else:
                basis = np.vstack([basis, left / size])
        return Mobility(self._nv - len(basis), len(basis), tuple(redundant))

    @lazy.cached_property
    def locks_when_open(self) -> bool:
        """Whether rows depend on each other on closed loops alone: where these are open, the machine is locked.

        So it is with Bricard's linkage and its kind, which move by virtue of special lengths. Integrators then close
        the loops in each of their stages; `rhs` and what is made of it elsewhere need closed loops.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.System(mb.zoo.bricard()).locks_when_open, mb.System(mb.zoo.four_bar()).locks_when_open
        (True, False)
        """
        if not self.model.constraints:
            return False
        q = self.some_closed_pose
        opened = self._moved(q, OPENED * np.random.default_rng(6).normal(size=self._nv))
        return self._independent_rows(opened, OPENED**2) > self._independent_rows(q, OPENED**2)

    @lazy.cached_property
    def some_closed_pose(self) -> Array:
        """A configuration that closes all loops, where rows do not depend on each other by chance if that can be;
        `neutral()` where none is found.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> bool(abs(system.constraint_residuals(system.some_closed_pose)).max() < 1e-9)
        True
        """
        rng, neutral = np.random.default_rng(5), self.model.neutral()
        for size in (0.3, 0.1, 0.0):
            try:
                return self.assemble(self._moved(neutral, size * rng.normal(size=self._nv)))
            except StateError:
                continue
        return neutral

    def _independent_rows(self, q: Array, least: float) -> int:
        """Rank of the rows of positions: singular values above this part of the largest."""
        of_positions = [constraint.holonomic for constraint in self.model.constraints for _ in range(constraint.rows)]
        a = self.constraint_matrix(q)[0][of_positions]
        sizes = np.linalg.norm(a, axis=1, keepdims=True)
        return int(np.linalg.matrix_rank(a / np.where(sizes > 0.0, sizes, 1.0), tol=least)) if a.size else 0

    def assemble(self, q_guess: ArrayLike, hold: Sequence[str] = (), t: float = 0.0, *, tolerance: float = ASSEMBLED,
                 most: int = 200) -> Array:
        """A configuration near a guess that closes all loops and satisfies all gears.

        Parameters
        ----------
        q_guess : (nq,)
            Where to begin.
        hold : names of coordinates
            These keep their values.
        t : float
            Time in seconds.
        tolerance : float
            Largest residual, times the larger of 1 and the size of the rows.
        most : int
            Steps of Newton at most.

        Returns
        -------
        q : (nq,)

        Raises
        ------
        StateError
            When there is none: with the residuals by constraint.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> q = system.assemble([0.5, 0.0, 0.0], hold=["crank"])
        >>> float(q[0])
        0.5
        """
        self._of_constraints()
        model = self.model
        options = lazy.module("integrate.options")
        tolerance, most = options.positive(tolerance, "tolerance"), options.count(most, "most")
        q, t = inputs.configuration(q_guess, model, "q_guess").copy(), inputs.time(t)
        held = self._held(hold)
        free = np.setdiff1d(np.arange(self._nv), held)
        q = self._unit(q)
        g = self.constraint_residuals(q, t)
        for _ in range(most):
            a, _ = self.constraint_matrix(q, t)
            step = np.zeros(self._nv)
            step[free] = np.linalg.lstsq(a[:, free], -g, rcond=RANK)[0]
            size = np.abs(step).max(initial=0.0)
            if size > 0.5:  # a guess far away: small turns first
                step *= 0.5 / size
            moved, shorter = self._moved(q, step), 1.0
            residual = self.constraint_residuals(moved, t)
            while np.linalg.norm(residual) > np.linalg.norm(g) and shorter > 1e-4:
                shorter *= 0.5
                moved = self._moved(q, shorter * step)
                residual = self.constraint_residuals(moved, t)
            done = np.abs(residual).max(initial=0.0) >= np.abs(g).max(initial=0.0)
            if not done or np.abs(residual).max(initial=0.0) <= tolerance:
                q, g = moved, residual
            if done or np.abs(g).max(initial=0.0) == 0.0:
                break
        if np.abs(g).max(initial=0.0) > max(tolerance, 1e3 * ASSEMBLED):
            raise StateError(f"assemble: no configuration near this guess closes all loops; what is left: "
                             f"{self._by_constraint(g)}. Begin elsewhere, hold less, or look at the lengths")
        return q

    def consistent(self, q: ArrayLike, u: ArrayLike, t: float = 0.0) -> tuple[Array, Array]:
        """The nearest state that satisfies the constraints: configuration by `assemble`, speeds nearest in kinetic
        energy.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u : (nv,)
            Joint speeds.
        t : float
            Time in seconds.

        Returns
        -------
        q : (nq,)
        u : (nv,)

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system = mb.System(mb.zoo.four_bar())
        >>> q, u = system.consistent([0.3, 0.0, 0.0], [1.0, 0.0, 0.0])
        >>> a, b = system.constraint_matrix(q)
        >>> bool(np.abs(a @ u + b).max() < 1e-12)
        True
        """
        self._of_constraints()
        closed = self.assemble(q, t=t)
        p = self.momenta(closed, u, t)
        return closed, self.velocities(closed, self._runs.true_momenta(t, None, closed, p), t)

    def impact(self, q: ArrayLike, p: ArrayLike, t: float = 0.0, restitution: float = 0.0) -> Array:
        """Momenta after constraints have closed at once: the jump of p when velocities do not satisfy them.

        Parameters
        ----------
        q : (nq,)
            Configuration at the impact.
        p : (nv,)
            Momenta before it.
        t : float
            Time in seconds.
        restitution : float
            Part of the violating velocity that comes back with the other sign: 0 is plastic, 1 loses no energy.

        Returns
        -------
        p : (nv,)
            Momenta after it.

        Examples
        --------
        A bar that falls onto a pin: its energy after a plastic impact is less.

        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.four_bar())
        >>> q = system.assemble([0.3, 0.0, 0.0])
        >>> p = system.impact(q, [1.0, 0.0, 0.0])
        >>> system.energy(q, p).kinetic < system.energy(q, [1.0, 0.0, 0.0]).kinetic
        True
        """
        self._of_constraints()
        e = number(restitution, "restitution", StateError)
        if not 0.0 <= e <= 1.0:
            raise StateError(f"restitution: expected a number from 0 to 1, got {e}")
        before = inputs.vector(p, "p", self.model.speed_names)
        after: Array = self._runs.true_momenta(t, None, q, before)
        return after + e * (after - before)

    # ---- inside ----------------------------------------------------------------------------------------------------

    def check_consistent(self, q: Array, p: Array, t: float, names: tuple[str, str] = ("q0", "p0")) -> None:
        """Refuse a state that does not satisfy the constraints; the nearest that does is in the message.

        Examples
        --------
        >>> import mbkern as mb, numpy as np
        >>> system = mb.System(mb.zoo.four_bar())
        >>> q = system.assemble(system.model.neutral())
        >>> system.check_consistent(q, np.zeros(system.model.nv), 0.0)
        """
        g = self.constraint_residuals(q, t)
        if np.abs(g).max() > CLOSED:
            raise StateError(f"{names[0]}: the constraints are not satisfied: {self._by_constraint(g)}; "
                             f"system.assemble({names[0]}) gives {self._nearest(q, t)}")
        a, b = self.constraint_matrix(q, t)
        rates = a @ self.velocities(q, p, t) + b
        scale = 1.0 + np.abs(a).max() * np.abs(self.velocities(q, p, t)).max(initial=0.0)
        if np.abs(rates).max() > CLOSED * scale:
            true = self._runs.true_momenta(t, None, q, p)
            raise StateError(f"{names[1]}: velocities do not satisfy the constraints: {self._by_constraint(rates)}; "
                             f"the nearest momenta that do (system.impact({names[0]}, {names[1]})) are {show(true)}")

    def _check_motion(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, t: float) -> None:
        """Refuse speeds and accelerations that do not satisfy the constraints; the nearest ones are in the message."""
        speeds, changes = np.array(u, float), np.array(udot, float)
        (a, b), (adot, bdot) = self.constraint_matrix(q, t), self.constraint_matrix_rate(q, u, t)
        g, largest = self.constraint_residuals(q, t), np.abs(a).max(initial=0.0)
        if np.abs(g).max() > CLOSED:
            raise StateError(f"q: the constraints are not satisfied: {self._by_constraint(g)}; "
                             "system.assemble(q) closes loops")
        rates = a @ speeds + b
        if np.abs(rates).max() > CLOSED * (1.0 + largest * np.abs(speeds).max(initial=0.0)):
            raise StateError(f"u: these speeds do not satisfy the constraints: {self._by_constraint(rates)}; "
                             "system.consistent(q, u) gives the nearest that do")
        curves = adot @ speeds + bdot
        left = a @ changes + curves
        if np.abs(left).max() > CLOSED * (1.0 + largest * np.abs(changes).max(initial=0.0) + np.abs(curves).max()):
            inverse = self.inverse_mass_matrix(q, t)
            near_by = changes - inverse @ a.T @ np.linalg.pinv(a @ inverse @ a.T, rcond=RANK) @ left
            raise StateError(f"udot: these accelerations do not satisfy the constraints: {self._by_constraint(left)}; "
                             f"the nearest that do are {show(near_by)}")

    def _nearest(self, q: Array, t: float) -> str:
        try:
            return show(self.assemble(q, t=t))
        except StateError:
            return "no solution near it"

    def _by_constraint(self, g: Array) -> str:
        """The largest residual of each constraint that has one, the worst first."""
        at, found = 0, []
        for constraint in self.model.constraints:
            found.append((float(np.abs(g[at:at + constraint.rows]).max()), constraint.name))
            at += constraint.rows
        worst = sorted((pair for pair in found if pair[0] > ASSEMBLED), reverse=True)
        text = ", ".join(f"{name!r} {size:.3g}" for size, name in worst[:6])
        return text + (", ..." if len(worst) > 6 else "")

    def _held(self, hold: Sequence[str]) -> list[int]:
        """Dofs of the coordinates that keep their values."""
        model, places = self.model, []
        if isinstance(hold, str):
            raise StateError(f"hold: expected a list of names of coordinates, got {show(hold)}")
        for name in several(hold, "hold", StateError):
            if not isinstance(name, str) or name not in model.speed_names or name not in model.coordinate_names:
                raise StateError(f"hold: there is no coordinate {name!r} that can be held."
                                 f"{near(str(name), set(model.speed_names) & set(model.coordinate_names))}")
            places.append(model.speed_index(name))
        return places

    def _moved(self, q: Array, step: Array) -> Array:
        """q moved by small turns and moves."""
        rate = np.empty(self._nq)
        _joints.put_rates(self.block, q, step, 0, rate)
        return self._unit(q + rate)

    def _unit(self, q: Array) -> Array:
        for at in self.model.quaternion_offsets:
            q[at:at + 4] /= np.linalg.norm(q[at:at + 4])
        return q

