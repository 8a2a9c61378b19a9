"""Tell what a machine is: its tree, masses, dofs, limits, and which method suits it.

examples:
  python -m mbkern info robot.urdf
  python -m mbkern info robot.urdf --floating-base --limits
"""

from __future__ import annotations

import argparse

from ..model.model import Model
from ..system import System
from .models import HELP, add_model_arguments, model_named

ABOUT = "tree, masses, dofs and the cheapest method of a machine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("model", help=HELP)
    parser.add_argument("--bodies", type=int, default=100, metavar="N", help="list at most N bodies, default 100")
    parser.add_argument("--limits", action="store_true", help="list limits, damping and friction of every dof")
    add_model_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print; always 0."""
    model = model_named(options.model, options)
    print(model.describe(limit=max(options.bodies, 0)))
    moving = int((model.dofs > 0).sum())
    depth = [0] * model.n_bodies
    for i, parent in enumerate(model.parents.tolist()):
        depth[i] = depth[parent] + 1 if parent >= 0 else 1
    print(f"\n{counted(moving, 'moving joint')}, {counted(model.n_bodies - moving, 'weld')}, depth {max(depth)}, "
          f"gravity ({', '.join(f'{g:g}' for g in model.gravity)}) m/s^2")
    if options.limits:
        print(limits_table(model))
    if model.constraints:
        rows = len(model.row_names)
        verb = "couples" if rows == 1 else "couple"
        print(f"\n{counted(rows, 'equation')} of constraints {verb} the {model.nv} dofs of the tree")
    elif model.nv:
        print(f"\n{System(model).method_report()}")
    return 0


def counted(n: int, what: str) -> str:
    """So many of them, in words."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def limits_table(model: Model) -> str:
    """One line a dof."""
    width = max([len(name) for name in model.speed_names], default=0)
    lines = [f"\n{'dof':<{width}}  {'lower':>10} {'upper':>10} {'velocity':>10} {'effort':>10} {'damping':>10} "
             f"{'friction':>10}"]
    for j, name in enumerate(model.speed_names):
        numbers = (*(row[j] for row in model.limits), model.damping[j], model.friction[j])
        lines.append(f"{name:<{width}}  " + " ".join(f"{x:>10.4g}" for x in numbers))
    return "\n".join(lines)
