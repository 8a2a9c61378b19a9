"""A model as URDF, as far as that format reaches.

URDF joints have one coordinate (or are floating), so a joint of several steps becomes a chain of joints with links
without inertia between them; constant steps merge into the origins. The result moves exactly like the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..model.axes import displaced
from ..model.body import WORLD, Body
from ..model.joint import Element
from .urdf import NO_LIMIT

if TYPE_CHECKING:
    from ..model.model import Model


def to_urdf(model: Model) -> str:
    """The text of a URDF file that describes the same machine.

    Links are named after the bodies, joints after the coordinates. URDF does not carry gravity: pass it to `load_urdf`.

    Raises
    ------
    ModelError
        For what URDF cannot say: constraints, driven joints, springs, quaternion ball joints, dampers that differ
        within a floating joint.

    Examples
    --------
    >>> import mbkern as mb
    >>> text = mb.zoo.chain(3).to_urdf()
    >>> mb.load_urdf(text).nv
    3
    """
    if model.constraints:
        raise ModelError(f"constraint {model.constraints[0].name!r}: URDF has trees alone; save the model as JSON")
    return _Writer(model).text()


class _Writer:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.lines: list[str] = []
        self.links = {WORLD, *model.body_names}
        self.joints: set[str] = set(model.coordinate_names)

    def text(self) -> str:
        self.lines = ['<?xml version="1.0"?>', f"<robot name={_quoted(self.model.name or 'model')}>"]
        self.lines.append(f'  <link name="{WORLD}"/>')
        for body, v_offset in zip(self.model.body_specs, self.model.v_offsets.tolist(), strict=True):
            try:
                self._body(body, v_offset)
            except ModelError as error:
                raise ModelError(f"body {body.name!r}: {error}") from None
        return "\n".join([*self.lines, "</robot>", ""])

    def _body(self, body: Body, v_offset: int) -> None:
        if any(body.stiffness):
            raise ModelError("URDF has no springs; set its stiffness to 0 and apply the spring as tau")
        if body.armature is not None:
            raise ModelError("URDF has no rotor inertia; save the model as JSON, or set its armature to 0")
        parent = WORLD if body.parent < 0 else self.model.body_names[body.parent]
        R, r = np.array(body.rotation), np.array(body.position)
        elements = body.joint.elements
        moving = [k for k, element in enumerate(elements) if not element.is_constant]
        v = 0
        for k, element in enumerate(elements):
            if element.is_constant:
                G, rho = displaced(element)
                R, r = R @ np.array(G).T, r + R @ np.array(rho)
                continue
            last = k == len(elements) - 1
            link = body.name if last else self._fresh(f"{body.name}.{moving.index(k)}", self.links)
            self._joint(body, element, v, v_offset, parent, link, R, r)
            if not last:
                self.lines.append(f"  <link name={_quoted(link)}/>")
            parent, R, r = link, np.eye(3), np.zeros(3)
            v += element.nv
        self._link(body)
        if parent != body.name:  # a weld, or constant steps behind the last moving one
            name = self._fresh(f"{body.name}.fixed" if moving else body.name, self.joints)
            self._write_joint(name, "fixed", parent, body.name, R, r, "")

    def _joint(self, body: Body, element: Element, v: int, v_offset: int, parent: str, link: str,
               R: NDArray[np.float64], r: NDArray[np.float64]) -> None:
        if not element.urdf:
            raise ModelError(element.no_urdf)
        damping, friction = body.damping[v : v + element.nv], (body.friction or (0.0,) * 6)[v : v + element.nv]
        if len(set(damping)) > 1 or len(set(friction)) > 1:
            raise ModelError(f"URDF has one damping and one friction a joint, not {damping} and {friction}")
        lower, upper, velocity, effort = (float(row[v_offset + v]) for row in self.model.limits)
        first = self.model.coordinate_names[self._q_index(v_offset + v)]
        kind, name = element.urdf, first.removesuffix(element.coordinate_parts[0])
        if kind == "revolute" and not (math.isfinite(lower) or math.isfinite(upper)):
            kind = "continuous"
        more = f'<axis xyz="{_numbers(element.axis)}"/>' if any(element.axis) else ""
        limit = {"lower": lower, "upper": upper} if kind in ("revolute", "prismatic") else {}
        if limit or math.isfinite(effort) or math.isfinite(velocity):
            limit |= {"effort": effort, "velocity": velocity}
            # the format demands these numbers and knows no infinity
            more += "<limit " + " ".join(f'{word}="{_bounded(x)}"' for word, x in limit.items()) + "/>"
        if damping[0] or friction[0]:
            more += f'<dynamics damping="{damping[0]!r}" friction="{friction[0]!r}"/>'
        self._write_joint(name, kind, parent, link, R, r, more)

    def _q_index(self, v_index: int) -> int:
        steps = self.model.steps
        return int(steps.q_index[steps.v_index == v_index][0])

    def _write_joint(self, name: str, kind: str, parent: str, child: str, R: NDArray[np.float64],
                     r: NDArray[np.float64], more: str) -> None:
        self.lines.append(
            f"  <joint name={_quoted(name)} type=\"{kind}\"><parent link={_quoted(parent)}/>"
            f"<child link={_quoted(child)}/>"
            f"<origin xyz=\"{_numbers(r)}\" rpy=\"{_numbers(matrix_rpy(R))}\"/>{more}</joint>"
        )

    def _link(self, body: Body) -> None:
        name = _quoted(body.name)
        J = body.inertia
        if not body.mass and not any(any(row) for row in J):
            self.lines.append(f"  <link name={name}/>")
            return
        moments = " ".join(f'i{"xyz"[a]}{"xyz"[b]}="{J[a][b]!r}"' for a in range(3) for b in range(a, 3))
        self.lines.append(
            f'  <link name={name}><inertial><origin xyz="{_numbers(body.com)}"/><mass value="{body.mass!r}"/>'
            f"<inertia {moments}/></inertial></link>"
        )

    @staticmethod
    def _fresh(name: str, taken: set[str]) -> str:
        """`name`, or a variation of it that is not taken yet."""
        found = next(n for k in range(len(taken) + 1) if (n := f"{name}{'_' * k}") not in taken)
        taken.add(found)
        return found


def _quoted(text: str) -> str:
    """The text as the value of an attribute."""
    from xml.sax.saxutils import quoteattr  # here, because it loads urllib, http and ssl

    return quoteattr(text)


def _bounded(x: float) -> str:
    return repr(x) if math.isfinite(x) else repr(math.copysign(NO_LIMIT, x))


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x) + 0.0) for x in values)  # + 0.0: no minus zeros


def matrix_rpy(R: NDArray[np.float64]) -> tuple[float, float, float]:
    """Roll, pitch, yaw with R = Rz(yaw) Ry(pitch) Rx(roll); roll = 0 where only yaw -+ roll is defined."""
    horizontal = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], horizontal)
    if horizontal > 1e-8:
        return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])
    return 0.0, pitch, math.atan2(-R[0, 1], R[1, 1])
