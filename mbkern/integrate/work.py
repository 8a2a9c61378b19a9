"""What forces, dampers and drives did to the energy along a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..callbacks import wants_speeds
from ..core.checks import OK
from ..errors import IntegrationError
from ..explain import CODES
from ..inputs import Array
from ..methods import METHODS
from ..workspace.frame import make_frame
from .kernels import work as kernels

if TYPE_CHECKING:
    from ..model.model import Model
    from .solution import Solution


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
    m = solution.t.size
    out = np.zeros((m, kernels.KINDS))
    if m > 1:
        y = np.hstack((solution.q, solution.p))
        frame = make_frame(system, acting.tau, acting.wrench)
        block = system.njit()[1]  # writeable, as everywhere: another type would compile all kernels again
        rhs = METHODS["emh-ldl"].native_for(block).address
        code = kernels.work_along(frame.address, frame.user, rhs, block, driven(system.model), solution.t,
                                  y.reshape(-1), _parts(solution), np.zeros(kernels.VECTORS * y.shape[1]),
                                  np.zeros((7, kernels.ERROR)), np.zeros(3), out.reshape(-1), system.work())
        if code != OK:
            raise IntegrationError("work(): the right-hand side has no value somewhere between the outputs: "
                                   f"{CODES[code][1] if code < len(CODES) else 'several reasons'}")
    loads, dampers, drives, error = np.ascontiguousarray(out.T)
    return Work(loads, dampers, drives, float(error.max(initial=0.0)))


def driven(model: Model) -> bool:
    """Whether a joint of the model is driven."""
    return any(element.is_driven for body in model.body_specs for element in body.joint.elements)


def _parts(solution: Solution) -> Any:
    """How many steps lead from each output to the next: about as many as the run itself took."""
    t = solution.t
    step = abs(t[-1] - t[0]) / max(solution.n_accepted, t.size - 1, 1)
    return np.maximum(1, np.ceil(np.abs(np.diff(t)) / step - 1e-6)).astype(np.int64)
