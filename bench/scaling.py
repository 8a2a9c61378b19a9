"""Time against the number of bodies: chains, carousels and binary trees with joints of 1, 2, 3 and 6 dofs.

    python bench/scaling.py [--quick] [--integrate] [--steps 100] [--only PANEL ...] [--out FOLDER] [--write]

The six methods of the papers, and where installed `pin.aba` (Pinocchio) and `mj_forward` (MuJoCo). Prints the fitted
growth exponents and the claims of the papers with what was measured for them; writes CSV files and figures to a folder.
With `--integrate` these are figures 6 to 8 of the English paper: runs of RK4 with a given number of steps ("fixed"),
adaptive ones ("integration"), and what a step and the call around the steps cost apart.

`--only chain carousel:6` measures these panels alone; all others are taken from the CSV file that an earlier run has
left in the folder, so that a study can be made in parts (`--only` without a panel: none is measured). `--write` puts
tables and figures into docs/theory/scaling.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

import numpy as np
from common import ROOT, markdown, publish

from mbkern.flops.diagrams import pyplot
from mbkern.flops.scaling import (
    CALL,
    FAMILIES,
    FIXED,
    INTEGRATION,
    QUICK_SIZES,
    SIX,
    SIZES,
    STEP,
    STEPS,
    Study,
    claims_table,
    study,
)

PAGE, PICTURES = "docs/theory/scaling.md", ROOT / "docs" / "_static" / "scaling"
DOFS = (1, 2, 3, 6)
TITLES = {FIXED: "runs of RK4", STEP: "one step of RK4", CALL: "what a run costs beside its steps",
          INTEGRATION: "adaptive runs"}

PINOCCHIO_LIMIT = 260  # dofs: its data hold tensors of dofs^3 numbers, half a gigabyte here


def pinocchio_call(model):
    """`pin.aba` on the same bodies, with a joint of Pinocchio's own for each."""
    if model.nv > PINOCCHIO_LIMIT:
        return None
    import pinocchio as pin

    def universal():
        joint = pin.JointModelComposite(pin.JointModelRX())
        joint.addJoint(pin.JointModelRY())
        return joint

    kinds = {"revolute": pin.JointModelRZ, "universal": universal, "ball": pin.JointModelSpherical}
    peer = pin.Model()
    for body in model.body_specs:
        if body.joint.kind not in kinds:
            return None
        place = pin.SE3(np.array(body.rotation), np.array(body.position))
        index = peer.addJoint(body.parent + 1, kinds[body.joint.kind](), place, body.name)
        inertia = pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))
        peer.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    data, v, tau = peer.createData(), np.ones(peer.nv), np.zeros(peer.nv)
    q = pin.integrate(peer, pin.neutral(peer), 0.3 * v)
    return lambda: pin.aba(peer, data, q, v, tau)


