"""Operations called from Python: the quick way, and the way that explains.

A `Call` is an operation of a system for a choice of its optional arguments. It hands arrays as they are to one compiled
function (:mod:`mbkern.core.entry`), which looks at everything. Only when that says no, Python converts the arguments,
tries again, and says what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs
from ..core import checks, entry
from ..errors import StateError
from ..explain import failure
from ..inputs import Array
from ..locks import COMPILING
from ..methods import METHODS
from ..operations import Argument, Operation
from ..waits import task
from . import places

if TYPE_CHECKING:
    from ..model.model import Model
    from ..system import System

_empty = np.empty
Answer = Any  # an array, or a tuple of them

_RUN = """
def run(t, out, {inputs}):
    try:
        own = pop()
    except IndexError:
        own = new_frame()
    try:
        {results} = ({new}) if out is None else out
        code = entry(own, t, {inputs}, {results})
    except (TypeError, ValueError):  # arguments that are not plain float64 arrays
        code = BAD_SHAPE
    append(own)
    return explain(t, out, ({inputs},)) if code else ({results})
"""


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

    Attributes
    ----------
    entry : compiled function
        entry(frame, t, inputs ..., results ...) -> code, see :mod:`mbkern.core.entry`.
    idle : list of int
        Addresses of its frames that nobody uses now.
    run : callable
        run(t, out, inputs ...): the results, an array or a tuple of arrays, in `out` where that is given.
    """

    def __init__(self, system: System, operation: Operation, given: tuple[str, ...], size: int = 0) -> None:
        self.system, self.operation = system, operation
        self.inputs = tuple([argument for argument in operation.inputs if argument.name in given])
        assert all(argument.optional for argument in operation.inputs if argument not in self.inputs)
        arrays = (*self.inputs, *operation.results)
        all_arguments = (*operation.inputs, *operation.results)
        shapes = [argument.shape_for(system.model) for argument in arrays]
        with task(operation.called, system), COMPILING:
            function = operation.compiled.one.address
            self.entry = entry.entry_for(tuple([len(shape) for shape in shapes]))
        words = [function, len(self.inputs), int(operation.loses_digits), id(np.ndarray),
                 *[all_arguments.index(argument) for argument in arrays],
                 *[number for shape in shapes for number in shape]]
        self._plan = np.array(words, np.int64)
        self._size = size
        self.idle: list[int] = []
        self.run = self._compiled_run()

    # ---- the quick way -------------------------------------------------------------------------------------------

    def _compiled_run(self) -> Callable[..., Answer]:
        """`run`, with as many arguments as the operation has: to collect and spread them takes a tenth of a call."""
        inputs = ", ".join([argument.name for argument in self.inputs])
        shapes = [result.shape_for(self.system.model) for result in self.operation.results]
        results = ", ".join([f"result{i}" for i in range(len(shapes))])
        new = ", ".join([f"empty({shape})" for shape in shapes])
        names: dict[str, Any] = dict(
            pop=self.idle.pop, append=self.idle.append, entry=self.entry, explain=self.explain,
            new_frame=self.new_frame, empty=np.empty, BAD_SHAPE=checks.BAD_SHAPE)
        exec(_RUN.format(inputs=inputs, results=results, new=new), names)
        run: Callable[..., Answer] = names["run"]
        return run

    def new_frame(self) -> int:
        """Address of a new frame."""
        return self.system.binding.new_frame(self._size, self._plan.ctypes.data)

    # ---- the way that explains -----------------------------------------------------------------------------------

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
            code = self.entry(frame, t, *arrays, *answers)
            if code == checks.LOSSY:
                self.warn_of_loss(t, arrays, system.binding.work_of(frame), depth)
            elif code != checks.OK:
                raise failure(system.model, system.block, system.binding.work_of(frame), code, t)
        finally:
            self.idle.append(frame)
        return answers[0] if len(answers) == 1 else answers

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
