"""Calling the compiled right-hand side from other simulators.

==========================  ==================================================================================
from                        use
==========================  ==================================================================================
Python, SciPy               `system.rhs(q, p, t)`; `system.ode()`, a function fun(t, y) for `solve_ivp`
Numba                       `rhs, block = system.njit()`, inside any `@njit(cache=True)` function
C, C++, Fortran, Julia      `f = system.cfunc`: `f.address` and `f.user_data`, with the header text `header()`;
                            `system.cfunc_of("inverse_dynamics")` likewise for every operation
ctypes, cffi                `f.ctypes`, `cffi_pointers(f)`
SUNDIALS-style solvers      `sundials_address(f)`: int (double, const double *, double *, void *)
CyRK                        `cyrk_arguments(f)`
JAX                         `jax(system)`: functions under jit, vmap, grad
PyTorch                     `torch(system)`: operators with gradients
a carrier of the pointers   `low_level_callable(f)` (SciPy's own ODE solvers do not take one)
==========================  ==================================================================================

The state
---------
y = (q, p), nq + nv numbers, SI units and radians; dydt = (qdot, pdot). Bodies come in the order of the model (that of
`add_body`, parents first), the steps of a joint in their order. Constant and driven steps have no numbers in y.

================================  =====================  =========================================================
joint                             in q                   in p: conjugate to
================================  =====================  =========================================================
a coordinate that turns           its angle              its rate; kg m^2/s
a coordinate that moves           its distance           its rate; kg m/s
`ball()`                          w, x, y, z             angular velocity (3), body axes
`free()`                          x, y, z, then          velocity of the body origin (3), then angular velocity
                                  w, x, y, z             (3), relative to the frame before the joint, body axes
================================  =====================  =========================================================

(w, x, y, z) is a unit quaternion, body -> frame before the joint; x, y, z the body origin in that frame. Only the
direction of the quaternion is used: integrators need not keep its length exactly, but within 10 % of 1.
`model.pack` makes y from names. `model.index(name)` is the place of a coordinate in y, `model.nq +
model.speed_index(name)` that of a momentum; `model.coordinate_names` and `model.speed_names` list them all.

Memory and threads
------------------
One C function per method serves every model; what differs is the memory behind `user_data`. A `CFunc` owns that
memory, and all that it refers to: hold on to the object, or to its `user_data`, as long as C code uses the pointer (a
plain int made of it does not count). The `System` and the `Model` may go. Each access to `system.cfunc` makes a new,
independent object: one for each thread that calls at the same time. `system.rhs` and `system.ode()` may be called
from any number of threads.

Sizes are checked wherever Python passes arrays (`f.ctypes` raises `ctypes.ArgumentError`); C passes bare pointers, and
buffers that are too small are overrun.

Errors
------
Nothing is thrown through C. Each call leaves a status in the memory behind `user_data`: `f.status` and `f.error` in
Python, `mbkern_status(user)` in C; `CODES` explains it. When it is not 0, all of dydt is NaN.
"""

from ..explain import CODES
from .adapters import cffi_pointers, cyrk_arguments, low_level_callable, sundials_address
from .handle import CFunc, UserData
from .header import header
from .operation import COperation
from .with_jax import JaxFunctions, jax
from .with_torch import TorchFunctions, torch

__all__ = ["CODES", "CFunc", "COperation", "JaxFunctions", "TorchFunctions", "UserData", "cffi_pointers",
           "cyrk_arguments", "header", "jax", "low_level_callable", "sundials_address", "torch"]
