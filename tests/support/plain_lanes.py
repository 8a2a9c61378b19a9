"""Integration on lanes as ordinary Python: `mbkern.integrate.kernels.lane_*` on an equation of the test's own.

A number on lanes is a row of NumPy; what compiled code reads at an address is a view of the memory there; what it calls
by an address is looked up in a table. Nothing is compiled, so a change of a sign in these files shows within seconds.
"""

from __future__ import annotations

import ctypes
from types import FunctionType

import numpy as np

from mbkern.core import lanes as core_lanes
from mbkern.core.checks import OK
from mbkern.core.number import LANES
from mbkern.integrate.kernels import dopri5, gauss, lane_common, lane_run, lane_steps, stages
from mbkern.integrate.kernels import lane_plan as LP
from mbkern.integrate.kernels import plan as P

BAD_STATE = 3  # what the equation says of a state that has no slope
EVALUATE, ADVANCE, SEEK, TAU_CALL, REDUCE_CALL = 1001, 1002, 1003, 1004, 1005  # in the place of addresses
STEPS = {"rk4": (P.RK4, "rk4_lanes"), "dopri5": (P.DOPRI5, "dopri5_lanes"), "midpoint": (P.GAUSS, "midpoint_lanes")}


def view(address: int, size: int, kind=ctypes.c_double) -> np.ndarray:
    """The numbers at an address."""
    return np.ctypeslib.as_array((kind * min(int(size), 10**6)).from_address(int(address)))


def rows(address: int, size: int, kind=ctypes.c_double) -> np.ndarray:
    return view(address, size * LANES, kind).reshape(size, LANES)


def put(array, at, value) -> None:
    array[at] = value


MEMORY = {
    "get": lambda array, at: array[at].copy() if array.ndim == 2 else array[at], "put": put,
    "larger": np.maximum, "magnitude": np.abs, "root": np.sqrt,
    "all_at_most": lambda x, limit: bool((x <= limit).all()),
    "add_sizes": lambda total, x: total + np.abs(x).sum(axis=0),
    "array_at": view, "data_of": lambda array: array.ctypes.data,
    "integers_at": lambda address, size: view(address, size, ctypes.c_int64),
    "integer_lanes_at": lambda address, size: rows(address, size, ctypes.c_int64),
}


