"""Mass matrix and accelerations of all MJCF files of some folders against MuJoCo's own.

    python bench/mjcf_survey.py FOLDER ...

For instance the installed packages `dm_control`, `gymnasium` and `mujoco`. What the loader's warning lists and MuJoCo
can switch off (fluid, tendon springs and dampers, gravity compensation) is switched off there.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import mujoco
import numpy as np

import mbkern as mb

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "io")]
from test_mjcf import errors  # noqa: E402

LIMIT = 1e-9


def compared(path: Path) -> tuple[str, np.ndarray]:
    """What became of a file, and the relative errors of mass matrix and accelerations."""
    nothing = np.zeros(2)
    try:
        theirs = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return "refused by MuJoCo", nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = mb.load_mjcf(path)
        except mb.errors.MbkernError:
            return "refused by mbkern", nothing
    if model.nv == 0:
        return "no dofs", nothing
    theirs.opt.density = theirs.opt.viscosity = 0.0
    for load in (theirs.tendon_stiffness, theirs.tendon_damping, theirs.body_gravcomp):
        load[:] = 0.0
    found = np.array(errors(model, theirs, seeds=range(2)))
    same = "same" if (found < LIMIT).all() else "DIFFERENT"
    return f"{same}, with armature" if model.armature.any() else same, found


if __name__ == "__main__":
    counts: dict[str, int] = {}
    worst = np.zeros(2)
    for folder in sys.argv[1:]:
        for path in sorted(Path(folder).rglob("*.xml")):
            if "<mujoco" not in path.read_text(errors="replace"):
                continue
            result, found = compared(path)
            counts[result] = counts.get(result, 0) + 1
            worst = np.maximum(worst, found)
            if "DIFFERENT" in result:
                print(path, found)
    print(counts, "largest relative errors of mass matrix and accelerations:", worst)
