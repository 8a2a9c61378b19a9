"""What stays the same over long runs: the energy of Gauss methods, the memory of calls and of large batches.

    python bench/long_runs.py [--quick] [--write]

1e7 steps of "gauss4" on a double pendulum, 1e6 calls of `rhs`, a batch of 1e6 states; a hundredth of each with
`--quick`. Prints a Markdown table, which `--write` puts into the documentation, and ends with 1 when a bound is broken.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np
from common import arguments, markdown, publish

import mbkern as mb

STEP = 1e-3  # s
PIECE = 19 * 8  # bytes of the answer for one state of a chain of 7: 14 numbers, status, two times, counts


def resident():
    """Bytes of memory in use now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def peak():
    """Largest number of bytes in use so far."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def drift_of_energy(steps):
    """Largest error of the energy in each quarter of a run, relative to the range of the kinetic energy.

    Symplectic steps make it oscillate; what grows from quarter to quarter is secular. Rounding alone is a random walk:
    1e-16 sqrt(steps).
    """
    builder = mb.ModelBuilder(gravity=(0, 0, -9.81))
    for k in range(2):
        builder.add_body(f"rod{k}", "rod0" if k else "world", mb.revolute("y"), mass=1.0, com=(0.5, 0, 0),
                         inertia=(0.01, 0.08, 0.08), position=(1.0, 0, 0) if k else (0, 0, 0))
    system = mb.System(builder.build(), "emh-ldl")
    solution = system.simulate([1.2, 0.2], [0.0, 0.0], (0.0, steps * STEP), "gauss4", step=STEP,
                               save_every=max(1, steps // 20_000))
    assert solution.success, solution.message
    energy = solution.energy()
    error = np.abs(energy.hamiltonian - energy.hamiltonian[0]) / np.ptp(energy.kinetic)
    return [float(part.max()) for part in np.array_split(error, 4)]


def growth_of_calls(calls):
    """Bytes by which the process grows in so many calls of `rhs`, after a tenth of them."""
    system = mb.System(mb.zoo.chain(7))
    q, p = np.linspace(0.0, 1.0, 7), np.ones(7)
    for _ in range(calls // 10):
        system.rhs(q, p)
    before = resident()
    for _ in range(calls):
        system.rhs(q, p)
    return resident() - before


def growth_of_batch(states):
    """Bytes that a batch needs beside its input and its answer."""
    system = mb.System(mb.zoo.chain(7), "emh-ldl")
    Q, P = np.zeros((states, 7)), np.zeros((states, 7))
    Q[:, 0] = np.linspace(-1.0, 1.0, states)
    P[:] = 0.0  # touched: part of the input
    run = dict(integrator="rk4", step=0.005, reduce="final")
    system.simulate_batch(Q[:8], P[:8], (0.0, 0.01), **run)
    before = peak()
    assert system.simulate_batch(Q, P, (0.0, 0.05), **run).success
    return peak() - before - PIECE * states


def main():
    options = arguments(__doc__, publishes=True)
    part = 100 if options.quick else 1
    states, calls, steps = 1_000_000 // part, 1_000_000 // part, 10_000_000 // part
    batch = growth_of_batch(states)  # first: it looks at the peak of memory
    growth = growth_of_calls(calls)
    quarters = drift_of_energy(steps)
    walk = 10.0 * 2.2e-16 * np.sqrt(steps)
    rows = [
        (f"{steps:.0e} steps of gauss4, energy error in each quarter", " ".join(f"{e:.2e}" for e in quarters),
         f"last < 2 first + {walk:.1e}", quarters[-1] < 2.0 * quarters[0] + walk),
        (f"{calls:.0e} calls of rhs, growth of memory", f"{growth / 1e6:.2f} MB", "< 1 MB", growth < 1e6),
        (f"batch of {states:.0e} states, memory beside input and answer", f"{batch / 1e6:.1f} MB", "< 16 MB",
         batch < 16e6),
    ]
    table = markdown(("run", "measured", "bound", ""), [(*row[:3], "kept" if row[3] else "BROKEN") for row in rows])
    publish(options, "docs/performance.md", "bench/long_runs.py all", table, "python bench/long_runs.py")
    return int(not all(row[3] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
