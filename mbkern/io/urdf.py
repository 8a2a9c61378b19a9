"""Robots in the Unified Robot Description Format (URDF), read with the standard library alone.

Each link becomes a body whose frame is the link frame, each joint the joint that carries it; a fixed joint is a weld,
which costs nothing in the kernels. Positions come as ``xyz``, rotations as ``rpy``: R = Rz(yaw) Ry(pitch) Rx(roll),
child axes -> parent axes.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ModelWarning
from ..model import checks
from ..model.body import WORLD
from ..model.builder import STANDARD_GRAVITY, ModelBuilder
from ..model.joint import Free, Joint, Step, weld
from ..model.joint import planar as planar_joint
from ..model.model import Model
from . import xml
from .resources import Resources
from .urdf_origin import origin
from .urdf_visuals import add_visuals, materials
from .xml import Element

#: How a floating base is named in coordinates: "floating_base.x" and so on.
FLOATING_BASE = "floating_base"
#: Moments of inertia (m^2, per kg) below this are the round-off of a zero.
ROUND_OFF = 1e-14
#: A limit of this size or beyond is none: the format has no infinity.
NO_LIMIT = 1e300
#: Children that are read, and those of which an element has one; shapes are for pictures and for contact alone.
_READ = {
    "robot": {"link", "joint"},
    "link": {"inertial"},
    "inertial": {"origin", "mass", "inertia"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"},
}
_SHAPES = {"visual", "collision", "material"}
_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
Mimic = Literal["gear", "free", "fix", "error"]
Massless = Literal["error", "weld"]
Planar = Literal["axis", "z"]


def load_urdf(path_or_xml: str | bytes | PathLike[str], floating_base: bool = False, *,
              gravity: ArrayLike = STANDARD_GRAVITY, mimic: Mimic = "gear", check_inertia: bool = False,
              massless: Massless = "weld", planar: Planar = "axis",
              package_dirs: Iterable[str | PathLike[str]] = ()) -> Model:
    """Read a robot from a URDF file or text.

    Bodies are named after the links, coordinates after the joints (a floating joint ``j`` gives ``j.x`` ... ``j.qz``,
    a planar one ``j.x``, ``j.y``, ``j.angle``). Joint damping acts as damping; limits and friction are kept as data in
    `Model.limits` and `Model.friction`. A root link called "world" without inertia is the world itself. Every link is a
    frame of its name (`Model.frames`), its <visual> shapes are in `Model.visuals`; meshes are read when they are drawn.

    Robot files are seldom free of slips. What still describes a machine is loaded, and one `ModelWarning` names all
    that was not taken literally; files that contradict themselves are refused with the line.

    Parameters
    ----------
    path_or_xml : path, str or bytes
        A file, or the XML text itself.
    floating_base : bool
        Let the root link move freely (coordinates ``floating_base.x`` ... ``floating_base.qz``) instead of welding it
        to the world.
    gravity : 3 numbers
        In world axes, m/s^2; URDF does not say.
    mimic : "gear", "free", "fix" or "error"
        What to do with a joint that mimics another one: "gear" couples the two coordinates (`ModelBuilder.add_gear`),
        "free" makes it a coordinate of its own (as Pinocchio does by default), "fix" holds it where it is when the
        joint that it mimics is at zero, "error" refuses the file.
    check_inertia : bool
        Refuse links whose inertia no rigid body has (negative, or against the triangle inequality of the principal
        moments). Many robot files contain such links; they are taken as they are unless this is True.
    massless : "weld" or "error"
        What to do with a joint that moves nothing, because neither its link nor any link behind it has mass or inertia:
        no force law defines its motion. "weld" fixes it at zero, "error" refuses the file.
    planar : "axis" or "z"
        Normal of the plane of a planar joint: its axis, (1, 0, 0) where none is given, as the format says; or z
        whatever the axis is, as in Pinocchio and Drake. Where the two differ, the warning names the joint.
    package_dirs : paths
        Folders in which the packages of ``package://`` addresses are looked for, before those of ROS_PACKAGE_PATH and
        those above the file.

    Returns
    -------
    Model

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.load_urdf('''
    ... <robot name="pendulum">
    ...   <link name="base"/>
    ...   <link name="bob">
    ...     <inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    ...       <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    ...   </link>
    ...   <joint name="swing" type="continuous">
    ...     <parent link="base"/><child link="bob"/><axis xyz="0 1 0"/><dynamics damping="0.3"/>
    ...   </joint>
    ... </robot>''')
    >>> print(model.describe())
    Model 'pendulum': 2 bodies, 1 dof (nq = 1), total mass 2 kg
    world
      base: weld, 0 kg
        bob: continuous [rotate y] (swing), 2 kg
    >>> model.damping
    array([0.3])
    """
    for word, value, known in (("mimic", mimic, ("gear", "free", "fix", "error")),
                               ("massless", massless, ("weld", "error")),
                               ("planar", planar, ("axis", "z"))):
        if not isinstance(value, str) or value not in known:
            expected = f"{', '.join(map(repr, known[:-1]))} or {known[-1]!r}"
            raise ModelError(f"load_urdf: {word} must be {expected}, got {checks.show(value)}")
    floating_base = checks.flag(floating_base, "load_urdf: floating_base")
    check_inertia = checks.flag(check_inertia, "load_urdf: check_inertia")
    document, source = xml.read(path_or_xml, "load_urdf")
    root = xml.parse(document, source)
    _refuse_other_formats(root)
    links = _by_name(root.all("link"), "link")
    joints = _by_name(root.all("joint"), "joint")
    if not links:
        raise root.error("the robot has no <link>")
    tree = _tree(root, links, joints)
    notes = _Notes(root)
    inertias = {link.text("name"): _inertial(link, check_inertia, notes) for link, _ in tree}
    welded = _moving_nothing(tree, inertias, massless)
    builder = ModelBuilder(gravity=gravity, name=root.attributes.get("name", ""))
    names = _body_names(tree, floating_base)
    for link, carrier in tree:
        if names[link.text("name")] == WORLD:
            continue  # the root link is the world itself
        body: dict[str, Any] = inertias[link.text("name")]
        if carrier is None:
            body["joint"] = Joint((Free(FLOATING_BASE),), "free") if floating_base else weld()
        else:
            body["parent"] = names[_reference(carrier, "parent")]
            body |= _joint(carrier, joints, carrier.text("name") in welded, mimic, planar, notes)
        try:
            builder.add_body(names[link.text("name")], check_inertia=check_inertia, **body)
        except ModelError as error:
            raise link.error(str(error)) from None
    if not len(builder):
        raise root.error("the robot has no link beside the world")
    colors = materials(root)
    resources = Resources(Path(fspath(path_or_xml)) if source else None, package_dirs)  # type: ignore[arg-type]
    for link, _ in tree:
        add_visuals(builder, names[link.text("name")], link, colors, resources, notes.more)
    if mimic == "gear":
        _add_gears(builder, joints, welded, notes)
    try:
        model = builder.build()
    except ModelError as error:
        raise root.error(_with_line(str(error), links)) from None
    notes.on_massless(welded)
    notes.on_mimics(joints, welded, mimic)
    notes.on_planes(joints, welded, planar)
    notes.warn()
    return model


def _refuse_other_formats(root: Element) -> None:
    """Name what a file is instead of URDF, and what reads it."""
    if root.tag == "mujoco":
        raise root.error("this is MJCF, MuJoCo's format; load_mjcf reads it")
    if root.tag == "sdf":
        raise root.error("this is SDF, the format of Gazebo; load_sdf reads it")
    if root.tag != "robot":
        raise root.error("expected <robot> as the outermost element of a URDF file")
    for element in root.walk():
        if element.tag.startswith("xacro:") or any("${" in text for text in element.attributes.values()):
            raise element.error(
                "this is a xacro file, a template of a URDF file; expand it first with `xacro robot.urdf.xacro -o "
                "robot.urdf` (from ROS, or pip install xacro)"
            )


# ---- the tree ------------------------------------------------------------------------------------------------------


def _by_name(elements: Iterable[Element], what: str) -> dict[str, Element]:
    table: dict[str, Element] = {}
    for element in elements:
        name = element.text("name")
        if name in table:
            raise element.error(
                f"a {what} of this name stands already in line {table[name].line}; names must be unique"
            )
        table[name] = element
    return table


def _reference(joint: Element, role: str) -> str:
    """Name of the link that a joint gives as its parent or child."""
    element = joint.one(role)
    if element is None:
        raise joint.error(f"<{role} link=.../> is missing")
    return element.text("link")


def _tree(root: Element, links: dict[str, Element], joints: dict[str, Element]) -> list[tuple[Element, Element | None]]:
    """Links with the joint that carries them (None for the root), parents first, otherwise in the order of the file."""
    carriers: dict[str, Element] = {}
    children: dict[str, list[str]] = {name: [] for name in links}
    for joint in joints.values():
        ends = {role: _reference(joint, role) for role in ("parent", "child")}
        for role, name in ends.items():
            if name not in links:
                raise joint.error(f"its {role} link {name!r} does not exist.{checks.near(name, links)}")
        if ends["child"] in carriers:
            other = carriers[ends["child"]]
            raise joint.error(
                f"link {ends['child']!r} is already the child of {other.what}; a closed loop is not a tree: "
                "cut it open and model the closure as a constraint or a force"
            )
        if ends["child"] == ends["parent"]:
            raise joint.error(f"link {ends['child']!r} is its own parent")
        carriers[ends["child"]] = joint
        children[ends["parent"]].append(ends["child"])
    bases = [name for name in links if name not in carriers]
    if len(bases) > 1:
        shown = ", ".join(f"{name!r} (line {links[name].line})" for name in bases[:5])
        raise links[bases[1]].error(
            f"more than one root link: {shown}{', ...' if len(bases) > 5 else ''}; "
            "every link but one must be the child of a joint"
        )
    order: list[str] = []
    stack = bases[:1]
    while stack:
        name = stack.pop()
        order.append(name)
        stack.extend(reversed(children[name]))
    if len(order) < len(links):
        left = next(name for name in links if name not in set(order))
        ring = [left]
        while (parent := _reference(carriers[ring[-1]], "parent")) not in ring:
            ring.append(parent)
        ring = [*ring[ring.index(parent) :], parent]
        raise carriers[ring[0]].error(
            "the links do not form a tree: " + " is carried by ".join(repr(name) for name in ring)
        )
    return [(links[name], carriers.get(name)) for name in order]


def _body_names(tree: list[tuple[Element, Element | None]], floating_base: bool) -> dict[str, str]:
    """Link name -> body name. They differ only for links called "world", which is the name of the ground."""
    names = {link.text("name"): link.text("name") for link, _ in tree}
    if WORLD in names:
        root = tree[0][0]
        is_ground = root.text("name") == WORLD and root.one("inertial") is None and not floating_base
        if not is_ground:
            names[WORLD] = next(n for k in range(len(names) + 1) if (n := f"{WORLD}_link{k or ''}") not in names)
    return names


# ---- one link, one joint --------------------------------------------------------------------------------------------


def _inertial(link: Element, check_inertia: bool, notes: _Notes) -> dict[str, Any]:
    """mass, com and inertia about it in the axes of the link; nothing for a link without <inertial>."""
    inertial = link.one("inertial")
    if inertial is None:
        return {}
    mass, inertia = inertial.one("mass"), inertial.one("inertia")
    if mass is None or inertia is None:
        raise inertial.error(f"<{'mass' if mass is None else 'inertia'}> of link {link.text('name')!r} is missing")
    kilograms = mass.number("value")
    if kilograms < 0.0:
        raise mass.error(f"the mass of link {link.text('name')!r} must not be negative, got {kilograms}")
    xx, yy, zz, xy, xz, yz = (inertia.number(f"i{axes}") for axes in ("xx", "yy", "zz", "xy", "xz", "yz"))
    place = origin(inertial)
    R = place.rotation
    J = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    J = 0.5 * (J + J.T)
    if np.abs(J).max() < ROUND_OFF * kilograms:
        J = np.zeros((3, 3))
    try:
        checks.inertia(J, f"link {link.text('name')!r}")
    except ModelError as error:
        if check_inertia or not np.isfinite(J).all():
            raise inertia.error(f"{error} check_inertia=False takes it as it is") from None
        notes.suspects.append(link.text("name"))
    return {"mass": kilograms, "com": place.position, "inertia": J}


def _moving_nothing(tree: list[tuple[Element, Element | None]], inertias: dict[str, dict[str, Any]],
                    massless: Massless) -> dict[str, Element]:
    """The joints that move no mass, or turn no inertia, from the leaves to the root."""
    mass = {name: float(body.get("mass", 0.0)) for name, body in inertias.items()}
    solid = {name: bool(mass[name] or np.any(body.get("inertia", 0.0))) for name, body in inertias.items()}
    idle: dict[str, Element] = {}
    for link, carrier in reversed(tree):
        if carrier is None:
            break
        name, kind = link.text("name"), carrier.text("type")
        needs_mass = kind in ("prismatic", "floating", "planar")
        if kind != "fixed" and not (mass[name] if needs_mass else solid[name]):
            if massless == "error":
                raise link.error(
                    f"{carrier.what} moves nothing: neither link {name!r} nor any link behind it has mass"
                    f'{"" if needs_mass else " or inertia"}; give it a mass, or load with massless="weld" to weld it'
                )
            idle[carrier.text("name")] = link
        parent = _reference(carrier, "parent")
        mass[parent] += mass[name]
        solid[parent] |= solid[name]
    return idle


def _joint(joint: Element, joints: dict[str, Element], welded: bool, mimic: Mimic, normal: Planar, notes: _Notes,
           ) -> dict[str, Any]:
    """The arguments of `ModelBuilder.add_body` that a joint decides."""
    name, kind = joint.text("name"), joint.text("type")
    if kind not in _TYPES:
        raise joint.error(f"unknown joint type {kind!r}; known types: {', '.join(_TYPES)}")
    place = origin(joint)
    body: dict[str, Any] = {"position": place.position, "rotation": place.rotation}
    held = _mimicked(joint, joints, mimic)
    if kind == "fixed" or welded:
        body["joint"] = weld()
        return body
    if kind == "floating":
        body["joint"] = Joint((Free(name),), kind)
    elif kind == "planar":
        body["joint"] = planar_joint(_axis(joint) if normal == "axis" else "z",
                                     names=[f"{name}.x", f"{name}.y", f"{name}.angle"])
    else:
        move: Literal["rotate", "translate"] = "translate" if kind == "prismatic" else "rotate"
        body["joint"] = Joint((Step(move, _axis(joint), held, name),), kind)
    if held is not None:
        return body
    dynamics = joint.one("dynamics")
    if dynamics is not None:
        for word in ("damping", "friction"):
            value = dynamics.number(word, 0.0)
            if value < 0.0:
                notes.more.append(f"negative {word} of joint {name!r} left out")
            body[word] = max(value, 0.0)
    limit = joint.one("limit")
    if limit is not None:
        body["limits"] = _limits(limit, name, kind, notes)
    return body


def _axis(joint: Element) -> checks.Vec3:
    element = joint.one("axis")
    if element is None:
        return (1.0, 0.0, 0.0)  # the default of the format
    try:
        return checks.axis(element.numbers("xyz", 3), "attribute 'xyz'")
    except ModelError as error:
        if str(error).startswith(element.source + "<"):
            raise
        raise element.error(f"axis of joint {joint.text('name')!r}: {error}") from None


def _limits(limit: Element, name: str, kind: str, notes: _Notes) -> tuple[float, float, float, float]:
    lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
    if kind not in ("revolute", "prismatic"):
        lower, upper = -math.inf, math.inf
    elif lower > upper:
        notes.more.append(f"limits of joint {name!r} left out: the lower one, {lower}, is above the upper one, {upper}")
        lower, upper = -math.inf, math.inf
    velocity, effort = (limit.number(word) if word in limit.attributes else math.inf for word in ("velocity", "effort"))
    if velocity < 0.0 or effort < 0.0:
        notes.more.append(f"negative limit of the velocity or effort of joint {name!r} left out")
        velocity, effort = (x if x >= 0.0 else math.inf for x in (velocity, effort))
    lower, upper, velocity, effort = (
        x if abs(x) < NO_LIMIT else math.copysign(math.inf, x) for x in (lower, upper, velocity, effort)
    )
    return lower, upper, velocity, effort


def _mimicked(joint: Element, joints: dict[str, Element], mimic: Mimic) -> float | None:
    """The amount at which a mimic joint is held; None if it is (or is treated as) a coordinate of its own."""
    element = joint.one("mimic")
    if element is None:
        return None
    leader = element.text("joint")
    if mimic in ("gear", "free") or joint.text("type") in ("fixed", "floating", "planar"):
        return None
    if mimic == "fix":
        return element.number("offset", 0.0)
    if leader not in joints:
        raise element.error(
            f"joint {joint.text('name')!r} mimics {leader!r}, which does not exist.{checks.near(leader, joints)}"
        )
    raise element.error(
        f"joint {joint.text('name')!r} mimics {leader!r}, which mimic=\"error\" refuses; "
        'load with mimic="gear" to couple the two, mimic="free" to make it a coordinate of its own, or mimic="fix" to '
        "hold it still"
    )


def _add_gears(builder: ModelBuilder, joints: dict[str, Element], welded: dict[str, Element], notes: _Notes) -> None:
    """Couple joints that mimic others with these; where there is no coordinate to follow, say so."""
    turning = ("revolute", "continuous", "prismatic")
    moving = {name for name, joint in joints.items() if joint.text("type") in turning and name not in welded}
    for name, joint in joints.items():
        element = joint.one("mimic")
        if element is None or name not in moving:
            continue
        leader = element.text("joint")
        if leader not in moving or leader == name:
            notes.more.append(f"mimic joint made a coordinate of its own: {name}, because {leader!r} is no coordinate "
                              "to follow")
            continue
        builder.add_gear(name, leader, element.number("multiplier", 1.0), element.number("offset", 0.0))


# ---- what is said about it ----------------------------------------------------------------------------------------


def _with_line(message: str, links: dict[str, Element]) -> str:
    """Add the line of the link that a message of the builder names."""
    for name, link in links.items():
        if message.startswith(f"body {name!r}"):
            return f"link in line {link.line}: {message}"
    return message


class _Notes:
    """What was not taken literally; one warning in the end."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.suspects: list[str] = []  # links with an impossible inertia
        self.more: list[str] = []

    def on_massless(self, welded: dict[str, Element]) -> None:
        if welded:
            ends = ", ".join(f"{joint} (link {link.text('name')!r})" for joint, link in reversed(welded.items()))
            self.more.append(f"joints that move no mass are welded, as massless=\"weld\" says: {ends}")

    def on_mimics(self, joints: dict[str, Element], welded: dict[str, Element], mimic: Mimic) -> None:
        followers = [name for name, joint in joints.items() if joint.one("mimic") is not None and name not in welded]
        if followers and mimic != "gear":
            done = ("made coordinates of their own (mimic=\"fix\" holds them)" if mimic == "free" else "held still")
            self.more.append(f"mimic joints {done}: {', '.join(followers)}")

    def on_planes(self, joints: dict[str, Element], welded: dict[str, Element], normal: Planar) -> None:
        oblique = [name for name, joint in joints.items() if joint.text("type") == "planar" and name not in welded
                   and _axis(joint) != (0.0, 0.0, 1.0)]
        if oblique:
            done = ("the plane is normal to the axis (Pinocchio takes z, as planar=\"z\" does)" if normal == "axis" else
                    "z is the normal, not the axis")
            self.more.append(f"planar joints {', '.join(oblique)}: {done}")

    def warn(self) -> None:
        ignored: Counter[str] = Counter()
        for element in self.root.walk(_READ):
            first: set[str] = set()
            for child in element.children:
                if child.tag not in _READ[element.tag] | _SHAPES:
                    ignored[child.tag] += 1
                elif element.tag in ("link", "inertial", "joint") and child.tag not in _SHAPES:
                    if child.tag in first:
                        self.more.append(f"the second <{child.tag}> of {element.what} is not used")
                    first.add(child.tag)
        notes = list(self.more)
        if self.suspects:
            notes.insert(0, f"links with an inertia that no rigid body has, taken as it is: {', '.join(self.suspects)}")
        if ignored:
            tags = ", ".join(f"<{tag}> ({count})" for tag, count in sorted(ignored.items()))
            notes.append(f"not used, as dynamics does not need it: {tags}")
        if notes:
            warnings.warn(f"{self.root.source}{'; '.join(notes)}", ModelWarning, stacklevel=3)
