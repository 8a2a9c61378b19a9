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
# for solvers of stiff equations that take dense Jacobians column by column
_SUNDIALS = """
/* ---- CVODE and ARKODE: #define @UPPER@_SUNDIALS after including the headers of your N_Vector and of dense matrices
 * (sunmatrix/sunmatrix_dense.h), and pass @PREFIX@_cv_rhs and @PREFIX@_cv_jac to CVodeInit and CVodeSetJacFn, and a
 * @PREFIX@_cv_data as user data. y = (q, p); positive answers ask for a smaller step. ---- */
#ifdef @UPPER@_SUNDIALS
typedef struct {
    const double *tau; /* joint forces, or NULL */
    double *work;      /* @PREFIX@_work_size() doubles */
    double *J;         /* 4 NV^2 doubles, and NV^2 more for machines with closed loops */
} @PREFIX@_cv_data;
static inline int @PREFIX@_cv_rhs(double t, N_Vector y, N_Vector ydot, void *data) {
    const @PREFIX@_cv_data *d = (const @PREFIX@_cv_data *)data;
    const double *q = N_VGetArrayPointer(y);
    double *qdot = N_VGetArrayPointer(ydot);
    return @PREFIX@_rhs(t, q, q + @UPPER@_NQ, d->tau, qdot, qdot + @UPPER@_NQ, d->work);
}
static inline int @PREFIX@_cv_jac(double t, N_Vector y, N_Vector fy, SUNMatrix J, void *data, N_Vector a, N_Vector b,
                                N_Vector c) {
    const @PREFIX@_cv_data *d = (const @PREFIX@_cv_data *)data;
    const double *q = N_VGetArrayPointer(y);
    const int n = 2 * @UPPER@_NV, status = @PREFIX@_jacobian_rhs(t, q, q + @UPPER@_NQ, @JACOBIAN@, d->work);
    int i, j;
    (void)fy; (void)a; (void)b; (void)c;
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) SUNDenseMatrix_Column(J, j)[i] = d->J[i * n + j];
    return status;
}
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


def _for_solvers(functions: Sequence[Function], loops: bool) -> str:
    """What CVODE and its like take, where there is a Jacobian of as many numbers as the state has."""
    if not {"rhs", "jacobian_rhs"} <= {function.name for function in functions}:
        return ""
    return _SUNDIALS.replace("@JACOBIAN@", "d->tau, d->J, d->J + 4 * @UPPER@_NV * @UPPER@_NV" if loops
                             else "NULL, d->J")


def header(prefix: str, facts: dict[str, str], functions: Sequence[Function], *, quaternions: bool = False,
           loops: bool = False) -> str:
    """The header (C99 and C++) of a library; `facts` fill the places between @ signs. What CVODE takes is part of it
    unless a state has quaternions, whose tangent is no change of four numbers."""
    filled = {**facts, "PREFIX": prefix, "UPPER": prefix.upper(), "STATE": STATE,
              "CODES": code_lines(prefix.upper(), STATUS)}
    body = "\n".join(f"\n{_comment(function.about)}\n{function.declaration(prefix)}" for function in functions)
    checked = "\n".join(filter(None, (function.checked(prefix) for function in functions)))
    solvers = "" if quaternions else _for_solvers(functions, loops)
    whole = _TOP + body + solvers + _BOTTOM + _CHECKS.replace("@CHECKED@", checked) + "\n#endif\n"
    for name, value in filled.items():
        whole = whole.replace(f"@{name}@", value)
    return whole
