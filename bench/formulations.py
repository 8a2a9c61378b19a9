"""Every formulation against the others and against Pinocchio, as ratios of one run.

    python bench/formulations.py [--quick | --write] [--part auto]

Prints Markdown tables, and with `--write` puts them into docs/theory/formulations.md: how each Hamiltonian method grows
with the number of bodies on a chain, a carousel and a binary tree; joint accelerations and inverse dynamics as parts of
the time of `pin.aba` and `pin.rnea`; "dah" against "emh-ldl" on carousels; and "auto" against the other methods, for
right-hand sides and accelerations, on bundles of chains. All methods run inside compiled code; competitors take turns.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import product

import numpy as np
import pinocchio as pin
from common import arguments, interleaved, markdown, publish, ratio
from kernels import JOINTS, bundle, dynamics_call, rhs_call
from peers import pinocchio_model

import mbkern as mb
from mbkern.costs import cost, structure
from mbkern.methods import ACCELERATIONS, METHODS

SHAPES = {"chain": mb.zoo.chain, "carousel": mb.zoo.carousel, "binary tree": mb.zoo.binary_tree}


def seconds(calls, inner, repeats, turn=1e-3):
    """Times of one evaluation of each competitor, one number a turn."""
    times = interleaved(calls, repeats, turn, time.thread_time)
    return {name: values / inner.get(name, 1) for name, values in times.items()}


def rhs_seconds(model, names, repeats):
    """Times of one right-hand side by each of the methods."""
    counts = structure(model)
    inner = {name: max(1, int(2e-4 / cost(name, counts))) for name in names}
    return seconds({name: rhs_call(model, name, inner[name]) for name in names}, inner, repeats)


def growth_table(repeats, sizes, limit=0.2):
    """Microseconds at each size, and the exponent over the last that were measured; the sizes take turns, too."""
    rows = []
    for shape, make in SHAPES.items():
        models = {n: make(n) for n in sizes}
        for name in METHODS:
            able = [n for n in sizes if cost(name, structure(models[n])) < limit]
            inner = {n: max(1, int(2e-4 / cost(name, structure(models[n])))) for n in able}
            times = seconds({n: rhs_call(models[n], name, inner[n]) for n in able}, inner, repeats)
            n1, n2 = able[-3], able[-1]  # over a factor of four
            cells = [f"{1e6 * np.median(times[n]):.1f}" if n in able else "" for n in sizes]
            exponent = np.median(np.log(times[n2] / times[n1])) / np.log(n2 / n1)
            rows.append([shape, name, *cells, f"{exponent:.2f} ({n1} to {n2})"])
    return markdown(["revolute joints", "method", *(f"N = {n}, us" for n in sizes), "exponent of N"], rows)


def dynamics_table(repeats, sizes):
    """Parts of the time of Pinocchio's routines."""
    rows = []
    for shape, make in SHAPES.items():
        for n in sizes:
            model = make(n)
            q, u = model.random_state(seed=1)
            peer = pinocchio_model(model, pin.JointModelRZ)
            data, tau = peer.createData(), np.zeros(n)
            inner = max(1, 5000 // n)
            names = ["newton-euler-ldl", "newton-euler-lu", "inverse dynamics", "lagrange-2"]
            if shape != "carousel":  # cubic there: its turns would take longer than all others together
                names.append("lagrange-1")
            calls = {name: dynamics_call(model, name, inner) for name in names}
            calls["aba"] = partial(pin.aba, peer, data, q, u, tau)
            calls["rnea"] = partial(pin.rnea, peer, data, q, u, u)
            times = seconds(calls, dict.fromkeys(names, inner), repeats)
            cells = [f"{ratio(times, name, 'aba'):.2f}" if name in times else "" for name in ACCELERATIONS]
            rows.append([shape, n, *cells, f"{ratio(times, 'inverse dynamics', 'rnea'):.2f}",
                         f"{1e6 * np.median(times['aba']):.1f}", f"{1e6 * np.median(times['rnea']):.1f}"])
    return markdown(["revolute joints", "N", *(f"{name} / aba" for name in ACCELERATIONS), "inverse dynamics / rnea",
                    "pin.aba in us", "pin.rnea in us"], rows)


def carousel_table(repeats, sizes):
    """Hamilton's equations proper against the extended system where they should shine."""
    rows = []
    for n in sizes:
        times = rhs_seconds(mb.zoo.carousel(n), ("dah", "emh-ldl"), repeats)
        micro = [f"{1e6 * np.median(values):.2f}" for values in times.values()]
        rows.append([n, *micro, f"{ratio(times, 'dah', 'emh-ldl'):.2f}"])
    return markdown(["carousel of N revolute bodies", "dah, us", "emh-ldl, us", "dah / emh-ldl"], rows)


def compared(model, chosen, others, repeats):
    """Time of the chosen method over that of the fastest of all, and that of the fastest other one over it."""
    times = rhs_seconds(model, (chosen, *others), repeats)
    ratios = [ratio(times, name, chosen) for name in others]
    return max(1.0, *(1.0 / x for x in ratios)), min(ratios)


def auto_table(repeats, grid):
    """What "auto" takes on c chains of length L, what that loses against the fastest method, and its margin."""
    rows = []
    for what, names in (("rhs", METHODS), ("accelerations", ACCELERATIONS)):
        for hub in (False, True):
            for dofs, joint in JOINTS.items():
                losses, margins, taken = {}, {}, {}
                for c, length in product(grid, grid):
                    model = bundle(c, length, joint, hub)
                    counts = structure(model)
                    chosen, *others = sorted(names, key=lambda name, counts=counts: cost(name, counts))
                    near = [name for name in others if cost(name, counts) < 2.0 * cost(chosen, counts)] or others[:1]
                    loss, margin = compared(model, chosen, near, repeats)
                    if loss > 1.1:  # a wrong choice, or a disturbed measurement: look twice
                        loss, margin = min((loss, margin), compared(model, chosen, near, 5 * repeats))
                    losses[c, length], margins[c, length] = loss - 1.0, margin
                    taken[chosen] = taken.get(chosen, 0) + 1
                worst, least = max(losses, key=losses.get), min(margins, key=margins.get)
                rows.append([what, "a hub" if hub else "the ground", dofs,
                             ", ".join(f"{name} {number}" for name, number in taken.items()),
                             f"{np.mean(list(losses.values())):.1%}", f"{losses[worst]:.1%}" + at(worst, losses),
                             f"{np.median(list(margins.values())):.2f}", f"{margins[least]:.2f}" + at(least, margins)])
    return markdown(["of", "c chains of length L on", "dofs a joint", "auto takes, of 49 trees",
                     "slower than the fastest, mean", "largest", "the next best takes, median", "least"], rows)


def at(cell, values):
    """Where that is, if not everywhere."""
    return " (c = {}, L = {})".format(*cell) if len(set(values.values())) > 1 else ""


if __name__ == "__main__":
    options = arguments("all formulations", publishes=True, parts=("growth", "dynamics", "carousel", "auto"))
    quick = options.quick
    turns, grid = 7 if quick else 31, (1, 2, 3, 4, 6, 8, 12)
    sizes = (25, 50, 100, 200) if quick else (25, 50, 100, 200, 400, 800)
    tables = {
        "bench/formulations.py growth": partial(growth_table, 5 if quick else 11, sizes),
        "bench/formulations.py dynamics": partial(dynamics_table, turns, (30,) if quick else (10, 30, 100)),
        "bench/formulations.py carousel": partial(carousel_table, turns, (10, 100) if quick else (10, 30, 100, 300)),
        "bench/formulations.py auto": partial(auto_table, 3 if quick else 9, grid),
    }
    for mark, table in tables.items():
        if options.part is None or mark.endswith(f" {options.part}"):
            publish(options, "docs/theory/formulations.md", mark, table(), "python bench/formulations.py")
