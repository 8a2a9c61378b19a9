"""What a machine is made of, as plain numbers: bodies with their joints, frames, limits of joints."""

from __future__ import annotations

from typing import Any, NamedTuple

from mbkern.model.checks import Mat3, Vec3
from mbkern.model.joint import Joint

WORLD = "world"


class Limits(NamedTuple):
    """What a machine's joints and motors stand, one number per dof; infinite where there is no limit.

    Kept as data for whoever plans or controls a motion: the equations of motion do not enforce them.

    Attributes
    ----------
    lower, upper : (nv,)
        Range of the coordinate, rad or m; infinite for the dofs of ball and free joints.
    velocity : (nv,)
        Largest speed, rad/s or m/s.
    effort : (nv,)
        Largest joint force, N m or N.
    """

    lower: Any
    upper: Any
    velocity: Any
    effort: Any


UNLIMITED = (-float("inf"), float("inf"), float("inf"), float("inf"))


class Body(NamedTuple):
    """One body and the joint that carries it, as plain numbers; made by `ModelBuilder.add_body`.

    Attributes
    ----------
    name : str
    parent : int
        Index of the parent body, -1 for the world.
    joint : Joint
    mass : float
        In kg.
    com : (3,) tuple
        Centre of mass in the body frame, in m.
    inertia : (3, 3) tuple of rows
        About the centre of mass in body axes, in kg m^2.
    position : (3,) tuple
        Origin of the joint frame in the parent frame, in m.
    rotation : (3, 3) tuple of rows
        Joint frame -> parent frame.
    stiffness, damping, rest : tuples of nv floats
        Spring, damper and unloaded position per dof: force = -stiffness (q - rest) - damping u.
    limits : Limits of tuples of nv floats, or None
        What the joint stands, as data; None is no limit.
    friction : tuple of nv floats, or None
        Coulomb friction, as data; None is none.
    armature : tuple of nv floats, or None
        Inertia of a rotor per dof, in kg m^2 or kg; None is none.
    """

    name: str
    parent: int
    joint: Joint
    mass: float
    com: Vec3
    inertia: Mat3
    position: Vec3
    rotation: Mat3
    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    rest: tuple[float, ...]
    limits: Limits | None = None
    friction: tuple[float, ...] | None = None
    armature: tuple[float, ...] | None = None


class Frame(NamedTuple):
    """A named place on a body: a tool, a sensor, a point to push at. Read from `Model.frames`.

    Attributes
    ----------
    body : int
        Index of the body that it is fixed in, -1 for the world.
    rotation : (3, 3) tuple of rows
        Axes of the frame -> axes of the body.
    position : (3,) tuple
        Its origin in the body frame, in m.
    """

    body: int
    rotation: Mat3
    position: Vec3
