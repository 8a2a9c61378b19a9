"""Machines that reach every branch of the kernels, with a state, its dense solution, and memory full of NaN."""

import numpy as np
import reference
from cases import random_loads, random_model, random_state

from mbkern import plain
from mbkern.core import constants as L

T = 0.37
WORLD, BODY, ALIGNED = 0, 1, 2  # how the six numbers of a frame are seen

# chains reach the chained nodes, carousels and binary trees those beside, several bases roots, drives and free joints
MACHINES = {
    "hinges in a chain": {"family": "chain", "n": 5, "seed": 3, "kinds": ("revolute",)},
    "hinges in a tree": {"family": "binary", "n": 7, "seed": 4, "kinds": ("revolute",)},
    "any chain": {"family": "chain", "n": 6, "seed": 5, "springs": True},
    "any tree on a driven base": {"family": "binary", "n": 6, "seed": 6, "base": "driven", "springs": True},
    "any carousel on a free base": {"family": "carousel", "n": 6, "seed": 7, "base": "free"},
    "several roots": {"family": "random", "n": 8, "seed": 12},
    "balls and frees": {"family": "random", "n": 5, "seed": 9, "kinds": ("ball", "free", "moving_ball")},
    "sliders": {"family": "binary", "n": 6, "seed": 10, "kinds": ("prismatic", "cylindrical", "planar", "driven")},
    "rotors on balls": {"family": "random", "n": 4, "seed": 13, "kinds": ("ball", "free", "revolute"), "rotors": True},
    "rotors and drives": {"family": "chain", "n": 5, "seed": 14, "base": "driven", "rotors": True,
                          "kinds": ("revolute", "ball", "driven")},
    "rotors on hinges": {"family": "chain", "n": 5, "seed": 11, "kinds": ("revolute", "universal"), "rotors": True},
}


class Machine:
    """A model, a state of it, and memory that is large enough for every kernel."""

    def __init__(self, arguments):
        self.model = random_model(**arguments)
        self.block = self.model.block
        self.q, self.p = random_state(self.model, 1, T)
        self.tau, self.wrench = random_loads(self.model, 1)
        self.hamilton = reference.hamilton(self.model, self.q, self.p, T, self.tau, self.wrench)
        self.u = self.hamilton.u
        self.newton = reference.newton_euler(self.model, self.q, self.u, T, self.tau, self.wrench)

    def work(self, size=200_000):
        """Numbers that a kernel must not read before it has written them."""
        return np.full(size, np.nan)

    def joint_forces(self):
        """tau and what the wrenches do along the joints."""
        out = np.empty(self.model.nv)
        plain.load("momenta").wrenches_to_joints(self.block, T, self.q, self.wrench.ravel(), out, self.work())
        return out + self.tau


def prepared(machine, t=T):
    """A workspace that has the drive values and nothing else, and ends where the scratch does."""
    layout = plain.load("layout")
    work = machine.work(layout.scratch_at(machine.block) + layout.scratch_size(machine.block))
    plain.load("drives").evaluate_drives(machine.block, t, work)
    return work


def call(module, name, machine, *arguments, shape, t=T):
    """The result of a kernel."""
    out = np.full(shape, np.nan)
    inputs = [np.ravel(x) for x in arguments]
    getattr(plain.load(module), name)(machine.block, *inputs, out.reshape(-1), prepared(machine, t))
    return out


class Frame:
    """A frame somewhere on a body, or in the world for body -1."""

    def __init__(self, machine, body, seed=0):
        rng = np.random.default_rng(seed)
        self.machine, self.body = machine, body
        self.R = reference.quaternion_matrix(rng.normal(size=4))  # frame -> body
        self.r = rng.normal(size=3)
        self.node, self.G, self.rho = -1, self.R.T, self.r
        if body >= 0:
            row = plain.load("layout").body_row(machine.block, body)
            place = machine.block[row:row + L.BODY]
            G, rho = place[L.BODY_G:L.BODY_G + 9].reshape(3, 3), place[L.BODY_RHO:L.BODY_RHO + 3]
            self.node, self.G, self.rho = place[L.BODY_NODE], self.R.T @ G, rho + G.T @ self.r

    def numbers(self, axes):
        return np.array([self.node, *self.G.ravel(), *self.rho, axes], float)

    def pose(self, q, t):
        """Rotation frame -> world and origin."""
        if self.body < 0:
            return self.R, self.r
        R, r = reference.body_poses(self.machine.model, q, t)
        return R[self.body] @ self.R, r[self.body] + R[self.body] @ self.r

    def velocity(self, q, u, t, axes):
        """Of the frame, from that of its body."""
        v = np.zeros(6) if self.body < 0 else reference.body_velocities(self.machine.model, q, u, t)[self.body]
        v = reference.carry(self.R.T, self.r) @ v
        E, r = self.pose(q, t)
        if axes == BODY:
            return v
        linear, angular = E @ v[:3], E @ v[3:]
        return np.array([*(linear if axes == ALIGNED else linear - np.cross(angular, r)), *angular])
