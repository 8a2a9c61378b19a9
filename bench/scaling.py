"""Time against the number of bodies: chains, carousels and binary trees with joints of 1, 2 and 3 dofs.

    python bench/scaling.py [--quick] [--integrate] [--out FOLDER]

Every method of mbkern, and where installed `pin.aba` (Pinocchio) and `mj_forward` (MuJoCo). Prints the fitted growth
exponents and the claims of the papers with what was measured for them; writes CSV files and figures to a folder.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

import numpy as np

from mbkern.flops.scaling import QUICK_SIZES, SIZES, claims_table, study

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


KNOWN = {"pin.aba": ("pinocchio", pinocchio_call), "mj_forward": ("mujoco", mujoco_call)}
PEERS = {name: call for name, (module, call) in KNOWN.items() if importlib.util.find_spec(module)}


def main():
    parser = argparse.ArgumentParser(description="time against the number of bodies")
    parser.add_argument("--quick", action="store_true", help="at most 64 bodies")
    parser.add_argument("--integrate", action="store_true", help="time integrations over 0.1 s of motion as well")
    parser.add_argument("--out", default="scaling", help="folder for CSV files and figures (default: scaling)")
    options = parser.parse_args()
    result = study(sizes=QUICK_SIZES if options.quick else SIZES, peers=PEERS, integrate=options.integrate,
                   seconds=0.005 if options.quick else 0.03)
    print("| family | dofs | method | what | largest N | microseconds | time ~ N^b |\n" + "|---" * 7 + "|")
    for curve in result.curves():
        N, ns = result.times(*curve)
        exponent = result.exponent(*curve)
        fitted = "-" if exponent is None else f"{exponent:.2f}"
        print("| " + " | ".join(map(str, curve)) + f" | {N[-1]} | {ns[-1] / 1e3:.1f} | {fitted} |")
    print()
    claims = result.claims()
    print(claims_table(claims))
    for path in result.write(options.out, claims):
        print(path)


if __name__ == "__main__":
    main()
