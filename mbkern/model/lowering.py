"""From the description of a machine to the flat block that the kernels read.

Each moving step, ball or free joint becomes a node (see :mod:`mbkern.core.layout`). Constant steps and placements
merge into the constant frame of the node behind them. A body is fixed in the frame of its last node; welded bodies
share the node of their parent, so that a weld costs nothing. Where on its axis the frame of a node lies, and how it is
turned about it, is chosen at the end (:mod:`.frames`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import lazy, plain
from ..core import constants as _layout
from ..core.jit import STAMP_NUMBER
from . import rigid
from .drives import Drive, Function, Harmonic, Polynomial, Spline
from .frames import choose_frames
from .joint import Element

if TYPE_CHECKING:
    from .model import Model

_vec3 = plain.load("vec3")
_spatial = plain.load("spatial")
_rotors = plain.load("rotors")

# A pivot of a body's inertia below this part of the largest moment of inertia counts as zero.
SINGULAR = 1e-13

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]
Frame = tuple[Matrix, Vector]

EYE: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ORIGIN: Frame = (EYE, (0.0, 0.0, 0.0))
# axes permuted so that x, y or z becomes the new z: exact, no rounding
_ALIGNED: dict[Vector, Matrix] = {
    (1.0, 0.0, 0.0): ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    (0.0, 1.0, 0.0): ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    (0.0, 0.0, 1.0): EYE,
}


def aligned(axis: Vector) -> Matrix:
    """Rotation W with W axis = z."""
    exact = _ALIGNED.get(axis)
    if exact is not None:
        return exact
    z = np.asarray(axis)
    helper = np.zeros(3)
    helper[np.argmin(np.abs(z))] = 1.0
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return tuple(map(tuple, np.array([x, np.cross(z, x), z]).tolist()))  # type: ignore[return-value]


def turn(axis: Vector, angle: float) -> Matrix:
    """Direction cosines from the axes before a rotation to those after it."""
    W = aligned(axis)
    joints = lazy.module("_plain_core.joints")
    return _vec3.matmul(_vec3.transpose(W), joints.turned_z(W, float(angle)))


def displaced(step: Element) -> Frame:
    """The frame after a constant step in the one before it."""
    assert isinstance(step.amount, float)
    G = turn(step.axis, step.about * step.amount) if step.about else EYE
    return G, _vec3.scale(step.along * step.amount, step.axis)


def lower(model: Model) -> np.ndarray:
    """Pack a model into the block that the kernels read (read-only; layout in :mod:`mbkern.core.layout`)."""
    block = np.array(numbers(model.body_specs, model.gravity.tolist()), dtype=np.float64)
    block.flags.writeable = False
    return block


def numbers(body_specs: Iterable[Any], gravity: list[float]) -> list[Any]:
    """All numbers of the block.

    Mass, com, inertia and position of a body may consist of arrays, one value for each of many machines; then so do
    the numbers that depend on them, with the same bits that each machine alone would have.
    """
    L = _layout
    nodes: list[list[Any]] = []
    bodies: list[list[Any]] = []
    described: list[list[Any]] = []  # of each body: mass, centre of mass, inertia
    coordinates: list[list[float]] = []
    drives: list[Drive] = []
    frames: list[tuple[int, Frame]] = []  # of each body: its node, and its frame in the frame of the node
    last_speed: list[int] = []  # of each node: its own last dof, or the one before it
    last_child: dict[int, int] = {}
    mass_size = multipliers_size = rotors_size = 0
    qi = vi = quaternions = 0
    for spec in body_specs:
        node, X = frames[spec.parent] if spec.parent >= 0 else (L.GROUND, ORIGIN)
        X = _spatial.compose((_vec3.transpose(spec.rotation), spec.position), X)
        first_node, first_speed = len(nodes), vi
        for element in spec.joint.elements:
            if element.is_constant:
                X = _spatial.compose(displaced(element), X)
                continue
            place, index, kind = X, qi, getattr(L, element.node)
            X = ORIGIN
            if any(element.axis):
                W = aligned(element.axis)
                place, X = (_vec3.matmul(W, place[0]), place[1]), (_vec3.transpose(W), ORIGIN[1])
            if isinstance(element.amount, Drive):
                index, kind = len(drives), getattr(L, f"DRIVEN_{element.node}")
                drives.append(element.amount)
            quaternions += element.quaternion is not None
            row: list[Any] = [0.0] * L.NODE
            row[L.KIND], row[L.PARENT], row[L.QI], row[L.VI] = kind, node, index, vi
            row[L.DOFS], row[L.PITCH] = element.nv, element.pitch
            row[L.QUATERNION] = -1 if element.quaternion is None else qi + element.quaternion
            row[L.PLACE_G:L.PLACE_G + 9] = [x for line in place[0] for x in line]
            row[L.PLACE_RHO:L.PLACE_RHO + 3] = place[1]
            before = last_speed[node] if node >= 0 else -1
            row[L.DEPTH] = coordinates[before][L.N_BEFORE] + 1 if before >= 0 else 0
            node = len(nodes)
            nodes.append(row)
            last_speed.append(vi + element.nv - 1 if element.nv else before)
            armature = (spec.armature or (0.0,) * spec.joint.nv)[vi - first_speed:vi - first_speed + element.nv]
            row[L.ROTOR] = float(any(armature))
            if any(armature) and element.nv == 1:
                row[L.ROTOR_INERTIA] = armature[0]
            elif any(armature):
                rotors_size = _rotors.SIZE
            for j in range(element.nv):
                k = vi + j - first_speed
                depth = int(row[L.DEPTH]) + j
                coordinates.append([spec.stiffness[k], spec.damping[k], spec.rest[k],
                                    qi if element.quaternion is None else -1,
                                    vi + j - 1 if j else before, depth, mass_size, armature[j],
                                    6 - spec.joint.nv + sum(map(bool, spec.armature[:k])) if armature[j] else -1])
                mass_size += depth + 1
            qi += element.nq
            vi += element.nv
        frames.append((node, X))
        described.append(rigid.described(spec.mass, spec.com, spec.inertia))
        row = [node, first_node, len(nodes) - first_node, spec.parent, first_speed, vi - first_speed,
               *(x for line in X[0] for x in line), *X[1], *[0.0] * rigid.WIDTH]
        rotors = sum(x > 0.0 for x in spec.armature or ())
        sibling, elders, own = -1, 0, 6 - (vi - first_speed) + rotors
        if spec.parent >= 0:
            sibling = last_child.get(spec.parent, -1)
            eldest = bodies[sibling if sibling >= 0 else spec.parent]
            elders = int(6 - eldest[L.BODY_DOFS] + eldest[L.N_ROTORS] + (eldest[L.ELDERS] if sibling >= 0 else 0))
            last_child[spec.parent] = len(bodies)
        row += [sibling, elders, multipliers_size, *_rooted(spec.mass, spec.com, spec.inertia), rotors]
        multipliers_size += own * elders + own * (own + 1) // 2
        bodies.append(row)
    header: list[Any] = [0.0] * L.HEADER
    header[L.STAMP] = STAMP_NUMBER
    header[L.N_NODES], header[L.N_BODIES], header[L.NQ], header[L.NV] = len(nodes), len(bodies), qi, vi
    header[L.N_DRIVES], header[L.N_QUATERNIONS] = len(drives), quaternions
    header[L.HAS_PASSIVE] = float(any(c[L.STIFFNESS] or c[L.DAMPING] for c in coordinates))
    header[L.AT_BODIES] = L.HEADER + len(nodes) * L.NODE
    header[L.AT_COORDINATES] = header[L.AT_BODIES] + len(bodies) * L.BODY
    header[L.AT_DRIVES] = header[L.AT_COORDINATES] + len(coordinates) * L.COORDINATE
    header[L.GRAVITY:L.GRAVITY + 3] = gravity
    header[L.MASS_SIZE], header[L.MULTIPLIERS_SIZE] = mass_size, multipliers_size
    header[L.HAS_ROTORS], header[L.ROTORS_SIZE] = float(any(c[L.ARMATURE] for c in coordinates)), rotors_size
    drive_rows = _drive_rows(drives, int(header[L.AT_DRIVES]) + len(drives) * L.DRIVE)
    header[L.SIZE] = header[L.AT_DRIVES] + len(drive_rows)
    node_rows, body_rows, own = _tables((nodes, L.NODE), (bodies, L.BODY), (described, rigid.WIDTH))
    body_rows[:, L.BODY_MASS:L.BODY_MASS + rigid.WIDTH] = rigid.about_origin(own)
    axes, origins = body_rows[:, L.BODY_G:L.BODY_RHO].T.reshape(3, 3, -1), body_rows[:, L.BODY_RHO:L.BODY_MASS].T
    in_frames = rigid.in_frames(own, axes, origins)
    ground = rigid.summed(in_frames, body_rows[:, L.BODY_NODE].astype(int), len(nodes))[-1]
    header[L.GROUND_MOMENT:L.GROUND_MOMENT + 3] = ground[rigid.CENTRE:rigid.INERTIA].tolist()
    choose_frames(node_rows, body_rows, in_frames)
    header[L.ONLY_HINGES] = float(all(case < L.OTHER for case in node_rows[:, L.CASE]))
    rows = (*node_rows.ravel().tolist(), *body_rows.ravel().tolist())
    return [*header, *rows, *chain.from_iterable(coordinates), *drive_rows]


def _tables(*tables: tuple[list[list[Any]], int]) -> list[np.ndarray]:
    """Rows of given widths as arrays: of objects, all of them, if any number is an array."""
    varied = any(isinstance(x, np.ndarray) for rows, _ in tables for row in rows for x in row)
    if not varied:
        return [np.array(rows, dtype=np.float64).reshape(-1, width) for rows, width in tables]
    made = []
    for rows, width in tables:
        table = np.empty((len(rows), width), dtype=object)
        for i, row in enumerate(rows):
            for j, x in enumerate(row):
                table[i, j] = x
        made.append(table)
    return made


def _rooted(mass: Any, com: Any, inertia: Any) -> list[Any]:
    """The factor L of M = L L^T as a body row holds it; all zero where the inertia is singular."""
    J = tuple(inertia[a][b] for a in range(3) for b in range(a, 3))
    if any(isinstance(x, np.ndarray) for x in (mass, *com, *J)):
        return _rooted_arrays(mass, com, J)
    smallest = SINGULAR * max(J[0], J[3], J[5])
    if not (mass > 0.0 and J[0] > smallest):
        return [0.0] * 14
    d1 = J[3] - J[1] * J[1] / J[0]
    if not d1 > smallest:
        return [0.0] * 14
    l21 = (J[4] - J[2] * J[1] / J[0]) / d1
    d2 = J[5] - J[2] * J[2] / J[0] - l21 * l21 * d1
    if not d2 > smallest:
        return [0.0] * 14
    roots = [math.sqrt(x) for x in (mass, J[0], d1, d2)]
    return [1.0 / roots[0], *com, J[1] / J[0], J[2] / J[0], l21, *(1.0 / x for x in roots[1:]), *roots]


def _rooted_arrays(mass: Any, com: Any, J: Any) -> list[np.ndarray]:
    """`_rooted` of many machines, step by step the same."""
    mass, x, y, z, *J = np.broadcast_arrays(mass, *com, *J)
    with np.errstate(all="ignore"):  # the singular ones
        smallest = SINGULAR * np.maximum(np.maximum(J[0], J[3]), J[5])
        d1 = J[3] - J[1] * J[1] / J[0]
        l21 = (J[4] - J[2] * J[1] / J[0]) / d1
        d2 = J[5] - J[2] * J[2] / J[0] - l21 * l21 * d1
        regular = (mass > 0.0) & (J[0] > smallest) & (d1 > smallest) & (d2 > smallest)
        roots = [np.sqrt(x) for x in (mass, J[0], d1, d2)]
        factor = [1.0 / roots[0], x, y, z, J[1] / J[0], J[2] / J[0], l21, *(1.0 / x for x in roots[1:]), *roots]
        return [np.where(regular, number, 0.0) for number in factor]


def _drive_rows(drives: list[Drive], tables_at: int) -> list[float]:
    """Drive rows, and behind them the tables of polynomials and splines."""
    L = _layout
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
