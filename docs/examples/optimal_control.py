"""Optimal control with CasADi and IPOPT: a pole is swung up by its cart, an arm goes from rest to rest.

    python docs/examples/optimal_control.py              # needs casadi and a C compiler

Minimize the integral of |tau|^2 over n steps of RK4 with constant joint forces, states of all steps as unknowns
(multiple shooting). The right-hand side is machine code (`mb.export.casadi`), its Jacobian exact.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import casadi as ca
import numpy as np

import mbkern as mb

LIMITED = {"hessian_approximation": "limited-memory"}  # there are no second derivatives


@dataclass(frozen=True)
class Task:
    """From rest at q `begin` to rest at `end` in n steps of h seconds; |tau| at most `most`, 0 for joints without a
    drive."""

    name: str
    system: mb.System
    begin: np.ndarray
    end: np.ndarray
    most: np.ndarray
    n: int
    h: float


def swing_up() -> Task:
    """A cart on a rail, 20 N at most, and a pole that hangs from it."""
    b = mb.ModelBuilder(name="cart and pole")
    b.add_body("cart", joint=mb.prismatic("x"), mass=1.0)
    b.add_body("pole", "cart", mb.revolute("y"), mass=0.3, com=(0, 0, -0.5), inertia=(0.025, 0.025, 0.001))
    return Task("swing-up of a cart and pole", mb.System(b.build(), "emh-ldl"), np.zeros(2), np.array([0.0, np.pi]),
                np.array([20.0, 0.0]), 40, 0.05)


LINKS = {  # axis, mass, length, inertia of the rotor, greatest torque
    "turn": ("z", 4.0, 0.15, 0.5, 150.0), "lift": ("y", 5.0, 0.4, 0.5, 150.0), "elbow": ("y", 3.0, 0.3, 0.3, 80.0),
    "roll": ("z", 1.0, 0.1, 0.1, 30.0), "bend": ("y", 0.8, 0.1, 0.1, 30.0), "spin": ("z", 0.5, 0.05, 0.05, 15.0)}


def reach() -> Task:
    """An arm of six joints with geared motors, from stretched upwards to folded sideways in a second."""
    b, parent, below = mb.ModelBuilder(name="arm"), "world", 0.0
    for name, (axis, mass, length, rotor, _) in LINKS.items():
        about = mass * (length**2 / 12 + 0.001)
        b.add_body(name, parent, mb.revolute(axis), mass, (0.02, 0, length / 2), (about, about, 0.001 * mass),
                   (0, 0, below), armature=rotor)
        parent, below = name, length
    return Task("an arm of six joints", mb.System(b.build(), "emh-ldl"), np.zeros(6),
                np.array([1.2, 0.8, -1.4, 0.5, 0.9, -0.6]), np.array([row[-1] for row in LINKS.values()]), 25, 0.04)


@dataclass(frozen=True)
class Answer:
    """Iterations of IPOPT; seconds in all and in functions and derivatives; the cost; states and joint forces; what
    CasADi has counted."""

    iterations: int
    seconds: float
    in_functions: float
    cost: float
    states: np.ndarray
    forces: np.ndarray
    stats: dict


def solve(task: Task, f: ca.Function, options: dict | None = None) -> Answer:
    """Solve it with the right-hand side f: (q, p, tau, t) -> (qdot, pdot)."""
    nv, driven = task.system.model.nv, np.flatnonzero(task.most > 0.0)
    x, u = ca.MX.sym("x", 2 * nv), ca.MX.sym("u", driven.size)
    tau = ca.MX(nv, 1)
    for k, joint in enumerate(driven):
        tau[int(joint)] = u[k]

    def rate(y: ca.MX) -> ca.MX:
        return ca.vertcat(*f(y[:nv], y[nv:], tau, 0.0))

    k1 = rate(x)
    k2 = rate(x + task.h / 2 * k1)
    k3 = rate(x + task.h / 2 * k2)
    k4 = rate(x + task.h * k3)
    step = ca.Function("step", [x, u], [x + task.h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])
    opti = ca.Opti()
    states, forces = opti.variable(2 * nv, task.n + 1), opti.variable(driven.size, task.n)
    for k in range(task.n):
        opti.subject_to(states[:, k + 1] == step(states[:, k], forces[:, k]))
        for i, joint in enumerate(driven):
            opti.subject_to(opti.bounded(-task.most[joint], forces[i, k], task.most[joint]))
    opti.subject_to(states[:, 0] == ca.vertcat(task.begin, np.zeros(nv)))
    opti.subject_to(states[:, task.n] == ca.vertcat(task.end, np.zeros(nv)))
    opti.minimize(ca.sumsqr(forces) * task.h)
    opti.set_initial(states[:nv, :], np.linspace(task.begin, task.end, task.n + 1).T)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 3000, "tol": 1e-8,
                                                 **(LIMITED if options is None else options)})
    begin = time.perf_counter()
    found = opti.solve()
    seconds, stats = time.perf_counter() - begin, opti.stats()
    inside = sum(value for key, value in stats.items() if key.startswith("t_wall_nlp"))
    applied = np.zeros((nv, task.n))
    applied[driven] = np.reshape(found.value(forces), (driven.size, task.n))
    return Answer(stats["iter_count"], seconds, inside, float(found.value(opti.f)), found.value(states), applied,
                  stats)


def replayed(task: Task, answer: Answer) -> float:
    """Largest distance from the goal when the joint forces are applied by a stepper of mbkern."""
    stepper = task.system.stepper("rk4", step=task.h)
    stepper.reset(task.begin, np.zeros(task.system.model.nv))
    for tau in answer.forces.T:
        q, p = stepper.step(tau=tau)
    return float(max(np.abs(q - task.end).max(), np.abs(p).max()))


def main() -> None:
    for task in (swing_up(), reach()):
        answer = solve(task, mb.export.casadi(task.system))
        print(f"{task.name}: {answer.iterations} iterations, {answer.seconds:.2f} s, of these "
              f"{answer.in_functions:.2f} s in functions and derivatives; cost {answer.cost:.4g}; replayed, it ends "
              f"{replayed(task, answer):.1e} from the goal")


if __name__ == "__main__":
    main()
