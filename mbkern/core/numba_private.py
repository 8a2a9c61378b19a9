"""What the core uses of Numba beside its public interface, all in one file, and what each part gives.

==================================  ==============================================================================
`compiler_lock`, `locks`            a fork waits while another thread compiles, see :mod:`mbkern.locks`
pipelines `Called`, `Inlined`       kernels compile in a third of the time, and lanes on the stack lie within lines
option `_nrt`                       no counting of references: a fifth of a small call from Python
`cache_on_disk`                     compiled code that is never stale, checked for damage, loaded without the compiler
`inner`                             functions without machine code refuse to be called from Python, and do not crash
`c_callback`                        C functions that are compiled when they are needed, and cached
`c_code`                            their LLVM code, also of those that come from the disk
`array_over`                        arrays over memory known by its address, without one more function to compile
`attempt`, `succeeds`               what Python code inside a user's function raises (`objmode`) is caught as well
`PROMOTES`                          what a type answers that may stand where another one is wanted, without a loss
==================================  ==============================================================================

:mod:`mbkern.core.numba_public` has the same names without any of this. `mbkern.core.toolchain` chooses: importing this
module fails where a part is missing.
"""

import hashlib
import pickle
import warnings

from llvmlite import binding as llvm
from llvmlite import ir
from llvmlite.binding import ffi
from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core import cgutils, typed_passes
from numba.core import ir as numba_ir
from numba.core.base import BaseContext
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.lowering import Lower
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.typeconv import Conversion
from numba.core.types.functions import BaseFunction
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from .compiler import entry
from .compiler.units import ALWAYS, MAY, NEVER, Kind

NEEDED = (
    (global_compiler_lock, "_lock"), (ffi.lib, "_lock"), (_dynfunc, "make_function"), (rtsys, "initialize"),
    (typed_passes, "NativeLowering"), (typed_passes.NativeLowering, "lowering_class"), (Lower, "setup_function"),
    (DefaultPassBuilder, "define_nopython_pipeline"), (JITCodeLibrary, "_optimize_functions"),
    (JITCodeLibrary, "_optimize_final_module"), (JITCodeLibrary, "_finalize_final_module"),
    (FunctionCache, "_load_overload"), (FunctionCache, "_save_overload"), (FunctionCache, "_impl_class"),
    (CompileResultCacheImpl, "locator"), (CompileResultCacheImpl, "reduce"), (CompileResultCacheImpl, "rebuild"),
    (BaseContext, "call_internal_no_propagate"), (BaseContext, "add_linking_libs"), (BaseContext, "get_python_api"),
    (Dispatcher, "get_compile_result"), (JITCodeLibrary, "_get_module_for_linking"), (PassManager, "_runPass"),
    (BaseFunction, "get_call_type"), (BaseContext, "get_arg_packer"), (CompilerBase, "_compile_core"),
)
for _owner, _name in NEEDED:
    getattr(_owner, _name)  # an AttributeError where Numba has become another

# ---- locks -----------------------------------------------------------------------------------------------------------
compiler_lock = global_compiler_lock


def locks():
    """The locks behind Numba's compiler and LLVM, in the order in which they are taken."""
    return [global_compiler_lock._lock, ffi.lib._lock._lock]


# ---- pipelines: see "Customizing the compiler" in Numba's manual -----------------------------------------------------
# Both leave out the passes for parts of the language that the core does not use (closures, `with`, loops over tuples):
# a fifteenth of the time of a first call. What differs is the last pass.
CACHE_LINE = 64  # bytes
RAISE = (numba_ir.Raise, numba_ir.StaticRaise, numba_ir.DynamicRaise)
HANDS_ON = "ret i32 %"  # in Numba's functions: the answer of one that it has called
NOT_NEEDED = {
    "with_lifting", "inline_closure_likes", "rewrite_semantic_constants", "dead_branch_prune", "Rewrite dynamic raises",
    "make_function_op_code_to_jit_function", "inline_inlinables", "find_literally", "literal_unroll",
    "LiteralPropagation", "inline_overloads", "nopython_rewrites", "dump_parfor_diagnostics",
}


