"""A model as a C library: header, object file, shared library."""

from __future__ import annotations

import hashlib
import re
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__, files, lazy
from ..core import constants as L
from ..core.jit import SOURCE_STAMP
from ..errors import ExportError, ExportWarning, FileError
from ..inputs import Array
from ..methods import CONSTRAINED_ACCELERATION, INVERTING_METHODS, acceleration_named
from ..model.checks import flag, several, show
from ..model.constraints import UserRows
from ..model.drives import Function as FunctionDrive
from ..model.model import Model
from ..operations import CONSTRAINT_OPERATIONS, FLOW, OPERATIONS, TAU, Operation, P, Q, result, side_of, with_nearest
from ..system import System
from ..system_batches import OF_TREES
from ..system_operations import AXES
from ..workspace import places
from ..workspace.binding import drives_of, user_rows
from . import linking
from .assembly import assembled, calls_python, simplified
from .codes import STATUS
from .events import event_callback
from .header import header
from .parameters import Setting, base_block, settings, tables
from .signatures import (
    DOUBLE,
    INT,
    READS,
    TEXT,
    VOID,
    WHOLE,
    WORK,
    WRITES,
    Function,
    Parameter,
    of_batch,
    of_operation,
)
from .targets import Target, target_named
from .wrappers import LINE, Wrappers, lanes_memory

STEPS = ("rk4", "dopri5")
ABOUT = {"rhs": "Hamilton's equations: how the state changes",
         "rhs_with_wrenches": "the same with wrenches on the bodies",
         "accelerations": "joint accelerations: forward dynamics in velocity variables",
         "accelerations_with_wrenches": "the same with wrenches on the bodies"}
# of models with constraints, whose forces answer to joint forces; its kernel is :mod:`.kernels.loops`
JACOBIAN_OF_LOOPS = Operation(
    "jacobian_rhs", "derivatives of (u, pdot) by (q, p), q along its tangent, and of pdot by tau", "", "", (Q, P, TAU),
    (result("A", ("2 nv", "2 nv"), "[[u_q, u_p], [pdot_q, pdot_p]]"), result("B", ("nv", "nv"), "pdot_tau")))
_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while class new "
    "delete this template namespace private public protected operator try catch throw using virtual".split())


@dataclass(frozen=True)
class Library:
    """What `library` has written.

    Attributes
    ----------
    header : Path
        The C and C++ header.
    object : Path
        The object file: link it into a program with -lm, and nothing else is needed.
    library : Path or None
        The shared library; None where no compiler was found to link it.
    cmake : Path
        A file for CMake: ``include(arm.cmake)`` and ``target_link_libraries(program arm)``.
    command : str
        What makes the shared library of the object file.
    prefix : str
        With which all names begin.
    operations : tuple of str
    parameters : tuple of str
        What can be set at run time.
    work_size : int
        Doubles of a workspace.
    build : str
        The build stamp, which the library knows, too: version, sources, model, target.
    """

    header: Path
    object: Path
    library: Path | None
    cmake: Path
    command: str
    prefix: str
    operations: tuple[str, ...]
    parameters: tuple[str, ...]
    work_size: int
    build: str


def library(system: System, path: str | PathLike[str], operations: Sequence[str] = ("rhs",), target: str = "native", *,
            batch: bool = False, parameters: Sequence[str] = ()) -> Library:
    """Write a model as a C library that needs no Python: `arm.h`, `arm.o`, and `libarm.so` where a compiler is found.

    Parameters
    ----------
    system : System
        The model and the method of its right-hand side.
    path : str or path
        Where to: a folder and the name of the library, "build/arm". The name is also the prefix of all functions.
    operations : sequence of str
        What it can do: "rhs", "rhs_with_wrenches", "accelerations" (by "newton-euler-ldl"),
        "accelerations_with_wrenches", "rk4" and "dopri5" (steps), and all operations of the table in the
        documentation; of models with constraints also "constraint_residuals" and its like, and of the derivatives
        "jacobian_rhs" alone.
    target : str
        The processor: "native" (this one), "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64". The bits of the
        results are the same on all of them. Without fused multiply-add ("x86-64", "x86-64-v2") it is many times slower.
    batch : bool
        Write each operation for many states, too: `arm_rhs_batch`. (Not `jacobian_rhs` of models with constraints.)
    parameters : sequence of str
        Constants that a program may set while it runs: "gravity", "boom.mass", "boom.com", "boom.inertia",
        "boom.stiffness", "boom.damping", "boom.armature".

    Returns
    -------
    Library
        The paths of what was written.

    Examples
    --------
    >>> import mbkern as mb, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> arm = mb.export.library(mb.System(mb.zoo.chain(3)), folder / "arm", operations=("rhs",))
    >>> arm.header.name, arm.object.name, "int arm_rhs(double t, const double *q" in arm.header.read_text()
    ('arm.h', 'arm.o', True)
    """
    if not isinstance(system, System):
        raise ExportError(f"system: expected a System, got {type(system).__name__}; mb.System(model) makes one")
    place, batch = place_named(path, "export.library"), flag(batch, "batch", ExportError)
    goal = target_named(target)
    made = Maker(system, prefix_of(place.name), goal, chosen_operations(operations, system.model), batch,
                 settings(system.model, parameters))
    return made.write(place)


