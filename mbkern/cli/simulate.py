"""Simulate a machine that is released from rest, and report what it did and how fast.

examples:
  python -m mbkern                                  a chain of 20 bodies in space, 10 s
  python -m mbkern chain:100 --time 5 --rtol 1e-6
  python -m mbkern carousel:30 --integrator gauss4 --step 1e-3 --out motion.npz
  python -m mbkern simulate robot.urdf --limits soft --friction --time 5 --view run.html --picture run.png
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from .. import files, lazy, plain
from ..errors import StateError
from ..integrate.limits import summary
from ..integrate.options import INTEGRATORS
from ..integrate.solution import Solution
from ..methods import METHODS, STATE_METHODS
from ..model.model import Model
from ..system import System
from .checks import drawable, whole, writable
from .models import HELP, add_model_arguments, model_named

ABOUT = "motion of a machine released from rest (the default)"
OUTPUTS = (".npz", ".csv")
LONG = 2.0  # seconds of a run from which on a terminal shows how far it is
MOST_FRAMES = 10**7
INTERRUPTED = "interrupted"  # the status of a solution after ctrl-C
LARGEST_CHECK = 200  # dofs: its time grows with their cube


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("model", nargs="?", default="chain:20", help=f"{HELP}; default chain:20")
    parser.add_argument("--time", type=float, default=10.0, metavar="S", help="seconds to simulate, default 10")
    parser.add_argument("--method", default="auto", help=f"right-hand side: {', '.join(STATE_METHODS)}, auto")
    parser.add_argument("--integrator", default="dopri5", help=f"{', '.join(INTEGRATORS)}; default dopri5")
    parser.add_argument("--rtol", type=float, default=1e-8, help="relative tolerance of dopri5, default 1e-8")
    parser.add_argument("--atol", type=float, default=1e-10, help="absolute tolerance of dopri5, default 1e-10")
    parser.add_argument("--step", type=float, metavar="S",
                        help="step of the other integrators in seconds, default 1e-3")
    parser.add_argument("--limits", choices=("soft",), help="make springs and dampers of the limits of the joints; "
                                                            "without, limits are noted and not kept")
    parser.add_argument("--friction", action="store_true", help="let the friction of the joints act")
    parser.add_argument("--seed", type=whole, metavar="K",
                        help="begin at a random configuration instead of the neutral one")
    parser.add_argument("--frames", type=whole, default=1001, metavar="M", help="states in the output, default 1001")
    parser.add_argument("--out", "--output", dest="output", metavar="FILE",
                        help=f"write the motion to a file ({', '.join(OUTPUTS)})")
    parser.add_argument("--view", metavar="FILE", help="write an interactive page of the motion (.html)")
    parser.add_argument("--picture", metavar="FILE",
                        help="draw coordinates and energy over time (.png; needs matplotlib)")
    parser.add_argument("--no-picture", action="store_true", help=argparse.SUPPRESS)  # nothing is drawn unasked now
    parser.add_argument("--progress", action="store_true",
                        help=f"show a progress bar from the beginning; in a terminal there is one after {LONG:g} s")
    add_model_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Simulate, print, write; 0 when the end was reached, 1 when not. After ctrl-C what is done is written, too."""
    if options.output and Path(options.output).suffix.lower() not in OUTPUTS:
        raise StateError(f"--output {options.output}: expected a name that ends in {' or '.join(OUTPUTS)}")
    if options.view and Path(options.view).suffix.lower() not in (".html", ".htm"):
        raise StateError(f"--view {options.view}: expected a name that ends in .html")
    if not 2 <= options.frames <= MOST_FRAMES:
        raise StateError(f"--frames {options.frames}: expected at least 2, at most {MOST_FRAMES}")
    if options.seed is not None and options.seed < 0:
        raise StateError(f"--seed {options.seed}: expected a whole number, at least 0")
    writable("--output", options.output)
    writable("--view", options.view)
    drawable("--picture", options.picture)
    if not np.isfinite(options.time) or options.time == 0.0:
        raise StateError(f"--time {options.time:g}: expected a number of seconds other than 0")
    model = model_named(options.model, options)
    if options.limits and not (np.isfinite(model.limits.lower) | np.isfinite(model.limits.upper)).any():
        raise StateError("--limits soft: no joint of this machine has limits; leave it out")
    if options.friction and not model.friction.any():
        raise StateError("--friction: no joint of this machine has dry friction (dampers act anyway); leave it out")
    system = System(model, options.method)
    step = options.step
    if step is None and options.integrator in INTEGRATORS and not INTEGRATORS[options.integrator].adaptive:
        step = 1e-3
    q0 = model.neutral() if options.seed is None else model.random_state(options.seed)[0]
    if model.constraints:
        q0 = system.assemble(q0)
    p0 = np.zeros(model.nv) if system.variable == "u" else system.momenta(q0, np.zeros(model.nv))
    settings: dict[str, Any] = dict(integrator=options.integrator, rtol=options.rtol, atol=options.atol, step=step,
                                    limits=options.limits, friction=options.friction)
    print(f"{model!r}\nmethod {system.method}, integrator {options.integrator}, {options.time:g} s from rest")
    begin = time.perf_counter()
    span = 0.0, options.time * 1e-6
    if system.simulate(q0, p0, span, t_eval=span, **settings).status == INTERRUPTED:  # this compiles
        raise KeyboardInterrupt
    ready = time.perf_counter()
    times = np.linspace(0.0, options.time, options.frames)
    progress: bool | float = True if options.progress else LONG if sys.stderr.isatty() else False
    solution = system.simulate(q0, p0, (0.0, options.time), t_eval=times, progress=progress, **settings)
    seconds = time.perf_counter() - ready
    report(solution, seconds, ready - begin)
    if options.output:
        write(solution, Path(options.output))
        print(f"wrote {options.output}")
    if options.view:
        viewer = lazy.module("viz").viewer

        viewer(solution, options.view)
        print(f"wrote {options.view}")
    if options.picture:
        draw(solution, options.picture)
    if solution.status == INTERRUPTED:
        raise KeyboardInterrupt
    return 0 if solution.success else 1


