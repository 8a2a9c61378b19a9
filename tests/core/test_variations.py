"""The derivatives in closed form as ordinary Python, against the exact tangents of dual numbers."""

import numpy as np
import pytest
from cases import BASES, CANONICAL, FAMILIES, assert_close, random_loads, random_model, random_state
from dual import rhs_tangents

from mbkern import plain

T = 0.37
NONE = np.empty(0)
# of numbers of the same block; rounding times the condition of the mass matrix, 1e2 to 1e4 for random machines
TOLERANCE = 1e-11
SEEDS = range(16)


def machine(seed):
    """Random trees of every joint on every base; half with springs and dampers, a third with rotors."""
    model = random_model(FAMILIES[seed % 4], 5, seed, base=BASES[seed // 4 % 4], springs=seed % 2 == 0,
                         rotors=seed % 3 == 0)
    return model, *random_state(model, 1, T), *random_loads(model, 1)


def swept(model, q, p):
    """A workspace as a sweep of "emh-ldl" leaves it, large enough for derivatives, else full of NaN."""
    work = np.full(int(plain.load("tangents").tangents_size(model.block)), np.nan)
    code = plain.rhs("extended")(model.block, T, q, p, NONE, np.empty(model.nq), np.empty(model.nv), work)
    assert code == 0
    return work


def jacobian(model, q, p, wrench=None):
    A = np.full((2 * model.nv, 2 * model.nv), np.nan)
    loads = NONE if wrench is None else wrench.ravel()
    plain.load("jacobian_rhs").jacobian(model.block, q, loads, A.reshape(-1), swept(model, q, p))
    return A


def assert_blocks_close(A, expected, nv):
    for name, rows, columns in (("u_q", 0, 0), ("u_p", 0, nv), ("pdot_q", nv, 0), ("pdot_p", nv, nv)):
        block = (slice(rows, rows + nv), slice(columns, columns + nv))
        assert_close(A[block], expected[block], TOLERANCE, name)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_jacobian_is_that_of_dual_numbers(seed):
    model, q, p, tau, wrench = machine(seed)
    _, tangents = rhs_tangents("extended", model, q, p, T, tau, wrench)
    assert_blocks_close(jacobian(model, q, p, wrench), tangents[:, :2 * model.nv], model.nv)


def test_the_jacobian_without_wrenches():
    model, q, p, tau, _ = machine(5)
    _, tangents = rhs_tangents("extended", model, q, p, T, tau, None)
    assert_blocks_close(jacobian(model, q, p), tangents[:, :2 * model.nv], model.nv)


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_single_dofs_have_a_symmetric_hessian(seed):
    """(J A)^T = J A without dampers and wrenches; dpdot/dp is mirrored, but dpdot/dq and du/dp are computed apart."""
    model = random_model(FAMILIES[seed], 6, 40 + seed, kinds=[k for k in CANONICAL if k != "driven"], rotors=seed > 1)
    q, p = random_state(model, 1, T)
    A, nv = jacobian(model, q, p), model.nv
    hessian = np.vstack([A[nv:], -A[:nv]])
    assert_close(hessian.T, hessian, 1e-12, "J A")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("columns", [1, 3])
def test_products_are_those_of_the_matrix(seed, columns):
    model, q, p, _, wrench = machine(seed)
    nv, kernels = model.nv, plain.load("jacobian_products")
    A, rng = jacobian(model, q, p, wrench), np.random.default_rng(seed)
    x, y = rng.normal(size=(2, nv, columns))
    for name, matrix in (("jvp", A), ("vjp", A.T)):
        first, second = np.full((2, nv, columns), np.nan)
        getattr(kernels, name)(model.block, q, wrench.ravel(), x.reshape(-1), y.reshape(-1), columns,
                               first.reshape(-1), second.reshape(-1), swept(model, q, p))
        assert_close(np.vstack([first, second]), matrix @ np.vstack([x, y]), TOLERANCE, name)
        rows, others = np.full((2, columns, nv), np.nan)
        getattr(kernels, f"{name}_rows")(model.block, q, wrench.ravel(), x.T.ravel(), y.T.ravel(), columns,
                                         rows.reshape(-1), others.reshape(-1), swept(model, q, p))
        assert np.array_equal(rows.T, first) and np.array_equal(others.T, second)


def test_a_far_root_costs_no_digits():
    """Ten thousand kilometres from the origin nothing but the position differs."""
    model = random_model("random", 4, 8, base="free", gravity=(0.0, 0.0, 0.0))
    q, p = random_state(model, 1, T)
    far = q.copy()
    far[:3] += 1e7
    assert_close(jacobian(model, far, p), jacobian(model, q, p), 1e-13, "far from the origin")


@pytest.mark.parametrize("n", [1, 2, 5, 9])
@pytest.mark.parametrize("family", FAMILIES)
def test_columns_and_sweeps_are_two_ways_to_one_matrix(family, n, monkeypatch):
    """Trees of single dofs have the shorter way; groups of columns end amid a tree, and their ways to the root meet."""
    model = random_model(family, n, n, kinds=[k for k in CANONICAL if k != "driven"], springs=True, rotors=n > 2)
    q, p = random_state(model, 1, T)
    kernels = plain.load("jacobian_rhs")
    by_columns = jacobian(model, q, p)
    monkeypatch.setattr(kernels, "only_single_dofs", lambda block: False)
    monkeypatch.setattr(kernels, "put_matrix", None)
    assert_blocks_close(by_columns, jacobian(model, q, p), model.nv)


@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_of_single_dofs_have_the_bits_of_all_others(family):
    """They leave out what ball and free joints and wrenches need, and nothing else."""
    kinds = [kind for kind in CANONICAL if kind not in ("ball", "free")]
    model = random_model(family, 6, 11, kinds=kinds, springs=True, rotors=True)
    q, p = random_state(model, 1, T)
    kernels, nv = plain.load("derivative_operations"), model.nv
    matrices, products = np.full((2, 2 * nv, 2 * nv), np.nan), np.full((8, nv), np.nan)
    x, y = np.random.default_rng(1).normal(size=(2, nv))
    kernels.jacobian_rhs(model.block, q, p, NONE, matrices[0].reshape(-1), swept(model, q, p))
    kernels.jacobian_rhs_of_singles(model.block, q, p, matrices[1].reshape(-1), swept(model, q, p))
    kernels.jvp(model.block, q, p, x, y, NONE, *products[0:2], swept(model, q, p))
    kernels.jvp_rows_of_singles(model.block, q, p, x, y, *products[2:4], swept(model, q, p))
    kernels.vjp(model.block, q, p, x, y, NONE, *products[4:6], swept(model, q, p))
    kernels.vjp_rows_of_singles(model.block, q, p, x, y, *products[6:8], swept(model, q, p))
    assert np.array_equal(matrices[0], matrices[1])
    assert np.array_equal(products[0:2], products[2:4]) and np.array_equal(products[4:6], products[6:8])


@pytest.mark.parametrize("by_rows", [False, True])
def test_a_second_product_at_the_same_state(by_rows):
    """Other weights, without what depends on the state alone."""
    kinds = [kind for kind in CANONICAL if kind not in ("ball", "free")]
    model = random_model("random", 6, 12, kinds=kinds, springs=True, rotors=True)
    q, p = random_state(model, 1, T)
    nv, work, kernels = model.nv, swept(model, q, p), plain.load("jacobian_products")
    A, weights = jacobian(model, q, p), np.random.default_rng(2).normal(size=(2, 2 * nv))
    for again, (x, y) in enumerate(weights.reshape(2, 2, nv)):
        found = np.full((2, nv), np.nan)
        given = (NONE, again == 1) if by_rows else (again == 1,)
        getattr(kernels, "pull_by_rows" if by_rows else "pull_singles")(model.block, q, *given, x, y, *found, work)
        assert_close(found.ravel(), A.T @ weights[again], TOLERANCE, "vjp")


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_products_by_short_sweeps_are_those_of_the_matrix(family, columns):
    """Trees of single dofs without wrenches, driven nodes, springs, dampers and rotors among them."""
    kinds = [kind for kind in CANONICAL if kind not in ("ball", "free")]
    model = random_model(family, 7, 3 + columns, kinds=kinds, springs=True, rotors=columns > 1)
    q, p = random_state(model, 1, T)
    A, kernels, nv = jacobian(model, q, p), plain.load("jacobian_products"), model.nv
    x, y = np.random.default_rng(columns).normal(size=(2, nv, columns))
    for name, matrix in (("jvp", A), ("vjp", A.T)):
        first, second = np.full((2, nv, columns), np.nan)
        getattr(kernels, name)(model.block, q, NONE, x.reshape(-1), y.reshape(-1), columns, first.reshape(-1),
                               second.reshape(-1), swept(model, q, p))
        assert_close(np.vstack([first, second]), matrix @ np.vstack([x, y]), TOLERANCE, name)
