"""Tangents of a run: memory for compiled code, and between coordinates and tangents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs, lazy
from ..core.checks import ANGLE_LIMIT
from ..errors import IntegrationError, StateError
from ..inputs import Array
from ..model.checks import show
from ..model.model import Model
from . import memory
from .kernels import plan as P

if TYPE_CHECKING:
    from ..system import System
    from .driver import Run
    from .solution import Solution

BUFFER_NUMBERS = 2**18  # of the output buffer
FEW = 4  # rows that it has at least


class Tangents:
    """The arrays of tangents that a run carries along, see `kernels.tangent`.

    Parameters
    ----------
    system : System
    run : Run
        What it is to integrate is known.
    first : (nq + nv, k)
        At the beginning, in coordinates.
    rows : int
        Of the output, as far as known; 0 where it is not.

    Attributes
    ----------
    address : int
        Of their plan.
    room : int
        Rows of the output buffer.
    out : (room, nq + nv, k)
    now : (nq + nv, k)
        The current ones (a view).
    """

    def __init__(self, system: System, run: Run, first: Array, rows: int) -> None:
        variational = lazy.module("variational")
        desk = lazy.module("variational.kernels.desk")
        n, columns = first.shape
        size, stages = n * columns, run.integrator.stages
        times = run.plan[P.OUTPUT] == P.TIMES
        if memory.exceeded_by(8.0 * size * rows):
            raise StateError(
                f"tangent: {rows} matrices of {n} x {columns} would take {memory.gigabytes(8.0 * size * rows)}, the "
                f"limit is {memory.gigabytes(memory.limit())} (a part of the memory that is free); keep fewer with "
                "t_eval or save_every")
        self.desk = variational.Desk(system.model, run.problem.alive, columns)
        self.plan = np.zeros(P.QUATERNIONS, np.int64)
        self.work: Array = np.zeros(P.VECTORS * size)
        self.room = rows if times else max(FEW, min(1024, BUFFER_NUMBERS // max(size, 1)))
        self.out: Array = np.empty((self.room, n, columns))
        self.now: Array = self.work[:size].reshape(n, columns)
        self.now[:] = first
        if times:
            if rows and run.times[0] == run.num[P.T0]:
                self.out[0] = first
        elif run.plan[P.OUTPUT] == P.STEPS:
            self.out[0] = first
        plan = self.plan
        plan[P.METHOD], plan[P.STAGES], plan[P.N] = run.integrator.kind, stages, size
        plan[P.AT_WORK], plan[P.AT_OUT_Y] = self.work.ctypes.data, self.out.ctypes.data
        plan[P.VARIATION], plan[P.DESK] = self.desk.variation_function.address, self.desk.address
        plan[P.STATUS] = self.desk.address + 8 * desk.CODE
        if run.integrator.kind == P.GAUSS:
            self.matrix: Array = np.empty((stages**2 + stages) * n * n)
            self.pivots = np.empty(stages * n, np.int64)
            plan[P.JACOBIAN] = self.desk.jacobian_function.address
            plan[P.AT_MATRIX], plan[P.MATRIX_SIZE] = self.matrix.ctypes.data, self.matrix.size
            plan[P.AT_PIVOTS] = self.pivots.ctypes.data
        self.address: int = plan.ctypes.data


def first_tangents(system: System, tangent: Any, q0: Any, control_step: Any) -> Array:
    """The tangents at the beginning, in coordinates, from True or a matrix (2 nv, k)."""
    model = system.model
    columns = increments(system, tangent, control_step)
    q = inputs.configuration(q0, model, "q0").copy()
    for at in model.quaternion_offsets:
        q[at:at + 4] /= np.linalg.norm(q[at:at + 4])
    return in_coordinates(model, q, columns)


def increments(system: System, tangent: Any, control_step: Any) -> Array:
    """The same as tangents (2 nv, k)."""
    model = system.model
    lazy.module("variational").needs_momenta(system.variable, "tangent")
    if control_step is not None:
        raise StateError("tangent: joint forces of a controller in Python (control_step) have no derivative; give tau "
                         "as an njit function with mb.forces.with_derivative")
    if isinstance(tangent, bool | np.bool_):
        columns = np.eye(2 * model.nv)
    else:
        shape = np.shape(tangent)
        if len(shape) != 2 or shape[0] != 2 * model.nv or shape[1] == 0:
            got = show(tangent) if len(shape) == 0 else f"shape {shape}"
            raise StateError(f"tangent: expected True, or a matrix of shape (2 nv, k) = ({2 * model.nv}, k), got {got}")
        columns = inputs.real_array(tangent, "tangent", shape, "increments (tangent of q, p) as columns")
        if not np.isfinite(columns).all():
            raise StateError("tangent: expected finite numbers")
    return columns


def unit_state(system: System, q0: Any, p0: Any, what: str) -> Array:
    """y = (q, p), validated, with quaternions of length one; `what` needs momenta."""
    model = inputs.system(system).model
    lazy.module("variational").needs_momenta(system.variable, what)
    if _plain(q0, model.nq) and _plain(p0, model.nv) and not model.quaternion_offsets.size:
        y = np.concatenate((q0, p0))
        if np.abs(y).max(initial=0.0) <= ANGLE_LIMIT:  # not so for NaN; what is wrong is found below
            return y
    y = np.concatenate((inputs.configuration(q0, model, "q0"), inputs.vector(p0, "p0", model.speed_names)))
    for at in model.quaternion_offsets:
        y[at:at + 4] /= np.linalg.norm(y[at:at + 4])
    return y


def _plain(x: Any, size: int) -> bool:
    """Whether this is an array of so many numbers, as most are: to look closer takes as long as a short run."""
    return type(x) is np.ndarray and x.shape == (size,) and x.dtype == np.float64


def refuse_failed(run: Solution, text: str) -> None:
    """Raise where a run did not reach its end; what ctrl-C ended stays ended."""
    if run.status == "interrupted":
        raise KeyboardInterrupt(text)
    if not run.success:
        raise IntegrationError(text) from run.cause


def in_coordinates(model: Model, q: Array, columns: Array) -> Array:
    """Increments (dq, dp) in coordinates, (nq + nv, k), from tangents (2 nv, k) at q."""
    nv = model.nv
    N = lazy.module("derivatives.jacobian").charts(model, q, np.zeros(nv))[0]
    return np.ascontiguousarray(np.vstack([N @ columns[:nv], columns[nv:]]))


def in_tangents(model: Model, q: Array, D: Array) -> Array:
    """Tangents (m, 2 nv, k) from increments in coordinates, (m, nq + nv, k), at configurations (m, nq)."""
    if not model.quaternion_offsets.size:
        return D
    nq, nv = model.nq, model.nv
    out = np.empty((len(D), 2 * nv, D.shape[2]))
    out[:, nv:] = D[:, nq:]
    for qi, vi, turn, at, floats in lazy.module("derivatives.jacobian").charted_nodes(model):
        if at < 0:
            out[:, vi] = D[:, qi]
        else:
            w, x, y, z = q[:, at:at + 4].T
            half = 2.0 * np.stack([np.stack([-x, w, z, -y]), np.stack([-y, -z, w, x]), np.stack([-z, y, -x, w])])
            out[:, turn:turn + 3] = np.einsum("abm,mbk->mak", half, D[:, at:at + 4])
            if floats:
                R = np.stack([np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)]),
                              np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)]),
                              np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])])
                out[:, vi:vi + 3] = np.einsum("abm,mak->mbk", R, D[:, qi:qi + 3])
    return out


def refuse_dissipation(model: Model, functions: list[str], what: str) -> None:
    """Raise a StateError where phase space is not conserved."""
    if model.damping.any():
        worst = model.speed_names[int(np.argmax(model.damping))]
        raise StateError(f"{what}: the machine is dissipative (damping of {worst!r}): its flow is not symplectic")
    if functions:
        raise StateError(f"{what}: {functions[0]} is a function of the state that nothing makes conservative: the "
                         "flow need not be symplectic")


def symplectic_error(solution: Solution) -> float:
    """See `Solution.symplectic_error`."""
    model, Phi, nv = solution.system.model, solution.tangent, solution.system.model.nv
    loads = solution._loads
    functions = [name for name, load in (("tau", loads.tau), ("wrench", loads.wrench)) if callable(load)]
    if loads.wrench is not None and not functions:
        functions = ["wrench"]
    refuse_dissipation(model, functions, "symplectic_error")
    if model.constraints:
        raise StateError("symplectic_error: with constraints the invariant form is that of the motion on them, and of "
                         "the columns of a tangent only those that satisfy them have it")
    if model.quaternion_offsets.size:
        raise StateError("symplectic_error: momenta of ball and free joints are in body axes, where the invariant form "
                         "is not constant; describe the machine with rotations and translations (mb.euler_ball)")
    if Phi.shape[1] != Phi.shape[2]:
        raise IntegrationError("symplectic_error: expected a run with tangent=True, this one has columns of its own")
    J = np.block([[np.zeros((nv, nv)), np.eye(nv)], [-np.eye(nv), np.zeros((nv, nv))]])
    return float(np.abs(np.swapaxes(Phi, 1, 2) @ J @ Phi - J).max(initial=0.0))
