"""Every compiled kernel against its readable twin on random trees, and each names the other."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import reference
from cases import assert_close, random_loads, random_model, random_state

import mbkern as mb
from mbkern import textbook
from mbkern.errors import MethodError, ModelError, StateError
from mbkern.methods import ACCELERATIONS, METHODS

FAMILIES = ("chain", "carousel", "binary", "random")
TWINS = {"extended": "emh", "extended_lu": "emh_lu", "reduced": "dah", "multipliers": "hzu",
         "newton_euler": "newton_euler", "newton_euler_lu": "newton_euler", "lagrange": "lagrange",
         "appell": "appell"}


def case(seed):
    model = random_model(FAMILIES[seed % 4], 7, seed, springs=True, rotors=seed % 2 == 1)
    tau, _ = random_loads(model, seed)
    return model, *random_state(model, seed), tau


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(8))
def test_right_hand_sides(method, seed):
    model, q, p, tau = case(seed)
    qdot, pdot = textbook.rhs(model, q, p, 0.37, tau, method)
    expected = mb.System(model, method).rhs(q, p, 0.37, tau)
    # both lose a few digits to the condition of the matrices
    assert_close(qdot, expected[0], 1e-9, "qdot")
    assert_close(pdot, expected[1], 1e-9, "pdot")


@pytest.mark.parametrize("method", textbook.METHODS)
@pytest.mark.parametrize("seed", range(8, 12))
def test_right_hand_sides_against_the_dense_reference(method, seed):
    model, q, p, tau = case(seed)
    expected = reference.hamilton(model, q, p, 0.37, tau)
    qdot, pdot = textbook.rhs(model, q, p, 0.37, tau, method)
    assert_close(qdot, expected.qdot, 1e-9, "qdot")
    assert_close(pdot, expected.pdot, 1e-9, "pdot")


@pytest.mark.parametrize("method", textbook.ACCELERATIONS)
@pytest.mark.parametrize("seed", range(8))
def test_accelerations(method, seed):
    model, q, p, tau = case(seed)
    system = mb.System(model)
    u = system.velocities(q, p, 0.37)
    udot, R = textbook.accelerations(model, q, u, 0.37, tau, method)
    assert_close(udot, system.accelerations(q, u, 0.37, tau, method=method), 1e-9, "udot")
    assert_close(R, system.reactions(q, p, 0.37, tau), 1e-9, "reactions")


def test_all_methods_have_a_twin():
    assert set(METHODS) <= set(textbook.METHODS)
    assert set(ACCELERATIONS) == set(textbook.ACCELERATIONS)


@pytest.mark.parametrize(("kernel", "twin"), TWINS.items())
def test_each_names_the_other(kernel, twin):
    core = (Path(mb.__file__).parent / "core" / f"{kernel}.py").read_text().split('"""')[1]
    assert f"mbkern.textbook.{twin}`" in core
    assert f"mbkern.core.{kernel}`" in importlib.import_module(f"mbkern.textbook.{twin}").__doc__


def test_equations_ship_with_the_package():
    text = textbook.equations()
    assert "Misprints in the printed sources" in text and "235/6 eta_{k_i}" in text
    assert (Path(mb.__file__).parents[1] / "docs" / "theory" / "equations.md").read_text() == text


def test_bad_input():
    model = mb.zoo.chain(2)
    with pytest.raises(MethodError, match="method: expected one of emh-ldl"):
        textbook.rhs(model, [0, 0], [0, 0], method="lu")
    with pytest.raises(MethodError, match="method: expected one of newton-euler-ldl"):
        textbook.accelerations(model, [0, 0], [0, 0], method="emh-ldl")
    with pytest.raises(StateError, match="p"):
        textbook.rhs(model, [0, 0], [0, np.nan])
    with pytest.raises(StateError, match="tau"):
        textbook.rhs(model, [0, 0], [0, 0], tau=[1.0])
    builder = mb.ModelBuilder()
    builder.add_body("light", joint=mb.revolute("z"))
    builder.add_body("heavy", "light", mb.revolute("x"), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match="light"):
        textbook.rhs(builder.build(), [0, 0], [0, 0], method="hzu")