class _AlignedLower(Lower):
    def setup_function(self, fndesc):
        super().setup_function(fndesc)
        self.function.attributes.alignstack = CACHE_LINE
        self.function.attributes.add("nounwind")  # llvmlite writes the former only where there is another


@register_pass(mutates_CFG=True, analysis_only=False)
class _CalledLowering(typed_passes.NativeLowering):
    _name = "mbkern_called_lowering"

    @property
    def lowering_class(self):
        return _AlignedLower


class _ApartLower(_AlignedLower):
    def setup_function(self, fndesc):
        super().setup_function(fndesc)
        self.function.attributes.add("noinline")


class _InlinedLibrary(JITCodeLibrary):
    """LLVM's code of one function: hardly optimised, because all of it is where it will be inlined or called from."""

    raises = False

    def add_ir_module(self, ir_module):
        """Numba's, without its second look at code that Numba has just written."""
        text = cgutils.normalize_ir_text(str(ir_module))
        self.raises = HANDS_ON in text
        module = llvm.parse_assembly(text)
        module.name = ir_module.name
        self.add_llvm_module(module)

    def _optimize_functions(self, ll_module):
        pass

    def _optimize_final_module(self):
        made = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=1, cost="cheap")
        passes, *builder = made if isinstance(made, tuple) else (made,)  # Numba 0.61 has no builder
        passes.run(self._final_module, *builder)

    def _finalize_final_module(self):
        self._finalized = True  # and nothing else: no machine code


class _ApartLibrary(_InlinedLibrary):
    """The same, not optimised at all: that happens once, where the machine code is made."""

    def _optimize_final_module(self):
        pass


def _bare_call(fndesc, library):
    """A call of a function of ours, which raises nothing and calls nobody who does: without the code that would hand on
    what it raises, which is most of what Numba makes of a call. (Numba itself lets `range` raise for steps of zero.)"""
    def call(context, builder, sig, args):
        function = context.declare_function(builder.module, fndesc)
        places = [cgutils.alloca_once(builder, kind.pointee) for kind in function.function_type.args[:2]]
        builder.call(function, [*places, *context.get_arg_packer(fndesc.argtypes).as_arguments(builder, args)])
        return context.get_returned_value(builder, fndesc.restype, builder.load(places[0]))

    call.signature, call.libs = fndesc.argtypes, (library,)
    return call


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlinedLowering(typed_passes.NativeLowering):
    _name = "mbkern_inlined_lowering"
    library_class = _InlinedLibrary

    def run_pass(self, state):
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        # what stands for the function; it has no address, as no wrapper for Python was made
        key = _dynfunc.make_function(lowered.fndesc.lookup_module(), lowered.fndesc.qualname, "", 0, lowered.env,
                                     (state.library,))
        raises = any(isinstance(block.body[-1], RAISE) for block in state.func_ir.blocks.values())
        if raises or state.library.raises or isinstance(lowered.fndesc.restype, types.Optional):
            state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        else:
            call = _bare_call(lowered.fndesc, state.library)
            state.targetctx._defns[key].append(call, call.signature)
        state["cr"] = lowered._replace(cfunc=key)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _ApartLowering(_InlinedLowering):
    _name = "mbkern_apart_lowering"
    library_class = _ApartLibrary

    @property
    def lowering_class(self):
        return _ApartLower


class _Passes(PassManager):
    """Numba's passes one after the other, without what it writes down about each and its checks between two of them."""

    def _runPass(self, index, pss, internal_state):
        pss.analysis = self._analysis
        with global_compiler_lock:
            pss.run_initialization(internal_state)
            pss.run_pass(internal_state)
            pss.run_finalizer(internal_state)


