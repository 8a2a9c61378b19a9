"""A model as an FMU: Model Exchange and Co-Simulation, FMI 2.0 or 3.0."""

from __future__ import annotations

import hashlib
import io
import shlex
import tempfile
import zipfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from .. import files
from ..core import constants as L
from ..errors import ExportError, MbkernError
from ..inputs import configuration, vector
from ..integrate.events import Event, as_events
from ..model.checks import pair, show
from ..signatures import Events
from ..system import System
from ..workspace import places
from . import linking
from .fmi.description import description
from .fmi.variables import Interface, interface
from .library import Maker, check_momenta, frame_names, has_jacobian, place_named, prefix_of
from .parameters import Setting, settings
from .targets import Target, target_named

VERSIONS = ("2.0", "3.0")
TOLERANCE = 1e-8  # relative, of Co-Simulation; the importer may give another
SOURCES = Path(__file__).parent / "fmi"
CLOSING = ("constraint_residuals", "closer", "true_momenta")  # what it takes to close loops that have opened
_MOST = 2**53  # crossings


def fmu(system: System, path: str | PathLike[str], version: str = "3.0", *, inputs: Sequence[str] = ("tau",),
        outputs: Sequence[str] = ("energy",), parameters: Sequence[str] = (), events: Events | None = None,
        start: tuple[ArrayLike, ArrayLike] | None = None, target: str = "native") -> Path:
    """Write a model as an FMU: Model Exchange, and Co-Simulation with "dopri5".

    States are q and p, by the names ``q.<coordinate>`` and ``p.<speed>``, in the units of `System.rhs`. A C compiler is
    needed; the FMU has machine code for one kind of processor and system.

    Parameters
    ----------
    system : System
    path : str or path
        The file, "arm.fmu".
    version : str
        Of FMI: "3.0" or "2.0".
    inputs : sequence of str
        "tau" (all joint forces), "tau.<speed>", "wrench.<body>" (fx fy fz mx my mz in body axes at the body origin).
    outputs : sequence of str
        "energy" (kinetic, potential, hamiltonian), "u" (joint speeds), "pose.<body or frame>" (x y z and the rotation
        R11 .. R33, its columns the axes of the body in the world).
    parameters : sequence of str
        Constants that the importer may tune, as in `library`.
    events : mb.event(...) or several, optional
        Event functions; those that are `terminal` end the simulation.
    start : (q, p), optional
        The state to begin with; the neutral one at rest by default, with its loops closed.
    target : str
        As in `library`.

    Returns
    -------
    Path
        The file.

    Notes
    -----
    Directional derivatives are there where q has a rate for each number (no ball and free joints): those of the rates
    exact, by `jacobian_rhs`, those of the outputs by central differences. States can be saved, restored and serialized.

    Machines with closed loops begin with the nearest state that closes them. Co-Simulation keeps them closed; where
    an importer integrates (Model Exchange), an event closes them again when they have opened by a hundred times its
    tolerance. They have directional derivatives unless wrenches act or functions of yours fill rows of constraints.

    Examples
    --------
    >>> import mbkern as mb, tempfile, pathlib, zipfile
    >>> path = mb.export.fmu(mb.System(mb.zoo.chain(2)), pathlib.Path(tempfile.mkdtemp()) / "arm.fmu")
    >>> "modelDescription.xml" in zipfile.ZipFile(path).namelist()
    True
    """
    if not isinstance(system, System):
        raise ExportError(f"system: expected a System, got {type(system).__name__}; mb.System(model) makes one")
    check_momenta(system, "fmu")
    if not isinstance(version, str) or version not in VERSIONS:
        raise ExportError(f"version: expected one of {', '.join(VERSIONS)}, got {show(version)}")
    file, model = place_named(path, "export.fmu"), system.model
    if file.suffix != ".fmu":
        raise ExportError(f"path: expected a file name that ends in .fmu, got {file.name!r}")
    prefix, goal = prefix_of(file.stem), target_named(target)
    chosen, events = settings(model, parameters), as_events(events)
    state = _start(system, start)
    about = interface(model, inputs, outputs, chosen, events, state)
    wrenches = any(place >= model.nv for place in about.inputs)
    directions = model.nq == model.nv and has_jacobian(model) and not (wrenches and model.constraints)
    operations = ["dopri5", "rhs_with_wrenches" if wrenches else "rhs", *["jacobian_rhs"] * directions,
                  *["energy"] * about.energy, *["velocities"] * about.speeds, *["frame_pose"] * bool(about.poses),
                  *(CLOSING if model.constraints else ())]
    maker = Maker(system, prefix, goal, tuple(operations), False, chosen, events)
    code = maker.code()
    token = "{" + hashlib.sha256(code + version.encode() + repr(about).encode()).hexdigest()[:32] + "}"
    header = _header(maker, about, events, chosen, state, token, directions, wrenches)
    xml = description(version, prefix, model.name, token, about, directions, TOLERANCE, bool(model.constraints))
    parts = _parts(prefix, version, code, maker.text(), header)
    compiler = linking.compiler(goal)
    if not compiler:
        raise ExportError(f"no C compiler found for {goal.triple}, which the shared library inside an FMU needs: "
                          "install one, or name it in the environment variable CC. "
                          f"{_left(file, goal, prefix, version, {**parts, 'modelDescription.xml': xml.encode()})}")
    binary = _compiled(compiler, goal, prefix, version, parts)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", xml)
        archive.writestr(f"binaries/{_platform(goal, version)}/{prefix}{goal.suffix}", binary)
    files.write(file, content.getvalue(), "export.fmu")
    return file


