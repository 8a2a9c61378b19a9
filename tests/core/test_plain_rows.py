"""Every method on a number that is several states side by side, as ordinary Python: one run of its equations for all.

In lanes a number belongs to several states, and with `Model.vary` a constant of the machine does, too. Then equations
must not ask for its size (there is no "if" for some of the states), nor mix the states. The very bits of each state are
those of its own run. `tests/batch` compiles some of these methods; here is each of them, in seconds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases import random_model, random_state
from machines import MACHINES, T

from mbkern import plain

STATES = 3
USING_SIGNS = ("multipliers",)
HAMILTON = {"emh-ldl": ("extended", "sweeps"), "emh-lu": ("extended_lu", "sweeps"), "dah": ("reduced", "sweeps"),
            "hzu": ("multipliers", "sweeps")}
SPEEDS = {"newton-euler-ldl": ("newton_euler", "sweeps"), "newton-euler-lu": ("newton_euler_lu", "sweeps"),
          "lagrange-2": ("lagrange", "sweeps_2"), "lagrange-1": ("lagrange", "sweeps_1"),
          "appell": ("appell", "sweeps")}
CHOSEN = ("hinges in a tree", "any tree on a driven base", "several roots", "rotors and drives")


class Row:
    """Numbers of several states. It has no size to be compared with, as a SIMD register has none."""

    __array_ufunc__ = None  # NumPy leaves its operators to it
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = np.asarray(x, float)

    def _with(self, function, other):
        return Row(function(self.x, other.x if isinstance(other, Row) else float(other)))

    def __add__(self, other):
        return self._with(np.add, other)

    def __sub__(self, other):
        return self._with(np.subtract, other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        return self._with(np.multiply, other)

    def __truediv__(self, other):
        return self._with(np.divide, other)

    def __rtruediv__(self, other):
        return Row(float(other) / self.x)

    def __neg__(self):
        return Row(-self.x)

    def __abs__(self):
        return Row(np.abs(self.x))

    __radd__, __rmul__ = __add__, __mul__

    def __bool__(self):
        raise TypeError("a number of several states is neither true nor false")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __float__ = __int__ = __index__ = lambda self, *_: bool(self)
    __hash__ = None

    def sincos(self):
        return Row([math.sin(x) for x in self.x]), Row([math.cos(x) for x in self.x])

    def root(self):
        return Row(np.sqrt(self.x))


def of_each(function, *given):
    """A function of numbers, state by state; of a number of one state where there is no other."""
    if not any(isinstance(x, Row) for x in given):
        return function(*given)
    rows = [x.x if isinstance(x, Row) else np.full(STATES, float(x)) for x in given]
    return Row([function(*values) for values in zip(*rows, strict=True)])


@pytest.fixture(autouse=True)
def choices_without_branches(monkeypatch):
    """What compiled code chooses in each lane: the smaller and the larger of two, and a sign."""
    number = plain.load("number")
    monkeypatch.setattr(number, "min", lambda a, b: of_each(min, a, b), raising=False)
    monkeypatch.setattr(number, "max", lambda a, b: of_each(max, a, b), raising=False)
    signed = number.with_sign
    for name in USING_SIGNS:
        monkeypatch.setattr(plain.load(name), "with_sign", lambda a, b: of_each(signed, a, b))


def evaluated(method, block, q, x, tau, kind=float):
    """Rates of q and of p (u), with memory full of NaN."""
    hamilton = method in HAMILTON
    module, name = (HAMILTON if hamilton else SPEEDS)[method]
    sweeps = getattr(plain.load(module), name)
    function = sweeps if hamilton else plain.load("right_hand_sides").rhs_of_speeds(sweeps)
    work = np.full(400_000 if method == "appell" else 60_000, np.nan, kind)
    plain.load("drives").evaluate_drives(block, T, work)
    qdot, rate = np.empty(len(q), kind), np.empty(len(x), kind)
    function(block, q, x, tau, qdot, rate, work)
    return qdot, rate


def rows_of(columns):
    """An array of numbers of several states; one that is the same in all of them is an ordinary one."""
    out = np.empty(len(columns), object)
    for i, column in enumerate(columns):
        out[i] = float(column[0]) if (column == column[0]).all() else Row(column)
    return out


def assert_bits(given, expected):
    for i, x in enumerate(given):
        assert np.array_equal(x.x if isinstance(x, Row) else np.full(STATES, x), expected[:, i])


def compare(model, method, blocks):
    states = [random_state(model, seed, T) for seed in range(STATES)]
    Q, X = np.array([q for q, _ in states]), np.array([p for _, p in states])
    tau = np.random.default_rng(1).normal(size=(STATES, model.nv))
    alone = [evaluated(method, *arguments) for arguments in zip(blocks, Q, X, tau, strict=True)]
    together = evaluated(method, rows_of(np.array(blocks).T), rows_of(Q.T), rows_of(X.T), rows_of(tau.T), object)
    for given, expected in zip(together, zip(*alone, strict=True), strict=True):
        assert_bits(given, np.array(expected))


@pytest.mark.parametrize("method", [*HAMILTON, *SPEEDS])
@pytest.mark.parametrize("machine", CHOSEN)
def test_several_states_at_once(machine, method):
    model = random_model(**{**MACHINES[machine], "n": 4})
    compare(model, method, [model.block] * STATES)


@pytest.mark.parametrize("method", [*HAMILTON, *SPEEDS])
def test_machines_that_differ(method):
    rng = np.random.default_rng(2)
    model = random_model(**{**MACHINES["any tree on a driven base"], "n": 4})
    names = [body.name for body in model.body_specs]
    varied = model.vary(names[1], mass=rng.uniform(0.5, 2.0, STATES), com=rng.uniform(-0.3, 0.3, (STATES, 3)),
                        position=rng.uniform(-0.3, 0.3, (STATES, 3)), inertia=rng.uniform(0.2, 0.3, (STATES, 3)))
    varied = varied.vary(names[-1], mass=rng.uniform(0.5, 2.0, STATES)).vary(gravity=rng.normal(size=(STATES, 3)))
    blocks = []
    for values in varied.values:
        block = model.block.copy()
        block[varied.places] = values
        blocks.append(block)
    compare(model, method, blocks)


def test_a_row_has_no_size():
    """So that an "if" in the equations shows here."""
    with pytest.raises(TypeError, match="neither true nor false"):
        max(Row([1.0, 2.0]), 1.5)
    assert (2.0 - np.float64(3.0) * Row([1.0, 2.0]) / 2.0).x.tolist() == [0.5, -1.0]
