"""The constraints of a model (loops, gears, blades, rolling, rows of a user) for the formulations: the same objects, as
rows a(q, t) v + b(q, t) = 0 of the tree that they close.

Formulations want independent rows. Which rows of a model depend on others (a hinge too many in a plane, Bricard's
linkage) is decided where its loops are closed, and holds along the motion.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..errors import StateError
from ..inputs import Array
from ..model.model import Model
from ..system import System
from .functions import Constraints


def opened(system: System, constraints: Constraints | None) -> tuple[System, Constraints | None]:
    """A tree and its constraints: those given, or those of the model, which must not have both.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.analytic.of_model import opened
    >>> tree, constraints = opened(mb.System(mb.zoo.four_bar()), None)
    >>> constraints.count, tree.model.constraints
    (2, ())
    """
    if not system.model.constraints:
        return system, constraints
    if constraints is not None:
        own = system.model.constraints[0].name
        raise StateError(f"constraints: the model has some of its own ({own!r}, ...); add these to the model too, with "
                         "ModelBuilder.add_constraint")
    return tree_of(system), rows_of(system)


def tree_of(system: System) -> System:
    """The tree of a model with constraints, without them.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.analytic.of_model import tree_of
    >>> tree_of(mb.System(mb.zoo.four_bar())).model.constraints
    ()
    """
    model = system.model
    return System(Model(model.name, tuple(model.gravity.tolist()), model.body_specs, model.frame_specs,
                        dict(model.visuals)))


def nearby(system: System, q: Array, t: float) -> Array:
    """A configuration near q that closes the loops; q itself where there is none.

    Examples
    --------
    >>> import mbkern as mb, numpy as np
    >>> from mbkern.analytic.of_model import nearby
    >>> system = mb.System(mb.zoo.four_bar())
    >>> bool(abs(system.constraint_residuals(nearby(system, np.full(3, 0.1), 0.0))).max() < 1e-9)
    True
    """
    try:
        return system.assemble(q, t=t)
    except StateError:
        return q


def rows_of(system: System) -> Constraints:
    """The independent rows of a model's constraints.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.analytic.of_model import rows_of
    >>> rows_of(mb.System(mb.zoo.bricard())).count  # five rows, one of them redundant
    4
    """
    model = system.model
    redundant = system.mobility(system.some_closed_pose).redundant
    kept = np.array([k for k, name in enumerate(model.row_names) if name not in redundant])
    matrix, block = system.njit("constraint_matrix")
    matrix_rate, _ = system.njit("constraint_matrix_rate")
    m, nv, size = model.n_rows, model.nv, system.work("constraint_matrix_rate").size

    @njit
    def rows(t, q, v, a, b, rate):
        full, free, work = np.empty((m, nv)), np.empty(m), np.empty(size)
        status = matrix(block, t, q, full, free, work)
        for i, k in enumerate(kept):
            a[i], b[i] = full[k], free[k] if status == 0 else np.nan

    @njit
    def rates(t, q, v, a, b, rate):
        full, free, work = np.empty((m, nv)), np.empty(m), np.empty(size)
        status = matrix_rate(block, t, q, v, full, free, work)
        for i, k in enumerate(kept):
            rate[i] = (full[k] * v).sum() + free[k] if status == 0 else np.nan

    return Constraints(rows, kept.size, rates)
