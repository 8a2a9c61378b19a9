"""Bodies as columns: the quick way to a row of numbers and the careful one agree, objects come back bit by bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mbkern as mb
from mbkern.model import checks, numbers
from mbkern.model.columns import NOTHING, columns_of

COMS = [(0.0, 0.0, 0.0), [0.1, -0.2, 0.3], (0, 0, 1), np.array([0.1, 0.2, 0.3]), (1e200, 0.0, 0.0), (np.nan, 0.0, 0.0),
        (0.0, 1.0), "abc", (0.0, np.float64(1.0), 0.0), iter((0.0, 0.0, 0.0)), (-0.0, 0.0, 0.0)]
INERTIAS = [None, (1.0, 1.0, 1.0), [0.1, 0.2, 0.3], (0.1, 0.2, 0.3000001), (0.1, 0.2, 0.4), (0.0, 0.0, 0.0), (1, 1, 1),
            (-1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 0.1, 0.0, 0.0), ((1.0, 0.1, 0.0), (0.1, 1.0, 0.0), (0.0, 0.0, 1.0)),
            [[1.0, 0.1, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]],
            ((1.0, 0.1 + 1e-9, 0.0), (0.1, 1.0, 0.0), (0.0, 0.0, 1.0)), ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0)),
            (1e200, 1e200, 1e200), (np.inf, 1.0, 1.0), (1.0, (1.0,), 1.0), (0.1, 0.2, 0.1), (0.0, 1.0, 1.0)]
S, C = 0.6, 0.8
ROTATIONS = [None, ((1.0, 0.0, 0.0), (0.0, C, -S), (0.0, S, C)), [[C, -S, 0.0], [S, C, 0.0], [0.0, 0.0, 1.0]],
             [[C, -S, 0.0], [S, C, 0.0], [0.0, 0.0, 1.0 + 1e-8]], [[C, -S, 0.0], [S, C, 0.0], [0.0, 0.0, 1.0 + 3e-15]],
             [[C, -S, 0.0], [S, C, 0.0], [0.0, 0.0, -1.0]], [[C, S, 0.0], [S, C, 0.0], [0.0, 0.0, 1.0]],
             [[1, 0, 0], [0, 1, 0], [0, 0, 1]], (1.0, 0.0, 0.0, 0.0), np.eye(3), ((1.0, 0.0, 0.0), 1.0, 2.0),
             [[np.nan, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 3.0]
MASSES = [1.0, 0.0, 2, np.float64(0.5), -1.0, np.inf, 1e300, True, "1"]


def carefully(mass, com, inertia, position, rotation):
    """The row by the functions of `checks` alone, or the words of what they refuse."""
    quick, numbers.usual_row = numbers.usual_row, lambda *given: None
    try:
        return numbers.row(mass, com, inertia, position, rotation, True)
    except mb.errors.ModelError as error:
        return str(error)
    finally:
        numbers.usual_row = quick


def quickly(*given):
    try:
        return numbers.row(*given, True)
    except mb.errors.ModelError as error:
        return str(error)


@pytest.mark.parametrize("com", range(len(COMS)))
def test_the_quick_row_is_the_careful_one(com):
    """Values of every form, good and bad: the same bits, and the same words."""
    for mass, inertia, rotation in itertools.product(MASSES, INERTIAS, ROTATIONS):
        given = (mass, COMS[com], inertia, COMS[(com + 1) % len(COMS)], rotation)
        assert quickly(*given) == carefully(*given), given


def test_the_quick_row_is_taken():
    """Else large models take thrice as long, and nobody notices."""
    row = numbers.usual_row(1.0, [0.1, 0.2, 0.3], (0.1, 0.2, 0.2), (0.0, 0.0, 1.0), ROTATIONS[1])
    assert np.frombuffer(row).tolist() == [
        1.0, 0.1, 0.2, 0.3, 0.1, 0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 1.0,
        1.0, 0.0, 0.0, 0.0, C, -S, 0.0, S, C]
    full = ((1.0, 0.1, 0.0), (0.1, 1.0, 0.0), (0.0, 0.0, 1.0))
    assert np.frombuffer(numbers.usual_row(1.0, (0.0, 0.0, 0.0), full, (0.0, 0.0, 0.0), None))[5] == 0.1


def test_possible_inertias():
    """The short way for diagonal ones is the long one."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        a, b = rng.uniform(0.0, 1.0, 2)
        for c in (a + b, (a + b) * (1.0 + 1e-6), (a + b) * (1.0 + 3e-6), a, 0.0, -1e-13, -1e-11):
            tiny = 1e-300  # not zero, and lost in all sums
            assert checks.is_possible(a, b, c, 0.0, 0.0, 0.0) == checks.is_possible(a, b, c, tiny, 0.0, 0.0)


def test_objects_and_columns():
    """To and fro, with what only some bodies have."""
    b = mb.ModelBuilder()
    b.add_body("hand", "arm", mb.ball(), mass=1.0, inertia=(1, 1, 1), damping=(0.1, 0.2, 0.3))
    b.add_body("arm", "base", mb.revolute("y"), mass=-0.0, com=(-0.0, 0, 1), limits=(-1, 1), stiffness=3.0, rest=0.1)
    b.add_body("base", joint=mb.prismatic("x"), mass=2.0, rotation=(0.6, 0.8, 0, 0), friction=0.2, armature=0.4)
    model = b.build()
    assert model.body_names == ("base", "arm", "hand") and model.parents.tolist() == [-1, 0, 1]
    twin = columns_of(model.body_specs)
    assert twin.bodies() == model.body_specs and twin.numbers.tobytes() == model._columns.numbers.tobytes()
    assert sorted(twin.extras) == [0, 1, 2] and twin.extras == model._columns.extras
    assert model.damping.tolist() == [0.0, 0.0, 0.1, 0.2, 0.3] and model.stiffness.tolist() == [0.0, 3.0, 0.0, 0.0, 0.0]
    assert model.limits.lower.tolist() == [-np.inf, -1.0, *[-np.inf] * 3] and model.armature.tolist()[0] == 0.4
    assert model.rest.tolist()[1] == 0.1 and model.friction.tolist() == [0.2, 0.0, 0.0, 0.0, 0.0]
    assert model.body_specs[2][9] == (0.1, 0.2, 0.3) and model.body_specs[0].rotation[1][1] == pytest.approx(-0.28)


def test_bodies_without_extras_keep_none():
    model = mb.zoo.chain(4)
    assert not model._columns.extras and columns_of(model.body_specs).extras == {}
    assert {body[8:] for body in model.body_specs} == {NOTHING[1]}
    assert len(model._columns.kinds) == 1


def test_a_builder_goes_on_after_a_model():
    """What is added later is not in the model that was built before."""
    b = mb.ModelBuilder()
    b.add_body("a", joint=mb.revolute("y"), mass=1.0, inertia=(1, 1, 1))
    first = b.build()
    b.add_body("b", "a", mb.revolute("y"), mass=1.0, inertia=(1, 1, 1), damping=1.0)
    assert first.n_bodies == len(first.body_specs) == 1 and first.damping.tolist() == [0.0]
    assert b.build().damping.tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        first.parents[0] = 3
