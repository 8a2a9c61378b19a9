"""A run whose steps are kept, all or some of them, and the adjoint along them; see :mod:`.gradient`."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from ..core import constants as L
from ..errors import IntegrationError, NotEnoughMemoryError
from ..inputs import Array
from ..integrate import memory, options
from ..integrate.driver import Run
from ..integrate.kernels import adjoint
from ..integrate.kernels import plan as P
from ..integrate.problem import problem_of
from ..integrate.simulate import KEPT
from ..locks import COMPILING
from ..waits import task
from .constants import Constants
from .desk import Desk
from .kernels import desk as D

if TYPE_CHECKING:
    from ..system import System

PIECE = 2000  # steps of one call into compiled code: Python looks around between them
EXPLICIT_STAGES = {P.RK4: 4, P.DOPRI5: 6}
VECTORS = 10  # of the way back, see `kernels.adjoint`
BUFFER_NUMBERS = 2**16  # of the rows that an adaptive run writes between two looks around
NOTHING: Array = np.empty(0)
NO_WORDS: NDArray[np.int64] = np.empty(0, np.int64)

_NUMBERS, _WORDS = types.Array(types.float64, 1, "C"), types.Array(types.int64, 1, "C")
_FORWARD = (types.int64, _NUMBERS, _NUMBERS, _WORDS, types.int64, types.int64, _NUMBERS)
_SIGNATURES = {adjoint.forward: _FORWARD, adjoint.backward: (*_FORWARD, _WORDS, *[_NUMBERS] * 4)}
_READY: set[Any] = set()


def _compiled(function: Any) -> Any:
    """The function, compiled for its signature alone."""
    if function not in _READY:
        with COMPILING:
            if not function.signatures:
                function.compile(_SIGNATURES[function])
                function.disable_compile()
            _READY.add(function)
    return function


class Piece:
    """Steps `first` to `last` (not included): their rows, or the state to take them again from."""

    def __init__(self, first: int, last: int, rows: Array | None, begin: Array) -> None:
        self.first, self.last, self.rows, self.begin = first, last, rows, begin


class Tape:
    """Memory for runs of one system by one integrator and for the way back; it serves for one after the other.

    Parameters
    ----------
    system : System
    method : Integrator
    wrenches : bool
        Whether wrenches will act.

    Attributes
    ----------
    constants : Constants
        What the gradient may be taken by.
    steps, kept : int
        Steps of the last run; those that are kept, or can be taken again from a state that is.
    """

    def __init__(self, system: System, method: options.Integrator, wrenches: bool) -> None:
        self.key = _key(method, wrenches)
        self.problem, self.method = problem_of(system, wrenches=wrenches), method
        self.frame, self.n, self.nv = self.problem.alive, self.problem.size, system.model.nv
        stages = method.stages if method.kind == P.GAUSS else EXPLICIT_STAGES[method.kind]
        self.row = max(1, self.n) * (1 + stages)
        self.desk = Desk(system.model, self.frame, slots=method.stages if method.kind == P.GAUSS else 1, gradient=True,
                         wrenches=wrenches)
        self.run = Run(self.problem, method)
        self.constants = Constants(system.model, self.desk.nodes)
        self.room: Array = np.zeros(VECTORS * self.n)
        self.derived = self._wired()
        self.buffer: Array = np.empty((0, self.row))
        self.steps = self.kept = 0

    def _wired(self) -> NDArray[np.int64]:
        """The plan of derivatives."""
        plan = np.zeros(P.QUATERNIONS, np.int64)
        plan[adjoint.PULL] = self.desk.pull_function.address
        for word, place in ((adjoint.SLOT, D.SLOT), (adjoint.AGAIN, D.AGAIN), (adjoint.TRIAL, D.TRIAL)):
            plan[word] = self.desk.address + 8 * place
        plan[P.DESK], plan[P.STATUS] = self.desk.address, self.desk.address + 8 * D.CODE
        self.run.plan[P.AT_TANGENT] = plan.ctypes.data
        return plan

    def begin(self, y0: Array, tau: Any, wrench: Any, forces: Array, bounds: Array, sums: bool,
              most: float | None) -> None:
        """Say where a run begins and what acts.

        `forces` (m, nv) are numbers of m parts of the time, if there are any, with these bounds between them; `sums`:
        whether a gradient by constants is wanted; `most`: bytes for rows, by default a part of the memory that is free.
        """
        self.frame.load(np.zeros(self.nv) if forces.size else tau, wrench)
        self.desk.know_forces(self.frame.functions)
        self.desk.sum_up(sums)
        self.derived[adjoint.SUMS], self.derived[adjoint.KNOWN] = sums, 0
        self.forces, self.bounds, self._most = forces, np.sort(bounds) if bounds.size else bounds, most
        self.pieces: list[Piece] = []
        self.run.place(y0)

    def _limit(self, wanted: float) -> float:
        """Bytes for rows; to ask the system takes as long as a short run."""
        if self._most is not None:
            return self._most
        return math.inf if wanted <= memory.SMALL else memory.limit()

    # ---- forward -----------------------------------------------------------------------------------------------------
    def take_steps(self, times: Array, at: Any) -> Array:
        """Steps from each of the times to the next; the states at these places of the times."""
        self._know(times)
        n, steps, run, states = self.n, self.steps, self.run, np.empty((at.size, self.n))
        stride, most = steps, self._limit(8.0 * steps * self.row)
        if 8.0 * steps * self.row > most:
            stride = max(1, math.ceil(math.sqrt(steps * n / self.row)))
            needed = 8.0 * (stride * self.row + n * (steps / stride + 1))
            if needed > most:
                raise NotEnoughMemoryError(
                    f"gradient: {steps} steps need {memory.gigabytes(needed)} with a checkpoint every {stride} "
                    f"steps, the limit is {memory.gigabytes(most)}; take longer steps, or more max_memory")
        run.prepare(float(times[0]), float(times[-1]))
        for first in range(0, steps, stride):
            last, begin = min(first + stride, steps), run.y.copy()
            rows = self._stepped(first, last)
            self.pieces.append(Piece(first, last, rows if last == steps else None, begin))
            inside = (at >= first) & (at < last)
            states[inside] = rows.reshape(-1, self.row)[at[inside] - first, :n]
        states[at == steps] = run.y
        self.kept = steps if stride == steps else len(self.pieces)
        return states

    def _know(self, times: Array) -> None:
        """Times of all steps, and the forces of each."""
        self.times, self.steps = times, times.size - 1
        self.which = np.zeros(self.steps, np.int64)
        if self.bounds.size:
            self.which[:] = np.searchsorted(self.bounds, 0.5 * (times[:-1] + times[1:]))
            if times[-1] < times[0]:
                self.which = self.bounds.size - self.which

    def _stepped(self, first: int, last: int) -> Array:
        """Rows of the steps first to last, taken from the state of the run."""
        rows, forward, run, size = np.empty((last - first) * self.row), _compiled(adjoint.forward), self.run, self.row
        forces, begin = self.forces.reshape(-1), first
        while begin < last:
            end = min(begin + PIECE, last)
            part = rows[(begin - first) * size:(end - first) * size]
            code = forward(run.address, self.times, forces, self.which, begin, end, part)
            begin = int(run.plan[P.NEXT_EVAL])
            if code == P.NEED_MATRIX:
                run.make_matrices()
            elif code != P.FINISHED:
                run.num[P.T] = self.times[begin]
                self._refuse(code)
        return rows

    def _refuse(self, code: int) -> None:
        message, cause = self.run.failure(code)
        raise IntegrationError(f"gradient: the run {message}") from cause

    def choose_steps(self, stops: Array, step: float, rtol: float, atol: Any) -> Array:
        """Steps that the error chooses, of which one ends at every stop; the states there."""
        run, plan, n, states = self.run, self.run.plan, self.n, np.empty((stops.size, self.n))
        most = self._limit(0.0)
        room = int(min(run.rows_of_steps - 1, max(1.0, BUFFER_NUMBERS // self.row), max(1.0, most / (16 * self.row))))
        if self.buffer.shape[0] != room + 1:
            self.buffer = np.empty((room + 1, self.row))
            self.derived[adjoint.ROWS] = self.buffer.ctypes.data
        times, size = [stops[:1]], 0.0
        self.steps, self.kept, states[0] = 0, 0, run.y
        for k, (a, b) in enumerate(pairwise(stops.tolist())):
            self._let_act(0.5 * (a + b), b > a)
            run.prepare(a, b, step=math.copysign(min(step, abs(b - a)), b - a), rtol=rtol, atol=atol, save_every=1)
            plan[P.FOLLOW], plan[P.OUT_ROOM] = adjoint.keep.address, room + 1
            code, first = run.start(), 1  # the state to begin with is in the first row
            while code == P.MORE:
                code = run.chunk(PIECE)
                if code not in (P.MORE, P.FINISHED):
                    self._refuse(code)
                last = int(plan[P.ROWS])
                if last > first:
                    times.append(run.out_t[first:last].copy())
                    wanted = 8.0 * (last - first) * self.row
                    keep = size + wanted <= self._limit(size + wanted)
                    size += wanted if keep else 8.0 * n
                    if not keep and size > 2.0 * self._limit(size):
                        raise NotEnoughMemoryError(
                            f"gradient: {self.steps} steps so far, at t = {float(times[-1][-1]):g} s, need more than "
                            f"{memory.gigabytes(most)}; loosen the tolerances, or give more max_memory")
                    self._add_piece(self.buffer[first:last], keep)
                plan[P.ROWS], first = 0, 0
            states[k + 1] = run.y
        plan[P.FOLLOW] = 0
        self._know(np.concatenate(times))
        return states

    def _let_act(self, t: float, forth: bool) -> None:
        """Let the forces of this time act, where they are numbers."""
        if self.forces.size:
            k = int(np.searchsorted(self.bounds, t))
            at = int(self.frame.array[L.AT_LOADS])
            self.frame.array[at:at + self.nv] = self.forces[k if forth else len(self.bounds) - k]

    def _add_piece(self, rows: Array, keep: bool) -> None:
        first, count = self.steps, len(rows)
        self.pieces.append(Piece(first, first + count, rows.flatten() if keep else None, rows[0, :self.n].copy()))
        self.steps, self.kept = first + count, self.kept + (count if keep else 1)

    # ---- back --------------------------------------------------------------------------------------------------------
    def back(self, at: Any, bars: Array) -> tuple[Array, Array]:
        """Weights of the beginning, and of the forces, for weights `bars` of the states at these places of the times.
        """
        sample = np.full(self.steps + 1, -1, np.int64)
        sample[at] = np.arange(at.size)
        weights, by_force = np.zeros(self.n), np.zeros((max(1, len(self.forces)), self.nv))
        backward, size = _compiled(adjoint.backward), self.row
        given, forces, out = np.ascontiguousarray(bars).reshape(-1), self.forces.reshape(-1), by_force.reshape(-1)
        for piece in reversed(self.pieces):
            first, end, rows = piece.first, piece.last, piece.rows
            if rows is None:
                self.run.rewind()
                self.run.place(piece.begin)
                rows = self._stepped(first, end)
            while end > first:
                begin = max(first, end - PIECE)
                part = rows[(begin - first) * size:(end - first) * size]
                code = backward(self.run.address, self.times, forces, self.which, begin, end, part, sample, given,
                                weights, out, self.room)
                if code == P.NEED_MATRIX:
                    self._make_matrices()
                    begin = int(self.run.plan[P.NEXT_EVAL])
                elif code != P.FINISHED:
                    raise IntegrationError(f"gradient: no derivative at t = {self.run.num[P.T_BAD]:.9g} s: "
                                           f"{self.problem.explain(int(self.run.plan[P.CODE]), 0.0)}")
                end = begin
        if sample[0] >= 0:
            weights += bars[sample[0]]
        return weights, by_force

    def _make_matrices(self) -> None:
        """What the way back needs where a Gauss method has needed Newton's iteration."""
        plan, n, stages = self.derived, self.n, self.method.stages
        self.matrix, self.pivots = np.empty((stages**2 + stages) * n * n), np.empty(stages * n, np.int64)
        plan[P.JACOBIAN] = self.desk.jacobian_function.address
        plan[P.AT_MATRIX], plan[P.MATRIX_SIZE] = self.matrix.ctypes.data, self.matrix.size
        plan[P.AT_PIVOTS] = self.pivots.ctypes.data

    def let_go(self) -> None:
        """Give up all memory that depends on what was asked for."""
        self.pieces, self.times, self.which = [], NOTHING, NO_WORDS
        self.frame.unload()
        self.run.let_go()
        self.run.plan[P.FOLLOW] = self.derived[P.JACOBIAN] = 0
        self.matrix, self.pivots = NOTHING, NO_WORDS


def _key(method: options.Integrator, wrenches: bool) -> str:
    return f"gradient {method.name} {wrenches}"


def lend(system: System, method: options.Integrator, wrenches: bool) -> Tape:
    """A tape, from an earlier gradient if there is any; who is done gives it back."""
    try:
        tape: Tape = system.binding.runs[_key(method, wrenches)].pop()
    except (KeyError, IndexError):
        with task(method.name, system):
            tape = Tape(system, method, wrenches)
    return tape


def give_back(system: System, tape: Tape) -> None:
    """Keep its memory for another gradient."""
    tape.let_go()
    if tape.n <= KEPT:
        system.binding.runs.setdefault(tape.key, []).append(tape)
