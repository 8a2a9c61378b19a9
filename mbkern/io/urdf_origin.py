"""The <origin> of URDF: where a frame is placed. R = Rz(yaw) Ry(pitch) Rx(roll), placed axes -> outer axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..model import checks
from .xml import Element


@dataclass(slots=True)
class Placement:
    """An <origin>."""

    position: tuple[float, ...]
    rotation: NDArray[np.float64]


def rpy_matrix(roll: float, pitch: float, yaw: float) -> NDArray[np.float64]:
    """Rz(yaw) Ry(pitch) Rx(roll): axes of the placed frame -> axes of the frame that it is placed in."""
    cr, sr, cp, sp, cy, sy = (f(x) for x in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def origin(element: Element) -> Placement:
    """The placement that the <origin> of an element gives; without one, its outer frame."""
    found = element.one("origin")
    if found is None:
        return Placement((0.0, 0.0, 0.0), np.eye(3))
    position = found.numbers("xyz", 3, (0.0, 0.0, 0.0))
    if "quat_xyzw" in found.attributes:
        if "rpy" in found.attributes:
            raise found.error("both rpy and quat_xyzw are given; only one is allowed")
        x, y, z, w = found.numbers("quat_xyzw", 4)
        try:
            return Placement(position, np.array(checks.rotation((w, x, y, z), "quat_xyzw")))
        except ModelError as error:
            raise found.error(str(error)) from None
    return Placement(position, rpy_matrix(*found.numbers("rpy", 3, (0.0, 0.0, 0.0))))
