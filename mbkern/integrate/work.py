"""What forces, dampers and drives did to the energy along a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..callbacks import wants_speeds
from ..core.checks import OK
from ..errors import IntegrationError
from ..explain import CODES
from ..inputs import Array
from ..methods import METHODS
from ..workspace.frame import make_frame
from .kernels import work as kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.model import Model
    from .solution import Solution

ACCURACY = 1e-8  # of all that is done, summed up: errors of the integrals below that are not worth more steps
MOST_STEPS, SHORTER = 20, 4  # how many times those of the run, and what steps that are too long are divided by


class Loads(NamedTuple):
    """The forces of a run, as `simulate` got them.

    Attributes
    ----------
    tau, wrench
        None, numbers, or functions.
    known : bool
        False where something acted that the solution does not have: it came from a controller in Python, is a state of
        a batch with a force function of its own, or was read from a file.
    """

    tau: Any = None
    wrench: Any = None
    known: bool = True

    @property
    def act(self) -> bool:
        """Whether there are any."""
        return self.tau is not None or self.wrench is not None or not self.known


def loads_at(solution: Solution, k: int) -> tuple[Any, Any]:
    """tau and wrench at output k of a run, if it knows them."""
    if not solution._loads.known:
        raise IntegrationError("forces in the joints follow from tau and wrench, which this Solution does not have: "
                               "they came from a controller in Python, a batch or a file")
    model, t, q, x = solution.system.model, float(solution.t[k]), solution.q[k], solution.p[k]

    def value(load: Any, shape: tuple[int, ...]) -> Any:
        if load is None or not callable(load):
            return load
        out = np.zeros(shape)
        load(t, q, x, *[solution.u[k]] if wants_speeds(load) else [], out)
        return out

    return value(solution._loads.tau, (model.nv,)), value(solution._loads.wrench, (model.n_bodies, 6))


class Work(NamedTuple):
    """What changed the Hamiltonian since the first output, in joules; `Solution.work`.

    Attributes
    ----------
    loads : (m,)
        Work of tau and wrenches on the joint speeds u.
    dampers : (m,)
        Work of the model's dampers: falling.
    drives : (m,)
        What prescribed motion changed: the integral of the partial derivative of H by t.
    error : float
        Estimate of the error of these integrals at the end (it adds up over the steps, so it is a careful one).
    """

    loads: Array
    dampers: Array
    drives: Array
    error: float

    @property
    def total(self) -> Array:
        """The sum of all: what H should have changed by."""
        return self.loads + self.dampers + self.drives


def work_along(solution: Solution) -> Work:
    """See `Solution.work`."""
    acting, system = solution._loads, solution.system
    if system.variable != "p":  # the same forces act on the same motion in (q, p)
        system = type(system)(system.model, "emh-ldl")
    if not acting.known:
        raise IntegrationError("work(): the forces of this run are not known: they came from a controller in Python, "
                               "or it is a state of a batch with a force function, or was read from a file that does "
                               "not have their work")
    t, y, parts = solution.t, np.hstack((solution.q, solution.p)), _parts(solution)
    frame = make_frame(system, acting.tau, acting.wrench)
    block, work = system.njit()[1], system.work()  # writeable, as everywhere: another type would compile kernels again
    rhs, drives = METHODS["emh-ldl"].native_for(block).address, driven(system.model)
    x, powers, energies = np.zeros(kernels.VECTORS * y.shape[1]), np.zeros((7, kernels.ERROR)), np.zeros(3)

    def integrals(begin: int, end: int, parts: NDArray[np.int64]) -> Array:
        """The rows from output `begin` to `end`, the first of them zero."""
        out = np.zeros((end - begin, kernels.KINDS))
        code = kernels.work_along(frame.address, frame.user, rhs, block, drives, t[begin:end], y[begin:end].reshape(-1),
                                  parts, x, powers, energies, out.reshape(-1), work)
        if code != OK:
            raise IntegrationError("work(): the right-hand side has no value somewhere between the outputs: "
                                   f"{CODES[code][1] if code < len(CODES) else 'several reasons'}")
        return out

    out = _refined(integrals, integrals(0, t.size, parts), parts) if t.size > 1 else np.zeros((t.size, kernels.KINDS))
    loads, dampers, by_drives, error = np.ascontiguousarray(out.T)
    return Work(loads, dampers, by_drives, float(error.max(initial=0.0)))


def _refined(integrals: Callable[[int, int, NDArray[np.int64]], Array], out: Array, parts: NDArray[np.int64]) -> Array:
    """Rows of work whose errors are small, or are not to be had with `MOST_STEPS` times as many steps.

    Outputs may be far apart where a run took many short steps, at a stop or at a stick: there its average step is too
    long. The steps between two such outputs become shorter and shorter.
    """
    rows = np.diff(out, axis=0)
    goal = ACCURACY / len(rows) * np.abs(rows[:, :kernels.ERROR]).sum()
    left = MOST_STEPS * int(parts.sum())
    changed = False
    for i in np.argsort(-rows[:, kernels.ERROR]).tolist():
        n = int(parts[i])
        while rows[i, kernels.ERROR] > goal and left > SHORTER * n:
            n *= SHORTER
            left -= n
            rows[i], changed = integrals(i, i + 2, np.array([n], np.int64))[1], True
    return np.vstack((out[:1], np.cumsum(rows, axis=0))) if changed else out


def driven(model: Model) -> bool:
    """Whether a joint of the model is driven."""
    return any(element.is_driven for body in model.body_specs for element in body.joint.elements)


def _parts(solution: Solution) -> Any:
    """How many steps lead from each output to the next: about as many as the run itself took."""
    t = solution.t
    step = abs(t[-1] - t[0]) / max(solution.n_accepted, t.size - 1, 1)
    return np.maximum(1, np.ceil(np.abs(np.diff(t)) / step - 1e-6)).astype(np.int64)