def has_jacobian(model: Model) -> bool:
    """Whether there are derivatives of the right-hand side: not where functions of a user fill rows of constraints."""
    return not any(isinstance(constraint, UserRows) for constraint in model.constraints)


def check_momenta(system: System, what: str) -> None:
    """Raise unless the state of a system is (q, p)."""
    if system.binding.method.variable != "p":
        raise ExportError(f"{what}: the state of method {system.method!r} is (q, u); expected a method with the state "
                          '(q, p), such as System(model, "emh-ldl")')


def place_named(path: Any, who: str) -> Path:
    """Where to write; the folder is there: what takes long to make would be lost."""
    place = Path(files.named(path, who))
    try:
        there = place.parent.is_dir()
    except (OSError, ValueError):  # no name for the system
        there = False
    if not there:
        raise FileError(f"{who}: cannot write {show(str(path))}: there is no such folder; make it first")
    return place


def prefix_of(name: str) -> str:
    """The name of a library, which has to be a name in C."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name in _KEYWORDS:
        raise ExportError(f"path: its last part is the prefix of C functions; expected letters, digits and _, such as "
                          f"'arm', got {show(name)}")
    return name


def chosen_operations(names: Sequence[str], model: Model) -> tuple[str, ...]:
    """Names of operations for a model, checked."""
    known = [*ABOUT, *STEPS, *OPERATIONS, *(CONSTRAINT_OPERATIONS if model.constraints else ())]
    given = several(names, "operations", ExportError)
    for name in given:
        if not isinstance(name, str) or name not in known:
            hint = (" (for models with constraints)" if isinstance(name, str) and name in CONSTRAINT_OPERATIONS
                    else with_nearest(name, known))
            raise ExportError(f"operations: expected some of {', '.join(known)}, got {show(name)}{hint}")
        if model.constraints and name == "jacobian_rhs":
            users = [repr(constraint.name) for constraint in model.constraints if isinstance(constraint, UserRows)]
            if users:
                raise ExportError(f"operations: jacobian_rhs would need second derivatives of the functions of the "
                                  f"constraints {', '.join(users)}; leave it out")
        elif model.constraints and name in OF_TREES:
            raise ExportError(f"operations: {name} would have to know the forces of the constraints "
                              f"({model.constraints[0].name!r}, ...), which it does not yet; leave it out")
    if not given:
        raise ExportError("operations: expected at least one, such as \"rhs\", got none")
    return tuple(dict.fromkeys(given))


def frame_names(model: Model) -> list[str]:
    """Frames in the order of their numbers in a library: those of the bodies, others of the model, the world.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.export.library import frame_names
    >>> frame_names(mb.zoo.chain(2))
    ['body0', 'body1', 'world']
    """
    return list(dict.fromkeys([*model.body_names, *model.frames, "world"]))


class Maker:
    """Puts a library together.

    Parameters
    ----------
    system : System
    prefix : str
    target : Target
    operations : tuple of str
    batch : bool
    parameters : list of Setting
    events : sequence of Event
        Functions g(t, q, p) that become `event(i, t, y)`, y = (q, p).
    """

    def __init__(self, system: System, prefix: str, target: Target, operations: tuple[str, ...], batch: bool,
                 parameters: list[Setting], events: Sequence[Any] = ()) -> None:
        self.system, self.model, self.prefix, self.target = system, system.model, prefix, target
        self.names, self.batch, self.parameters, self.events = operations, batch, parameters, events
        method = system.binding.method
        if any(setting.what in ("mass", "com", "inertia") for setting in parameters) and (
                method.name in INVERTING_METHODS):
            raise ExportError(f"parameters: method {method.name!r} keeps inverted inertias, which cannot be set at run "
                              'time; use System(model, "emh-ldl")')
        block = base_block(self.model, parameters)
        if method.needs_inertias:  # as in a System: without them, the kernels make them anew in every call
            block = lazy.module("workspace.bases").with_bases(block)
        behind, self.words, self.bodies = tables(self.model, block, parameters)
        self.block = block
        self.pieces: dict[str, str] = {}  # symbol -> code
        self.work_size = max(system.binding.work_size, *[  # derivatives need more than all others
            OPERATIONS[name].work_size(block) for name in operations if name in OPERATIONS],
            CONSTRAINED_ACCELERATION.work_size(block) if self.model.constraints else 0)
        self.needed = self.work_size
        self.wrappers = Wrappers(prefix, target, np.concatenate([block, behind]), bool(parameters), self._addresses())

    # ---- pieces of code ------------------------------------------------------------------------------------------

    def _piece(self, function: Any) -> str:
        """Symbol of a compiled C function, whose code will be part of the library."""
        symbol, text = function.code
        if symbol not in self.pieces:
            self.pieces[symbol] = simplified(text, symbol) if calls_python(text, symbol) else text
        return str(symbol)

    def _users(self, callback: Any) -> str:
        """The same of a C function that calls a user's function."""
        symbol = str(callback.native_name)
        self.pieces[symbol] = simplified(callback.inspect_llvm(), symbol)
        return symbol

    def _addresses(self) -> dict[int, str]:
        """Functions whose addresses are among the constants: of rotors, of constraints, of drives."""
        found: dict[int, str] = {}
        if self.model.constraints:
            engine = lazy.module("core.constrained_engine")
            found[L.ENGINE_CALLS] = self._piece(engine.engine_of_one)
            if self.batch:
                found[L.ENGINE_CALLS + 1] = self._piece(engine.engine_of_lanes)
        if self.block[L.HAS_ROTORS]:
            calls = lazy.module("core.rotor_calls")
            found[L.ROTOR_CALLS] = self._piece(calls.rotor_of_one)
            if self.batch:
                found[L.ROTOR_CALLS + 1] = self._piece(calls.rotor_of_lanes)
        functions = iter(self.system.binding.callbacks)
        for d, drive in enumerate(drives_of(self.model)):
            if isinstance(drive, FunctionDrive):
                found[places.drive_row(self.block, d) + L.DRIVE_DATA] = self._users(next(functions))
        for place, constraint in user_rows(self.model, self.block):
            found[place] = self._users(lazy.module("user_rows").rows_callback(
                constraint.f, constraint.position, constraint.rows, self.model.nq, self.model.nv, on_stack=True))
        return found

    def _operation(self, name: str) -> Operation:
        """What a name stands for."""
        method = self.system.binding.method
        accelerations = acceleration_named("newton-euler-ldl", self.model)
        forced = {"rhs": lambda: method.operation_for(self.block),
                  "rhs_with_wrenches": lambda: method.operation_with_wrenches,
                  "accelerations": lambda: accelerations.operation,
                  "accelerations_with_wrenches": lambda: accelerations.operation_with_wrenches}
        if name in forced:
            return replace(forced[name](), about=ABOUT[name])
        if name == "jacobian_rhs" and self.model.constraints:
            return JACOBIAN_OF_LOOPS
        return OPERATIONS.get(name) or CONSTRAINT_OPERATIONS[name]

    # ---- functions -----------------------------------------------------------------------------------------------

    def _put_operation(self, name: str) -> None:
        operation, model = self._operation(name), self.model
        arguments = (*operation.inputs, *operation.results)
        sizes = [int(np.prod(argument.shape_for(model, -1))) for argument in arguments]
        if operation is JACOBIAN_OF_LOOPS:
            self._put_jacobian_of_loops(sizes)
            return
        compiled = operation.compiled
        self.wrappers.operation(of_operation(operation, name, model), operation, self._piece(compiled.one), sizes)
        if self.batch:
            sizes = [int(np.prod(argument.shape_for(model, 1))) for argument in arguments]  # one vector a state
            rows = lazy.module("export.kernels.batches").rows
            self.needed = max(self.needed, lanes_memory(operation, sizes, self.work_size))
            self.wrappers.batch(of_batch(operation, name, model), operation, self._piece(compiled.lanes),
                                self._piece(rows), sizes, side_of(operation, model))

    def _put_jacobian_of_loops(self, sizes: Sequence[int]) -> None:
        loops, model = lazy.module("export.kernels.loops"), self.model
        engine = lazy.module("core.constrained_engine").engine_of_duals
        rhs = self.system.binding.method.operation_for(self.block).compiled.one
        self.needed = max(self.needed, self.work_size + 2 * (model.nq + model.nv) + loops.DUAL * (
            self.work_size + 2 * model.nq + 3 * model.nv))
        self.wrappers.operation(of_operation(JACOBIAN_OF_LOOPS, "jacobian_rhs", model), JACOBIAN_OF_LOOPS,
                                self._piece(loops.jacobian_rhs), sizes, [self._piece(rhs), self._piece(engine)],
                                self.work_size)

    def _put_steps(self, name: str) -> None:
        kernels, plan = lazy.module("integrate.kernels.library"), lazy.module("integrate.kernels.plan")
        model, method = self.model, self.system.binding.method
        ode, rhs = lazy.module("core.cabi").ode, method.operation_for(self.block).compiled.one
        closing: list[str] = []  # of constraints: what puts a state right after a step, and what that calls
        if model.constraints:
            calls = lazy.module("core.constrained_calls")
            ode, rhs = calls.ode_closed if self.system.locks_when_open else calls.ode, FLOW.compiled.one
            closing = [self._piece(made) for made in (
                calls.settle, calls.reveal, CONSTRAINT_OPERATIONS["true_momenta"].compiled.one,
                CONSTRAINT_OPERATIONS["closer"].compiled.one)]
        quaternions = int(self.block[L.N_QUATERNIONS])
        self.needed = max(self.needed, plan.QUATERNIONS + quaternions + plan.NUM + plan.VECTORS * (model.nq + model.nv)
                          + self.block.size + self.work_size + places.loads_size(self.block))
        nq, nv = str(model.nq), str(model.nv)
        state = [Parameter(WRITES, "q", nq), Parameter(WRITES, method.variable, nv), Parameter(READS, "tau", nv),
                 Parameter(READS, "wrench", str(6 * model.n_bodies)), WORK]
        held = ("The state moves on in place; joint forces tau and wrenches are held over the steps, NULL when there "
                "are\nnone. Where the status is not OK, the state is what it was before")
        if name == "rk4":
            function = Function("rk4", INT, [Parameter(DOUBLE, "t"), Parameter(DOUBLE, "h"), Parameter(WHOLE, "n"),
                                             *state],
                                f"n steps of length h of the classical Runge-Kutta method of order 4, from time t on.\n"
                                f"{held}.")
        else:
            function = Function("dopri5", INT, [
                Parameter(DOUBLE, "t_end"), Parameter(WHOLE, "n"), Parameter(DOUBLE, "rtol"), Parameter(DOUBLE, "atol"),
                Parameter(WRITES, "clock", "4"), *state],
                "Steps of Dormand-Prince 5(4), which chooses their length: at most n (rejected ones count), to t_end "
                f"at most.\nclock[0] is the time, which moves on; clock[1] .. clock[3] belong to the method: 0 at the "
                f"beginning.\n{held} of the step that failed.")
        self.wrappers.steps(function, self._piece(getattr(kernels, name)), self._piece(ode), self._piece(rhs),
                            self.work_size, closing)

    def _put_facts(self) -> None:
        model, put, index = self.model, self.wrappers, [Parameter(WHOLE, "i")]
        put.ready(Function("ready", INT, (), "Whether this processor can run the library: OK or CPU_UNSUPPORTED. (All "
                                             "other functions ask, too.)"))
        put.number(Function("work_size", WHOLE, (), "Doubles of a workspace."), self.total)
        for name, count, about in (("nq", model.nq, "Numbers in q."), ("nv", model.nv, "Numbers in p."),
                                   ("n_bodies", model.n_bodies, "Bodies.")):
            put.number(Function(name, WHOLE, (), about), count)
        put.entry(Function("coordinate_name", TEXT, index, "Name of number i of q; NULL when there is none."),
                  model.coordinate_names)
        put.entry(Function("speed_name", TEXT, index, "Name of number i of p, and of the joint speeds and forces."),
                  model.speed_names)
        put.entry(Function("body_name", TEXT, index, "Name of body i."), model.body_names)
        put.copied(Function("neutral", VOID, [Parameter(WRITES, "q", str(model.nq))],
                            "Write the neutral configuration: all coordinates 0, quaternions the identity."),
                   model.neutral())
        put.text(Function("model_name", TEXT, (), "Name of the model."), model.name)
        put.text(Function("version", TEXT, (), "Version of mbkern that made the library."), __version__)
        put.text(Function("build", TEXT, (), "What it was made of: versions, sources, model, target. Equal stamps, "
                                             "equal code."), self.build)
        put.chosen_text(Function("status_text", TEXT, [Parameter(INT, "status")], "A status in words."),
                        {code: meaning for code, (_, meaning) in STATUS.items()}, "no status of this library")

    def _put_parameters(self) -> None:
        put = self.wrappers
        about = ("Put the constants of the model into a workspace, before anything else is done with it."
                 if self.parameters else "Does nothing but to ask the processor, as there are no parameters.")
        put.init(Function("init", INT, [WORK], about))
        if not self.parameters:
            return
        names = [setting.name for setting in self.parameters]
        put.number(Function("parameter_count", WHOLE, (), "Parameters that can be set."), len(names))
        put.entry(Function("parameter_name", TEXT, [Parameter(WHOLE, "i")], "Name of parameter i."), names)
        listed = "\n".join(f"  {i}  {setting.name}: {len(setting.nominal)} ({setting.about}), "
                           f"{', '.join(f'{x:g}' for x in setting.nominal)}"
                           for i, setting in enumerate(self.parameters))
        kernel = lazy.module("export.kernels.parameters").set_parameter
        put.set_parameter(Function("set_parameter", INT, [
            WORK, Parameter(WHOLE, "i"), Parameter(READS, "values")],
            "Set parameter i in a workspace; all calls with this workspace use it. Values that are not finite, and "
            f"negative\nmasses, springs, dampers are refused; whether an inertia is that of a body is not checked.\n"
            f"{listed}"), self._piece(kernel), self.bodies, self.words)

    def _put_frames(self) -> None:
        if not any(argument.name == "frame" for name in self.names if name in OPERATIONS
                   for argument in OPERATIONS[name].inputs):
            return
        names = frame_names(self.model)
        table = np.array([[self._frame(name, axes) for axes in AXES] for name in names])
        self.wrappers.number(Function("frame_count", WHOLE, (), "Frames, with those of the bodies and the world."),
                             len(names))
        self.wrappers.entry(Function("frame_name", TEXT, [Parameter(WHOLE, "i")], "Name of frame i."), names)
        self.wrappers.row(Function("frame", READS, [Parameter(WHOLE, "i"), Parameter(WHOLE, "axes")],
                                   f"Frame i as functions want it; axes in which six numbers are seen: "
                                   f"{', '.join(f'{k} {axes}' for k, axes in enumerate(AXES))}."), table)

    def _put_events(self) -> None:
        if self.events:
            symbols = [self._users(event_callback(event.g)) for event in self.events]
            self.wrappers.events(Function("event", DOUBLE, [
                Parameter(WHOLE, "i"), Parameter(DOUBLE, "t"), Parameter(READS, "y")],
                "Event function i of the state y = (q, p)."),
                symbols, self.model.nq, self.model.nv)

    def _frame(self, name: str, axes: str) -> Array:
        return np.asarray(lazy.module("system_operations").numbers_of_frame(self.model, self.block, name, axes))

    # ---- all of it -----------------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """Doubles of a workspace."""
        return (self.wrappers.block.size if self.parameters else 0) + LINE // 8 + self.needed

    @property
    def build(self) -> str:
        """The build stamp."""
        drives = [getattr(drive.f, "py_func", drive.f).__code__ for drive in drives_of(self.model)
                  if isinstance(drive, FunctionDrive)]
        parts = self.names, self.batch, [(code.co_code, code.co_consts) for code in drives]
        content = hashlib.sha256(self.wrappers.block.tobytes() + repr(parts).encode()).hexdigest()
        return (f"mbkern {__version__} sources {SOURCE_STAMP[:12]} model {content[:12]} method {self.system.method} "
                f"target {self.target.name} ({self.target.cpu}, {self.target.triple})")

    def code(self) -> bytes:
        """The object file."""
        for name in self.names:
            if name in STEPS:
                self._put_steps(name)
            else:
                self._put_operation(name)
        self._put_facts()
        self._put_parameters()
        self._put_frames()
        self._put_events()
        exported = {f"{self.prefix}_{function.name}" for function in self.wrappers.functions}
        return assembled([str(self.wrappers), *self.pieces.values()], exported, self.target, self._whose())

    def _whose(self) -> str:
        """Whose code might call what does not exist outside Python."""
        functions = [f"{getattr(drive.f, '__name__', '?')!r} of body {body.name!r}" for body in self.model.body_specs
                     for element in body.joint.elements
                     if isinstance(drive := getattr(element, "amount", None), FunctionDrive)]
        words = [f"drive {', '.join(functions)}"] if functions else []
        rows = [f"{getattr(constraint.f, '__name__', '?')!r} of constraint {constraint.name!r}"
                for constraint in self.model.constraints if isinstance(constraint, UserRows)]
        words += [f"rows {', '.join(rows)}"] if rows else []
        words += [f"event {', '.join(event.name for event in self.events)}"] if self.events else []
        return ", ".join(words) or "the model"

    def text(self) -> str:
        """The header."""
        model = self.model
        machine = (f"Machine {model.name!r}: {model.n_bodies} bodies, {model.nv} dofs; method {self.system.method}."
                   if model.name else f"{model.n_bodies} bodies, {model.nv} dofs; method {self.system.method}.")
        facts = {"NAME": self.prefix, "VERSION": __version__, "MACHINE": machine.replace("*/", "* /"),
                 "TARGET": f"{self.target.name} ({self.target.cpu}, {self.target.triple})",
                 "INIT": f":\n * {self.prefix}_init(work) does that" if self.parameters else "",
                 "NQ": str(model.nq), "NV": str(model.nv), "N": str(model.n_bodies), "WORK": str(self.total)}
        if self.parameters:
            facts["INIT"] = f" but by\n * {self.prefix}_init"
        return header(self.prefix, facts, self.wrappers.functions, loops=bool(model.constraints),
                      quaternions=model.nq != model.nv or self.system.binding.method.variable != "p")

    def write(self, place: Path) -> Library:
        """All files."""
        code, folder = self.code(), place.parent
        made = Library(folder / f"{self.prefix}.h", folder / f"{self.prefix}.o",
                       folder / f"lib{self.prefix}{self.target.suffix}", folder / f"{self.prefix}.cmake", "",
                       self.prefix, self.names, tuple(setting.name for setting in self.parameters), self.total,
                       self.build)
        assert made.library is not None
        for file, content in ((made.object, code), (made.header, self.text().encode()),
                              (made.cmake, _CMAKE.replace("@PREFIX@", self.prefix).replace(
                                  "@UPPER@", self.prefix.upper()).encode())):
            files.write(file, content, "export.library")
        cc = linking.compiler(self.target)
        command = linking.link_command(cc or ["cc"], self.target, [made.object], made.library)
        if cc:
            linking.run(command, f"linking {made.library.name}")
        else:
            warnings.warn(f"no C compiler found for {self.target.triple}: {made.library.name} was not linked. The "
                          f"object file {made.object} is complete; where there is a compiler, this makes the library: "
                          f"{shlex.join(command)}", ExportWarning, stacklevel=3)
        return Library(**{**vars(made), "library": made.library if cc else None, "command": shlex.join(command)})


_CMAKE = """\
# include(@PREFIX@.cmake), then target_link_libraries(program @PREFIX@): header, machine code and the C library's maths
add_library(@PREFIX@ INTERFACE)
target_include_directories(@PREFIX@ INTERFACE "${CMAKE_CURRENT_LIST_DIR}")
target_link_libraries(@PREFIX@ INTERFACE "${CMAKE_CURRENT_LIST_DIR}/@PREFIX@.o" $<$<NOT:$<BOOL:${WIN32}>>:m>)
target_compile_definitions(@PREFIX@ INTERFACE $<$<CONFIG:Debug>:@UPPER@_CHECKED>)
"""

