"""Formulations of a model with loops, gears, blades: the same constraint objects as everywhere."""

import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import StateError

FORMULATIONS = [mb.analytic.Lagrange, mb.analytic.Maggi, mb.analytic.Kane]


def sleigh_with_gear():
    """A blade, and a wheel that turns with the sleigh."""
    b = mb.ModelBuilder(gravity=(0, 0, 0))
    b.add_body("sleigh", "world", [mb.translate("x", name="x"), mb.translate("y", name="y"),
                                   mb.rotate("z", name="theta")], 1.0, (0.3, 0, 0), (0.2, 0.2, 0.2))
    b.add_body("wheel", "sleigh", mb.revolute("z"), 0.4, inertia=(0.1, 0.1, 0.1), position=(0.2, 0, 0))
    b.add_blade("blade", "sleigh", across="y")
    b.add_gear("wheel", "theta", 3.0)
    return b.build()


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("model", [mb.zoo.four_bar(), sleigh_with_gear()], ids=["loop", "blade and gear"])
def test_accelerations_and_multipliers_are_those_of_the_model(formulation, model):
    system = mb.System(model)
    q, u = system.consistent(system.some_closed_pose, np.linspace(1.0, 2.0, model.nv))
    other = formulation(system)
    assert other.r == model.n_rows
    np.testing.assert_allclose(other.accelerations(q, u), system.accelerations(q, u), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(other.multipliers(q, u), system.constraint_forces(q, system.momenta(q, u)), atol=1e-8)


@pytest.mark.parametrize(("model", "kane", "reduced"), [
    (mb.zoo.four_bar(), 1, 1), (mb.zoo.bricard(), 1, 1), (sleigh_with_gear(), 2, 2)], ids=["loop", "redundant", "gear"])
def test_equations_are_counted_with_the_constraints_of_the_model(model, kane, reduced):
    system = mb.System(model)
    counts = mb.analytic.count_equations(system)
    assert (counts["Lagrange"], counts["Kane"], counts["reduced Volterra"]) == (model.nv, kane, reduced)
    assert mb.analytic.Kane(system).n_equations == kane
    report = mb.analytic.ignorable(system)
    assert not report.found
    if "theta" in report.others:  # position and heading would be ignorable without the blade and the gear
        assert [report.others[name].split(" contains")[0] for name in ("x", "y", "wheel")] == [
            "constraint 0", "constraint 0", "constraint 1"]


def test_redundant_rows_are_left_out():
    system = mb.System(mb.zoo.bricard())
    kane = mb.analytic.Kane(system)
    assert (kane.r, kane.n_equations) == (4, 1)
    q = np.zeros(5)
    _, u = system.consistent(q, np.ones(5))
    np.testing.assert_allclose(kane.accelerations(q, u), system.accelerations(q, u), atol=1e-8)


def test_a_run_is_that_of_the_model():
    system = mb.System(mb.zoo.four_bar())
    q, u = system.consistent(np.zeros(3), [2.0, 0.0, 0.0])
    run = mb.analytic.Kane(system, pose=q).simulate(q, u, (0.0, 0.5), rtol=1e-10, atol=1e-12, t_eval=[0.5])
    ours = system.simulate(q, system.momenta(q, u), (0.0, 0.5), rtol=1e-10, atol=1e-12, t_eval=[0.5])
    np.testing.assert_allclose(run.q[-1], ours.q[-1], atol=1e-8)


def test_two_sources_of_constraints_are_refused():
    rows = mb.analytic.Constraints(lambda t, q, v, a, b, rate: None, 1)
    with pytest.raises(StateError, match="the model has some of its own \\('pin'"):
        mb.analytic.Kane(mb.System(mb.zoo.four_bar()), rows)
