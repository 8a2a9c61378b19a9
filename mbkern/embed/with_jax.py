"""Functions of a System for JAX: under `jit`, `vmap` and `grad`, on the CPU, in float64.

XLA calls the kernels themselves through its foreign function interface (`jax.ffi`) where a C compiler is there to build
the few lines between them (xla_handler.c); else through a callback to Python.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import lazy
from ..core.number import LANES
from ..errors import MbkernError, MethodError
from ..model.checks import show
from ..model.constraints import UserRows
from ..operations import OPERATIONS, Operation
from ..workspace.binding import drives_of

if TYPE_CHECKING:
    from ..system import System

TARGET = "mbkern"
_SOURCE = Path(__file__).with_name("xla_handler.c")
_registered: list[Any] = []  # the library, once it is there
_alive: dict[int, Any] = {}  # compiled programs hold addresses of a system's memory: it stays for ever


class JaxFunctions:
    """What `mb.embed.jax` makes of a System.

    Attributes
    ----------
    system : System
    route : str
        "ffi" (XLA calls machine code) or "callback" (XLA calls Python).
    routes : dict
        The same of each function: Jacobians of quaternions and of closed loops go by a callback in either case.
    reason : str
        Why it is a callback; "" otherwise.
    """

    def __init__(self, system: System, route: str = "auto") -> None:
        if system.binding.method.variable != "p":
            raise MethodError(f"embed.jax: the state of method {system.method!r} is (q, u); expected a method with the "
                              'state (q, p), such as System(model, "emh-ldl")')
        self.system = system
        self.route, self.reason = _route(route)
        plain = system.model.nq == system.model.nv and not system.model.constraints
        self.routes = {"rhs": self.route, "jacobian_rhs": self.route if plain else "callback"}
        self._jax = _jax()
        self._jacobian = self._of_first_order()
        self._rhs = self._differentiable()
        _alive[id(system)] = system

    def __repr__(self) -> str:
        return f"JaxFunctions({self.system!r}, route={self.route!r})"

    def rhs(self, q: Any, p: Any, t: Any = 0.0, tau: Any = None) -> tuple[Any, Any]:
        """Hamilton's equations, as `System.rhs`: (qdot, pdot). A state that has no value gives NaN.

        Parameters
        ----------
        q : (nq,)
        p : (nv,)
        t : float
        tau : (nv,), optional
            Arrays of JAX, float64.
        """
        arrays = self._arrays(q, p, t, *([] if tau is None else [tau]))
        qdot, pdot = self._rhs(*arrays)
        return qdot, pdot

    def jacobian_rhs(self, q: Any, p: Any, t: Any = 0.0, tau: Any = None) -> Any:
        """d(qdot, pdot)/d(q, p), exact, (nq + nv, nq + nv): as `System.jacobian_rhs(chart="coordinates")`. Joint forces
        tau matter where there are constraints, whose forces answer to them."""
        self._look_at_constraints()
        n = self.system.model.nq + self.system.model.nv
        return self._jacobian(*self._arrays(q, p, t, *([] if tau is None else [tau])))[:, :n]

    def _arrays(self, *given: Any) -> list[Any]:
        """q, p, t and, where they are given, joint forces, as arrays of JAX; their shapes are checked."""
        model, numpy = self.system.model, self._jax.numpy
        arrays = [numpy.asarray(x, float) for x in given]
        for name, x, shape in zip(("q", "p", "t", "tau"), arrays, ((model.nq,), (model.nv,), (), (model.nv,)),
                                  strict=False):
            if x.shape != shape:
                raise MethodError(f"{name}: expected shape {shape}, got {x.shape}; jax.vmap takes many states")
        return arrays

    def _look_at_constraints(self) -> None:
        """Raise where the constraints of a model have no derivatives."""
        model = self.system.model
        users = [c.name for c in model.constraints if isinstance(c, UserRows)]
        if users:
            raise MethodError(f"embed.jax: rows of constraints that a function fills ({users[0]!r}) have no "
                              "derivatives; values they have")
        if model.constraints and model.nq != model.nv:
            raise MethodError("embed.jax: closed loops with ball and free joints have no derivatives by the numbers of "
                              "quaternions; values they have. Take mb.euler_ball and steps")

    # ---- the calls -----------------------------------------------------------------------------------------------

    def _differentiable(self) -> Callable[..., Any]:
        """The right-hand side with its exact derivatives."""
        jax, model, driven = self._jax, self.system.model, bool(drives_of(self.system.model))

        @jax.custom_jvp
        def rhs(q: Any, p: Any, t: Any, *tau: Any) -> Any:
            return self._value(q, p, t, *tau)

        def jvp(primals: Any, tangents: Any) -> Any:
            q, p, t, *tau = primals
            zero = jax.custom_derivatives.SymbolicZero
            self._look_at_constraints()
            if driven and not isinstance(tangents[2], zero):
                raise MethodError("t: the derivative with respect to the time of driven joints is not there; give t as "
                                  "a constant")
            dq, dp, _, *dtau = (jax.numpy.zeros(x.shape) if isinstance(x, zero) else x for x in tangents)
            given = tau if model.constraints else []  # trees: forces only add to pdot
            A = self._jacobian(q, p, t, *given)
            rates = A @ jax.numpy.concatenate([dq, dp, *([*dtau] if given else [])])
            return rhs(q, p, t, *tau), (rates[:model.nq], sum([] if given else dtau, rates[model.nq:]))

        rhs.defjvp(jvp, symbolic_zeros=True)
        return rhs

    def _of_first_order(self) -> Callable[..., Any]:
        """The Jacobian, which has no derivative: by (q, p), and by tau where it is given."""
        jax = self._jax

        @jax.custom_jvp
        def jacobian(q: Any, p: Any, t: Any, *tau: Any) -> Any:
            return self._matrix(q, p, t) if not self.system.model.constraints else self._of_loops(q, p, t, *tau)

        def jvp(primals: Any, tangents: Any) -> Any:
            raise MethodError("embed.jax: second derivatives are not there; differentiate once, and take differences "
                              "of gradients (or quasi-Newton methods) for more")

        jacobian.defjvp(jvp)
        return jacobian

    def _value(self, q: Any, p: Any, t: Any, *tau: Any) -> Any:
        model, system = self.system.model, self.system
        sizes = [(model.nq,), (model.nv,)]
        if self.route == "ffi":
            operation = system.binding.method.operation_for(system.block)
            return self._foreign(_words_of(system, operation, {"q", "p", *["tau"] * len(tau)}), sizes, t, q, p, *tau)

        def call(q: Any, p: Any, t: Any, *tau: Any) -> Any:
            return _by_rows(system, np.asarray(t), *map(np.asarray, (q, p, *tau)))

        return self._back(call, sizes, q, p, t, *tau)

    def _matrix(self, q: Any, p: Any, t: Any) -> Any:
        model, system = self.system.model, self.system
        n = model.nq + model.nv
        if self.routes["jacobian_rhs"] == "ffi":
            operation = OPERATIONS["jacobian_rhs"].made_for(system.block, ("q", "p"))
            return self._foreign(_words_of(system, operation, {"q", "p"}), [(n, n)], t, q, p)[0]

        def call(q: Any, p: Any, t: Any) -> Any:
            q, p, t = (np.asarray(x) for x in (q, p, t))
            A, _ = system.jacobian_rhs_batch(q.reshape(-1, model.nq), p.reshape(-1, model.nv), t.reshape(-1),
                                             chart="coordinates", threads=1, return_status=True)
            return (A.reshape(*t.shape, n, n),)

        return self._back(call, [(n, n)], q, p, t)[0]

    def _of_loops(self, q: Any, p: Any, t: Any, *tau: Any) -> Any:
        """The Jacobian of closed loops by (q, p) and, where it is given, tau: state by state, by a callback."""
        model, system, n = self.system.model, self.system, 2 * self.system.model.nv
        columns = n + model.nv * len(tau)

        def one(q: Any, p: Any, t: Any, *tau: Any) -> Any:
            try:
                found = system.jacobian_rhs(q, p, float(t), *tau)
            except MbkernError:
                return np.full((n, columns), np.nan)
            by_tau = [np.vstack([np.zeros((model.nv, model.nv)), found.pdot_tau])] * len(tau)
            return np.hstack([found.matrix, *by_tau])

        def call(*given: Any) -> Any:
            arrays, lead = [np.asarray(x) for x in given], np.shape(given[2])
            rows = [x.reshape(-1, *x.shape[len(lead):]) for x in arrays]
            return (np.array([one(*row) for row in zip(*rows, strict=True)]).reshape(*lead, n, columns),)

        return self._back(call, [(n, columns)], q, p, t, *tau)[0]

    def _foreign(self, words: np.ndarray, shapes: Sequence[tuple[int, ...]], *arrays: Any) -> Any:
        jax = self._jax
        results = [jax.ShapeDtypeStruct(shape, jax.numpy.float64) for shape in shapes]
        return tuple(jax.ffi.ffi_call(TARGET, results, vmap_method="broadcast_all")(*arrays, words=words))

    def _back(self, call: Callable[..., Any], shapes: Sequence[tuple[int, ...]], *arrays: Any) -> Any:
        jax = self._jax
        results = tuple(jax.ShapeDtypeStruct(shape, jax.numpy.float64) for shape in shapes)
        return jax.pure_callback(call, results, *arrays, vmap_method="broadcast_all")


def jax(system: System, route: str = "auto") -> JaxFunctions:
    """Functions of a System for JAX: they work under `jit`, `vmap` (one batched call) and `grad` (exact Jacobians).

    Parameters
    ----------
    system : System
    route : str
        "ffi": XLA calls the machine code; "callback": XLA calls Python; "auto": the first that works, `.route` says
        which, and `.reason` why not the other.

    Returns
    -------
    JaxFunctions
        With `.rhs(q, p, t=0.0, tau=None)` and `.jacobian_rhs(q, p, t=0.0, tau=None)`. They are for the CPU and float64:
        ``jax.config.update("jax_enable_x64", True)`` comes first.

    Examples
    --------
    >>> import mbkern as mb
    >>> import jax                                            # doctest: +SKIP
    >>> jax.config.update("jax_enable_x64", True)             # doctest: +SKIP
    >>> f = mb.embed.jax(mb.System(mb.zoo.chain(3)))          # doctest: +SKIP
    >>> many = jax.jit(jax.vmap(f.rhs))                       # doctest: +SKIP
    """
    return JaxFunctions(system, route)


def _jax() -> Any:
    """The library, ready for float64."""
    try:
        import jax as library
        import jax.ffi
        import jax.numpy
    except ImportError as error:
        raise MbkernError(f"embed.jax needs JAX, which is not there ({error}): pip install jax") from None
    if not library.config.read("jax_enable_x64"):
        raise MbkernError('embed.jax computes in float64: call jax.config.update("jax_enable_x64", True) first')
    return library


# ---- routes ----------------------------------------------------------------------------------------------------------

def _route(wanted: str) -> tuple[str, str]:
    """The route to take, and why it is the callback."""
    if wanted not in ("auto", "ffi", "callback"):
        raise MethodError(f"route: expected \"auto\", \"ffi\" or \"callback\", got {show(wanted)}")
    if wanted == "callback":
        return wanted, "asked for"
    try:
        _register()
    except MbkernError as error:
        if wanted == "ffi":
            raise
        return "callback", str(error)
    return "ffi", ""


def _register() -> None:
    """Build and register what XLA calls; once in a process."""
    library = _jax()
    if _registered:
        return
    if not hasattr(library, "ffi"):
        raise MbkernError(f"JAX {library.__version__} has no jax.ffi")
    linking, target = lazy.module("export.linking"), lazy.module("export.targets").target_named("native")
    compiler = linking.compiler(target)
    if not compiler:
        raise MbkernError("no C compiler found, which builds what XLA calls")
    rows = lazy.module("core.rows")
    places = [f"-DJOB_{name.removeprefix('JOB_')}={getattr(rows, name)}" for name in (
        "JOB_FUNCTION", "BLOCK", "END", "STEP", "N_INPUTS", "N_ARGUMENTS", "TIMES", "N_TIMES", "AT_CODES", "BUFFER",
        "ARRAYS")]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows keeps what is loaded
        made = Path(folder) / f"xla{target.suffix}"
        command = linking.link_command(compiler, target, [_SOURCE], made)
        position = [] if target.suffix == ".dll" else ["-fPIC"]
        command[len(compiler):len(compiler)] = ["-O2", *position, f"-I{library.ffi.include_dir()}", *places]
        linking.run(command, "building what XLA calls")
        loaded = ctypes.CDLL(str(made))
    library.ffi.register_ffi_target(TARGET, library.ffi.pycapsule(loaded.mbkern_xla), platform="cpu")
    _registered.append(loaded)


def _words_of(system: System, operation: Operation, given: Collection[str]) -> np.ndarray:
    """The attribute of a call, see xla_handler.c; `given`: names of the inputs that are."""
    binding, compiled = system.binding, operation.compiled
    arguments = (*operation.inputs, *operation.results)
    sizes = [int(np.prod(argument.shape_for(system.model))) for argument in arguments]
    room = max(binding.work_size, operation.work_size(system.block))
    lanes = lazy.module("core.rows").B_ARGUMENTS + sum(sizes) + room
    words, buffer = [], 1  # the first buffer is t
    for k, (argument, size) in enumerate(zip(arguments, sizes, strict=True)):
        there = k >= len(operation.inputs) or argument.name in given
        words += [size, buffer] if there else [size, -1]
        buffer += there
    return np.array([compiled.one.address, compiled.lanes.address,
                     lazy.module("export.kernels.batches").rows.address, system.block.ctypes.data,
                     binding.lane_block.ctypes.data, 8 * room, 8 * LANES * lanes, len(operation.inputs), len(sizes),
                     *words], np.int64)


def _by_rows(system: System, t: np.ndarray, q: np.ndarray, p: np.ndarray, *tau: np.ndarray) -> Any:
    """The callback: one batched call, or one for one state."""
    model, shape = system.model, t.shape
    if shape == ():
        try:
            return system.rhs(q, p, float(t), tau=tau[0] if tau else None)
        except MbkernError:
            return np.full(model.nq, np.nan), np.full(model.nv, np.nan)
    forces = tau[0].reshape(-1, model.nv) if tau else None
    qdot, pdot, _ = system.rhs_batch(q.reshape(-1, model.nq), p.reshape(-1, model.nv), t.reshape(-1), tau=forces,
                                     threads=1, return_status=True)
    return qdot.reshape(*shape, model.nq), pdot.reshape(*shape, model.nv)
