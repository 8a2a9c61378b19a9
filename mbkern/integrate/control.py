"""A controller in plain Python: called at a fixed rate, its joint forces are held until it is called again."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import inputs, states
from ..callbacks import name_of, refuse_speeds
from ..errors import StateError
from ..inputs import Array
from ..model.checks import show
from . import entries, options
from .kernels import plan as P
from .kernels import stepping
from .options import Integrator

if TYPE_CHECKING:
    from ..system import System
    from .driver import Run


class Controller:
    """The legs of a run: a function is called where each begins.

    Parameters
    ----------
    system : System
    f : callable
        f(t, q, p) -> tau, or f(t, q, p, u) -> tau with the joint speeds u.
    period : float
        Seconds from one call to the next.
    method : Integrator
    step, max_step
        As in `simulate`. A method with fixed steps takes a whole number of them in each leg.
    t0, t_end : float

    Attributes
    ----------
    n_steps : int
        Of a method with fixed steps, in the whole run.
    fault : str
        Why the function gave no forces.
    cause : Exception or None
        What it raised.
    """

    def __init__(self, system: System, f: Any, period: Any, method: Integrator, step: Any, max_step: Any, t0: float,
                 t_end: float) -> None:
        self._system, self._call = system, _call_of(f)
        self._name = name_of(f)
        self._period = options.positive(period, "control_step")
        self._t0, self._t_end = t0, t_end
        self._legs = options.parts(t_end - t0, self._period, "control_step", t0)
        self._next = 0  # the leg to begin
        self._sign = 1.0 if t_end > t0 else -1.0
        self._longest = 0.0  # step of a method with fixed ones
        self.n_steps = 0
        if not method.adaptive:
            steps = options.fixed_steps(method, self._period if step is None else step, max_step, self._period, t0)
            self._longest = self._period / steps
            self.n_steps = self._legs * steps
        self._hold = entries.compiled(stepping.hold)
        self.fault = ""
        self.cause: Exception | None = None

    def next_leg(self, run: Run) -> int:
        """Call the function at the state of the run and prepare the leg that begins there: MORE, FINISHED when there
        is none any more, or FAILED_CONTROL."""
        if self._next == self._legs:
            return P.FINISHED
        plan, num = run.plan, run.num
        begin = float(num[P.T])
        if not self._act(run, begin):
            return P.FAILED_CONTROL
        self._next += 1
        end = self._t_end if self._next == self._legs else self._t0 + self._sign * self._next * self._period
        num[P.LEG_BEGIN], num[P.LEG_END] = begin, end
        plan[P.LEG_ACCEPTED] = plan[P.ACCEPTED]
        if self._longest:
            steps = max(1, math.ceil(abs(end - begin) / self._longest * (1.0 - options.ROUNDING)))
            step = (end - begin) / steps
            if abs(step - num[P.H]) > options.ROUNDING * self._longest:  # not another one for a rounding of t
                num[P.H], plan[P.FACTORED] = step, 0
            plan[P.N_STEPS] = steps
        return P.MORE

    def _act(self, run: Run, t: float) -> bool:
        """Whether the function has given forces; they act from now on."""
        split, y = run.problem.split, run.y
        try:
            tau = self._call(self._system, t, y[:split].copy(), y[split:].copy())
        except Exception as error:
            self.fault = f"the function {self._name!r} for tau raised {type(error).__name__}: {error}"
            self.cause = error
            return False
        try:
            code = self._hold(run.address, tau)
        except Exception:  # of Numba: it is not a plain float64 array
            code = P.BAD_START
        return code == P.MORE or self._held(run, tau)

    def _held(self, run: Run, tau: Any) -> bool:
        """The same for forces that are not an array as compiled code wants it."""
        try:
            forces: Array = inputs.vector(tau, "tau", self._system.model.speed_names)
        except StateError as error:
            self.fault = f"the function {self._name!r} for tau returned no joint forces: {error}"
            return False
        return self._hold(run.address, forces) == P.MORE


def _call_of(f: Any) -> Callable[[System, float, Array, Array], Any]:
    """f as a function of (system, t, q, x), x the variable of its state, whatever it wants of p and u."""
    if not callable(f):
        raise StateError(f"control_step: expected a function f(t, q, p) -> tau beside it, got tau = {show(f)}")
    name = name_of(f)
    try:
        parameters = list(inspect.signature(getattr(f, "py_func", f)).parameters.values())
    except (TypeError, ValueError):  # a function of C
        parameters = []
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(places) > 3 and places[3].name == "out":
        raise StateError(f"tau: {name}(t, q, p, out) writes its forces and is called at every evaluation: leave "
                         "control_step out, or give a function f(t, q, p) that returns them")
    needed = sum(p.default is p.empty for p in places)
    speeds = needed == 4 or (len(places) > 3 and places[3].name == "u")
    some = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if parameters and (needed > 4 or (len(places) < 3 and not some)):
        raise StateError(f"tau: expected a function f(t, q, p) -> tau or f(t, q, p, u) -> tau beside control_step, got "
                         f"{name}{inspect.signature(getattr(f, 'py_func', f))}")
    if parameters:
        refuse_speeds(f, "tau", "f(t, q, p, u)")
    if speeds:
        return lambda system, t, q, x: f(t, q, states.momenta(system, q, x, t), states.speeds(system, q, x, t))
    return lambda system, t, q, x: f(t, q, states.momenta(system, q, x, t))
