"""Machines in MuJoCo's format (MJCF), through MuJoCo's own compiler.

MuJoCo reads the file, computes masses from shapes and resolves defaults; what it compiled is taken over joint by joint.
A MuJoCo joint turns the body about an anchor p fixed in the body: constant steps p and -p around the moving one.
"""

from __future__ import annotations

import warnings
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np

from ..errors import MethodError, ModelError, ModelWarning
from ..model import checks
from ..model.body import WORLD
from ..model.builder import ModelBuilder
from ..model.joint import Ball, Element, Free, Joint, Step
from ..model.model import Model
from . import xml

Armature = Literal["keep", "drop"]
#: MuJoCo's viewer shows geoms of groups 0 to 2; files keep those for contact in higher ones.
LAST_SHOWN_GROUP = 2
#: An anchor or a reference closer to zero than this is zero.
TINY = 1e-14


def load_mjcf(path_or_xml: str | bytes | PathLike[str], *, armature: Armature = "keep", equality: Armature = "keep"
              ) -> Model:
    """Read a machine from an MJCF file or text; needs the package mujoco (``pip install mbkern[mjcf]``).

    Bodies and coordinates have the names of bodies and joints. Coordinates are MuJoCo's qpos, in the same order; a free
    joint's linear speeds are in body axes here and in world axes there. Armature, springs, dampers and gravity act as
    in MuJoCo; joint ranges and frictionloss are kept as data in `Model.limits` and `Model.friction`, sites in
    `Model.frames` (a site with the name of a body gets "_site" behind it), geoms in `Model.visuals`. What has no place
    in the model (contacts, tendons, actuators and the like) is listed in a `ModelWarning`. Equality constraints between
    bodies (connect, weld) become loops, those of joints become gears: exact here, soft in MuJoCo.

    Parameters
    ----------
    path_or_xml : path, str or bytes
        A file (with the files that it includes and the meshes that give masses), or the XML text itself.
    armature : "keep" or "drop"
        What to do with the rotor inertia that MuJoCo adds to the diagonal of the mass matrix: keep it (see
        `ModelBuilder.add_body`), or leave it out and say so in the warning.
    equality : "keep" or "drop"
        What to do with equality constraints: loops and gears, or leave them out and say so in the warning.

    Returns
    -------
    Model

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.load_mjcf('''
    ... <mujoco model="pendulum"><worldbody>
    ...   <body name="rod">
    ...     <joint name="swing" axis="0 1 0" damping="0.1"/>
    ...     <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05" contype="0" conaffinity="0"/>
    ...   </body>
    ... </worldbody></mujoco>''')  # doctest: +SKIP
    >>> model.coordinate_names  # doctest: +SKIP
    ('swing',)
    """
    checks.word(armature, "load_mjcf: armature", ("keep", "drop"))
    checks.word(equality, "load_mjcf: equality", ("keep", "drop"))
    theirs, mujoco = _compiled(path_or_xml)
    return _Reader(theirs, mujoco, armature, equality).model()


def _compiled(path_or_xml: str | bytes | PathLike[str]) -> tuple[Any, Any]:
    """MuJoCo's own model."""
    document, source = xml.read(path_or_xml, "load_mjcf")
    try:
        import mujoco
    except ImportError:
        raise MethodError("load_mjcf: the package mujoco is not installed; pip install mbkern[mjcf]") from None
    root = xml.parse(document, source)  # refuses entities and garbage before MuJoCo sees them
    if root.tag == "robot":
        raise root.error("this is URDF; load_urdf reads it")
    if root.tag not in ("mujoco", "mujocoinclude"):
        raise root.error("expected <mujoco> as the outermost element of an MJCF file")
    try:
        if source:
            return mujoco.MjModel.from_xml_path(fspath(path_or_xml)), mujoco
        return mujoco.MjModel.from_xml_string(document.decode("utf-8")), mujoco
    except (ValueError, RuntimeError) as error:
        message = " ".join(str(error).split())
        raise ModelError(f"{source}MuJoCo refuses it: {message}") from None


