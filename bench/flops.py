"""Operations that the kernels execute: beside the printed formulas, and beside each other.

    python bench/flops.py [--write] [--part pipelayer | joints | random | kernels]

The pipelayer by all methods; "emh-ldl" as part of the printed EMH formula on chains of every joint of the zoo and on
random trees over all joints, whose joints have constant and driven steps inside them (the formula charges nothing for
those); and all kernels on chains, carousels and binary trees. `--write` puts the tables into docs/theory/executed.md.
"""

from __future__ import annotations

from common import arguments, markdown, publish

import mbkern as mb

JOINTS = (mb.revolute("z"), mb.prismatic("z"), mb.cylindrical("z"), mb.universal("x", "y"), mb.ball(),
          mb.euler_ball("zyx"), mb.planar("z"), mb.free())
SEEDS = range(200)
KERNELS = ("emh-ldl", "emh-lu", "dah", "hzu")
TREES = {"chain of 2": (mb.zoo.chain, 2), "chain of 10": (mb.zoo.chain, 10), "chain of 30": (mb.zoo.chain, 30),
         "carousel of 20": (mb.zoo.carousel, 20), "binary tree of 15": (mb.zoo.binary_tree, 15)}


def counts(model: mb.Model) -> tuple[int, int]:
    """Executed operations of the kernel, and the formula."""
    return mb.flops.count(model, "emh-ldl").total, mb.flops.table1(model)["EMH"]


def random_trees(n: int) -> list[float]:
    """Executed / formula of random trees of n bodies."""
    found = [counts(mb.zoo.random_tree(n, seed=seed)) for seed in SEEDS]
    return [executed / formula for executed, formula in found]


def joints_table() -> str:
    """Chains of every joint."""
    rows = []
    for joint in JOINTS:
        executed, printed = {}, {}
        for n in (2, 20):
            executed[n], printed[n] = counts(mb.zoo.chain(n, joint=joint))
        rows.append([joint.kind, joint.nv, f"{executed[2] / printed[2]:.2f}", f"{executed[20] / printed[20]:.2f}",
                     round(executed[20] / 20), round(printed[20] / 20)])
    return markdown(["joint", "degrees of freedom", "N = 2", "N = 20", "operations per body, N = 20",
                     "EMH formula per body, N = 20"], rows)


def random_table() -> str:
    """Random trees."""
    rows = []
    for n in (2, 3, 4, 8, 20):
        ratios = random_trees(n)
        rows.append([n, f"{sum(ratios) / len(ratios):.2f}", f"{max(ratios):.2f}",
                     f"{sum(x >= 1.0 for x in ratios)} of {len(ratios)}"])
    return markdown(["random trees, N", "mean", "largest", "above 1"], rows)


def kernels_table() -> str:
    """Flops of all kernels; the least in bold."""
    rows = []
    for name, (make, n) in TREES.items():
        for joint in (mb.revolute("z"), mb.universal("x", "y"), mb.ball(), mb.free()):
            model = make(n, joint=joint)
            flops = [mb.flops.count(model, kernel).total for kernel in KERNELS]
            rows.append([name, joint.kind, *(f"**{x}**" if x == min(flops) else x for x in flops)])
    return markdown(["tree", "joints", *KERNELS], rows)


if __name__ == "__main__":
    options = arguments(__doc__.splitlines()[0], publishes=True, parts=("pipelayer", "joints", "random", "kernels"))
    tables = {"bench/flops.py pipelayer": lambda: mb.flops.report(mb.zoo.pipelayer(), measure=False).to_markdown(),
              "bench/flops.py joints": joints_table, "bench/flops.py random": random_table,
              "bench/flops.py kernels": kernels_table}
    for mark, table in tables.items():
        if options.part is None or mark.endswith(f" {options.part}"):
            publish(options, "docs/theory/executed.md", mark, table(), "python bench/flops.py")
