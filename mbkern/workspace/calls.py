"""Operations called from Python: the quick way, and the way that explains.

A `Call` is an operation of a system for a choice of its optional arguments. Its `run` is a built-in function of Python
(:mod:`.builtin`), which hands arrays as they are to the operation, and looks at everything. Only when that says no,
Python converts the arguments, tries again, and says what is wrong with them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs
from ..core import checks
from ..errors import StateError
from ..explain import failure
from ..inputs import Array
from ..locks import COMPILING
from ..methods import METHODS
from ..operations import Argument, Operation
from ..waits import task
from . import builtin, interpreter, places

if TYPE_CHECKING:
    from ..model.model import Model
    from ..system import System

_empty = np.empty
Answer = Any  # an array, or a tuple of them

LONG = 20_000  # numbers of a frame whose operations take so long that other threads should go on meanwhile

_operation = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_double, *[ctypes.c_ssize_t] * 3)


class Call:
    """An operation of a system, ready to be called.

    Parameters
    ----------
    system : System
    operation : Operation
    given : sequence of str
        Names of the inputs that a call gives; the optional ones may be missing.
    size : int
        Numbers of the workspace that it needs.
    named : class of named tuples, optional
        What `run` returns the numbers of its one result as.

    Attributes
    ----------
    idle : list of int
        Addresses of frames that `explain` has used.
    run : callable
        run(t, out, inputs ...): the results, an array or a tuple of arrays, in `out` where that is given.
    """

    def __init__(self, system: System, operation: Operation, given: tuple[str, ...], size: int = 0,
                 named: Any = None) -> None:
        self.system, self.operation, self._named = system, operation, named
        self.inputs = tuple([argument for argument in operation.inputs if argument.name in given])
        assert all(argument.optional for argument in operation.inputs if argument not in self.inputs)
        arrays = (*self.inputs, *operation.results)
        all_arguments = (*operation.inputs, *operation.results)
        shapes = [argument.shape_for(system.model) for argument in arrays]
        with task(operation.called, system), COMPILING:
            self._function = operation.compiled.one.address
            self._size, self.idle = size, list[int]()
            self.run = self._quick([all_arguments.index(argument) for argument in arrays], shapes)

    # ---- the quick way -------------------------------------------------------------------------------------------

    def _quick(self, slots: list[int], shapes: list[tuple[int, ...]]) -> Callable[..., Answer]:
        """`run` as a built-in function; the slow one where Python's objects are not as compiled code takes them."""
        if not interpreter.known():
            return partial(self._explained, checks.BAD_SHAPE)
        binding = self.system.binding
        made: Callable[..., Answer] = builtin.function(
            self._function, list(zip(slots, shapes, strict=True)), len(self.inputs), self._explained,
            self.new_frame, work=binding.block.nbytes, releases=binding.block.size + self._size > LONG,
            losses=self.operation.loses_digits, named=self._named)
        return made

    def new_frame(self) -> int:
        """Address of a new frame."""
        return self.system.binding.new_frame(self._size)

    # ---- the way that explains -----------------------------------------------------------------------------------

    def _explained(self, code: int, t: Any, out: Any, *given: Any) -> Answer:
        """What the quick way asks when it cannot go on."""
        answer = self.explain(t, out, given)
        return answer if self._named is None else self._named(*answer.tolist())

    def explain(self, t: Any, out: Any, given: tuple[Any, ...], depth: int = 5) -> Answer:
        """The same for any input: converts what can be converted, says what is wrong with the rest.

        `depth`: how far above the caller of the public method is, for warnings.
        """
        system, results = self.system, self.operation.results
        t = inputs.time(t)
        arrays = [converted(value, argument, system.model) for value, argument in zip(given, self.inputs, strict=True)]
        k = next((len(x) for x, argument in zip(arrays, self.inputs, strict=True) if "k" in argument.shape), -1)
        shapes = [argument.shape_for(system.model, k) for argument in results]
        if out is None:
            answers: tuple[Array, ...] = tuple([_empty(shape) for shape in shapes])
        else:
            answers = inputs.results(out, [argument.name for argument in results], shapes)
            refuse_shared(answers, arrays, results, self.inputs)
        frame = self.idle.pop() if self.idle else self.new_frame()
        try:
            code = self._evaluate(frame, t, [*arrays, *answers])
            if code == checks.LOSSY:
                self.warn_of_loss(t, arrays, system.binding.work_of(frame), depth)
            elif code != checks.OK:
                raise failure(system.model, system.block, system.binding.work_of(frame), code, t)
        finally:
            self.idle.append(frame)
        return answers[0] if len(answers) == 1 else answers

    def _evaluate(self, frame: int, t: float, arrays: list[Array]) -> int:
        """Run the operation in a frame, on arrays that have been looked at."""
        operation, binding = self.operation, self.system.binding
        found = {argument.name: x for argument, x in zip(self.inputs, arrays, strict=False)}  # results are behind
        given = [found.get(argument.name) for argument in operation.inputs] + arrays[len(self.inputs):]
        words = np.array([(0, 0) if x is None else (x.ctypes.data, x.size) for x in given], np.int64)
        code = int(_operation(self._function)(t, words.ctypes.data, frame, frame + binding.block.nbytes))
        if code == checks.OK and operation.loses_digits and 0.0 < binding.loss_limit < loss_of(
                binding.block, binding.work_of(frame)):
            return checks.LOSSY
        return code

    def warn_of_loss(self, t: float, arrays: list[Array], work: Array, depth: int) -> None:
        """Look into the loss of digits that the operation has found, and warn."""
        system, (q, second) = self.system, arrays[:2]
        method = self.operation.method or system.method
        p = second if method in METHODS else system.momenta(q, second, t)
        system.watch.warn(method, loss_of(system.block, work), q, p, t, depth)
        system.binding.limit_loss(system.watch.limit)


def converted(value: Any, argument: Argument, model: Model) -> Array:
    """An input as an array that the operation takes; else an error that names it."""
    if argument.check == checks.BAD_Q:
        return inputs.configuration(value, model, argument.name)
    if argument.check == checks.BAD_WRENCH:
        return inputs.wrenches(value, model, argument.name)
    if argument.check == checks.BAD_X:
        return inputs.rows(value, argument.name, model.nv)
    if argument.check == checks.UNCHECKED:
        return inputs.real_array(value, argument.name, argument.shape_for(model), argument.about)
    return inputs.vector(value, argument.name, model.speed_names)


def refuse_shared(answers: tuple[Array, ...], arrays: list[Array], results: tuple[Argument, ...],
                  given: tuple[Argument, ...]) -> None:
    """An error when a result would be written over what is to be read."""
    for i, answer in enumerate(answers):
        for other, argument in (*zip(arrays, given, strict=True), *zip(answers[:i], results, strict=False)):
            if np.may_share_memory(answer, other):
                raise StateError(f"out: {results[i].name} shares memory with {argument.name}, which it would change "
                                 "while it is read; give an array of its own")


def loss_of(block: Array, work: Array) -> float:
    """Estimate of what the last operation has lost."""
    return float(work[places.loss_at(block)])
