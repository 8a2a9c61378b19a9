"""Which coordinates are ignorable, and why; numbers of equations."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import mbkern as mb
from mbkern.analytic import Constraints, count_equations, ignorable
from mbkern.analytic.cases import box, cart, satellite
from mbkern.analytic.structure import reasons_of

DOWN = (0.0, 0.0, -9.81)


def floating(gravity):
    """A tree on three translations and a ball joint."""
    b = mb.ModelBuilder(gravity=gravity)
    steps = [mb.translate("x", name="x"), mb.translate("y", name="y"), mb.translate("z", name="z"), mb.ball()]
    b.add_body("base", joint=steps, mass=2.0, com=(0.1, 0, 0.2), inertia=(0.3, 0.2, 0.4))
    b.add_body("arm", "base", mb.revolute("y", name="arm"), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.1))
    return b.build()


def free_floating(gravity):
    b = mb.ModelBuilder(gravity=gravity)
    b.add_body("base", joint=mb.free(), mass=2.0, com=(0.1, 0, 0.2), inertia=(0.3, 0.2, 0.4))
    b.add_body("arm", "base", mb.revolute("y", name="arm"), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.1))
    return b.build()


def top(moments, com=(0, 0, 0.3), **options):
    """Precession about the vertical, nutation, spin."""
    b = mb.ModelBuilder(gravity=DOWN)
    steps = [mb.rotate("z", name="psi"), mb.rotate("x", name="theta"), mb.rotate("z", name="phi")]
    b.add_body("top", joint=steps, mass=1.0, com=com, inertia=moments, **options)
    return b.build()


def on_driven_base(drive, axis="x"):
    b = mb.ModelBuilder(gravity=DOWN)
    b.add_body("base", joint=[drive, mb.translate(axis, name="x")], mass=1.0)
    b.add_body("arm", "base", mb.revolute("y", name="arm"), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.1))
    return b.build()


SHAKE = mb.harmonic(0.2, 3.0)
TABLE = {
    "floating without gravity": (floating((0, 0, 0)), {"x", "y", "z"}, "without gravity"),
    "floating with gravity": (floating(DOWN), {"x", "y"}, "across gravity"),
    "oblique gravity": (floating((3.0, 0.0, -9.0)), {"y"}, "across gravity"),
    "free joint without gravity": (free_floating((0, 0, 0)), {"base.x", "base.y", "base.z"}, "without gravity"),
    "free joint with gravity": (free_floating(DOWN), {"base.x", "base.y"}, "across gravity"),
    "cart": (mb.zoo.knife_edge_cart(), {"x"}, "across gravity"),
    "symmetric top": (top((0.2, 0.2, 0.1)), {"psi", "phi"}, "symmetric"),
    "asymmetric top": (top((0.2, 0.25, 0.1)), {"psi"}, "along gravity"),
    "top off its axis": (top((0.2, 0.2, 0.1), com=(0.05, 0, 0.3)), {"psi"}, "along gravity"),
    "top with friction": (top((0.2, 0.2, 0.1), damping=(0.1, 0.0, 0.0)), {"phi"}, "symmetric"),
    "top with a spring": (top((0.2, 0.2, 0.1), stiffness=(0.0, 0.0, 3.0)), {"psi"}, "along gravity"),
    "base driven along": (on_driven_base(mb.translate("y", SHAKE)), {"x"}, "across gravity"),
    "base driven to turn": (on_driven_base(mb.rotate("z", SHAKE)), set(), ""),
    "upward slide": (on_driven_base(mb.translate("y", SHAKE), "z"), set(), ""),
    "pipelayer": (mb.zoo.pipelayer(), set(), ""),
    "box with panels": (mb.zoo.box_with_panels(), {"X", "Y", "Z"}, "without gravity"),
    "turntable chain": (mb.zoo.chain(3, joint=mb.revolute("z"), seed=None), {"body0"}, "fixed axis"),
}


@pytest.mark.parametrize("name", TABLE)
def test_table_of_models(name):
    model, expected, word = TABLE[name]
    report = ignorable(mb.System(model))
    assert set(report.names) == expected, str(report)
    assert len(report) == len(expected) and all(entry in report for entry in expected)
    if expected:
        assert any(word in entry.why for entry in report)
    assert all(("a quaternion" if ".qw" in name else "dL/dq = ") in why for name, why in report.others.items())
    known = (word for found in report for word in (*found.name.split(", "),))
    listed = {*known, *(part for other in report.others for part in other.split(", "))}
    assert listed == set(model.coordinate_names)  # every coordinate is explained
    assert report.explain() == str(report)


PRODUCTS = {"xx": (0.21, 0.2, 0.1, 0, 0, 0), "xy": (0.2, 0.2, 0.1, 0.02, 0, 0), "xz": (0.2, 0.2, 0.1, 0, 0.02, 0),
            "yz": (0.2, 0.2, 0.1, 0, 0, 0.02)}


@pytest.mark.parametrize("inertia", PRODUCTS.values(), ids=PRODUCTS)
def test_products_of_inertia_spoil_the_symmetry(inertia):
    """What the tree shows must not claim a symmetry: where drives act, nothing else is asked."""
    symmetric, other = top((0.2, 0.2, 0.1), com=(0, 0, 0)), top(inertia, com=(0, 0, 0))
    assert "symmetric" in reasons_of(mb.System(symmetric))[2]
    assert 2 not in reasons_of(mb.System(other))
    assert "phi" not in ignorable(mb.System(other))


@pytest.mark.parametrize("com", [(0.01, 0, 0), (0, 0.01, 0)], ids=str)
def test_a_centre_of_mass_off_the_axis_spoils_the_symmetry(com):
    model = top((0.2 + 1e-4 * (com[0] > 0), 0.2 + 1e-4 * (com[1] > 0), 0.1), com=com)  # about the axis: equal moments
    assert 2 not in reasons_of(mb.System(model))


def test_a_free_joint_is_explained():
    """Positions are ignorable though the speeds turn with the body; orientations never are, and the report says why."""
    model, _, _ = TABLE["free joint with gravity"]
    lines = ignorable(mb.System(model)).explain().splitlines()
    assert len(lines) == 5  # x, y, z, the quaternion, the arm
    assert all("across gravity" in line and "its speeds are in body axes" in line for line in lines[:2])
    assert lines[2].startswith("base.z: no; dL/dq = -29.4")  # the weight of 3 kg
    assert any("base.qw, base.qx, base.qy, base.qz: no; a quaternion" in line and "body axes" in line for line in lines)


def test_forces_and_constraints_count():
    case = cart()
    assert ignorable(case.system, case.constraints).names == ("x",)

    @njit
    def rail(t, q, v, a, b, rate):
        a[0, 0], a[0, 1] = 1.0, -0.2

    @njit
    def wind(t, q, v, out):
        out[0] = -0.1 * v[0]

    assert "constraint 0 contains its speed" in ignorable(case.system, Constraints(rail, 1)).others["x"]
    assert "a force of" in ignorable(case.system, forces=wind).others["x"]
    assert ignorable(case.system, forces=[0.0, 1.0, 0.0]).names == ("x",)
    assert satellite().formulations()["Volterra"].s == 3


def test_momenta_of_what_is_found_are_constant():
    """Independent of how it was found: Hamilton's equations of the whole system keep them, to the integration error."""
    for name in ("symmetric top", "base driven along", "turntable chain"):
        model, expected, _ = TABLE[name]
        system = mb.System(model)
        q, u = model.random_state(seed=4)
        run = system.simulate(q, system.momenta(q, u), (0.0, 2.0), rtol=1e-10, atol=1e-11)
        for coordinate in expected:
            p = run.p[:, model.index(coordinate)]
            assert np.abs(p - p[0]).max() < 1e-9


def test_counts():
    """The paper's Table 1 for its case studies."""
    case = cart()
    assert count_equations(case.system, case.constraints) == {
        "Lagrange": 3, "Maggi": 3, "Udwadia": 3, "Gibbs-Appell": 2, "Kane": 2, "Boltzmann-Hamel": 2,
        "standard Volterra": 2, "reduced Volterra": 1, "Volterra": 1, "Routh": 2}
    assert count_equations(box().system)["Volterra"] == 5
    third = satellite()
    counts = count_equations(third.system, forces=third.forces)
    assert [counts[name] for name in ("Lagrange", "Kane", "Volterra", "Routh")] == [7, 7, 4, 4]
