"""What the core does with Numba beside its public interface, and what each part gives.

==================================  ==============================================================================
`compiler_lock`, `locks`            a fork waits while another thread compiles, see :mod:`mbkern.locks`
pipelines `Called`, `Inlined`       functions are compiled by :mod:`.compiler`, in a third of the time
option `_nrt`                       no counting of references: a fifth of a small call from Python
`cache_on_disk`                     compiled code that is never stale, checked for damage, loaded without the compiler
`inner`                             functions without machine code refuse to be called from Python, and do not crash
`c_callback`                        C functions that are compiled when they are needed, and cached
`c_code`                            their LLVM code, also of those that come from the disk
`array_over`                        arrays over memory known by its address, without one more function to compile
`attempt`, `succeeds`               what Python code inside a user's function raises (`objmode`) is caught as well
`listen`                            who waits is told what for, see :mod:`mbkern.waits`
`PROMOTES`                          what a type answers that may stand where another one is wanted, without a loss
==================================  ==============================================================================

:mod:`mbkern.core.numba_public` has the same names without any of this. `mbkern.core.toolchain` chooses: importing
:mod:`.numba_internals`, which has all private names, fails where one is missing.
"""

import hashlib
import pickle
import warnings

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .compiler import entry
from .compiler.units import Kind, listeners
from .numba_internals import (
    CFunc, CompileResultCacheImpl, CompilerBase, Conversion, CPUDispatcher, FunctionCache, NullCache, PassManager,
    cgutils, dumps, ffi, global_compiler_lock, normalize_signature, populate_array, rtsys, typed_passes,
)

# ---- locks -----------------------------------------------------------------------------------------------------------
compiler_lock = global_compiler_lock


def locks():
    """The locks behind Numba's compiler and LLVM, in the order in which they are taken."""
    return [global_compiler_lock._lock, ffi.lib._lock._lock]


# ---- pipelines: see "Customizing the compiler" in Numba's manual -----------------------------------------------------
class _Passes(PassManager):
    """Passes one after the other, without what Numba writes down about each and its checks between two of them."""

    def _runPass(self, index, pss, internal_state):
        with global_compiler_lock:
            pss.run_pass(internal_state)


class _Compiler(CompilerBase):
    """Our compiler and the last pass of Numba, which puts its answer together."""

    way = entry.Compiled

    def define_pipelines(self):
        manager = _Passes("mbkern")
        manager.passes = [(self.way, "compile"), (typed_passes.NoPythonBackend, "nopython mode backend")]
        manager.finalize()
        return [manager]


class Called(_Compiler):
    """For functions that are called."""


class Inlined(_Compiler):
    """For parts of kernels: no machine code, which nobody would call, but LLVM's code, also of functions that are never
    inlined ("apart"). Whoever calls them makes machine code of it."""

    way = entry.WithoutMachineCode


def listen(listener):
    """Tell listener.begin(function, first) of every function that is about to be compiled, the first of all in this
    process or not, and listener.end() when it is."""
    listeners.append(listener)


# ---- options of `njit` -----------------------------------------------------------------------------------------------
# Nothing allocates, so Numba need not count references to arrays: a fifth of a small call from Python, and calls in the
# midst of a sweep that break its registers up. Inlined code is never called from Python or C: without those wrappers it
# compiles in half the time.
_NO_WRAPPERS: dict = dict(no_cpython_wrapper=True, no_cfunc_wrapper=True)
CALLED: dict = dict(pipeline_class=Called, _nrt=False)
INLINED: dict = dict(pipeline_class=Inlined, _nrt=False, **_NO_WRAPPERS)
COUNTED: dict = dict(pipeline_class=Inlined, _nrt=True, **_NO_WRAPPERS)  # it may return arrays
NOINLINE: dict = dict(pipeline_class=Called, _nrt=False, **_NO_WRAPPERS)
APART: dict = dict(pipeline_class=Inlined, _nrt=False, **_NO_WRAPPERS)


