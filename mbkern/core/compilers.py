"""How Numba compiles the core: two pipelines, one for functions that others call, one for those that are inlined.

Both leave out the passes for parts of the language that the core does not use (closures, `with`, loops over tuples): a
fifteenth of the time of a first call. What differs is the last pass:

`Called`    aligns the stack to a cache line. Numba's does not, and then half of the SIMD numbers that do not find a
            register lie across two lines: the sweeps on lanes took 1.0 or 1.6 times as long, by the chance of where
            the stack of a process begins.
`Inlined`   makes no machine code, which nobody would call, and hands on LLVM's code to be inlined.

See "Customizing the compiler" in Numba's manual.
"""

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import typed_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower

CACHE_LINE = 64  # bytes
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


class _InlinedLibrary(JITCodeLibrary):
    """LLVM's code of one function: hardly optimised, because all of it is where it will be inlined."""

    def _optimize_functions(self, ll_module):
        pass

    def _optimize_final_module(self):
        made = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=1, cost="cheap")
        passes, *builder = made if isinstance(made, tuple) else (made,)  # Numba 0.61 has no builder
        passes.run(self._final_module, *builder)

    def _finalize_final_module(self):
        self._finalized = True  # and nothing else: no machine code


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlinedLowering(typed_passes.NativeLowering):
    _name = "mbkern_inlined_lowering"

    def run_pass(self, state):
        state.library = _InlinedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        # what stands for the function; it has no address, as no wrapper for Python was made
        key = _dynfunc.make_function(lowered.fndesc.lookup_module(), lowered.fndesc.qualname, "", 0, lowered.env,
                                     (state.library,))
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=key)
        return True


def _pipeline(state, lowering):
    manager = DefaultPassBuilder.define_nopython_pipeline(state)
    manager.passes = [(lowering if step is typed_passes.NativeLowering else step, text)
                      for step, text in manager.passes if step.name() not in NOT_NEEDED]
    manager.finalize()
    return [manager]


class Called(CompilerBase):
    """For functions that are called."""

    def define_pipelines(self):
        return _pipeline(self.state, _CalledLowering)


class Inlined(CompilerBase):
    """For functions that are always inlined."""

    def define_pipelines(self):
        return _pipeline(self.state, _InlinedLowering)
