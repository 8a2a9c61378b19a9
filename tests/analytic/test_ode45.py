"""The emulation of MATLAB's ode45."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import RK45

import mbkern as mb
from mbkern.analytic import ode45


def oscillator(t, y):
    return np.array([y[1], -y[0]])


def test_steps_are_those_of_dormand_and_prince():
    """With MaxStep well below what the tolerance allows all steps are MaxStep: the same states as SciPy's tableau."""
    h = 0.05
    grid = h * np.arange(21)
    # MATLAB starts with min(MaxStep, first interval) unless the slope asks for less
    y = ode45.solve(oscillator, grid, [1.0, 0.5], max_step=h)
    state = np.array([1.0, 0.5])
    A, B, C = RK45.A, RK45.B, RK45.C
    for k in range(20):
        K = np.zeros((6, 2))
        for s in range(6):
            K[s] = oscillator(0.0, state + h * A[s, :s] @ K[:s]) if s else oscillator(0.0, state)
        state = state + h * B @ K
        assert np.abs(y[k + 1] - state).max() < 1e-14
    assert C[1] == 0.2


def test_output_between_steps_is_of_fourth_order():
    """Halving the steps cuts the error of the interpolant by 2^5 at fixed places within a step (local order five)."""
    errors = []
    for h in (0.2, 0.1):
        grid = np.array([0.0, h, 1.4 * h, 2.0 * h, 3.0 * h])  # the first interval is also the first step
        y = ode45.solve(oscillator, grid, [1.0, 1.0], max_step=h)
        exact = [np.cos(grid[2]) + np.sin(grid[2]), np.cos(grid[2]) - np.sin(grid[2])]
        errors.append(np.abs(y[2] - exact).max())
    assert 24.0 < errors[0] / errors[1] < 45.0


def test_tolerance_rules_where_the_maximum_step_does_not():
    """Default tolerances: steps much longer than the grid, errors around RelTol."""
    calls = 0

    def f(t, y):
        nonlocal calls
        calls += 1
        return oscillator(t, y)

    grid = np.linspace(0.0, 20.0, 2001)
    y = ode45.solve(f, grid, [1.0, 0.0])
    error = np.abs(y[:, 0] - np.cos(grid)).max()
    assert 1e-6 < error < 0.2 and calls < 600


def test_rejected_steps():
    """A jump of the slope makes steps fail; the answer is right within RelTol of each of the few steps there."""
    grid = np.linspace(0.0, 2.0, 5)
    y = ode45.solve(lambda t, y: np.array([0.0 if t < 1.01 else 50.0]), grid, [1.0])
    assert abs(y[-1, 0] - (1.0 + 50.0 * 0.99)) < 0.5


def test_bad_input():
    with pytest.raises(mb.errors.StateError, match="increasing"):
        ode45.solve(oscillator, [0.0, 1.0], [1.0, 0.0])
    with pytest.raises(mb.errors.IntegrationError, match="collapsed"):
        ode45.solve(lambda t, y: np.array([np.nan]) if t > 0.5 else np.array([1.0]), np.linspace(0, 1, 5), [1.0])
