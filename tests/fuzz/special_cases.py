"""Which special cases of the kernels a tree reaches, as names; and all that have to be reached.

The names come from the block that the kernels read, so that a case counts only if the kernels see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

import mbkern as mb
from mbkern import plain

L = plain.load("layout")

KINDS = {L.REVOLUTE: "revolute", L.PRISMATIC: "prismatic", L.SCREW: "screw", L.BALL: "ball", L.FREE: "free",
         L.DRIVEN_REVOLUTE: "driven revolute", L.DRIVEN_PRISMATIC: "driven prismatic", L.DRIVEN_SCREW: "driven screw",
         L.GROUND: "ground"}
MOVING = [name for kind, name in KINDS.items() if kind != L.GROUND]
AXIAL = [name for name in MOVING if name not in ("ball", "free")]
ROUTES = {L.ON_GROUND: "on ground", L.IN_LINE: "in line", L.SQUARE: "square", L.BESIDE: "beside"}
CASES = {L.CHAINED: "chained", L.CHAINED_LEAF: "chained leaf", L.BRANCH: "branch", L.BRANCH_LEAF: "branch leaf",
         L.ROOT: "root", L.OTHER: "other"}
# sine and cosine of the angle between the axes of a hinge and its parent
ANGLES = {"0": (0.0, 1.0), "1e-12": (1e-12, 1.0), "1e-9": (1e-9, 1.0), "1e-6": (1e-6, 1.0), "0.29": (np.sin(0.29), 1.0),
          "0.31": (np.sin(0.31), 1.0), "pi/2 - 1e-12": (1.0, 1e-12), "pi/2": (1.0, 0.0), "pi/2 + 1e-12": (1.0, -1e-12),
          "pi - 1e-12": (1e-12, -1.0), "pi": (0.0, -1.0)}


def cases(model: mb.Model) -> set[str]:
    """Names of all special cases in a model."""
    return set(_of_nodes(model)) | set(_of_bodies(model))


def _of_nodes(model: mb.Model) -> Iterator[str]:
    n = int(model.block[L.N_NODES])
    rows = model.block[L.HEADER:L.HEADER + n * L.NODE].reshape(n, L.NODE)
    for row in rows:
        kind, parent, route, case = (int(row[at]) for at in (L.KIND, L.PARENT, L.ROUTE, L.CASE))
        name, below = KINDS[kind], KINDS[int(rows[parent, L.KIND]) if parent >= 0 else L.GROUND]
        yield f"{name} on {below}"
        yield f"{ROUTES[route]}: {name}"
        yield f"case {CASES[case]}"
        if row[L.IS_END]:
            yield f"no children: {name}"
        if row[L.IS_LAST]:
            yield f"last beside: {name}"
        if row[L.ROTOR]:
            yield f"armature: {name}"
        if not row[L.MASS:L.INERTIA + 6].any():
            yield f"bare: {name}"
        elif row[L.MASS] == 0.0:
            yield f"inertia without mass: {name}"
        if parent < 0 or name != "revolute" or below not in AXIAL:
            continue
        if case in (L.CHAINED, L.CHAINED_LEAF):
            yield f"{CASES[case]}, axes {'parallel' if abs(row[L.TILT + 1]) < 1e-15 else 'apart'}"
            along = "x" * bool(row[L.ALONG_X]) + "z" * bool(row[L.ALONG_Z])
            yield f"{CASES[case]}, offset {along or 'none'}"
        if row[L.IS_LEAF] > 0.0:
            yield f"leaf {'without mass' if row[L.MASS] == 0.0 else 'off axis' if row[L.MOMENT] else 'on axis'}"
        for text, (sine, cosine) in ANGLES.items():
            if abs(abs(row[L.TILT + 1]) - abs(sine)) < 1e-4 * abs(sine) + 1e-17 and (
                    abs(row[L.TILT] - cosine) < 1e-3 * abs(cosine) + 1e-17 or text.startswith("0.")):
                yield f"angle {text}"


def _of_bodies(model: mb.Model) -> Iterator[str]:
    rows = [model.block[L.body_row(model.block, b):][:L.BODY] for b in range(model.n_bodies)]
    if sum(row[L.BODY_PARENT] < 0 for row in rows) > 1:
        yield "several roots"
    for row in rows:
        if row[L.N_JOINT_NODES] == 0:
            yield f"welded to {KINDS[int(model.block[L.node_row(int(row[L.BODY_NODE])) + L.KIND])]}" if (
                row[L.BODY_NODE] >= 0) else "welded to ground"


REQUIRED = sorted(
    {f"{a} on {b}" for a in MOVING for b in KINDS.values()}
    | {f"on ground: {a}" for a in MOVING} | {f"beside: {a}" for a in MOVING} | {f"last beside: {a}" for a in MOVING}
    | {f"square: {a}" for a in AXIAL} | {"in line: revolute", "in line: prismatic"}
    | {f"case {a}" for a in CASES.values()}
    | {f"no children: {a}" for a in MOVING}
    | {f"armature: {a}" for a in ("revolute", "prismatic", "screw", "ball", "free")}
    | {f"bare: {a}" for a in MOVING} | {f"inertia without mass: {a}" for a in MOVING}
    | {f"{a}, axes {b}" for a in ("chained", "chained leaf") for b in ("parallel", "apart")}
    | {f"{a}, offset {b}" for a in ("chained", "chained leaf") for b in ("none", "x", "z", "xz")}
    | {f"leaf {a}" for a in ("without mass", "off axis", "on axis")}
    | {f"angle {a}" for a in ANGLES}
    | {f"welded to {a}" for a in KINDS.values()}
    | {"several roots"})


def table(seen: Counter[str]) -> str:
    """How often each case was reached."""
    return "\n".join(f"{seen[name]:6d}  {name}" for name in REQUIRED)
