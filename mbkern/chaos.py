"""How fast neighbouring motions part: Lyapunov exponents.

>>> import mbkern as mb
>>> result = mb.chaos.lyapunov(mb.System(mb.zoo.chain(2)), [0.1, 0.2], [0.0, 0.0], 20.0, interval=1.0)
>>> result.exponents.shape
(4,)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import inputs, lazy
from .errors import NotEnoughMemoryError, StateError
from .inputs import Array
from .integrate import memory, options
from .integrate.progress import Interrupt
from .integrate.tangents import refuse_dissipation, refuse_failed, unit_state
from .model.checks import flag, number, show

if TYPE_CHECKING:
    from .signatures import Load
    from .system import System

__all__ = ["Lyapunov", "lyapunov"]


class Lyapunov(NamedTuple):
    """Lyapunov exponents of a motion, largest first.

    Attributes
    ----------
    exponents : (k,)
        In 1/s: mean rates at which a small sphere of neighbours becomes an ellipsoid.
    times : (m,)
        Ends of the intervals, in seconds since the exponents are counted.
    history : (m, k)
        What the exponents were then: they converge about as 1/time.
    pairing : float
        Largest sum of two exponents that ought to be opposite, for a conservative machine and a whole spectrum; NaN
        otherwise.
    q, p : arrays
        The state at the end.
    """

    exponents: Array
    times: Array
    history: Array
    pairing: float
    q: Array
    p: Array


def lyapunov(system: System, q0: ArrayLike, p0: ArrayLike, time: float, *, count: int | None = None,
             interval: float | None = None, transient: float = 0.0, integrator: str = "gauss4",
             step: float | None = None, rtol: float = 1e-9, atol: ArrayLike = 1e-11, tau: Load | None = None,
             symplectic: bool = False) -> Lyapunov:
    """Lyapunov exponents by the QR method: tangents are carried along and made orthogonal again after each interval.

    Parameters
    ----------
    system : System
    q0, p0 : arrays
        Where the motion begins.
    time : float
        Seconds over which the exponents are taken.
    count : int, optional
        How many, from the largest on; by default all 2 nv, with constraints those of changes that keep them (two for
        each freedom).
    interval : float, optional
        Seconds from one orthogonalization to the next; by default a hundredth of the time, at most 1 s.
    transient : float
        Seconds before the counting begins, in which the directions settle.
    integrator, step, rtol, atol
        As in `System.simulate`. "gauss4" and the like keep the exponents of a conservative machine paired to rounding.
        A fixed step is a hundredth of the interval by default.
    tau : (nv,) or njit function with a derivative, optional
        Joint forces, see `mbkern.forces.with_derivative`.
    symplectic : bool
        Refuse machines whose exponents need not come in opposite pairs (dampers, force functions).

    Returns
    -------
    Lyapunov

    Notes
    -----
    G. Benettin, L. Galgani, A. Giorgilli and J.-M. Strelcyn, Meccanica 15 (1980) 9-30. The columns are ordered as
    (q_1 .. q_n, p_n .. p_1): then, for a symplectic tangent, Q of the QR decomposition is symplectic too (the Iwasawa
    decomposition), and the diagonal of R comes in pairs r, 1/r at any time, not only in the limit. With constraints the
    columns are changes that keep them, and exponents pair in the limit.

    Examples
    --------
    Small swings are not chaotic; large ones are:

    >>> import mbkern as mb
    >>> system = mb.System(mb.zoo.chain(2))
    >>> wild = mb.chaos.lyapunov(system, [1.5, 2.0], [0.0, 0.0], 50.0, count=1, step=0.02)
    >>> bool(wild.exponents[0] > 0.5)
    True
    """
    model = inputs.system(system).model
    nv, closed = model.nv, bool(model.constraints)
    if nv == 0:
        raise StateError("lyapunov: the model has no dofs, nothing can move")
    span = options.positive(time, "time")
    wait = number(transient, "transient", StateError)
    if wait < 0.0:
        raise StateError(f"transient: expected seconds, not less than 0, got {wait:g}")
    method = options.integrator_named(integrator)
    every = min(1.0, 0.01 * span) if interval is None else options.positive(interval, "interval")
    y = unit_state(system, q0, p0, "lyapunov")
    q, p = y[:model.nq], y[model.nq:]
    consistent = lazy.module("derivatives.consistent").Consistent(system)
    if closed:
        system.check_consistent(q, p, 0.0)
    Q = consistent.directions(q, p, 0.0)
    most = Q.shape[1]
    k = most if count is None else options.count(count, "count")
    if not 1 <= k <= most:
        raise StateError(f"count: expected 1 to {most} exponents, got {show(count)}")
    functions = ["tau"] if callable(tau) else []
    sliding = [constraint.name for constraint in model.constraints if not constraint.holonomic]
    if flag(symplectic, "symplectic", StateError):
        refuse_dissipation(model, functions, "lyapunov(symplectic=True)")
        if sliding:
            raise StateError(f"lyapunov(symplectic=True): constraint {sliding[0]!r} is none of positions: the flow of "
                             "such a machine need not be symplectic")
    n = options.parts(span, every, "interval", 0.0)
    lead = options.parts(wait, every, "interval", 0.0) if wait else 0
    if memory.exceeded_by(8.0 * n * k):
        raise NotEnoughMemoryError(f"lyapunov: {n} intervals need {memory.gigabytes(8.0 * n * k)}, the limit is "
                                   f"{memory.gigabytes(memory.limit())}; take longer intervals")
    every = span / n
    how: dict[str, Any] = {"rtol": rtol, "atol": atol} if method.adaptive else {}
    how |= {"step": step} if method.adaptive else {"step": 0.01 * every if step is None else step}
    order = np.arange(2 * nv) if closed else np.concatenate([np.arange(nv), np.arange(2 * nv - 1, nv - 1, -1)])
    Q = Q[:, :k]
    sums, history = np.zeros(k), np.empty((n, k))
    for j in range(-lead, n):
        t = j * every
        columns = np.empty_like(Q)
        columns[order] = Q
        with Interrupt() as interrupt:
            run = system.simulate(q, p, (t, t + every), integrator, tau=tau, tangent=columns, t_eval=[t + every], **how)
        if not run.success:
            refuse_failed(run, f"lyapunov: after {max(j, 0)} of {n} intervals the run {run.message}; exponents so "
                               f"far: {np.array2string(sums / max(j * every, every), precision=4)}")
        interrupt.obey()
        q, p = run.q[-1], run.p[-1]
        Q, R = np.linalg.qr(consistent.nearest(q, p, t + every, run.tangent[-1])[order])
        stretched = np.abs(np.diag(R))
        Q = Q * np.sign(np.diag(R))
        if j >= 0:
            sums += np.log(stretched)
            history[j] = sums / ((j + 1) * every)
    pairing, ranked = np.nan, np.sort(history[-1])[::-1]
    if k == most and not functions and not sliding and not model.damping.any():
        last = ranked if closed else history[-1]
        pairing = float(np.abs(last + last[::-1]).max(initial=0.0))
    times: Array = every * np.arange(1.0, n + 1.0)
    return Lyapunov(ranked, times, history, pairing, q, p)
