"""A right-hand side for CasADi: an external function with its exact derivatives, for `nlpsol`, `integrator`, ...

CasADi asks an external function for its whole Jacobian, or for products of it with directions (`fwd1_...`) and weights
(`adj1_...`), whichever its heuristics find cheaper: n directions go by the Jacobian where n is more than `jac_penalty`
times the number of arguments. A product costs some 2.5 right-hand sides, the Jacobian as much as FEW of them.
"""

from __future__ import annotations

import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

from .. import files
from ..errors import ExportError
from ..model.checks import flag
from ..system import System
from ..workspace.binding import drives_of
from . import linking
from .library import Maker, check_momenta, chosen_operations, place_named, prefix_of
from .targets import Target, target_named

SOURCE = Path(__file__).with_name("casadi_external.c")
FEW = 3  # directions that go one by one


def casadi(system: System, path: str | PathLike[str] | None = None, *, target: str = "native", products: bool = False
           ) -> Any:
    """The right-hand side as a CasADi function (q, p, tau, t) -> (qdot, pdot), with derivatives in closed form.

    Parameters
    ----------
    system : System
        Of joints with a coordinate for each speed: no ball and free joints (take `euler_ball`, and steps). With
        closed loops, the equations hold for all (q, p); that the loops are closed at the beginning is for the problem
        to say (`System.assemble`).
    path : str or path, optional
        Folder and name: "build/arm" writes `build/libarm.so`, which `casadi.external("arm", "build/libarm.so")` finds
        again in any process, also without mbkern. By default a file that the system removes.
    target : str
        The processor, as in `library`.
    products : bool
        Whether products with single directions and weights (`jvp`, `vjp`) have machine code of their own, in O(N),
        beside the Jacobian: for single shooting and sensitivities of integrators. Without it they go by the Jacobian,
        which is as exact, and the export compiles less. With closed loops they always do.

    Returns
    -------
    casadi.Function
        It calls machine code, no Python. Jacobian, forward and reverse derivatives are exact; second derivatives are
        not there: IPOPT takes ``{"ipopt.hessian_approximation": "limited-memory"}``. Where the state has no value, the
        evaluation fails, which solvers take as a reason for a shorter step.

    Examples
    --------
    >>> import mbkern as mb
    >>> f = mb.export.casadi(mb.System(mb.zoo.chain(2)))     # doctest: +SKIP
    >>> f                                                     # doctest: +SKIP
    Function(mbkern_rhs:(q[2],p[2],tau[2],t)->(qdot[2],pdot[2]) External)
    """
    if not isinstance(system, System):
        raise ExportError(f"system: expected a System, got {type(system).__name__}; mb.System(model) makes one")
    check_momenta(system, "casadi")
    model, goal = system.model, target_named(target)
    if model.nq != model.nv:
        raise ExportError("casadi: the state of ball and free joints has quaternions, which have no plain Jacobian; "
                          "build the model of mb.euler_ball and of mb.translate and mb.rotate steps")
    try:
        import casadi as library
    except ImportError as error:
        raise ExportError(f"casadi: the package is not there ({error}): pip install casadi") from None
    place = Path(tempfile.mkdtemp(prefix="mbkern-casadi-")) / "mbkern_rhs" if path is None else (
        place_named(path, "export.casadi"))
    name = prefix_of(place.name)
    compiler = linking.compiler(goal)
    if not compiler:
        raise ExportError(f"no C compiler found for {goal.triple}, which builds the function for CasADi: install one, "
                          "or name it in the environment variable CC")
    products = flag(products, "products", ExportError) and not model.constraints
    operations = ("rhs", "jacobian_rhs", *(("jvp", "vjp") if products else ()))
    maker = Maker(system, f"{name}_model", goal, chosen_operations(operations, model), False, [])
    code = maker.code()
    made = place.parent / f"lib{name}{goal.suffix}"
    files.write(made, _compiled(compiler, goal, maker, name, code, products), "export.casadi")
    function = library.external(name, str(made.resolve()), {"jac_penalty": FEW / (3 * model.nv + 1)})
    if path is None and goal.suffix == ".so":  # a library that is loaded needs no file
        made.unlink()
        place.parent.rmdir()
    return function


def _compiled(compiler: list[str], target: Target, maker: Maker, name: str, code: bytes, products: bool) -> bytes:
    """The shared library."""
    nv = maker.model.nv
    columns = ", ".join(map(str, range(nv + 1)))
    rows = ", ".join(map(str, range(nv)))
    empty = ", ".join(["0"] * (nv + 1))
    comma = ", " if nv else ""
    header = "\n".join([
        f'#include "{maker.prefix}.h"', f"#define MODEL(name) {maker.prefix}_##name", f"#define FUNCTION {name}",
        f"#define JACOBIAN jac_{name}", f"#define FORWARD fwd1_{name}", f"#define REVERSE adj1_{name}",
        f"#define PRODUCTS {int(products)}", f"#define NV {nv}", f"#define WORK {maker.total}",
        f"#define DRIVEN {int(bool(drives_of(maker.model)))}", f"#define LOOPS {int(bool(maker.model.constraints))}",
        f"static const long long int IDENTITY[] = {{{nv}, {nv}, {columns}{comma}{rows}}};",
        f"static const long long int EMPTY[] = {{{nv}, {nv}, {empty}}};",
        f"static const long long int EMPTY_COLUMN[] = {{{nv}, 1, 0, 0}};", ""])
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        parts = {"model.o": code, f"{maker.prefix}.h": maker.text().encode(), "external.h": header.encode(),
                 "external.c": SOURCE.read_bytes()}
        for part, content in parts.items():
            files.write(folder / part, content, "export.casadi")
        made = folder / f"external{target.suffix}"
        command = linking.link_command(compiler, target, [folder / "external.c", folder / "model.o"], made)
        hidden = [] if target.suffix == ".dll" else ["-fPIC", "-fvisibility=hidden"]
        bound = ["-Wl,-Bsymbolic"] if target.suffix == ".so" else []
        command[len(compiler):len(compiler)] = ["-std=gnu99", "-O2", *hidden, *bound]
        linking.run(command, "compiling the function for CasADi")
        return made.read_bytes()
