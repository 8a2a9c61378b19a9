"""An operation on the rows of row-major arrays, on one thread: a job of :mod:`mbkern.core.rows` that nobody shares.

    int64 rows(int64 job)

`job` is the address of the words of a job, all filled in. Returns how many rows have no result, these are NaN.
"""

from numba import types

from ...core.arguments import integers_at
from ...core.jit import c_function
from ...core.rows import BAD, JOB, work_on


@c_function(types.intp(types.intp))
def rows(job):
    work_on(job)
    return integers_at(job, JOB)[BAD]
