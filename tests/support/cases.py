"""Random machines and states for the tests, made without the library's own zoo."""

from __future__ import annotations

import numpy as np
import reference

import mbkern as mb
from mbkern.model.joint import Ball, Free, Joint

JOINT_KINDS = (
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "euler_ball",
    "ball",
    "planar",
    "free",
    "weld",
    "custom",
    "driven",
    "moving_ball",
    "six_steps",
)
SCLERONOMIC = tuple(kind for kind in JOINT_KINDS if kind != "driven")
CANONICAL = tuple(kind for kind in JOINT_KINDS if kind not in ("ball", "free", "moving_ball"))
FAMILIES = ("chain", "carousel", "binary", "random")
BASES = ("fixed", "jointed", "driven", "free")


def unit(rng, size=3):
    """Uniform random unit vector (a random unit quaternion for size 4)."""
    x = rng.normal(size=size)
    return x / np.linalg.norm(x)


def random_rotation(rng):
    """Uniform random rotation matrix."""
    return reference.quaternion_matrix(unit(rng, 4))


def random_drive(rng):
    """A prescribed motion, valid for 0 <= t <= 2."""
    kind = rng.integers(3)
    if kind == 0:
        return mb.harmonic(rng.uniform(0.1, 0.4), rng.uniform(0.5, 3.0), rng.uniform(-1, 1), rng.uniform(-0.3, 0.3))
    if kind == 1:
        return mb.polynomial(rng.uniform(-0.3, 0.3, size=rng.integers(1, 5)))
    return mb.spline(np.linspace(0.0, 2.0, 6), rng.uniform(-0.3, 0.3, size=6))


def perpendicular_pair(rng):
    """Two orthogonal unit axes in general position."""
    R = random_rotation(rng)
    return R[:, 0], R[:, 1]


def random_steps(rng, coordinates, driven):
    """Any sequence of coordinates (at most three of each move), constants and drives."""
    moves = rng.permutation(["rotate"] * 3 + ["translate"] * 3)[:coordinates]
    axes = {"rotate": list(random_rotation(rng)), "translate": list(random_rotation(rng))}
    steps = []
    for move in moves:
        make = mb.rotate if move == "rotate" else mb.translate
        if rng.random() < 0.3:
            steps.append(mb.rotate(unit(rng), rng.uniform(-1, 1)))
        if rng.random() < 0.3:
            steps.append(mb.translate(unit(rng), rng.uniform(-0.3, 0.3)))
        steps.append(make(axes[move].pop()))
    for _ in range(int(driven)):
        make = mb.rotate if rng.random() < 0.5 else mb.translate
        steps.insert(rng.integers(len(steps) + 1), make(unit(rng), random_drive(rng)))
    return steps


def random_joint(rng, kind):
    """A joint of the given kind with axes in general position."""
    a, b = perpendicular_pair(rng)
    match kind:
        case "revolute":
            return mb.revolute(a)
        case "prismatic":
            return mb.prismatic(a)
        case "cylindrical":
            return mb.cylindrical(a)
        case "universal":
            return mb.universal(a, b)
        case "euler_ball":
            return mb.euler_ball(str(rng.choice(["zyx", "xyz", "zxz", "yzx"])))
        case "ball":
            return mb.ball()
        case "planar":
            return mb.planar(a)
        case "free":
            return mb.free()
        case "weld":
            return mb.weld()
        case "custom":
            return random_steps(rng, rng.integers(1, 7), driven=0)
        case "driven":
            return random_steps(rng, rng.integers(0, 5), driven=rng.integers(1, 3))
        case "moving_ball":
            # a quaternion in the middle: its basis twists are carried by the steps after it
            return [mb.translate(a), mb.ball(), mb.translate(b, 0.2), mb.translate(unit(rng))]
        case "six_steps":
            return [mb.translate("x"), mb.translate("y"), mb.translate("z"), *mb.euler_ball("zyx").elements]
    raise ValueError(kind)


def random_inertia(rng, mass):
    """Inertia about the centre of mass of a homogeneous box in a random orientation."""
    a, b, c = rng.uniform(0.15, 0.5, size=3)
    R = random_rotation(rng)
    inertia = R @ np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) @ R.T * mass / 12.0
    return 0.5 * (inertia + inertia.T)


