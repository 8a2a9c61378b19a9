"""From the description of constraints to their section of the block, see :mod:`mbkern.core.constraint_layout`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import plain
from ..core import constants as L
from ..core import constraint_constants as K
from .constraint_order import meetings, order
from .constraints import Constraint, Lowered

_layout = plain.load("layout")
_DIAGONAL = (0, 3, 5)  # of an inertia, in six numbers
# What lies further apart than these makes eigenvalues of G that RHO of constraint_solve would hide; below them
# it leaves less than rounding.
UNEQUAL_MASSES, UNEQUAL_INERTIAS = 1e4, 1e7


class Tree:
    """Nodes, dofs and bodies of a block."""

    def __init__(self, block: np.ndarray) -> None:
        n, bodies, nv = (int(block[place]) for place in (L.N_NODES, L.N_BODIES, L.NV))
        nodes = block[L.HEADER:L.HEADER + n * L.NODE].reshape(n, L.NODE)
        at, row = int(block[L.AT_BODIES]), int(block[L.AT_COORDINATES])
        self.bodies = block[at:at + bodies * L.BODY].reshape(bodies, L.BODY)
        coordinates = block[row:row + nv * L.COORDINATE].reshape(nv, L.COORDINATE)
        self.parent, self.first, self.dofs = (nodes[:, k].astype(np.int64).tolist() for k in (L.PARENT, L.VI, L.DOFS))
        self.qi = nodes[:, L.QI].astype(np.int64).tolist()
        self.before = coordinates[:, L.BEFORE].astype(np.int64).tolist()
        self.node_of = [i for i in range(n) for _ in range(self.dofs[i])]

    def path(self, i: int) -> list[int]:
        """Node i and those on the way to the root."""
        found = []
        while i >= 0:
            found.append(i)
            i = self.parent[i]
        return found

    def place(self, body: int, frame: tuple[Any, Any]) -> tuple[int, list[Any]]:
        """Node of a frame of a body (-1: the world), and the frame's (G, rho) in it."""
        R, r = np.array(frame[0]), np.array(frame[1])
        if body < 0:
            return -1, [*R.T.ravel(), *r]
        row = self.bodies[body]
        G, rho = row[L.BODY_G:L.BODY_G + 9].reshape(3, 3), row[L.BODY_RHO:L.BODY_RHO + 3]
        return int(row[L.BODY_NODE]), [*(R.T @ G).ravel(), *(rho + G.T @ r)]

    def dof_of_coordinate(self, place: int) -> int:
        """The dof whose rate is that of the number at a place of q; -1 for numbers of quaternion joints."""
        for i, (qi, dofs) in enumerate(zip(self.qi, self.dofs, strict=True)):
            if dofs == 1 and qi == place:
                return int(self.first[i])
        return -1


class Entries:
    """Which dofs a constraint has coefficients for, and all others that its forces move."""

    def __init__(self, tree: Tree, spec: Lowered) -> None:
        self.driven: list[tuple[int, float]] = []
        sides: dict[int, float] = {}
        self.places = [(-1, [0.0] * 12), (-1, [0.0] * 12)]
        if spec.form == K.USER:
            sides = dict.fromkeys(range(len(tree.node_of)), 1.0)
        elif spec.form == K.GEAR:
            self.terms = {tree.dof_of_coordinate(place): (side, place, coefficients)
                          for place, side, coefficients in spec.terms}
            sides = {dof: side for dof, (side, _, _) in self.terms.items()}
        else:
            self.places = [tree.place(spec.body_a, spec.frame_a), tree.place(spec.body_b, spec.frame_b)]
            a, b = (tree.path(node) for node, _ in self.places)
            common = set(a) & set(b)
            for path, side in ((a, 1.0), (b, -1.0)):
                for i in path:
                    if i in common:
                        break
                    if tree.dofs[i] == 0:
                        self.driven.append((i, side))
                    sides.update({tree.first[i] + k: side for k in range(tree.dofs[i])})
        # leaves first; a user's rows have all dofs in their own order
        self.sides = dict(sorted(sides.items(), reverse=spec.form != K.USER))
        reached = set(self.sides)
        for dof in self.sides:
            j = tree.before[dof]
            while j >= 0 and j not in reached:
                reached.add(j)
                j = tree.before[j]
        self.reached = sorted(reached, reverse=True)