class _Inner(CPUDispatcher):
    """A function without machine code of its own, or without the wrapper that Python would call."""

    def __call__(self, *args, **kwargs):
        raise TypeError(f"{self.__module__}.{self.__name__} is a part of kernels and cannot be called from Python; "
                        "mbkern.plain loads the formulas as Python functions")


def mark(dispatcher, inlined, flags):
    """Say how a function is compiled where another one of the core calls it: is it "always", "never" or maybe ("may")
    inlined, and with which fast-math flags."""
    dispatcher.compiled_as = Kind(inlined, frozenset(flags or ()))
    return dispatcher


def inner(dispatcher):
    """The same function, but it refuses to be called from Python."""
    dispatcher.__class__ = _Inner
    return dispatcher


# ---- the cache on disk -----------------------------------------------------------------------------------------------
_complained = False


def _complain(what, error):
    """One warning in a process, however many files there are."""
    global _complained
    if not _complained:
        _complained = True
        warnings.warn(f"mbkern: {what} ({type(error).__name__}: {error}); kernels are compiled anew, results are not "
                      "affected. Make room, or name another folder in the environment variable NUMBA_CACHE_DIR",
                      RuntimeWarning, stacklevel=2)


class _Files(CompileResultCacheImpl):
    """What is written to disk: valid only for the very sources that `stamp` stands for, and checked for damage."""

    def reduce(self, data):
        payload = dumps(super().reduce(data))
        return hashlib.sha256(payload).digest(), payload

    def rebuild(self, target_context, data):
        digest, payload = data
        if hashlib.sha256(payload).digest() != digest:  # machine code with a wrong bit would be run
            raise ValueError("wrong checksum")
        return super().rebuild(target_context, pickle.loads(payload))


class _Cache(FunctionCache):
    """Numba's disk cache, whose troubles are a warning and cost time, and nothing else."""

    def __init__(self, function, stamp):
        class Stamped(_Files):
            def __init__(self, function):
                super().__init__(function)
                of_file = self.locator.get_source_stamp
                self.locator.get_source_stamp = lambda: (stamp, of_file())

        self._impl_class = Stamped
        super().__init__(function)

    def load_overload(self, sig, target_context):
        """Numba's, but for its first step: it would load all that its compiler may need (and SciPy's linear algebra
        with it), half of the time of a first result, and machine code needs no compiler. When there is none on disk,
        the compiler loads it itself."""
        rtsys.initialize(target_context)  # the symbols that machine code of Numba may refer to
        try:
            return self._load_overload(sig, target_context)
        except Exception as error:
            _complain(f"a file of the cache of compiled code in {self.cache_path} is damaged", error)
        try:
            self.flush()
        except Exception:
            self.disable()
        return None

    def save_overload(self, sig, data):
        try:
            self._save_overload(sig, data)
        except Exception as error:
            _complain(f"compiled code cannot be written to the cache in {self.cache_path}", error)


class _Nowhere(NullCache):
    """For functions whose code can be written nowhere."""

    def __init__(self, error):
        self._error = error

    def load_overload(self, sig, target_context):
        _complain("there is no folder to write compiled code to", self._error)


def _cache(function, stamp):
    try:
        return _Cache(function, stamp)
    except (RuntimeError, OSError) as error:
        return _Nowhere(error)


def cache_on_disk(dispatcher, function, stamp):
    """Keep its compiled code on disk, as long as `stamp` is the same."""
    dispatcher._cache = _cache(function, stamp)


def c_callback(function, signature, stamp):
    """The function compiled to a C function, now or long ago, with its `.address`."""
    options = dict(nopython=True, nogil=True, error_model="numpy", boundscheck=False, _nrt=False)
    made = CFunc(function, normalize_signature(signature), locals={}, options=options, pipeline_class=Called)
    made._cache = _cache(function, stamp)
    made.compile()
    return made


