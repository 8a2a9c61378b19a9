"""Machines near a state: equilibria, state-space matrices, vibrations. All by the exact Jacobians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from .. import inputs
from ..errors import ModelError, StateError
from ..inputs import Array
from ..model.checks import several, show
from ..model.model import Model
from . import constrained
from .jacobian import Jacobian, charts, turning_of_tangents

if TYPE_CHECKING:
    from ..system import System

ITERATIONS = 100
LONGEST = 0.5  # a Newton step of the tangent, rad and m: beyond it the linear picture means little
TOLERANCE = 1e-10  # of the largest force: what rounding leaves of a sum of forces that cancel
NEAR = 1e-6  # of the largest force: what `modes` takes for an equilibrium
STEADY = 1e-6  # of the largest number of A: how much it may change in a thousandth of a second or of a turn


class Equilibrium(NamedTuple):
    """A configuration that stays.

    Attributes
    ----------
    q : (nq,)
    p : (nv,)
        Momenta of the machine there; zero unless something is driven or turns.
    tau : (nv,)
        Joint forces that it needs: those given, and what holds the coordinates to be held.
    residual : float
        Largest joint force that is left over, N or N m.
    iterations : int
    """

    q: Array
    p: Array
    tau: Array
    residual: float
    iterations: int


class Linearization(NamedTuple):
    """dx/dt = A x + B w, y = C x + D w for small deviations x = (tangent of q, p) and inputs w.

    A is the matrix of `jacobian_rhs`, less ad_u where ball or free joints move: their tangents are in body axes, which
    turn with the speed u.

    Attributes
    ----------
    A, B, C, D : arrays
    rate : (2 nv,)
        (u, pdot) of the state itself; zero at an equilibrium.
    states, inputs, outputs : tuples of str
        What the numbers are.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    rate: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def state_space(self) -> Any:
        """The same as a `scipy.signal.StateSpace`."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D)


class Modes(NamedTuple):
    """Small vibrations about an equilibrium, slowest first; motions that do not vibrate have frequency zero or real
    eigenvalues, a positive one is unstable.

    Attributes
    ----------
    eigenvalues : (k,) complex
        In 1/s, those with an imaginary part that is not negative.
    frequencies : (k,)
        ``|eigenvalue|`` / 2 pi, in Hz.
    damping : (k,)
        Part of the critical damping; -1 for a motion that grows.
    shapes : (nv, k)
        How the tangent of q moves, the largest number of each being 1; complex where dofs are out of phase.
    """

    eigenvalues: Array
    frequencies: Array
    damping: Array
    shapes: Array


# ---- equilibria ----


def equilibrium(system: System, q_guess: ArrayLike, t: float, tau: ArrayLike | None, wrench: ArrayLike | None,
                hold: Sequence[str | int], u: ArrayLike | None) -> Equilibrium:
    """See `System.equilibrium`."""
    model = system.model
    q, t = inputs.configuration(q_guess, model).copy(), inputs.time(t)
    given = np.zeros(model.nv) if tau is None else inputs.vector(tau, "tau", model.speed_names)
    moving = np.setdiff1d(np.arange(model.nv), _places(model, hold, "hold"))
    rest = np.zeros(model.nv)
    speeds = rest if u is None else inputs.vector(u, "u", model.speed_names)
    scale = _largest_force(system, given, wrench)
    if model.constraints:
        _refuse_turning(u)
        held = [j for j in range(model.nv) if j not in moving]
        q, holding, residual, steps = constrained.equilibrium(system, q, t, given, wrench, held, scale, TOLERANCE)
        return Equilibrium(q, rest, given + holding, residual, steps)

    def missing(q: Array) -> Array:
        return system.inverse_dynamics(q, speeds, rest, t, wrench) - given

    force, damping = missing(q), 0.0
    for iteration in range(ITERATIONS + 1):
        residual = float(np.abs(force[moving]).max(initial=0.0))
        if residual <= TOLERANCE * scale:
            return Equilibrium(q, system.momenta(q, speeds, t), force + given, residual, iteration)
        K = system.derivatives_inverse_dynamics(q, speeds, rest, t, wrench).tau_q[np.ix_(moving, moving)]
        for _ in range(40):  # Newton's step; shorter ones towards less force (Levenberg, Marquardt) if it is too long
            step = np.zeros(model.nv)
            step[moving] = _damped_step(K, force[moving], damping)
            new = moved(model, q, step * min(1.0, LONGEST / float(np.abs(step).max(initial=1e-300))))
            left = missing(new)
            if float(np.linalg.norm(left[moving])) < float(np.linalg.norm(force[moving])):
                damping = 0.0 if damping < 1e-6 else 0.1 * damping
                break
            damping = max(4.0 * damping, 1e-6)
        else:
            break
        q, force = new, left
    worst = int(moving[np.argmax(np.abs(force[moving]))])
    raise StateError(f"no equilibrium found near q_guess: after {iteration} steps of Newton's method a joint force of "
                     f"{residual:.3g} is left over, most in {model.speed_names[worst]!r}; give another guess, hold "
                     "some coordinates, or give the joint forces tau that keep the machine there")


def _damped_step(K: Array, force: Array, damping: float) -> Array:
    """The step that takes force away, K step = -force, by least squares; damping in parts of the size of K."""
    size = float(np.linalg.norm(K, 2)) * np.sqrt(damping)
    A, b = (np.vstack([K, size * np.eye(len(K))]), np.concatenate([force, np.zeros(len(K))])) if damping else (K, force)
    step: Array = -np.linalg.lstsq(A, b, rcond=1e-12)[0]
    return step


def _largest_force(system: System, tau: Array, wrench: ArrayLike | None) -> float:
    """What forces are measured by: weight of the whole machine, given forces, wrenches."""
    model = system.model
    weight = model.total_mass * float(np.linalg.norm(model.gravity))
    loads = 0.0 if wrench is None else float(np.abs(inputs.wrenches(wrench, model)).sum())
    return weight + float(np.abs(tau).sum()) + loads + 1e-300


def moved(model: Model, q: Array, step: Array) -> Array:
    """q moved along its tangent; quaternions scaled to length one."""
    new: Array = q + charts(model, q, np.zeros(model.nv))[0] @ step
    for at in model.quaternion_offsets:
        new[at:at + 4] /= np.linalg.norm(new[at:at + 4])
    return new


def _places(model: Model, names: Sequence[str | int], what: str) -> list[int]:
    """Numbers of dofs that are given by name or number."""
    places = []
    for name in several(names, what, StateError):
        if isinstance(name, str) and name in model.speed_names:
            places.append(model.speed_names.index(name))
        elif isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < model.nv:
            places.append(int(name))
        else:
            raise StateError(f"{what}: expected names or numbers of dofs ({', '.join(model.speed_names)}), got "
                             f"{show(name)}")
    return places


# ---- state-space matrices ----


def linearize(system: System, q: ArrayLike, p: ArrayLike, t: float, tau: ArrayLike | None, wrench: ArrayLike | None,
              forces: Sequence[str | int] | None, outputs: Sequence[str] | ArrayLike | None) -> Linearization:
    """See `System.linearize`."""
    model = system.model
    nv, names = model.nv, model.speed_names
    q, p = inputs.configuration(q, model), inputs.vector(p, "p", names)
    u = system.velocities(q, p, t)
    J = system.jacobian_rhs(q, p, t, tau, wrench)
    A, rate = _of_deviations(model, u, J), np.concatenate([u, system.rhs(q, p, t, tau, wrench)[1]])
    acting = list(range(nv)) if forces is None else _places(model, forces, "inputs")
    B = np.zeros((2 * nv, len(acting)))
    B[nv:] = J.pdot_tau[:, acting]
    states = tuple(f"{kind}:{name}" for kind in "qp" for name in names)
    C, seen = _outputs(J.matrix, states, names, outputs)
    return Linearization(A, B, C, np.zeros((len(C), len(acting))), rate, states, tuple(names[j] for j in acting), seen)


def _of_deviations(model: Model, u: Array, J: Jacobian) -> Array:
    """The matrix of dx/dt = A x for x = (tangent of q, p)."""
    if not model.quaternion_offsets.size:
        return J.matrix
    A: Array = J.matrix.copy()
    A[:model.nv, :model.nv] -= turning_of_tangents(model, u)
    return A


def _outputs(A: Array, states: tuple[str, ...], names: Sequence[str], outputs: Any) -> tuple[Array, tuple[str, ...]]:
    """The matrix C, and names of its rows."""
    size, nv = len(states), len(names)
    if outputs is None:
        return np.eye(size), states
    if isinstance(outputs, str):
        outputs = [outputs]
    if isinstance(outputs, Sequence) and all(isinstance(name, str) for name in outputs):
        speeds = [f"u:{name}" for name in names]
        rows = []
        for name in outputs:
            if name in states:
                rows.append(np.eye(size)[states.index(name)])
            elif name in speeds:
                rows.append(A[speeds.index(name)])
            else:
                raise StateError(f"outputs: expected 'q:', 'p:' or 'u:' and the name of a dof "
                                 f"({', '.join(names)}), got {show(name)}")
        return np.array(rows).reshape(len(rows), size), tuple(outputs)
    C = inputs.rows(outputs, "outputs", 2 * nv)
    return C, tuple(f"y{k}" for k in range(len(C)))


# ---- vibrations ----


def modes(system: System, q: ArrayLike, t: float, tau: ArrayLike | None, wrench: ArrayLike | None,
          u: ArrayLike | None) -> Modes:
    """See `System.modes`."""
    model = system.model
    q, t = inputs.configuration(q, model), inputs.time(t)
    rest = np.zeros(model.nv)
    speeds = rest if u is None else inputs.vector(u, "u", model.speed_names)
    given = rest if tau is None else inputs.vector(tau, "tau", model.speed_names)
    if model.constraints:
        _refuse_turning(u)
        eigenvalues, vectors = constrained.vibrations(system, q, t, given, wrench,
                                                      NEAR * _largest_force(system, given, wrench))
        return _ranked(eigenvalues, vectors)
    force = system.inverse_dynamics(q, speeds, rest, t, wrench) - given
    left = float(np.abs(force).max(initial=0.0))
    if left > NEAR * _largest_force(system, given, wrench):
        worst = model.speed_names[int(np.argmax(np.abs(force)))]
        raise StateError(f"q is no equilibrium: a joint force of {left:.3g} is left over, most in {worst!r}; find one "
                         "with equilibrium(q), or give the joint forces tau that keep the machine there")
    A = system.jacobian_rhs(q, system.momenta(q, speeds, t), t, given, wrench)
    if speeds.any():
        _refuse_unsteady(system, q, speeds, t, wrench, A.matrix)
    if not speeds.any() and not A.u_q.any() and not A.pdot_p.any():
        # at rest, no dampers: M and K tell all, and keep all digits
        K = -0.5 * (A.pdot_q + A.pdot_q.T)
        squares, vectors = eigh(K, system.mass_matrix(q, t))
        small = 1e-13 * float(np.abs(squares).max(initial=0.0))
        squares = np.where(np.abs(squares) <= small, 0.0, squares)
        eigenvalues = np.where(squares >= 0.0, 1j * np.sqrt(np.abs(squares)), np.sqrt(np.abs(squares)))
    else:
        eigenvalues, vectors = np.linalg.eig(_of_deviations(model, speeds, A))
        keep = eigenvalues.imag >= 0.0
        eigenvalues, vectors = eigenvalues[keep], vectors[:model.nv, keep]
    return _ranked(eigenvalues, vectors)


def _ranked(eigenvalues: Array, vectors: Array) -> Modes:
    """Modes, slowest first, the largest number of each shape being 1."""
    order = np.argsort(np.abs(eigenvalues), kind="stable")
    eigenvalues, vectors = eigenvalues[order].astype(complex), vectors[:, order]
    size = np.abs(eigenvalues)
    damping = np.where(size > 0.0, -eigenvalues.real / np.where(size > 0.0, size, 1.0), 0.0)
    largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])] if len(vectors) else np.ones(0)
    return Modes(eigenvalues, size / (2.0 * np.pi), damping + 0.0, vectors / largest)


def _refuse_turning(u: Any) -> None:
    if u is not None:
        raise ModelError("u: steady rotations are not for models with constraints yet; without u they are taken at "
                         "rest")


def _refuse_unsteady(system: System, q: Array, u: Array, t: float, wrench: ArrayLike | None, A: Array) -> None:
    """Raise a StateError unless a motion with constant joint speeds meets the same derivatives all the way."""
    h = 1e-3 / max(1.0, float(np.abs(u).max()))
    near = [system.jacobian_rhs(x, system.momenta(x, u, t + d), t + d, wrench=wrench).matrix
            for d in (-h, h) for x in [moved(system.model, q, d * u)]]
    change = float(np.abs(near[1] - near[0]).max(initial=0.0))
    if change > STEADY * float(np.abs(A).max(initial=0.0)):
        raise StateError(f"u: with these joint speeds the motion is not steady: its derivatives change by {change:.3g} "
                         f"in {2.0 * h:.3g} s; only what turns or slides without changing the rest (a shaft, a free "
                         "body without weight) may move")
