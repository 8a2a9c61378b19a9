"""The printed algorithms: their results against the dense reference, their executed operations against the formulas."""

import numpy as np
import pytest
import reference
from cases import assert_close, random_loads, random_model, random_state

import mbkern as mb
from mbkern.errors import ModelError
from mbkern.flops.textbook import TEXTBOOK

SEEDS = range(50)


def mixed_tree(seed):
    """A random tree on one root body: welds, 1 to 6 freedoms, driven joints."""
    return mb.zoo.random_tree(1 + seed % 11, seed=seed)


def executed(model, method):
    return mb.flops.count(model, method, level="textbook")


def cholesky_less_emh(model):
    """What the literal count of Algorithm 2 differs by from the printed EMH, worked out by hand."""
    tree = mb.flops.model_structure(model)
    return sum(44 * n - 84 if k >= 0 else -(6 * n * n + 10 * n + 60) for k, n in zip(tree.parents, tree.n, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_ldl_is_era(seed):
    model = mixed_tree(seed)
    assert executed(model, "emh-ldl").total == mb.flops.table1(model)["ERA"]


@pytest.mark.parametrize("seed", SEEDS)
def test_cholesky_is_emh_and_the_known_difference(seed):
    model = mixed_tree(seed)
    assert executed(model, "emh-cholesky").total == mb.flops.table1(model)["EMH"] + cholesky_less_emh(model)


def test_the_random_trees_have_all_freedoms():
    assert {n for seed in SEEDS for n in mixed_tree(seed).dofs.tolist()} == set(range(7))


def test_several_roots():
    model = random_model("random", 9, seed=8)
    assert (model.parents < 0).sum() > 1
    assert executed(model, "emh-ldl").total == mb.flops.table1(model)["ERA"]
    assert executed(model, "emh-cholesky").total == mb.flops.table1(model)["EMH"] + cholesky_less_emh(model)


def test_line_by_line():
    # a root with 3 freedoms and a child with 2: the ledger of the Russian paper
    steps = executed(mb.zoo.random_tree(2, joints=[mb.universal("x", "y")]), "emh-ldl").by_step
    n = 2  # of both bodies
    every = {"factor A^T M* A": n**3 / 3 + n**2 / 2 - 5 * n / 6, "A^T M*": 66 * n, "(A^T M*) A": 11 * n**2,
             "M* vr + phi": 72, "p - A^T (M* vr + phi)": 12 * n, "solve u": n**2, "solve qdot": n**2 - n,
             "A qdot + vr": 12 * n, "mu": 72, "pdot": 23 * n}
    others = {"F*": 48, "C^T M* C": 540, "D U": 6 * n, "U^T D U": 72 * n, "C^T (M* vr + phi)": 48, "D u": n,
              "U^T D u": 12 * n, "(A^T M*) C": 42 * n, "solve U": 6 * n**2, "u - U v_k": 12 * n, "C v_k": 48}
    assert steps == {**{step: 2 * round(x) for step, x in every.items()}, **others}


@pytest.mark.parametrize("method", TEXTBOOK)
@pytest.mark.parametrize("seed", range(6))
def test_results(method, seed):
    model = random_model(("chain", "carousel", "binary", "random")[seed % 4], 7, seed, springs=True)
    q, p = random_state(model, seed)
    tau, _ = random_loads(model, seed)
    counted = mb.flops.count(model, method, level="textbook", q=q, p=p, t=0.37, tau=tau)
    expected = reference.hamilton(model, q, p, 0.37, tau)
    # the sweeps lose a few digits to the condition of A^T M* A (hzu: of the matrix of the multipliers)
    assert_close(counted.qdot, expected.qdot, 1e-9, "qdot")
    assert_close(counted.pdot, expected.pdot, 1e-9, "pdot")


@pytest.mark.parametrize("method", TEXTBOOK)
def test_breakdowns_add_up(method):
    counted = executed(mixed_tree(9), method)
    operations = dict(counted.by_operation)
    assert operations.pop("sincos") == 0
    assert counted.total == sum(operations.values()) == sum(counted.by_sweep.values()) == sum(counted.by_step.values())
    assert (counted.by_operation["root"] == 0) == (method in ("emh-ldl", "emh-lu"))


def test_pdot_of_cholesky_is_outside():
    model = mixed_tree(10)
    tree = mb.flops.model_structure(model)
    outside = 23 * sum(tree.n) + 48 * sum(k >= 0 for k in tree.parents)  # pdot, and F* of all but the root
    assert executed(model, "emh-cholesky").outside == outside
    assert executed(model, "emh-ldl").outside == 0


@pytest.mark.parametrize(("method", "family", "degree"), [
    ("dah", "chain", 3), ("dah", "carousel", 1), ("hzu", "chain", 1), ("hzu", "carousel", 3), ("emh-lu", "chain", 1),
])
def test_growth(method, family, degree):
    make = mb.zoo.chain if family == "chain" else mb.zoo.carousel
    totals = np.array([executed(make(n, mb.universal("x", "y")), method).total for n in range(2, 8)])
    assert np.all(np.diff(totals, degree + 1) == 0) and np.all(np.diff(totals, degree) > 0)


def test_hzu_needs_inertias():
    builder = mb.ModelBuilder()
    builder.add_body("light", joint=mb.revolute("z"))
    builder.add_body("heavy", "light", mb.revolute("x"), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match="light"):
        executed(builder.build(), "hzu")
