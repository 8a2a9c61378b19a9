"""Solutions as files: NumPy archives (.npz) of plain arrays, numbers and texts, written in one piece or not at all.

All of `Solution.to_dict` is in the archive under the same names, so that `numpy.load` is enough to use one elsewhere,
and besides: `format`, `version`, `model_json` (the machine; empty if it has a drive that is a function), `t_end`,
`event<k>_t/_q/_p`, `dense_*` (polynomials of the steps), `tangent`, `loads` (whether forces acted) and `work_*`
(what they did).
"""

from __future__ import annotations

import zipfile
import zlib
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import files
from ..errors import IntegrationError, MbkernError, MissingFileError, ModelError
from ..methods import method_named
from ..model.checks import show
from ..model.model import Model
from .events import EventRecord
from .kernels import plan as P
from .work import Loads, Work

if TYPE_CHECKING:
    from .solution import Solution

FORMAT = "mbkern-solution"
VERSION = 1
_NEEDED = ("t", "q", "p", "method", "integrator", "status", "message", "nfev", "n_accepted", "n_rejected", "model_json",
           "t_end", "n_events", "loads")


def save(solution: Solution, path: str | PathLike[str]) -> None:
    """See `Solution.save`."""
    data = contents(solution)
    files.write(path, lambda file: np.savez_compressed(file, **data), "save")


def contents(solution: Solution) -> dict[str, Any]:
    """Everything that a file holds, by name."""
    data = solution.to_dict()
    del data["events"]
    try:
        machine = solution.system.model.to_json()
    except ModelError:  # a drive that is a function
        machine = ""
    data |= {"format": FORMAT, "version": VERSION, "model_json": machine, "t_end": solution._t_end,
             "n_events": len(solution.events), "loads": solution._loads.act}
    if data["nfev"] is None:
        data["nfev"] = -1
    for k, record in enumerate(solution.events):
        data |= {f"event{k}_{name}": array for name, array in record._asdict().items()}
    if solution._dense is not None:
        dense = solution._dense
        data |= {"dense_vectors": int(dense.plan[P.DENSE]), "dense_starts": dense.starts, "dense_ends": dense.ends,
                 "dense_rows": dense.rows}
    if solution._tangent is not None:
        data["tangent"] = solution._tangent
    if solution._loads.act:
        try:
            data |= {f"work_{name}": value for name, value in solution.work()._asdict().items()}
        except MbkernError:  # of a run that ended where the forces have no value
            pass
    return data


def load(path: str | PathLike[str], model: Model | None = None) -> dict[str, Any]:
    """What `Solution.load` makes a solution of: arguments, and work if the file has it."""
    what = f"load({files.named(path, 'load', IntegrationError)!r})"
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise IntegrationError(f"{what}: expected an archive that Solution.save wrote, got a plain array")
            data = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise MissingFileError(f"{what}: there is no such file") from None
    except OSError as error:
        raise IntegrationError(f"{what}: cannot read it: {error.strerror or error}") from None
    except (ValueError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:  # as zipfile has it
        raise IntegrationError(f"{what}: not an archive that Solution.save wrote, or a damaged one: {error}") from None
    found = str(data.get("format", ""))
    if found != FORMAT:
        raise IntegrationError(f"{what}: expected an archive that Solution.save wrote (format {FORMAT!r}), got format "
                               f"{found!r}")
    if int(data["version"]) != VERSION:
        raise IntegrationError(f"{what}: expected version {VERSION} of the format, got {int(data['version'])}; read it "
                               "with the release of mbkern that wrote it")
    missing = [name for name in _NEEDED if name not in data]
    if missing:
        raise IntegrationError(f"{what}: the archive has no {', '.join(missing)}")
    machine = _machine(str(data["model_json"]), model, what)
    method = method_named(str(data["method"]), machine)
    t, q, p = data["t"], data["q"], data["p"]
    if t.ndim != 1 or q.shape != (t.size, machine.nq) or p.shape != (t.size, machine.nv):
        raise IntegrationError(f"{what}: expected q of shape {(t.size, machine.nq)} and p of shape "
                               f"{(t.size, machine.nv)} for this model, got {q.shape} and {p.shape}")
    x = p if method.variable == "p" else data.get("u", np.empty(0))
    if x.shape != p.shape:
        raise IntegrationError(f"{what}: the archive has no u of shape {p.shape}, the joint speeds of its states")
    work = None
    if "work_loads" in data:
        work = Work(data["work_loads"], data["work_dampers"], data["work_drives"], float(data["work_error"]))
    nfev = int(data["nfev"])
    return {
        "model": machine, "method": method.name, "integrator": str(data["integrator"]), "t": t,
        "y": np.hstack((q, x)), "status": str(data["status"]), "message": str(data["message"]),
        "counts": (nfev if nfev >= 0 else None, int(data["n_accepted"]), int(data["n_rejected"])),
        "events": [EventRecord(*(data[f"event{k}_{name}"] for name in EventRecord._fields))
                   for k in range(int(data["n_events"]))],
        "dense": _dense(data, machine), "loads": Loads(known=not bool(data["loads"])), "t_end": float(data["t_end"]),
        "work": work, "tangent": data.get("tangent"),
    }


def _machine(text: str, model: Model | None, what: str) -> Model:
    """The machine of a file, or the one that was given in its place."""
    if model is not None:
        if not isinstance(model, Model):
            raise ModelError(f"{what}: model: expected a Model, got {show(model)}")
        return model
    if not text:
        raise ModelError(f"{what}: its machine has a drive that is a function, which a file cannot hold; give the "
                         "machine: Solution.load(path, model=model)")
    try:
        return Model.from_json(text)
    except ModelError as error:
        raise IntegrationError(f"{what}: the machine in it cannot be read: {error}") from error


def _dense(data: dict[str, Any], model: Model) -> Any:
    """(plan, starts, ends, rows) of the dense output; None when the file has none."""
    if "dense_rows" not in data:
        return None
    quaternions = model.quaternion_offsets
    plan = np.zeros(P.QUATERNIONS + quaternions.size, np.int64)
    plan[P.N], plan[P.DENSE], plan[P.N_QUATERNIONS] = model.nq + model.nv, data["dense_vectors"], quaternions.size
    plan[P.QUATERNIONS:] = quaternions
    return plan, data["dense_starts"], data["dense_ends"], data["dense_rows"]
