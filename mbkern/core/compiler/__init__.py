"""A compiler for the language of the core: from Python's syntax tree to LLVM, with Numba's types and operators.

Numba compiles any Python: it goes from byte code over control-flow graphs and several forms of its own to types by
iteration, and every function becomes a module of LLVM that is optimised, linked and copied into those of its callers.
For the hundred small functions of a kernel that takes five to thirty seconds, nearly all of it before LLVM optimises
what is in the end one function. The core needs little of that. Its functions are algebra on tuples, `if`, `for` over
`range`, `while`, and calls of each other; types follow from those of the arguments line by line. So they are compiled
here in one walk over their syntax trees:

==================  ====================================================================================================
:mod:`.source`      the syntax tree of a function, and what its global names mean
:mod:`.variables`   which local variables need memory: those that a branch or a loop assigns and others read
:mod:`.values`      values while compiling: numbers and arrays of LLVM, tuples of values, Python's own constants
:mod:`.backend`     what Numba knows: operators, casts, attributes, calls of anything that is not the core's own
:mod:`.expressions` the walk over expressions
:mod:`.body`        the walk over statements, which writes a function
:mod:`.units`       functions for given types of arguments, each made once; the text of all that one of them needs
:mod:`.entry`       such a function as one of Numba's, for callers in Python, C and compiled code of others
==================  ====================================================================================================

Operators and casts are Numba's own, so the arithmetic is the same, bit by bit, as where Numba compiles the same sources
by itself (MBKERN_NUMBA=public), and a test compares the two. What the language does not have (exceptions, generators,
lists, functions within functions) is an error that names the line.
"""
