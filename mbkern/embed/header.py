"""The C header of the functions, as text."""

from __future__ import annotations

from ..core import constants as _L
from ..explain import CODES

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
/* returns 0, a positive number (no value at this state: try a smaller step) or a negative one (give up) */
typedef int (*mbkern_ode_status)(double t, const double *y, double *dydt, void *user);

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
#endif

#ifdef __cplusplus
}
#endif
#endif
"""


def header() -> str:
    """The C header (C99 and C++) that documents and declares the functions; write it to a file and include it.

    Examples
    --------
    >>> import mbkern as mb
    >>> "mbkern_status" in mb.embed.header()
    True
    """
    codes = ",\n".join(f"    MBKERN_{name} = {code} /* {meaning} */" for code, (name, meaning) in enumerate(CODES))
    text = _HEADER.replace("@CODES@", codes)
    for name in ("STATUS", "NQ", "NV"):
        text = text.replace(f"@{name}@", str(getattr(_L, name)))
    return text