def mujoco_call(model):
    """`mj_forward` on the same bodies."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    import mujoco
    from peers import MuJoCo

    try:
        peer = MuJoCo(model)
    except ValueError:  # the XML parser has a limit to how deep bodies can nest
        return None
    peer.set_state(*model.random_state(0))
    return lambda: mujoco.mj_forward(peer.model, peer.data)


def steps_table(result, most):
    """Microseconds of a step of RK4, and the exponents of their growth."""
    rows = []
    for dofs in sorted({m.dofs for m in result.measurements}):
        for family in FAMILIES:
            cells = []
            for method in SIX:
                N, ns = result.times(family, dofs, method, STEP)
                exponent = result.exponent(family, dofs, method, STEP)
                small = f"{ns[0] / 1e3:.2f} / " if len(N) else ""
                large = f"{ns[-1] / 1e3:.1f}" + (f" (N = {N[-1]})" if N[-1] < most else "") if len(N) else "-"
                cells.append(f"{small}{large}, " + ("-" if exponent is None else f"{exponent:.2f}"))
            rows.append([dofs, family, *cells])
    return markdown(["dofs a joint", "tree", *SIX], rows)


KNOWN = {"pin.aba": ("pinocchio", pinocchio_call), "mj_forward": ("mujoco", mujoco_call)}
PEERS = {name: call for name, (module, call) in KNOWN.items() if importlib.util.find_spec(module)}


def panel(text):
    """"chain" or "chain:6" as (family, dofs) of one or all panels of that family."""
    family, _, n = text.replace("-", " ").partition(":")
    if family not in FAMILIES or (n and n not in map(str, DOFS)):
        raise argparse.ArgumentTypeError(f"expected {', '.join(FAMILIES)}, or one of them with :1, :2, :3 or :6, as "
                                         f"chain:6, got {text!r}")
    return [(family, int(n))] if n else [(family, k) for k in DOFS]


def measured(options, sizes):
    """The study, and of panels that are not asked for what an earlier run has left."""
    settings = dict(sizes=sizes, peers=PEERS, integrate=options.integrate, steps=options.steps,
                    seconds=0.005 if options.quick else 0.02)
    if options.only is None:
        return study(**settings)
    file = Path(options.out) / "scaling.csv"
    result = Study.read(file) if file.exists() else Study(())
    for family, n in (one for panels in options.only for one in panels):
        result = result.updated(study(families=(family,), dofs=(n,), **settings))
        result.save(file)
    return result


def picture(result, what, family=None):
    """A figure for the page, as SVG with text as text, which makes it small; the line of Markdown that shows it."""
    plt = pyplot()
    name = what if family is None else f"{what}_{family.replace(' ', '_')}"
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mbkern"}):
        PICTURES.mkdir(parents=True, exist_ok=True)
        figure = result.plot(what, family)
        figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)
    return f"![{TITLES[what]}{f', {family}' if family else ''}](../_static/scaling/{name}.svg)"


def publish_runs(options, result, most, command):
    """Table of steps and figures of runs."""
    publish(options, PAGE, "bench/scaling.py steps", "\n\n".join(
        [steps_table(result, most), *(picture(result, what) for what in (STEP, CALL) if options.write)]), command)
    if options.write:
        figures = [picture(result, FIXED, family) for family in FAMILIES]
        publish(options, PAGE, "bench/scaling.py runs", "\n\n".join(figures), command)
        publish(options, PAGE, "bench/scaling.py adaptive", picture(result, INTEGRATION), command)


def main():
    parser = argparse.ArgumentParser(description="time against the number of bodies")
    parser.add_argument("--quick", action="store_true", help="at most 64 bodies")
    parser.add_argument("--integrate", action="store_true", help="time runs as well: 0.1 s adaptively, and RK4")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of runs by RK4 (default: {STEPS})")
    parser.add_argument("--only", type=panel, nargs="*", metavar="PANEL", help="chain, carousel:6, binary-tree:1, ...: "
                        "measure these alone, the others are those of an earlier run")
    parser.add_argument("--write", action="store_true", help="put the tables into the documentation; with --integrate")
    parser.add_argument("--out", default="scaling", help="folder for CSV files and figures (default: scaling)")
    options = parser.parse_args()
    if options.write and not options.integrate:
        parser.error("--write: the documentation has the figures of runs; add --integrate")
    sizes = QUICK_SIZES if options.quick else SIZES
    result = measured(options, sizes)
    print("| family | dofs | method | what | largest N | microseconds | time ~ N^b |\n" + "|---" * 7 + "|")
    for curve in result.curves():
        N, ns = result.times(*curve)
        exponent = result.exponent(*curve)
        fitted = "-" if exponent is None else f"{exponent:.2f}"
        print("| " + " | ".join(map(str, curve)) + f" | {N[-1]} | {ns[-1] / 1e3:.1f} | {fitted} |")
    print()
    claims = result.claims()
    command = " ".join(["python bench/scaling.py", *(["--quick"] if options.quick else []), "--integrate"])
    publish(options, PAGE, "bench/scaling.py claims", claims_table(claims), command)
    if options.integrate:
        publish_runs(options, result, max(sizes), command)
    for path in result.write(options.out, claims):
        print(path)


if __name__ == "__main__":
    main()
