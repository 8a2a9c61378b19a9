"""Frames on the axes of steps: frames of nodes have theirs along z, constant steps lead from one frame to another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .. import lazy, plain
from .joint import Element

_vec3 = plain.load("vec3")

Array = NDArray[np.float64]
Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]
Frame = tuple[Matrix, Vector]

EYE: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# axes permuted so that x, y or z becomes the new z: exact, no rounding
_PERMUTED: dict[Vector, Matrix] = {
    (1.0, 0.0, 0.0): ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    (0.0, 1.0, 0.0): ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    (0.0, 0.0, 1.0): EYE,
}


def aligned(axes: Sequence[Vector]) -> Array:
    """Rotations W with W axis = z, (k, 3, 3)."""
    W = np.array([_PERMUTED.get(axis, EYE) for axis in axes]).reshape(-1, 3, 3)
    others = [k for k, axis in enumerate(axes) if axis not in _PERMUTED]
    if others:
        W[others] = _with_any_x(np.array([axes[k] for k in others]))
    return W


def _with_any_x(z: Array) -> Array:
    """Right-handed axes, by rows, of which z are given, (k, 3)."""
    helper = np.zeros(z.shape)
    helper[np.arange(len(z)), np.argmin(np.abs(z), axis=1)] = 1.0
    x = np.cross(helper, z)
    x /= np.sqrt(x[:, None, :] @ x[:, :, None])[:, 0]
    return np.stack([x, np.cross(z, x), z], axis=1)


def displaced(step: Element) -> Frame:
    """The frame after a constant step in the one before it."""
    assert isinstance(step.amount, float)
    G = _turn(step.axis, step.about * step.amount) if step.about else EYE
    return G, _vec3.scale(step.along * step.amount, step.axis)


def _turn(axis: Vector, angle: float) -> Matrix:
    """Direction cosines from the axes before a rotation to those after it."""
    W = tuple(map(tuple, aligned([axis])[0].tolist()))
    joints = lazy.module("_plain_core.joints")
    turned: Matrix = _vec3.matmul(_vec3.transpose(W), joints.turned_z(W, float(angle)))
    return turned
