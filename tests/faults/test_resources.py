"""Too little memory, and processes that are started anew: an error, and all goes on; never a crash, never a wait."""

from __future__ import annotations

import pytest
from processes import printed

LIMITED = """
import resource
import numpy as np, mbkern as mb
system = mb.System(mb.zoo.chain(3), "emh-ldl")
q, Q = np.zeros(3), np.zeros((1000, 3))
run = dict(integrator="rk4", step=1e-3, threads=1)
times = np.linspace(0.0, 1e-3, 100_000)
wide = np.broadcast_to(Q[:1], (10**8, 3))
large = np.zeros((10**7, 3))
before = system.rhs(q, q), system.rhs_batch(Q, Q), system.simulate_batch(Q, Q, (0.0, 1e-3), **run).q
mb.ensemble
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300 * 2**20,) * 2)
calls = [
    lambda: system.rhs_batch(wide, wide), lambda: system.rhs_batch(large, large),
    lambda: system.simulate_batch(Q, Q, (0.0, 1e-3), t_eval=times, **run),
    lambda: mb.ensemble.run(system, (Q, Q), (0.0, 1e-3), t_eval=times, chunk=1000, **run),
]
for call in calls:
    try:
        call()
        print("no error")
    except mb.errors.MbkernError as error:
        print("refused" if "memory" in str(error) and "GB" in str(error) else error)
after = system.rhs(q, q), system.rhs_batch(Q, Q), system.simulate_batch(Q, Q, (0.0, 1e-3), **run).q
print(all(np.array_equal(a, b) for a, b in zip(before, after)))
"""


def test_a_limit_of_memory_is_an_error_and_the_system_goes_on():
    pytest.importorskip("resource")
    assert printed(LIMITED).split("\n") == ["refused"] * 4 + ["True"]


def test_started_processes_give_the_same_bits():
    """The model travels by pickle; each process loads the kernels from the cache."""
    assert printed("""
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import numpy as np, mbkern as mb
system = mb.System(mb.zoo.chain(3), "emh-ldl")
rng = np.random.default_rng(0)
states = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
run = dict(integrator="rk4", step=1e-3, threads=1)
if __name__ == "__main__":
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        rates = pool.submit(system.rhs, states[0][0], states[1][0]).result(500)
        many = pool.submit(system.rhs_batch, *states).result(500)
        found = mb.ensemble.run(system, states, (0.0, 0.01), client=pool, chunk=10, **run)
    print(np.array_equal(rates, system.rhs(states[0][0], states[1][0])),
          np.array_equal(many, system.rhs_batch(*states)),
          np.array_equal(found.q, system.simulate_batch(*states, (0.0, 0.01), **run).q))
""") == "True True True"