def section(block: np.ndarray, constraints: Sequence[Constraint], coordinates: dict[str, int], first_drive: int,
            at: int) -> list[Any]:
    """The numbers of the section, which begins at place `at` of the block."""
    tree = Tree(block)
    specs = [constraint.lowered(coordinates) for constraint in constraints]
    entries = [Entries(tree, spec) for spec in specs]
    sizes = [len(spec.rows) for spec in specs]
    public = np.cumsum([0, *sizes]).tolist()
    drives = np.cumsum([0, *[spec.drive is not None for spec in specs]]).tolist()
    meets = meetings([entry.reached for entry in entries])
    sequence, befores = order(meets, sizes)
    place_of = {c: k for k, c in enumerate(sequence)}

    n, m = len(specs), sum(sizes)
    at_objects = at + K.HEAD
    at_types = at_objects + n * K.CONSTRAINT
    lists: list[Any] = []
    at_lists = at_types + m * K.ROW_TYPE
    objects = np.zeros((n, K.CONSTRAINT), dtype=object)
    types: list[int] = []
    used = dict.fromkeys(("row", "a", "z", "l"), 0)
    first_row: dict[int, int] = {}
    for k, c in enumerate(sequence):
        spec, entry, row = specs[c], entries[c], objects[k]
        size = sizes[c]
        first_row[c] = used["row"]
        row[K.FORM], row[K.FIRST_ROW], row[K.N_OWN_ROWS], row[K.PUBLIC] = spec.form, used["row"], size, public[c]
        for (node, numbers), at_node, at_place in zip(entry.places, (K.NODE_A, K.NODE_B), (K.PLACE_A, K.PLACE_B),
                                                      strict=True):
            row[at_node], row[at_place:at_place + 12] = node, numbers
        row[K.BODY_A], row[K.BODY_B] = spec.body_a, spec.body_b
        row[K.LENGTH], row[K.TUBE] = spec.length, spec.tube
        row[K.DRIVE_OF] = first_drive + drives[c] if spec.drive is not None else -1
        row[K.CLOCK] = first_drive + drives[-1]
        types += [number for kind, i, j in spec.rows for number in (kind, i, j, k)]

        tables = _polynomials(entry, lists, at_lists) if spec.form == K.GEAR else {}
        row[K.A_LIST], row[K.N_A], row[K.AT_COEFFICIENTS] = at_lists + len(lists), len(entry.sides), used["a"]
        for dof, side in entry.sides.items():
            lists += [dof, side, tree.node_of[dof], *tables.get(dof, (0, 0, 0))]
        row[K.DRIVEN_LIST], row[K.N_DRIVEN] = at_lists + len(lists), len(entry.driven)
        lists += [number for pair in entry.driven for number in pair]
        own = {dof: t for t, dof in enumerate(entry.sides)}
        row[K.Z_LIST], row[K.N_Z], row[K.AT_Z] = at_lists + len(lists), len(entry.reached), used["z"]
        lists += [number for dof in entry.reached for number in (dof, own.get(dof, -1))]
        width = _couplings(row, c, k, entries, meets, befores, sizes, first_row, place_of, lists, at_lists)
        row[K.AT_L] = used["l"]
        used["row"] += size
        used["a"] += size * len(entry.sides)
        used["z"] += size * len(entry.reached)
        used["l"] += size * width + size * (size + 1) // 2
    nq, nv = len(coordinates), len(tree.node_of)
    given = max([len(spec.rows) * (2 * nv + 3) for spec in specs if spec.form == K.USER], default=0)
    parts = [(block[L.N_NODES] + 1) * K.NODE_PLACE, n * K.FRAMES, m * K.SCALAR_ROW, used["a"], used["a"],
             used["z"], used["z"], used["l"], used["l"]]
    first = _layout.scratch_at(block)
    begins = np.cumsum([first + _layout.scratch_size(block), *parts]).astype(np.int64).tolist()
    head = [n, m, used["a"], used["z"], used["l"], at_objects, at_types, 3 * nq + 2 * given if given else 0, first,
            *begins, 0, unequal(block)]
    return [*head, *objects.ravel(), *types, *lists]


def unequal(block: np.ndarray) -> int:
    """Whether masses are so far apart that G is to be solved with less softness (UNEQUAL of its head)."""
    at, row, n, nv = (int(block[place]) for place in (L.AT_BODIES, L.AT_COORDINATES, L.N_BODIES, L.NV))
    bodies = block[at:at + n * L.BODY].reshape(n, L.BODY)
    rotors = block[row:row + nv * L.COORDINATE].reshape(nv, L.COORDINATE)[:, L.ARMATURE]
    inertias = bodies[:, [L.BODY_INERTIA + k for k in _DIAGONAL]].sum(axis=1)
    return int(_spread(bodies[:, L.BODY_MASS]) > UNEQUAL_MASSES
               or _spread([*inertias, *rotors]) > UNEQUAL_INERTIAS)


def _spread(sizes: Iterable[Any]) -> float:
    """The largest over the smallest of those that are not zero; each may be an array of many machines."""
    found = np.concatenate([[1.0], *[np.ravel(np.asarray(size, float)) for size in sizes]])[1:]
    found = found[found > 0.0]
    return float(found.max() / found.min()) if found.size else 1.0


def _polynomials(entry: Entries, lists: list[Any], at_lists: int) -> dict[int, tuple[int, int, int]]:
    """Write the polynomials of a gear; for each dof its place in q, the place of the polynomial, and its degree."""
    tables = {}
    for dof, (_, place, coefficients) in entry.terms.items():
        tables[dof] = place, at_lists + len(lists), len(coefficients) - 1
        lists += coefficients
    return tables


def _couplings(row: np.ndarray, c: int, k: int, entries: list[Entries], meets: list[set[int]],
               befores: list[list[int]], sizes: list[int], first_row: dict[int, int], place_of: dict[int, int],
               lists: list[Any], at_lists: int) -> int:
    """Write the columns of a constraint in the factor and its products with others; the number of columns."""
    others = sorted(befores[c], key=place_of.__getitem__)
    row[K.COLUMN_LIST] = at_lists + len(lists)
    column_of, width = {}, 0
    for d in others:
        column_of[d] = width
        lists += range(first_row[d], first_row[d] + sizes[d])
        width += sizes[d]
    row[K.N_COLUMNS] = column_of[c] = width
    own = {dof: t for t, dof in enumerate(entries[c].reached)}
    pairs = []
    for d in [*(d for d in others if d in meets[c]), c]:
        common = [(own[dof], t) for t, dof in enumerate(entries[d].reached) if dof in own]
        pairs += [place_of[d], column_of[d], at_lists + len(lists), len(common)]
        lists += [number for pair in common for number in pair]
    row[K.PAIR_LIST], row[K.N_PAIRS] = at_lists + len(lists), len(pairs) // K.PAIR
    lists += pairs
    return width
