"""The compiled sweeps over records: nopython only, for Python and for users' own compiled code.

    layout        reading a record; six-vectors of all bodies
    extended_lu   Algorithm 1: the extended system by block LU
    extended      Algorithm 2: the extended system by L^T D L
    reduced       Algorithm 3: Hamilton's equations by the mass matrix
    motion        velocities and momenta of given speeds, and pdot
    checked       what Python calls: it looks at the records first

Kernels allocate nothing and raise nothing. A solver returns -1, or the number of a body whose A^T M* A is singular.
"""
