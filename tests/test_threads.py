"""One System shared by eight Python threads gives the same bits as one thread."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cases import random_loads, random_model, random_state

import mbkern as mb


@pytest.mark.parametrize("method", ["emh-ldl", "emh-lu"])
def test_shared_system(method):
    model = random_model("random", 30, 1, springs=True, rotors=True)
    system = mb.System(model, method)
    loads = [random_loads(model, i) for i in range(4)]
    states = [(*random_state(model, i), *loads[i % 4]) for i in range(16)]

    def evaluate(state):
        q, p, tau, wrench = state
        R, r = system.body_poses(q, 0.2)
        return np.concatenate(
            [
                *system.rhs(q, p, 0.2, tau=tau, wrench=wrench),
                *system.rhs(q, p, 0.2),
                system.velocities(q, p, 0.2),
                system.momenta(q, p, 0.2),
                system.solve_mass(q, p, 0.2),
                system.mass_matrix(q, 0.2).ravel(),
                system.body_momenta(q, p, 0.2).ravel(),
                [system.energy(q, p, 0.2).hamiltonian],
                R.ravel(),
                r.ravel(),
            ]
        )

    serial = [evaluate(state) for state in states]
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(evaluate, states * 20))
    for k, result in enumerate(threaded):
        assert np.array_equal(result, serial[k % len(states)])


def test_first_calls_from_many_threads():
    """A System that nobody has used yet (no workspace yet) may be started by all threads at once."""
    model = random_model("chain", 10, 2)
    q, p = random_state(model, 2)
    expected = mb.System(model).rhs(q, p)
    fresh = mb.System(model)
    with ThreadPoolExecutor(8) as pool:
        for qdot, pdot in pool.map(lambda _: fresh.rhs(q, p), range(64)):
            assert np.array_equal(qdot, expected[0])
            assert np.array_equal(pdot, expected[1])
