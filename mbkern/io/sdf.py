"""Machines from SDF files, the format of Gazebo, as far as they are trees of rigid bodies.

    link     pose of its frame in the model, mass, inertia about its centre of mass in the axes of <inertial><pose>
    joint    pose of its frame in the child link; the axis in the axes of that frame
    body     what mbkern calls a body is a link whose frame is that of its joint

A pose is "x y z roll pitch yaw", R = Rz(yaw) Ry(pitch) Rx(roll); with `relative_to` it is given in another frame. See
http://sdformat.org/spec.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError, ModelWarning
from ..model import checks
from ..model.builder import ModelBuilder
from ..model.joint import Ball, Free, Joint, Step, weld
from ..model.model import Model
from . import xml
from .resources import Resources
from .urdf_origin import rpy_matrix
from .xml import Element

Array = NDArray[np.float64]

MODEL, WORLD = "__model__", "world"
KINDS = ("revolute", "continuous", "prismatic", "fixed", "ball", "universal")
NO_LIMIT = 1e16
INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
USED = {"model": {"link", "joint", "pose", "static"}, "link": {"pose", "inertial", "visual"},
        "joint": {"pose", "parent", "child", "axis", "axis2"}}


@dataclass(frozen=True)
class Place:
    """A frame in another one: R turns its axes into those of the other one, r is its origin there."""

    R: Array
    r: Array

    def __matmul__(self, inner: Place) -> Place:
        """A frame that is placed in this one, in the frame that this one is placed in."""
        return Place(self.R @ inner.R, self.R @ inner.r + self.r)

    @property
    def inverse(self) -> Place:
        """The other frame in this one."""
        return Place(self.R.T, -self.R.T @ self.r)


HERE = Place(np.eye(3), np.zeros(3))


def load_sdf(path_or_xml: str | bytes | PathLike[str], gravity: ArrayLike = (0.0, 0.0, -9.81),
             package_dirs: str | PathLike[str] | Iterable[str | PathLike[str]] = ()) -> Model:
    """Read a machine from an SDF file or text: links, inertias, joints and shapes of its one <model>.

    Bodies are named after the links, coordinates after the joints. A link that no joint holds moves freely, as in
    Gazebo; the model is fixed by a joint whose parent is the world, or by <static>. Damping acts; limits and friction
    are kept as data in `Model.limits` and `Model.friction`. What has no place in the model (sensors, plugins,
    collisions) is named in one `ModelWarning`; loops, nested models and <include> are refused.

    Parameters
    ----------
    path_or_xml : path, str or bytes
        A file, or the XML text itself.
    gravity : 3 numbers
        In world axes, m/s^2; a model does not say.
    package_dirs : paths
        Folders in which ``package://`` and ``model://`` addresses of meshes are looked for.

    Returns
    -------
    Model

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.load_sdf('''
    ... <sdf version="1.7"><model name="pendulum">
    ...   <link name="bob"><pose>0 0 1 0 0 0</pose>
    ...     <inertial><pose>0 0 -0.5 0 0 0</pose><mass>2</mass>
    ...       <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.01</izz></inertia></inertial></link>
    ...   <joint name="swing" type="revolute"><parent>world</parent><child>bob</child>
    ...     <axis><xyz>0 1 0</xyz><dynamics><damping>0.3</damping></dynamics></axis></joint>
    ... </model></sdf>''')
    >>> print(model.describe())
    Model 'pendulum': 1 body, 1 dof (nq = 1), total mass 2 kg
    world
      bob: revolute [rotate y] (swing), 2 kg
    """
    document, source = xml.read(path_or_xml, "load_sdf")
    root = xml.parse(document, source)
    model = _only_model(root)
    resources = Resources(Path(fspath(path_or_xml)) if source else None, package_dirs)  # type: ignore[arg-type]
    return _Reader(model, resources).build(gravity)


def _only_model(root: Element) -> Element:
    if root.tag != "sdf":
        other = {"robot": "this is URDF; load_urdf reads it", "mujoco": "this is MJCF; load_mjcf reads it"}
        raise root.error(other.get(root.tag, "expected <sdf> as the outermost element of an SDF file"))
    models = [element for element in root.walk({"sdf", "world", "model"}) if element.tag == "model"]
    if len(models) != 1:
        raise root.error(f"expected one <model>, got {len(models)}; a file of its own for each is read")
    included = next((element for element in root.walk() if element.tag == "include"), None)
    if included is not None:
        raise included.error("other files are not included; write the model out first (`gz sdf -p`)")
    return models[0]


class _Reader:
    """One model."""

    def __init__(self, model: Element, resources: Resources) -> None:
        self.model, self.resources = model, resources
        self.links = {link.text("name"): link for link in model.all("link")}
        self.joints = {joint.text("name"): joint for joint in model.all("joint")}
        if not self.links:
            raise model.error("the model has no <link>")
        self.notes: list[str] = []
        self.holder: dict[str, Element] = {}  # the joint of each link
        for joint in self.joints.values():
            child = self._link(joint, "child")
            if child in self.holder:
                raise joint.error(f"link {child!r} is the child of another joint, too: a loop, which a tree has not")
            self.holder[child] = joint
        self._places: dict[str, Place] = {MODEL: HERE, "": HERE}
        self._under_way: set[str] = set()

    # ---- frames ----------------------------------------------------------------------------------------------------

    def _link(self, joint: Element, which: str) -> str:
        element = joint.one(which)
        name = element.content.strip() if element is not None else ""
        if which == "parent" and name == WORLD:
            return name
        if name not in self.links:
            raise joint.error(f"<{which}>: expected the name of a link, got {name!r}{checks.near(name, self.links)}")
        return name

    def place(self, name: str, asked_by: Element) -> Place:
        """The frame of a link or joint in the model."""
        if name not in self._places:
            if name in self._under_way:
                raise asked_by.error(f"the pose of {name!r} is given relative to itself")
            self._under_way.add(name)
            if name in self.links:
                self._places[name] = self._pose(self.links[name], MODEL)
            elif name in self.joints:
                self._places[name] = self._pose(self.joints[name], self._link(self.joints[name], "child"))
            else:
                raise asked_by.error(f"relative_to: expected a link or a joint, got {name!r}")
        return self._places[name]

    def _pose(self, element: Element, usual: str) -> Place:
        pose = element.one("pose")
        if pose is None:
            return self.place(usual, element)
        if pose.attributes.get("rotation_format", "euler_rpy") != "euler_rpy" or "degrees" in pose.attributes:
            raise pose.error("expected x y z roll pitch yaw in metres and radians")
        return self.place(pose.attributes.get("relative_to", "") or usual, pose) @ _own_pose(pose)

    def body_frame(self, link: str) -> Place:
        """The frame of a body in the model: that of its joint; of a link that no joint holds, its own."""
        joint = self.holder.get(link)
        return self.place(link if joint is None else joint.text("name"), self.links[link])

    # ---- bodies ----------------------------------------------------------------------------------------------------

    def build(self, gravity: ArrayLike) -> Model:
        """The model."""
        static = self.model.one("static")
        fixed = static is not None and static.content.strip().lower() in ("true", "1")
        world = self._world_in_model()
        builder = ModelBuilder(gravity=gravity, name=self.model.attributes.get("name", ""))
        for name in self._parents_first():
            joint, frame = self.holder.get(name), self.body_frame(name)
            parent = WORLD if joint is None else self._link(joint, "parent")
            outer = world if parent == WORLD else self.body_frame(parent)
            at = outer.inverse @ frame
            body = self._inertia(self.links[name], frame.inverse @ self.place(name, self.links[name]))
            if joint is None:
                body["joint"] = weld() if fixed else Joint((Free(name),), "free")
            else:
                body |= self._joint(joint)
            try:
                builder.add_body(name, parent=parent, position=at.r, rotation=at.R, check_inertia=False, **body)
            except ModelError as error:
                raise self.links[name].error(str(error)) from None
            self._visuals(builder, name, frame)
        model = builder.build()
        self._warn()
        return model

    def _world_in_model(self) -> Place:
        pose = self.model.one("pose")
        return (HERE if pose is None else _own_pose(pose)).inverse

    def _parents_first(self) -> list[str]:
        order: list[str] = []
        left = dict.fromkeys(self.links)
        while left:
            ready = [name for name in left if name not in self.holder
                     or self._link(self.holder[name], "parent") in (WORLD, *order)]
            if not ready:
                raise self.model.error(f"the links {', '.join(left)} hold each other and nothing holds them")
            for name in ready:
                del left[name]
            order += ready
        return order

    def _inertia(self, link: Element, at: Place) -> dict[str, Any]:
        """Mass properties in body axes; `at` is the frame of the link in that of the body."""
        inertial = link.one("inertial")
        if inertial is None:
            return {"mass": 1.0, "com": at.r, "inertia": np.eye(3)}  # the default of the format
        pose = inertial.one("pose")
        center = at @ (HERE if pose is None else _own_pose(pose))
        given = inertial.one("inertia")
        xx, yy, zz, xy, xz, yz = (_number(given, word, 1.0 if word in INERTIA[:3] else 0.0) for word in INERTIA)
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return {"mass": _number(inertial, "mass", 1.0), "com": center.r, "inertia": center.R @ matrix @ center.R.T}

    def _joint(self, joint: Element) -> dict[str, Any]:
        kind, name = joint.text("type"), joint.text("name")
        if kind not in KINDS:
            raise joint.error(f"type: expected one of {', '.join(KINDS)}, got {kind!r}")
        if kind == "fixed":
            return {"joint": weld()}
        if kind == "ball":
            return {"joint": Joint((Ball(name),), "ball")}
        axes = [_one(joint, "axis")] + ([_one(joint, "axis2")] if kind == "universal" else [])
        move: Any = "translate" if kind == "prismatic" else "rotate"
        names = [name] if len(axes) == 1 else [f"{name}.1", f"{name}.2"]
        steps = [Step(move, self._axis(axis, joint), None, label) for axis, label in zip(axes, names, strict=True)]
        dynamics = [axis.one("dynamics") for axis in axes]
        limits = [_limits(axis, kind) for axis in axes]
        return {"joint": Joint(tuple(steps), kind), "limits": tuple(zip(*limits, strict=True)),
                **{word: [max(_number(element, word, 0.0), 0.0) for element in dynamics]
                   for word in ("damping", "friction")}}

    def _axis(self, axis: Element, joint: Element) -> checks.Vec3:
        element = axis.one("xyz")
        vector = np.array(_numbers(element, 3)) if element is not None else np.array([0.0, 0.0, 1.0])
        own = self.place(joint.text("name"), joint)
        frame = element.attributes.get("expressed_in", "") if element is not None else ""
        if frame or axis.one("use_parent_model_frame") is not None:
            vector = own.R.T @ self.place(frame or MODEL, axis).R @ vector
        try:
            return checks.axis(tuple(vector.tolist()), "xyz")
        except ModelError as error:
            raise axis.error(str(error)) from None

    # ---- shapes, and what is said ----------------------------------------------------------------------------------

    def _visuals(self, builder: ModelBuilder, name: str, frame: Place) -> None:
        at = frame.inverse @ self.place(name, self.links[name])
        for visual in self.links[name].all("visual"):
            geometry = visual.one("geometry")
            if geometry is None or not geometry.children:
                continue
            pose, shape = visual.one("pose"), geometry.children[0]
            place = at @ (HERE if pose is None else _own_pose(pose))
            try:
                builder.add_visual(name, position=place.r, rotation=place.R, **self._shape(shape))
            except ModelError as error:
                self.notes.append(f"a shape of link {name!r} left out: {error}")

    def _shape(self, shape: Element) -> dict[str, Any]:
        if shape.tag == "box":
            return {"kind": "box", "size": _numbers(_one(shape, "size"), 3)}
        if shape.tag == "sphere":
            return {"kind": "sphere", "size": _number(shape, "radius")}
        if shape.tag in ("cylinder", "capsule"):
            return {"kind": shape.tag, "size": (_number(shape, "radius"), _number(shape, "length"))}
        if shape.tag == "mesh":
            scale = shape.one("scale")
            address = _one(shape, "uri").content.strip().replace("model://", "package://")
            return {"kind": "mesh", "size": (1.0, 1.0, 1.0) if scale is None else _numbers(scale, 3),
                    "mesh": self.resources.path(address)}
        raise shape.error("unknown shape")

    def _warn(self) -> None:
        found: dict[str, int] = {}
        for element in self.model.walk(USED):
            for child in element.children:
                if child.tag not in USED[element.tag]:
                    found[child.tag] = found.get(child.tag, 0) + 1
        if found:
            tags = ", ".join(f"<{tag}> ({count})" for tag, count in sorted(found.items()))
            self.notes.append(f"not used, as dynamics does not need it: {tags}")
        if self.notes:
            warnings.warn(f"{self.model.source}{'; '.join(self.notes)}", ModelWarning, stacklevel=4)


# ---- elements whose text are numbers ---------------------------------------------------------------------------------


def _one(element: Element, tag: str) -> Element:
    found = element.one(tag)
    if found is None:
        raise element.error(f"<{tag}> is missing")
    return found


def _numbers(element: Element, count: int) -> tuple[float, ...]:
    words = element.content.split()
    try:
        values = tuple(float(word) for word in words)
    except ValueError:
        values = ()
    if len(values) != count or not all(map(math.isfinite, values)):
        raise element.error(f"expected {count} finite number{'s' if count > 1 else ''}, got "
                            f"{checks.show(element.content.strip())}")
    return values


def _number(element: Element | None, tag: str, default: float | None = None) -> float:
    found = None if element is None else element.one(tag)
    if found is None:
        if default is None:
            raise element.error(f"<{tag}> is missing") if element is not None else ModelError(f"<{tag}> is missing")
        return default
    return _numbers(found, 1)[0]


def _own_pose(pose: Element) -> Place:
    if not pose.content.strip():
        return HERE
    x, y, z, roll, pitch, yaw = _numbers(pose, 6)
    return Place(rpy_matrix(roll, pitch, yaw), np.array([x, y, z]))


def _limits(axis: Element, kind: str) -> tuple[float, float, float, float]:
    """lower, upper, velocity, effort."""
    limit = axis.one("limit")
    lower, upper = _bound(limit, "lower", -math.inf), _bound(limit, "upper", math.inf)
    if kind == "continuous" or lower > upper:
        lower, upper = -math.inf, math.inf
    velocity, effort = (_bound(limit, word, math.inf) for word in ("velocity", "effort"))
    return lower, upper, velocity if velocity >= 0.0 else math.inf, effort if effort >= 0.0 else math.inf


def _bound(limit: Element | None, tag: str, default: float) -> float:
    element = None if limit is None else limit.one(tag)
    if element is None or element.content.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return default
    value = _numbers(element, 1)[0]
    return value if abs(value) < NO_LIMIT else default
