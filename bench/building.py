"""How long a model takes from its description to the first right-hand side, and to and from a file.

    python bench/building.py [--quick] [--write]

Processor time, microseconds a body. Each size is built in a process of its own, whose largest memory is the last
column. Bodies are those of the zoo, in general position, with hinges that all share one description.
"""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from common import arguments, markdown, publish

import mbkern as mb

SIZES = (100, 10_000, 100_000)
STEPS = ("add_body", "build", "lower", "System", "first rhs", "save", "load")
PARENTS = {"chain": lambda i: i - 1, "binary tree": lambda i: (i - 1) // 2 if i else -1}
REPEATS = 3  # for small models, of which the best counts


def bodies(n: int, parent_of) -> list[dict[str, object]]:
    """The arguments of `add_body`."""
    specs = mb.zoo.chain(n).body_specs
    return [{"name": spec.name, "parent": "world" if i == 0 else specs[parent_of(i)].name, "joint": spec.joint,
             "mass": spec.mass, "com": spec.com, "inertia": np.diag(spec.inertia).tolist(), "position": spec.position,
             "rotation": spec.rotation} for i, spec in enumerate(specs)]


def measured(given: list[dict[str, object]]) -> list[float]:
    """Seconds of each of the `STEPS`."""
    times = [time.process_time()]

    def lap() -> None:
        times.append(time.process_time())

    builder = mb.ModelBuilder()
    for body in given:
        builder.add_body(**body)
    lap()
    model = builder.build()
    lap()
    assert model.block.size
    lap()
    system = mb.System(model)
    lap()
    system.rhs(np.zeros(model.nq), np.zeros(model.nv))
    lap()
    text = model.to_json()
    lap()
    twin = mb.Model.from_json(text)
    lap()
    assert twin.n_bodies == model.n_bodies
    return np.diff(times).tolist()


def worker(shape: str, n: int) -> None:
    """Print the microseconds a body of each step, and the megabytes of this process."""
    measured(bodies(3, PARENTS[shape]))  # kernels come from the disk
    given = bodies(n, PARENTS[shape])
    gc.collect()
    gc.freeze()  # what is built counts, not how long the collector looks at this list
    best = np.min([measured(given) for _ in range(REPEATS if n <= 10_000 else 1)], axis=0)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(*(1e6 / n * best).tolist(), megabytes)


def main() -> None:
    """Print the table."""
    options = arguments(__doc__.splitlines()[0], publishes=True)
    rows = []
    for shape in PARENTS:
        for n in SIZES[:2] if options.quick else SIZES:
            done = subprocess.run([sys.executable, __file__, "worker", shape, str(n)], capture_output=True, text=True,
                                  check=True, timeout=600, cwd=Path(__file__).parent)
            *steps, megabytes = map(float, done.stdout.split())
            ready = sum(steps[:STEPS.index("save")])
            rows.append([shape, n, *(f"{x:.1f}" for x in steps), f"{ready:.1f}", f"{1e-6 * n * ready:.3g} s",
                         f"{megabytes:.0f}"])
    table = markdown(["tree", "bodies", *STEPS, "to the first rhs", "all bodies", "MB"], rows)
    publish(options, "docs/performance.md", "bench/building.py steps", table, "python bench/building.py --write")


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        worker(sys.argv[2], int(sys.argv[3]))
    else:
        main()
