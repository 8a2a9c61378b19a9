"""An emulation of MATLAB's ode45: Dormand-Prince 5(4) with its step control, its start and its output.

Papers often state no more than "ode45" and a maximum step; to compare with their tables the very steps matter. This
follows the documented behaviour with NormControl off: the error of a step is::

    h max_i |E_i| / max(|y_i|, |ynew_i|, AbsTol / RelTol)

accepted when at most RelTol; a first failure shrinks the step by max(0.1, 0.8 (RelTol/err)^(1/5)), further ones by 1/2;
after a success without failure it grows by 1 / max(0.2, 1.25 (err/RelTol)^(1/5)). Output at given times comes from the
quartic interpolant of a step (Shampine and Reichelt, SIAM J. Sci. Comput. 18 (1997) 1-22). For everything else use the
compiled integrators of `simulate`, which are faster and better controlled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..core.checks import OK
from ..errors import IntegrationError, StateError
from ..inputs import Array
from ..integrate.driver import Outcome
from .trajectory import Segment, Trajectory

if TYPE_CHECKING:
    from .formulation import Formulation

C = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0])
A = [np.array(row) for row in (
    [1 / 5], [3 / 40, 9 / 40], [44 / 45, -56 / 15, 32 / 9], [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84])]
E = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
INTERPOLANT = np.array([
    [1, -183 / 64, 37 / 12, -145 / 128], [0, 0, 0, 0], [0, 1500 / 371, -1000 / 159, 1000 / 371],
    [0, -125 / 32, 125 / 12, -375 / 64], [0, 9477 / 3392, -729 / 106, 25515 / 6784], [0, -11 / 7, 11 / 3, -55 / 28],
    [0, 3 / 2, -4, 5 / 2]])


def solve(f: Callable[[float, Array], Array], times: ArrayLike, y0: ArrayLike, max_step: float | None = None,
          rtol: float = 1e-3, atol: float = 1e-6) -> Array:
    """States at given times, as MATLAB's ``ode45(f, times, y0, odeset('MaxStep', max_step))`` would give them.

    Parameters
    ----------
    f : function
        f(t, y) -> dy/dt.
    times : (k,)
        Increasing times, at least three (MATLAB's tspan as a grid).
    y0 : (n,)
    max_step : float, optional
        By default a tenth of the span.
    rtol, atol : float
        RelTol and AbsTol; the defaults are MATLAB's.

    Returns
    -------
    y : (k, n)

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> y = mb.analytic.ode45.solve(lambda t, y: -y, np.linspace(0, 1, 11), [1.0])
    >>> bool(abs(y[-1, 0] - np.exp(-1)) < 1e-4)
    True
    """
    grid, y = np.array(times, float), np.array(y0, float)
    if grid.ndim != 1 or grid.size < 3 or not (np.diff(grid) > 0.0).all():
        raise StateError("times: expected at least three increasing times")
    t, t_final = float(grid[0]), float(grid[-1])
    longest = 0.1 * (t_final - t) if max_step is None else min(float(max_step), t_final - t)
    threshold = atol / rtol
    out = np.empty((grid.size, y.size))
    out[0], following = y, 1
    k = np.empty((7, y.size))
    k[0] = f(t, y)
    h = min(longest, float(grid[1] - grid[0]))
    steepness = float(np.abs(k[0] / np.maximum(np.abs(y), threshold)).max()) / (0.8 * rtol**0.2)
    if h * steepness > 1.0:
        h = 1.0 / steepness
    h = max(h, 16 * np.spacing(t))
    done = False
    while not done:
        smallest = 16 * np.spacing(abs(t))
        h = min(longest, max(smallest, h))
        if 1.1 * h >= t_final - t:
            h, done = t_final - t, True
        failed = False
        while True:
            for s in range(1, 6):
                k[s] = f(t + h * C[s], y + h * (A[s - 1] @ k[:s]))
            t_new = t_final if done else t + h
            h = t_new - t
            y_new = y + h * (A[5] @ k[:6])
            k[6] = f(t_new, y_new)
            scale = np.maximum(np.maximum(np.abs(y), np.abs(y_new)), threshold)
            error = h * float(np.abs((E @ k) / scale).max())
            if error <= rtol:
                break
            if h <= smallest:
                raise IntegrationError(f"ode45: the step size collapsed at t = {t:.9g} s")
            h = max(smallest, 0.5 * h if failed else h * max(0.1, 0.8 * (rtol / error) ** 0.2))
            failed, done = True, False
        while following < grid.size and grid[following] <= t_new:
            if grid[following] == t_new:
                out[following] = y_new
            else:
                s = (grid[following] - t) / h
                out[following] = y + (h * (INTERPOLANT @ np.array([s, s**2, s**3, s**4]))) @ k
            following += 1
        if not failed:
            factor = 1.25 * (error / rtol) ** 0.2
            h = h / factor if factor > 0.2 else 5.0 * h
        t, y = t_new, y_new
        k[0] = k[6]
    return out


def simulate(formulation: Formulation, q0: ArrayLike, v0: ArrayLike, times: ArrayLike,
             max_step: float | None = None) -> Trajectory:
    """A run of a formulation by this emulation, with output at the given times.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> cart = mb.analytic.cases.cart()
    >>> kane = mb.analytic.Kane(cart.system, constraints=cart.constraints)
    >>> mb.analytic.ode45.simulate(kane, cart.q0, cart.v0, np.arange(0.0, 0.1, 0.01), max_step=0.01)
    Kane by 'ode45': finished, t = 0 .. 0.09 s, 10 states
    """
    grid = np.array(times, float)
    y0 = formulation.state(q0, v0, float(grid[0]))
    count = 0

    def f(t: float, y: Array) -> Array:
        nonlocal count
        count += 1
        return formulation.rhs(t, y)

    y = solve(f, grid, y0, max_step)
    outcome = Outcome("finished", f"reached the end at t = {grid[-1]:.9g} s")
    segment = Segment(formulation, formulation._frame, grid, y, outcome, OK, (count, 0, 0), (), None, float(grid[0]),
                      y0, float(grid[-1]), y[-1])
    return Trajectory([segment], (), "ode45")
