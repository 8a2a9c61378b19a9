"""The table of operations: all that can be computed from a state, described once.

From a row of the table come the call from Python (`System`), the batched call, the function for other Numba code, the C
function, and the table in the documentation. A row names a kernel of the core, its arguments with their shapes and what
is checked, and its results. See :mod:`mbkern.core.operations` for what compiled code makes of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import lazy
from .core.checks import BAD_P, BAD_Q, BAD_TAU, BAD_U, BAD_UDOT, BAD_WRENCH, BAD_X, UNCHECKED
from .errors import MethodError
from .locks import COMPILING
from .model.checks import show
from .model.model import Model
from .workspace import places

OUTPUT = 0
OF_SINGLES = "_of_singles"


@dataclass(frozen=True)
class Argument:
    """An input or a result of an operation.

    Attributes
    ----------
    name : str
    shape : tuple
        Of "nq", "nv", "2 nv", "N" (bodies), "10 N", "m" (rows of constraints), "k" (any number, the same for all
        arguments) and numbers.
    check : int
        The code of :mod:`mbkern.core.checks` when an input is wrong; 0 for a result.
    about : str
        Meaning, unit and frame in a line.
    optional : bool
        Whether it may be left out.
    symmetric : bool
        Whether a result is a symmetric matrix; on lanes the kernel writes its lower half, see :mod:`.core.columns`.
    """

    name: str
    shape: tuple[str | int, ...]
    check: int
    about: str
    optional: bool = False
    symmetric: bool = False

    def shape_for(self, model: Model, k: int = -1) -> tuple[int, ...]:
        """The shape for a model."""
        sizes = {"nq": model.nq, "nv": model.nv, "2 nv": 2 * model.nv, "N": model.n_bodies,
                 "10 N": 10 * model.n_bodies, "m": model.n_rows, "k": k}
        return tuple([sizes[part] if isinstance(part, str) else part for part in self.shape])


@dataclass(frozen=True)
class Operation:
    """What is computed from what.

    Attributes
    ----------
    name : str
    about : str
        One line for people.
    module, function : str
        The kernel in :mod:`mbkern.core`: function(block, inputs ..., results ..., work).
    inputs, results : tuple of Argument
        In the order of the kernel; the first input is the configuration q.
    pivots : bool
        Whether the kernel divides by pivots, so that a machine can be singular for it.
    loses_digits : bool
        Whether the kernel leaves an estimate of its loss, see :mod:`mbkern.accuracy`.
    only_hinges : bool
        Whether it is for trees of hinges alone.
    singles : str
        "" or the function of its module for trees of single dofs, wrenches left out: the same bits, compiled sooner.
    with_rates : bool
        Whether qdot = N(q) u is a result before those of `function`, which takes joint speeds u.
    with_wrenches : str
        "" or which function of :mod:`mbkern.core.right_hand_sides` makes the kernel from `function`.
    method : str
        Of right-hand sides and accelerations: the name of the method.
    room : str
        "" when the scratch of all operations suffices, or which function of :mod:`mbkern.core.tangents` tells how many
        numbers its workspace has, from the block.
    alone_from : int
        From so many dofs on a batch goes state by state: what LANES of them need does not fit the cache. 0: never.
    """

    name: str
    about: str
    module: str
    function: str
    inputs: tuple[Argument, ...]
    results: tuple[Argument, ...]
    pivots: bool = True
    loses_digits: bool = False
    only_hinges: bool = False
    singles: str = ""
    with_rates: bool = False
    with_wrenches: str = ""
    method: str = ""
    room: str = ""
    alone_from: int = 0

    def work_size(self, block: Any) -> int:
        """Numbers of a workspace for it."""
        scratch = places.work_size(block) + places.scratch_size(block)
        return max(scratch, getattr(lazy.module("_plain_core.tangents"), self.room)(block)) if self.room else scratch

    def made_for(self, block: Any, given: Sequence[str]) -> Operation:
        """The operation itself, or what is compiled sooner for a model and inputs by these names.

        Examples
        --------
        >>> import mbkern as mb
        >>> from mbkern.operations import OPERATIONS
        >>> OPERATIONS["jvp"].made_for(mb.zoo.chain(3).block, ("q", "p", "dq", "dp")).function
        'jvp_rows_of_singles'
        """
        if not self.singles or WRENCH.name in given or not places.only_single_dofs(block):
            return self
        return replace(self, name=self.name + OF_SINGLES, function=self.singles, singles="",
                       inputs=tuple([argument for argument in self.inputs if argument is not WRENCH]))

    def c_declaration(self, name: str = "") -> str:
        """As a function in C declares it, under another name if one is given.

        Examples
        --------
        >>> from mbkern.operations import OPERATIONS
        >>> OPERATIONS["momenta"].c_declaration()
        'int momenta(double t, const double *q, const double *u, double *p, void *user)'
        """
        arrays = [f"const double *{argument.name}" for argument in self.inputs]
        arrays += [f"double *{argument.name}" for argument in self.results]
        return f"int {name or self.name}({', '.join(['double t', *arrays, 'void *user'])})"

    @property
    def called(self) -> str:
        """What users call it."""
        if not self.method:
            return self.name.removesuffix(OF_SINGLES)
        kind = self.name.partition("_")[0]
        usual = self.method in ("emh-ldl", "newton-euler-ldl") and not self.with_wrenches
        return kind if usual else f"{kind} ({self.method}{', wrenches' if self.with_wrenches else ''})"

    @property
    def compiled(self) -> Any:
        """Its compiled forms, see :class:`mbkern.core.operations.Compiled`; each is compiled when it is asked for."""
        made = _COMPILED.get(self.name)
        return _compile(self) if made is None else made


_COMPILED: dict[str, Any] = {}


def _compile(operation: Operation) -> Any:
    with COMPILING:
        if operation.name not in _COMPILED:
            kernel = getattr(lazy.module(f"core.{operation.module}"), operation.function)
            if operation.with_rates:
                kernel = lazy.module("core.right_hand_sides").rhs_of_speeds(kernel)
            if operation.with_wrenches:
                kernel = getattr(lazy.module("core.right_hand_sides"), operation.with_wrenches)(kernel)
            checks = [argument.check for argument in (*operation.inputs, *operation.results)]
            room = getattr(lazy.module("core.tangents"), operation.room) if operation.room else None
            _COMPILED[operation.name] = lazy.module("core.operations").Compiled(
                operation.name, kernel, checks, operation.pivots, operation.only_hinges, room)
    return _COMPILED[operation.name]


# ---- arguments -------------------------------------------------------------------------------------------------------

Q = Argument("q", ("nq",), BAD_Q, "configuration: metres, radians, unit quaternions (w, x, y, z)")
P = Argument("p", ("nv",), BAD_P, "momenta conjugate to the joint speeds, kg m/s and kg m^2/s")
U = Argument("u", ("nv",), BAD_U, "joint speeds, m/s and rad/s")
UDOT = Argument("udot", ("nv",), BAD_UDOT, "joint accelerations, m/s^2 and rad/s^2")
TAU = Argument("tau", ("nv",), BAD_TAU, "joint forces, N and N m", optional=True)
WRENCH = Argument("wrench", ("N", 6), BAD_WRENCH, "(force; moment) on each body, body axes, at the body origin, N and "
                  "N m", optional=True)
X = Argument("x", ("k", "nv"), BAD_X, "k vectors to multiply")
DQ = Argument("dq", ("k", "nv"), BAD_X, "moves of q along its tangent: k directions")
DP = Argument("dp", ("k", "nv"), BAD_X, "changes of p: k directions")
U_WEIGHTS = Argument("u_weights", ("k", "nv"), BAD_X, "k rows of weights of u")
PDOT_WEIGHTS = Argument("pdot_weights", ("k", "nv"), BAD_X, "k rows of weights of pdot")
FRAME = Argument("frame", (14,), UNCHECKED, "a frame, from `frame_numbers(name, axes)`")


def result(name: str, shape: tuple[str | int, ...], about: str, symmetric: bool = False) -> Argument:
    """A result."""
    return Argument(name, shape, OUTPUT, about, symmetric=symmetric)


def side_of(operation: Operation, model: Model) -> int:
    """Rows of the results of an operation where these are symmetric matrices, else 0."""
    return operation.results[0].shape_for(model)[0] if all([x.symmetric for x in operation.results]) else 0


QDOT = result("qdot", ("nq",), "dq/dt")
PDOT = result("pdot", ("nv",), "dp/dt, N and N m")


# ---- the table: what does not depend on the method of a System -------------------------------------------------------

def _table(*rows: Operation) -> dict[str, Operation]:
    return {row.name: row for row in rows}


_PI = "; of each body (mass, first moment, inertia about its origin: xx yy zz xy xz yz), body axes"
_R = "columns are the axes of the {} in the world"
_SIX = "(linear; angular), in the axes that the frame argument says"

OPERATIONS = _table(
    Operation("inverse_dynamics", "joint forces that a motion needs", "joint_forces", "inverse_dynamics",
              (Q, U, UDOT, WRENCH), (result("tau", ("nv",), "N and N m"),), pivots=False),
    Operation("bias", "joint forces that a motion without joint accelerations needs", "joint_forces", "bias",
              (Q, U, WRENCH), (result("tau", ("nv",), "N and N m"),), pivots=False),
    Operation("gravity_forces", "joint forces that hold the weight", "joint_forces", "gravity_forces",
              (Q,), (result("tau", ("nv",), "N and N m"),), pivots=False),
    Operation("momenta", "momenta of joint speeds", "joint_momenta", "momenta",
              (Q, U), (result("p", ("nv",), "kg m/s and kg m^2/s"),), pivots=False),
    Operation("velocities", "joint speeds of momenta", "speeds", "velocities",
              (Q, P), (result("u", ("nv",), "m/s and rad/s"),)),
    Operation("energy", "kinetic and potential energy, Hamiltonian", "energies", "energy",
              (Q, P), (result("out", (3,), "T, Pi, H in J"),)),
    Operation("mass_matrix", "mass matrix of the joint speeds", "mass_matrix", "mass_matrix",
              (Q,), (result("H", ("nv", "nv"), "kg, kg m, kg m^2", symmetric=True),), pivots=False),
    Operation("inverse_mass_matrix", "its inverse", "inverse_mass", "inverse_mass_matrix",
              (Q,), (result("W", ("nv", "nv"), "1 over the units of the mass matrix", symmetric=True),)),
    Operation("solve_mass", "its inverse times vectors", "inverse_mass", "solve_mass",
              (Q, X), (result("y", ("k", "nv"), "k solutions"),)),
    Operation("reactions", "wrench that each joint transmits", "body_motions", "reactions",
              (Q, P, TAU, WRENCH), (result("R", ("N", 6), "(force; moment) on each body, body axes, at its origin"),)),
    Operation("body_poses", "rotations and positions of the bodies", "body_motions", "body_poses",
              (Q,), (result("R", ("N", 3, 3), _R.format("body")), result("r", ("N", 3), "origins in the world, m")),
              pivots=False),
    Operation("body_velocities", "velocities of the bodies", "body_motions", "body_velocities",
              (Q, P), (result("v", ("N", 6), "(linear; angular) of the body origin, body axes, m/s and rad/s"),)),
    Operation("body_accelerations", "accelerations of the bodies", "body_motions", "body_accelerations",
              (Q, P, TAU, WRENCH),
              (result("a", ("N", 6), "(linear; angular) of the body origin, body axes, m/s^2 and rad/s^2"),)),
    Operation("body_momenta", "momentum of each body and all beyond it", "body_motions", "body_momenta",
              (Q, P), (result("mu", ("N", 6), "(linear; angular), body axes, at the body origin"),)),
    Operation("center_of_mass", "centre of mass", "centroid", "center_of_mass",
              (Q,), (result("r", (3,), "in the world, m"),), pivots=False),
    Operation("total_momentum", "momentum of the whole machine", "centroid", "total_momentum",
              (Q, P), (result("h", (6,), "(linear; angular about the centre of mass), world axes"),)),
    Operation("total_momentum_matrix", "matrix of the momentum of the whole machine", "centroid",
              "total_momentum_matrix", (Q,), (result("A", (6, "nv"), "h = A u without driven joints"),), pivots=False),
    Operation("frame_pose", "where a frame is", "frame_motions", "frame_pose",
              (Q, FRAME), (result("R", (3, 3), _R.format("frame")), result("r", (3,), "its origin in the world, m")),
              pivots=False),
    Operation("frame_velocity", "velocity of a frame", "frame_motions", "frame_velocity",
              (Q, P, FRAME), (result("v", (6,), _SIX),)),
    Operation("frame_acceleration", "acceleration of a frame", "frame_motions", "frame_acceleration",
              (Q, P, TAU, WRENCH, FRAME), (result("a", (6,), _SIX),)),
    Operation("jacobian", "Jacobian of a frame", "frame_motions", "jacobian",
              (Q, FRAME), (result("J", (6, "nv"), "v = J u without driven joints"),), pivots=False),
    Operation("jacobian_dot_u", "acceleration of a frame without joint accelerations", "frame_motions",
              "jacobian_dot_u", (Q, U, FRAME), (result("a", (6,), _SIX),), pivots=False),
    Operation("jacobian_rhs", "derivatives of (u, pdot) by (q, p), q along its tangent", "derivative_operations",
              "jacobian_rhs", (Q, P, WRENCH), (result("A", ("2 nv", "2 nv"), "[[u_q, u_p], [pdot_q, pdot_p]]"),),
              singles="jacobian_rhs_of_singles", room="tangents_size", alone_from=64),
    Operation("jvp", "that matrix times directions", "derivative_operations", "jvp", (Q, P, DQ, DP, WRENCH),
              (result("du", ("k", "nv"), "changes of u"), result("dpdot", ("k", "nv"), "changes of pdot")),
              singles="jvp_rows_of_singles", room="tangents_size"),
    Operation("vjp", "its transpose times weights", "derivative_operations", "vjp",
              (Q, P, U_WEIGHTS, PDOT_WEIGHTS, WRENCH),
              (result("gq", ("k", "nv"), "gradients by the tangent of q"), result("gp", ("k", "nv"), "by p")),
              singles="vjp_rows_of_singles", room="tangents_size"),
    Operation("derivatives_accelerations", "derivatives of the joint accelerations by q, u, tau",
              "derivative_operations", "derivatives_accelerations", (Q, U, TAU, WRENCH),
              tuple(result(name, ("nv", "nv"), "") for name in ("udot_q", "udot_u", "udot_tau")),
              singles="derivatives_accelerations_of_singles", room="tangents_size"),
    Operation("derivatives_inverse_dynamics", "derivatives of the joint forces that a motion needs, by q, u, udot",
              "derivative_operations", "derivatives_inverse_dynamics", (Q, U, UDOT, WRENCH),
              tuple(result(name, ("nv", "nv"), "") for name in ("tau_q", "tau_u", "tau_udot")), pivots=False,
              room="rows_size"),
    Operation("momentum_regressor", "momenta as a matrix times the inertial parameters", "regressors",
              "momentum_regressor", (Q, U), (result("Y", ("nv", "10 N"), "p = Y pi" + _PI),), pivots=False),
    Operation("momentum_rate_regressor", "their rates without joint forces, likewise", "regressors",
              "momentum_rate_regressor", (Q, U), (result("Z", ("nv", "10 N"), "pdot = Z pi + tau"),), pivots=False),
    Operation("torque_regressor", "joint forces that a motion needs, likewise", "regressors", "torque_regressor",
              (Q, U, UDOT), (result("W", ("nv", "10 N"), "tau = W pi"),), pivots=False),
    Operation("energy_regressor", "kinetic energy and that of weight, likewise", "regressors", "energy_regressor",
              (Q, U), (result("E", (2, "10 N"), "(T, Pi) = E pi"),), pivots=False),
)


_G = "m, m^2 / m, or the unit of the coordinates; 0 of rows that are not holonomic"

#: Operations of models with constraints.
CONSTRAINT_OPERATIONS = _table(
    Operation("constraint_residuals", "how far the constraints are from being satisfied", "constrained_sweeps",
              "residuals", (Q,), (result("g", ("m",), _G),)),
    Operation("constraint_matrix", "rows of the constraints", "constrained_sweeps", "constraint_matrix", (Q,),
              (result("a", ("m", "nv"), "a u + b = 0"), result("b", ("m",), "what prescribed motion does"))),
    Operation("constraint_matrix_rate", "their time derivatives", "constrained_sweeps", "constraint_matrix_rate",
              (Q, U), (result("a", ("m", "nv"), "da/dt"), result("b", ("m",), "db/dt"))),
    Operation("constraint_multipliers", "multipliers of the constraints", "constrained_sweeps", "constraint_forces",
              (Q, P, TAU, WRENCH), (result("multipliers", ("m",), "lambda: joint forces are a^T lambda"),)),
    Operation("constraint_wrenches", "forces of the constraints on bodies and in joints", "constrained_sweeps",
              "constraint_wrenches", (Q, P, TAU, WRENCH),
              (result("wrenches", ("N", 6), "(force; moment) on each body, body axes, at its origin, N and N m"),
               result("tau_gears", ("nv",), "joint forces of gears, N and N m"))),
    Operation("true_momenta", "momenta that satisfy the constraints, up to a gauge the given ones",
              "constrained_sweeps", "gauge", (Q, P), (result("p_true", ("nv",), "kg m/s and kg m^2/s"),)),
    Operation("closer", "one step of Newton towards closed loops", "constrained_sweeps", "close", (Q,),
              (result("closed", ("nq",), "configuration; quaternions are not of length one"),)),
)
#: What integrators use: momenta up to a gauge.
FLOW = Operation("constrained_flow", "rates of a state up to a gauge of its momenta", "constrained_sweeps", "flow",
                 (Q, P, TAU), (QDOT, PDOT))


def with_nearest(name: Any, known: Sequence[str]) -> str:
    """"; the nearest name is ..." where there is one."""
    close = difflib.get_close_matches(name, known, 1, 0.5) if isinstance(name, str) else []
    return f"; the nearest is {close[0]!r}" if close else ""


def operation_named(name: Any, others: Sequence[str] = ()) -> Operation:
    """The operation of that name, or an error that lists them, and others that the caller knows."""
    if isinstance(name, str) and (name in OPERATIONS or name in CONSTRAINT_OPERATIONS):
        return OPERATIONS.get(name) or CONSTRAINT_OPERATIONS[name]
    known = [*others, *OPERATIONS, *CONSTRAINT_OPERATIONS]
    raise MethodError(f"operation: expected one of {', '.join(known)}, got {show(name)}{with_nearest(name, known)}")


def markdown_table() -> str:
    """The table of operations for the documentation.

    Examples
    --------
    >>> from mbkern.operations import markdown_table
    >>> print(markdown_table().splitlines()[0])
    | operation | computes | from | results |
    """
    def shown(argument: Argument) -> str:
        optional = ", optional" if argument.optional else ""
        shape = ", ".join(map(str, argument.shape)) + ("," if len(argument.shape) == 1 else "")
        return f"`{argument.name}` ({shape}){optional}"

    lines = ["| operation | computes | from | results |", "|---|---|---|---|"]
    for operation in OPERATIONS.values():
        results = "; ".join(f"{shown(result)}: {result.about}".removesuffix(": ") for result in operation.results)
        inputs = ", ".join(map(shown, operation.inputs))
        lines.append(f"| `{operation.name}` | {operation.about} | {inputs} | {results} |")
    return "\n".join(lines) + "\n"
