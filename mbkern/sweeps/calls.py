"""What Python calls: sweeps over a caller's own records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import inputs
from ..errors import MethodError, NotEnoughMemoryError, StateError
from ..inputs import Array
from ..integrate import memory
from ..model.checks import show
from .kernels import checked, motion
from .records import Records, check, fault

#: Names of methods and what they are to the compiled code.
METHODS = {"emh-ldl": checked.LDL, "emh-lu": checked.LU, "dah": checked.REDUCED}
MANY = 10_000_000  # numbers: to ask the system for its memory takes as long as a short sweep
_NONE, _NOWHERE = np.empty(0), np.empty(0, np.int64)


class Motion(NamedTuple):
    """What a sweep gives.

    Attributes
    ----------
    qdot : (n,)
        Joint speeds, in the order of the bodies and of the columns of A; m/s and rad/s.
    pdot : (n,)
        Rates of the momenta, N and N m.
    v : (N, 6)
        Velocities (linear; angular) of the bodies' origins, in body axes.
    mu : (N, 6)
        Momentum of each body and all bodies beyond it, in its axes, at its origin.
    """

    qdot: Array
    pdot: Array
    v: Array
    mu: Array


def rhs(blocks: Records, p: ArrayLike, tau: ArrayLike | None = None, method: str = "emh-ldl") -> Motion:
    """Hamilton's equations of a caller's own records: qdot, pdot, v and mu.

    Parameters
    ----------
    blocks : (N,) array of `BLOCK`
        The bodies at the present configuration and time, see :mod:`mbkern.sweeps`.
    p : (n,)
        Momenta p = A^T mu + r qdot, n the sum of all dofs; kg m/s and kg m^2/s.
    tau : (n,), optional
        Joint forces in N and N m.
    method : str
        "emh-ldl" (Algorithm 2, L^T D L), "emh-lu" (Algorithm 1, block LU) or "dah" (Algorithm 3 on the mass matrix:
        linear in N for trees of bounded height, cubic for chains).

    Returns
    -------
    Motion
        qdot (n,), pdot (n,), v (N, 6), mu (N, 6).

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> system = mb.System(mb.zoo.chain(4))
    >>> q, p = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 0.0, 0.0, 1.0])
    >>> motion = mb.sweeps.rhs(system.block_records(q), p)
    >>> bool(np.allclose(motion.pdot, system.rhs(q, p)[1]))
    True
    """
    blocks, number = check(blocks), _number(method)
    (n, size), N = _sizes(blocks, number), blocks.shape[0]
    p = _vector(p, "p", n)
    tau = _NONE if tau is None else _vector(tau, "tau", n)
    out = np.empty(2 * n + 12 * N)
    code, body = checked.rhs(number, blocks, p, tau, out, _memory(size))
    if code != checked.FINE:
        raise _fault(blocks, int(code), int(body), p, tau)
    return Motion(out[:n], out[n:2 * n], out[2 * n:2 * n + 6 * N].reshape(N, 6), out[2 * n + 6 * N:].reshape(N, 6))


def momenta(blocks: Records, qdot: ArrayLike) -> tuple[Array, Array, Array]:
    """The way back: momenta of joint speeds, p = A^T mu + r qdot with mu = T^T M v and v = T (A qdot + vr).

    Parameters
    ----------
    blocks : (N,) array of `BLOCK`
    qdot : (n,)
        Joint speeds, m/s and rad/s.

    Returns
    -------
    p : (n,)
    v, mu : (N, 6)
        Velocities and branch momenta, as in `rhs`.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> blocks = mb.System(mb.zoo.chain(4)).block_records([0.1, 0.2, 0.3, 0.4])
    >>> p, v, mu = mb.sweeps.momenta(blocks, [1.0, 0.0, 0.0, 0.0])
    >>> bool(np.allclose(mb.sweeps.rhs(blocks, p).qdot, [1.0, 0.0, 0.0, 0.0]))
    True
    """
    blocks = check(blocks)
    (n, _), N = _sizes(blocks, checked.LDL), blocks.shape[0]
    qdot = _finite(_vector(qdot, "qdot", n), "qdot")
    p, v, mu = np.empty(n), np.empty((N, 6)), np.empty((N, 6))
    motion.momenta(blocks, qdot, p, v, mu)
    if not all(np.isfinite(x).all() for x in (p, v, mu)):
        raise fault(blocks, checked.OVERFLOW, 0)
    return p, v, mu


def work(blocks: Records, method: str = "emh-ldl") -> Array:
    """A workspace for the compiled kernels; one for each caller, for any array with these parents and dofs.

    Parameters
    ----------
    blocks : (N,) array of `BLOCK`
    method : str
        As in `rhs`.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.sweeps.work(mb.sweeps.zeros(3)).ndim
    1
    """
    return _memory(_sizes(check(blocks), _number(method))[1])


def _sizes(blocks: Records, number: int) -> tuple[int, int]:
    """Number of dofs, and of numbers that the workspace needs."""
    along = np.empty(len(blocks), np.int64) if number == checked.REDUCED else _NOWHERE
    return checked.sizes(blocks, number, along)


def _memory(size: int) -> Array:
    """So many numbers, if there is room for them."""
    if size > MANY and memory.exceeded_by(8.0 * size):
        raise NotEnoughMemoryError(f"method: it needs {memory.gigabytes(8.0 * size)} for a tree of this shape, the "
                                   f"limit is {memory.gigabytes(memory.limit())} (a part of the memory that is free); "
                                   "\"emh-ldl\" needs little for every tree")
    return np.empty(size)


def _number(method: Any) -> int:
    if not isinstance(method, str) or method not in METHODS:
        raise MethodError(f"method: expected one of {', '.join(METHODS)}, got {show(method)}")
    return METHODS[method]


def _vector(x: Any, what: str, n: int) -> Array:
    if type(x) is np.ndarray and x.dtype == np.float64 and x.shape == (n,) and x.flags.carray:
        return x
    return inputs.real_array(x, what, (n,), f"{n} real numbers, one a dof")


def _finite(x: Array, what: str) -> Array:
    bad = ~(np.abs(x) <= checked.LIMIT)
    if bad.any():
        j = int(np.argmax(bad))
        raise StateError(f"{what}[{j}] = {x[j]}: expected a finite number of size at most {checked.LIMIT:g}")
    return x


def _fault(blocks: Records, code: int, body: int, p: Array, tau: Array) -> Exception:
    if code == checked.BAD_P:
        _finite(p, "p")
    if code == checked.BAD_TAU:
        _finite(tau, "tau")
    return fault(blocks, code, body)
