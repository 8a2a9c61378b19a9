"""The machines of two papers on analytical mechanics, with all their numbers.

Constraints, forces, quasi-velocities and initial states that go with them are in :mod:`mbkern.analytic.cases`.
"""

from __future__ import annotations

from math import pi

from mbkern.model import checks
from mbkern.model import joint as j
from mbkern.model.builder import ModelBuilder
from mbkern.model.drives import harmonic, polynomial
from mbkern.model.model import Model


def knife_edge_cart(gravity: float = 9.81) -> Model:
    """A cart on a rail with a pendulum of two bars; a wheel at the lower end makes it nonholonomic.

    Cart of 1 kg on a horizontal rail (x); two uniform bars of 0.5 kg and 0.2 m hang from it in the vertical x-z plane.
    Coordinates: x, theta1 (first bar from the downward vertical), bend = theta2 - theta1 (second bar against the
    first). The wheel, which lets the lower end move across the second bar not at all, is a constraint:
    `mbkern.analytic.cases.knife_edge`.

    Parameters
    ----------
    gravity : float
        Downward, m/s^2.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.knife_edge_cart().coordinate_names
    ('x', 'theta1', 'bend')
    """
    b = ModelBuilder(gravity=(0.0, 0.0, -checks.number(gravity, "gravity")), name="knife_edge_cart")
    mass, length = 0.5, 0.2
    moment = mass * length**2 / 12.0
    bar = dict(mass=mass, com=(0.0, 0.0, -0.5 * length), inertia=(moment, moment, 0.0))
    hinge = (0.0, -1.0, 0.0)  # a positive angle swings the bar towards +x
    b.add_body("cart", joint=j.prismatic("x", name="x"), mass=1.0)
    b.add_body("upper", "cart", j.revolute(hinge, name="theta1"), **bar)  # type: ignore[arg-type]
    b.add_body("lower", "upper", j.revolute(hinge, name="bend"), position=(0.0, 0.0, -length),
               **bar)  # type: ignore[arg-type]
    return b.build()


def _floating() -> list[j.Step]:
    """Position X, Y, Z, then orientation Rz(psi) Ry(theta) Rx(phi)."""
    return [j.translate("x", name="X"), j.translate("y", name="Y"), j.translate("z", name="Z"),
            j.rotate("z", name="psi"), j.rotate("y", name="theta"), j.rotate("x", name="phi")]


def box_with_panels() -> Model:
    """A box floating in space with two hinged panels: 8 dofs, three of them ignorable.

    Cube of 2 m side and 100 kg, inertia [[67, -5, -2], [-5, 67, 0], [-2, 0, 67]] kg m^2 about its centre. Thin panels
    of 2 m x 2 m and 10 kg are folded flat on the faces y = -1 (A) and y = +1 (B) and hinged on the edges x = +1. No
    gravity. Coordinates: X, Y, Z, psi, theta, phi (orientation Rz(psi) Ry(theta) Rx(phi)), g1, g2 (panels).

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.box_with_panels().coordinate_names
    ('X', 'Y', 'Z', 'psi', 'theta', 'phi', 'g1', 'g2')
    """
    b = ModelBuilder(gravity=(0.0, 0.0, 0.0), name="box_with_panels")
    b.add_body("box", joint=_floating(), mass=100.0, inertia=(67.0, 67.0, 67.0, -5.0, -2.0, 0.0))
    panel = dict(mass=10.0, com=(-1.0, 0.0, 0.0), inertia=(10.0 / 3.0, 20.0 / 3.0, 10.0 / 3.0))
    b.add_body("panelA", "box", j.revolute("z", name="g1"), position=(1.0, -1.0, 0.0),
               **panel)  # type: ignore[arg-type]
    b.add_body("panelB", "box", j.revolute((0.0, 0.0, -1.0), name="g2"), position=(1.0, 1.0, 0.0),
               **panel)  # type: ignore[arg-type]
    return b.build()


def satellite_with_boom() -> Model:
    """A satellite with a mass of 1 kg on a boom that extends: 7 dofs, three of them ignorable.

    Satellite of 2000 kg, inertia [[1400, -5, -8], [-5, 900, -3], [-8, -3, 1100]] kg m^2 about its centre; the tip is at
    (0, 0, 1.25 + rho). No gravity. Coordinates: X, Y, Z, psi, theta, phi (orientation Rz(psi) Ry(theta) Rx(phi)), rho.
    The force along rho is `mbkern.analytic.cases.boom_force`. Direction and offset of the boom are a choice: the
    paper's table does not determine them.

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.satellite_with_boom().total_mass
    2001.0
    """
    b = ModelBuilder(gravity=(0.0, 0.0, 0.0), name="satellite_with_boom")
    b.add_body("satellite", joint=_floating(), mass=2000.0, inertia=(1400.0, 900.0, 1100.0, -5.0, -8.0, -3.0))
    b.add_body("tip", "satellite", j.prismatic("z", name="rho"), position=(0.0, 0.0, 1.25), mass=1.0)
    return b.build()


def appell_graph(moving: bool = False) -> Model:
    """The graph example of Garifulin's paper on Appell's equations: four bodies, four dofs, a spring on u.

    base - Rx(alpha) -> 1 - Ry(beta) -> 2; from 2: shifted (0, 1, -2), Rz(gamma) -> 4; shifted (0, -1, -2), slide along
    y (u) -> 6. Gravity 9.8 m/s^2 downward, spring of 40 N/m on u.

    Parameters
    ----------
    moving : bool
        Whether the base moves: position (0.3 sin 2t, 0.2 cos 1.5t, 0.1 t^2), orientation Rz(0.4 sin t) Rx(0.3 t).

    Examples
    --------
    >>> import mbkern as mb
    >>> mb.zoo.appell_graph(moving=True).coordinate_names
    ('alpha', 'beta', 'gamma', 'u')
    """
    moving = checks.flag(moving, "moving")
    path = [j.translate("x", harmonic(0.3, 2.0)), j.translate("y", harmonic(0.2, 1.5, phase=0.5 * pi)),
            j.translate("z", polynomial([0.0, 0.0, 0.1])), j.rotate("z", harmonic(0.4, 1.0)),
            j.rotate("x", polynomial([0.0, 0.3]))] if moving else []
    b = ModelBuilder(gravity=(0.0, 0.0, -9.8), name="appell_graph_moving" if moving else "appell_graph")
    b.add_body("body1", joint=[*path, j.rotate("x", name="alpha")], mass=2.0, inertia=(0.10, 0.12, 0.14))
    b.add_body("body2", "body1", j.revolute("y", name="beta"), mass=5.0, com=(0, 0, -1.0), inertia=(1.8, 1.7, 0.3))
    b.add_body("body4", "body2", j.revolute("z", name="gamma"), position=(0, 1.0, -2.0),
               mass=1.5, com=(0.3, 0.1, -0.2), inertia=(0.05, 0.06, 0.07))
    b.add_body("body6", "body2", j.prismatic("y", name="u"), position=(0, -1.0, -2.0), stiffness=40.0,
               mass=0.8, com=(0, 0.05, -0.1), inertia=(0.02, 0.01, 0.02))
    return b.build()
