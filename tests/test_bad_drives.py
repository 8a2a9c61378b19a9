"""Every public call against what a drive or an argument can do wrong: an error that says what, never a number."""

import warnings

import numba
import numpy as np
import pytest

import mbkern as mb
from mbkern.errors import StateError


@numba.njit
def soon_not_a_number(t):
    x = t if t <= 1.0 else np.nan
    return x, 1.0, 0.0


DRIVES = {  # what is bad at t = 2, and what the message says about it
    "outside its range": (mb.spline([0.0, 0.5, 1.0], [0.0, 0.2, 0.1]), r"it is defined from t = 0 to 1"),
    "overflow": (mb.polynomial([0.0, 0.1, *[0.0] * 38, 1e300]), r"x = inf"),
    "beyond any angle": (mb.polynomial([0.0, 0.1, *[0.0] * 38, 100.0]), r"x = 1.09951e\+14"),
    "sine of a huge angle": (mb.harmonic(1e-13, 1e13), r"omega t \+ phase is 2e\+13"),
    "not a number": (mb.drive(soon_not_a_number), r"x = nan"),
}
GOOD, BAD = 1e-300, 2.0  # times

CALLS = {
    "rhs": lambda s, q, x, t: s.rhs(q, x, t),
    "rhs with tau": lambda s, q, x, t: s.rhs(q, x, t, tau=x),
    "rhs with wrench": lambda s, q, x, t: s.rhs(q, x, t, wrench=np.ones((2, 6))),
    "ode": lambda s, q, x, t: s.ode()(t, np.concatenate([q, x])),
    "accelerations": lambda s, q, x, t: s.accelerations(q, x, t),
    "accelerations with wrench": lambda s, q, x, t: s.accelerations(q, x, t, wrench=np.ones((2, 6))),
    "accelerations by lu": lambda s, q, x, t: s.accelerations(q, x, t, method="newton-euler-lu"),
    "accelerations by lagrange-1": lambda s, q, x, t: s.accelerations(q, x, t, method="lagrange-1"),
    "accelerations by lagrange-2": lambda s, q, x, t: s.accelerations(q, x, t, method="lagrange-2"),
    "accelerations by appell": lambda s, q, x, t: s.accelerations(q, x, t, method="appell"),
    "inverse_dynamics": lambda s, q, x, t: s.inverse_dynamics(q, x, np.ones(2), t),
    "reactions": lambda s, q, x, t: s.reactions(q, x, t),
    "momenta": lambda s, q, x, t: s.momenta(q, x, t),
    "velocities": lambda s, q, x, t: s.velocities(q, x, t),
    "mass_matrix": lambda s, q, x, t: s.mass_matrix(q, t),
    "inverse_mass_matrix": lambda s, q, x, t: s.inverse_mass_matrix(q, t),
    "solve_mass": lambda s, q, x, t: s.solve_mass(q, x, t),
    "solve_mass of columns": lambda s, q, x, t: s.solve_mass(q, np.stack([np.ones(2), x], 1), t),
    "energy": lambda s, q, x, t: s.energy(q, x, t),
    "body_poses": lambda s, q, x, t: s.body_poses(q, t),
    "body_velocities": lambda s, q, x, t: s.body_velocities(q, x, t),
    "body_momenta": lambda s, q, x, t: s.body_momenta(q, x, t),
    "blocks": lambda s, q, x, t: s.blocks(q, t),
    "Appell's coefficients": lambda s, q, x, t: mb.analytic.appell.coefficients(s, q, t),
    "gravity_forces": lambda s, q, x, t: mb.analytic.appell.gravity_forces(s, q, t),
    "rhs_batch": lambda s, q, x, t: batch(s, q, x, t),
    "cfunc": lambda s, q, x, t: c_function(s, q, x, t),
}
WITHOUT_VECTOR = {"mass_matrix", "inverse_mass_matrix", "body_poses", "blocks", "Appell's coefficients",
                  "gravity_forces"}
WITHOUT_Q_NAME = {"rhs_batch", "cfunc"}  # they say which code it was, not which number


def batch(system, q, x, t):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return system.rhs_batch(np.stack([q, q]), np.stack([x, x]), [GOOD, t])
        except RuntimeWarning as warning:
            raise StateError(str(warning)) from None


def c_function(system, q, x, t):
    f = system.cfunc
    dydt = np.empty(4)
    f.ctypes(t, np.concatenate([q, x]), dydt, f.user_data)
    if f.error is not None:
        assert np.isnan(dydt).all()
        raise f.error
    return dydt


def machine(drive):
    """Two pendulums on a cart: the second step of its joint is driven."""
    builder = mb.ModelBuilder()
    builder.add_body("cart", joint=[mb.rotate("z"), mb.translate("x", drive)], mass=2.0, com=(0, 0, -1),
                     inertia=(1, 1, 1))
    builder.add_body("bob", "cart", mb.revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    return mb.System(builder.build())


@pytest.fixture(scope="module")
def systems():
    return {name: machine(drive) for name, (drive, _) in DRIVES.items()}


def all_finite(result):
    parts = result if isinstance(result, tuple | list) else (result,)
    return all(all_finite(part) if isinstance(part, tuple | list) else np.isfinite(part).all() for part in parts)


@pytest.mark.parametrize("fault", DRIVES)
@pytest.mark.parametrize("call", CALLS)
def test_a_drive_without_a_value_is_named(systems, call, fault):
    system, q, x = systems[fault], np.array([0.1, 0.2]), np.array([0.3, -0.4])
    assert all_finite(CALLS[call](system, q, x, GOOD))
    with pytest.raises(StateError) as info:
        CALLS[call](system, q, x, BAD)
    text = str(info.value)
    assert "body 'cart'" in text and "step 2 of its joint (translate x by" in text and "t = 2;" in text
    assert DRIVES[fault][1].replace("\\", "") in text


@pytest.mark.parametrize("bad", [1.7e308, 1e201, np.nan, np.inf])
@pytest.mark.parametrize("argument", ["q", "vector", "t"])
@pytest.mark.parametrize("call", CALLS)
def test_huge_and_missing_numbers_are_refused(systems, call, argument, bad):
    """q, the second vector and t in turn, the last number of each."""
    if argument == "vector" and call in WITHOUT_VECTOR:
        pytest.skip("it takes none")
    system = systems["outside its range"]
    given = {"q": np.array([0.1, 0.2]), "vector": np.array([0.3, -0.4]), "t": GOOD}
    if argument == "t":
        given["t"] = bad
    else:
        given[argument][-1] = bad
    with pytest.raises(StateError) as info:
        CALLS[call](system, given["q"], given["vector"], given["t"])
    if call not in WITHOUT_Q_NAME:
        name = {"q": "q[1]", "t": "t"}.get(argument, "[1")
        assert name in str(info.value) and "expected" in str(info.value)


@pytest.mark.parametrize("call", [call for call in CALLS if call not in WITHOUT_VECTOR])
def test_results_that_overflow_are_errors(systems, call):
    """Numbers that are allowed, squares of which are not: a result, or an error, but no infinity."""
    system = systems["outside its range"]
    try:
        result = CALLS[call](system, np.array([0.1, 0.2]), np.array([1e200, -1e200]), GOOD)
    except StateError:
        return
    assert all_finite(result)


def test_a_cfunc_remembers_the_time_of_its_error():
    f = machine(DRIVES["outside its range"][0]).cfunc
    dydt = np.empty(4)
    for t in (1.5, -0.25):
        f.ctypes(t, np.zeros(4), dydt, f.user_data)
        assert f"t = {t:g}; it is defined from t = 0 to 1" in str(f.error)
