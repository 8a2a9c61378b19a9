"""The compiled integrators: nopython only, one set of machine code for every ODE.

Nothing here knows about multibody systems. An ODE is a C function ``void f(double t, const double *y, double *dydt,
void *user)`` that is called by its address, so that each loop is compiled once and cached. The caches are stamped with
the sources of this folder and of the core (see :mod:`mbkern.core.jit`).
"""
