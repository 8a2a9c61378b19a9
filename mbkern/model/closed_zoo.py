"""Machines with closed loops, gears, blades and rolling wheels; all loops are closed at q = `Model.neutral()` unless a
function says otherwise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from mbkern.errors import ModelError
from mbkern.model import checks
from mbkern.model import joint as j
from mbkern.model.builder import STANDARD_GRAVITY, ModelBuilder
from mbkern.model.checks import number
from mbkern.model.model import Model

DOWN_Y = (0.0, -9.81, 0.0)


def _rod(mass: float, length: float) -> tuple[float, float, float]:
    """Inertia of a thin rod along x about its middle; it has a little about its own axis."""
    square = mass * length * length / 12.0
    return 1e-6 * square, square, square


def _turn_z(angle: float) -> list[list[float]]:
    c, s = math.cos(angle), math.sin(angle)
    return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]


def four_bar(cut: str = "rocker", gravity: ArrayLike = DOWN_Y) -> Model:
    """A four-bar linkage in the x-y plane whose crank can turn all round: "crank", "coupler", "rocker".

    Parameters
    ----------
    cut : "rocker", "crank", "coupler" or "ground"
        Which joint closes the loop: between coupler and rocker, crank and ground, crank and coupler, rocker and ground.
        The machine is the same.
    gravity : 3 numbers
        In world axes, m/s^2.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.four_bar()
    Model 'four_bar': 3 bodies, 3 dofs (nq = 3), total mass 3.5 kg
    """
    A, B, C, D = np.array([[0.0, 0.0], [0.0, 0.5], [1.5, 1.2], [1.5, 0.0]])
    bars = {"crank": (A, B, 0.5), "coupler": (B, C, 2.0), "rocker": (D, C, 1.0)}
    ways = {"rocker": [("crank", None), ("coupler", "crank"), ("rocker", None)],
            "crank": [("rocker", None), ("coupler", "rocker"), ("crank", "coupler")],
            "coupler": [("crank", None), ("rocker", None), ("coupler", "rocker")],
            "ground": [("crank", None), ("coupler", "crank"), ("rocker", "coupler")]}
    if not isinstance(cut, str) or cut not in ways:
        raise ModelError(f"cut: expected one of {', '.join(ways)}, got {checks.show(cut)}")
    pins = {"rocker": ("coupler", "rocker", C), "crank": ("crank", "world", A), "coupler": ("coupler", "crank", B),
            "ground": ("rocker", "world", D)}
    hinges = {frozenset(("crank",)): A, frozenset(("crank", "coupler")): B, frozenset(("coupler", "rocker")): C,
              frozenset(("rocker",)): D}
    builder, origin = ModelBuilder(gravity=gravity, name="four_bar"), {"world": np.zeros(2)}
    for name, parent in ways[cut]:  # frames of all bodies are parallel to the world's at q = 0
        start, end, mass = bars[name]
        hinge = hinges[frozenset((name,) if parent is None else (name, parent))]
        below = parent or "world"
        length = float(np.linalg.norm(end - start))
        x, y = (end - start) / length
        moment = mass * length * length / 12.0
        inertia = [[moment * y * y, -moment * x * y, 0.0], [-moment * x * y, moment * x * x, 0.0], [0.0, 0.0, moment]]
        com = (start + end) / 2 - hinge
        builder.add_body(name, below, j.revolute("z"), mass, (*com, 0.0), inertia,
                         position=(*(hinge - origin[below]), 0.0))
        origin[name] = hinge
    a, b, pin = pins[cut]
    builder.add_loop("pin", a, b, "plane-point", position_a=(*(pin - origin[a]), 0.0),
                     position_b=(*(pin - origin[b]), 0.0))
    return builder.build()


def n_four_bar(n: int = 2, gravity: ArrayLike = DOWN_Y) -> Model:
    """A row of n four-bar linkages that share their cranks: IFToMM benchmark A02. It passes singular poses.

    n + 1 cranks stand on the ground 1 m apart, n couplers connect their ends; all bars are of 1 m and 1 kg. At q = 0
    the cranks stand upright.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.n_four_bar(40).n_rows
    80
    """
    n = checks.bodies(n, "n", "the number of loops")
    builder, moment = ModelBuilder(gravity=gravity, name=f"n_four_bar{n}"), 1.0 / 12.0
    for i in range(n + 1):
        builder.add_body(f"crank{i}", "world", j.revolute("z"), 1.0, (0.0, 0.5, 0.0), (moment, 1e-6, moment),
                         position=(float(i), 0.0, 0.0), check_inertia=False)
        if i < n:
            builder.add_body(f"coupler{i}", f"crank{i}", j.revolute("z"), 1.0, (0.5, 0.0, 0.0),
                             (1e-6, moment, moment), position=(0.0, 1.0, 0.0), check_inertia=False)
    for i in range(n):
        builder.add_loop(f"pin{i}", f"coupler{i}", f"crank{i + 1}", "plane-point", position_a=(1.0, 0.0, 0.0),
                         position_b=(0.0, 1.0, 0.0))
    return builder.build()


def slider_crank(crank: float = 0.1, rod: float = 0.3, gravity: ArrayLike = DOWN_Y) -> Model:
    """Crank, connecting rod and a piston that slides along x; at q = 0 all are stretched out.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.slider_crank().coordinate_names
    ('crank', 'rod', 'piston')
    """
    r, l = number(crank, "crank"), number(rod, "rod")
    if not 0.0 < r < l:
        raise ModelError(f"expected a crank shorter than the rod, both positive, got {r} and {l} m")
    builder = ModelBuilder(gravity=gravity, name="slider_crank")
    builder.add_body("crank", "world", j.revolute("z"), 1.0, (r / 2, 0.0, 0.0), _rod(1.0, r))
    builder.add_body("rod", "crank", j.revolute("z"), 0.5, (l / 2, 0.0, 0.0), _rod(0.5, l), position=(r, 0.0, 0.0))
    builder.add_body("piston", "world", j.prismatic("x"), 0.8, inertia=(1e-3, 1e-3, 1e-3), position=(r + l, 0.0, 0.0))
    builder.add_loop("pin", "rod", "piston", "plane-point", position_a=(l, 0.0, 0.0))
    return builder.build()


def andrews() -> Model:
    """Andrews' squeezer, IFToMM benchmark A03: seven bodies in a plane, three loops, one freedom.

    W. Schiehlen (ed.), Multibody Systems Handbook, 1990; data as in Hairer & Wanner, Solving Ordinary Differential
    Equations II, section VII.7. Coordinates beta, Theta, gamma, delta, Phi, epsilon, Omega; not closed at q = 0, see
    `andrews_state`. The motor's torque and the spring are `andrews_forces`.

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.andrews()
    >>> system = mb.System(model)
    >>> bool(abs(system.constraint_residuals(mb.zoo.andrews_state())).max() < 1e-14)
    True
    """
    d, da, e, ea, rr, ra = 28e-3, 115e-4, 2e-2, 1421e-5, 7e-3, 92e-5
    ss, sa, sb, zf, zt, fa = 35e-3, 1874e-5, 1043e-5, 2e-2, 4e-2, 1421e-5
    ta, tb, u, ua, ub = 2308e-5, 916e-5, 4e-2, 1228e-5, 449e-5
    A, B = (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0)
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0), name="andrews")

    def add(name: str, parent: str, coordinate: str, mass: float, com: tuple[float, float], moment: float,
            position: tuple[float, float, float]) -> None:
        builder.add_body(name, parent, [j.rotate("z", name=coordinate)], mass, (*com, 0.0), (moment, moment, moment),
                         position)

    add("K1", "world", "beta", 0.04325, (ra, 0.0), 2.194e-6, (0.0, 0.0, 0.0))
    add("K2", "K1", "Theta", 0.00365, (-da, 0.0), 4.410e-7, (rr, 0.0, 0.0))
    add("K3", "world", "gamma", 0.02373, (sb, -sa), 5.255e-6, B)
    add("K5", "world", "delta", 0.07050, (ta, tb), 1.169e-5, A)
    add("K4", "K5", "Phi", 0.00706, (0.0, -(e - ea)), 5.667e-7, (zt, 0.0, 0.0))
    add("K7", "world", "epsilon", 0.05498, (ub, -ua), 1.912e-5, A)
    add("K6", "K7", "Omega", 0.00706, (zf - fa, 0.0), 5.667e-7, (0.0, -u, 0.0))
    for name, end in (("K3", (0.0, -ss, 0.0)), ("K4", (0.0, -e, 0.0)), ("K6", (zf, 0.0, 0.0))):
        builder.add_loop(f"K2 {name}", name, "K2", "plane-point", position_a=end, position_b=(-d, 0.0, 0.0))
    return builder.build()


def andrews_state() -> np.ndarray:
    """Configuration of Andrews' squeezer at the beginning of the benchmark, at rest.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.andrews_state().shape
    (7,)
    """
    return np.array([-0.0617138900142764496, 0.0, 0.455279819163070380, 0.487364979543842550, 0.222668390165885885,
                     1.23054744454982119, -0.222668390165885885])


def bricard(gravity: ArrayLike = DOWN_Y, cut: int = 5) -> Model:
    """Bricard's linkage, IFToMM benchmark A04: five rods of 1 m and 1 kg and the ground, six hinges, one redundant row.

    The rods lie along edges of a cube, each square to the next.

    Parameters
    ----------
    gravity : 3 numbers
        In world axes, m/s^2.
    cut : 0 to 5
        Which hinge closes the loop; the machine is the same.

    Examples
    --------
    >>> import mbkern as mb
    >>> system = mb.System(mb.zoo.bricard())
    >>> mobility = system.mobility([0.0] * 5)
    >>> mobility.freedoms, len(mobility.redundant)
    (1, 1)
    """
    if isinstance(cut, bool) or not isinstance(cut, int | np.integer) or not 0 <= cut <= 5:
        raise ModelError(f"cut: expected a number from 0 to 5, got {checks.show(cut)}")
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], float)
    axes = ["y", "z", "x", "y", "z", "x"]  # hinge k is at corner k; rod k goes from it to the next, rod 5 is the ground
    builder = ModelBuilder(gravity=gravity, name="bricard")
    origin = {"world": np.zeros(3)}

    def add(rod: int, parent: str, hinge: int) -> None:
        start, end, at = corners[rod], corners[(rod + 1) % 6], corners[hinge]
        along = end - start
        inertia = (np.eye(3) - np.outer(along, along)) / 12.0 + 1e-9 * np.eye(3)
        builder.add_body(f"rod{rod}", parent, [j.rotate(axes[hinge], name=f"hinge{hinge}")], 1.0,
                         (start + end) / 2 - at, inertia, position=at - origin[parent])
        origin[f"rod{rod}"] = at

    parent = "world"
    for rod in range(cut):  # rods 0 .. cut - 1 hang on hinge 0, the others on hinge 5
        add(rod, parent, rod)
        parent = f"rod{rod}"
    first, parent = parent, "world"
    for rod in range(4, cut - 1, -1):
        add(rod, parent, rod + 1)
        parent = f"rod{rod}"
    builder.add_loop("hinge", first, parent, "revolute", corners[cut] - origin[first], corners[cut] - origin[parent],
                     axis=axes[cut])
    return builder.build()


def stewart_platform(gravity: ArrayLike = STANDARD_GRAVITY) -> Model:
    """A platform on six legs, each with a universal joint on the ground, a slide, and a ball joint on the platform.

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.stewart_platform()
    >>> system = mb.System(model)
    >>> system.mobility(system.assemble(model.neutral())).freedoms
    6
    """
    height = 1.0
    feet = [(1.0, k * 2 * math.pi / 3 + s * 0.2) for k in range(3) for s in (-1, 1)]
    heads = [(0.5, k * 2 * math.pi / 3 + s * 0.85) for k in range(3) for s in (-1, 1)]
    builder = ModelBuilder(gravity=gravity, name="stewart_platform")
    builder.add_body("platform", "world", j.free(), 10.0, inertia=(0.6, 0.6, 1.2), position=(0.0, 0.0, height))
    for k, ((r, foot), (s, head)) in enumerate(zip(feet, heads, strict=True)):
        at = np.array([r * math.cos(foot), r * math.sin(foot), 0.0])
        to = np.array([s * math.cos(head), s * math.sin(head), height])
        z = (to - at) / np.linalg.norm(to - at)
        x = np.cross([0.0, 1.0, 0.0], z)
        x /= np.linalg.norm(x)
        rotation = np.column_stack([x, np.cross(z, x), z])
        length = float(np.linalg.norm(to - at))
        builder.add_body(f"leg{k}", "world", j.universal("x", "y"), 1.0, (0.0, 0.0, 0.25), (0.02, 0.02, 0.001),
                         position=at, rotation=rotation)
        builder.add_body(f"rod{k}", f"leg{k}", j.prismatic("z"), 0.5, (0.0, 0.0, -0.25), (0.01, 0.01, 0.0005),
                         position=(0.0, 0.0, length))
        builder.add_loop(f"head{k}", f"rod{k}", "platform", "point", position_b=to - [0.0, 0.0, height])
    return builder.build()


def delta_robot(gravity: ArrayLike = STANDARD_GRAVITY) -> Model:
    """A delta robot: three arms, three pairs of light rods, a platform that moves without turning.

    Examples
    --------
    >>> import mbkern as mb
    >>> model = mb.zoo.delta_robot()
    >>> system = mb.System(model)
    >>> system.mobility(model.neutral()).freedoms
    3
    """
    base, tip, arm, half, drop = 0.2, 0.05, 0.3, 0.05, 0.55
    builder = ModelBuilder(gravity=gravity, name="delta_robot")
    builder.add_body("platform", "world", j.free(), 0.5, inertia=(1e-3, 1e-3, 1e-3), position=(0.0, 0.0, -drop))
    length = math.hypot(base + arm - tip, drop)
    for k in range(3):
        angle = k * 2 * math.pi / 3
        turn = np.array(_turn_z(angle))
        builder.add_body(f"arm{k}", "world", j.revolute("y"), 0.3, (arm / 2, 0.0, 0.0), _rod(0.3, arm),
                         position=turn @ [base, 0.0, 0.0], rotation=turn)
        for side, y in (("left", half), ("right", -half)):
            builder.add_loop(f"rod{k} {side}", f"arm{k}", "platform", "distance", (arm, y, 0.0),
                             turn @ [tip, y, 0.0], length=length)
    return builder.build()


def planetary_gear(sun: int = 20, planet: int = 15, planets: int = 3) -> Model:
    """Sun, planets on a carrier, and a fixed ring: gears with the given numbers of teeth; one freedom.

    Examples
    --------
    >>> import mbkern as mb
    >>> system = mb.System(mb.zoo.planetary_gear())
    >>> system.mobility(system.model.neutral()).freedoms
    1
    """
    sun = checks.count(sun, "sun", "the number of teeth", 10**6)
    planet = checks.count(planet, "planet", "the number of teeth", 10**6)
    planets = checks.bodies(planets, "planets", "the number of planets")
    ring, radius = sun + 2 * planet, 0.002 * (sun + planet)
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0), name="planetary_gear")
    builder.add_body("sun", "world", j.revolute("z"), 0.5, inertia=(2e-4, 2e-4, 4e-4))
    builder.add_body("carrier", "world", j.revolute("z"), 1.0, inertia=(1e-3, 1e-3, 2e-3))
    for k in range(planets):
        angle = k * 2 * math.pi / planets
        builder.add_body(f"planet{k}", "carrier", j.revolute("z"), 0.3, inertia=(1e-4, 1e-4, 2e-4),
                         position=(radius * math.cos(angle), radius * math.sin(angle), 0.0))
        builder.add_gear(f"planet{k}", "carrier", -ring / planet)  # rolls in the ring
    # (sun - carrier) sun teeth = -(planet relative to the carrier) planet teeth
    builder.add_gear("sun", ["carrier", "planet0"], [1.0, -planet / sun], name="mesh")
    return builder.build()


def rolling_disc(radius: float = 0.5, mass: float = 1.0, gravity: ArrayLike = STANDARD_GRAVITY) -> Model:
    """A thin disc that rolls on the floor without slipping; its axis is y, and it stands upright at q = neutral().

    Examples
    --------
    >>> import mbkern as mb
    >>> system = mb.System(mb.zoo.rolling_disc())
    >>> system.mobility(system.model.neutral()).freedoms
    3
    """
    r, m = number(radius, "radius"), number(mass, "mass")
    builder = ModelBuilder(gravity=gravity, name="rolling_disc")
    builder.add_body("disc", "world", j.free(), m, inertia=(m * r * r / 4, m * r * r / 2, m * r * r / 4),
                     position=(0.0, 0.0, r))
    builder.add_rolling("floor", "disc", r, "disc", axis="y")
    return builder.build()


def chaplygin_sleigh(distance: float = 0.3, mass: float = 1.0, inertia: float = 0.2) -> Model:
    """A sleigh in the x-y plane on a blade along its x axis, its centre of mass `distance` ahead of the blade.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.chaplygin_sleigh().constraints[0].kind
    'blade'
    """
    a, m, moment = number(distance, "distance"), number(mass, "mass"), number(inertia, "inertia")
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0), name="chaplygin_sleigh")
    builder.add_body("sleigh", "world", [j.translate("x", name="x"), j.translate("y", name="y"),
                                         j.rotate("z", name="theta")], m, (a, 0.0, 0.0), (moment, moment, moment))
    builder.add_blade("blade", "sleigh", across="y")
    return builder.build()


def whipple_bicycle() -> Model:
    """Whipple's bicycle with the parameters of Meijaard, Papadopoulos, Ruina & Schwab 2007 (Proc. R. Soc. A 463): four
    bodies, wheels that roll without slipping; upright and straight ahead along x at q = neutral(). z points up.

    The rear frame stands on yaw, lean and pitch at the rear contact's height; coordinates x, y, z, yaw, lean, pitch,
    rear_wheel, steer, front_wheel.

    Examples
    --------
    >>> import mbkern as mb
    >>> system = mb.System(mb.zoo.whipple_bicycle())
    >>> system.mobility(system.model.neutral()).freedoms
    3
    """
    w, c, tilt, r_R, r_F = 1.02, 0.08, math.pi / 10, 0.3, 0.35
    builder = ModelBuilder(name="whipple_bicycle")

    def flipped(xx: float, yy: float, zz: float, xz: float) -> tuple[float, ...]:
        """From the paper's axes (z down, y right) to x ahead, y left, z up: a half turn about x."""
        return xx, yy, zz, 0.0, -xz, 0.0

    # frame: origin in the middle of the rear wheel
    builder.add_body("frame", "world", [j.translate("x", name="x"), j.translate("y", name="y"),
                                        j.translate("z", name="z"), j.rotate("z", name="yaw"),
                                        j.rotate("x", name="lean"), j.rotate("y", name="pitch")],
                     85.0, (0.3, 0.0, 0.9 - r_R), flipped(9.2, 11.0, 2.8, 2.4), position=(0.0, 0.0, r_R))
    builder.add_body("rear_wheel", "frame", j.revolute("y"), 2.0, inertia=(0.0603, 0.12, 0.0603))
    # the steer axis meets the ground at x = w + c, and leans back by the tilt
    turn = [[math.cos(tilt), 0.0, -math.sin(tilt)], [0.0, 1.0, 0.0], [math.sin(tilt), 0.0, math.cos(tilt)]]
    R, foot = np.array(turn), np.array([w + c, 0.0, -r_R])
    inertia = np.array([[0.05892, 0.0, 0.00756], [0.0, 0.06, 0.0], [0.00756, 0.0, 0.00708]])
    com = np.array([0.9, 0.0, 0.7 - r_R])
    hub = np.array([w, 0.0, r_F - r_R])
    builder.add_body("fork", "frame", [j.rotate("z", name="steer")], 4.0, R.T @ (com - foot), R.T @ inertia @ R,
                     position=foot, rotation=R)
    builder.add_body("front_wheel", "fork", j.revolute("y"), 3.0, inertia=(0.1405, 0.28, 0.1405),
                     position=R.T @ (hub - foot))
    builder.add_rolling("rear", "rear_wheel", r_R, axis="y")
    builder.add_rolling("front", "front_wheel", r_F, axis="y")
    return builder.build()
