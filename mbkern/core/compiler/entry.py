"""A function of the core as one of Numba's: for callers in Python, C and compiled code of others.

Numba's function does nothing but call ours. What belongs to it (its name, the wrappers for Python and C, the cache on
disk) is Numba's own, so whoever calls it notices no difference.
"""

from inspect import CO_VARARGS
from types import SimpleNamespace

from llvmlite import binding as llvm
from llvmlite import ir
from numba import TypingError, types

from ..numba_internals import BaseLower, JITCodeLibrary, Loc, cgutils, dynfunc, register_pass, typed_passes
from .units import CACHE_LINE, MAY, Kind, backend, text_of, unit_of
from .values import Number, Static, Tuple, leaves, unpacked


class _Entry(BaseLower):
    """Numba's function: takes its arguments apart, calls ours, puts the result together."""

    unit = None

    def lower_normal_function(self, fndesc):
        self.setup_function(fndesc)
        self.function.attributes.alignstack = CACHE_LINE
        self.function.attributes.add("nounwind")  # llvmlite writes the former only where there is another
        self.extract_function_arguments()
        builder, unit = self.builder, self.unit
        values = [backend().taken(builder, kind, value)
                  for kind, value in zip(fndesc.argtypes, self.fnargs, strict=True)]
        ours = cgutils.get_or_insert_function(self.module, unit.kind, unit.symbol)
        result = builder.call(ours, [leaf for value in values for leaf in leaves(value)])
        given = backend().cast(builder, unpacked(builder, unit.result, result), fndesc.restype)
        _kind, value = backend().given(builder, given)
        self.call_conv.return_value(builder, self.context.get_return_value(builder, fndesc.restype, value))

    def lower(self):
        """Ours and Numba's function in one module, in which nobody else sees ours."""
        text, libraries = text_of(self.unit)
        for library in libraries:
            self.library.add_linking_library(library)
        symbol = self.unit.symbol
        ours = text.replace("define internal", "define", 1)  # the unit itself comes first
        self.library._final_module.link_in(llvm.parse_assembly(cgutils.normalize_ir_text(ours)))
        super().lower()
        self.library._final_module.get_function(symbol).linkage = "internal"


class _Library(JITCodeLibrary):
    """Machine code: everything is in one module, so one run of the optimiser sees all."""

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        made = self._codegen._module_pass_manager()
        passes, *builder = made if isinstance(made, tuple) else (made,)  # Numba 0.61 has no builder
        passes.run(self._final_module, *builder)


@register_pass(mutates_CFG=True, analysis_only=False)
class Compiled(typed_passes.NativeLowering):
    """In the place of all passes of Numba but its last."""

    _name = "mbkern_compiled"
    library_class = _Library

    def run_pass(self, state):
        flags = state.flags.fastmath
        kind = Kind(MAY, frozenset(flags.flags) if flags else frozenset())
        function = state.func_id.func
        _refuse_strides(function, state.func_id.arg_names, state.args)
        forms = [_form(of) for of in state.args]
        if function.__code__.co_flags & CO_VARARGS:  # Numba has put these together
            forms[-1:] = forms[-1].parts
        unit = unit_of(function, kind, forms)
        if state.return_type is None:
            state.return_type = backend().typed(unit.result)
        state.typemap = {f"arg.{name}": of for name, of in zip(state.func_id.arg_names, state.args, strict=True)}
        state.calltypes = {}
        state.func_ir = SimpleNamespace(
            blocks={0: None}, generator_info=None, func_id=state.func_id, arg_names=state.func_id.arg_names,
            loc=Loc(state.func_id.filename, state.func_id.firstlineno))
        self._lowering = type("_EntryOf", (_Entry,), {"unit": unit})
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)

    @property
    def lowering_class(self):
        return self._lowering


class _Text(_Library):
    """LLVM's code of a function, as it is: it is optimised where it is inlined or called from."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalized = True  # and nothing else: no machine code


@register_pass(mutates_CFG=True, analysis_only=False)
class WithoutMachineCode(Compiled):
    """The same for functions that compiled code of others calls, and nobody else."""

    _name = "mbkern_without_machine_code"
    library_class = _Text

    def run_pass(self, state):
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        # what stands for the function; it has no address, as no wrapper for Python was made
        key = dynfunc.make_function(lowered.fndesc.lookup_module(), lowered.fndesc.qualname, "", 0, lowered.env,
                                     (state.library,))
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=key)
        return True


def _refuse_strides(function, names, kinds):
    """Numbers are read one after the other, without strides; Numba adds where the caller is."""
    for name, kind in zip(names, kinds, strict=True):
        if isinstance(kind, types.Array) and not kind.is_c_contig:
            raise TypingError(f"{function.__name__}: {name}: expected a contiguous array, got {kind}; "
                              f"pass np.ascontiguousarray({name})")


def _form(kind):
    """A value of a type of Numba, without its number."""
    if isinstance(kind, types.BaseTuple):
        return Tuple(tuple(_form(part) for part in kind))
    if isinstance(kind, types.Omitted):
        return backend().constant(None, kind.value)
    if kind is types.none:
        return Static(None, types.none)
    if isinstance(kind, types.Dispatcher):
        return Static(kind.dispatcher, kind)
    return Number(types.unliteral(kind), ir.Constant(backend().context.get_value_type(kind), ir.Undefined))
