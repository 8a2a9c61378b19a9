"""Every machine of the zoo with constraints runs for ten seconds as anybody would start it, and nothing is lost."""

import numpy as np
import pytest

import mbkern as mb
from mbkern.model.closed_zoo import andrews_state

FREEDOMS = {"four_bar": 1, "n_four_bar": 1, "slider_crank": 1, "andrews": 1, "bricard": 1, "stewart_platform": 6,
            "delta_robot": 3, "planetary_gear": 1, "rolling_disc": 3, "chaplygin_sleigh": 2, "whipple_bicycle": 3}
GUESSES = {"andrews": andrews_state(), "slider_crank": np.array([0.4, -0.5, 0.0])}


@pytest.mark.parametrize("name", FREEDOMS)
def test_ten_seconds(name):
    """Energy to the tolerance of the run, loops and velocities to rounding; the bicycle falls over, at 1e3 J."""
    system = mb.System(getattr(mb.zoo, name)())
    model, rng = system.model, np.random.default_rng(1)
    q, u = system.consistent(GUESSES.get(name, model.neutral()), rng.normal(size=model.nv))
    assert system.mobility(q).freedoms == FREEDOMS[name] or name == "n_four_bar"  # that one begins where it is singular
    run = system.simulate(q, system.momenta(q, u), (0.0, 10.0))
    assert run.success and run.t[-1] == 10.0, run.message
    energy = run.energy()
    assert np.ptp(run.q, axis=0).max() > 0.1
    assert np.ptp(energy.hamiltonian) < 1e-5 * energy.kinetic.max()
    assert np.abs(run.constraint_drift).max() < 1e-10
    rates = [system.constraint_matrix(q)[0] @ u for q, u in zip(run.q[::100], run.u[::100], strict=True)]
    assert np.abs(rates).max() < 1e-12 * max(1.0, np.abs(run.u).max() ** 2)
