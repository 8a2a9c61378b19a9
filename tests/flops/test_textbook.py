"""The printed algorithms: their results against the dense reference, their executed operations against the formulas."""

import numpy as np
import pytest
import reference
from cases import assert_close, random_loads, random_model, random_state

import mbkern as mb
from mbkern.errors import ModelError
from mbkern.textbook import METHODS as TEXTBOOK

SEEDS = range(50)


def mixed_tree(seed):
    """A random tree on one root body: welds, 1 to 6 dofs, driven joints."""
    return mb.zoo.random_tree(1 + seed % 11, seed=seed)


def executed(model, method):
    return mb.flops.count(model, method, level="textbook")


def over(model, others, roots):
    """Sum over bodies of a cost in dofs n: `roots` for bodies on the ground, `others` for those on a body."""
    tree = mb.flops.model_structure(model)
    return sum(others(n) if k >= 0 else roots(n) for k, n in zip(tree.parents, tree.n, strict=True))


def cholesky_less_emh(model):
    """What the literal count of Algorithm 2 to mu differs by from the printed EMH, worked out by hand."""
    return over(model, lambda n: 44 * n - 84, lambda n: -(6 * n * n + 10 * n + 60))


def rate(model):
    """F* of all bodies but the roots, and pdot."""
    return over(model, lambda n: 48 + 23 * n, lambda n: 23 * n)


@pytest.mark.parametrize("seed", SEEDS)
def test_ldl_is_era(seed):
    model = mixed_tree(seed)
    assert executed(model, "emh-ldl").total == mb.flops.table1(model)["ERA"]


@pytest.mark.parametrize("seed", SEEDS)
def test_cholesky_is_emh_and_the_known_difference(seed):
    model = mixed_tree(seed)
    counted = executed(model, "emh-cholesky")
    assert counted.total == counted.to_mu == mb.flops.table1(model)["EMH"] + cholesky_less_emh(model)


@pytest.mark.parametrize("seed", range(6))
def test_several_bodies_on_the_ground(seed):
    """Each root pays the root's terms, in the formulas as in the executed algorithms."""
    rng, builder = np.random.default_rng(seed), mb.ModelBuilder()
    joints = (mb.weld(), mb.revolute("z"), mb.universal("x", "y"), mb.ball(), mb.planar("z"), mb.free())
    for i in range(9):
        parent = "world" if i in (0, 3, 4) else f"body{rng.integers(i)}"
        builder.add_body(f"body{i}", parent, joints[rng.integers(len(joints))], mass=1.0, com=(0.1, 0.0, 0.2),
                         inertia=(1.0, 2.0, 2.5), position=(0.1, 0.2, 0.3))
    model = builder.build()
    printed = mb.flops.table1(model)
    assert executed(model, "emh-ldl").total == printed["ERA"]
    assert executed(model, "emh-cholesky").total == printed["EMH"] + cholesky_less_emh(model)


@pytest.mark.parametrize("seed", SEEDS[:12])
def test_both_forms_by_the_same_rule(seed):
    """To mu and to pdot mean the same for both forms: they differ by their factorizations and by nothing else."""
    model = mixed_tree(seed)
    printed, ldl, cholesky = mb.flops.table1(model), executed(model, "emh-ldl"), executed(model, "emh-cholesky")
    # L^T D L saves n in the factorization and n in the substitution, and pays 6n + n for D U and D u
    saved = over(model, lambda n: 2 * n - 7 * n, lambda n: 2 * n)
    assert cholesky.to_mu - ldl.to_mu == cholesky.to_pdot - ldl.to_pdot == saved
    assert ldl.to_pdot - ldl.to_mu == cholesky.to_pdot - cholesky.to_mu == rate(model)
    # so neither coverage gives both: to pdot Cholesky is not EMH and the known difference, to mu L^T D L is not ERA
    assert cholesky.to_pdot == printed["EMH"] + cholesky_less_emh(model) + rate(model) == printed["ERA"] + saved
    assert ldl.to_mu == printed["ERA"] - rate(model)
    assert (ldl.covers, cholesky.covers) == ("pdot", "mu")


@pytest.mark.parametrize("method", TEXTBOOK)
def test_what_a_count_covers(method):
    model = mixed_tree(9)
    counted = executed(model, method)
    assert counted.to_pdot - counted.to_mu == rate(model)  # the lines F* and pdot are the same in all algorithms
    assert counted.total == {"mu": counted.to_mu, "pdot": counted.to_pdot}[counted.covers]
    assert {"F*", "pdot"} & set(counted.by_step) == ({"F*", "pdot"} if counted.covers == "pdot" else set())
    assert (f"to pdot {counted.to_pdot}" in str(counted)) == (counted.covers == "mu")


@pytest.mark.parametrize("n", range(1, 7))
def test_the_english_table_has_no_room_for_pdot(n):
    """What depends on the dofs of a single body in DAH and TSP, line by line; 222 and 147 are their constants."""
    printed = mb.flops.formulas(mb.flops.structure([-1], [n]))
    matrix = 42 * n + 12 * n * (n + 1) // 2  # A^T M of a rigid body, and the lower triangle of A^T M A
    right_side, solutions = 12 * n, 2 * n * n
    cholesky, ldl = (2 * n**3 + 3 * n**2 + n) // 6, (2 * n**3 + 3 * n**2 - 5 * n) // 6
    pdot = 23 * n
    assert printed["DAH"] - 222 == matrix + right_side + cholesky + solutions
    assert printed["TSP"] - 147 == matrix + right_side + ldl + solutions - n + pdot


@pytest.mark.parametrize("seed", range(8))
def test_the_russian_table_has_pdot_and_the_english_has_not(seed):
    """In the rows of the reduction to q and p: 23 n of pdot less 2 n that L^T D L saves against Cholesky."""
    model = mixed_tree(seed)
    printed = mb.flops.table1(model)
    difference = over(model, lambda n: 23 * n - 2 * n - 75 + 192, lambda n: 23 * n - 2 * n - 75)
    assert printed["TSP"] - printed["DAH"] == difference


def test_the_random_trees_have_all_freedoms():
    assert {n for seed in SEEDS for n in mixed_tree(seed).dofs.tolist()} == set(range(7))


def test_several_roots():
    model = random_model("random", 9, seed=8)
    assert (model.parents < 0).sum() > 1
    assert executed(model, "emh-ldl").total == mb.flops.table1(model)["ERA"]
    assert executed(model, "emh-cholesky").total == mb.flops.table1(model)["EMH"] + cholesky_less_emh(model)


def test_line_by_line():
    # a root with 3 dofs and a child with 2: the ledger of the Russian paper
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
    assert (counted.by_operation["root"] == 0) == (method in ("emh-ldl", "emh-lu", "dah-ldl", "hzu-ldl"))


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
