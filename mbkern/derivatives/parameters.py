"""Derivatives of (u, pdot) with respect to the constants of a machine, at constant q and p, in closed form.

With p = P(q, u, c) and pdot = R(q, u, c) for a constant c, at constant (q, p) the speeds follow by Mass du = -dP/dc:

    du/dc = -Mass^-1 dP/dc = -u_p dP/dc,          dpdot/dc = dR/dc - pdot_p dP/dc

with u_p and pdot_p of `jacobian_rhs`. P and R are linear in the inertial parameters of the bodies (the regressors), in
armature, stiffness and damping; to move a joint in its parent is to move along dofs that have no speed.

With constraints the same u_p and pdot_p know them, and their forces answer: what inverse dynamics F(q, u, udot, c) of
the machine that moves as before asks for, they give as far as they can, as they do to joint forces,

    dpdot/dc = dR/dc + (E - pdot_tau) dF/dc - pdot_p dP/dc
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import inputs, lazy
from ..core import constants as L
from ..errors import ModelError
from ..identification.parameters import PLACES, six
from ..inputs import Array
from ..model.body import Body
from ..model.checks import several, show
from ..model.joint import Joint, translate
from ..model.rigid import of_unit_mass

if TYPE_CHECKING:
    from ..system import System

#: What `Model.vary` knows, in the order of the columns
KINDS = ("mass", "com", "inertia", "position", "stiffness", "damping", "armature", "gravity")
OF_BODY = ("mass", "com", "inertia", "position")
OF_JOINT = ("stiffness", "damping", "armature")


class ParameterDerivatives(NamedTuple):
    """Derivatives of (u, pdot) by the constants of a machine, at constant q and p.

    Attributes
    ----------
    names : tuple of str
        "boom.mass", "boom.com[0]", "boom.inertia[3]" (xx yy zz xy xz yz about the centre of mass), "boom.position[2]",
        "boom.stiffness[0]" (of each dof of the joint), "gravity[2]".
    u, pdot : (nv, len(names))
    """

    names: tuple[str, ...]
    u: Array
    pdot: Array


Column = tuple[Array, Array, Array]  # dP/dc, dR/dc, dF/dc


class _State(NamedTuple):
    """All that columns are made of."""

    system: System
    q: Array
    u: Array
    p: Array
    t: float
    wrench: Array | None
    Y: Array  # (nv, N, 10): dP, dR and dF by mass, first moment, inertia
    Z: Array
    X: Array
    udot: Array


def derivatives_parameters(system: System, q: ArrayLike, p: ArrayLike, t: float, tau: ArrayLike | None,
                           wrench: ArrayLike | None, parameters: Any) -> ParameterDerivatives:
    """See `System.derivatives_parameters`."""
    found = columns_of(system, q, p, t, tau, wrench, parameters)
    return ParameterDerivatives(found.names, found.u, found.pdot)


class Columns(NamedTuple):
    """`ParameterDerivatives`, and derivatives (nv, len(names)) of the momenta at constant q and u."""

    names: tuple[str, ...]
    u: Array
    pdot: Array
    momenta: Array


def columns_of(system: System, q: ArrayLike, p: ArrayLike, t: float, tau: ArrayLike | None, wrench: ArrayLike | None,
               parameters: Any, A: Any = None) -> Columns:
    """All of these; A: what `jacobian_rhs` gives there, if it is known."""
    model = system.model
    wanted = _wanted(model, parameters)
    if model.constraints:
        wanted = _without_positions(model, wanted, parameters is None)
    A = system.jacobian_rhs(q, p, t, tau, wrench) if A is None else A
    q, p = inputs.configuration(q, model), inputs.vector(p, "p", model.speed_names)
    given = None if wrench is None else inputs.wrenches(wrench, model)
    shape = (model.nv, model.n_bodies, 10)
    u, udot, torque = system.velocities(q, p, t), np.zeros(0), np.zeros(shape)
    if model.constraints:
        u = system.velocities(q, system.impact(q, p, t), t)
        udot = system.accelerations(q, u, t, tau, wrench)
        torque = system.torque_regressor(q, u, udot, t).reshape(shape)
    state = _State(system, q, u, p, t, given, system.momentum_regressor(q, u, t).reshape(shape),
                   system.momentum_rate_regressor(q, u, t).reshape(shape), torque, udot)
    names: list[str] = []
    columns: list[Column] = []
    for body, kind in wanted:
        found = list(_columns(state, body, kind))
        names += _names(None if body is None else model.body_names[body], kind, len(found))
        columns += found
    P, R, F = (np.array([column[k] for column in columns]).reshape(len(columns), model.nv).T for k in range(3))
    if model.constraints:
        R = R + F - A.pdot_tau @ F
    return Columns(tuple(names), -A.u_p @ P, R - A.pdot_p @ P, P)


# ---- what is wanted ----


def _wanted(model: Any, parameters: Any) -> list[tuple[int | None, str]]:
    """(body, kind) of all that is asked for; None and "gravity" for gravity."""
    if parameters is None:
        return [(b, kind) for b, body in enumerate(model.body_specs) for kind in (*OF_BODY, *OF_JOINT)
                if kind in OF_BODY or body.joint.nv > 0]
    if isinstance(parameters, str):
        parameters = [parameters]
    if isinstance(parameters, (list, tuple)) and all(isinstance(name, str) for name in parameters):
        return [one for name in parameters for one in _wanted(model, _by_body(model, name))]
    if not isinstance(parameters, Mapping):
        raise ModelError("parameters: expected a mapping from names of bodies to what varies "
                         f"({', '.join(KINDS[:-1])}), or names like 'boom.mass' or 'gravity', got {show(parameters)}")
    wanted: list[tuple[int | None, str]] = []
    for body, kinds in parameters.items():
        if body == "gravity":
            wanted.append((None, "gravity"))
            continue
        index = model.body_index(body)
        for kind in several(kinds, f"parameters[{body!r}]"):
            if not isinstance(kind, str) or kind not in (*OF_BODY, *OF_JOINT):
                raise ModelError(f"parameters[{body!r}]: expected {', '.join(KINDS[:-1])}, got {show(kind)}")
            if kind in OF_JOINT and model.body_specs[index].joint.nv == 0:
                raise ModelError(f"parameters[{body!r}]: {kind}: its {model.body_specs[index].joint.kind} joint has no "
                                 "dofs")
            wanted.append((index, kind))
    return wanted


def _by_body(model: Any, name: str) -> dict[str, Any]:
    """The mapping that a name stands for: "gravity", a body, or a body and what of it."""
    body, dot, kind = name.rpartition(".")
    if name == "gravity":
        return {name: True}
    if dot and name not in model.body_names:
        return {body: kind}
    return {name: KINDS[:-1] if model.body_specs[model.body_index(name)].joint.nv > 0 else OF_BODY}


def _without_positions(model: Any, wanted: list[tuple[int | None, str]], drop: bool) -> list[tuple[int | None, str]]:
    """Of machines with constraints places of joints are none of these constants; a ModelError where one is named."""
    moved = [body for body, kind in wanted if kind == "position" and body is not None]
    if moved and not drop:
        raise ModelError(
            f"parameters: the position of {model.body_names[moved[0]]!r}: to move a joint moves loops apart "
            f"({model.constraints[0].name!r}, ...), so q would have to follow; take difference quotients of machines "
            "that `assemble` has closed, or ask for " + ", ".join(kind for kind in KINDS if kind != "position"))
    return [(body, kind) for body, kind in wanted if kind != "position"]


def _names(body: str | None, kind: str, count: int) -> list[str]:
    whole = kind if body is None else f"{body}.{kind}"
    return [whole] if kind == "mass" else [f"{whole}[{k}]" for k in range(count)]


# ---- columns: dP/dc and dR/dc at constant (q, u), and dF/dc at constant udot as well, which constraints need ----

def _columns(state: _State, body: int | None, kind: str) -> Iterator[Column]:
    if body is None:
        return _by_gravity(state)
    if kind in ("mass", "com", "inertia"):
        return _by_inertia(state, body, kind)
    if kind == "position":
        return _by_position(state, body)
    return _by_joint(state, body, kind)


def _by_inertia(state: _State, body: int, kind: str) -> Iterator[Column]:
    """How the ten numbers follow mass, centre of mass and inertia about it."""
    spec = state.system.model.body_specs[body]
    m, c = float(spec.mass), np.array(spec.com, float)
    changes: list[Array] = []
    if kind == "mass":
        changes.append(np.concatenate([[1.0], c, six(of_unit_mass(c))]))
    elif kind == "com":
        for e in np.eye(3):
            bent = 2.0 * (c @ e) * np.eye(3) - np.outer(c, e) - np.outer(e, c)
            changes.append(np.concatenate([[0.0], m * e, m * six(bent)]))
    else:
        changes += [np.concatenate([np.zeros(4), row]) for row in np.eye(len(PLACES))]
    for change in changes:
        yield state.Y[:, body] @ change, state.Z[:, body] @ change, state.X[:, body] @ change


def _by_joint(state: _State, body: int, kind: str) -> Iterator[Column]:
    """Springs push by -(q - rest), dampers by -u; rotors add u to p and, where they turn with a body, to pdot."""
    model, zero = state.system.model, np.zeros(state.system.model.nv)
    block, first, count = model.block, int(model.v_offsets[body]), model.body_specs[body].joint.nv
    for j in range(first, first + count):
        row, own = int(block[L.AT_COORDINATES]) + j * L.COORDINATE, zero.copy()
        if kind == "stiffness":
            at = int(block[row + L.SPRING_QI])
            own[j] = block[row + L.REST] - state.q[at] if at >= 0 else 0.0
            yield zero, own, -own
        elif kind == "damping":
            own[j] = -state.u[j]
            yield zero, own, -own
        else:
            own[j] = state.u[j]
            spin, force = _spin(model, state.u, j), zero.copy()
            if state.udot.size:
                force[j] = state.udot[j]
            yield own, spin, force - spin


def _spin(model: Any, u: Array, j: int) -> Array:
    """How -Omega(u) (r u), the force of the rotors of a ball or free joint, changes with the one of dof j."""
    rate, block = np.zeros(model.nv), model.block
    for node in block[L.HEADER:L.HEADER + int(block[L.N_NODES]) * L.NODE].reshape(-1, L.NODE):
        vi, dofs = int(node[L.VI]), int(node[L.DOFS])
        if dofs > 1 and vi <= j < vi + dofs:
            six_u, six_r = np.zeros(6), np.zeros(6)
            six_u[6 - dofs:] = u[vi:vi + dofs]
            six_r[6 - dofs + j - vi] = u[j]
            force = -np.cross(six_u[3:], six_r[:3])
            moment = -np.cross(six_u[:3], six_r[:3]) - np.cross(six_u[3:], six_r[3:])
            rate[vi:vi + dofs] = np.concatenate([force, moment])[6 - dofs:]
    return rate


def _by_position(state: _State, body: int) -> Iterator[Column]:
    """The body on a carriage without mass that slides along the axes of its parent, and stands still.

    The carriage has rotors, so that its mass matrix can be inverted whatever it carries: at rest they add nothing.
    """
    model, t = state.system.model, state.t
    spec = model.body_specs[body]
    none, parallel = (0.0, 0.0, 0.0), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    carriage = Body("", spec.parent, Joint(tuple(map(translate, "xyz"))), 0.0, none, (none, none, none), spec.position,
                    parallel, none, none, none, armature=(max(model.total_mass, 1.0),) * 3)
    specs = [other._replace(parent=other.parent + (other.parent >= body)) for other in model.body_specs]
    specs[body] = specs[body]._replace(parent=body, position=none)
    specs.insert(body, carriage)
    moved = type(model)(model.name, tuple(model.gravity.tolist()), tuple(specs))
    other = lazy.module("system").System(moved)
    at_q, at_v = int(model.q_offsets[body]), int(model.v_offsets[body])
    q, u = np.insert(state.q, [at_q] * 3, 0.0), np.insert(state.u, [at_v] * 3, 0.0)
    wrench = None if state.wrench is None else np.insert(state.wrench, body, 0.0, axis=0)
    A, mass = other.jacobian_rhs(q, other.momenta(q, u, t), t, wrench=wrench), other.mass_matrix(q, t)
    slides = np.arange(at_v, at_v + 3)
    own = np.setdiff1d(np.arange(moved.nv), slides)
    P = -mass @ A.u_q[:, slides]
    R = A.pdot_q[:, slides] + A.pdot_p @ P
    for k in range(3):
        yield P[own, k], R[own, k], R[own, k]  # the last is for constraints, which this is not


def _by_gravity(state: _State) -> Iterator[Column]:
    """Weight is linear in g: what unit gravity does."""
    model, zero = state.system.model, np.zeros(state.system.model.nv)
    for e in np.eye(3):
        pulled = type(model)(model.name, tuple(e.tolist()), model.body_specs)
        weight = -lazy.module("system").System(pulled).gravity_forces(state.q, state.t)
        yield zero, weight, -weight
