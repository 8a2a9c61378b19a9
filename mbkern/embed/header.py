"""The C header of the functions, as text."""

from __future__ import annotations

from collections.abc import Mapping

from ..core import constants as _L
from ..explain import CODES
from ..methods import ACCELERATIONS, METHODS
from ..operations import OPERATIONS, Operation

# what a state is, for the comment of a header
STATE = """\
 *   t     time in seconds
 *   q, p  the state; SI units, radians. In the order of the bodies: one number a coordinate; a ball joint has a unit
 *         quaternion w, x, y, z (body -> frame before the joint) in q, and in p the momenta of its angular velocity in
 *         body axes; a free joint has x, y, z, w, x, y, z in q, and in p the momenta of linear and angular velocity in
 *         body axes. Only the direction of a quaternion is used; its length must be within 10 % of 1."""

_HEADER = """\
/* mbkern: Hamilton's equations of a multibody tree, dy/dt = f(t, y), as a C function.
 *
 * The function pointer and the pointer `user` come from Python: f = system.cfunc; f.address, f.user_data.
 *
 *   t     time in seconds
 *   y     the state (q, p): mbkern_nq(user) + mbkern_nv(user) doubles. SI units, radians. In the order of the bodies:
 *         one number a coordinate; a ball joint has a unit quaternion w, x, y, z (body -> frame before the joint) in
 *         q, and in p the momenta of its angular velocity in body axes; a free joint has x, y, z, w, x, y, z in q, and
 *         in p the momenta of linear and angular velocity in body axes.
 *   dydt  (qdot, pdot), as many doubles; must not overlap y
 *   tau   joint forces: mbkern_nv(user) doubles
 *   user  the memory of one f. It lives as long as the Python object f does. Calls that share it must not overlap in
 *         time: one f for each thread.
 *
 * Sizes are not checked here: buffers that are too small are overrun. Nothing is thrown; after each call
 * mbkern_status(user) is MBKERN_OK, or it tells what was wrong and all of dydt is NaN. It is all machine code: Python's
 * lock is not needed (a force function written in Python was compiled, too; only when it raises is the lock taken, to
 * print the exception).
 */
#ifndef MBKERN_H
#define MBKERN_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*mbkern_ode)(double t, const double *y, double *dydt, void *user);
typedef void (*mbkern_ode_tau)(double t, const double *y, const double *tau, double *dydt, void *user);
/* J = df/dy, row by row: (nq + nv)^2 doubles; `data` is f.jacobian_data, and the address f.jacobian_address. All NaN
 * where there is none; the status is that of mbkern_status(user). To be called in turn with f itself. */
typedef void (*mbkern_ode_jacobian)(double t, const double *y, double *J, void *data);
/* returns 0, a positive number (no value at this state: try a smaller step) or a negative one (give up) */
typedef int (*mbkern_ode_status)(double t, const double *y, double *dydt, void *user);

/* Other operations: f = system.cfunc_of("inverse_dynamics") and so on; f.address, f.user_data. Arrays row by row, in
 * the sizes that stand beside them: nq, nv as above, N bodies, k vectors as given when f was made. Where it says
 * "or NULL" an input may be left out. `frame` are the 14 numbers of system.frame_numbers(name, axes). Results must not
 * overlap inputs. The answer is the status; when it is not MBKERN_OK all results are NaN. */
@OPERATIONS@

enum mbkern_code {
@CODES@
};

/* the status of the last call with this user */
static inline int mbkern_status(const void *user) { return (int)((const double *)user)[@STATUS@]; }

/* how many numbers q and p have */
static inline long mbkern_nq(const void *user) { return (long)((const double *)user)[@NQ@]; }
static inline long mbkern_nv(const void *user) { return (long)((const double *)user)[@NV@]; }

#ifdef MBKERN_SUNDIALS
/* For CVODE and ARKODE: #define MBKERN_SUNDIALS after including the header of your N_Vector, pass mbkern_cv_rhs as the
 * right-hand side and a mbkern_cv_data as its user data. `f` is the address from mbkern.embed.sundials_address. */
typedef struct { mbkern_ode_status f; void *user; } mbkern_cv_data;
static inline int mbkern_cv_rhs(double t, N_Vector y, N_Vector ydot, void *data) {
    const mbkern_cv_data *d = (const mbkern_cv_data *)data;
    return d->f(t, N_VGetArrayPointer(y), N_VGetArrayPointer(ydot), d->user);
}
#ifdef MBKERN_SUNDIALS_DENSE
/* The Jacobian for CVodeSetJacFn and the like, with the dense matrices of SUNDIALS: also #define MBKERN_SUNDIALS_DENSE
 * after including their header, and pass a mbkern_cv_jac_data, which begins with a mbkern_cv_data, as user data to
 * right-hand side and Jacobian. `J` is room for (nq + nv)^2 doubles. */
typedef struct { mbkern_cv_data ode; mbkern_ode_jacobian jacobian; void *data; double *J; } mbkern_cv_jac_data;
static inline int mbkern_cv_jac(double t, N_Vector y, N_Vector fy, SUNMatrix J, void *data, N_Vector a, N_Vector b,
                                N_Vector c) {
    const mbkern_cv_jac_data *d = (const mbkern_cv_jac_data *)data;
    const long n = mbkern_nq(d->ode.user) + mbkern_nv(d->ode.user);
    (void)fy; (void)a; (void)b; (void)c;
    d->jacobian(t, N_VGetArrayPointer(y), d->J, d->data);
    for (long j = 0; j < n; j++) {
        double *column = SUNDenseMatrix_Column(J, j);
        for (long i = 0; i < n; i++) column[i] = d->J[i * n + j];
    }
    const int status = mbkern_status(d->ode.user);
    return status < MBKERN_BAD_SHAPE ? status : -status;
}
#endif
#endif

#ifdef __cplusplus
}
#endif
#endif
"""