def _start(system: System, start: Any) -> list[float]:
    """The state to begin with."""
    model = system.model
    if start is None and model.constraints:
        try:
            return [*system.assemble(model.neutral()).tolist(), *[0.0] * model.nv]
        except MbkernError as error:
            raise ExportError(f"start: near the neutral configuration the loops cannot be closed ({error}); give a "
                              "state, start=(q, p)") from None
    if start is None:
        return [*model.neutral().tolist(), *[0.0] * model.nv]
    q, p = pair(start, "start", "(q, p)", ExportError)
    q, p = configuration(q, model, "start q"), vector(p, "start p", model.speed_names)
    if model.constraints:
        system.check_consistent(q, p, 0.0, ("start q", "start p"))
    return [*q.tolist(), *p.tolist()]


def _platform(target: Target, version: str) -> str:
    """Name of the folder of the shared library."""
    system = "windows" if target.suffix == ".dll" else "darwin" if target.suffix == ".dylib" else "linux"
    if version == "3.0":
        return f"{'x86_64' if target.is_x86 else 'aarch64'}-{system}"
    if not target.is_x86:
        return f"{system}64" if system == "darwin" else f"aarch64-{system}"
    return {"windows": "win64", "darwin": "darwin64", "linux": "linux64"}[system]


def _array(kind: str, name: str, values: Sequence[Any]) -> str:
    """A C array, which has at least one element."""
    shown = ", ".join(float(x).hex() if kind == "double" else str(int(x)) for x in values) or "0"
    return f"static const {kind} {name}[] = {{{shown}}};"