class Lanes:
    """A run of some states of y' = f(t, y) (+ joint forces on the last numbers) on lanes.

    Parameters
    ----------
    f : callable
        f(t, y) -> slope; raises ValueError where there is none.
    states : (B, n)
    nq : int
        Numbers of y that are q.
    """

    def __init__(self, f, states, nq, t_span, method, *, step=0.0, times=None, rtol=1e-6, atol=1e-9,
                 max_step=np.inf, quaternions=(), tau=None, reduce=None, each_step=False, first=0, refused=()):
        self.f, self.refused = f, refused
        states = np.array(states, float)
        total, n = states.shape
        nv = n - nq
        kind, name = STEPS[method]
        self.names = self._ordinary()
        ends = list(t_span)
        self.times = np.array(ends if times is None else times, float)
        self.plan = np.zeros(LP.QUATERNIONS + len(quaternions), np.int64)
        plan = self.plan
        plan[LP.METHOD], plan[LP.N], plan[LP.NQ], plan[LP.NV], plan[LP.FIRST] = kind, n, nq, nv, first
        plan[LP.N_QUATERNIONS] = len(quaternions)
        plan[LP.QUATERNIONS:] = quaternions
        plan[LP.EVALUATE], plan[LP.ADVANCE], plan[LP.SEEK] = EVALUATE, ADVANCE, SEEK
        plan[LP.TAU_CALL], plan[LP.REDUCE_CALL] = TAU_CALL, REDUCE_CALL
        plan[LP.OUTPUT] = LP.WRITE_TIMES if reduce is None else LP.REDUCE_STEPS if each_step else LP.REDUCE_TIMES
        plan[LP.SLOPES] = times is not None
        self.num = np.zeros(P.NUM)
        num = self.num
        num[P.T0], num[P.T_END], num[P.RTOL], num[P.MAX_STEP] = *t_span, rtol, max_step
        span = t_span[1] - t_span[0]
        if method == "dopri5":
            num[P.H] = step
        else:
            plan[LP.N_STEPS] = round(abs(span / step))
            num[P.H] = span / plan[LP.N_STEPS]
        self.who = np.zeros((LP.WHO, LANES), np.int64)
        self.who[LP.STATE] = -1
        self.lane = np.zeros((LP.LANE, LANES))
        self.lane[LP.TIME] = t_span[0]
        self.vectors = np.full((LP.VECTORS * n + nv, LANES), 7.0)  # what is left over there must not matter
        self.atol = np.full(n, atol)
        self.tau_call = tau if callable(tau) else None
        self.tau = np.array([] if tau is None or callable(tau) else tau, float)
        plan[LP.TAU] = (LP.NO_TAU if tau is None else LP.CALL_TAU if callable(tau) else
                        LP.ONE_TAU if self.tau.ndim == 1 else LP.EACH_TAU)
        self.scratch, self.done = np.zeros(n + nv + LP.FAULT + n), np.zeros(1, np.int64)
        plan[LP.AT_NUM:LP.AT_DONE + 1] = [array.ctypes.data for array in (
            num, self.who, self.lane, self.vectors, self.atol, self.tau, self.scratch, self.done)]
        self.reduce = reduce
        self.kept = np.zeros((total, 1))
        self.Q0, self.P0 = states[:, :nq].copy(), states[:, nq:].copy()
        self.q, self.p = np.full((total, self.times.size, nq), np.nan), np.full((total, self.times.size, nv), np.nan)
        self.status, self.counts = np.full(total, -1), np.zeros((total, 2), np.int64)
        self.reached, self.failed_at = np.full(total, np.nan), np.full(total, np.nan)
        # constants of its own machine that a state brings along
        self.places, self.values, self.own = np.array([1]), np.arange(total, dtype=float)[:, None], np.zeros((3, LANES))
        self.table = {EVALUATE: self.names["evaluate_lanes"], ADVANCE: self.names[name],
                      SEEK: self.names["first_steps"]}
        plan[LP.NEXT], plan[LP.END] = 0, total

    # ---- what compiled code calls --------------------------------------------------------------------------------

    def _ordinary(self):
        """All functions of these files as ordinary Python, by name."""
        own = MEMORY | {"call": self._call, "call_user": self._call_user, "call_lanes": self._call_lanes,
                        "state_code": self._state_code, "lanes_at": self._lanes_at}
        modules = (stages, dopri5, gauss, lane_common, lane_steps, lane_run, core_lanes)
        scopes = {module.__name__: dict(vars(module)) for module in modules}

        def ordinary(value):
            """The same function in the scope of its own module; None for what is none of theirs."""
            function = getattr(value, "py_func", getattr(value, "_function", None))
            if not isinstance(function, FunctionType) or function.__module__ not in scopes:
                return None
            return FunctionType(function.__code__, scopes[function.__module__], function.__name__)

        made = {}
        for module in modules:
            found = {name: ordinary(value) for name, value in vars(module).items()}
            own_names = {name: value for name, value in found.items() if value is not None}
            scopes[module.__name__].update(own_names)
            scopes[module.__name__].update({name: value for name, value in own.items() if name in vars(module)})
            made |= own_names
        return made

    def _lanes_at(self, address, size):
        """Behind the vectors are joint forces, which compiled code reaches without a look at lengths."""
        whole = address == self.vectors.ctypes.data and size == LP.VECTORS * self.plan[LP.N]
        return self.vectors if whole else rows(address, size)

    def _call(self, address, arguments):
        return self.table[address](*arguments)

    def _call_user(self, address, t, q, p, out, index, done):
        nq, nv = self.Q0.shape[1], self.P0.shape[1]
        function, size = (self.tau_call, nv) if address == TAU_CALL else (self.reduce, 1)
        try:
            function(t, view(q, nq), view(p, nv), view(out, size), index)
        except ValueError:
            return
        view(done, 1, ctypes.c_int64)[0] = 1

    def _call_lanes(self, rhs, t, y, tau, out, codes, block, own, work):
        n, nv = self.plan[LP.N], self.P0.shape[1]
        times, states, slopes, found = rows(t, 1)[0], rows(y, n), rows(out, n), rows(codes, 1)[0]
        for k in range(LANES):
            found[k] = 0.0
            try:
                slope = np.array(self.f(times[k], states[:, k].copy()), float)
            except ValueError:
                found[k], slope = BAD_STATE, np.zeros(n)
                states[:, k] = 0.0  # harmless, as the compiled one does
                if tau:
                    rows(tau, nv)[:, k] = 0.0
            if tau:
                slope[n - nv:] += rows(tau, nv)[:, k]
            slopes[:, k] = slope

    def _state_code(self, block, t, y, tau, k):
        return BAD_STATE if self.who[LP.STATE, k] in self.refused else OK

    # ---- running -------------------------------------------------------------------------------------------------

    def chunk(self, budget=1):
        """So many steps; the code of `plan`."""
        self.plan[LP.BUDGET] = budget
        return self.names["run_lanes"](
            self.plan, self.num, self.who, self.lane, self.vectors, self.Q0, self.P0, self.places, self.values,
            self.own, self.times, self.q, self.p, self.kept, self.status, self.reached, self.failed_at, self.counts,
            self.scratch, self.done)

    def run(self, most=100_000):
        """To the end."""
        assert self.chunk(most) == P.FINISHED
        return self

    def vector(self, which, k):
        """A vector of lane k."""
        n = self.plan[LP.N]
        return self.vectors[which * n:(which + 1) * n, k].copy()