def _pipeline(state, lowering):
    usual = DefaultPassBuilder.define_nopython_pipeline(state)
    manager = _Passes("mbkern")
    manager.passes = [(lowering if step is typed_passes.NativeLowering else step, text)
                      for step, text in usual.passes if step.name() not in NOT_NEEDED]
    manager.finalize()
    return [manager]


_usual_call_type = BaseFunction.get_call_type
_call_types: dict = {}


def _get_call_type(self, context, args, kws):
    """The type of a call of a built-in function, looked up once for each kind of arguments."""
    if kws:
        return _usual_call_type(self, context, args, kws)
    found = _call_types.get((self, args))
    if found is None:
        found = _call_types[self, args] = _usual_call_type(self, context, args, kws)
    return found


class _Compiler(CompilerBase):
    """While it compiles, types of calls are remembered: Numba goes through all candidates again at each of some
    thousand calls, a quarter of the time. Whoever compiles holds the compiler's lock, so nobody else meets this.
    """

    def _compile_core(self):
        usual = BaseFunction.get_call_type
        BaseFunction.get_call_type = _get_call_type
        try:
            return super()._compile_core()
        finally:
            BaseFunction.get_call_type = usual
            if usual is not _get_call_type:  # the outermost one
                _call_types.clear()


class Called(_Compiler):
    """For functions that are called. Aligns the stack to a cache line: Numba does not, and then half of the SIMD
    numbers that do not find a register lie across two lines. The sweeps on lanes took 1.0 or 1.6 times as long, by the
    chance of where the stack of a process begins."""

    def define_pipelines(self):
        manager = _Passes("mbkern")
        manager.passes = [(entry.Compiled, "compile by mbkern.core.compiler"),
                          (typed_passes.NoPythonBackend, "nopython mode backend")]
        manager.finalize()
        return [manager]


class Inlined(_Compiler):
    """For functions that are always inlined: no machine code, which nobody would call, but LLVM's code."""

    def define_pipelines(self):
        return _pipeline(self.state, _InlinedLowering)


class Apart(_Compiler):
    """For functions that are called and never inlined: LLVM's code, of which whoever calls them makes machine code. The
    engine of constraints has ten entries that share most of what they do: a fifth of the time to compile."""

    def define_pipelines(self):
        return _pipeline(self.state, _ApartLowering)


# ---- options of `njit` -----------------------------------------------------------------------------------------------
# Nothing allocates, so Numba need not count references to arrays: a fifth of a small call from Python, and calls in the
# midst of a sweep that break its registers up. Inlined code is never called from Python or C: without those wrappers it
# compiles in half the time.
_NO_WRAPPERS: dict = dict(no_cpython_wrapper=True, no_cfunc_wrapper=True)
CALLED: dict = dict(pipeline_class=Called, _nrt=False)
INLINED: dict = dict(pipeline_class=Inlined, _nrt=False, **_NO_WRAPPERS)
COUNTED: dict = dict(pipeline_class=Inlined, _nrt=True, **_NO_WRAPPERS)  # it may return arrays
NOINLINE: dict = dict(pipeline_class=Called, _nrt=False, **_NO_WRAPPERS)
APART: dict = dict(pipeline_class=Apart, _nrt=False, **_NO_WRAPPERS)


class _Inner(CPUDispatcher):
    """A function without machine code of its own, or without the wrapper that Python would call."""

    def __call__(self, *args, **kwargs):
        raise TypeError(f"{self.__module__}.{self.__name__} is a part of kernels and cannot be called from Python; "
                        "mbkern.plain loads the formulas as Python functions")


def inner(dispatcher):
    """The same, but it refuses to be called from Python."""
    dispatcher.__class__ = _Inner
    return dispatcher


INLINED_KIND = {Inlined: ALWAYS, Called: MAY, Apart: NEVER}


def mark(dispatcher, pipeline, flags):
    """How the compiler of the core compiles a function where another one calls it."""
    dispatcher.compiled_as = Kind(INLINED_KIND[pipeline], frozenset(flags or ()))
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
