"""Machines for examples, tests and benchmarks.

Except for `pipelayer` and the machines of papers (`knife_edge_cart` and others), bodies are solid boxes of
0.5 to 2 kg and 0.2 to 0.5 m length with the next joint at the far end: numbers of order one, so that answers
can be compared to many digits. The same arguments give the same model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbkern import collector
from mbkern.errors import ModelError
from mbkern.model import checks
from mbkern.model import joint as j
from mbkern.model.body import WORLD
from mbkern.model.builder import STANDARD_GRAVITY, ModelBuilder
from mbkern.model.case_studies import appell_graph, box_with_panels, knife_edge_cart, satellite_with_boom
from mbkern.model.closed_zoo import (
    andrews,
    andrews_state,
    bricard,
    chaplygin_sleigh,
    delta_robot,
    four_bar,
    n_four_bar,
    planetary_gear,
    rolling_disc,
    slider_crank,
    stewart_platform,
    whipple_bicycle,
)
from mbkern.model.drives import harmonic
from mbkern.model.joint import Joint, JointLike
from mbkern.model.model import Model

__all__ = ["andrews", "andrews_state", "appell_graph", "binary_tree", "box_with_panels", "bricard", "carousel", "chain",
           "chaplygin_sleigh", "delta_robot", "four_bar", "knife_edge_cart", "n_four_bar", "pipelayer",
           "planetary_gear", "random_tree", "rolling_disc", "satellite_with_boom", "slider_crank", "star",
           "stewart_platform", "whipple_bicycle"]


def __dir__() -> list[str]:
    return __all__


_HINGE = j.revolute("z")


def chain(n: int, joint: JointLike = _HINGE, seed: int | None = 0, gravity: ArrayLike = STANDARD_GRAVITY) -> Model:
    """A chain of `n` bodies, each carried by the one before.

    Parameters
    ----------
    n : int
        Number of bodies.
    joint : joint
        The joint of every body.
    seed : int or None
        Seed of the random sizes, masses and placements of a general chain in space. None gives the regular
        chain: identical rods of 0.5 m and 1 kg along their x axis, all frames parallel; with `revolute("y")`
        it swings in the vertical x-z plane.
    gravity : 3 numbers
        In world axes, m/s^2.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.chain(20)
    Model 'chain20': 20 bodies, 20 dofs (nq = 20), total mass ... kg
    >>> mb.zoo.chain(3, joint=mb.revolute("y"), seed=None).total_mass
    3.0
    """
    n = _count(n)
    return _grow(f"chain{n}", list(range(-1, n - 1)), [joint] * n, seed, gravity)


def carousel(n: int, joint: JointLike = _HINGE, seed: int | None = 0, gravity: ArrayLike = STANDARD_GRAVITY) -> Model:
    """A hub on the ground with all other bodies on it: the widest tree.

    Parameters
    ----------
    n : int
        Number of bodies, the hub included.
    joint, seed, gravity
        As in `chain`. In the regular carousel (seed None) all arms sit at the end of the hub.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.carousel(5).parents.tolist()
    [-1, 0, 0, 0, 0]
    """
    n = _count(n)
    return _grow(f"carousel{n}", [-1, *[0] * (n - 1)], [joint] * n, seed, gravity)


def binary_tree(
    n: int, joint: JointLike = _HINGE, seed: int | None = 0, gravity: ArrayLike = STANDARD_GRAVITY
) -> Model:
    """A binary tree in heap numbering: body i is carried by body (i - 1) // 2.

    Parameters
    ----------
    n : int
        Number of bodies.
    joint, seed, gravity
        As in `chain`.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.binary_tree(7).parents.tolist()
    [-1, 0, 0, 1, 1, 2, 2]
    """
    n = _count(n)
    return _grow(f"binary_tree{n}", [(i - 1) // 2 for i in range(n)], [joint] * n, seed, gravity)


def star(
    chains: int, length: int, joint: JointLike = _HINGE, seed: int | None = 0, gravity: ArrayLike = STANDARD_GRAVITY
) -> Model:
    """Equal chains on one base body: 1 + chains * length bodies.

    Parameters
    ----------
    chains : int
        Number of chains on the base body, at least 1.
    length : int
        Bodies of each chain.
    joint, seed, gravity
        As in `chain`; the base body has the same joint as all others.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.star(2, 3).parents.tolist()
    [-1, 0, 1, 2, 0, 4, 5]
    """
    chains, length = _count(chains, "chains"), _count(length, "length")
    checks.bodies(chains * length, "chains * length")
    parents = [-1]
    for _ in range(chains):
        parents += [0, *range(len(parents), len(parents) + length - 1)]
    return _grow(f"star{chains}x{length}", parents, [joint] * len(parents), seed, gravity)


def random_tree(
    n: int, seed: int = 0, joints: Sequence[JointLike] | None = None, gravity: ArrayLike = (0.3, -0.2, -9.81)
) -> Model:
    """A random tree over random joints.

    Each body is carried by any earlier one. At least one joint moves if any joint to choose from does.

    Parameters
    ----------
    n : int
        Number of bodies.
    seed : int
        The same seed gives the same tree.
    joints : sequence of joints, optional
        What to draw the joints from; by default all types with random axes: welded, 1 to 6 dofs on steps
        with constant and driven steps between them, ball and free.
    gravity : 3 numbers
        In world axes, m/s^2; by default oblique, so that no direction is special.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.random_tree(8, seed=3) == mb.zoo.random_tree(8, seed=3)
    True
    >>> mb.zoo.random_tree(8, joints=[mb.ball()]).nv
    24
    """
    n = _count(n)
    rng = checks.generator(seed)
    parents = [-1, *(int(rng.integers(0, i)) for i in range(1, n))]
    if joints is None:
        chosen = [_random_joint(rng) for _ in range(n)]
        fallback = [_HINGE]
    else:
        if not isinstance(joints, Sequence) or isinstance(joints, str | bytes) or not joints:
            raise ModelError(f"joints: expected a list of joints to draw from, got {checks.show(joints)}")
        pool = [j.as_joint(entry) for entry in joints]
        chosen = [pool[int(rng.integers(len(pool)))] for _ in range(n)]
        fallback = [entry for entry in pool if entry.nv]
    if fallback and not any(joint.nv for joint in chosen):
        chosen[-1] = fallback[0]
    return _grow(f"random_tree{n}", parents, chosen, rng, gravity)


def pipelayer() -> Model:
    """A pipelayer crane: four bodies, six dofs.

    The boom points forward, along y: the chassis heaves (z), pitches (alpha about x) and rolls (beta about y); the
    upper structure slews (theta about z), the lifting arm luffs (epsilon about x), and the boom extends along the
    arm (y). Gravity 9.81 m/s^2 along -z.

    ======== ========= ============================ ============== ================= =====================
    body     parent    joint (coordinates)          placement, m   mass, kg; com, m  inertia at com, kg m^2
    ======== ========= ============================ ============== ================= =====================
    chassis  world     T z, R x, R y (z alpha beta) (0, 0, 0)      18000; (0,.1,.8)  30000, 24000, 40000
    rotating chassis   R z (theta)                  (0, 0.5, 1.4)  6000; (0,-.4,.6)  9000, 7000, 8000
    lifting  rotating  R x (epsilon)                (0, 1.0, 0.8)  1500; (0,2,.1)    4000, 200, 4000
    boom     lifting   T y (y)                      (0, 0, 0.3)    800; (0,1.5,0)    1500, 80, 1500
    ======== ========= ============================ ============== ================= =====================

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.pipelayer().body_names
    ('chassis', 'rotating', 'lifting', 'boom')
    """
    b = ModelBuilder(name="pipelayer")
    b.add_body(
        "chassis",
        joint=[j.translate("z", name="z"), j.rotate("x", name="alpha"), j.rotate("y", name="beta")],
        mass=18000.0, com=(0.0, 0.1, 0.8), inertia=(30000.0, 24000.0, 40000.0),
    )  # fmt: skip
    b.add_body(
        "rotating", "chassis", j.revolute("z", name="theta"), position=(0.0, 0.5, 1.4),
        mass=6000.0, com=(0.0, -0.4, 0.6), inertia=(9000.0, 7000.0, 8000.0),
    )  # fmt: skip
    b.add_body(
        "lifting", "rotating", j.revolute("x", name="epsilon"), position=(0.0, 1.0, 0.8),
        mass=1500.0, com=(0.0, 2.0, 0.1), inertia=(4000.0, 200.0, 4000.0),
    )  # fmt: skip
    b.add_body(
        "boom", "lifting", j.prismatic("y", name="y"), position=(0.0, 0.0, 0.3),
        mass=800.0, com=(0.0, 1.5, 0.0), inertia=(1500.0, 80.0, 1500.0),
    )  # fmt: skip
    return b.build()


def _grow(
    name: str,
    parents: list[int],
    joints: Sequence[JointLike],
    seed: int | np.random.Generator | None,
    gravity: ArrayLike,
) -> Model:
    """Boxes on a given tree; all random numbers are drawn at once, for the sake of large models."""
    n = len(parents)
    if seed is None:
        size = np.tile((0.5, 0.05, 0.05), (n, 1))
        mass = np.ones(n)
        rotation = np.tile(np.eye(3), (n, 1, 1))
        aside = np.zeros((n, 3))
    else:
        rng = checks.generator(seed)
        size = rng.uniform((0.2, 0.1, 0.1), (0.5, 0.2, 0.2), (n, 3))
        mass = rng.uniform(0.5, 2.0, n)
        rotation = _rotations(rng, n)
        aside = rng.uniform(-0.05, 0.05, (n, 3))
    squares = size * size
    inertia = (mass[:, None] / 12.0) * (squares.sum(axis=1, keepdims=True) - squares)
    end = size * (1.0, 0.0, 0.0)
    com = 0.5 * end + aside
    position = np.where(np.array(parents)[:, None] < 0, 0.0, end[parents]) + aside
    table = zip(
        parents,
        joints,
        mass.tolist(),
        com.tolist(),
        inertia.tolist(),
        position.tolist(),
        rotation.tolist(),
        strict=True,
    )
    b = ModelBuilder(gravity=gravity, name=name)
    with collector.paused():
        for i, (parent, joint, m, rc, J, r, R) in enumerate(table):
            carrier = WORLD if parent < 0 else f"body{parent}"
            b.add_body(f"body{i}", carrier, joint, mass=m, com=rc, inertia=J, position=r, rotation=R)
        return b.build()


def _rotations(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """`n` uniformly distributed rotation matrices."""
    w, x, y, z = (quaternions := rng.normal(size=(4, n))) / np.linalg.norm(quaternions, axis=0)
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def _random_joint(rng: np.random.Generator) -> Joint:
    """One of all joint types, with random axes that never make coordinates redundant."""
    a, b, c = (tuple(row) for row in _rotations(rng, 1)[0].tolist())  # a right-handed triad
    amount, omega, phase = rng.uniform(0.1, 0.5), rng.uniform(0.5, 2.0), rng.uniform(-1.0, 1.0)
    shake = harmonic(amount, omega, phase, offset=0.1)
    order = ("zyx", "xyz", "zxy", "yxz")[int(rng.integers(4))]
    kinds = (
        lambda: j.weld(),
        lambda: j.revolute(a),
        lambda: j.prismatic(a),
        lambda: j.cylindrical(a),
        lambda: j.universal(a, b),
        lambda: j.euler_ball(order),
        lambda: j.ball(),
        lambda: j.planar(a),
        lambda: j.free(),
        lambda: j.as_joint([j.translate(a, shake)]),
        lambda: j.as_joint([j.translate(a, amount), j.rotate(b), j.rotate(c, -amount)]),
        lambda: j.as_joint([j.rotate(a, shake), j.translate(b), j.rotate(c)]),
        lambda: j.as_joint([j.rotate(a), j.translate(b, shake), j.rotate(c)]),
        lambda: j.as_joint([j.translate(a), j.rotate(b), j.rotate(c)]),
        lambda: j.as_joint([j.translate(a), j.translate(b), j.rotate(c, amount), j.rotate(a), j.rotate(b)]),
        lambda: j.as_joint([j.translate(a), j.rotate(b, shake), j.ball()]),
        lambda: j.as_joint([j.translate(a), j.translate(b), j.euler_ball(order)]),
        lambda: j.as_joint([j.translate("x"), j.translate("y"), j.translate("z"), j.euler_ball(order)]),
    )
    return kinds[int(rng.integers(len(kinds)))]()


def _count(n: Any, what: str = "n") -> int:
    return checks.bodies(n, what)