def report(solution: Solution, seconds: float, preparation: float) -> None:
    """Print what happened."""
    reached = abs(float(solution.t[-1] - solution.t[0])) if solution.t.size else 0.0
    steps = f"{solution.n_accepted} ({solution.n_rejected} rejected), {solution.nfev} evaluations of rhs"
    rows = [
        ("status", solution.message),
        ("steps", steps),
        ("time", f"{seconds:.4g} s of computing (and {preparation:.3g} s to get ready)"),
        ("per evaluation", per_evaluation(solution, seconds)),
        ("check", check(solution)),
        ("energy drift", drift(solution)),
        ("real-time factor", f"{reached / seconds:.4g} (simulated seconds per second)"),
    ]
    for name, value in rows:
        print(f"  {name:<17}{value}")
    for line in summary(solution.notes):
        print(f"  {line}")


def per_evaluation(solution: Solution, seconds: float) -> str:
    """The time of a right-hand side, the integrator's part included."""
    time_of_one = seconds / max(solution.nfev, 1)
    return f"{1e6 * time_of_one:.3g} us, {1e9 * time_of_one / solution.system.model.n_bodies:.3g} ns per body"


def check(solution: Solution) -> str:
    """The rates at the last state against those of another formulation, whose source runs as plain Python; of a machine
    with constraints how well these are satisfied."""
    system = solution.system
    if system.model.constraints:
        return f"constraints are satisfied to {np.abs(solution.constraint_drift).max(initial=0.0):.1e}"
    if system.model.nv > LARGEST_CHECK or system.binding.callbacks or not solution.t.size:
        return f"none: for up to {LARGEST_CHECK} dofs, without drives that are functions"
    name = "emh-ldl" if system.method == "dah" else "dah"
    t, q, p = float(solution.t[-1]), solution.q[-1], solution.p[-1]
    qdot, pdot, work = np.empty(q.size), np.empty(p.size), np.zeros(METHODS[name].work_size(system.block))
    rates = system.rhs(q, solution.y[-1, q.size:], t)
    if system.variable == "p":
        plain.rhs(METHODS[name].module)(system.block, t, q, p, np.empty(0), qdot, pdot, work)
        pairs = list(zip(rates, (qdot, pdot), strict=True))
    else:
        name = "newton-euler-ldl"
        plain.accelerations("newton_euler")(system.block, t, q, solution.u[-1], np.empty(0), pdot, work)
        pairs = [(rates[1], pdot)]
    error = max(float(np.abs(a - b).max(initial=0.0)) / max(1.0, float(np.abs(b).max(initial=0.0))) for a, b in pairs)
    return f"rates at the end differ from those of \"{name}\" by {error:.1e} relative"


def drift(solution: Solution) -> str:
    """The change of the energy in words."""
    if "energy" not in solution.drift():
        return "none to report: nobody knows what the forces did"
    largest = solution.drift()["energy"]
    kinetic = float(solution.energy().kinetic.max())
    return f"{largest:.3g} J" + (f", {largest / kinetic:.2g} of the largest kinetic energy" if kinetic else "")


def write(solution: Solution, path: Path) -> None:
    """The motion as .npz (`Solution.load` reads it) or .csv (t, q, p, energies)."""
    model: Model = solution.system.model
    if path.suffix.lower() == ".npz":
        solution.save(path)
        return
    energy = solution.energy()
    names = ["t", *(f"q:{name}" for name in model.coordinate_names), *(f"p:{name}" for name in model.speed_names),
             "kinetic", "potential", "hamiltonian"]
    table = np.column_stack((solution.t, solution.q, solution.p, *energy))
    header = io.StringIO()
    csv.writer(header, lineterminator="").writerow(names)
    files.write(path, lambda file: np.savetxt(file, table, fmt="%.17g", delimiter=",", header=header.getvalue(),
                                              comments="", encoding="utf-8"), "simulate")


def draw(solution: Solution, path: str) -> None:
    """A picture of the coordinates and the energy."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    solution.plot(axes=figure.subplots(2, 1, sharex=True))
    figure.savefig(path, dpi=120)
    print(f"drew {path}")
