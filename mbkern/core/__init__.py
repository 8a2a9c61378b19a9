"""The compiled core: equations as algebra on tuples, written once for every number type.

Nothing here validates, allocates or raises. Modules import only numpy, numba, math and one another (relatively, so
that :mod:`mbkern.plain` can load the same sources a second time as ordinary Python).
"""
