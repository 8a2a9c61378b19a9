"""How near the matrix of a formulation is to singular."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..inputs import Array


@dataclass(frozen=True)
class Conditioning:
    """How near the matrix of a formulation is to singular.

    Attributes
    ----------
    rcond : float
        1 / cond, between 0 (singular) and 1. Of S, and of the matrix with multipliers for Lagrange: cond is that of
        Bauer and Skeel, which does not depend on the units of the rows.
    matrix : str
        Which matrix that is, and which quasi-velocities are in it.
    threshold : float
        A run stops where rcond is smaller (not used by Lagrange).
    """

    rcond: float
    matrix: str
    threshold: float

    def __str__(self) -> str:
        verdict = "regular" if self.rcond >= self.threshold else f"singular: below the threshold {self.threshold:g}"
        return f"{self.matrix}: 1/cond = {self.rcond:.3g}, {verdict}"


def skeel(S: Array) -> float:
    """1 / max_i (|S^-1| |S| e)_i; 0 when S is singular."""
    try:
        inverse = np.linalg.inv(S)
    except np.linalg.LinAlgError:
        return 0.0
    value = float((np.abs(inverse) @ np.abs(S).sum(axis=1)).max())
    return 1.0 / value if np.isfinite(value) and value > 0.0 else 0.0
