"""A robot arm from a file goes to a goal and holds it: load, control, look. Needs what mbkern needs, and nothing else.

    python docs/examples/pd_arm.py                       # the arm beside this file, to arm.html
    python docs/examples/pd_arm.py panda.urdf panda.html
"""

import sys
from pathlib import Path

import numpy as np

import mbkern as mb

robot = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("arm.urdf")
page = sys.argv[2] if len(sys.argv) > 2 else "arm.html"

model = mb.load_urdf(robot)
system = mb.System(model)
start = model.neutral()
lower, upper = np.maximum(model.limits.lower, -1.0), np.minimum(model.limits.upper, 1.0)
goal = 0.5 * (lower + upper) + 0.2 * (upper - lower) * np.cos(np.arange(model.nv))

stiffness = 100.0 * np.diag(system.mass_matrix(goal))  # a tenth of a second, whatever the joint carries
damping = 0.2 * stiffness


def controller(t, q, p, u):
    """PD control and gravity compensation, a thousand times a second."""
    return system.gravity_forces(q) + stiffness * (goal - q) - damping * u


run = system.simulate(start, np.zeros(model.nv), (0.0, 2.0), tau=controller, control_step=1e-3)
print(model.describe())
print(run)
print(f"largest distance from the goal at the end: {np.abs(run.q[-1] - goal).max():.1e}")
mb.viz.viewer(run, page)
print(f"look at it: {page}")
sys.exit(0 if run.success and np.abs(run.q[-1] - goal).max() < 0.01 else 1)
