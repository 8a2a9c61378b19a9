"""The pipelayer worked through: every formulation with dense matrices and compiled, on the golden state.

The dense forms live in bench/pipelayer_formulations.py, the readable example. 1e-9: they invert matrices of condition
number about 1e5, and the drift of the accelerations comes from eighth-order differences (about 1e-11).
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import assert_close
from golden_models import golden_cases

import mbkern as mb

BENCH = Path(__file__).parent.parent / "bench"
_, GOLDEN = golden_cases()["pipelayer"]


@pytest.fixture(scope="module")
def example():
    """The example as a module."""
    sys.path.insert(0, str(BENCH))
    try:
        spec = importlib.util.spec_from_file_location("pipelayer_formulations", BENCH / "pipelayer_formulations.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCH))
    return module


@pytest.fixture(scope="module")
def rows(example):
    return example.worked_through(np.array(GOLDEN["q"]), np.array(GOLDEN["p"]), GOLDEN["t"])


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu", "dah", "hzu"])
def test_speeds(rows, method):
    assert_close(rows[method]["compiled"], GOLDEN["qdot"], 1e-10, "compiled")
    assert_close(rows[method]["dense"], GOLDEN["qdot"], 1e-9, "dense")


@pytest.mark.parametrize("method", ["newton-euler-ldl", "newton-euler-lu", "lagrange-2", "lagrange-1"])
def test_accelerations(rows, method):
    assert_close(rows[method]["compiled"], GOLDEN["qddot_without_tau"], 1e-10, "compiled")
    assert_close(rows[method]["dense"], GOLDEN["qddot_without_tau"], 1e-9, "dense")


def test_reactions(rows):
    expected = np.ravel(GOLDEN["reactions_without_tau"])
    assert_close(rows["reactions"]["compiled"], expected, 1e-10, "compiled")
    assert_close(rows["reactions"]["dense"], expected, 1e-9, "dense")


def test_momentum_rates_of_all_methods():
    model = mb.zoo.pipelayer()
    for method in ("emh-ldl", "emh-lu", "dah", "hzu"):
        _, pdot = mb.System(model, method).rhs(GOLDEN["q"], GOLDEN["p"], GOLDEN["t"], tau=GOLDEN["tau"])
        assert_close(pdot, GOLDEN["pdot_with_tau"], 1e-10, method)


def test_three_matrices(example):
    """54 unknowns at once, 6 coordinates, or 18 multipliers; the second matrix is `mass_matrix`."""
    model = mb.zoo.pipelayer()
    system = mb.System(model)
    blocks = example.stacked(model, system, np.array(GOLDEN["q"]), GOLDEN["t"])
    B, M, Z = blocks["B"], blocks["M"], blocks["Z"]
    assert (blocks["S"].shape[0] * 2 + model.nv, B.shape[1], Z.shape[1]) == (54, 6, 18)
    assert_close(B.T @ M @ B, system.mass_matrix(GOLDEN["q"], GOLDEN["t"]), 1e-12, "B^T M B")
    assert_close(Z.T @ Z, np.eye(18), 1e-14, "orthonormal")
    assert np.max(np.abs(Z.T @ blocks["A"])) < 1e-14
