"""Every kind of loop against geometry written here and an acceleration-level solve that knows nothing of the rows.

g(q, t) of the test comes from the poses of a dense reference; its gradient and its second derivative along the motion
from central differences with one extrapolation; accelerations from the dense equations with multipliers.
"""

from itertools import pairwise

import numpy as np
import pytest
import reference
from test_rows import LOOPS, Constrained, T

STEP = 2e-3  # of differences: truncation 1e-10 and rounding 1e-11 over second derivatives of some 10


def frames(loop, model, q, t):
    """Axes (columns) and origins of the two frames in the world."""
    R, r = reference.body_poses(model, q, t)
    found = []
    for body, position, rotation in ((loop.body_a, loop.position_a, loop.rotation_a),
                                     (loop.body_b, loop.position_b, loop.rotation_b)):
        axes, origin = (np.eye(3), np.zeros(3)) if body < 0 else (R[body], r[body])
        found += [axes @ np.array(rotation), origin + axes @ np.array(position)]
    return found


def violation(loop, model, q, t):
    """What a loop of each kind keeps at zero, in the words of its description."""
    A, x_a, B, x_b = frames(loop, model, q, t)
    k = "xyz".index(loop.axis)
    order = [(k + 1) % 3, (k + 2) % 3, k]  # the others follow the axis in cyclic order
    A, B, d = A[:, order], B[:, order], x_a - x_b
    along, length = B.T @ d, loop.length(t)[0] if callable(loop.length) else loop.length
    parallel = [A[:, 0] @ B[:, 2], A[:, 1] @ B[:, 2]]
    turned = A[:, 0] @ B[:, 1]
    size = 1.0 if callable(loop.length) else loop.length
    return np.array({
        "point": [*along],
        "revolute": [*along, *parallel],
        "prismatic": [*along[:2], turned, *parallel],
        "cylindrical": [*along[:2], *parallel],
        "universal": [*along, A[:, 2] @ B[:, 0]],
        "weld": [*along, turned, *parallel],
        "distance": [(d @ d - length**2) / (2 * size if size else 1.0)],
        "point-on-line": [*along[:2]],
        "point-on-plane": [along[2] - length],
        "plane": [along[2] - length, *parallel],
        "orientation": [turned, *parallel],
        "plane-point": [*along[:2]],
        "plane-prismatic": [along[1], turned],
        "plane-weld": [*along[:2], turned],
    }[loop.kind])


def independent(name, kind):
    """A machine between whose bodies there is room for the rows: else prescribed motion would contradict them."""
    for seed in range(40):
        machine = Constrained(name, seed, [kind])
        a, _ = machine.matrix(machine.q)
        if np.linalg.svd(a, compute_uv=False)[-1] > 0.05 and len(a) < machine.model.nv:
            return machine
    raise AssertionError("no machine")


@pytest.mark.parametrize("kind", [*LOOPS, "driven distance"])
@pytest.mark.parametrize("name", ["balls and frees", "any tree on a driven base"])
def test_accelerations_of_a_loop(kind, name):
    machine = independent(name, kind)
    model, q, (loop,) = machine.model, machine.q, machine.model.constraints
    np.testing.assert_allclose(machine.call("residuals", q, shapes=[model.n_rows])[0], violation(loop, model, q, T),
                               atol=1e-12)
    free = reference.momenta(model, q, machine.u / np.linalg.norm(machine.u), T)  # moderate speeds
    p, = machine.call("gauge", q, free, shapes=[model.nv])
    M = reference.mass_matrix(model, q, T)
    u = np.linalg.solve(M, p - reference.momenta(model, q, np.zeros(model.nv), T))
    acceleration = reference.newton_euler(model, q, u, T, machine.tau, None).udot

    def value(v, h, t=T):
        machine.u = v
        return violation(loop, model, machine.along(h), t)

    def slope(v, rate=0.0):
        quotients = [(value(v, h, T + rate * h) - value(v, -h, T - rate * h)) / (2 * h) for h in (STEP, STEP / 2)]
        return (4 * quotients[1] - quotients[0]) / 3

    a = np.column_stack([slope(e) for e in np.eye(model.nv)])
    np.testing.assert_allclose(slope(u, 1.0), 0.0, atol=1e-8)  # momenta p satisfy the constraint
    curves = [(value(u, h, T + h) - 2 * value(u, 0.0) + value(u, -h, T - h)) / h**2 for h in (STEP, STEP / 2)]
    gamma = (4 * curves[1] - curves[0]) / 3
    G = a @ np.linalg.solve(M, a.T)
    force = a.T @ -np.linalg.pinv(G, rcond=1e-7) @ (a @ acceleration + gamma)
    expected = acceleration + np.linalg.solve(M, force)
    got, = machine.call("accelerations", q, u, machine.tau, shapes=[model.nv])
    np.testing.assert_allclose(got, expected, atol=1e-5 * np.abs(expected).max())  # differences over a stiff G


def test_differences_are_fine_enough():
    """The bound above is that of the differences: half the step gives less."""
    machine = Constrained("balls and frees", chosen=["weld"])
    loop, q = machine.model.constraints[0], machine.q
    errors = []
    for h in (8e-3, 4e-3):
        curve = (violation(loop, machine.model, machine.along(h), T) - 2 * violation(loop, machine.model, q, T)
                 + violation(loop, machine.model, machine.along(-h), T)) / h**2
        errors.append(curve)
    errors.append((4 * errors[1] - errors[0]) / 3)
    sizes = [np.abs(x - errors[-1]).max() for x in errors[:-1]]
    assert all(b < a / 3 for a, b in pairwise(sizes))
