"""Models as JSON: readable, exact, and checked on the way in.

Reading goes through `ModelBuilder`, so a file is trusted no more than any other input. Python writes the
shortest decimal that reads back as the same float, hence a round trip changes no bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

from mbkern import collector, files
from mbkern.errors import MissingFileError, ModelError
from mbkern.model import checks
from mbkern.model.body import UNLIMITED, WORLD, Body, Frame, Limits
from mbkern.model.builder import ModelBuilder
from mbkern.model.constraints import Blade, Constraint, Gear, Loop, Rolling, UserRows
from mbkern.model.drives import Drive, Harmonic, Polynomial, Spline
from mbkern.model.joint import ELEMENTS, Element, Joint
from mbkern.model.model import Model

FORMAT = "mbkern-model"
VERSION = 1

_DRIVES: dict[str, tuple[type[Drive], tuple[str, ...]]] = {
    "harmonic": (Harmonic, ("amplitude", "omega", "phase", "offset")),
    "polynomial": (Polynomial, ("coeffs",)),
    "spline": (Spline, ("t", "x")),
}
_BODY_FIELDS = ("name", "parent", "joint", "mass", "com", "inertia", "position", "rotation", "stiffness", "damping",
                "rest")
#: Written only where they say something, so that files without them read the same in every release of version 1.
_OPTIONAL_FIELDS = ("limits", "friction", "armature", "check_inertia")
_BOUNDS = ("lower", "upper", "velocity", "effort")


def load(path: str | PathLike[str]) -> Model:
    """Read a model that `Model.save` wrote.

    Parameters
    ----------
    path : path
        The JSON file.

    Examples
    --------
    >>> import mbkern as mb, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "chain.json"
    ...     mb.zoo.chain(3).save(path)
    ...     mb.load(path)
    Model 'chain3': 3 bodies, 3 dofs (nq = 3), total mass ... kg
    """
    name = files.named(path, "load", ModelError)
    try:
        return from_json(Path(name).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ModelError(f"{name}: not a text file ({error})") from None
    except FileNotFoundError:
        raise MissingFileError(f"load: no file {name!r}") from None
    except OSError as error:
        raise ModelError(f"load: cannot read {name!r}: {error.strerror or error}") from None
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from None
    except ValueError as error:  # a null character, half of a character
        raise ModelError(f"load: cannot read {name!r}: {error}") from None


def save(model: Model, path: str | PathLike[str]) -> None:
    """Write `model` to a JSON file."""
    text = to_json(model)  # before the file is touched: a model that cannot be written leaves no empty file
    files.write(path, text.encode("utf-8"), "save")


def to_json(model: Model) -> str:
    """`model` as JSON text: a line for each body, frame and visual."""
    encode = json.JSONEncoder(allow_nan=False).encode
    parts = [f' "{word}": {encode(value)}' for word, value in _head(model).items()]
    for word, entries in _lists(model).items():
        lines = ",\n  ".join(map(encode, entries))
        parts.append(f' "{word}": [\n  {lines}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}"


def from_json(text: str) -> Model:
    """The model in a JSON text."""
    with collector.paused():
        try:
            data = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise ModelError(f"not a JSON text: {error}") from None
        return _model(data, _Joints())


def to_dict(model: Model) -> dict[str, Any]:
    """`model` as plain dicts, lists, numbers and strings."""
    return {**_head(model), **{word: [_plain(entry) for entry in entries] for word, entries in _lists(model).items()}}


def _head(model: Model) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "name": model.name, "gravity": model.gravity.tolist()}


def _lists(model: Model) -> dict[str, Iterator[dict[str, Any]]]:
    """Bodies, and frames and visuals if there are any; made one after the other, for the sake of large models."""
    joints: dict[int, dict[str, Any]] = {}  # many bodies share one
    lists: dict[str, Iterator[dict[str, Any]]] = {
        "bodies": (_body_to_dict(body, model, joints) for body in model.body_specs)}
    if model.frame_specs:
        lists["frames"] = (_frame_to_dict(name, frame, model) for name, frame in model.frame_specs)
    if model.visuals:
        lists["visuals"] = ({"body": body, **shape.to_dict()}
                            for body, shapes in model.visuals.items() for shape in shapes)
    if model.constraints:
        lists["constraints"] = (_constraint_to_dict(constraint, model) for constraint in model.constraints)
    return lists


def from_dict(data: Any) -> Model:
    """The model in plain dicts, lists, numbers and strings."""
    return _model(data, _joint_from_dict)


def _model(data: Any, joint_from: Callable[[Any, str], Joint]) -> Model:
    head = _fields(data, "model", ("format", "version", "name", "gravity", "bodies"),
                   ("frames", "visuals", "constraints"))
    known = isinstance(head["format"], str) and isinstance(head["version"], int)
    if not known or head["format"] != FORMAT or head["version"] != VERSION:
        raise ModelError(
            f"model: expected format {FORMAT!r} version {VERSION}, "
            f"got {checks.show(head['format'])} version {checks.show(head['version'])}"
        )
    for word in ("bodies", "frames", "visuals", "constraints"):
        if not isinstance(head.setdefault(word, []), list):
            raise ModelError(f"model: {word} must be a list, got {checks.show(head[word])}")
    builder = ModelBuilder(gravity=head["gravity"], name=head["name"])
    for k, entry in enumerate(head["bodies"]):
        body = _fields(entry, f"bodies[{k}]", _BODY_FIELDS, _OPTIONAL_FIELDS)
        body["joint"] = joint_from(body["joint"], f"bodies[{k}]: joint")
        if body.get("limits") is not None:
            body["limits"] = _limits_from_dict(body["limits"], f"bodies[{k}]: limits")
        builder.add_body(**body)
    for k, entry in enumerate(head["frames"]):
        builder.add_frame(**_fields(entry, f"frames[{k}]", ("name", "body", "position", "rotation")))
    for k, entry in enumerate(head["visuals"]):
        builder.add_visual(**_visual_from_dict(entry, f"visuals[{k}]"))
    for k, entry in enumerate(head["constraints"]):
        _add_constraint(builder, entry, f"constraints[{k}]")
    return builder.build()


def _body_to_dict(body: Body, model: Model, joints: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """A body; `joints` are those that have been written before."""
    joint = joints.get(id(body.joint))
    if joint is None:
        try:
            elements = [_element_to_dict(element) for element in body.joint.elements]
        except ModelError as error:
            raise ModelError(f"body {body.name!r}: {error}") from None
        joint = joints[id(body.joint)] = {"kind": body.joint.kind, "elements": elements}
    written: dict[str, Any] = {
        "name": body.name,
        "parent": WORLD if body.parent < 0 else model.body_names[body.parent],
        "joint": joint,
        "mass": body.mass,
        "com": body.com,
        "inertia": body.inertia,
        "position": body.position,
        "rotation": body.rotation,
        "stiffness": body.stiffness,
        "damping": body.damping,
        "rest": body.rest,
    }
    if body.limits is not None:
        written["limits"] = _limits_to_dict(body.limits)
    if body.friction is not None:
        written["friction"] = body.friction
    if body.armature is not None:
        written["armature"] = body.armature
    if not _possible(body):
        written["check_inertia"] = False
    return written


def _frame_to_dict(name: str, frame: Frame, model: Model) -> dict[str, Any]:
    body = WORLD if frame.body < 0 else model.body_names[frame.body]
    return {"name": name, "body": body, "position": frame.position, "rotation": frame.rotation}


def _constraint_to_dict(constraint: Constraint, model: Model) -> dict[str, Any]:
    """What the method of `ModelBuilder` for it takes, and under "constraint" which one that is."""
    def body(i: int) -> str:
        return WORLD if i < 0 else model.body_names[i]

    try:
        if isinstance(constraint, Loop):
            written = {"kind": constraint.kind, "body_a": body(constraint.body_a), "body_b": body(constraint.body_b),
                       "position_a": constraint.position_a, "position_b": constraint.position_b,
                       "rotation_a": constraint.rotation_a, "rotation_b": constraint.rotation_b,
                       "axis": constraint.axis, "length": _field_to_plain(constraint.length)}
            return {"constraint": "loop", "name": constraint.name, **written}
        if isinstance(constraint, UserRows):
            raise ModelError("its rows are a function, which JSON cannot hold; pickle keeps it")
        if isinstance(constraint, Gear):
            terms = [[name, list(coefficients)] for name, coefficients in constraint.terms]
            return {"constraint": "gear", "name": constraint.name, "coordinate": constraint.coordinate, "terms": terms,
                    "offset": _field_to_plain(constraint.offset)}
    except ModelError as error:
        raise ModelError(f"constraint {constraint.name!r}: {error}") from None
    written = {field.name: getattr(constraint, field.name) for field in fields(constraint)}
    written |= {"body": body(constraint.body), "on": body(constraint.on)}
    return {"constraint": "blade" if isinstance(constraint, Blade) else "rolling", **written}


def _add_constraint(builder: ModelBuilder, data: Any, what: str) -> None:
    word = data.get("constraint") if isinstance(data, dict) else None
    known: dict[str, tuple[str, ...]] = {
        "loop": ("name", "kind", "body_a", "body_b", "position_a", "position_b", "rotation_a", "rotation_b", "axis",
                 "length"),
        "gear": ("name", "coordinate", "terms", "offset"),
        "blade": tuple([field.name for field in fields(Blade)]),
        "rolling": tuple([field.name for field in fields(Rolling)])}
    if not isinstance(word, str) or word not in known:
        raise ModelError(f"{what}: constraint must be one of {', '.join(map(repr, known))}, got {checks.show(word)}")
    entry = _fields(data, what, ("constraint", *known[word]))
    del entry["constraint"]
    for name in ("length", "offset"):
        if isinstance(entry.get(name), dict):
            entry[name] = _drive_from_dict(entry[name], f"{what}: {name}")
    _named(what, lambda: builder.add_plain(word, entry))


def _visual_from_dict(data: Any, what: str) -> dict[str, Any]:
    """The arguments of `ModelBuilder.add_visual`."""
    entry = _fields(data, what, ("body", "kind", "size", "position", "rotation"),
                    ("color", "path", "vertices", "faces"))
    path, triangles = entry.pop("path", None), (entry.pop("vertices", None), entry.pop("faces", None))
    mesh = triangles if path is None and triangles != (None, None) else path
    return {**entry, "mesh": mesh}


def _possible(body: Body) -> bool:
    """Whether some rigid body has this inertia."""
    try:
        checks.inertia(body.inertia, body.name)
    except ModelError:
        return False
    return True


def _limits_to_dict(limits: Limits) -> dict[str, list[float | None]]:
    """Bounds per dof; null where there is none, for JSON has no infinity."""
    return {name: [x if math.isfinite(x) else None for x in row] for name, row in zip(_BOUNDS, limits, strict=True)}


def _limits_from_dict(data: Any, what: str) -> Limits:
    entry = _fields(data, what, _BOUNDS)
    rows = []
    for name, none in zip(_BOUNDS, UNLIMITED, strict=True):
        if not isinstance(entry[name], list):
            raise ModelError(f"{what}: {name} must be a list, got {checks.show(entry[name])}")
        rows.append([none if x is None else x for x in entry[name]])
    return Limits(*rows)


def _element_to_dict(element: Element) -> dict[str, Any]:
    return {"move": element.move, **{name: _field_to_plain(getattr(element, name)) for name in element.fields}}


def _field_to_plain(amount: Any) -> Any:
    if not isinstance(amount, Drive):
        return amount
    for word, (kind, names) in _DRIVES.items():
        if isinstance(amount, kind):
            return {"drive": word, **{name: getattr(amount, name) for name in names}}
    raise ModelError(
        "a drive(f) is compiled code and cannot be written as JSON; use harmonic, polynomial or spline, "
        "or pickle the model"
    )


def _joint_from_dict(data: Any, what: str) -> Joint:
    joint = _fields(data, what, ("kind", "elements"))
    if not isinstance(joint["elements"], list):
        raise ModelError(f"{what}: elements must be a list, got {checks.show(joint['elements'])}")
    elements = [_element_from_dict(entry, f"{what}: elements[{k}]") for k, entry in enumerate(joint["elements"])]
    return _named(what, lambda: Joint(tuple(elements), joint["kind"]))


class _Joints:
    """Joints from JSON, where all that is written alike becomes one joint: bodies of large machines share theirs."""

    def __init__(self) -> None:
        self._known: dict[str, Joint] = {}

    def __call__(self, data: Any, what: str) -> Joint:
        """The joint in `data`."""
        text = repr(data)
        joint = self._known.get(text)
        if joint is None:
            joint = self._known[text] = _joint_from_dict(data, what)
        return joint


def _element_from_dict(data: Any, what: str) -> Element:
    move = data.get("move") if isinstance(data, dict) else None
    if not isinstance(move, str) or move not in ELEMENTS:
        raise ModelError(f"{what}: move must be one of {', '.join(map(repr, ELEMENTS))}, got {checks.show(move)}")
    entry = _fields(data, what, ("move", *ELEMENTS[move].fields))
    if isinstance(entry.get("amount"), dict):
        entry["amount"] = _drive_from_dict(entry["amount"], f"{what}: amount")
    return _named(what, lambda: ELEMENTS[move].made(**entry))


def _drive_from_dict(data: dict[str, Any], what: str) -> Drive:
    word = data.get("drive")
    if not isinstance(word, str) or word not in _DRIVES:
        raise ModelError(f"{what}: drive must be one of {', '.join(map(repr, _DRIVES))}, got {checks.show(word)}")
    kind, names = _DRIVES[word]
    entry = _fields(data, what, ("drive", *names))
    return _named(what, lambda: kind(*(entry[name] for name in names)))


def _fields(data: Any, what: str, names: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """A copy of `data` if it has exactly the fields `names`, and possibly some of the `optional` ones."""
    if isinstance(data, dict) and tuple(data) == names:  # as they are written, mostly
        return dict(data)
    if not isinstance(data, dict):
        raise ModelError(f"{what}: expected an object with the fields {', '.join(names)}, got {checks.show(data)}")
    missing = [name for name in names if name not in data]
    known = names + optional
    unknown = [str(name) for name in data if name not in known]
    problems = [f"{word}: {', '.join(found)}" for word, found in (("missing", missing), ("unknown", unknown)) if found]
    if problems:
        raise ModelError(f"{what}: expected the fields {', '.join(names)}; {'; '.join(problems)}")
    return dict(data)


def _named(what: str, make: Callable[[], Any]) -> Any:
    """Call `make` and say in its errors where in the file the numbers stand."""
    try:
        return make()
    except ModelError as error:
        raise ModelError(f"{what}: {error}") from None


def _plain(value: Any) -> Any:
    """Tuples as lists, all the way down."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value