def _header(maker: Maker, about: Interface, events: Sequence[Event], chosen: Sequence[Setting], state: Sequence[float],
            token: str, directions: bool, wrenches: bool) -> str:
    """fmu.h: sizes and tables."""
    model = maker.model
    names = frame_names(model)
    nominal = [x for setting in chosen for x in setting.nominal]
    at_speeds = 3 * about.energy
    at_poses = at_speeds + model.nv * about.speeds
    rows = [places.node_row(i) + L.QUATERNION for i in range(int(maker.block[L.N_NODES]))]
    quaternions = [int(maker.block[row]) for row in rows if maker.block[row] >= 0]
    numbers = {"LOOPS": int(bool(model.constraints)), "N_ROWS": model.n_rows, "N_QUATERNIONS": len(quaternions),
               "NQ": model.nq, "NV": model.nv, "N_BODIES": model.n_bodies, "WORK": maker.total,
               "NU": len(about.inputs), "NY": len(about.of("output")), "NP": len(nominal), "NZ": len(events),
               "N_SETTINGS": len(chosen), "HAS_WRENCH": int(wrenches), "HAS_DIRECTIONS": int(directions),
               "HAS_ENERGY": int(about.energy), "AT_ENERGY": 0, "HAS_SPEEDS": int(about.speeds),
               "AT_SPEEDS": at_speeds, "N_POSES": len(about.poses), "AT_POSES": at_poses}
    lines = [f'#include "{maker.prefix}.h"', f"#define MODEL(name) {maker.prefix}_##name", f'#define TOKEN "{token}"',
             f'#define MODEL_NAME "{maker.prefix}"', f"#define TOLERANCE {TOLERANCE!r}",
             *[f"#define {name} {value}" for name, value in numbers.items()],
             _array("double", "START_X", state), _array("double", "START_P", nominal),
             _array("int", "INPUT_PLACES", about.inputs),
             *[_array("int", "QUATERNIONS", quaternions)] * bool(model.constraints),
             _array("int64_t", "SETTING_SIZES", [len(setting.nominal) for setting in chosen]),
             _array("int64_t", "POSES", [names.index(name) for name in about.poses]),
             _array("int64_t", "EVENT_COUNTS", [min(event.terminal, _MOST) for event in events]),
             _array("int", "EVENT_DIRECTIONS", [event.direction for event in events])]
    return "\n".join([*lines, ""])


def _parts(prefix: str, version: str, code: bytes, library: str, header: str) -> dict[str, bytes]:
    """What the shared library is compiled of."""
    sources = {name: (SOURCES / name).read_bytes() for name in ("model.c", f"fmi{version[0]}.c")}
    return {f"{prefix}.o": code, f"{prefix}.h": library.encode(), "fmu.h": header.encode(), **sources}


def _command(compiler: list[str], target: Target, prefix: str, version: str, made: Path) -> list[str]:
    """What compiles it, in the folder of the parts."""
    command = linking.link_command(compiler, target, [Path(f"fmi{version[0]}.c"), Path(f"{prefix}.o")], made)
    hidden = [] if target.suffix == ".dll" else ["-fPIC", "-fvisibility=hidden"]
    bound = ["-Wl,-Bsymbolic"] if target.suffix == ".so" else []
    command[len(compiler):len(compiler)] = ["-std=c99", "-O2", "-ffp-contract=off", *hidden, *bound]
    return command


def _left(file: Path, target: Target, prefix: str, version: str, parts: dict[str, bytes]) -> str:
    """Write the parts of an FMU to a folder beside it; how to make it of them where there is a compiler."""
    folder = file.with_suffix("")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ExportError(f"export.fmu: cannot write to {folder}: {error}") from None
    for name, content in parts.items():
        files.write(folder / name, content, "export.fmu")
    place = Path("binaries") / _platform(target, version)
    command = shlex.join(_command(["cc"], target, prefix, version, place / f"{prefix}{target.suffix}"))
    return (f"Its parts are in {folder}; where there is a compiler, this makes it: cd {shlex.quote(str(folder))} && "
            f"mkdir -p {place} && {command} && zip -r ../{file.name} modelDescription.xml binaries")


def _compiled(compiler: list[str], target: Target, prefix: str, version: str, parts: dict[str, bytes]) -> bytes:
    """The shared library."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, content in parts.items():
            files.write(folder / part, content, "export.fmu")
        made = folder / f"{prefix}{target.suffix}"
        command = _command(compiler, target, prefix, version, made)
        linking.run(command, f"compiling the FMU ({shlex.quote(compiler[0])})", folder)
        return made.read_bytes()
