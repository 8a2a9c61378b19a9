"""Trees that aim at every special case of the kernels, against the dense reference in extended precision.

The bound is 100 times the larger of machine epsilon times the condition of the mass matrix and the error of the dense
reference in double precision. Both errors are relative to the same size: the largest number of the result or, where a
result is a sum that may cancel, the sizes of what is added up, which the reference takes from its own terms in world
axes (`Answer.pdot_terms`): the weight of a balanced wheel has no moment about its axle, and zero no relative error.
Nothing else widens the bound. Other trees, and more of them:

    MBKERN_FUZZ_FIRST=10000 MBKERN_FUZZ_TREES=20000 python -m pytest -n 0 -s tests/fuzz

which also prints how often each special case was reached.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from longdense import Answer, Body, Dense, Tree, motion
from special_cases import REQUIRED, cases, table
from trees import UNIT, Draw, build

import mbkern as mb
from mbkern.identification.parameters import inertial_parameters

TREES = 1500
FIRST, COUNT = int(os.environ.get("MBKERN_FUZZ_FIRST", "0")), int(os.environ.get("MBKERN_FUZZ_TREES", TREES))
EPSILON = 2.0 ** -52
FACTOR = 100.0
WORST_CONDITION = 1e12  # beyond it, 100 epsilon times condition is no bound
# A dof that moves less than this part of its bodies' inertia about other axes may be refused as singular: its
# pivot is what rounding leaves of zero (PIVOT_TOLERANCE of the kernels).
SMALLEST_PART = 1e-13
NO_DIGITS = 1e-17  # a smaller part is rounding in the reference itself, whose numbers have 64 bits
TIME = 0.37


@dataclass
class Case:
    """A tree in a state, and what is true of it."""

    tree: Tree
    model: mb.Model
    q: np.ndarray
    u: np.ndarray
    p: np.ndarray
    condition: float
    smallest_part: float
    exact: Answer
    double: Answer


def draw(seed, general=None) -> Case | None:
    """The tree of a seed; None where the description itself has no motion."""
    random = Draw(seed, general)
    return state(random, random.tree())


def state(random: Draw, tree: Tree) -> Case | None:
    """A tree in a random state."""
    try:
        model = build(tree)
    except mb.errors.ModelError as error:
        assert "to move" in str(error)
        return None
    q, u = random.configuration(tree), random.rng.normal(size=tree.nv)
    dense = Dense(tree, q, TIME)
    mass, _ = dense.mass_and_drift()
    diagonal = np.diag(mass)
    if tree.nv == 0 or not (diagonal > 1e-25 * dense.natural_masses()).all():
        return None
    singular = np.linalg.svd(mass.astype(float), compute_uv=False)
    if not singular[-1] * WORST_CONDITION > singular[0]:
        return None
    p = dense.momenta(u).astype(float)
    with np.errstate(all="ignore"):
        double = Dense(tree, q, TIME, np.float64).answer(p)
    smallest_part = float((diagonal / dense.natural_masses()).min())
    if not np.isfinite(double.u).all():
        # a rod on its axis: its mass matrix in world axes is rounding in float64, and of longdouble too (ours is not)
        assert smallest_part < NO_DIGITS
        return None
    return Case(tree, model, q, u, p, singular[0] / singular[-1], smallest_part, dense.answer(p), double)


def error(given, exact, scale) -> float:
    difference = np.max(np.abs(np.asarray(given) - exact))
    return float(difference / scale) if difference else 0.0


def check(case: Case, what: str, given, exact, double, scale) -> None:
    """Fail unless the error of `given` is within the bound."""
    e = error(given, exact, scale)
    bound = FACTOR * max(EPSILON * case.condition, error(double, exact, scale))
    assert e <= bound, f"{what}: error {e:.1e} > {bound:.1e}, condition {case.condition:.1e}"  # not: NaN


def check_rates(case: Case, what: str, qdot, pdot) -> None:
    exact, double = case.exact, case.double
    check(case, f"{what} qdot", qdot, exact.qdot, double.qdot, np.max(np.abs(exact.qdot)))
    check(case, f"{what} pdot", pdot, exact.pdot, double.pdot, np.max(exact.pdot_terms))


def check_all(case: Case) -> None:
    """Rates, rates of a batch, momenta, velocities and energies of the default method."""
    system, exact, double = mb.System(case.model, "emh-ldl"), case.exact, case.double
    check_rates(case, "rhs", *system.rhs(case.q, case.p, TIME))
    Q, P = np.tile(case.q, (5, 1)), np.tile(case.p, (5, 1))
    Qdot, Pdot = system.rhs_batch(Q, P, TIME)
    for i in (0, 4):  # a lane, and what is left over
        check_rates(case, "batch", Qdot[i], Pdot[i])
    largest = np.max(np.abs(exact.u))
    check(case, "velocities", system.velocities(case.q, case.p, TIME), exact.u, double.u, largest)
    again = system.velocities(case.q, system.momenta(case.q, case.u, TIME), TIME)
    check(case, "velocities of momenta", again, case.u, double.u - exact.u + case.u, largest)
    energy = system.energy(case.q, case.p, TIME)
    size = np.abs(case.p) @ np.abs(exact.u) + exact.kinetic + exact.potential_terms
    for name in ("kinetic", "potential", "hamiltonian"):
        check(case, name, getattr(energy, name), getattr(exact, name), getattr(double, name), size)


def refused(case: Case) -> bool:
    """Whether the case may be refused as singular."""
    return case.smallest_part < SMALLEST_PART


def test_every_special_case_agrees_with_the_reference():
    seen: Counter[str] = Counter()
    failures = []
    for seed in range(FIRST, FIRST + COUNT):
        case = draw(seed)
        if case is None:
            continue
        try:
            check_all(case)
        except mb.errors.SingularInertiaError as wrong:
            if not refused(case):
                failures.append(f"seed {seed}: {wrong}")
            continue
        except AssertionError as wrong:
            failures.append(f"seed {seed}: {wrong}")
        seen.update(cases(case.model))
    print(f"\n{table(seen)}")
    assert not failures, f"{len(failures)} trees:\n" + "\n".join(failures[:40])
    missing = [name for name in REQUIRED if not seen[name]]
    assert not missing or COUNT < TREES, f"never reached: {missing}"


def check_motion(case: Case, udot: np.ndarray) -> None:
    """Momenta, mass matrix, joint forces, accelerations and regressors. What is no solution of equations has nothing to
    do with the condition of the mass matrix: 100 epsilon of the sizes that are added up."""
    system, q, u = mb.System(case.model, "emh-ldl"), case.q, case.u
    exact, double = (motion(case.tree, q, u, TIME, number) for number in (np.longdouble, np.float64))
    given, moving = replace(case, condition=1.0), np.abs(exact.M) @ np.abs(u) + np.abs(exact.p)
    check(given, "momenta", system.momenta(q, u, TIME), exact.p, double.p, np.max(moving))
    check(given, "mass matrix", system.mass_matrix(q, TIME), exact.M, double.M, np.max(np.abs(exact.M)))
    tau, size = system.inverse_dynamics(q, u, udot, TIME), np.max(np.abs(exact.M) @ np.abs(udot) + exact.terms)
    check(given, "joint forces", tau, exact.forces(udot), double.forces(udot), size)
    # where the forces balance, as those of gravity on a balanced wheel, accelerations are rounding of what each causes
    caused = np.max(np.abs(np.linalg.inv(exact.M.astype(float))) @ exact.terms.astype(float))
    check(case, "accelerations", system.accelerations(q, u, TIME), exact.udot, double.udot,
          max(caused, np.max(np.abs(exact.udot))))
    if any(any(body.armature) for body in case.tree.bodies):
        return  # rotors are no part of regressors
    pi = inertial_parameters(case.model)
    for name, arguments, truth, other in (
            ("momentum", (), exact.p, double.p), ("momentum_rate", (), exact.pdot, double.pdot),
            ("torque", (udot,), exact.forces(udot), double.forces(udot))):
        Y = getattr(system, f"{name}_regressor")(q, u, *arguments, TIME)
        check(given, f"{name} regressor", Y @ pi, truth, other, np.max(np.abs(Y) @ np.abs(pi)))


def test_joint_forces_accelerations_and_regressors():
    failures = []
    for seed in range(FIRST, FIRST + COUNT // 5):
        case = draw(seed)
        if case is None or case.smallest_part < NO_DIGITS:
            continue
        try:
            check_motion(case, np.random.default_rng(seed).normal(size=case.tree.nv))
        except mb.errors.SingularInertiaError as wrong:
            if not refused(case):
                failures.append(f"seed {seed}: {wrong}")
        except AssertionError as wrong:
            failures.append(f"seed {seed}: {wrong}")
    assert not failures, f"{len(failures)} trees:\n" + "\n".join(failures[:40])


@pytest.mark.parametrize("mass", [1.0, 10.0, 1e4])
def test_a_light_child_does_not_pull_the_frame_of_a_heavy_body_away(mass):
    """The common perpendicular of the two axes is half a metre from the heavy body, whose inertia is small."""
    hinge = {axis: (("rotate", UNIT[axis], None),) for axis in "xz"}
    tree = Tree((Body(-1, hinge["z"], 0.0, inertia=(1e-4, 1e-4, 1e-4)), Body(0, hinge["x"], mass, (0.0, 1e-3, 0.0)),
                 Body(1, hinge["z"], 0.01, (0.5, 0.3, 0.0), (1e-3, 1e-3, 1e-3), position=(-0.5, -0.4, 0.5))))
    for seed in range(5):
        case = state(Draw(seed), tree)
        assert case is not None
        check_all(case)


@pytest.mark.parametrize("method", ["dah", "emh-lu", "hzu"])
def test_the_other_methods_on_trees_in_general_position(method):
    """dah on special ones too; the others lose digits by mass ratios and far frames: at most what `accuracy` says, and
    less than what there would be a warning of."""
    lost = 0
    for seed in range(FIRST, FIRST + COUNT // 10):
        case = draw(seed, None if method == "dah" else True)
        if case is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                system = mb.System(case.model, method)
                rates = system.rhs(case.q, case.p, TIME)
            except mb.errors.SingularInertiaError:
                assert refused(case) or method != "dah", seed
                continue
        try:
            check_rates(case, f"{method}, seed {seed}", *rates)
        except AssertionError:
            loss, exact = system.accuracy(case.q, case.p, TIME), case.exact
            if method == "dah" or not error(rates[0], exact.qdot, np.max(np.abs(exact.qdot))) <= 10.0 * loss < 1e-5 or (
                    not error(rates[1], exact.pdot, np.max(exact.pdot_terms)) <= 10.0 * loss):
                raise
            lost += 1
    assert lost <= COUNT // 100


def test_the_reference_by_a_complex_step():
    """-dH/dq of the reference's own Hamiltonian, exactly: its formula for dp/dt is right."""
    compared = 0
    for seed in range(60):
        case = draw(seed, True)
        if case is None or case.tree.nq != case.tree.nv:
            continue
        slope = np.empty(case.tree.nv)
        for j in range(case.tree.nv):
            q = case.q.astype(np.clongdouble)
            q[j] += 1e-30j
            slope[j] = Dense(case.tree, q, TIME, np.clongdouble).answer(case.p).hamiltonian.imag / 1e-30
        assert error(-slope, case.exact.pdot, np.max(case.exact.pdot_terms)) < 1e-15 * case.condition
        compared += 1
    assert compared > 10


def test_the_reference_of_a_pendulum():
    tree = Tree((Body(-1, (("rotate", (0.0, 1.0, 0.0), None),), 2.0, (0.0, 0.0, -0.5)),), (0.0, 0.0, -10.0))
    answer = Dense(tree, [0.3]).answer([0.7])
    assert abs(answer.u[0] - 0.7 / 0.5) < 1e-15
    assert abs(answer.pdot[0] + 2.0 * 10.0 * 0.5 * np.sin(0.3)) < 1e-14
    assert abs(answer.hamiltonian - (0.7 ** 2 / 1.0 - 10.0 * np.cos(0.3))) < 1e-14
