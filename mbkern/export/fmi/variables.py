"""The variables of an FMU: states, inputs, outputs, parameters, event functions, in the order of their references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import ExportError
from ...integrate.events import Event
from ...model.checks import several, show
from ...model.model import Model
from ...operations import with_nearest
from ..parameters import Setting

WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")
POSE = (*"xyz", *[f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)])
ENERGIES = ("kinetic", "potential", "hamiltonian")


@dataclass(frozen=True)
class Variable:
    """A variable.

    Attributes
    ----------
    name, about : str
    causality : str
        independent, local, input, output, parameter.
    start : float or None
    state : int
        Of a derivative: reference of its state; -1 otherwise.
    role : str
        time, state, derivative, input, output, parameter, event.
    """

    name: str
    about: str
    causality: str
    role: str
    start: float | None = None
    state: int = -1


@dataclass(frozen=True)
class Interface:
    """All variables of an FMU, and what the C code needs to know of them.

    Attributes
    ----------
    variables : list of Variable
        In the order of their value references.
    inputs : list of int
        Of each input: place in tau, or nv + place in the wrenches.
    outputs : tuple of str
        "energy", "u", "pose.BODY" in the order of their variables: energy, speeds, poses.
    """

    variables: list[Variable]
    inputs: list[int]
    energy: bool
    speeds: bool
    poses: list[str]

    def of(self, role: str) -> list[int]:
        """References of the variables in a role."""
        return [k for k, variable in enumerate(self.variables) if variable.role == role]


def _words(value: Any, what: str, model: Model) -> list[str]:
    given = several(value, what, ExportError)
    frames = [*model.frames, *model.body_names]
    known = (["tau", *[f"tau.{name}" for name in model.speed_names],
              *[f"wrench.{name}" for name in model.body_names]] if what == "inputs"
             else ["energy", "u", *[f"pose.{name}" for name in frames]])
    for name in given:
        if not isinstance(name, str) or name not in known:
            shown = ("\"tau\" (all joint forces), \"tau.DOF\" or \"wrench.BODY\"" if what == "inputs"
                     else "\"energy\", \"u\" (joint speeds) or \"pose.BODY\" (or a frame)")
            raise ExportError(f"{what}: expected some of {shown}, got {show(name)}{with_nearest(name, known)}")
    return list(dict.fromkeys(given))


def interface(model: Model, inputs: Any, outputs: Any, parameters: Sequence[Setting], events: Sequence[Event],
              start: Sequence[float]) -> Interface:
    """The variables, in the order of their references: time, states, derivatives, inputs, outputs, parameters, events.
    """
    wanted_in, wanted_out = _words(inputs, "inputs", model), _words(outputs, "outputs", model)
    q = [(f"q.{name}", "coordinate, m, rad or part of a quaternion") for name in model.coordinate_names]
    p = [(f"p.{name}", "momentum, kg m/s or kg m^2/s") for name in model.speed_names]
    found = [Variable("time", "s", "independent", "time")]
    found += [Variable(name, about, "local", "state", x) for (name, about), x in zip(q + p, start, strict=True)]
    found += [Variable(f"der({name})", "rate of it, per s", "local", "derivative", None, 1 + k)
              for k, (name, _) in enumerate(q + p)]
    places: list[int] = []
    for j, name in enumerate(model.speed_names):
        if "tau" in wanted_in or f"tau.{name}" in wanted_in:
            found.append(Variable(f"tau.{name}", "joint force, N or N m", "input", "input", 0.0))
            places.append(j)
    for b, body in enumerate(model.body_names):
        if f"wrench.{body}" in wanted_in:
            found += [Variable(f"wrench.{body}.{part}", "in body axes at the body origin, N or N m", "input", "input",
                               0.0) for part in WRENCH]
            places += [model.nv + 6 * b + k for k in range(6)]
    if "energy" in wanted_out:
        found += [Variable(f"energy.{name}", "J", "output", "output") for name in ENERGIES]
    if "u" in wanted_out:
        found += [Variable(f"u.{name}", "joint speed, m/s or rad/s", "output", "output") for name in model.speed_names]
    poses = [name.removeprefix("pose.") for name in wanted_out if name.startswith("pose.")]
    for name in poses:
        found += [Variable(f"pose.{name}.{part}", "m, world" if len(part) == 1 else "rotation, its axes in the world",
                           "output", "output") for part in POSE]
    for setting in parameters:
        names = [setting.name] if len(setting.nominal) == 1 else [
            f"{setting.name}[{k + 1}]" for k in range(len(setting.nominal))]
        found += [Variable(name, setting.about, "parameter", "parameter", x)
                  for name, x in zip(names, setting.nominal, strict=True)]
    found += [Variable(f"event.{k + 1}.{event.name}", "event function", "local", "event")
              for k, event in enumerate(events)]
    return Interface(found, places, "energy" in wanted_out, "u" in wanted_out, poses)