def random_parents(family, n, rng):
    """Parent numbers of `n` bodies, -1 for the ground."""
    match family:
        case "chain":
            return list(range(-1, n - 1))
        case "carousel":
            return [-1] + [0] * (n - 1)
        case "binary":
            return [-1] + [(i - 1) // 2 for i in range(1, n)]
        case "random":
            return [-1] + [int(rng.integers(-1, i)) for i in range(1, n)]
    raise ValueError(family)


def random_body_arguments(rng, joint, springs, rotors=False):
    """Keyword arguments of add_body: inertia, placement and, on request, springs and dampers, armature."""
    mass = rng.uniform(0.5, 2.0)
    arguments = {
        "joint": joint,
        "mass": mass,
        "com": rng.uniform(-0.2, 0.2, size=3),
        "inertia": random_inertia(rng, mass),
        "position": rng.uniform(-0.4, 0.4, size=3),
        "rotation": random_rotation(rng),
    }
    if springs or rotors:
        elements = Joint(joint).elements if isinstance(joint, list) else joint.elements
        scalar = []
        for element in elements:
            if isinstance(element, Ball | Free):
                scalar += [False] * (3 if isinstance(element, Ball) else 6)
            elif element.amount is None:
                scalar.append(True)
    if rotors:  # some dofs have none
        arguments["armature"] = rng.uniform(0.01, 1.0, size=len(scalar)) * (rng.uniform(size=len(scalar)) < 0.7)
    if springs:
        has_spring = np.array(scalar, bool)
        arguments["stiffness"] = np.where(has_spring, rng.uniform(0, 20, size=len(scalar)), 0.0)
        arguments["rest"] = np.where(has_spring, rng.uniform(-0.5, 0.5, size=len(scalar)), 0.0)
        arguments["damping"] = rng.uniform(0, 2, size=len(scalar))
    return arguments


def base_joint(base, rng):
    """The joint of body 0."""
    match base:
        case "fixed":
            return mb.weld()
        case "driven":
            return [
                mb.translate(unit(rng), random_drive(rng)),
                mb.rotate(unit(rng), random_drive(rng)),
                mb.translate(unit(rng), mb.harmonic(0.3, 2.0)),
            ]
        case "free":
            return mb.free()
    raise ValueError(base)


def random_model(family, n, seed, base="jointed", kinds=JOINT_KINDS, springs=False, gravity=(0.4, -1.1, -9.6),
                 rotors=False):
    """A random machine: `family` of trees, joints drawn from `kinds`, body 0 on `base`."""
    rng = np.random.default_rng(seed)
    builder = mb.ModelBuilder(gravity=gravity, name=f"{family}{n}")
    for i, parent in enumerate(random_parents(family, n, rng)):
        joint = random_joint(rng, rng.choice(kinds)) if i or base == "jointed" else base_joint(base, rng)
        builder.add_body(
            f"b{i}",
            parent="world" if parent < 0 else f"b{parent}",
            **random_body_arguments(rng, joint, springs, rotors),
        )
    return builder.build()


def random_configuration(model, rng):
    """A configuration away from the joints' own singularities (gimbal lock), joint by joint."""
    q = np.zeros(model.nq)
    for body, (iq, _) in zip(model.body_specs, reference.slices(model), strict=True):
        for _ in range(1000):
            numbers = []
            for element in body.joint.elements:
                if isinstance(element, Ball):
                    numbers += [*unit(rng, 4)]
                elif isinstance(element, Free):
                    numbers += [*rng.uniform(-0.5, 0.5, size=3), *unit(rng, 4)]
                elif element.amount is None:
                    numbers.append(rng.uniform(-3.1, 3.1) if element.move == "rotate" else rng.uniform(-0.5, 0.5))
            own = np.array(numbers)
            A = reference.joint_motion(body, own, np.zeros(body.joint.nv), 0.3).A
            if not body.joint.nv or np.linalg.svd(A, compute_uv=False)[-1] > 0.2:
                break
        else:
            raise AssertionError(f"no regular configuration of {body.name} found")
        q[iq] = own
    return q


def random_state(model, seed, t=0.37):
    """(q, p) of random joint speeds of order one."""
    rng = np.random.default_rng([seed, 1])
    q = random_configuration(model, rng)
    return q, reference.momenta(model, q, rng.normal(size=model.nv), t)


def random_loads(model, seed):
    """(tau, wrench) of order one."""
    rng = np.random.default_rng([seed, 2])
    return rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))


# ---------------------------------------------------------------------------------------------- comparing


def error(actual, expected):
    """Largest difference over the largest expected number (small entries are no yardstick)."""
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    if expected.size == 0:
        return 0.0
    assert np.all(np.isfinite(actual)), "not finite"
    scale = np.max(np.abs(expected))
    return float(np.max(np.abs(actual - expected)) / (scale if scale > 0 else 1.0))


def assert_close(actual, expected, tolerance, what):
    """Fail with the number and the place if `error` exceeds the tolerance."""
    e = error(actual, expected)
    assert e <= tolerance, f"{what}: relative error {e:.2e} > {tolerance:.0e}"


# eighth-order central first derivative: truncation ~ h^8 f^(9) / 630, round-off ~ eps f / h
DIFFERENCE_NODES = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
DIFFERENCE_WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


def derivative(f, h=2.5e-3):
    """f'(0) of a smooth function of one number (array-valued is fine), by eighth-order differences."""
    return sum(w * np.asarray(f(k * h)) for k, w in zip(DIFFERENCE_NODES, DIFFERENCE_WEIGHTS, strict=True)) / h
