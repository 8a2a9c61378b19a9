"""The C header of an exported library, as text."""

from __future__ import annotations

from collections.abc import Sequence

from ..embed.header import STATE, code_lines
from .codes import STATUS
from .signatures import Function

_TOP = """\
/* @NAME@: the equations of motion of one machine, made by mbkern @VERSION@.
 *
 * @MACHINE@
 * Compiled for @TARGET@.
 *
 * Everything is in @PREFIX@.o, the constants of the model too: link it, or the shared library, with -lm. It needs no
 * Python, allocates nothing, has no state of its own and may be called from any number of threads: each has its own
 * workspace `work`, @PREFIX@_work_size() doubles, which need not be initialised@INIT@. Arrays must not
 * overlap, matrices are row-major. Functions get bare pointers: buffers that are too small are overrun. Define
 * @UPPER@_CHECKED in debug builds (GCC or Clang): a program then ends with a message where the compiler knows that a
 * buffer is too small.
 *
@STATE@
 *
 * All functions that compute return a status, @UPPER@_OK or what is wrong (@PREFIX@_status_text has it in words). When
 * it is not @UPPER@_OK, the results are NaN.
 */
#ifndef @UPPER@_H
#define @UPPER@_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum @PREFIX@_status {
@CODES@
};

#define @UPPER@_NQ @NQ@
#define @UPPER@_NV @NV@
#define @UPPER@_N_BODIES @N@
#define @UPPER@_WORK_SIZE @WORK@

/* @UPPER@_SIZE(array, n): the array; with @UPPER@_CHECKED, code does not compile where it has less than n numbers:
 * @PREFIX@_rhs(t, @UPPER@_SIZE(q, @UPPER@_NQ), ...) */
#ifdef @UPPER@_CHECKED
#define @UPPER@_SIZE(array, n) \\
    (&(array)[0 * sizeof(char[sizeof(array) / sizeof((array)[0]) >= (n) ? 1 : -1])])
#else
#define @UPPER@_SIZE(array, n) (array)
#endif
"""

# arrays: at every level of optimization; memory from malloc: where code is optimized
_CHECKS = """
/* ---- debug builds: how large are the buffers, as far as the compiler knows? (Functions are macros then: an argument
 * with commas of its own, such as (double[]){1, 2}, needs parentheses around it.) ---- */
#if defined @UPPER@_CHECKED && defined __GNUC__
#include <stdio.h>
#include <stdlib.h>
#if defined __has_builtin
#if __has_builtin(__builtin_dynamic_object_size)
#define @UPPER@_BYTES_(array) __builtin_dynamic_object_size((array), 0)
#endif
#endif
#ifndef @UPPER@_BYTES_
#define @UPPER@_BYTES_(array) __builtin_object_size((array), 0)
#endif
static inline void @PREFIX@_room_(size_t bytes, int64_t needed, const char *function, const char *argument) {
    if (bytes == (size_t)-1 || (int64_t)(bytes / sizeof(double)) >= needed) return;
    fprintf(stderr, "%s: %s has room for %lld numbers, %lld are needed\\n", function, argument,
            (long long)(bytes / sizeof(double)), (long long)needed);
    abort();
}
@CHECKED@
#endif
"""
_BOTTOM = """

#ifdef __cplusplus
}
#endif
"""


def _comment(text: str) -> str:
    lines = text.replace("*/", "* /").splitlines()
    return "/* " + "\n * ".join(lines) + " */"


def header(prefix: str, facts: dict[str, str], functions: Sequence[Function]) -> str:
    """The header (C99 and C++) of a library; `facts` fill the places between @ signs."""
    filled = {**facts, "PREFIX": prefix, "UPPER": prefix.upper(), "STATE": STATE,
              "CODES": code_lines(prefix.upper(), STATUS)}
    body = "\n".join(f"\n{_comment(function.about)}\n{function.declaration(prefix)}" for function in functions)
    checked = "\n".join(filter(None, (function.checked(prefix) for function in functions)))
    whole = _TOP + body + _BOTTOM + _CHECKS.replace("@CHECKED@", checked) + "\n#endif\n"
    for name, value in filled.items():
        whole = whole.replace(f"@{name}@", value)
    return whole
