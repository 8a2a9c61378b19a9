"""From the description of a machine to the flat block that the kernels read.

Each moving step, ball or free joint becomes a node (see :mod:`mbkern.core.layout`). Constant steps and placements
merge into the constant frame of the node behind them. A body is fixed in the frame of its last node; welded bodies
share the node of their parent, so that a weld costs nothing. Where on its axis the frame of a node lies, and how it is
turned about it, is chosen at the end (:mod:`.frames`).

All is computed in columns over the bodies, elements of joints, nodes or dofs. Mass, com, inertia and position of a body
may be arrays, one value for each of many machines (:mod:`.vary`). Then columns are of objects, and so are the numbers
that depend on them, with the same bits that each machine alone would have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import collector, plain
from ..core import constants as L
from ..core.jit import STAMP_NUMBER
from . import doubts, rigid
from .ancestry import Ancestry, ancestry, multipliers
from .columns import PLACES, Columns
from .constraint_lowering import section
from .constraints import Constraint, prescribed
from .drives import Drive, Function, Harmonic, Polynomial, Spline
from .elements import NO_QUATERNION, Elements, elements_of
from .frames import choose_frames, put_sums
from .placing import placed

if TYPE_CHECKING:
    from .model import Model

_rotors = plain.load("rotors")

Integers = NDArray[np.int64]
Table = np.ndarray  # of floats, or of objects where some are arrays
Changes = Mapping[int, Mapping[str, NDArray[np.float64]]]

# A pivot of a body's inertia below this part of the largest moment of inertia counts as zero.
SINGULAR = 1e-13
# The transpose of a 3x3 matrix, and (xx, xy, xz, yy, yz, zz) of it, among its numbers by rows
TRANSPOSE, UPPER = [0, 3, 6, 1, 4, 7, 2, 5, 8], [0, 1, 2, 4, 5, 8]


def lower(model: Model) -> np.ndarray:
    """Pack a model into the block that the kernels read (read-only; layout in :mod:`mbkern.core.layout`)."""
    with collector.paused():
        block = numbers(model._columns, model.gravity.tolist(), constraints=model.constraints,
                        names=model.coordinate_names)
    block.flags.writeable = False
    return block


def numbers(columns: Columns, gravity: list[float], changes: Changes | None = None,
            constraints: Sequence[Constraint] = (), names: Sequence[str] = (), room: int = 0) -> Table:
    """All numbers of the block.

    `changes` are arrays in place of the numbers of some bodies, the machines along their first axis; with them the
    block is of objects. `names` are those of the coordinates, for gears; `room` is that of the
    section of doubts.
    """
    changes = changes or {}
    elements = elements_of(columns.kinds, columns.kind)
    tree = ancestry(columns.parents, elements)
    n_nodes, n_bodies, nv = int(elements.moves.sum()), len(columns), int(elements.nv.sum())

    at_bodies = L.HEADER + n_nodes * L.NODE
    at_coordinates = at_bodies + n_bodies * L.BODY
    at_drives = at_coordinates + nv * L.COORDINATE
    drives = [*elements.drives, *prescribed(constraints)]
    drive_rows = _drive_rows(drives, at_drives + len(drives) * L.DRIVE)
    block: Table = np.full(at_drives + len(drive_rows), 0.0, dtype=object if changes else float)
    nodes = block[L.HEADER:at_bodies].reshape(n_nodes, L.NODE)
    bodies = block[at_bodies:at_coordinates].reshape(n_bodies, L.BODY)
    coordinates = block[at_coordinates:at_drives].reshape(nv, L.COORDINATE)
    block[at_drives:] = drive_rows

    _put_coordinates(coordinates, columns, elements, tree)
    _put_nodes(nodes, elements, tree, coordinates[:, L.ARMATURE].astype(float))
    block[L.MULTIPLIERS_SIZE] = _put_bodies(bodies, tree, coordinates[:, L.ARMATURE].astype(float))
    tables = _tables(columns, changes)
    joints = np.concatenate([tables["rotation"].T[TRANSPOSE], tables["position"].T]).reshape(4, 3, -1)
    places, ends = placed(elements, tree, joints)
    nodes[:, L.PLACE_G:L.PLACE_G + 12] = places.reshape(12, -1).T
    bodies[:, L.BODY_G:L.BODY_G + 12] = ends.reshape(12, -1).T

    own = np.concatenate([tables["mass"], tables["com"], tables["inertia"][:, UPPER]], axis=1)
    bodies[:, L.BODY_MASS:L.BODY_MASS + rigid.WIDTH] = rigid.about_origin(own)
    _put_roots(bodies, own, [i for i, change in changes.items() if {*change} & {"mass", "com", "inertia"}])
    in_frames = rigid.in_frames(own, ends[:3], ends[3])
    ground = put_sums(nodes, tree.node, in_frames)
    choose_frames(nodes, bodies, in_frames)

    block[L.STAMP], block[L.SIZE] = STAMP_NUMBER, block.size
    block[L.N_NODES], block[L.N_BODIES], block[L.NQ], block[L.NV] = n_nodes, n_bodies, int(elements.nq.sum()), nv
    block[L.N_DRIVES] = len(drives)
    block[L.N_QUATERNIONS] = int((elements.quaternion != NO_QUATERNION).sum())
    block[L.AT_BODIES], block[L.AT_COORDINATES], block[L.AT_DRIVES] = at_bodies, at_coordinates, at_drives
    block[L.GRAVITY:L.GRAVITY + 3] = gravity
    block[L.GROUND_MOMENT:L.GROUND_MOMENT + 3] = ground[rigid.CENTRE:rigid.INERTIA]
    block[L.MASS_SIZE] = int((coordinates[:, L.N_BEFORE] + 1).sum())
    block[L.HAS_PASSIVE] = float(coordinates[:, [L.STIFFNESS, L.DAMPING]].any())
    block[L.HAS_ROTORS] = float(coordinates[:, L.ARMATURE].any())
    block[L.ROTORS_SIZE] = _rotors.ROTOR_SIZE * bool(((nodes[:, L.ROTOR] != 0.0) & (nodes[:, L.DOFS] > 1)).any())
    pairs = doubts.section(nodes, room)
    block[L.ONLY_HINGES] = float(not any(pairs) and (nodes[:, L.CASE] < L.OTHER).all())
    if pairs:
        block[L.AT_DOUBTS], block[L.SIZE] = block.size, block.size + len(pairs)
        block = np.concatenate([block, np.array(pairs, block.dtype)])
    return _with_constraints(block, constraints, names, len(elements.drives)) if constraints else block


def _with_constraints(block: Table, constraints: Sequence[Constraint], names: Sequence[str], first_drive: int) -> Table:
    """The block with the section of the constraints behind it."""
    places = {name: k for k, name in enumerate(names)}
    numbers = section(block, constraints, places, first_drive, block.size)
    block[L.AT_CONSTRAINTS], block[L.ONLY_HINGES] = block.size, 0.0
    added = np.empty(len(numbers), dtype=block.dtype)
    for k, number in enumerate(numbers):
        added[k] = number
    block = np.concatenate([block, added])
    block[L.SIZE] = block.size
    return block


def _tables(columns: Columns, changes: Changes) -> dict[str, Table]:
    """Of each of the `PLACES` a row of numbers for each body."""
    tables: dict[str, Table] = {name: columns.numbers[:, place] for name, place in PLACES.items()}
    if changes:
        tables = {name: table.astype(object) for name, table in tables.items()}
    for i, change in changes.items():
        for name, values in change.items():
            for j, column in enumerate(values.reshape(len(values), -1).T):
                tables[name][i, j] = np.ascontiguousarray(column)
    return tables


def _put_coordinates(rows: Table, columns: Columns, elements: Elements, tree: Ancestry) -> None:
    """Enter springs, dampers and rotors of the dofs, and which dofs are below them."""
    n = len(rows)
    for place, name in ((L.STIFFNESS, "stiffness"), (L.DAMPING, "damping"), (L.REST, "rest")):
        rows[:, place] = columns.per_dof(attrgetter(name))
    armature = columns.per_dof(attrgetter("armature"))
    element, body = np.repeat(np.arange(len(elements.nv)), elements.nv), np.repeat(np.arange(len(columns)), tree.n_dofs)
    among = np.arange(n) - tree.first_dof[body]  # its number in the joint
    depth = tree.depth[body] + among
    rotors = np.cumsum(armature != 0.0) - (armature != 0.0)  # of the dofs before it
    rows[:, L.SPRING_QI] = np.where(elements.quaternion[element] == NO_QUATERNION, elements.first_q[element], -1)
    rows[:, L.BEFORE] = np.where(among > 0, np.arange(n) - 1, tree.before[body])
    rows[:, L.N_BEFORE] = depth
    rows[:, L.MASS_ROW] = np.cumsum(depth + 1) - (depth + 1)
    rows[:, L.RUN_FIRST], rows[:, L.RUN_LAST], rows[:, L.SHARED_PLACE] = runs(rows[:, L.BEFORE].astype(np.int64))
    rows[:, L.ARMATURE] = armature
    rows[:, L.MULTIPLIER] = np.where(
        armature != 0.0, 6 - tree.n_dofs[body] + rotors - rotors[tree.first_dof[body]], -1)


def runs(before: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """First and last dof of the run of each dof, and whose memory it shares, from the dofs before them.

    >>> first, last, shared = runs(np.array([-1, 0, 1, 1, 3]))  # 1 carries 2 and 3
    >>> first.tolist(), last.tolist(), shared.tolist()
    ([0, 0, 2, 3, 3], [1, 1, 2, 4, 4], [4, 4, 2, 4, 4])
    """
    n = len(before)
    own, carried = np.arange(n), np.bincount(before[before >= 0], minlength=n)
    goes_on = (before == own - 1) & (before >= 0) & (carried[before] == 1)
    first = np.maximum.accumulate(np.where(goes_on, 0, own)) if n else own
    ends = np.append(~goes_on[1:], True) if n else goes_on
    last = np.minimum.accumulate(np.where(ends, own, n)[::-1])[::-1] if n else own
    outermost = own.copy()
    outermost[before[before >= 0]] = own[before >= 0]  # of several values the last one stays: the last that it carries
    shared = outermost.tolist()
    for j in range(n - 1, -1, -1):
        shared[j] = shared[shared[j]]
    return first, last, np.array(shared, np.int64)


def _put_nodes(rows: Table, elements: Elements, tree: Ancestry, armature: NDArray[np.float64]) -> None:
    """Enter what nodes are and which numbers of the state are theirs."""
    own = np.flatnonzero(elements.moves)
    body, first_q, dof, dofs = elements.body[own], elements.first_q[own], elements.first_dof[own], elements.nv[own]
    driven, node = elements.driven[own], np.arange(len(own))
    rows[:, L.KIND] = elements.kind[own]
    rows[:, L.PARENT] = np.where(node == tree.first_node[body], tree.root[body], node - 1)
    rows[:, L.QI] = np.where(driven, np.cumsum(driven) - 1, first_q)
    rows[:, L.VI], rows[:, L.DOFS], rows[:, L.PITCH] = dof, dofs, elements.pitch[own]
    rows[:, L.QUATERNION] = np.where(
        elements.quaternion[own] == NO_QUATERNION, -1, first_q + elements.quaternion[own])
    rows[:, L.DEPTH] = tree.depth[body] + dof - tree.first_dof[body]
    has_rotor = np.zeros(len(own), bool)
    has_rotor[np.repeat(node, dofs)[armature != 0.0]] = True
    rows[:, L.ROTOR] = has_rotor.astype(float)
    alone = has_rotor & (dofs == 1)
    rows[alone, L.ROTOR_INERTIA] = armature[dof[alone]]


def _put_bodies(rows: Table, tree: Ancestry, armature: NDArray[np.float64]) -> int:
    """Enter where nodes, dofs and multipliers of the bodies are; numbers of the matrix of the multipliers."""
    rotors = np.bincount(np.repeat(np.arange(len(rows)), tree.n_dofs)[armature > 0.0], minlength=len(rows))
    matrix = multipliers(tree.parent, 6 - tree.n_dofs + rotors)
    for place, column in ((L.BODY_NODE, tree.node), (L.FIRST_NODE, tree.first_node), (L.N_JOINT_NODES, tree.n_nodes),
                          (L.BODY_PARENT, tree.parent), (L.BODY_V, tree.first_dof), (L.BODY_DOFS, tree.n_dofs),
                          (L.SIBLING, matrix.sibling), (L.ELDERS, matrix.elders), (L.MULTIPLIER_ROWS, matrix.begin),
                          (L.N_ROTORS, rotors)):
        rows[:, place] = column
    return matrix.size


def _put_roots(rows: Table, bodies: Table, varied: list[int]) -> None:
    """Enter the factors of inertias; those of varied bodies one by one."""
    alike = np.ones(len(rows), bool)
    alike[varied] = False
    rows[alike, L.ROOT_MASS:L.ROOTS + 4] = np.transpose(_roots(*bodies[alike].astype(float).T))
    for i in varied:
        for j, column in enumerate(_roots(*np.broadcast_arrays(*bodies[i]))):
            rows[i, L.ROOT_MASS + j] = column


def _roots(mass: Any, x: Any, y: Any, z: Any, *J: Any) -> list[np.ndarray]:
    """The factor L of M = L L^T as body rows hold it; all zero where the inertia is singular."""
    with np.errstate(all="ignore"):  # the singular ones
        smallest = SINGULAR * np.maximum(np.maximum(J[0], J[3]), J[5])
        d1 = J[3] - J[1] * J[1] / J[0]
        l21 = (J[4] - J[2] * J[1] / J[0]) / d1
        d2 = J[5] - J[2] * J[2] / J[0] - l21 * l21 * d1
        regular = (mass > 0.0) & (J[0] > smallest) & (d1 > smallest) & (d2 > smallest)
        roots = [np.sqrt(pivot) for pivot in (mass, J[0], d1, d2)]
        factor = [1.0 / roots[0], x, y, z, J[1] / J[0], J[2] / J[0], l21, *(1.0 / root for root in roots[1:]), *roots]
        return [np.where(regular, number, 0.0) for number in factor]


def _drive_rows(drives: list[Drive], tables_at: int) -> list[float]:
    """Drive rows, and behind them the tables of polynomials and splines."""
    rows: list[float] = []
    tables: list[float] = []
    for drive in drives:
        at = tables_at + len(tables)
        data: list[Any]
        if isinstance(drive, Harmonic):
            kind, data = L.HARMONIC, [drive.amplitude, drive.omega, drive.phase, drive.offset]
        elif isinstance(drive, Polynomial):
            kind, data = L.POLYNOMIAL, [len(drive.coeffs), at]
            tables += drive.coeffs
        elif isinstance(drive, Spline):
            kind, data = L.SPLINE, [len(drive.t) - 1, at, at + len(drive.t)]
            tables += [*drive.t, *(x for piece in drive.coefficients for x in piece)]
        else:
            assert isinstance(drive, Function)
            kind, data = L.FUNCTION, []  # the address of its compiled form is known only in the running process
        rows += [kind, *data, *[0.0] * (L.DRIVE - 1 - len(data))]
    return rows + tables
