"""Arguments of batches against values that are wrong: an error of ours in words, or a row that says what is wrong.

On the machine and with the methods that the other tests of this folder have compiled.
"""

from __future__ import annotations

import hostile
import numpy as np
import pytest
from hostile import NAN, Raising, arrays, counts, flags, lists_of_names, names, numbers, things

import mbkern as mb

B = 5
SYSTEM = mb.System(mb.zoo.chain(3), "emh-ldl")
MODEL = SYSTEM.model
Q, P, TAU = np.random.default_rng(0).normal(size=(3, B, 3))
FIXED = dict(t_span=(0.0, 0.02), integrator="rk4", step=0.01)


def rows(right):
    """A number that is none spoils its row alone."""
    for is_right, what, value in arrays(right):
        yield (None if what in ("NaN", "infinity", "minus infinity") else is_right), what, value


def times(right):
    for is_right, what, value in numbers(right):
        yield (None if what in ("nan", "inf", "-inf") else is_right), what, value
    yield False, "one too many", np.zeros(B + 1)


def threads(right):
    """At most so many."""
    for is_right, what, value in counts(right):
        yield (None if isinstance(value, int) and value > 0 else is_right), what, value


def spans(right):
    yield from things(right)
    for bad in (None, "ab", (0.0,), (0, 1, 2), (0.0, NAN), {0.0, 1.0}, ((0, 1), (1, 2)), (0.0, "a"), (0.0, Raising())):
        yield False, repr(bad)[:30], bad


def indices(right):
    """From the front, or from the back."""
    for is_right, what, value in counts(right):
        yield (None if what in ("-1", "0") else is_right), what, value


def machines(right):
    yield from things(right)
    yield False, "of more states", MODEL.vary("body0", mass=np.ones(B + 1))
    yield False, "of another model", mb.zoo.chain(4).vary("body0", mass=np.ones(B))


def places(right):
    """Arrays to write into."""
    yield from things(right)
    for what, change in {"single": lambda x: x.astype("f4"), "short": lambda x: x[:-1], "lists": np.ndarray.tolist,
                         "masked": np.ma.array, "columns": np.asfortranarray}.items():
        yield False, what, tuple(change(x) for x in right)


def rates(**given):
    """Rows without a fault; the others have no numbers."""
    Qdot, Pdot, status = SYSTEM.rhs_batch(**given, return_status=True)
    assert np.isnan(Qdot[status != 0]).all() and np.isnan(Pdot[status != 0]).all()
    return Qdot[status == 0], Pdot[status == 0]


def final(**given):
    """Those that have reached the end."""
    solution = SYSTEM.simulate_batch(**{**FIXED, "Q0": Q, "P0": P, "reduce": "final", **given})
    assert all(isinstance(solution.message(i), str) for i in range(B))
    return solution.q[solution.success]


def nothing(function, **fixed):
    def call(**given):
        function(**fixed, **given)
        return ()
    return call


RUN = dict(system=SYSTEM, states=(Q, P), **FIXED)
CALLS = {
    "rhs_batch": (rates, dict(
        Q=(rows, Q), P=(rows, P), t=(times, 0.1), tau=(rows, TAU), threads=(threads, 1),
        parameters=(machines, MODEL.vary("body0", mass=np.linspace(1, 2, B))))),
    "rhs_batch out": (nothing(SYSTEM.rhs_batch, Q=Q, P=P), dict(out=(places, (np.zeros((B, 3)), np.zeros((B, 3)))))),
    "simulate_batch": (final, dict(
        Q0=(rows, Q), P0=(rows, P), t_span=(spans, (0.0, 0.02)), integrator=(names, "rk4"), step=(numbers, 0.01),
        threads=(threads, 1), tau=(rows, TAU), progress=(flags, False), reduce=(names, "final"))),
    "ensemble.run": (nothing(lambda **given: mb.ensemble.run(**{**RUN, **given})), dict(
        system=(things, SYSTEM), states=(things, (Q, P)), t_span=(spans, (0.0, 0.02)), chunk=(counts, 2),
        stream=(flags, False), progress=(flags, False), threads=(threads, 1), t_eval=(arrays, np.array([0.01, 0.02])))),
    "vary": (nothing(MODEL.vary("body0", mass=np.ones(3)).vary), dict(
        body=(names, "body1"), mass=(arrays, np.ones(3)), position=(arrays, np.ones((3, 3))),
        damping=(arrays, np.ones((3, 1))))),
    "model_of": (nothing(MODEL.vary("body0", mass=np.ones(3)).model_of), dict(i=(indices, 1))),
}
#: One constant for all states, one row of joint forces for all: no mistake.
ALLOWED = {"damping (one number) is accepted"}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_batches(name, capsys):
    call, kinds = CALLS[name]
    right = {argument: value for argument, (_, value) in kinds.items()}
    found = hostile.check(call, {argument: kind for argument, (kind, _) in kinds.items()}, right)
    assert not set(found) - ALLOWED


def test_what_a_batch_has_done():
    batch = SYSTEM.simulate_batch(Q, P, **FIXED)
    for call, kinds, right in (
            (nothing(batch.message), {"i": indices}, {"i": 1}),
            (nothing(batch.plot), {"coordinates": lists_of_names}, {"coordinates": [MODEL.coordinate_names[0]]}),
            (nothing(batch.plot), {"axes": things}, {"axes": None})):
        assert not hostile.check(call, kinds, right)
    with pytest.raises(mb.errors.ModelError, match="expected a slice"):
        MODEL.vary("body0", mass=np.ones(3))[0]
