"""Parameters that are set at run time: the machine is then the one that `Model.vary` describes."""

import ctypes

import numpy as np
import pytest
from exported import Caller, machine

import mbkern as mb
from mbkern.core import constants as L
from mbkern.export import parameters
from mbkern.export.kernels.parameters import set_parameter
from mbkern.workspace import places

NAMES = ("gravity", "arm.mass", "arm.com", "plate.inertia", "wrist.mass", "nut.mass", "slide.stiffness",
         "slide.damping", "arm.armature", "wrist.armature", "arm.damping")
VALUES = {"gravity": [0.5, 0.0, -3.7], "arm.mass": [1.7], "arm.com": [0.2, 0.1, -0.1],
          "plate.inertia": [0.03, 0.02, 0.04, 0.001, 0.002, -0.001], "wrist.mass": [0.9], "nut.mass": [0.45],
          "slide.stiffness": [55.0], "slide.damping": [0.9], "arm.armature": [0.23],
          "wrist.armature": [0.2, 0.1, 0.25], "arm.damping": [0.4]}


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    model = machine(function_drive=False)
    system = mb.System(model, "emh-ldl")
    made = mb.export.library(system, tmp_path_factory.mktemp("parameters") / "robot", ("rhs", "energy"),
                             parameters=NAMES)
    q, u = model.random_state(seed=5)
    return model, system, Caller(made), q, system.momenta(q, u, 0.2)


def changed(model):
    """The machine with all the values, by `Model.vary`."""
    varied = model.vary(gravity=[VALUES["gravity"]])
    for name, value in VALUES.items():
        body, _, what = name.rpartition(".")
        if body:
            one = [value] if len(value) > 1 else value
            varied = varied.vary(body=body, **{what: one})
    return varied.model_of(0)


def test_all_parameters(setup):
    model, system, call, q, p = setup
    work, qdot, pdot = np.full(call.size, np.nan), np.empty(model.nq), np.empty(model.nv)
    assert call("rhs", 0.2, q, p, None, qdot, pdot, work=work) == 33  # nothing is in the workspace yet
    assert call("init", work=work) == 0
    assert call("rhs", 0.2, q, p, None, qdot, pdot, work=work) == 0
    expected = system.rhs(q, p, 0.2)
    assert np.allclose((*qdot, *pdot), np.concatenate(expected), rtol=1e-12, atol=1e-12)  # frames lie elsewhere
    other = mb.System(changed(model), "emh-ldl")
    for k, name in enumerate(NAMES):
        value = np.array(VALUES[name])
        assert call.made.robot_parameter_name(k) == name.encode()
        before = pdot.copy()
        assert call.made.robot_set_parameter(*[x for x in arguments(work, k, value)]) == 0
        assert call("rhs", 0.2, q, p, None, qdot, pdot, work=work) == 0
        assert not np.array_equal(before, pdot), name  # each of them does something
    expected = other.rhs(q, p, 0.2)
    assert np.allclose((*qdot, *pdot), np.concatenate(expected), rtol=1e-12, atol=1e-12)
    energy = np.empty(3)
    assert call("energy", 0.2, q, p, energy, work=work) == 0
    assert np.allclose(energy, np.array(other.energy(q, p, 0.2)), rtol=1e-12, atol=1e-12)


def arguments(work, k, value):
    return (work.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(k), value.ctypes.data_as(ctypes.c_void_p))


def test_values_that_are_none(setup):
    _, _, call, *_ = setup
    work = np.zeros(call.size)
    assert call.made.robot_set_parameter(*arguments(work, 0, np.ones(3))) == 33
    assert call("init", work=work) == 0
    before = work.copy()
    for k, value in ((0, [1.0, np.nan, 0.0]), (1, [-1.0]), (8, [0.0]), (99, [1.0]), (-1, [1.0])):
        assert call.made.robot_set_parameter(*arguments(work, k, np.array(value))) == 36
    assert np.array_equal(work, before)


def test_methods_that_keep_inverses(tmp_path):
    with pytest.raises(mb.errors.ExportError, match="keeps inverted inertias"):
        mb.export.library(mb.System(mb.zoo.chain(3), "emh-lu"), tmp_path / "arm", parameters=("body1.mass",))


def test_springs_that_nothing_stretches(tmp_path):
    """They were taken, and did nothing."""
    with pytest.raises(mb.errors.ExportError, match=r"body0\.stiffness: the ball joint .* coordinate of"):
        mb.export.library(mb.System(mb.zoo.chain(2, joint=mb.ball())), tmp_path / "arm", parameters="body0.stiffness")


@pytest.mark.parametrize("model", [*[mb.zoo.random_tree(5, seed=seed) for seed in range(10)], mb.zoo.four_bar()],
                         ids=lambda model: model.name)
def test_constants_are_those_of_vary(model):
    """Mass, centre, inertia of every body that moves: all numbers of the block, but for inverted inertias."""
    rng, names, varied = np.random.default_rng(len(model.name)), [], model
    for b, (body, spec) in enumerate(zip(model.body_names, model.body_specs, strict=True)):
        if places.body_place(model.block, b)[0] < 0:
            continue
        inertia = rng.uniform(0.8, 1.2) * np.array(spec.inertia)
        varied = varied.vary(body=body, mass=[1.3 * spec.mass], com=[rng.normal(size=3)], inertia=[inertia])
        names += [f"{body}.mass", f"{body}.com", f"{body}.inertia"]
    chosen = parameters.settings(model, names)
    block = parameters.base_block(model, chosen)
    behind, words, bodies = parameters.tables(model, block, chosen)
    front, values = np.concatenate([block, behind]), parameters.settings(varied.model_of(0), names)
    call = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 6)(set_parameter.address)
    for k in rng.permutation(len(names)).tolist():
        value = np.array(values[k].nominal)
        assert call(*[x.ctypes.data for x in (words, bodies, front)], k, value.ctypes.data) == 0
    expected = model.block.copy()
    expected[varied.places] = varied.values[0]
    for b in range(model.n_bodies):
        row = places.body_row(block, b)
        front[row + L.ROOT_MASS:row + L.BODY - 1] = expected[row + L.ROOT_MASS:row + L.BODY - 1]
    np.testing.assert_allclose(front[:block.size], expected, rtol=1e-13, atol=1e-13)  # sums in another order