def c_code(function, signature, stamp):
    """(symbol, LLVM code as text) of the function that `c_callback` compiles, optimised, for the CPU at hand."""
    made = c_callback(function, signature, stamp)
    return made.native_name, _entered(made._library._get_module_for_linking(), made.native_name)


def _entered(module, symbol):
    """The code with another entry: Numba's would tell Python what a function raises, and these raise nothing. It calls
    the function by Numba's convention: where the result goes, where an exception would go, the arguments."""
    inner = module.get_function(symbol.removeprefix("cfunc."))
    text, kinds = str(module), [str(argument.type) for argument in inner.arguments]
    begin = text.index("define", text.rindex("\n", 0, text.index(f"@{symbol}(")))
    head, _, rest = text[begin:].partition("\n}\n")
    result = head[:head.index("@")].split()[-1]
    pointees = [kind[:-1] if kind.endswith("*") else "i64" if k == 0 else "ptr" for k, kind in enumerate(kinds[:2])]
    given = ", ".join(f"{kind} %a{k}" for k, kind in enumerate(kinds[2:]))
    body = [f"  %r = alloca {pointees[0]}", f"  %e = alloca {pointees[1]}",
            f"  %s = call i32 @{inner.name}({kinds[0]} %r, {kinds[1]} %e{', ' if given else ''}{given})"]
    body += ["  ret void"] if result == "void" else [f"  %v = load {result}, {kinds[0]} %r", f"  ret {result} %v"]
    entry = "\n".join([f"define linkonce_odr {result} @{symbol}({given}) {{", *body, "}", ""])
    return text[:begin] + entry + rest


# ---- arrays ----------------------------------------------------------------------------------------------------------
def array_over(context, builder, array_type, data, shape):
    """Row-major array of a type over the numbers that `data` points at; for the code of an intrinsic."""
    size_of = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    item = ir.Constant(ir.IntType(types.intp.bitwidth), size_of)
    strides = [item]
    for size in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], size))
    array = context.make_array(array_type)(context, builder)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
    return array._getvalue()


# ---- types -----------------------------------------------------------------------------------------------------------
PROMOTES = Conversion.promote

# ---- functions of users ----------------------------------------------------------------------------------------------
def _tried(context, builder, f, call, given):
    """Call an njit function and drop what it raises: whether it has returned, and what."""
    compiled = f.dispatcher.get_compile_result(call)
    context.add_linking_libs([compiled.library])
    defaults = [context.get_constant_null(kind) for kind in call.args[len(given):]]  # their types are their values
    status, value = context.call_internal_no_propagate(builder, compiled.fndesc, call, given + defaults)
    with cgutils.if_unlikely(builder, status.is_error):
        python = context.get_python_api(builder)
        lock = python.gil_ensure()
        python.err_clear()
        python.gil_release(lock)
    return status.is_ok, value


@intrinsic
def attempt(typingctx, f, arguments, otherwise):
    """(True, f(*arguments)) for an njit function f; (False, nothing of meaning) where it raises.

    The exception is dropped. A `try` of compiled code would miss those of Python code (`objmode`), and a C function
    without one would print them, once for each try at a step.
    """
    call = f.get_call_type(typingctx, tuple(arguments), {})

    def codegen(context, builder, sig, args):
        pair = _tried(context, builder, f, call, cgutils.unpack_tuple(builder, args[1]))
        return context.make_tuple(builder, sig.return_type, pair)

    return types.Tuple((types.boolean, call.return_type))(f, arguments, otherwise), codegen


@intrinsic
def succeeds(typingctx, f, arguments):
    """Whether f(*arguments) returns; the same for functions whose result nobody wants."""
    call = f.get_call_type(typingctx, tuple(arguments), {})

    def codegen(context, builder, sig, args):
        return _tried(context, builder, f, call, cgutils.unpack_tuple(builder, args[1]))[0]

    return types.boolean(f, arguments), codegen