class _Reader:
    """From a compiled MuJoCo model to ours."""

    def __init__(self, theirs: Any, mujoco: Any, armature: Armature, equality: Armature) -> None:
        self.m, self.mujoco, self.armature, self.equality = theirs, mujoco, armature, equality
        self.notes: list[str] = []
        self.names = self._body_names()

    def model(self) -> Model:
        m = self.m
        off = self.mujoco.mjtDisableBit
        self.no_springs = bool(m.opt.disableflags & off.mjDSBL_SPRING)
        self.no_dampers = bool(m.opt.disableflags & off.mjDSBL_DAMPER)
        weightless = bool(m.opt.disableflags & off.mjDSBL_GRAVITY)
        self._list_approximated()
        builder = ModelBuilder(gravity=np.zeros(3) if weightless else np.array(m.opt.gravity), name=self._model_name())
        for b in range(1, m.nbody):
            try:
                builder.add_body(self.names[b], **self._body(b))
            except ModelError as error:
                raise ModelError(f"load_mjcf: {error}") from None
        if not len(builder):
            raise ModelError("load_mjcf: the worldbody has no body")
        self._add_sites(builder)
        self._add_geoms(builder)
        self._add_constraints(builder)
        model = builder.build()
        self._list_unused()
        if self.notes:
            warnings.warn(f"load_mjcf: not in the model: {'; '.join(self.notes)}", ModelWarning, stacklevel=3)
        return model

    # ---- bodies and joints ----------------------------------------------------------------------------------------

    def _body(self, b: int) -> dict[str, Any]:
        m = self.m
        R = np.array(checks.rotation(m.body_iquat[b], "inertia axes"))
        J = R @ np.diag(m.body_inertia[b]) @ R.T
        first = int(m.body_jntadr[b])
        joints = range(first, first + int(m.body_jntnum[b])) if first >= 0 else range(0)
        elements: list[Element] = []
        stiffness: list[float] = []
        rest: list[float] = []
        dofs: list[int] = []
        limits: list[tuple[float, float, float, float]] = []
        for j in joints:
            moving, spring, reference, bounds = self._joint(j)
            elements += moving
            n = sum(element.nv for element in moving)
            stiffness += [spring] * n
            rest += [reference] * n
            limits += [bounds] * n
            dofs += range(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j]) + n)
        is_free = any(isinstance(element, Free) for element in elements)
        damping = np.zeros(len(dofs)) if self.no_dampers else m.dof_damping[dofs]
        return {
            "parent": self.names[int(m.body_parentid[b])],
            "joint": Joint(tuple(elements), self._kind(joints)),
            "mass": float(m.body_mass[b]),
            "com": m.body_ipos[b].tolist(),
            "inertia": 0.5 * (J + J.T),
            # qpos of a free joint is the pose itself
            "position": (0.0, 0.0, 0.0) if is_free else m.body_pos[b].tolist(),
            "rotation": None if is_free else m.body_quat[b],
            "stiffness": stiffness,
            "damping": damping.tolist(),
            "rest": rest,
            "limits": tuple(zip(*limits, strict=True)) if limits else None,
            "friction": m.dof_frictionloss[dofs].tolist(),
            "armature": m.dof_armature[dofs].tolist() if self.armature == "keep" else None,
            "check_inertia": False,  # MuJoCo has checked it
        }

    def _joint(self, j: int) -> tuple[list[Element], float, float, tuple[float, float, float, float]]:
        """Steps of one joint, its spring and where that is relaxed, its limits."""
        m, types = self.m, self.mujoco.mjtJoint
        name = m.joint(j).name or None
        spring = 0.0 if self.no_springs else float(m.jnt_stiffness[j])
        kind = int(m.jnt_type[j])
        infinity = float("inf")
        anchor = _constant("translate", m.jnt_pos[j])
        back = _constant("translate", -m.jnt_pos[j])
        if kind == types.mjJNT_FREE or kind == types.mjJNT_BALL:
            if spring:
                raise ModelError(
                    f"load_mjcf: joint {name!r}: a spring on a quaternion joint has no single coordinate; "
                    "take three hinges, or set its stiffness to 0 and apply the spring as tau"
                )
            bounds = (-infinity, infinity, infinity, infinity)
            if m.jnt_limited[j]:
                self.notes.append(f"the limit of ball joint {name or j!r}")
            return ([Free(name)] if kind == types.mjJNT_FREE else [*anchor, Ball(name), *back]), 0.0, 0.0, bounds
        at = int(m.jnt_qposadr[j])
        axis = m.jnt_axis[j]
        reference = float(m.qpos0[at])
        move: Literal["rotate", "translate"] = "rotate" if kind == types.mjJNT_HINGE else "translate"
        zero = _constant(move, -reference * axis)  # the body stands as drawn at qpos = ref
        step = Step(move, tuple(axis.tolist()), None, name)
        lower, upper = m.jnt_range[j].tolist() if m.jnt_limited[j] else (-infinity, infinity)
        effort = float(np.abs(m.jnt_actfrcrange[j]).max()) if m.jnt_actfrclimited[j] else infinity
        steps = [*anchor, *zero, step, *back] if move == "rotate" else [*zero, step]
        return steps, spring, float(m.qpos_spring[at]), (lower, upper, infinity, effort)

    def _kind(self, joints: range) -> str:
        if not joints:
            return "weld"
        if len(joints) > 1:
            return "custom"
        return ("free", "ball", "prismatic", "revolute")[int(self.m.jnt_type[joints[0]])]

    def _add_sites(self, builder: ModelBuilder) -> None:
        """Sites as frames; those of MuJoCo may have the name of a body, ours may not."""
        m = self.m
        taken = {WORLD, *self.names}
        for k in range(m.nsite):
            given = m.site(k).name or f"site{k}"
            variants = (f"{given}{'_site' * (j > 0)}{'_' * (j - 1)}" for j in range(m.nsite + 2))
            name = next(variant for variant in variants if variant not in taken)
            taken.add(name)
            builder.add_frame(name, self.names[int(m.site_bodyid[k])], m.site_pos[k].tolist(), m.site_quat[k])

    def _add_geoms(self, builder: ModelBuilder) -> None:
        """Geoms as shapes: those of the groups that MuJoCo's viewer shows. Planes and height fields are scenery."""
        m, types = self.m, self.mujoco.mjtGeom
        kinds = {int(types.mjGEOM_SPHERE): "sphere", int(types.mjGEOM_CAPSULE): "capsule",
                 int(types.mjGEOM_ELLIPSOID): "ellipsoid", int(types.mjGEOM_CYLINDER): "cylinder",
                 int(types.mjGEOM_BOX): "box", int(types.mjGEOM_MESH): "mesh"}
        for k in range(m.ngeom):
            kind = kinds.get(int(m.geom_type[k]))
            if kind is None or int(m.geom_group[k]) > LAST_SHOWN_GROUP:
                continue
            a, b, c = (float(x) for x in m.geom_size[k])
            size = {"sphere": (a,), "capsule": (a, 2.0 * b), "cylinder": (a, 2.0 * b), "ellipsoid": (a, b, c),
                    "box": (2.0 * a, 2.0 * b, 2.0 * c), "mesh": None}[kind]
            material = int(m.geom_matid[k])
            color = m.mat_rgba[material] if material >= 0 else m.geom_rgba[k]
            builder.add_visual(
                self.names[int(m.geom_bodyid[k])], kind, size, mesh=self._mesh(k) if kind == "mesh" else None,
                color=np.clip(color, 0.0, 1.0).astype(float).tolist(), position=m.geom_pos[k].tolist(),
                rotation=m.geom_quat[k],
            )

    def _mesh(self, k: int) -> tuple[Any, Any]:
        """Vertices and faces of the mesh of a geom, as MuJoCo has placed it."""
        m, mesh = self.m, int(self.m.geom_dataid[k])
        first, face = int(m.mesh_vertadr[mesh]), int(m.mesh_faceadr[mesh])
        return (m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])].astype(float),
                m.mesh_face[face : face + int(m.mesh_facenum[mesh])].astype(int))

    # ---- names ------------------------------------------------------------------------------------------------------

    def _body_names(self) -> list[str]:
        given = [self.m.body(b).name for b in range(self.m.nbody)]
        taken = {WORLD, *given}
        names = [WORLD]
        for b, name in enumerate(given[1:], start=1):
            if not name or name == WORLD:
                name = next(n for k in range(len(given) + 1) if (n := f"body{b}{'_' * k}") not in taken)
            taken.add(name)
            names.append(name)
        return names

    def _model_name(self) -> str:
        raw: bytes = self.m.names
        name = raw.split(b"\0", 1)[0].decode("utf-8", "replace")
        return "" if name == "MuJoCo Model" else name

    # ---- constraints -----------------------------------------------------------------------------------------------

    def _add_constraints(self, builder: ModelBuilder) -> None:
        """Equality constraints as loops and gears; what cannot be one is listed."""
        m, kinds, bodies = self.m, self.mujoco.mjtEq, self.mujoco.mjtObj.mjOBJ_BODY
        left_out, taken = [], set()
        if self.equality == "drop" and m.neq:
            self.notes.append(f"equality constraints ({m.neq})")
        for e in range(m.neq if self.equality == "keep" else 0):
            name = m.equality(e).name or f"equality {e}"
            name = name if name not in taken else f"{name} {e}"
            kind, first, second, data = int(m.eq_type[e]), int(m.eq_obj1id[e]), int(m.eq_obj2id[e]), m.eq_data[e]
            try:
                if not m.eq_active0[e]:
                    raise ModelError("not active")
                if kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD) and int(m.eq_objtype[e]) == bodies:
                    a, b = (WORLD if k == 0 else self.names[k] for k in (first, second))
                    if kind == kinds.mjEQ_CONNECT:
                        builder.add_loop(name, a, b, "point", data[:3], data[3:6])
                    else:
                        builder.add_loop(name, a, b, "weld", data[3:6], data[:3], rotation_a=data[6:10])
                elif kind == kinds.mjEQ_JOINT and second >= 0:
                    self._add_gear(builder, name, first, second, data[:5])
                else:
                    raise ModelError("of another kind")
                taken.add(name)
            except ModelError as error:
                left_out.append(f"{name} ({error})")
        if left_out:
            self.notes.append(f"equality constraints {_some(left_out)}")

    def _add_gear(self, builder: ModelBuilder, name: str, first: int, second: int, data: Any) -> None:
        """q1 - q1_0 = polynomial of (q2 - q2_0), both from where the file has them at the beginning."""
        m, slides = self.m, (self.mujoco.mjtJoint.mjJNT_SLIDE, self.mujoco.mjtJoint.mjJNT_HINGE)
        if not all(int(m.jnt_type[k]) in slides for k in (first, second)):
            raise ModelError("a joint of several dofs")
        zero, one = (float(m.qpos0[m.jnt_qposadr[k]]) for k in (first, second))
        moved = np.polynomial.Polynomial(data)(np.polynomial.Polynomial([-one, 1.0])).coef
        coefficients = np.zeros(max(2, len(moved)))
        coefficients[:len(moved)] = moved
        names = [m.joint(k).name for k in (first, second)]
        if not all(names):
            raise ModelError("a joint without a name")
        builder.add_gear(names[0], names[1], polynomial=coefficients.tolist(), offset=zero, name=name)

    # ---- what does not map ------------------------------------------------------------------------------------------

    def _list_approximated(self) -> None:
        m = self.m
        rotors = [m.joint(int(j)).name or f"joint {j}" for j in np.unique(m.dof_jntid[m.dof_armature != 0.0])]
        if rotors and self.armature == "drop":
            self.notes.append(f"armature of {_some(rotors)}")
        for name, what in (("jnt_stiffnesspoly", "stiffness"), ("dof_dampingpoly", "damping")):
            if np.any(getattr(m, name, 0.0)):
                self.notes.append(f"the nonlinear part of joint {what}")

    def _list_unused(self) -> None:
        m, disable = self.m, self.m.opt.disableflags
        off = self.mujoco.mjtDisableBit
        colliding = int(np.sum((m.geom_contype != 0) | (m.geom_conaffinity != 0)))
        if colliding and not disable & off.mjDSBL_CONTACT:
            self.notes.append(f"contacts ({colliding} geoms that can touch)")
        for count, what in (
            (m.ntendon, "tendons"), (m.nu, "actuators"), (m.nflex, "flexible bodies"),
            (m.nplugin, "plugins"), (m.nmocap, "mocap bodies (fixed where they stand)"),
            (int(np.sum(m.body_gravcomp != 0.0)), "bodies with gravity compensation"),
        ):  # fmt: skip
            if count:
                self.notes.append(f"{what} ({count})")
        if m.opt.density or m.opt.viscosity:
            self.notes.append("fluid forces")


def _constant(move: Literal["rotate", "translate"], vector: Any) -> list[Element]:
    """A constant step along (or about) a vector by its length; nothing for a zero vector."""
    amount = float(np.linalg.norm(vector))
    return [Step(move, tuple((vector / amount).tolist()), amount)] if amount > TINY else []


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
