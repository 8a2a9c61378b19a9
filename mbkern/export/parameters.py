"""Constants of a model that an exported library lets its caller change: names, places, and the tables of
:mod:`.kernels.parameters`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import lazy
from ..core import constants as L
from ..errors import ExportError
from ..inputs import Array
from ..model.checks import several, show
from ..model.model import Model
from ..model.rigid import of_unit_mass
from ..model.vary import JOINT, own_coordinates
from ..operations import with_nearest
from ..workspace import places

OF_BODY = {"mass": 1, "com": 3, "inertia": 6}
UNITS = {"mass": "kg", "com": "m, in body axes",
         "inertia": "kg m^2, about the centre of mass in body axes: xx yy zz xy xz yz",
         "stiffness": "N/m or N m/rad of each dof", "damping": "N s/m or N m s/rad of each dof",
         "armature": "kg or kg m^2 of each dof", "gravity": "m/s^2, world axes"}
_STORED = {"mass": [0], "com": [1, 2, 3], "inertia": [4, 7, 9, 5, 6, 8]}  # place of each value in (m, com, I)
_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
# the numbers of :mod:`.kernels.parameters`, which is compiled code and loaded only when a library is made
_NUMBERS = 10


@dataclass(frozen=True)
class Setting:
    """A parameter: "boom.mass", "gravity".

    Attributes
    ----------
    name : str
    what : str
        mass, com, inertia, stiffness, damping, armature or gravity.
    body : int
        -1 for gravity.
    nominal : tuple of float
        What the model has.
    """

    name: str
    what: str
    body: int
    nominal: tuple[float, ...]

    @property
    def about(self) -> str:
        return UNITS[self.what]


def settings(model: Model, names: Sequence[str]) -> list[Setting]:
    """Parameters by their names; an error that lists what there is.

    Examples
    --------
    >>> import mbkern as mb
    >>> from mbkern.export.parameters import settings
    >>> settings(mb.zoo.pipelayer(), ["gravity"])[0].nominal
    (0.0, 0.0, -9.81)
    """
    names = several(names, "parameters", ExportError)
    known = ["gravity", *[f"{body}.{what}" for body in model.body_names for what in (*OF_BODY, *JOINT)]]
    made: list[Setting] = []
    for name in names:
        if isinstance(name, str) and any(setting.name == name for setting in made):
            continue
        if isinstance(name, str) and name == "gravity":
            made.append(Setting(name, name, -1, tuple(model.gravity.tolist())))
            continue
        body, _, what = str(name).rpartition(".")
        if not isinstance(name, str) or name not in known:
            hint = " (positions of joints cannot be set at run time: the frames of the kernels follow from them)" if (
                what == "position") else ""
            raise ExportError(f'parameters: expected "gravity" or names such as "{model.body_names[0]}.mass" with one '
                              f"of {', '.join([*OF_BODY, *JOINT])}, got {show(name)}{hint}{with_nearest(name, known)}")
        index = model.body_index(body)
        spec = model.body_specs[index]
        if what in JOINT and spec.joint.nv == 0:
            raise ExportError(f"parameters: {name}: the {spec.joint.kind} joint of that body has no dofs")
        if what == "stiffness" and min(own_coordinates(model, index)) < 0:
            raise ExportError(f"parameters: {name}: the {spec.joint.kind} joint of that body has dofs without a "
                              "coordinate of their own that a spring could stretch")
        if what == "armature" and not (spec.armature and all(x > 0.0 for x in spec.armature)):
            raise ExportError(f"parameters: {name}: a rotor that is not there makes other equations; give the joint of "
                              f"body {body!r} positive armature in the model first")
        made.append(Setting(str(name), what, index, _nominal(spec, what)))
    return made


def _nominal(spec: Any, what: str) -> tuple[float, ...]:
    if what == "mass":
        return (float(spec.mass),)
    if what == "inertia":
        J = np.asarray(spec.inertia)
        return tuple(float(J[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    return tuple(float(x) for x in np.ravel(getattr(spec, what) or np.zeros(spec.joint.nv)))


def base_block(model: Model, chosen: Sequence[Setting]) -> Array:
    """The block with frames that serve every value of the parameters, as `Model.vary` chooses them."""
    varied: Any = model
    for body in dict.fromkeys(setting.body for setting in chosen if setting.what in OF_BODY):
        spec = model.body_specs[body]
        varied = varied.vary(body=model.body_names[body], mass=[spec.mass], com=[spec.com],
                             inertia=[np.asarray(spec.inertia)])
    block = model.block.copy()
    if varied is not model:
        block[varied.places] = varied.values[0]
    if any(setting.what in ("stiffness", "damping") for setting in chosen):
        block[L.HAS_PASSIVE] = 1.0
    return block


def tables(model: Model, block: Array, chosen: Sequence[Setting]) -> tuple[Array, Array, Array]:
    """What stands behind the block in a workspace, and the tables `words` and `bodies`."""
    kernels = _kernels()
    of_bodies = list(dict.fromkeys(setting.body for setting in chosen if setting.what in OF_BODY))
    behind: list[float] = []
    values_of: dict[int, int] = {}
    for body in of_bodies:
        spec = model.body_specs[body]
        values_of[body] = block.size + len(behind)
        J = np.asarray(spec.inertia)
        behind += [float(spec.mass), *map(float, spec.com), *[float(J[i, j]) for i, j in _UPPER]]
    rows: list[float] = [len(chosen)]
    pairs: list[float] = []
    first = 1 + kernels.ROW * len(chosen)
    for setting in chosen:
        own = _pairs(model, block, setting, values_of)
        kind = kernels.OF_BODY if setting.what in OF_BODY else kernels.STANDING
        least = -1e300 if setting.what in ("com", "inertia", "gravity") else (
            5e-324 if setting.what == "armature" else 0.0)
        rows += [kind, len(setting.nominal), 0, first + len(pairs), len(own), least]
        pairs += [float(number) for pair in own for number in pair]
    return np.array(behind), np.array([*rows, *pairs], float), _bodies(model, block, of_bodies, values_of)


def _kernels() -> Any:
    return lazy.module("export.kernels.parameters")


def _pairs(model: Model, block: Array, setting: Setting, values_of: dict[int, int]) -> list[tuple[int, int]]:
    """(place in the front of a workspace, number of the value) of a parameter."""
    if setting.what == "gravity":
        return [(L.GRAVITY + k, k) for k in range(3)]
    if setting.what in OF_BODY:
        return [(values_of[setting.body] + place, k) for k, place in enumerate(_STORED[setting.what])]
    nodes = {int(block[places.node_row(i) + L.VI]): places.node_row(i) for i in range(int(block[L.N_NODES]))
             if block[places.node_row(i) + L.DOFS] == 1.0}
    found = []
    for k in range(len(setting.nominal)):
        dof = int(model.v_offsets[setting.body]) + k
        found.append((int(block[L.AT_COORDINATES]) + dof * L.COORDINATE + JOINT[setting.what], k))
        if setting.what == "armature" and dof in nodes:
            found.append((nodes[dof] + L.ROTOR_INERTIA, k))
    return found


def _bodies(model: Model, block: Array, of_bodies: list[int], values_of: dict[int, int]) -> Array:
    """The table of bodies, and of the nodes that they are fixed in."""
    rows: list[float] = [len(of_bodies)]
    fixed: dict[int, list[int]] = {}
    for b in range(model.n_bodies):
        fixed.setdefault(places.body_place(block, b)[0], []).append(b)
    nodes = list(dict.fromkeys(places.body_place(block, body)[0] for body in of_bodies))
    for body in of_bodies:
        node, G, rho = places.body_place(block, body)
        if node < 0:
            raise ExportError(f"parameters: body {model.body_names[body]!r} is welded to the world and does not move; "
                              "its mass and inertia change nothing")
        rows += [places.node_row(node), places.body_row(block, body), values_of[body], *G.ravel(), *rho]
    rows.append(len(nodes))
    for node in nodes:
        others = np.zeros(_NUMBERS)
        for b in fixed[node]:
            if b not in of_bodies:
                others += _in_frame(model, block, b)
        rows += [places.node_row(node), *others]
    return np.array(rows, float)


def _in_frame(model: Model, block: Array, body: int) -> Array:
    """Mass, first moment and inertia of a body in the frame of its node."""
    spec = model.body_specs[body]
    _, G, rho = places.body_place(block, body)
    c, m = rho + G.T @ np.asarray(spec.com), float(spec.mass)
    J = G.T @ np.asarray(spec.inertia) @ G + m * of_unit_mass(c)
    return np.array([m, *(m * c), *[J[i, j] for i, j in _UPPER]])
