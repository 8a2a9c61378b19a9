"""Inertial parameters from recorded motion, by the integrated momentum form.

With p = Y(q, u) pi and pdot = Z(q, u) pi + tau, over any time from t_a to t_b

    [Y(t_b) - Y(t_a) - integral of Z dt] pi = integral of (tau + forces of springs and dampers) dt

linear in the parameters pi, of q, u and tau alone: no accelerations, and noise is integrated instead of differentiated.
The equations of all pieces of a record are solved by least squares, as the smallest change from what the model has:
what the motion does not show stays as it was, and is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import least_squares

from .. import inputs
from ..errors import ModelError, StateError
from ..inputs import Array
from ..model.checks import several, show
from .parameters import TEN, inertial_parameters, names_of, pseudo_inertia, ten_of, with_parameters

if TYPE_CHECKING:
    from ..model.model import Model
    from ..system import System

Places = NDArray[np.int64]

RANK = 1e-9  # of the largest singular value of the scaled equations: below, a direction is not seen
SHARE = 1e-6  # of a unit vector: how much of a parameter may lie in directions that are not seen
LARGEST = 1e100  # of what is added up: squares of it are numbers still
SMALLEST = 1e-9  # of the largest eigenvalue of a body's pseudo-inertia: what a consistent body keeps


@dataclass(frozen=True, repr=False)
class Identification:
    """What a record tells about the inertial parameters.

    Attributes
    ----------
    names : tuple of str
        "body.mass", "body.moment_x" (mass times centre of mass), "body.inertia_xx" (about the body origin), ...
    values, deviations : arrays
        Of each parameter; a deviation (one sigma) is infinite where the record does not show the parameter.
    prior : array
        What the model had.
    identifiable : tuple of str
        Names of what the record determines one by one.
    unidentifiable : tuple of str
        Names of what it does not: these moved as little as possible from what the model had.
    combinations : (rank, len(names))
        Orthonormal rows, in scaled parameters: the combinations that are determined.
    residual : float
        Root mean square of what is left of the equations, N s and N m s.
    rank : int
    """

    names: tuple[str, ...]
    values: Array
    deviations: Array
    prior: Array
    identifiable: tuple[str, ...]
    unidentifiable: tuple[str, ...]
    combinations: Array
    residual: float
    rank: int
    _base: Model
    _places: Places

    def __repr__(self) -> str:
        return (f"Identification({len(self.identifiable)} of {len(self.names)} parameters identified, "
                f"rank {self.rank}, residual {self.residual:.3g})")

    def __getitem__(self, name: str) -> float:
        """The value of a parameter by its name."""
        if name not in self.names:
            raise StateError(f"expected the name of a parameter ({', '.join(self.names[:10])}, ...), got {show(name)}")
        return float(self.values[self.names.index(name)])

    @property
    def model(self) -> Model:
        """The model with these parameters; a ModelError where they are those of no body (see `consistent`)."""
        pi = inertial_parameters(self._base)
        pi[self._places] = self.values
        return with_parameters(self._base, pi)


def identify(system: System, t: ArrayLike, q: ArrayLike, u: ArrayLike, tau: ArrayLike, *,
             parameters: Sequence[str] | None = None, window: int | None = None, consistent: bool = False
             ) -> Identification:
    """Inertial parameters of a machine from a record of its motion and of the joint forces.

    Parameters
    ----------
    system : System
        The machine as far as it is known: joints, places, springs, dampers, rotors, and a first guess of masses and
        inertias.
    t : (K,)
        Times in seconds, increasing.
    q : (K, nq)
    u, tau : (K, nv)
        Configurations, joint speeds, joint forces at these times.
    parameters : sequence of str, optional
        Which parameters are unknown: names as "boom.mass", or of bodies, for all ten of each; all by default. The
        others keep what the model has.
    window : int, optional
        Samples of a piece over which momenta are balanced; by default a twentieth of the record, at least 8. Longer
        pieces are kinder to noise in the joint forces, shorter ones to offsets in them.
    consistent : bool
        Keep every body physical: positive mass, inertia that a distribution of mass can have. Without it noise may
        make a badly seen body impossible.

    Returns
    -------
    Identification
        `.values`, `.deviations`, `.unidentifiable` by name, `.model`.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> model = mb.zoo.chain(2, seed=3)
    >>> heavy = model.vary(body=model.body_names[1], mass=[1.7 * model.body_specs[1].mass]).model_of(0)
    >>> truth, t = mb.System(heavy), np.linspace(0.0, 2.0, 401)
    >>> push = np.array([0.2, -0.1])    # without joint forces twice the masses move alike
    >>> run = truth.simulate([0.3, 0.5], [0.0, 0.0], (0.0, 2.0), t_eval=t, tau=push)
    >>> tau = np.tile(push, (401, 1))
    >>> found = mb.identify(mb.System(model), t, run.q, run.u, tau, parameters=model.body_names[1:])
    >>> moment = 1.7 * mb.identification.inertial_parameters(model)[11]
    >>> name = f"{model.body_names[1]}.moment_x"
    >>> name in found.identifiable, bool(np.isclose(found[name], moment, rtol=1e-5))
    (True, True)
    """
    model = inputs.system(system).model
    if model.constraints:
        raise ModelError(f"identify: not for models with constraints ({model.constraints[0].name!r}, ...) yet: their "
                         "forces are in the record, too")
    t, q, u, tau = _record(model, t, q, u, tau)
    names, places = _chosen(model, parameters)
    if consistent and (np.bincount(places // 10) % 10).any():
        raise StateError("parameters: whether a body is physical depends on all ten numbers of it; with "
                         f"consistent=True give names of bodies, got {show(parameters)}")
    pieces = _pieces(len(t), window)
    A, b, error = _equations(system, t, q, u, tau, pieces)
    prior = inertial_parameters(model)
    known = np.setdiff1d(np.arange(prior.size), places)
    return _solved(model, names, places, A[:, places], b - A[:, known] @ prior[known], error[:, places], prior[places],
                   consistent)


# ---- the record ----


def _record(model: Model, t: Any, q: Any, u: Any, tau: Any) -> tuple[Array, Array, Array, Array]:
    """Times, states and forces; an error says what is wrong with them."""
    times = inputs.numbers(t, "t", "increasing times, shape (K,)")
    if times.ndim != 1:
        raise StateError(f"t: expected increasing times, shape (K,), got shape {times.shape}")
    if times.size < 8:
        raise StateError(f"t: expected at least 8 samples, got {times.size}")
    if not (np.abs(times) <= LARGEST).all() or (np.diff(times) <= 0.0).any():
        k = int(np.argmax(~(np.diff(times) > 0.0)))
        raise StateError(f"t: expected finite, increasing times, got {times[k]:g} before {times[k + 1]:g} in row {k}")
    arrays = []
    for value, what, columns in ((q, "q", model.nq), (u, "u", model.nv), (tau, "tau", model.nv)):
        array = inputs.real_array(value, what, (times.size, columns), "a row for each time")
        if not np.isfinite(array).all():
            k, j = (int(x) for x in np.unravel_index(int(np.argmax(~np.isfinite(array))), array.shape))
            raise StateError(f"{what}[{k}, {j}] = {array[k, j]}: expected finite numbers; leave the sample out")
        arrays.append(array)
    return times, arrays[0], arrays[1], arrays[2]


def _chosen(model: Model, parameters: Any) -> tuple[tuple[str, ...], Places]:
    """Names and places of the unknowns."""
    every = names_of(model)
    if parameters is None:
        return every, np.arange(len(every))
    chosen: list[str] = []
    for name in several(parameters, "parameters", StateError):
        if isinstance(name, str) and name in model.body_names:
            chosen += [f"{name}.{what}" for what in TEN]
        elif isinstance(name, str) and name in every:
            chosen.append(name)
        else:
            raise StateError(f"parameters: expected names of bodies ({', '.join(model.body_names)}), or a body and one "
                             f"of {', '.join(TEN)} as \"body.mass\", got {show(name)}")
    if not chosen or len(set(chosen)) < len(chosen):
        raise StateError(f"parameters: expected different names, at least one, got {show(parameters)}")
    return tuple(chosen), np.array([every.index(name) for name in chosen])


def _pieces(count: int, window: Any) -> Places:
    """First and last samples of the pieces."""
    if window is None:
        window = max(8, count // 20)
    if not isinstance(window, int | np.integer) or isinstance(window, bool) or not 1 <= window < count:
        raise StateError(f"window: expected a number of samples from 1 to {count - 1}, got {show(window)}")
    starts = np.arange(0, count - window, max(1, window // 4))
    return np.stack([starts, starts + window])


# ---- the equations ----


def _equations(system: System, t: Array, q: Array, u: Array, tau: Array, pieces: Places
               ) -> tuple[Array, Array, Array]:
    """A pi = b, a block of nv rows for each piece, and what the quadrature may have added to A."""
    first, last = pieces
    Y = system.momentum_regressor_batch(q, u, t)
    Z = system.momentum_rate_regressor_batch(q, u, t)
    passive, rotors = _beside(system, t, q, u)
    rows = [Y.reshape(len(t), -1), Z.reshape(len(t), -1), passive, rotors, tau]
    large = ~(np.abs(np.hstack(rows)) <= LARGEST).all(axis=1)
    if large.any():
        k = int(np.argmax(large))
        raise StateError(f"row {k} of the record (t = {t[k]:g} s): its numbers are too large, or the machine has no "
                         "motion there")
    impulse = CubicSpline(t, tau + passive).antiderivative()(t)
    grown = CubicSpline(t, Z).antiderivative()(t)
    coarse = CubicSpline(t[::2], Z[::2]).antiderivative()(t)  # order 4: 16 times the error
    doubt = (grown - coarse) / 15.0
    A = (Y[last] - Y[first]) - (grown[last] - grown[first])
    b = (impulse[last] - impulse[first]) - (rotors[last] - rotors[first])
    return A.reshape(-1, A.shape[2]), b.reshape(-1), (doubt[last] - doubt[first]).reshape(-1, A.shape[2])


def _beside(system: System, t: Array, q: Array, u: Array) -> tuple[Array, Array]:
    """What springs, dampers and spinning rotors add to pdot, and rotors to p: all that is not in the regressors."""
    pi = inertial_parameters(system.model)
    p = system.momenta_batch(q, u, t)
    rotors = p - system.momentum_regressor_batch(q, u, t) @ pi
    rates = system.rhs_batch(q, p, t)[1] - system.momentum_rate_regressor_batch(q, u, t) @ pi
    return rates, rotors


# ---- the solution ----


def _solved(model: Model, names: tuple[str, ...], places: Places, A: Array, b: Array, error: Array, prior: Array,
            consistent: bool) -> Identification:
    """The smallest scaled change from the prior that solves the equations best.

    A direction counts as seen when its singular value is above what the quadrature may have made of nothing.
    """
    scale = _scales(model)[places]
    left, sizes, right = np.linalg.svd(A * scale, full_matrices=False)
    unseen = max(RANK * max(float(sizes[0]), 1e-300), float(np.linalg.norm(error * scale, 2)))
    rank = int((sizes > unseen).sum())
    if rank == 0:
        raise StateError("the record shows no parameter at all: nothing moves in it, and no joint force or weight acts")
    seen = right[:rank]
    missing = b - A @ prior
    values = prior + scale * (seen.T @ (left[:, :rank].T @ missing / sizes[:rank]))
    if consistent:
        values = _consistent(model, places, A, b, values, prior, scale)
    rest = b - A @ values
    hidden = 1.0 - (seen**2).sum(axis=0)  # of each unit vector, what lies in directions that are not seen
    shown = hidden <= SHARE
    variance = float(rest @ rest) / max(1, rest.size - rank)
    spread = scale * np.sqrt(variance * ((seen / sizes[:rank, None])**2).sum(axis=0))
    return Identification(names, values, np.where(shown, spread, np.inf), prior,
                          tuple(n for n, s in zip(names, shown, strict=True) if s),
                          tuple(n for n, s in zip(names, shown, strict=True) if not s), seen,
                          float(np.sqrt(np.mean(rest**2))), rank, model, places)


def _scales(model: Model) -> Array:
    """What a usual change of each parameter is: that of the body's size and mass, or of the machine's."""
    pi = inertial_parameters(model).reshape(-1, 10)
    mass = max(float(pi[:, 0].mean()), 1e-12)
    lengths = np.array([np.linalg.norm(body.position) for body in model.body_specs])
    length = float(lengths[lengths > 0.0].mean()) if (lengths > 0.0).any() else 1.0
    return np.tile([mass, *[mass * length] * 3, *[mass * length**2] * 6], len(pi))


def _consistent(model: Model, places: Places, A: Array, b: Array, start: Array, prior: Array, scale: Array) -> Array:
    """The best parameters of real bodies: pseudo-inertias L L^T, by least squares in L, weakly held at the prior."""
    whole = inertial_parameters(model)
    whole[places] = start
    bodies = np.unique(places // 10)
    corner = np.tril_indices(4)
    triangle = np.linalg.qr(np.column_stack([A * scale, b]))[1]
    R, rhs = triangle[:, :-1], triangle[:, -1]
    weak = 1e-6 * np.linalg.norm(R)

    def parameters_of(x: Array) -> Array:
        pi = inertial_parameters(model).reshape(-1, 10)
        for body, numbers in zip(bodies, x.reshape(-1, 10), strict=True):
            L = np.zeros((4, 4))
            L[corner] = numbers
            pi[body] = ten_of(L @ L.T)
        found: Array = pi.reshape(-1)[places]
        return found

    def left_over(x: Array) -> Array:
        change = parameters_of(x) / scale
        return np.concatenate([R @ change - rhs, weak * (change - prior / scale)])

    factors = []
    for body in bodies:
        values, vectors = np.linalg.eigh(pseudo_inertia(whole.reshape(-1, 10)[body]))
        floor = SMALLEST * max(float(np.abs(values).max()), 1e-12)
        near = (vectors * np.maximum(values, max(floor, 1e-3 * float(values.max())))) @ vectors.T
        factors.append(np.linalg.cholesky(near)[corner])
    found = least_squares(left_over, np.concatenate(factors), method="trf", x_scale="jac", xtol=1e-14, ftol=1e-14,
                          gtol=1e-14, max_nfev=400)
    return parameters_of(found.x)
