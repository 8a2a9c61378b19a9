"""What a tree shows about its coordinates: those on which the Lagrangian does not depend, whatever drives do.

Each reason holds at all times: prescribed motion may begin at any of them.
"""

from __future__ import annotations

import numpy as np

from ..core import constants as L
from ..explain import moving_elements
from ..inputs import Array
from ..model.joint import Element
from ..system import System
from ..workspace import places


def reasons_of(system: System) -> dict[int, str]:
    """Why coordinates are ignorable as far as the Lagrangian is concerned, by place in q."""
    block, reasons = system.block, {}
    n = int(block[L.N_NODES])
    g = block[L.GRAVITY:L.GRAVITY + 3]
    weight = "without gravity" if not g.any() else "across gravity"
    rows = [block[places.node_row(i):places.node_row(i) + L.NODE] for i in range(n)]
    parents = [int(row[L.PARENT]) for row in rows]
    axes, origins = _neutral(rows, parents)
    elements = [element for _, element in moving_elements(system.model)]
    for i, (row, element) in enumerate(zip(rows, elements, strict=True)):
        qi, before = int(row[L.QI]), _ancestors(i, parents)
        if all(elements[k].along and not elements[k].about for k in before):
            for k in element.slides:
                if _across(g, axes[i][k if element.nv > 1 else 2]):
                    reasons[qi + k] = f"it moves all that it carries along a fixed direction {weight}"
        if turns_only(element):
            axis = axes[i][2]
            if all(_coaxial(elements[k], axes[k][2], origins[k], axis, origins[i]) for k in before) and _along(g, axis):
                reasons[qi] = "it turns all that it carries about a fixed axis" + (" along gravity" if g.any() else "")
            elif i not in parents and _symmetric(row):
                reasons[qi] = "the body that it turns is symmetric about the axis"
    return reasons


def _neutral(rows: list[Array], parents: list[int]) -> tuple[list[Array], list[Array]]:
    """Axes (rows, in the world) and origins of all nodes where all joints are at zero."""
    axes: list[Array] = []
    origins: list[Array] = []
    for row, k in zip(rows, parents, strict=True):
        G, rho = row[L.PLACE_G:L.PLACE_G + 9].reshape(3, 3), row[L.PLACE_RHO:L.PLACE_RHO + 3]
        R, r = (axes[k], origins[k]) if k >= 0 else (np.eye(3), np.zeros(3))
        axes.append(G @ R)
        origins.append(r + R.T @ rho)
    return axes, origins


def _ancestors(i: int, parents: list[int]) -> list[int]:
    out = []
    while parents[i] >= 0:
        i = parents[i]
        out.append(i)
    return out


def _across(g: Array, axis: Array) -> bool:
    return abs(float(g @ axis)) <= 1e-12 * float(np.linalg.norm(g))


def _along(g: Array, axis: Array) -> bool:
    return float(np.linalg.norm(np.cross(g, axis))) <= 1e-12 * float(np.linalg.norm(g))


def turns_only(element: Element) -> bool:
    """Whether an element has one coordinate, and that is an angle about its axis and nothing else."""
    return element.nv == 1 and not element.along


def _coaxial(element: Element, axis: Array, origin: Array, wanted: Array, at: Array) -> bool:
    """Whether a node before moves along, or turns about, the very axis."""
    if not any(element.axis) or float(np.linalg.norm(np.cross(axis, wanted))) > 1e-12:
        return False
    return not element.about or float(np.linalg.norm(np.cross(at - origin, wanted))) < 1e-12


def _symmetric(row: Array) -> bool:
    """Whether the mass fixed in a node's frame is symmetric about its z axis."""
    s, J = row[L.MOMENT:L.MOMENT + 3], row[L.INERTIA:L.INERTIA + 6]
    xx, xy, xz, yy, yz, zz = J
    off = max(abs(s[0]), abs(s[1]), abs(xy), abs(xz), abs(yz), abs(xx - yy))
    return bool(off <= 1e-12 * max(abs(xx), abs(zz), 1e-300))
