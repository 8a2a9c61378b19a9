"""All that mbkern imports of Numba beside its public interface, and the attributes that it relies on.

Importing this module fails where one of them is missing, and :mod:`.toolchain` then does without. Who uses what is said
there: :mod:`.numba_private` (pipelines, cache, C functions), :mod:`.compiler` (types, operators, code libraries).
"""

from llvmlite.binding import ffi
from numba import _dynfunc as dynfunc  # type: ignore[attr-defined]
from numba.core import cgutils, typed_passes
from numba.core.base import BaseContext
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.callconv import CPUCallConv, create_error_model
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.ir import Loc
from numba.core.lowering import BaseLower
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.typeconv import Conversion
from numba.extending import _Intrinsic as Intrinsic
from numba.np.arrayobj import populate_array

__all__ = [
    "BaseLower",
    "CFunc",
    "CPUCallConv",
    "CPUDispatcher",
    "CompileResultCacheImpl",
    "CompilerBase",
    "Conversion",
    "FunctionCache",
    "Intrinsic",
    "JITCodeLibrary",
    "Loc",
    "NullCache",
    "PassManager",
    "cgutils",
    "cpu_target",
    "create_error_model",
    "dumps",
    "dynfunc",
    "ffi",
    "global_compiler_lock",
    "normalize_signature",
    "populate_array",
    "register_pass",
    "rtsys",
    "typed_passes",
]

NEEDED = (
    (global_compiler_lock, "_lock"), (ffi.lib, "_lock"), (dynfunc, "make_function"), (rtsys, "initialize"),
    (typed_passes, "NativeLowering"), (typed_passes, "NoPythonBackend"), (CompilerBase, "define_pipelines"),
    (FunctionCache, "_load_overload"), (FunctionCache, "_save_overload"), (FunctionCache, "_impl_class"),
    (CompileResultCacheImpl, "locator"), (CompileResultCacheImpl, "reduce"), (CompileResultCacheImpl, "rebuild"),
    (BaseContext, "call_internal_no_propagate"), (BaseContext, "add_linking_libs"), (BaseContext, "get_python_api"),
    (BaseContext, "push_code_library"), (BaseContext, "subtarget"), (BaseContext, "get_getattr"),
    (BaseContext, "insert_user_function"), (CPUCallConv, "_return_errcode_raw"), (CPUCallConv, "check_try_status"),
    (CPUCallConv, "set_static_user_exc"), (CPUCallConv, "return_status_propagate"),
    (Dispatcher, "get_compile_result"), (JITCodeLibrary, "_get_module_for_linking"),
    (JITCodeLibrary, "_optimize_functions"), (JITCodeLibrary, "_optimize_final_module"),
    (JITCodeLibrary, "_finalize_final_module"), (PassManager, "_runPass"), (BaseLower, "lower_normal_function"),
    (BaseLower, "extract_function_arguments"),
)
for _owner, _name in NEEDED:
    getattr(_owner, _name)  # an AttributeError where Numba has become another
