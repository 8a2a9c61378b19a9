"""The inertial parameters of a model as a vector, their names, and the way back to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..inputs import Array, numbers, vector
from ..model.rigid import of_unit_mass

if TYPE_CHECKING:
    from ..model.model import Model

#: Of each body: mass, first moment m c (kg m), inertia about the body origin (kg m^2), in body axes
TEN = ("mass", "moment_x", "moment_y", "moment_z",
       "inertia_xx", "inertia_yy", "inertia_zz", "inertia_xy", "inertia_xz", "inertia_yz")
SLACK = 1e-9  # of the inertia about the body origin: what rounding may take from that about the centre of mass
PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # of the six numbers of an inertia


def inertial_parameters(model: Model) -> Array:
    """pi, (10 N,): mass, first moment and inertia about the body origin of every body, in body axes.

    Examples
    --------
    >>> import mbkern as mb
    >>> builder = mb.ModelBuilder()
    >>> _ = builder.add_body("bob", joint=mb.revolute("y"), mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    >>> mb.identification.inertial_parameters(builder.build())
    array([ 2. ,  0. ,  0. , -1. ,  0.6,  0.6,  0.1,  0. ,  0. ,  0. ])
    """
    pi = np.empty((model.n_bodies, 10))
    for body, row in zip(model.body_specs, pi, strict=True):
        m, c = float(body.mass), np.array(body.com, float)
        J = np.array(body.inertia, float).reshape(3, 3) + m * of_unit_mass(c)
        row[0], row[1:4], row[4:] = m, m * c, six(J)
    return pi.reshape(-1) + 0.0  # no -0


def names_of(model: Model) -> tuple[str, ...]:
    """Names of the parameters: "body.mass", "body.moment_x", ..., in the order of `inertial_parameters`."""
    return tuple(f"{body}.{what}" for body in model.body_names for what in TEN)


def six(J: Array) -> Array:
    """xx yy zz xy xz yz of a symmetric matrix."""
    return np.array([J[i, j] for i, j in PLACES])


def matrix_of(numbers: Array) -> Array:
    """The symmetric matrix of xx yy zz xy xz yz."""
    J = np.empty((3, 3))
    for (i, j), x in zip(PLACES, numbers, strict=True):
        J[i, j] = J[j, i] = x
    return J


def with_parameters(model: Model, pi: Array) -> Model:
    """The model with other inertial parameters; a ModelError where they are those of no body."""
    specs = []
    given, before = numbers(pi, "pi", f"{10 * model.n_bodies} real numbers"), inertial_parameters(model).reshape(-1, 10)
    rows = vector(given.ravel() if given.shape == before.shape else given, "pi", names_of(model)).reshape(-1, 10)
    for body, row, own in zip(model.body_specs, rows, before, strict=True):
        if np.array_equal(row, own):  # also of a body that was let in although it is impossible
            specs.append(body)
            continue
        m = float(row[0])
        c = row[1:4] / m if m != 0.0 else np.zeros(3)
        J = matrix_of(row[4:]) - m * of_unit_mass(c)
        why = _why_impossible(row, J)
        if why:
            raise ModelError(f"body {body.name!r}: {why}; identify(..., consistent=True) keeps bodies possible")
        x, y, z = (tuple(line) for line in J.tolist())
        specs.append(body._replace(mass=m, com=tuple(c.tolist()), inertia=(x, y, z)))
    return type(model)(model.name, tuple(model.gravity.tolist()), tuple(specs), model.frame_specs, model.visuals,
                       model.constraints)


def _why_impossible(row: Array, J: Array) -> str:
    """Why no body has these ten numbers, of which J is the inertia about the centre of mass; "" where one has."""
    if row[0] < 0.0:
        return f"its mass would be {row[0]:.6g} kg"
    if row[0] == 0.0 and row[1:4].any():
        return f"without mass its first moment would be {row[1:4].tolist()} kg m"
    moments = np.linalg.eigvalsh(J)
    if 0.5 * moments.sum() - moments[2] < -SLACK * float(np.abs(row[4:7]).sum()):  # implies that none is negative
        return f"no body has principal moments {', '.join(f'{x:.6g}' for x in moments)} kg m^2"
    return ""


def pseudo_inertia(row: Array) -> Array:
    """The 4 x 4 matrix that is positive definite exactly for the ten numbers of a real body, some mass everywhere.

    [[tr(J)/2 E - J, s], [s^T, m]] (Wensing, Kim & Slotine 2018).
    """
    J = matrix_of(row[4:])
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(J) * np.eye(3) - J
    P[:3, 3] = P[3, :3] = row[1:4]
    P[3, 3] = row[0]
    return P


def ten_of(P: Array) -> Array:
    """The ten numbers of a pseudo-inertia."""
    return np.concatenate([[P[3, 3]], P[:3, 3], six(np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3])])
