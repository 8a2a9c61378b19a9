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
 * overlap, matrices are row-major. Sizes cannot be checked here: buffers that are too small are overrun. (Compile with
 * @UPPER@_CHECKED defined to check them where they are arrays and not pointers: see @UPPER@_SIZE below.)
 *
@STATE@
 *
 * All functions that compute return a status, @UPPER@_OK or what is wrong (@PREFIX@_status_text has it in words). When
 * it is not @UPPER@_OK, the results are NaN.
 */
#ifndef @UPPER@_H
#define @UPPER@_H

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

_BOTTOM = """
#ifdef __cplusplus
}
#endif
#endif
"""


def _comment(text: str) -> str:
    lines = text.replace("*/", "* /").splitlines()
    return "/* " + "\n * ".join(lines) + " */"


def header(prefix: str, facts: dict[str, str], functions: Sequence[Function]) -> str:
    """The header (C99 and C++) of a library; `facts` fill the places between @ signs."""
    text = _TOP
    filled = {**facts, "PREFIX": prefix, "UPPER": prefix.upper(), "STATE": STATE,
              "CODES": code_lines(prefix.upper(), STATUS)}
    for name, value in filled.items():
        text = text.replace(f"@{name}@", value)
    body = "\n".join(f"\n{_comment(function.about)}\n{function.declaration(prefix)}" for function in functions)
    return text + body + "\n" + _BOTTOM