def operations() -> dict[str, Operation]:
    """All operations that C can call, by name. The right-hand side stands for that of every method."""
    return {"rhs": METHODS["emh-ldl"].operation_with_wrenches,
            "accelerations": ACCELERATIONS["newton-euler-ldl"].operation_with_wrenches, **OPERATIONS}


def _typedef(item: tuple[str, Operation]) -> str:
    """Comment with the sizes of the arrays, and the type of the function."""
    name, operation = item
    sizes = [f"{argument.name} {' x '.join(map(str, argument.shape))}{' or NULL' if argument.optional else ''}"
             for argument in (*operation.inputs, *operation.results)]
    return (f"/* {operation.about if name in OPERATIONS else name}: {', '.join(sizes)} */\n"
            f"typedef {operation.c_declaration(f'(*mbkern_{name})')};")


def code_lines(prefix: str, codes: Mapping[int, tuple[str, str]]) -> str:
    """The lines of an enum of status codes: number -> (name, meaning).

    Examples
    --------
    >>> from mbkern.embed.header import code_lines
    >>> print(code_lines("ARM", {0: ("OK", "all is well")}))
        ARM_OK = 0 /* all is well */
    """
    return ",\n".join(f"    {prefix}_{name} = {code} /* {meaning} */" for code, (name, meaning) in codes.items())


def header() -> str:
    """The C header (C99 and C++) that documents and declares the functions; write it to a file and include it.

    Examples
    --------
    >>> import mbkern as mb
    >>> "mbkern_status" in mb.embed.header()
    True
    """
    text = _HEADER.replace("@CODES@", code_lines("MBKERN", dict(enumerate(CODES))))
    text = text.replace("@OPERATIONS@", "\n".join(map(_typedef, operations().items())))
    for name in ("STATUS", "NQ", "NV"):
        text = text.replace(f"@{name}@", str(getattr(_L, name)))
    return text
