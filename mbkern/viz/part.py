"""Triangles of one colour, and why there are none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import MbkernError

Array = NDArray[np.float64]
Faces = NDArray[np.int64]
Color = tuple[float, ...]


class MeshError(MbkernError):
    """A mesh that cannot be drawn."""


@dataclass(slots=True, frozen=True)
class Part:
    """Triangles of one colour: vertices (n, 3), faces (m, 3) indices into them, (r, g, b, a) or None."""

    vertices: Array
    faces: Faces
    color: Color | None = None
