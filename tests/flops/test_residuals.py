"""Printed counts against executed printed algorithms: the stated residuals, exactly, on random trees."""

import re
from functools import cache
from pathlib import Path

import pytest

import mbkern as mb
from mbkern.errors import ModelError
from mbkern.flops import FORMULAS, residuals
from mbkern.flops.residuals import EXECUTED, residual

terms = cache(residuals.terms)  # executes an algorithm on 40 trees
TREES = [mb.zoo.random_tree(1 + seed % 9, seed=1000 + seed) for seed in range(300)]


@pytest.mark.parametrize("formula", FORMULAS)
def test_counts_are_the_formulas_and_the_stated_residuals(formula):
    """300 trees, 50 of them for each of the six formulas, exactly."""
    for model in TREES[list(FORMULAS).index(formula)::len(FORMULAS)]:
        counted = mb.flops.count(model, EXECUTED[formula], level="textbook").total
        stated = residual(formula, mb.flops.model_structure(model))
        assert counted == mb.flops.table1(model)[formula] + stated, model.name


def test_the_trees_have_all_freedoms_and_welds():
    assert {n for model in TREES for n in model.dofs.tolist()} == set(range(7))


@pytest.mark.parametrize("formula", FORMULAS)
def test_several_bodies_on_the_ground(formula):
    builder = mb.ModelBuilder()
    for i, parent in enumerate(("world", "body0", "world", "body2", "body2", "world")):
        joint = (mb.revolute("z"), mb.ball(), mb.free(), mb.universal("x", "y"), mb.weld(), mb.planar("z"))[i]
        builder.add_body(f"body{i}", parent, joint, mass=1.0, com=(0.1, 0.0, 0.2), inertia=(1.0, 1.2, 1.3))
    model = builder.build()
    counted = mb.flops.count(model, EXECUTED[formula], level="textbook").total
    assert counted == mb.flops.table1(model)[formula] + residual(formula, mb.flops.model_structure(model))


@pytest.mark.parametrize(("formula", "bound"), [("DAH", 0.022), ("HZU", 0.032), ("TSP", 0.08), ("OSP", 0.016)])
def test_the_reductions_are_near_their_formulas(formula, bound):
    """Dense composites and a dense M^-1 were 42 to 73 % above DAH."""
    for model in (mb.zoo.pipelayer(), mb.zoo.chain(10), mb.zoo.carousel(12),
                  mb.zoo.binary_tree(15, mb.universal("x", "y"))):
        printed = mb.flops.table1(model)[formula]
        counted = mb.flops.count(model, EXECUTED[formula], level="textbook").total
        assert abs(counted / printed - 1.0) < bound, (model.name, counted, printed)


@pytest.mark.parametrize("formula", FORMULAS)
def test_terms_agree_with_the_residuals_by_hand(formula):
    found = terms(formula)
    for model in TREES[:10]:
        tree = mb.flops.model_structure(model)
        values = [term(tree) for term in residuals.TERMS[formula].values()]
        assert sum(c * x for c, x in zip(found.remains, values, strict=True)) == residual(formula, tree)
        assert sum(c * x for c, x in zip(found.printed, values, strict=True)) == mb.flops.table1(model)[formula]


def test_all_terms_of_highest_degree_are_the_printed_ones():
    for formula in FORMULAS:
        found = dict(zip(terms(formula).terms, terms(formula).remains, strict=True))
        assert {name for name, x in found.items() if x} <= {
            "n", "1", "roots: n^2", "roots: n", "roots: 1", "eta - eta_k", "others: 1", "tau", "others: m", "welds: 1"}


def test_the_page_of_the_documentation_is_what_is_executed():
    page = (Path(__file__).parents[2] / "docs" / "theory" / "flops.md").read_text()
    for formula in FORMULAS:
        assert terms(formula).to_markdown() in page, "python -m mbkern.flops.residuals > docs/theory/flops.md"
    assert residuals.percentages() in page and residuals.readings() in page
    assert not re.search(r":mod:|:func:", page)


def test_no_other_reading_is_as_near():
    """Of trees of more than three bodies, where constants of the root do not decide."""
    rows = [line.split(" | ") for line in residuals.readings(60).splitlines()[2:]]
    for formula in residuals.READINGS:
        far = {row[1]: float(row[3].removesuffix(" %")) for row in rows if row[0] == f"| {formula}"}
        assert min(far, key=far.__getitem__) == "as executed", far


def test_bad_input():
    with pytest.raises(ModelError, match="formula: expected one of EMH"):
        terms("emh")
    with pytest.raises(ModelError, match="formula: expected one of EMH"):
        residual("emh", mb.flops.structure([-1], [1]))
