"""Every kind of constraint on random trees, against the dense motion with multipliers in extended precision.

The kernels run as ordinary Python, so nothing is compiled. The bound is 100 times the larger of machine epsilon times
the condition and the error of the same dense solve in double precision; the condition is that of the mass matrix times
that of the rows on it, as one is solved with the other. More of them, and others:

    MBKERN_FUZZ_FIRST=10000 MBKERN_FUZZ_CONSTRAINTS=2000 python -m pytest -n 0 -s tests/fuzz/test_fuzz_constraints.py
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import count

import numpy as np
import pytest
from closing import KINDS, PLACES, Closed, consistent, drawn, joined, motion_with, with_constraints
from longdense import Dense
from trees import Draw, builder_of

import mbkern as mb
from mbkern import plain

KERNELS, LAYOUT = plain.load("constrained_sweeps"), plain.load("constraint_layout")
FIRST, EACH = int(os.environ.get("MBKERN_FUZZ_FIRST", "0")), int(os.environ.get("MBKERN_FUZZ_CONSTRAINTS", "1"))
EPSILON, FACTOR, TIME = 2.0**-52, 100.0, 0.37
WORST_CONDITION = 1e9


def place_of(tree, a, b) -> str:
    """Where the second body is, seen from the first."""
    paths = [[], []]
    for path, i in zip(paths, (a, b), strict=True):
        while i >= 0:
            path.append(i)
            i = tree.bodies[i].parent
    if b < 0:
        return "on the ground"
    if b in paths[0] or a in paths[1]:
        return "on its own path"
    return "on another branch" if paths[0][-1] == paths[1][-1] else "on another root"


def single_coordinates(tree):
    """(place in q, dof, name) of each coordinate that is its own speed."""
    found, iq, iv = [], 0, 0
    names = builder_of(tree).build().coordinate_names
    for step in (s for b in tree.bodies for s in b.joint):
        if step[0] in ("ball", "free"):
            iq, iv = iq + (7 if step[0] == "free" else 4), iv + (6 if step[0] == "free" else 3)
        elif step[2] is None:
            found.append((iq, iv, names[iq]))
            iq, iv = iq + 1, iv + 1
    return found


class Case:
    """A machine with one constraint, or two, in a state that satisfies them."""

    def __init__(self, tree, constraints, model, q, exact: Closed, double: Closed, condition, places) -> None:
        self.tree, self.constraints, self.model, self.q = tree, constraints, model, q
        self.exact, self.double, self.condition, self.places = exact, double, condition * exact.condition, places


def case_of(seed, kinds) -> Case | None:
    """None where such a tree has no room for the rows, or is no machine."""
    draw = Draw([seed, len(kinds)], general=seed % 3 == 0)
    rng, tree = draw.rng, draw.tree()
    try:
        builder = builder_of(tree)
        coordinates = single_coordinates(tree)
    except mb.errors.ModelError:
        return None
    if not 2 <= tree.nv <= 16:
        return None
    q, wish = draw.configuration(tree), rng.normal(size=tree.nv)
    places, constraints = [], []
    for kind in kinds:
        rng.shuffle(coordinates)
        if "gear" in kind and len(coordinates) < 3:
            return None
        a = int(rng.integers(len(tree.bodies)))
        b = int(rng.choice([i for i in range(-1, len(tree.bodies)) if i != a]))
        constraints.append(drawn(kind, rng, tree, q, TIME, (a, b), coordinates))
        if "gear" not in kind:
            places.append(place_of(tree, a, b))
    dense = Dense(tree, q, TIME)
    mass, _ = dense.mass_and_drift()
    with np.errstate(all="ignore"):
        condition = np.linalg.cond(mass.astype(float))
        if not (np.diag(mass) > 1e-9 * dense.natural_masses()).all() or not condition < WORST_CONDITION:
            return None
        u = consistent(tree, constraints, q, wish, TIME)
    if u is None:
        return None
    exact, double = (motion_with(tree, constraints, q, u, TIME, number) for number in (np.longdouble, np.float64))
    if not condition * exact.condition < WORST_CONDITION:
        return None
    return Case(tree, constraints, with_constraints(tree, constraints, builder), q, exact, double, condition, places)


def call(model, name, *inputs, shapes):
    """A kernel as ordinary Python, on memory full of NaN."""
    block = model.block
    work = np.full(LAYOUT.constrained_size(block), np.nan)
    plain.load("drives").evaluate_drives(block, TIME, work)
    out = [np.full(shape, np.nan) for shape in shapes]
    getattr(KERNELS, name)(block, *inputs, *[x.reshape(-1) for x in out], work)
    return out


def compare(what, given, exact, double, scale, condition=1.0):
    """Fail unless the error is within the bound."""
    e, own = (float(np.max(np.abs(x - exact)) / scale) for x in (given, double))
    bound = FACTOR * max(EPSILON * condition, own)
    assert e <= bound, f"{what}: error {e:.1e} > {bound:.1e}, condition {condition:.1e}"  # not: NaN


def check(case: Case) -> None:
    model, exact, double = case.model, case.exact, case.double
    m, nv, nq = model.n_rows, model.nv, model.nq
    tau, u, p = np.zeros(nv), exact.u.astype(float), exact.p.astype(float)
    g, = call(model, "residuals", case.q, shapes=[m])
    assert np.max(np.abs(g)) < 1e-12 * (1 + np.max(np.abs(case.q))), g
    a, b = call(model, "constraint_matrix", case.q, shapes=[(m, nv), (m,)])
    compare("a", a, exact.a, double.a, np.max(np.abs(exact.a)))
    compare("b", b, exact.b, double.b, max(np.max(np.abs(exact.b)), np.max(np.abs(exact.a))))
    qdot, pdot = call(model, "sweeps", case.q, p, tau, shapes=[nq, nv])
    rates = Dense(case.tree, case.q, TIME)._rates(exact.u)
    plain_rates = Dense(case.tree, case.q, TIME, np.float64)._rates(double.u)
    compare("qdot", qdot, rates, plain_rates, np.max(np.abs(rates)), case.condition)
    compare("pdot", pdot, exact.pdot, double.pdot, np.max(exact.terms), case.condition)
    udot, = call(model, "accelerations", case.q, u, tau, shapes=[nv])
    compare("udot", udot, exact.udot, double.udot, max(exact.caused, np.max(np.abs(exact.udot))), case.condition)


def first_cases(kinds, first, number):
    """That many cases, from a seed on; fewer where the search takes too long."""
    found = []
    for seed in count(first):
        if len(found) == number or seed > first + 400:
            return found
        case = case_of(seed, kinds)
        if case is not None:
            found.append((seed, case))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_on_random_trees(kind):
    cases = first_cases([kind], FIRST, EACH)
    assert cases
    for seed, case in cases:
        try:
            check(case)
        except AssertionError as wrong:
            raise AssertionError(f"seed {seed}: {wrong}") from None


def test_two_at_once_between_all_places():
    """The coverage table: each kind of row beside another one, and bodies in every position to each other."""
    seen: Counter[str] = Counter()
    failures = []
    for k in range(len(KINDS) * EACH):
        kinds = [KINDS[k % len(KINDS)], KINDS[(5 * k + k // len(KINDS) + 3) % len(KINDS)]]
        for seed, case in first_cases(kinds, FIRST + 1000 * k, 1):
            seen.update(case.places)
            try:
                check(case)
            except AssertionError as wrong:
                failures.append(f"{kinds}, seed {seed}: {wrong}")
    print("\n" + "\n".join(f"{seen[name]:6d}  {name}" for name in PLACES))
    assert not failures, "\n".join(failures)
    assert all(seen[name] for name in PLACES)


def test_rows_of_the_reference_are_rates_of_what_it_keeps():
    """By a complex step: a u + b is the rate of g, for all kinds of positions."""
    compared = 0
    for kind in KINDS:
        if kind in ("blade", "disc", "wheel", "sphere"):
            continue
        (_, case), = first_cases([kind], 0, 1)
        step, z = 1e-30, np.clongdouble
        dense = Dense(case.tree, case.q, TIME)
        along = case.q.astype(z) + z(1j * step) * dense._rates(case.exact.u)
        t = z(TIME) + z(1j * step)
        g, _, _ = joined(case.constraints, Dense(case.tree, along, t, z), t)
        assert np.max(np.abs(g.imag / step)) < 1e-14 * np.max(np.abs(case.exact.a)), kind
        compared += 1
    assert compared == len(KINDS) - 4
