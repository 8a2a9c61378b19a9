"""Frames, the named places on bodies: pose, motion, Jacobian, and the wrench of a force there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from . import inputs
from .errors import ModelError, StateError
from .inputs import Array
from .model.checks import show
from .operations import with_nearest
from .system_calls import Calls
from .workspace import places

if TYPE_CHECKING:
    from .model.model import Model

AXES = ("world", "body", "local-world-aligned")  # in the order of their codes, see :mod:`mbkern.core.frame_motions`


class Frames(Calls):
    """The part of `System` about named places."""

    def _begin(self) -> None:
        super()._begin()
        self._frame_numbers: dict[tuple[str, str], Array] = {}

    def frame_numbers(self, frame: str, axes: str = "body") -> Array:
        """A frame as numbers, as compiled code takes it (`njit("jacobian")` and the like).

        Parameters
        ----------
        frame : str
            Name of a frame of the model, of a body, or "world".
        axes : str
            As in `jacobian`.

        Returns
        -------
        array (14,)
            Yours.

        Examples
        --------
        >>> import mbkern as mb
        >>> mb.System(mb.zoo.chain(3)).frame_numbers("body2").shape
        (14,)
        """
        return self._frame(frame, axes).copy()

    def _frame(self, frame: str, axes: str = "body") -> Array:
        """The same, kept for the next call."""
        try:
            return self._frame_numbers[frame, axes]
        except (KeyError, TypeError):
            return self._frame_numbers.setdefault((frame, axes), numbers_of_frame(self.model, self.block, frame, axes))

    def frame_pose(self, q: ArrayLike, frame: str, t: float = 0.0, *, out: tuple[Array, Array] | None = None
                   ) -> tuple[Array, Array]:
        """Where a frame is.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        frame : str
            Name of a frame of the model, of a body, or "world".
        t : float
            Time in seconds; matters for driven joints only.
        out : (R, r), optional
            Float64 arrays to write into; new ones by default.

        Returns
        -------
        R : (3, 3)
            Rotation frame -> world (columns are its axes in the world).
        r : (3,)
            Its origin in the world, in metres.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> R, r = system.frame_pose([0.0], "tool")
        >>> r
        array([1., 0., 0.])
        """
        return self._runs.frame_pose(t, out, q, self._frame(frame))

    def frame_velocity(self, q: ArrayLike, p: ArrayLike, frame: str, t: float = 0.0, *, axes: str = "body",
                       out: Array | None = None) -> Array:
        """Velocity of a frame, (linear; angular).

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        frame : str
            Name of a frame of the model, of a body, or "world".
        t : float
            Time in seconds; matters for driven joints only.
        out : (6,), optional
            Float64 array to write into; a new one by default.
        axes : "world", "body" or "local-world-aligned"
            Of the six numbers: world axes and the point of the frame's moving space that passes the world's origin; the
            frame's own axes and origin; its own origin in axes parallel to the world's.

        Returns
        -------
        v : (6,)
            m/s and rad/s.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> system.frame_velocity([0.0], [0.5], "tool")
        array([0., 2., 0., 0., 0., 2.])
        """
        return self._runs.frame_velocity(t, out, q, p, self._frame(frame, axes))

    def frame_acceleration(self, q: ArrayLike, p: ArrayLike, frame: str, t: float = 0.0,
                           tau: ArrayLike | None = None, wrench: ArrayLike | None = None, *, axes: str = "body",
                           out: Array | None = None) -> Array:
        """Acceleration of a frame: time derivative of `frame_velocity`, number by number.

        With "local-world-aligned" axes the first three are the acceleration of the origin in the world.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        p : (nv,)
            Momenta.
        frame : str
            Name of a frame of the model, of a body, or "world".
        t : float
            Time in seconds; matters for driven joints only.
        out : (6,), optional
            Float64 array to write into; a new one by default.
        tau, wrench
            As in `rhs`.
        axes : "world", "body" or "local-world-aligned"
            Of the six numbers: world axes and the point of the frame's moving space that passes the world's origin; the
            frame's own axes and origin; its own origin in axes parallel to the world's.

        Returns
        -------
        a : (6,)
            m/s^2 and rad/s^2.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> system.frame_acceleration([0.0], [0.5], "tool", axes="local-world-aligned").round(6) + 0.0
        array([-4.,  0.,  0.,  0.,  0.,  0.])
        """
        return self.acceleration_of_numbered(q, p, self._frame(frame, axes), t, tau, wrench, out=out)

    def acceleration_of_numbered(self, q: ArrayLike, p: ArrayLike, numbers: Array, t: float = 0.0,
                                 tau: ArrayLike | None = None, wrench: ArrayLike | None = None, *,
                                 out: Array | None = None) -> Array:
        """`frame_acceleration` of a frame that is given by its numbers, see `frame_numbers`.

        Examples
        --------
        >>> import mbkern as mb
        >>> system = mb.System(mb.zoo.chain(2))
        >>> system.acceleration_of_numbered([0.0, 0.0], [0.0, 0.0], system.frame_numbers("body1")).shape
        (6,)
        """
        tau, wrench = self._with_constraint_forces(q, p, t, tau, wrench)
        result: Array = self._run_with("frame_acceleration", t, out, q=q, p=p, tau=tau, wrench=wrench, frame=numbers)
        return result

    def jacobian(self, q: ArrayLike, frame: str, t: float = 0.0, *, axes: str = "world", out: Array | None = None
                 ) -> Array:
        """Jacobian J (6, nv) of a frame: its velocity is J u, (linear; angular), plus what driven joints add.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        frame : str
            Name of a frame of the model, of a body, or "world".
        t : float
            Time in seconds; matters for driven joints only.
        out : (6, nv), optional
            Float64 array to write into; a new one by default.
        axes : "world", "body" or "local-world-aligned"
            Of the six numbers: world axes and the point of the frame's moving space that passes the world's origin; the
            frame's own axes and origin; its own origin in axes parallel to the world's.

        Returns
        -------
        J : (6, nv)

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> system.jacobian([0.0], "tool", axes="local-world-aligned").T
        array([[0., 1., 0., 0., 0., 1.]])
        """
        try:  # as `_frame` does, without the call: a tenth of the time for seven bodies
            numbers = self._frame_numbers[frame, axes]
        except (KeyError, TypeError):
            numbers = self._frame(frame, axes)
        return self._runs.jacobian(t, out, q, numbers)

    def jacobian_dot_u(self, q: ArrayLike, u: ArrayLike, frame: str, t: float = 0.0, *, axes: str = "world",
                       out: Array | None = None) -> Array:
        """dJ/dt u: the acceleration of a frame when no joint accelerates, driven motion included.

        Parameters
        ----------
        q : (nq,)
            Configuration.
        u : (nv,)
            Joint speeds.
        frame : str
            Name of a frame of the model, of a body, or "world".
        t : float
            Time in seconds; matters for driven joints only.
        out : (6,), optional
            Float64 array to write into; a new one by default.
        axes : "world", "body" or "local-world-aligned"
            Of the six numbers: world axes and the point of the frame's moving space that passes the world's origin; the
            frame's own axes and origin; its own origin in axes parallel to the world's.

        Returns
        -------
        a : (6,)
            m/s^2 and rad/s^2.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> system.jacobian_dot_u([0.0], [2.0], "tool", axes="local-world-aligned").round(6) + 0.0
        array([-4.,  0.,  0.,  0.,  0.,  0.])
        """
        return self._runs.jacobian_dot_u(t, out, q, u, self._frame(frame, axes))

    def wrench_at(self, frame: str, force: ArrayLike = (0.0, 0.0, 0.0), moment: ArrayLike = (0.0, 0.0, 0.0), *,
                  axes: str = "body", q: ArrayLike | None = None, t: float = 0.0) -> Array:
        """The `wrench` argument of `rhs` and others for a force and a moment at a frame.

        Parameters
        ----------
        frame : str
            Name of a frame of the model or of a body.
        force, moment : (3,)
            What acts on the body there, in N and N m; the force at the origin of the frame.
        axes : "body" or "local-world-aligned"
            Axes of force and moment: the frame's own, or parallel to the world's. "world": such axes too, but the force
            acts at the world's origin.
        q : (nq,), optional
            Configuration; needed for all but "body".
        t : float
            Time in seconds; matters for driven joints only.

        Returns
        -------
        wrench : (N, 6)
            (force; moment) on each body, in body axes, at the body origin. Add several of them.

        Examples
        --------
        >>> import mbkern as mb
        >>> builder = mb.ModelBuilder()
        >>> _ = builder.add_body("arm", joint=mb.revolute("z"), mass=1.0, com=(0.5, 0, 0))
        >>> _ = builder.add_frame("tool", "arm", position=(1.0, 0, 0))
        >>> system = mb.System(builder.build())
        >>> system.wrench_at("tool", force=(0, 3, 0))
        array([[0., 3., 0., 0., 0., 3.]])
        >>> qdot, pdot = system.rhs([0.0], [0.0], wrench=system.wrench_at("tool", force=(0, 3, 0)))
        >>> pdot
        array([3.])
        """
        body, R, r = _place_of(self.model, frame)
        if body < 0:
            raise ModelError(f"frame: {frame!r} stands on the world, where a wrench moves nothing")
        f, m = (inputs.real_array(value, what, (3,), "three real numbers") for value, what in (
            (force, "force"), (moment, "moment")))
        if _axes_code(axes) != AXES.index("body"):
            if q is None:
                raise StateError(f"q: expected the configuration, because axes {axes!r} are not those of the frame")
            turn, origin = self.frame_pose(q, frame, t)
            m = m - np.cross(origin, f) if axes == "world" else m
            f, m = turn.T @ f, turn.T @ m
        wrench = np.zeros((self.model.n_bodies, 6))
        wrench[body, :3] = R @ f
        wrench[body, 3:] = R @ m + np.cross(r, wrench[body, :3])
        return wrench


def _axes_code(axes: Any) -> int:
    if not isinstance(axes, str) or axes not in AXES:
        raise StateError(f"axes: expected one of {', '.join(AXES)}, got {show(axes)}{with_nearest(axes, AXES)}")
    return AXES.index(axes)


def _place_of(model: Model, frame: Any) -> tuple[int, Array, Array]:
    """Body (-1: the world), rotation frame -> body and origin of a frame of that name, or of a body."""
    if isinstance(frame, str):
        if frame in model.frames:
            place = model.frames[frame]
            return place.body, np.array(place.rotation), np.array(place.position)
        if frame == "world" or frame in model.body_names:
            return (-1 if frame == "world" else model.body_index(frame)), np.eye(3), np.zeros(3)
    names = [*model.frames, *model.body_names, "world"]
    raise ModelError(f"frame: expected the name of a frame or a body, got {show(frame)}{with_nearest(frame, names)}")


def numbers_of_frame(model: Model, block: Array, frame: Any, axes: Any) -> Array:
    """Node, axes and origin of a frame in the node's frame, and how its six numbers are to be seen."""
    code = _axes_code(axes)
    body, R, r = _place_of(model, frame)
    node, G, rho = (-1.0, np.eye(3), np.zeros(3)) if body < 0 else places.body_place(block, body)
    numbers = np.concatenate(([node], (R.T @ G).ravel(), rho + G.T @ r, [code]))
    return numbers
