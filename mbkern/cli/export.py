"""Write a machine as a C library that needs no Python: header, object file, shared library; or as an FMU.

examples:
  python -m mbkern export robot.urdf --out arm --operations rhs,inverse_dynamics
  python -m mbkern export robot.urdf --out build/arm --target x86-64-v3 --batch --parameters gravity,link3.mass
  python -m mbkern export robot.urdf --out robot.fmu
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import export
from ..errors import ExportError
from ..system import System
from .models import HELP, add_model_arguments, model_named

ABOUT = "write a machine as a C library or an FMU"


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("model", help=HELP)
    parser.add_argument("--out", required=True, metavar="NAME",
                        help="folder and name of the library, which is the prefix of its functions; NAME.fmu: an FMU")
    parser.add_argument("--operations", type=_names, metavar="NAMES",
                        help="what the library can do, separated by commas; default rhs")
    parser.add_argument("--target", default="native", help="processor: native (default), x86-64-v2, x86-64-v3, "
                                                           "aarch64, ...")
    parser.add_argument("--batch", action="store_true", help="functions for many states, too")
    parser.add_argument("--parameters", type=_names, default=(), metavar="NAMES",
                        help="constants that can be set at run time: gravity, BODY.mass, ...")
    parser.add_argument("--method", default="auto", help="of the right-hand side; default auto")
    parser.add_argument("--version", dest="fmi", choices=("2.0", "3.0"), help="of FMI; default 3.0")
    add_model_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Write and tell what was written; always 0."""
    is_fmu = Path(options.out).suffix == ".fmu"
    if is_fmu and (options.operations is not None or options.batch):
        raise ExportError(f"{'--batch' if options.batch else '--operations'}: for libraries; an FMU has states, joint "
                          "forces and energies (mb.export.fmu writes more)")
    if options.fmi and not is_fmu:
        raise ExportError(f"--version {options.fmi}: for FMUs; expected --out NAME.fmu, got {options.out!r}")
    system = System(model_named(options.model, options), options.method)
    if is_fmu:
        made = export.fmu(system, options.out, version=options.fmi or "3.0", target=options.target,
                          parameters=options.parameters)
        print(f"{made}  {made.stat().st_size / 1000:.0f} kB")
        return 0
    library = export.library(system, options.out, ("rhs",) if options.operations is None else options.operations,
                             options.target, batch=options.batch, parameters=options.parameters)
    for path in (library.header, library.object, library.library, library.cmake):
        if path is not None:
            print(f"{path}  {path.stat().st_size / 1000:.0f} kB")
    print(f"{library.build}\nworkspace: {library.work_size} doubles")
    return 0
